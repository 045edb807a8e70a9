# SPDX-License-Identifier: Apache-2.0
"""Long runs: overload at 1.5 times a node's capacity, and churn. Memory,
descriptors and threads stay as they are, and all adds up at the end."""
import itertools
import json
import pathlib
import random
import shutil
import statistics
import tempfile
import time

import accounts
from good import LAWS, name, target, udp
from node import Node, Wrong, wait_for
from payloads import octet_aligned, packet
from play import recorded, recorded_all
from stalls import rss

TICK = 0.02
CAPACITY = 1.5  # of it
STARTS = 20  # a second
LIFE = 5  # seconds of a call
SWITCH = 60  # seconds
SAMPLE = 5
WARM = 0.2  # of the time, two minutes at most
WITHIN = 0.02  # of the memory after it
SCHEDULERS = ("edf", "fifo", "cfs", "edf-hsb", "wfq", "bfs", "eevdf", "dbp")
# real overload: what a node does by default
OVERLOADED = ("--workers", "1", "--receivers", "1", "--max-age", "auto",
              "--shed", "quiet", "--ring", "8")


class Call:
    """One that is sent speech, and whose answers are heard by nobody."""
    numbers = itertools.count(1)

    def __init__(self, node, said, out, port, sock):
        n = next(self.numbers)
        codec, of = said
        started = node.ask("call.start", **{
            "in": {"codec": codec, **octet_aligned(codec)}, "out": {
                "address": name(sock), **out}, "ptime_ms": of["ms"],
            "port": port, "ssrc": n, "keep": True})
        self.id, self.own, self.sock = started["call"], port == "own", sock
        self.to = target(started["rtp"]["address"])
        self.pt, self.ssrc = started["rtp"]["pt"], started["rtp"]["ssrc"]
        self.step = started["out"]["in_clock"] * of["ms"] // 1000
        self.payloads, self.n, self.born = of["payloads"], 0, time.monotonic()
        self.due, self.every = self.born, of["ms"] / 1000

    def send(self, now):
        """Is it time? How many were sent."""
        if now < self.due:
            return 0
        self.due = max(self.due + self.every, now)
        self.sock.sendto(packet(self.pt, self.n, self.n * self.step, self.ssrc,
                                self.payloads[self.n % len(self.payloads)]),
                         self.to)
        self.n += 1
        return 1


def speech(codec, said):
    """What is said in a codec; of G.711 all octets."""
    if codec in LAWS:
        return {"payloads": [bytes([i]) * 160 for i in range(256)], "ms": 20}
    return said[codec]


class Run:
    """A node, its calls, and what was seen of it in time."""

    def __init__(self, kind, seed, folder, options):
        self.said, self.rng = recorded(), random.Random(seed)
        self.kind, self.folder = kind, folder
        self.node = Node(folder, 0, options)
        self.calls, self.samples, self.sent, self.started = [], [], 0, 0
        self.sinks = [udp() for _ in range(16)]
        self.begin = time.monotonic()

    def call(self, out=None):
        codec = self.rng.choice(list(self.said))
        heard = out or {"codec": (c := self.rng.choice(list(self.said))),
                        **octet_aligned(c)}
        self.calls.append(Call(
            self.node, (codec, speech(codec, self.said)), heard,
            self.rng.choice(("own", "shared")), self.rng.choice(self.sinks)))
        self.started += 1

    def tick(self):
        """Send what is due, and hear what comes."""
        now = time.monotonic()
        self.sent += sum(call.send(now) for call in self.calls)
        for sock in self.sinks:
            try:
                while True:
                    sock.recv(4096, 0x40)  # MSG_DONTWAIT
            except BlockingIOError:
                pass
        if not self.samples or now - self.samples[-1]["at"] >= SAMPLE:
            self.sample(now)
        time.sleep(max(0, now + TICK - time.monotonic()))

    def sample(self, now):
        held = self.node.holds()
        fd = held.pop("fd") - sum(call.own for call in self.calls)
        stats = self.node.ask("stats")
        self.samples.append({
            "at": now, "s": round(now - self.begin), "rss": rss(self.node),
            "fd": fd, "threads": sum(held.values()), "calls": stats["calls"],
            "load": stats["load"], "lost": stats["lost"],
            "done": stats["totals"]["done"]})

    def end(self):
        """Stop all; the books balance. {what: how much}"""
        for call in self.calls:
            self.node.ask("call.stop", call=call.id)
        wait_for("no call is left",
                 lambda: self.node.ask("stats")["calls"] == 0)
        stats = accounts.check(self.node, self.sent)
        self.node.stop()
        recorded_all(self.node.records.read_text().splitlines(), stats)
        if stats["calls_started"] != self.started + 1:  # Node.meet()
            raise Wrong(f"{stats['calls_started']} of {self.started} calls")
        return self.verdict(stats)

    def verdict(self, stats):
        end = self.samples[-1]["s"]
        warm = [s for s in self.samples if s["s"] >= min(120, WARM * end)]
        first, last = (warm[:max(1, len(warm) // 4)],
                       warm[-max(1, len(warm) // 4):])
        before, after = (statistics.median(s["rss"] for s in part)
                         for part in (first, last))
        told = {
            "kind": self.kind, "seconds": end, "calls": self.started,
            "packets": self.sent, "done": stats["totals"]["done"],
            "lost": stats["lost"],
            "load": statistics.median(s["load"] for s in warm),
            "rss_kib": [int(before) // 1024, int(after) // 1024],
            "rss_change": round(after / before - 1, 4)}
        for what in ("fd", "threads"):
            # calls that have just ended hold theirs for a moment
            told[what] = [min(s[what] for s in part) for part in (first, last)]
        told["ok"] = (abs(told["rss_change"]) <= WITHIN and
                      all(told[w][0] == told[w][1] for w in ("fd", "threads")))
        return told

    def close(self):
        self.node.kill()
        for sock in self.sinks:
            sock.close()


def overload(run, end):
    """Calls of all codecs, and spinning ones, until the load is what it is to
    be; it stays so."""
    for _ in range(60):
        run.call()
        run.tick()
    while run.node.ask("stats")["load"] < CAPACITY:
        run.call({"codec": "spin", "spin": "1ms"})
    while time.monotonic() < end:
        run.tick()


def churn(run, end):
    """Calls of all codecs come and go, and the scheduler is another one each
    minute."""
    due, switch = time.monotonic(), time.monotonic() + SWITCH
    schedulers = itertools.cycle(SCHEDULERS)
    while (now := time.monotonic()) < end:
        while due <= now:
            due += 1 / STARTS
            run.call()
        while run.calls and run.calls[0].born < now - LIFE:
            run.node.ask("call.stop", call=run.calls.pop(0).id)
        if now >= switch:
            switch += SWITCH
            run.node.ask("scheduler.set", scheduler=next(schedulers))
        run.tick()


KINDS = {"overload": (overload, OVERLOADED), "churn": (churn, ())}


def endure(kind, minutes, seed):
    """Returns (verdict, samples)."""
    attack, options = KINDS[kind]
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"hostile-{kind}-"))
    run = Run(kind, seed, folder, options)
    try:
        attack(run, time.monotonic() + 60 * minutes)
        return run.end(), run.samples
    finally:
        run.close()
        shutil.rmtree(folder, ignore_errors=True)


def text(told):
    """A table for people."""
    rows = [("run", told["kind"]), ("time", f"{told['seconds']} s"),
            ("calls", f"{told['calls']:,}"),
            ("packets sent", f"{told['packets']:,}"),
            ("frames done", f"{told['done']:,}"),
            ("frames given up", f"{told['lost']:,}"),
            ("load, CPUs", f"{told['load']:.2f}"),
            ("memory, KiB", "{:,} then {:,} ({:+.2%})".format(
                *told["rss_kib"], told["rss_change"])),
            ("descriptors beside ports", "{}, then {}".format(*told["fd"])),
            ("threads", "{}, then {}".format(*told["threads"])),
            ("counters", "exact"), ("records", "all there"),
            ("verdict", "ok" if told["ok"] else "NOT FLAT")]
    return "\n".join(f"| {a} | {b} |" for a, b in rows)


def write(path, told, samples):
    path.write_text(json.dumps({**told, "samples": samples}, indent=1) + "\n")

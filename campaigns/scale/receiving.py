# SPDX-License-Identifier: Apache-2.0
"""What the daemon's receiver takes for a packet, and to wake up.

codec-runner on two CPUs: on one the receiver, on the other a worker that
encodes AMR 12.2 for half of the time. bench-load, beside the receiver, sends
PCMU, each call from a socket of its own (from one socket packets would travel
by the train, which hides their price). The receiver's CPU time is its own
account (rx of codec-ctl stats), not the load's. How often it woke up is the
kernel's.

Two runs, two unknowns:

    CPU time = packets * cost + wake-ups * wake

Once the receiver sleeps 4 ms between two looks, so that a wake-up brings many
packets, and once it does not.

Only measure() is used from outside.
"""
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "player"))

from loopback import HOST, free_port  # noqa: E402

# --rx-coalesce of the daemon and --tick of the load.
WAYS = (("4ms", "250us"), ("0s", "25us"))
LOAD = 0.5  # of the worker's time
SECONDS = 3
FRAME_NS = 20_000_000
BATCH = 100  # requests; the daemon takes 256
PATIENCE = 60  # seconds for a reply


class Daemon:
    """codec-runner with its receiver on CPU @rx and its worker on @worker."""

    def __init__(self, build, folder, rx, worker, coalesce):
        path = pathlib.Path(folder) / "control"
        self.process = subprocess.Popen(
            [build / "codec-runner", "--config", "none", "--rtp",
             f"{HOST}:0", "--control", f"{HOST}:{1024 + free_port() % 60000}",
             "--udp-port", str(free_port()), "--sctp", "user", "--control-socket", path,
             "--workers", "1", "--pin", str(worker), "--rx-cpu", str(rx),
             "--rx-coalesce", coalesce, "--no-admission", "--log-level",
             "error"], stdout=subprocess.PIPE, text=True)
        self.control = socket.socket(socket.AF_UNIX)
        try:
            if not self.process.stdout.readline().startswith("ready"):
                raise RuntimeError("codec-runner did not start")
            self.control.connect(str(path))
            self.control.settimeout(PATIENCE)
            self.lines = self.control.makefile(encoding="utf-8")
        except BaseException:
            self.stop()
            raise

    def ask(self, message):
        """The reply to a request or a batch."""
        self.control.sendall(json.dumps(message).encode() + b"\n")
        for reply in map(json.loads, self.lines):
            if isinstance(reply, list) or "id" in reply:
                return reply
        raise RuntimeError("codec-runner has closed the connection")

    def start(self, addresses):
        """A call that answers to each; where bench-load is to send."""
        targets = []
        for first in range(0, len(addresses), BATCH):
            batch = [{"jsonrpc": "2.0", "id": first + i,
                      "method": "call.start", "params": {
                          "in": {"codec": "pcmu"}, "ssrc": first + i + 1,
                          "out": {"codec": "amr", "mode": "12.2",
                                  "address": address}}}
                     for i, address in enumerate(
                         addresses[first:first + BATCH])]
            for reply in sorted(self.ask(batch), key=lambda r: r["id"]):
                if "error" in reply:
                    raise RuntimeError(reply["error"]["message"])
                rtp = reply["result"]["rtp"]
                targets.append(f"{rtp['address']} {rtp['ssrc']} {rtp['pt']}\n")
        return "".join(targets)

    def receiver(self):
        """Packets, CPU time and wake-ups of the receiver so far."""
        rx = self.ask({"jsonrpc": "2.0", "id": 0, "method": "stats"})[
            "result"]["rx"]
        wakes = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            status = dict(line.split(":\t", 1) for line in
                          (task / "status").read_text().splitlines()
                          if ":\t" in line)
            if status["Name"].startswith("cr-rx"):
                wakes += int(status["voluntary_ctxt_switches"])
        return rx["packets"], rx["cpu_ns"], wakes

    def stop(self):
        with contextlib.suppress(AttributeError, OSError):
            self.control.sendall(
                b'{"jsonrpc": "2.0", "id": 0, "method": "bye"}\n')
            for _ in self.lines:
                pass
        self.control.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def load(build, calls, tick, cpu):
    """bench-load, waiting for its targets, and the addresses of its calls."""
    process = subprocess.Popen(
        [build / "bench-load", "--calls", str(calls), "--cpu", str(cpu),
         "--tick", tick, "--warm", "0s", "--seconds", f"{SECONDS}s"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[1:]


def one_run(build, encode_ns, coalesce, tick):
    """What the receiver did in a run."""
    have = sorted(os.sched_getaffinity(0))
    calls = max(1, round(LOAD * FRAME_NS / encode_ns))
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(build, folder, have[0], have[-1], coalesce)
        sender, addresses = load(build, calls, tick, have[0])
        try:
            targets = daemon.start(addresses)
            before = daemon.receiver()
            told = json.loads(sender.communicate(targets)[0])
            after = daemon.receiver()
        finally:
            sender.kill()
            sender.communicate()
            daemon.stop()
    packets, cpu, wakes = (b - a for a, b in zip(before, after))
    return {"coalesce": coalesce, "tick": tick, "calls": calls,
            "sent": told["sent"], "lost": told["lost"],
            "packets": packets, "cpu_ns": cpu, "wakes": wakes}


def prices(many, few):
    """Of a packet and of a wake-up, in ns; by a run each of WAYS."""
    wakes = [r["wakes"] / r["packets"] for r in (many, few)]
    each = [r["cpu_ns"] / r["packets"] for r in (many, few)]
    wake = (each[1] - each[0]) / (wakes[1] - wakes[0])
    return each[0] - wakes[0] * wake, wake


def measure(build, encode_ns, repeats):
    """The medians of @repeats times two runs, when encoding a frame takes
    @encode_ns: {"cost_ns", "wake_ns", "runs": [...]}."""
    if len(os.sched_getaffinity(0)) < 2:
        raise RuntimeError("a receiver needs two CPUs to be measured; use "
                           "--overheads FILE")
    rounds = [[one_run(build, encode_ns, *way) for way in WAYS]
              for _ in range(repeats)]
    found = {name: round(max(0, statistics.median(values)))
             for name, values in zip(("cost_ns", "wake_ns"),
                                     zip(*(prices(*r) for r in rounds)))}
    return {**found, "runs": [run for some in rounds for run in some]}

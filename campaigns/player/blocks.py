# SPDX-License-Identifier: Apache-2.0
"""The schedulers compared under live calls: one daemon, one feeder, and blocks
of about a second, each under another scheduler, in random order within rounds.
What changes slowly on the machine affects all schedulers alike. The number of
calls that speak is set each round by what a frame cost in the last one: the
load is the share of the workers' time that the campaign asks for.
"""
import contextlib
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import contrast
import environment
from control import Control, Gone, Refused
from daemon import Daemon
from live import BROKEN, INTERRUPTED, Broken, remove_run
from names import plain_name

FOLDER = "blocks"
ROUNDS = 10, 20  # of many schedulers, of two
QUICK_ROUNDS = 6  # the fewest that codec-report compares
EPISODE_ROUNDS = 1  # in the table, too few to be compared
WARM_UP = 0.3  # s of a block, not counted: frames of the one before wait
SHORTEST, USUAL, LONGEST = 0.7, 1, 1.2  # s, of a block
ALL_ROUNDS = 42  # s
FIRST_BLOCK = 0.25  # s, of round 0, which measures the cost of a frame
# s of an episode's parts; recovery is measured in five slices of 100 ms
CALM, OVERLOAD, AFTER = 0.4, 0.5, 0.9
SPARE = 1.5  # calls that are set up, of those that the first estimate needs
LEAST_DONE = 0.1  # of a block's frames; with fewer, its cost does not count
RECENT = 3  # blocks of a scheduler, of which the least cost of a frame counts
TIMEOUT = 60  # s, for an answer
SETUP_TIMEOUT = 120  # s, until all calls are up


@dataclass
class Flow:
    """name; count of calls, 0: as its load says; load: share of the workers'
    time; overload: it speaks only in an episode's overload."""
    name: str
    count: int
    load: float
    overload: bool


def campaign_flows(campaign):
    """Return [Flow] of codec-feeder --print campaign, or a text: why these
    flows cannot be played in blocks."""
    found = []
    for f in campaign["flows"]:
        name = f"flow {f['flow']}"
        if not f["codecs"]:
            return f"{name} has no codecs"
        if f["two_way"]:
            return f"{name} is a two-way flow"
        if f["poisson"] or f["exponential"]:
            return f"calls of {name} come or go at random"
        if f["like"]:
            return f"{name} is like another"
        overload = f["at_s"] > 0
        if overload == (f["hold_s"] is None):
            return f"calls of {name} " + ("come later and stay" if overload
                                          else "end before the campaign does")
        found.append(Flow(f["flow"], f["count"], f["load"], overload))
    if all(f.overload for f in found):
        return "all calls come later"
    return found


def why_separate(player):
    """Return why the schedulers have to be played one after another; None: they
    can be switched under live calls."""
    campaign, options = player.campaign, player.options
    kernel = [s for s in player.specs if s.startswith("kernel:")]
    folders = {os.path.dirname(os.path.abspath(plain_name(s).split(",")[0]))
               for s in player.specs if ".so" in s}
    if len(player.specs) < 2:
        return "there is one scheduler"
    if options.separate:
        return "as --separate asks"
    if options.peer:
        return "a media proxy cannot be switched to"
    if kernel:
        return f"{kernel[0]} cannot be switched to under live calls"
    if len(folders) > 1:
        return "the plug-ins are in several folders"
    if options.dump:
        return "--dump keeps the speech of whole runs"
    if campaign["conversions"]:
        return "the campaign converts files"
    if campaign["expects"]:
        return "the campaign expects something of whole runs"
    flows = campaign_flows(campaign)
    return flows if isinstance(flows, str) else None


def orders(specs, rounds, seed):
    """Draw an order of the schedulers for each round."""
    draw = random.Random(seed)
    return [draw.sample(list(specs), len(specs)) for _ in range(rounds)]


def round_count(specs):
    """Return how many rounds there are if nothing else is asked for: as many as
    the time allows. Ten live rounds find a waste of 5 % in two of three
    comparisons, fifteen in nineteen of twenty (docs/experiments.md)."""
    fewest, most = ROUNDS
    return min(max(int(ALL_ROUNDS / (USUAL * len(specs))), fewest), most)


def block_length(specs, rounds):
    """Return s; shorter with many schedulers."""
    return min(max(ALL_ROUNDS / (rounds * len(specs)), SHORTEST), LONGEST)


@dataclass
class Load:
    """The number of calls that speak. first: {flow: calls}, the first estimate;
    target: share of the workers' time that all flows together shall take; None:
    the number of calls is fixed."""
    first: dict
    target: float
    workers: int
    scale: float = 1.0
    costs: dict = field(default_factory=dict)  # {scheduler: [ns of a frame]}
    frames: int = 0
    call_seconds: float = 0.0

    def calls(self):
        return {flow: max(round(n * self.scale), 1)
                for flow, n in self.first.items()}

    def prepared(self):
        return {flow: round(n * (SPARE if self.target else 1)) + 1
                for flow, n in self.first.items()}

    def learn(self, block):
        """Add a block's cost of a frame. Other programs that use the CPU and
        its caches make it higher."""
        if not block["cpu_ns"] or not block["jobs"] or \
                not block["arrived"] or \
                block["jobs"] < LEAST_DONE * block["arrived"]:
            return
        self.costs.setdefault(block["scheduler"], []).append(cost(block))
        self.frames += block["arrived"]
        self.call_seconds += sum(block["calls"].values()) * seconds(block)

    def demand(self, block):
        """Return the share of the workers' time that all its frames need."""
        return block["arrived"] * cost(block) / 1e9 / seconds(block) \
            / self.workers

    def correct(self):
        """Set the calls of the next round. Return whether too few are up."""
        if not self.target or not self.costs or not self.frames:
            return False
        mean = sum(min(last[-RECENT:]) for last in self.costs.values()) \
            / len(self.costs)
        rate = self.frames / self.call_seconds
        calls = self.target * self.workers * 1e9 / (rate * mean)
        wanted = calls / sum(self.first.values())
        self.scale = min(wanted, SPARE)
        return wanted > SPARE


def seconds(block):
    return (block["end_ns"] - block["begin_ns"]) / 1e9


def cost(block):
    """Return ns of a frame: CPU time, or busy time if that is less, as workers
    use some CPU time while they wait."""
    return min(block["busy_ns"], block["cpu_ns"]) / max(block["jobs"], 1)


class Halted(Exception):
    """Ctrl-C. The blocks until then are reported."""


class Progress:
    """One line that is overwritten; in a log, one line a round."""

    def __init__(self, out=None):
        self.out = out or sys.stdout
        self.terminal = self.out.isatty()
        self.round = None

    def show(self, text, group):
        if self.terminal:
            self.out.write(f"\r\033[K{text}")
        elif group != self.round:
            self.out.write(text + "\n")
        self.round = group
        self.out.flush()

    def print(self, text):
        """Print a line that stays."""
        self.out.write(("\r\033[K" if self.terminal else "") + text + "\n")
        self.out.flush()

    def end(self):
        if self.terminal and self.round is not None:
            self.out.write("\r\033[K")
            self.out.flush()


def _tail(path, lines=5):
    with contextlib.suppress(OSError), \
            open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-lines:])
    return ""


class Stage:
    """The daemon, controlled by its socket, and the feeder, by a pipe."""

    def __init__(self, player, folder):
        self.player, self.folder = player, folder
        self.control = self.feeder = None
        self.sockets = tempfile.mkdtemp(prefix="codec-runner-")
        self.config = os.path.join(folder, "runner.conf")

    def path(self, name):
        return os.path.join(self.folder, name)

    def open(self):
        plugins = [s for s in self.player.specs if ".so" in s]
        more = ["--plugin-dir", os.path.dirname(os.path.abspath(
            plugins[0].split(",")[0]))] if plugins else []
        self.socket = os.path.join(self.sockets, "control")
        self.configure("")
        self.player.daemon = daemon = Daemon(
            self.player.program("codec-runner"), "fifo", self.folder,
            ["--control-socket", self.socket, "--trace",
             self.path("trace.bin"), *more, *self.player.daemon_options,
             *self.player.options.runner], config=self.config)
        if not daemon.start():
            raise Broken
        try:
            self.control = Control(self.socket, TIMEOUT)
        except (OSError, Gone, Refused) as error:
            self.daemon_gone(error)

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)

    def daemon_gone(self, why):
        print(f"\ncampaigns/run: codec-runner is gone: {why}\n"
              f"{_tail(self.path('runner.log'))}"
              f"{_tail(self.path('runner.err'))}", file=sys.stderr, end="")
        raise Broken

    def feeder_gone(self, why):
        print(f"\ncampaigns/run: codec-feeder {why}\n"
              f"{_tail(self.path('feeder.log'))}", file=sys.stderr, end="")
        raise Broken

    def request(self, method, **params):
        try:
            return self.control.request(method, **params)
        except Gone as gone:
            self.check()
            self.daemon_gone(gone)
        except Refused as refused:
            if method == "scheduler.set":
                raise  # the other schedulers go on
            print(f"\ncampaigns/run: codec-runner refuses {method}: {refused}",
                  file=sys.stderr)
            raise Broken from None

    def check(self):
        """Raise Halted, or Broken if one of the two has ended."""
        if self.player.stopped:
            raise Halted
        daemon = self.player.daemon.process
        if daemon and daemon.poll() is not None:
            self.daemon_gone(f"it has ended ({daemon.returncode})")
        if self.feeder and self.feeder.poll() is not None:
            self.feeder_gone(f"has ended ({self.feeder.returncode})")

    def sleep(self, span):
        until = time.monotonic() + span
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, 0.1))
        self.check()

    def count(self):
        """Return {flow: calls} for the flows' loads, as the daemon measures."""
        return self.player.count(["--to", f"unix:{self.socket}"])

    def feed(self, flows, calls, duration, dump):
        """Set up calls, {flow: number}; none speaks yet. dump: codec-feeder's
        options that keep speech."""
        keys = [f"--set=flows.{f.name}.{key}=" for f in flows
                for key in ("start", "hold")]
        self.command = [
            self.player.program("codec-feeder"), self.player.options.campaign,
            "--to", f"unix:{self.socket}", "--cpu", self.player.cpu, "--out",
            self.folder, "--frames", "--quiet", "--speakers", *keys, *dump,
            *self.player.options.feeder,
            f"--duration={duration:.0f}s",
            *(f"--count={flow}={n}" for flow, n in calls.items())]
        with open(self.path("feeder.log"), "wb") as log:
            self.feeder = subprocess.Popen(
                self.command, bufsize=0, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, process_group=0)
        stopped, self.player.feeder = self.player.stopped, self.feeder
        if stopped:  # before stop() knew of the feeder
            self.feeder.terminate()
        self.check()
        self._wait_for_calls(sum(calls.values()))

    def _wait_for_calls(self, wanted):
        until = time.monotonic() + SETUP_TIMEOUT
        while (up := self.request("stats")["calls"]) < wanted:
            if time.monotonic() > until:
                self.feeder_gone(f"has {up} of {wanted} calls up")
            self.sleep(0.1)

    def begin(self, calls):
        """Have calls, {flow: number}, speak, and wait for the first packet."""
        self.speak(calls)
        until = time.monotonic() + SETUP_TIMEOUT
        while not self.read_counters()["arrived"]:
            if time.monotonic() > until:
                self.feeder_gone("sends nothing")
            self.sleep(0.02)

    def speak(self, calls):
        """Have calls, {flow: number}, speak. Return since when: ns,
        CLOCK_MONOTONIC."""
        line = " ".join(f"{flow}={n}" for flow, n in calls.items())
        try:
            self.feeder.stdin.write(line.encode() + b"\n")
        except OSError:
            pass  # nor is there an answer: see below
        ready, _, _ = select.select([self.feeder.stdout], [], [], TIMEOUT)
        if not ready:
            self.check()
            self.feeder_gone("does not answer")
        answer = self.feeder.stdout.readline().split()
        if not answer or not answer[0].isdigit():  # it is ending
            self.feeder.stdout.read()
            self.feeder.wait()
            self.check()
        return int(answer[0])

    def read_counters(self):
        """Return the sums of the workers' counters, and when they were read."""
        before = time.monotonic_ns()
        stats = self.request("stats")
        after = time.monotonic_ns()
        return {"at_ns": (before + after) // 2,
                "arrived": stats["totals"]["packets_in"],
                "scheduler": stats["scheduler"],
                "faults": stats["scheduler_faults"]["count"],
                "fault": stats["scheduler_faults"]["last"],
                **{key: sum(w[key] for w in stats["workers"])
                   for key in ("cpu_ns", "busy_ns", "jobs")}}

    def close(self):
        try:
            if self.control:
                self.control.close()
            if self.feeder:
                self._end_feeder()
        finally:
            self.player.stop_daemon()
            shutil.rmtree(self.sockets, ignore_errors=True)

    def _end_feeder(self):
        try:
            self.feeder.communicate(b"end\n", timeout=SETUP_TIMEOUT)
        except subprocess.TimeoutExpired:
            pass  # killed below
        finally:
            if self.feeder.poll() is None:
                self.feeder.kill()
                self.feeder.wait()
            self.player.feeder = None


class Blocks:
    """One interleaved comparison."""

    def __init__(self, player, folder):
        self.player, self.stage = player, Stage(player, folder)
        self.folder, self.specs = folder, list(player.specs)
        self.flows = campaign_flows(player.campaign)
        self.rounds = player.options.rounds or (
            QUICK_ROUNDS if player.options.quick else round_count(self.specs))
        self.length = block_length(self.specs, self.rounds)
        self.has_overload = any(f.overload for f in self.flows)
        self.contrast = contrast.wanted(player, self.has_overload)
        self.recorded = None  # contrast.play()
        self.progress, self.blocks, self.failed = Progress(), [], False
        self.broken = {}  # {scheduler: when it was replaced, ns}
        self.current, self.faults = None, 0  # scheduler; of all until now
        self.load = None

    def _sleeps(self):
        """Return the length of all blocks, s."""
        n = len(self.specs)
        return n * (FIRST_BLOCK + self.rounds * self.length) + \
            self.has_overload * EPISODE_ROUNDS * n * \
            (CALM + OVERLOAD + AFTER) + self.contrast * contrast.LENGTH

    def set_up(self):
        print("setting up calls", flush=True)
        self.stage.open()
        first = {f.name: f.count for f in self.flows}
        first.update(self.stage.count())
        loads = [f.load for f in self.flows]
        self.load = Load(first, sum(loads) if all(loads) else None,
                         len(self.stage.request("stats")["workers"]))
        self.stage.feed(self.flows, self.load.prepared(),
                        60 + 3 * self._sleeps(),
                        contrast.dump(self) if self.contrast else [])
        self.stage.begin(self.calls())
        environment.write(
            self.folder, self.player.constant, schedulers=self.specs,
            seed=self.player.campaign["seed"], rounds=self.rounds,
            codec_feeder=self.stage.command,
            codec_runner=self.player.daemon.command)

    def calls(self, overload=True):
        """Return {flow: calls that speak}."""
        kinds = {f.name: f.overload for f in self.flows}
        return {flow: n if overload or not kinds[flow] else 0
                for flow, n in self.load.calls().items()}

    def check_contract(self):
        """Drop the current scheduler if it has broken its contract since the
        last read. Between two blocks, too: the next switch would hide it."""
        now = self.stage.read_counters()
        if now["faults"] != self.faults and self.current:
            self.replaced(self.current, now)
        self.faults = now["faults"]

    def switch(self, spec):
        """Switch to a scheduler. Return the counters then; None: it failed."""
        self.check_contract()
        if spec not in self.specs:
            return None
        name, _, options = plain_name(spec).partition(",")
        if ".so" in name:
            name = os.path.basename(name)
        try:
            self.stage.request("scheduler.set",
                           scheduler=",".join(filter(None, [name, options])))
        except Refused as refused:
            self.give_up(spec, f"refused: {refused}")
            return None
        begin = self.stage.read_counters()
        now = begin["scheduler"].partition(",")[0]
        # a plug-in has a name of its own; fifo replaces what breaks
        if now == "fifo" if ".so" in name else now != name:
            self.replaced(spec, begin)
            return None
        if begin["faults"] != self.faults:
            last = self.current  # it was in use until the switch
            if not last or f"policy={now} " in begin["fault"]:
                self.replaced(spec, begin)
                return None
            self.replaced(last, begin)
        self.current, self.faults = spec, begin["faults"]
        return begin

    def replaced(self, spec, now):
        """Drop a scheduler in whose place the daemon has another one now."""
        why = f"the daemon has {now['scheduler']} in its place"
        if now["faults"] != self.faults:
            why = "it broke its contract"
        self.current, self.faults = None, now["faults"]
        self.broken[spec] = now["at_ns"]
        self.give_up(spec, f"{why} (runner.log has the details)")

    def give_up(self, spec, why):
        self.progress.print(f"{spec}: {why}; it is not played any more")
        self.specs.remove(spec)
        self.failed = True

    def add(self, number, spec, begin, kind="steady", overload=None):
        """Add the block from begin until now, unless another scheduler has
        replaced this one."""
        end = self.stage.read_counters()
        if any(end[key] != begin[key] for key in ("scheduler", "faults")):
            self.replaced(spec, end)
            return
        block = {"round": number, "scheduler": spec, "kind": kind,
                 "begin_ns": begin["at_ns"], "end_ns": end["at_ns"],
                 "overload_ns": overload, "calls": self.calls(),
                 **{key: end[key] - begin[key]
                    for key in ("cpu_ns", "busy_ns", "jobs", "arrived")}}
        self.blocks.append(block)
        if kind == "steady":
            self.load.learn(block)

    def steady_round(self, number, order, length):
        self.stage.speak(self.calls())
        for spec in order:
            if spec not in self.specs:
                continue
            self.show_progress(number, spec)
            begin = self.switch(spec)
            if begin:
                self.stage.sleep(length)
                self.add(number, spec, begin)
        if self.load.correct() and number:
            self.progress.print("there are too few calls for the load: a frame "
                              "costs less than when the calls were set up")
        self.write()

    def episode(self, number, spec):
        self.show_progress(number, spec, "episode")
        self.stage.speak(self.calls(overload=False))
        begin = self.switch(spec)
        if not begin:
            return
        self.stage.sleep(CALM)
        since = self.stage.speak(self.calls())
        self.stage.sleep(OVERLOAD)
        until = self.stage.speak(self.calls(overload=False))
        self.stage.sleep(AFTER)
        self.add(number, spec, begin, "episode", [since, until])

    def show_progress(self, number, spec, kind="round"):
        total = EPISODE_ROUNDS if kind == "episode" else self.rounds
        last = self.blocks[-len(self.specs):]
        met = [self.load.demand(b) for b in last
               if b["kind"] == "steady" and b["jobs"]]
        left = max(self.ends - time.monotonic(), 0)
        where = f"{kind} {number} of {total}" if number else "first look"
        self.progress.show(
            f"{where}, {spec}: {sum(self.calls().values())} calls" +
            (f", demand {sum(met) / len(met):.0%}" if met else "") +
            f", {left:.0f} s left", (kind, number))

    def play(self):
        """Play all rounds. Raises Halted, Broken."""
        self.set_up()
        self.ends = time.monotonic() + 1.05 * self._sleeps()
        seed = self.player.campaign["seed"]
        print(f"order by seed {seed}: --feeder --seed=N for another",
              flush=True)
        rounds = orders(self.specs, 1 + self.rounds + EPISODE_ROUNDS, seed)
        self.steady_round(0, rounds[0], FIRST_BLOCK)
        for number in range(1, self.rounds + 1):
            self.steady_round(number, rounds[number], self.length)
        for number in range(1, EPISODE_ROUNDS + 1):
            for spec in rounds[self.rounds + number]:
                if self.has_overload and spec in self.specs:
                    self.episode(number, spec)
        if self.contrast and self.specs:
            self.recorded = contrast.play(self)
        self.check_contract()
        self.write()

    def write(self):
        path = os.path.join(self.folder, "blocks.json")
        content = {"version": 1, "warm_up_s": WARM_UP,
                   "target": self.load.target,
                   "workers": self.load.workers, "blocks": self.blocks,
                   "broken": self.broken}
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(content, f, indent=1)
            f.write("\n")
        os.replace(path + ".new", path)


def play(player):
    """Play into OUT/blocks. Return the exit code."""
    folder = os.path.join(player.options.out, FOLDER)
    os.makedirs(folder, exist_ok=True)
    remove_run(folder)
    print(f"\n== {player.options.name}, schedulers in turn under live calls: "
          f"{', '.join(player.specs)}", flush=True)
    played, code = Blocks(player, folder), 0
    try:
        played.play()
    except Halted:
        code = INTERRUPTED
    except Broken as broken:
        code = broken.code
    finally:
        played.progress.end()
        if played.blocks:
            played.write()
        played.stage.close()
    contrast.keep(played)
    return code or (BROKEN if played.failed else 0)

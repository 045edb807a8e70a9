# SPDX-License-Identifier: Apache-2.0
"""Playing a campaign live: one run, and the calls that all runs get."""
import json
import os
import re
import signal
import statistics
import subprocess
import sys

import environment
from daemon import Daemon
from installation import programs
from names import folder_name, plain_name
from peer import RTPENGINE, Foreign, Rtpengine

BROKEN, WRONG, MISSED, INTERRUPTED = 1, 2, 3, 130
PLAYED = 0, MISSED  # to the end: there is a run.json to judge
RUN_FILES = "trace.bin", "run.json", "streams.csv", "frames.bin", \
    "environment.json", "blocks.json", "heard.json", "said-quiet.wav", \
    "said-age.wav"
SIZINGS = 5  # measurements of a load, of which the median counts


def share_of(calls, scale):
    """So many calls of a flow are played, where it has calls at 1."""
    return max(round(calls * scale), 1)


class Broken(Exception):
    """A run that cannot go on; what is wrong has been said. code: to exit
    with."""

    def __init__(self, code=BROKEN):
        super().__init__()
        self.code = code


class Player:
    """What is the same for every run of a campaign.

    specs: schedulers, and behind them the peer. counts: {flow: calls} of flows
    with a load, once size_loads() has been called. stopped: set by signals.
    """

    def __init__(self, options):
        self.options, self.stopped = options, False
        self.build = programs(options.TOP)
        self.daemon_options = self.ask("daemon")
        if not self.daemon_options:
            raise Broken(WRONG)  # the feeder has said what is wrong
        self.campaign = self._ask_campaign()
        self.conversions = self.campaign["conversions"] > 0
        self.specs = options.schedulers or \
            self.ask("schedulers")[:2 if options.quick else None] or ["edf"]
        if options.peer:
            self.specs = [*self.specs, options.peer]
        self._check_folders()
        self.counts = {}
        self.cpu = str(min(os.sched_getaffinity(0)))
        self.daemon = self.feeder = None
        self.constant = environment.fixed(options.TOP)

    def _check_folders(self):
        """One run would write over the other's files."""
        taken = {}
        for spec in self.specs:
            other = taken.setdefault(folder_name(spec), spec)
            if other != spec:
                print(f"campaigns/run: {other} and {spec} would share the "
                      f"folder {folder_name(spec)}; give one another name",
                      file=sys.stderr)
                raise Broken(WRONG)

    def program(self, name):
        return os.path.join(self.build, name)

    def ask(self, what):
        """Lines of codec-feeder --print."""
        done = subprocess.run(
            [self.program("codec-feeder"), self.options.campaign, "--print",
             what, *self.options.feeder], stdout=subprocess.PIPE, text=True,
            check=False)
        return done.stdout.splitlines()

    def _ask_campaign(self):
        """{seed, conversions, expects, flows}"""
        text = "".join(self.ask("campaign"))
        if not text:
            raise Broken(WRONG)
        return json.loads(text)

    def stop(self, number, _=None):
        """On a signal: no further run, and the feeder shall end this one."""
        again, self.stopped = self.stopped, True
        # a second Ctrl-C means at once; timeout(1) sends SIGTERM twice
        if self.feeder and (not again or number == signal.SIGINT):
            self.feeder.terminate()

    def worker_cpus(self):
        """Those behind the feeder's, as many as there are workers; all, where
        there are not so many."""
        workers = 1
        words = " ".join([*self.daemon_options, *self.options.runner])
        for found in re.findall(r"(?:--workers[= ]|-w ?)(\d+)", words):
            workers = int(found)
        usable = sorted(os.sched_getaffinity(0))
        return usable[1:workers + 1] or usable

    def _place(self):
        """codec-runner's options that put workers and receivers where a peer
        is; the other threads are there, too (start_daemon())."""
        if not self.options.peer:
            return []
        cpus = ",".join(map(str, self.worker_cpus()))
        return ["--pin", cpus, "--rx-cpu", cpus]

    def is_foreign(self, spec):
        """Is it a program that somebody else has started?"""
        return spec == self.options.peer and spec != RTPENGINE

    def _peer(self, folder):
        if self.options.peer == RTPENGINE:
            return Rtpengine(folder, self.worker_cpus())
        return Foreign(self.options.peer)

    def check_peer(self):
        """Before anything is played: can the peer have the campaign's calls at
        all, and does it run? Broken, where not."""
        if not self.options.peer:
            return
        done = subprocess.run(  # asks nobody, unless there are loads
            [self.program("codec-feeder"), self.options.campaign, "--quiet",
             "--ng", "127.0.0.1:1", "--ports", "own", "--print", "counts",
             *self.options.feeder], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == WRONG:
            sys.stderr.write(done.stderr)
            raise Broken(WRONG)
        os.makedirs(self.options.out, exist_ok=True)
        self.start_daemon(self.options.peer, self.options.out)
        self.stop_daemon()
        _remove(self.options.out, "rtpengine.log")

    def start_daemon(self, spec, folder, *more):
        if spec == self.options.peer:
            self.daemon = self._peer(folder)
        else:
            self.daemon = Daemon(self.program("codec-runner"),
                                 plain_name(spec), folder, [
                *more, *self.daemon_options, *self._place(),
                *self.options.runner],
                self.worker_cpus() if self.options.peer else None)
        if not self.daemon.start():
            raise Broken

    def stop_daemon(self):
        if self.daemon:
            self.daemon.stop()

    def count(self, where):
        """Return {flow: calls} for the flows' loads, as the daemon measures them
        now. where: codec-feeder's options that find it. Broken: it cannot."""
        done = subprocess.run(
            [self.program("codec-feeder"), self.options.campaign, *where,
             "--print", "counts", *self.options.feeder],
            stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Broken
        return {flow: int(n) for flow, n in (
            line.rsplit("=", 1) for line in done.stdout.splitlines())}

    def size_loads(self):
        """Loads become calls by what the daemon measures when it starts, which
        differs from one time to the next; all schedulers shall get the same
        calls. So the measurement is repeated and its median taken."""
        folder = self.options.out
        os.makedirs(folder, exist_ok=True)
        found = []
        while len(found) < SIZINGS and not self.stopped:
            self.start_daemon(self.specs[0], folder)
            try:
                found.append(self.count(self.daemon.where()))
            finally:
                self.stop_daemon()
            if not found[0]:
                break  # no loads in it
        _remove(folder, "runner.log", "runner.err")
        if found and found[0]:
            self.counts = {flow: statistics.median_low(f[flow] for f in found)
                           for flow in found[0]}
            print("calls by load:", *(f"{flow}={n}" for flow, n
                                      in self.counts.items()), flush=True)

    def _spool(self, folder):
        if not self.conversions:
            return []
        spool = os.path.join(folder, "spool")
        os.makedirs(spool, exist_ok=True)
        for name in os.listdir(spool):
            if name.startswith("feeder-"):
                os.remove(os.path.join(spool, name))
        return ["--spool", spool]

    def _calls(self, scale):
        """codec-feeder's options for a share of the campaign's calls."""
        counts = [f"--count={flow}={share_of(n, scale)}"
                  for flow, n in self.counts.items()]
        return counts if scale == 1 else \
            [f"--load-scale={scale * 100:.3f}%", *counts]

    def play(self, spec, folder, scale=1, repetition=1):
        """One daemon, one feeder. The feeder's exit code; BROKEN when it
        crashed, or a scheduler broke its contract."""
        os.makedirs(folder, exist_ok=True)
        remove_run(folder)
        spool = self._spool(folder)
        self.start_daemon(spec, folder, "--trace",
                          os.path.join(folder, "trace.bin"), *spool)
        dump = ["--dump", os.path.join(folder, "dump")] \
            if self.options.dump else []
        ports = ["--ports", "own"] if self.options.peer else []
        feeder = [self.program("codec-feeder"), self.options.campaign,
                  *self.daemon.where(), *ports, "--cpu", self.cpu, "--out", folder,
                  "--frames", *spool, *dump, *self._calls(scale),
                  *self.options.feeder]
        who = "peer" if spec == self.options.peer else "codec_runner"
        environment.write(folder, self.constant, scheduler=spec,
                          repetition=repetition, scale=scale,
                          codec_feeder=feeder, **{who: self.daemon.command})
        code = self._feed(feeder)
        self.stop_daemon()
        if code in PLAYED and report_fault(folder):
            return BROKEN
        if code >= 0:
            return code
        if self.stopped:
            return INTERRUPTED
        print(f"campaigns/run: codec-feeder was ended by "
              f"{signal.Signals(-code).name} under {spec}", file=sys.stderr)
        return BROKEN

    def _feed(self, command):
        """The feeder's exit code, negative: the signal that ended it."""
        # its own process group: signals come from stop() only, each once
        feeder = subprocess.Popen(command, process_group=0)
        stopped, self.feeder = self.stopped, feeder
        if stopped:  # before stop() knew of the feeder
            feeder.terminate()
        code = feeder.wait()
        self.feeder = None
        return code


def report_fault(folder):
    """Return whether a scheduler broke its contract in the run of a folder, and
    fifo went on for it, so that there is no result. Print it."""
    try:
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
            fault = json.load(f).get("scheduler_fault")
    except (OSError, ValueError):
        return False
    if fault:
        print("campaigns/run: a scheduler broke its contract, and fifo went "
              f"on for it: {fault}\ncampaigns/run: mend it (schedulers/"
              "README.md has the contract), or leave it out of --schedulers; "
              f"{os.path.join(folder, 'runner.log')} has the details",
              file=sys.stderr)
    return bool(fault)


def _remove(folder, *names):
    for name in names:
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))


def remove_run(folder):
    """Remove what an earlier run left in a folder, if it is there."""
    _remove(folder, *RUN_FILES)

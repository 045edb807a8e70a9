# SPDX-License-Identifier: Apache-2.0
"""Playing a campaign live: the same calls under each scheduler."""
import os
import re
import signal
import statistics
import subprocess

from daemon import Daemon

BROKEN, WRONG, INTERRUPTED = 1, 2, 130
SIZINGS = 5  # measurements of a load, of which the median counts


class Broken(Exception):
    """A run that cannot go on; what is wrong has been said. code: to exit
    with."""

    def __init__(self, code=BROKEN):
        super().__init__()
        self.code = code


class Player:
    """What is the same for every run of a campaign.

    specs: schedulers. counts: {flow: calls} of flows with a load, once
    size_loads() has been called. stopped: set by Ctrl-C.
    """

    def __init__(self, options):
        self.options, self.stopped = options, False
        self.build = os.path.join(options.TOP, "build", "release")
        self.daemon_options = self.ask("daemon")
        if not self.daemon_options:
            raise Broken(WRONG)  # the feeder has said what is wrong
        self.conversions = self.ask("conversions") != ["0"]
        self.specs = options.schedulers or self.ask("schedulers") or ["edf"]
        self.counts = {}
        self.cpu = str(min(os.sched_getaffinity(0)))
        self.daemon = None

    def program(self, name):
        return os.path.join(self.build, name)

    def ask(self, what):
        """Lines of codec-feeder --print."""
        done = subprocess.run(
            [self.program("codec-feeder"), self.options.campaign, "--print",
             what], stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout.splitlines()

    def stop(self, *_):
        self.stopped = True

    def start_daemon(self, spec, folder, *more):
        self.daemon = Daemon(self.program("codec-runner"), spec, folder, [
            *more, *self.daemon_options, *self.options.runner])
        if not self.daemon.start():
            raise Broken

    def stop_daemon(self):
        if self.daemon:
            self.daemon.stop()

    def _measure_loads(self, folder):
        """{flow: calls} as the daemon measures them now."""
        self.start_daemon(self.specs[0], folder)
        done = subprocess.run(
            [self.program("codec-feeder"), self.options.campaign,
             *self.daemon.where(), "--print", "counts", *self.options.feeder],
            stdout=subprocess.PIPE, text=True, check=False)
        self.stop_daemon()
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
            found.append(self._measure_loads(folder))
            if not found[0]:
                break  # no loads in it
        for name in ("runner.log", "runner.err"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
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

    def play(self, spec, folder):
        """One daemon, one feeder. The feeder's exit code."""
        os.makedirs(folder, exist_ok=True)
        for name in ("trace.bin", "run.json", "calls.csv"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        spool = self._spool(folder)
        self.start_daemon(spec, folder, "--trace",
                          os.path.join(folder, "trace.bin"), *spool)
        counts = [f"--count={flow}={n}" for flow, n in self.counts.items()]
        feeder = [self.program("codec-feeder"), self.options.campaign,
                  *self.daemon.where(), "--cpu", self.cpu, "--out", folder,
                  *spool, *counts, *self.options.feeder]
        code = subprocess.run(feeder, check=False).returncode
        self.stop_daemon()
        return INTERRUPTED if code < 0 else code


def folder_name(spec):
    return re.sub(r"[^A-Za-z0-9=._-]", "_", spec)


def has_trace(folder):
    path = os.path.join(folder, "trace.bin")
    return os.path.exists(path) and os.path.getsize(path) > 0


def play_all(player):
    """Every scheduler once. (worst exit code, folders that can be reported)."""
    worst, folders = 0, []
    for spec in player.specs:
        if player.stopped:
            break
        folder = os.path.join(player.options.out, folder_name(spec))
        print(f"\n== {player.options.name} under {spec}", flush=True)
        try:
            code = player.play(spec, folder)
        except Broken:
            code = BROKEN
        if has_trace(folder):
            folders.append(folder)
        worst = max(worst, code)
        if code == BROKEN:
            break
    return worst, folders


def report(player, folders):
    """Table and web page; whether codec-report could."""
    out = player.options.out
    print(f"\n== report (run folders: {out})", flush=True)
    return not subprocess.run(
        [player.program("codec-report"), "--html",
         os.path.join(out, "report.html"), *folders],
        check=False).returncode


def run(options):
    """Play, report. The exit code."""
    player = None
    try:
        player = Player(options)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, player.stop)
        if len(player.specs) > 1:
            player.size_loads()
        worst, folders = play_all(player)
        if folders and not report(player, folders) and not worst:
            worst = BROKEN
    except Broken as broken:
        worst = broken.code
    finally:
        if player:
            player.stop_daemon()
    return INTERRUPTED if player and player.stopped else worst

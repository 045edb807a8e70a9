# SPDX-License-Identifier: Apache-2.0
"""What is played: first more than can be done, to know what can be done; then
every share of that, with each kind of shedding, and to the media proxy."""
import json
import os
import pathlib
import re
import shutil
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "player"))
sys.path.append(str(ROOT / "src" / "report"))

from live import PLAYED, Broken, Player, remove_run, share_of  # noqa: E402

KINDS = ("age", "pattern", "quiet")  # of codec-runner's --shed
TOO_MUCH = 1.4  # of the load that the daemon measures, to begin with
JUST = 1.1  # of the capacity, as known: receiving what is lost takes time, too
MORE = 1.4  # where that was not too much
CLEAR = (0.8, 0.97)  # of the frames sent come back, where it is just too much
TRIES = 8
MEASURED = 2  # times
AFTER, BEFORE = 3e9, 1e9  # ns of a run's begin and end that do not count


def _name(what):
    return what.replace(":", "_")


@dataclass(frozen=True)
class Run:
    """One run: what is a kind of shedding, or the proxy's name."""
    load: float
    what: str
    turn: int

    def folder(self, out):
        return os.path.join(out, f"{self.load:g}", _name(self.what),
                            str(self.turn))


def order(loads, whats, rounds):
    """Round by round: what changes slowly on the machine meets all alike."""
    return [Run(load, what, turn) for turn in range(1, rounds + 1)
            for load in loads for what in whats]


def there(out, what):
    """The whole runs that a folder has."""
    found = []
    for path in pathlib.Path(out).glob(f"*/{_name(what)}/*/run.json"):
        load, turn = path.parents[2].name, path.parents[0].name
        if re.fullmatch(r"[0-9.]+", load) and turn.isdigit():
            found.append(Run(float(load), what, int(turn)))
    return sorted(found, key=lambda run: (run.load, run.turn))


def forget(out, whats):
    """Remove the runs of an earlier time."""
    for what in whats:
        for run in there(out, what):
            shutil.rmtree(run.folder(out))


def carried(records):
    """The share of the frames sent that came back, while all calls were up.
    records: of frames.bin."""
    sent = records["sent"]
    sent = sent[sent > 0]
    first, last = sent.min() + AFTER, sent.max() - BEFORE
    if last <= first:  # a run of seconds
        first, last = sent.min(), sent.max()
    here = ((sent >= first) & (sent < last)).sum()
    back = records["received"]
    return ((back >= first) & (back < last)).sum() / here


def flow_of(campaign):
    """The name of a campaign's flow, None where it has not just one."""
    with open(campaign, encoding="utf-8") as f:
        names = re.findall(r"""^ *(?:- )? *name: *("[^"\n]+"|'[^'\n]+'|"""
                           r"[^ '\"#\n]+)", f.read(), re.M)
    return names[0].strip("'\"") if len(names) == 1 else None


def told(folder, name="run.json"):
    """What a file of a run says, None where there is no whole run."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def is_of(run, out, flow, capacity):
    """Whether a whole run is there, with as many calls as its share of that
    capacity is: what an earlier time has left may have others."""
    folder = run.folder(out)
    whole, played = told(folder), told(folder, "environment.json")
    return whole is not None and played is not None and \
        f"--count={flow}={share_of(capacity, run.load)}" in \
        played["codec_feeder"]


def forget_speech(folder):
    shutil.rmtree(os.path.join(folder, "dump"), ignore_errors=True)


class Here(Player):
    """campaigns/run's, with the programs of CR_BUILD if that is said."""

    def program(self, name):
        return os.path.join(os.environ.get("CR_BUILD", self.build), name)


class Plays:
    """player: of campaigns/player, whose campaign has one flow with a load.
    kernels: codec-runner's option."""

    def __init__(self, player, runner):
        self.player, self.runner = player, runner
        self.out = player.options.out

    def _play(self, run, folder):
        options = self.player.options
        spec = options.peer if run.what == options.peer \
            else self.player.specs[0]
        options.runner = [*self.runner, f"--shed={run.what}"]
        print(f"\n== {run.load:.2f} x the capacity, {run.what}, {run.turn}",
              flush=True)
        code = self.player.play(spec, folder, run.load, run.turn)
        if self.player.stopped or code not in PLAYED:
            remove_run(folder)  # half a run is none
            forget_speech(folder)
            raise Broken(code)

    def _overload(self, load, turn):
        """What comes through: (calls, share)."""
        from codec_report.frames import read_records  # needs numpy
        folder = os.path.join(self.out, "capacity")
        self._play(Run(load, KINDS[0], turn), folder)
        return told(folder)["total"]["admitted"], carried(
            read_records(os.path.join(folder, "frames.bin"))[1])

    def measure(self, flow):
        """Calls that codec-runner carries, by what it does of just too many:
        each measurement."""
        found, load = [], TOO_MUCH
        self.player.counts = {}
        for turn in range(1, TRIES + 1):
            calls, share = self._overload(load, turn)
            forget_speech(os.path.join(self.out, "capacity"))
            print(f"{share:.1%} of {calls} calls", flush=True)
            if CLEAR[0] <= share <= CLEAR[1]:
                found.append(calls * share)
            if len(found) == MEASURED:
                return found
            load = JUST
            self.player.counts = {flow: calls * share * (
                MORE if share > CLEAR[1] else 1)}
        print("campaigns/overload/run: no two overloads could be made that "
              "tell the capacity", file=sys.stderr)
        raise Broken

    def play(self, runs, flow, capacity):
        """All runs that are not there already."""
        self.player.counts = {flow: capacity}
        for run in runs:
            if not is_of(run, self.out, flow, capacity):
                self._play(run, run.folder(self.out))

# SPDX-License-Identifier: Apache-2.0
"""--find-capacity: the largest load that each scheduler carries."""
import json
import os
import resource
import time
from dataclasses import asdict, dataclass

import texttable
from capacity import Search
from live import BROKEN, PLAYED, Broken
from names import folder_name

ATTEMPTS = 3  # of a trial that breaks off, or fails on a disturbed machine
# Share of all CPU time. If other programs had more, a failed trial says little.
DISTURBED = 0.1


class Interrupted(Exception):
    """Ctrl-C. The results until then are reported."""


@dataclass
class Trial:
    """One run, as the feeder measured it; true if the load was carried."""
    scale: float
    calls: int = 0
    lost: int = 0
    refused: int = 0
    p99_ms: float = None
    carried: bool = False
    why: str = ""
    others: float = 0.0  # share of all CPU time that other programs had

    def __bool__(self):
        return self.carried


def judge(scale, run, bound_ms):
    """Return the Trial of a run, the content of run.json. Frames count as lost
    if the feeder sent them and they did not come back, or did not send them in
    time."""
    total = run["total"]
    p99 = total["delay"].get("p99_ns")
    trial = Trial(scale, total["admitted"], total["lost"] + total["missed"],
                  total["refused"], None if p99 is None else p99 / 1e6)
    if trial.refused:
        trial.why = f"{trial.refused} calls refused"
    elif trial.lost:
        trial.why = f"{trial.lost} frames lost"
    elif trial.p99_ms is None:
        trial.why = "nothing came back"
    elif trial.p99_ms > bound_ms:
        trial.why = f"p99 {trial.p99_ms:.1f} ms"
    trial.carried = not trial.why
    return trial


class Others:
    """Measures the CPU time of other programs, and of other virtual machines,
    from its creation on. Of this process's children only those that have ended
    are not others."""

    def __init__(self):
        self.busy, self.own, self.since = *self._now(), time.monotonic()

    @staticmethod
    def _now():
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, _, _, irq, soft, stolen = map(
                int, f.readline().split()[1:9])
        own = sum(sum(resource.getrusage(of)[:2]) for of in
                  (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ticks = user + nice + system + irq + soft + stolen
        return ticks / os.sysconf("SC_CLK_TCK"), own

    def share(self):
        """Return their share of all CPU time."""
        busy, own = self._now()
        everything = (time.monotonic() - self.since) * os.cpu_count()
        others = (busy - self.busy) - (own - self.own)
        return max(others / everything, 0) if everything else 0


def _play_to_the_end(player, spec, folder, scale):
    """Play a run, and again if it breaks off: a lost control link, or a daemon
    or feeder that has ended, says nothing of the load. Raises Broken if every
    attempt breaks off, or if the campaign is wrong."""
    for left in reversed(range(ATTEMPTS)):
        try:
            code = player.play(spec, folder, scale)
        except Broken as broken:
            player.stop_daemon()
            code = broken.code
        if player.stopped:
            raise Interrupted
        if code in PLAYED:
            return
        if code != BROKEN or not left:
            raise Broken(code)
        print(f"{spec}, {scale:.1%}: broke off, once more", flush=True)


def _play_once(player, spec, scale):
    """Return the Trial of one run."""
    folder = os.path.join(player.options.out, folder_name(spec), "search")
    print(f"\n== {player.options.name} under {spec}, {scale:.1%} of its load",
          flush=True)
    others = Others()
    _play_to_the_end(player, spec, folder, scale)
    share = others.share()
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        trial = judge(scale, json.load(f), player.options.p99)
    # another program's peer is no child of this process
    trial.others = 0.0 if player.is_foreign(spec) else share
    print(f"{spec}, {scale:.1%}: {trial.calls} calls, "
          + ("carried" if trial else trial.why), flush=True)
    return trial


def _play(player, spec, scale):
    """Return a Trial. One that fails while other programs have the CPUs is
    played again."""
    for left in reversed(range(ATTEMPTS)):
        trial = _play_once(player, spec, scale)
        if trial or trial.others <= DISTURBED:
            break
        trial.why += f"; other programs had {trial.others:.0%} of the CPU time"
        print(f"other programs had {trial.others:.0%} of the CPU time"
              + (": once more" if left else ""), flush=True)
    return trial


def disturbed(found):
    """Return the largest share of the CPU time that other programs had while
    the load failed that bounds the result; 0: at most DISTURBED."""
    bound = min((s for s, t in found.trials
                 if not t and (not found.scale or s >= found.scale)),
                default=None)
    share = max((t.others for s, t in found.trials if not t and s == bound),
                default=0)
    return share if share > DISTURBED else 0


def row(spec, found):
    """Return [scheduler, load, calls, p99, trials] as texts. The p99 is the
    larger one of the two runs of the load that was found. The load has a ">" if
    the search did not come to its end, or if its bound failed on a disturbed
    machine."""
    won = [t for s, t in found.trials if s == found.scale and t]
    if not won:
        return [spec, "-", "-", "-", str(len(found.trials))]
    more = "" if found.confirmed and not disturbed(found) else ">"
    return [spec, f"{more}{found.scale:.1%}", str(won[-1].calls),
            f"{max(t.p99_ms for t in won):.2f}", str(len(found.trials))]


def table(results):
    """Return lines. results: {scheduler: Found}."""
    return texttable.lines([
        ["scheduler", "load", "calls", "p99, ms", "runs"],
        *(row(spec, found) for spec, found in results.items())])


def as_json(player, results):
    return {
        "campaign": player.options.campaign, "p99_bound_ms":
        player.options.p99, "calls_by_load": player.counts,
        "schedulers": [{
            "scheduler": spec, "scale": found.scale,
            "confirmed": found.confirmed, "disturbed": disturbed(found),
            "trials": [asdict(trial) for _, trial in found.trials],
        } for spec, found in results.items()],
        "environment": player.constant}


def _report(player, results):
    """Write capacity.json and print the table."""
    path = os.path.join(player.options.out, "capacity.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(as_json(player, results), f, indent=1)
        f.write("\n")
    print(f"\n== largest load without loss, p99 <= {player.options.p99:g} ms")
    print("\n".join(table(results)))
    for spec, found in results.items():
        if disturbed(found):
            print(f"{spec}: more loads failed while other programs had "
                  f"{disturbed(found):.0%} of the CPU time; on a machine of its "
                  "own it may carry more")
    print(f"written: {path}", flush=True)


def search_all(player):
    """Search for the capacity of every scheduler, and report. A search that
    breaks off does not end the others. Return the exit code: that of the last
    search that broke off."""
    os.makedirs(player.options.out, exist_ok=True)
    player.size_loads()
    results, code = {}, 0
    for spec in player.specs:
        search = Search(lambda scale, spec=spec: _play(player, spec, scale))
        results[spec] = search.found
        try:
            search.run()
        except Interrupted:
            break
        except Broken as broken:
            code = broken.code
            if code != BROKEN:
                break  # the next search would fail alike
    _report(player, results)
    return code

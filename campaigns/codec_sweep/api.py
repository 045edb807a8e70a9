# SPDX-License-Identifier: Apache-2.0
"""The functions for programs and notebooks, and what the command builds on."""
import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from codec_sweep import SweepError, cell, grid, interval, pool
from codec_sweep.store import Store

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "campaigns" / "player"))

import installation  # noqa: E402
from names import wrong_scheduler  # noqa: E402

KNOWN_ERRORS = 5  # cells that are named; of more there is a number


def programs(build=None):
    """The folder of codec-sim: build, $CR_BUILD, build/release, or where it is
    installed."""
    folder = pathlib.Path(build or os.environ.get("CR_BUILD") or
                          installation.programs(ROOT)).resolve()
    if not (folder / "codec-sim").exists():
        raise SweepError(f"no {folder / 'codec-sim'}: build it (campaigns/"
                         "sweep does), or name its folder")
    return folder


def fingerprint(program):
    """Of codec-sim, with the schedulers that are in it, or of a plug-in: other
    builds may play the same cell otherwise."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def plugins(schedulers):
    """{scheduler: fingerprint} of those that are files: what is done with
    another content is not gone on with."""
    paths = {spec: pathlib.Path(spec.partition(",")[0])
             for spec in schedulers if "/" in spec.partition(",")[0]}
    return {spec: fingerprint(path) for spec, path in paths.items()
            if path.is_file()}


def find_campaign(path):
    """A file, or one of those beside campaigns/run by its name."""
    beside = ROOT / "campaigns" / path
    found = pathlib.Path(path)
    if not found.is_file() and beside.is_file():
        found = beside
    if not found.is_file():
        raise SweepError(f"no campaign file {path}")
    return found.resolve()


def campaign_schedulers(folder, campaign):
    """Those that it lists; edf if it lists none, as codec-sim has it."""
    done = subprocess.run(
        [folder / "codec-feeder", campaign, "--print", "schedulers"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise SweepError(done.stderr.strip().removeprefix("codec-feeder: "))
    return done.stdout.splitlines() or ["edf"]


def check_schedulers(folder, schedulers):
    """SweepError for one that codec-runner does not know. Where a named build
    has none, codec-sim tells."""
    if not (folder / "codec-runner").exists():
        return
    for spec in schedulers:
        wrong = wrong_scheduler(folder / "codec-runner", spec)
        if wrong:
            raise SweepError(wrong.replace("--scheduler:", "--schedulers:"))


class Failures:
    """Cells that could not be played: who said what, of how many."""

    def __init__(self):
        self.cells = {}  # message: [(number, cell), ...]

    def add(self, number, where, message):
        self.cells.setdefault(message, []).append((number, str(where)))

    def __bool__(self):
        return bool(self.cells)

    def lines(self):
        """A line for each message, with the first cell that it was said of, in
        the order of the cells, whichever was played first."""
        found = sorted((min(where), len(where), message)
                       for message, where in self.cells.items())
        return [f"cell {where}" + (f" and {n - 1} more" if n > 1 else "") +
                f": {message}" for (_, where), n, message in found]


class Sweep:
    """Cells to be played, with what is done of them.

    cells: of grid.Cell; jobs: for function, of codec_sweep.cell; results: of
    those that are done, by cell. tell(done, all): called at each.
    """

    def __init__(self, cells, jobs, function, store):
        self.cells, self.jobs, self.function = cells, jobs, function
        self.store, self.failures, self.results = store, Failures(), {}

    def _key(self, i):
        return json.dumps(self.cells[i].key)

    def begin(self, resume=False, anew=False):
        """Open the folder; how many cells are done already."""
        done = self.store.open(resume, anew)
        for i, one in enumerate(self.cells):
            key = self._key(i)
            if key in done:
                self.results[one] = done[key]
        return len(self.results)

    def _take(self, i, result):
        """result: of cells[i]."""
        one = self.cells[i]
        if "error" in result:
            self.failures.add(i, one, result["error"])
        else:
            self.results[one] = result
            self.store.add(one.key, result)

    def play(self, workers, tell=lambda done, of: None):
        """Play what is left on a pool. What is done stays done, however this
        ends."""
        left = [i for i, one in enumerate(self.cells)
                if one not in self.results]
        done = len(self.cells) - len(left)
        tell(done, len(self.cells))
        try:
            with contextlib.closing(workers.run(
                    self.function, [self.jobs[i] for i in left])) as results:
                for i, result in results:
                    self._take(left[i], result)
                    done += 1
                    tell(done, len(self.cells))
        finally:
            self.store.close()

    @property
    def whole(self):
        return len(self.results) == len(self.cells)


def _settings(one):
    return [f"{key}={value}" for key, value in one.settings]


def add_score(swept, campaign, calls, build, here):
    """Have each cell tell the PESQ of so many calls. here: cells are played
    with this Python. SweepError: it cannot be."""
    from codec_sweep import score
    heard = programs(build) / "bench-heard"
    if not heard.exists():
        raise SweepError(f"PESQ needs {heard}: build it with the tests")
    try:
        score.check(heard, campaign, _settings(swept.cells[0]))
    except score.ScoreError as error:
        raise SweepError(error) from None
    if here and not score.quality.load_pesq():
        raise SweepError(score.MISSING)
    for one, job in zip(swept.cells, swept.jobs):
        job["score"] = [score.__file__, str(calls), str(heard), str(campaign),
                        *_settings(one)]
    swept.store.identity["PESQ"] = {"calls": calls,
                                    "bench-heard": fingerprint(heard)}


def campaign_sweep(campaign, params, schedulers, seeds, options=(), build=None,
                   out=None, score=0, here=True):
    """The Sweep of a campaign's grid. options: more of codec-sim's; score, here:
    of add_score(), 0: no PESQ."""
    folder = programs(build)
    campaign = find_campaign(campaign)
    check_schedulers(folder, schedulers or [])
    schedulers = list(schedulers or campaign_schedulers(folder, campaign))
    cells = grid.cells(params, schedulers, seeds, plugins(schedulers))
    start = [str(folder / "codec-sim"), str(campaign), "--json", "--quiet",
             "--jobs", "1", *options]
    jobs = [{"command": [*start, *(f"--set={word}" for word in _settings(c)),
                         "--scheduler", c.scheduler, "--seed", str(c.seed)]}
            for c in cells]
    identity = {"campaign": {"path": str(campaign),
                             "text": campaign.read_text(encoding="utf-8")},
                "codec-sim": fingerprint(folder / "codec-sim"),
                "options": list(options), "PESQ": None,
                "grid": {"set": {p.key: list(p.values) for p in params},
                         "schedulers": schedulers, "seeds": list(seeds)}}
    swept = Sweep(cells, jobs, cell.run, Store(out, identity))
    if score:
        add_score(swept, campaign, score, folder, here)
    return swept


def rows(swept):
    """A dict for each cell that is done, in the order of the grid: each
    parameter as the campaign has it, and as KEY.number in the units of
    codec-sim's JSON; scheduler, seed, and every number of the run."""
    found = []
    for one in swept.cells:
        if one not in swept.results:
            continue
        row = {}
        for key, value in one.settings:
            row[key] = value
            row[f"{key}.number"] = grid.number(value)
        found.append({**row, "scheduler": one.scheduler, "seed": one.seed,
                      **swept.results[one]["numbers"]})
    return found


def points(table, keys, metric):
    """Over the seeds: a dict for each point and scheduler, in their order:
    {**{key: value}, "scheduler", "metric", "runs", "mean", "sd", "low",
    "high"}; 95 % by Student's t. table: of rows()."""
    found = {}
    for row in table:
        where = (*(row[key] for key in keys), row["scheduler"])
        if row.get(metric) is not None:
            found.setdefault(where, []).append(row[metric])
    out = []
    for where, values in found.items():
        mean, deviation, low, high = interval.of_mean(values)
        out.append({**dict(zip([*keys, "scheduler"], where)),
                    "metric": metric, "runs": len(values), "mean": mean,
                    "sd": deviation, "low": low, "high": high})
    return out


def frame(table):
    """A pandas DataFrame of dicts."""
    try:
        import pandas
    except ImportError:
        raise SweepError("tables for Python are pandas's: deps/install "
                         "notebook (python3-pandas)") from None
    return pandas.DataFrame(table)


def _finish(swept):
    if swept.failures:
        raise SweepError("; ".join(swept.failures.lines()[:KNOWN_ERRORS]))


def sweep(campaign, set=(), schedulers=None, seeds=range(1, 6), duration=None,
          out=None, resume=False, anew=False, workers=None, dask=None,
          build=None, tell=lambda done, of: None, score=0):
    """Simulate a campaign over a grid. A DataFrame with a row for each run:

    KEY, KEY.number  each parameter: as the campaign has it ("50%"), and as a
                     number in the units of codec-sim's JSON (0.5; times in
                     ns), where it is one
    scheduler, seed
    total.loss, flows.NAME.delay.p99_ns, cpus.migrations, ...
                     every number of codec-sim's JSON; of CPUs and receivers
                     together
    total.pesq, .pesq_worst, .pesq_calls, and those of flows.NAME
                     with score: mean and lowest MOS-LQO, calls that have one

    campaign: a file, or the name of one of campaigns/. set: a list of
    "KEY=VALUES" as of campaigns/sweep --set, or {KEY: "VALUES" or a list of
    values}. schedulers: names with options ("rr,quantum=2ms"); None: those of
    the campaign. seeds: numbers. duration: "2s"; None: the campaign's. out: a
    folder in which what is done is kept as it is done; None: nothing is.
    resume, anew: go on with what is there, forget it. workers: processes at a
    time; None: as many as CPUs. dask: the address of a scheduler; the cluster
    plays the cells. build: the folder of codec-sim. tell: called with how many
    cells are done, of how many. score: so many calls of each run get a PESQ, by
    the package pesq; 0: none.

    SweepError: what cannot be, and every cell that could not be played. One
    sweep at a time in a folder; any thread.
    """
    swept = campaign_sweep(
        campaign, grid.parameters(set), schedulers, list(seeds),
        ["--duration", duration] if duration else [], build, out, score,
        not dask)
    swept.begin(resume, anew)
    swept.play(pool.make(workers, dask), tell)
    table = rows(swept)
    if out:
        swept.store.table("sweep.csv", table)
        swept.store.tell(swept.whole)
    _finish(swept)
    return frame(table)


def summarise(runs, metric):
    """Of sweep()'s DataFrame: one with a row for each point and scheduler, and
    the mean of @metric over the seeds (mean, sd, runs) with its 95 % interval
    by Student's t (low, high; none of a single run)."""
    keys = [c.removesuffix(".number") for c in runs.columns
            if c.endswith(".number")]
    if metric not in runs.columns:
        raise SweepError(f"no metric {metric!r}")
    numbered = [n for key in keys for n in (key, f"{key}.number")]
    table = runs[[*numbered, "scheduler", metric]].astype(object)
    table = table.where(table.notna(), None).to_dict("records")
    return frame(points(table, numbered, metric))


def schedulability(n=10, cpus=2, schedulers=None, sets=100,
                   shares="5%..100%:5%", seed=1, workers=None, dask=None,
                   build=None, tell=lambda done, of: None, **shape):
    """Random task sets under admission tests. A DataFrame with a row for each
    set and scheduler:

    share            of the CPUs that the set takes, 0 to 1
    set              its number
    scheduler
    admitted         1: every task was admitted by the scheduler's own test
    missed           jobs that were late when the set was simulated, admitted
                     or not
    promised_missed  the same if it was admitted, else 0: none, if the test
                     keeps its promise

    n: tasks. schedulers: None: those with a test of deadlines. sets: for each
    share. shares: "5%..100%:5%". shape: periods="10ms..1000ms", grid="1ms",
    queues="global" or "partitioned", draw="randfixedsum" or "uunifast",
    deadlines="implicit" or "constrained",
    duration="10s". The others as of sweep().
    """
    from codec_sweep import curves
    asked = curves.asked({"n": n, "cpus": cpus, "sets": sets, "util": shares,
                          "seed": seed, **shape})
    swept = curves.tasksets_sweep(asked, schedulers, build)
    swept.begin()
    swept.play(pool.make(workers, dask), tell)
    _finish(swept)
    return frame(curves.rows(swept))

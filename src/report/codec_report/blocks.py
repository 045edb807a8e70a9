# SPDX-License-Identifier: Apache-2.0
"""An interleaved comparison, block by block.

A folder with blocks.json (campaigns/run) is one run in which the schedulers
were switched under live calls: in each round every scheduler has a block of
about a second, in random order. The begin of a block, in which the queue is
still its predecessor's, is cut off. Of the rest:

turn         all of a worker's time for a frame: from its pick, or from the end
             of the turn before where the frame waited by then, to its end,
             with what was decided, dropped and sent between the two
disturbed    a turn of more than three times the median of its codec pair:
             something else had the CPU
cost         of a turn at the pace that the machine has when nobody slows the
             core, as a hyperthread beside it does for milliseconds: the mean
             of the undisturbed turns, of the codec pairs as frames arrive, by
             the pace of 32 turns in a row, each beside the median of its codec
             pair: the tenth fastest of a hundred, beside their mean
stolen       1 - CPU time / busy time of the workers by the clock, of the whole
             block; or what disturbed turns took beyond the mean of the others,
             of the time, where that is more
demand       frames that arrive x mean of the undisturbed turns / time that the
             workers had: the clock less what disturbed turns took beyond it
floor        max(0, 1 - 1/demand): what any scheduler loses of such frames
lost         of the frames whose end was in the block: done, dropped, or, where
             a newer one of the call took its place, 100 ms after they came
excess       lost less the floor
worst call   the largest share that a call lost, of calls with at least three
             quarters of the frames of the median call
same call    turns that stay with the call of the turn before; the cost of the
             others is that of the first of a row, theirs of the later ones,
             of the codec pairs that have both, as frames arrive
recovery     of an episode (calm, overload, calm): 100 ms slices from the end
             of the overload on, until at most 1 % of a slice, and of the four
             after it, is lost or took longer than 10 ms (or 1.25 times the p99
             of the calm before); not known of fewer than five slices

A block is left out when more than 25 % of it was stolen, its frames came up to
100 ms (p99) later than their timestamps say, or the scheduler was switched in
it, as one that breaks its contract is.
"""
from dataclasses import dataclass, field

import numpy as np

from codec_report import ReportError, metrics, parse_json, recovery
from codec_report.delay import came
from codec_report.labels import scheduler_name
from codec_report.locality import Turns
from codec_report.metric import nearest_rank
from codec_report.trace import NEVER, NOTE_SWITCHED, OUTCOMES

FILE = "blocks.json"
VERSION = 1
DISTURBED = 3.0      # times the median turn
STOLEN = 0.25        # of a block: too much
BEHIND = 100e6       # ns
OVERWRITTEN = 100_000_000  # ns from its arrival until it is one
LEAST_TURNS = 50     # of a block
ROW, ROWS = 32, 20   # turns whose pace is looked at; rows of a block at least
FASTEST = 0.10       # of the rows
ENOUGH = 0.75        # of the median call's frames
STEADY, EPISODE = "steady", "episode"


@dataclass
class Block:
    """What a block says. scheduler: the column; flaw: why it is left out, "";
    values: {name: number or None}."""
    round: int
    scheduler: str
    kind: str
    begin: int
    end: int
    calls: int
    flaw: str = ""
    values: dict = field(default_factory=dict)


@dataclass
class Played:
    """blocks.json: warm_up in ns; target: demand, None: not set; blocks: as in
    the file, in time order; broken: {scheduler: ns, when another went on for
    it}."""
    warm_up: int
    target: float
    workers: int
    blocks: list
    broken: dict = field(default_factory=dict)


def _number(item, name, where, least=0):
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or \
            not least <= value < NEVER:
        raise ReportError(f"{where}: {name} is not a number from {least} on")
    return value


def _check_block(item, where):
    if not isinstance(item, dict):
        raise ReportError(f"{where}: no object")
    begin, end = (int(_number(item, name, where))
                  for name in ("begin_ns", "end_ns"))
    if begin >= end:
        raise ReportError(f"{where}: ends before it begins")
    if not isinstance(item.get("scheduler"), str) or \
            item.get("kind") not in (STEADY, EPISODE):
        raise ReportError(f"{where}: needs scheduler, and kind "
                          f"{STEADY} or {EPISODE}")
    span = item.get("overload_ns")
    if item["kind"] == EPISODE and not (
            isinstance(span, list) and len(span) == 2 and all(
                isinstance(t, int) and begin <= t <= end for t in span)):
        raise ReportError(f"{where}: an episode needs overload_ns inside it")
    _number(item, "round", where)
    for name in ("cpu_ns", "busy_ns"):
        if item.get(name) is not None:
            _number(item, name, where)
    calls = item.get("calls")
    if not isinstance(calls, dict) or not all(
            isinstance(n, int) for n in calls.values()):
        raise ReportError(f"{where}: calls is not {{flow: number}}")


def parse(text, path):
    """Played of the text of a blocks.json; ReportError says what is wrong."""
    file = parse_json(text, f"{path}:")
    if not isinstance(file, dict) or file.get("version") != VERSION:
        raise ReportError(f"{path}: not version {VERSION} of blocks")
    if not isinstance(file.get("blocks"), list) or not file["blocks"]:
        raise ReportError(f"{path}: no blocks")
    for i, item in enumerate(file["blocks"]):
        _check_block(item, f"{path}: block {i + 1}")
    broken = file.get("broken", {})
    if not isinstance(broken, dict) or not all(
            isinstance(at, int) for at in broken.values()):
        raise ReportError(f"{path}: broken is not {{scheduler: ns}}")
    target = file.get("target")
    if target is not None:
        _number(file, "target", path, 0.01)
    return Played(int(_number(file, "warm_up_s", path) * 1e9), target,
                  max(int(_number(file, "workers", path)), 1),
                  sorted(file["blocks"], key=lambda b: b["begin_ns"]), broken)


def _undisturbed(took, kind):
    """Mask of the turns that are not disturbed."""
    limit = np.empty(len(took))
    for k in np.unique(kind):
        limit[kind == k] = DISTURBED * np.median(took[kind == k])
    return took <= limit


def _pace(took, kind):
    """What turns take at the pace of an undisturbed core, of what they took;
    took, kind: of undisturbed turns in time order."""
    middle = np.empty(len(took))
    for k in np.unique(kind):
        middle[kind == k] = np.median(took[kind == k])
    size = max(min(ROW, len(took) // ROWS), 1)
    count = len(took) // size
    rows = (took / middle)[:count * size].reshape(count, size).mean(axis=1)
    return float(np.quantile(rows, FASTEST) / rows.mean())


def _mean(values):
    return float(values.mean()) if len(values) else None


def costs(took, kind, arrived):
    """ns of a turn of each kind that arrives, and of all as they arrive."""
    whole = took.mean()
    each = {int(k): took[kind == k].mean() for k in np.unique(kind)}
    kinds, counts = np.unique(arrived, return_counts=True)
    mean = sum(each.get(int(k), whole) * n for k, n in zip(kinds, counts)) \
        / max(counts.sum(), 1)
    return each, float(mean)


class Measurer:
    """Measures blocks of one trace. jobs: columns of the whole trace, sorted
    by call, with "frame" and "media_step"; kinds: of codec pair, of each;
    switches: ns, when the scheduler was."""

    def __init__(self, jobs, kinds, played, switches=()):
        self.jobs, self.played = jobs, played
        self.switches = np.sort(np.asarray(switches, np.int64))
        self.turns = Turns(jobs)
        self.turn_kinds = kinds[self.turns.at]
        done = jobs["outcome"] == OUTCOMES.index("done")
        lost = metrics.lost_jobs(jobs)
        counted = np.flatnonzero(done | lost)
        over = np.where(jobs["pick"] > 0, jobs["pick"],
                        jobs["arrival"] + OVERWRITTEN)
        self.over = np.where(done, jobs["end"], over)[counted]
        order = np.argsort(self.over, kind="stable")
        self.over, self.by_end = self.over[order], counted[order]
        order = np.argsort(jobs["arrival"][counted], kind="stable")
        self.by_arrival = counted[order]
        self.arrival = jobs["arrival"][self.by_arrival]
        self.kinds, self.lost = kinds, lost

    def _ended(self, begin, end):
        """Indexes of the jobs that ended then, by call."""
        a, b = np.searchsorted(self.over, (begin, end))
        return np.sort(self.by_end[a:b])

    def _arrived(self, begin, end):
        a, b = np.searchsorted(self.arrival, (begin, end))
        return self.by_arrival[a:b]

    def block(self, item):
        """Block of an item of blocks.json."""
        out = Block(int(item["round"]), item["scheduler"], item["kind"],
                    item["begin_ns"], item["end_ns"],
                    sum(item["calls"].values()))
        a, b = np.searchsorted(self.switches, (out.begin + 1, out.end))
        if b > a:
            out.flaw = "switched"
            return out
        begin = out.begin + self.played.warm_up
        if item["kind"] == EPISODE:
            self._episode(out, begin, *item["overload_ns"])
            begin = max(begin, item["overload_ns"][0])
            self._work(out, item, begin, item["overload_ns"][1])
            return out
        if begin >= out.end:
            out.flaw = "too short"
            return out
        self._work(out, item, begin, out.end)
        self._frames(out, begin, out.end)
        return out

    def _work(self, out, item, begin, end):
        """What turns cost, and what frames ask for."""
        t = self.turns
        a, b = np.searchsorted(t.pick, (begin, end))
        took, kind = t.took[a:b], self.turn_kinds[a:b]
        same = t.between[a:b] == 0
        arrived = self._arrived(begin, end)
        if b - a < LEAST_TURNS or not len(arrived):
            out.flaw = "too few frames"
            return
        good = _undisturbed(took, kind)
        pairs, codec = self.kinds[arrived], t.codec[a:b]
        each, cost = costs(took[good], kind[good], pairs)
        expected = np.array([each.get(int(k), cost) for k in kind])
        away = float((took - expected)[~good].sum())
        time = float((end - begin) * self.played.workers)
        had = max(time - away, 0.05 * time)
        stolen = away / time
        cpu, busy = item.get("cpu_ns"), item.get("busy_ns")
        if cpu is not None and busy:
            stolen = max(stolen, 1 - cpu / busy)
        demand = len(arrived) * cost / had
        out.values.update(
            turns=int(b - a), turn_us=cost / 1e3,
            cost_us=cost / 1e3 * _pace(took[good], kind[good]), stolen=stolen,
            cpu_ns=cpu, busy_ns=busy, demand=demand,
            floor=max(0.0, 1 - 1 / demand),
            idle=max(0.0, 1 - float(took.sum()) / time),
            same_call=float(same.mean()),
            codec_us=costs(codec[good], kind[good], pairs)[1] / 1e3)
        for name, values in (("us", took), ("codec_us", codec)):
            first, later = _rows(values[good], kind[good], same[good], pairs)
            out.values[f"first_{name}"] = _scaled(first)
            out.values[f"later_{name}"] = _scaled(later)
        behind = metrics.arrivals_behind(*self._by_call(arrived))
        if stolen > STOLEN:
            out.flaw = "stolen"
        elif len(behind) and nearest_rank(behind, [0.99])[0] > BEHIND:
            out.flaw = "sender behind"

    def _by_call(self, index):
        jobs = {name: column[np.sort(index)]
                for name, column in self.jobs.items()
                if name in ("task", "arrival", "rtp_ts", "media_step",
                            "frame", "buffered")}
        return jobs, metrics.task_starts(jobs)

    def _frames(self, out, begin, end):
        """What became of the frames that ended in a block."""
        ended = self._ended(begin, end)
        if not len(ended):
            out.flaw = out.flaw or "too few frames"
            return
        lost = self.lost[ended]
        jobs = {name: column[ended] for name, column in self.jobs.items()
                if name in NEEDED}
        share = float(lost.mean())
        due, met = metrics.deadlines(jobs)
        sent = ~lost & (jobs["sent"] > 0)
        delays = (jobs["sent"] - came(jobs))[sent]
        jitters = metrics.sent_jitters(jobs)
        out.values.update(
            lost_share=share, call_loss_max=_worst(jobs["task"], lost),
            missed_share=_mean(~met[due]),
            delay_p99_ms=_p99(delays), jitter_p99_ms=_p99(jitters))
        if "floor" in out.values:
            out.values["excess"] = share - out.values["floor"]

    def _episode(self, out, begin, high, over):
        """Loss from the overload on, and how long it is felt."""
        ended = self._ended(high, out.end)
        arrived = np.sort(self._arrived(begin, out.end))
        if not len(ended) or not len(arrived):
            out.flaw = "too few frames"
            return
        out.values["episode_lost_share"] = float(self.lost[ended].mean())
        jobs = self.jobs
        at = came({name: jobs[name][arrived]
                   for name in ("arrival", "buffered")})
        back = np.where(self.lost[arrived], 0, jobs["sent"][arrived])
        calm = (at < high) & (back > 0)
        limit = max(recovery.SOON, 1.25 * 1e6 * (_p99((back - at)[calm]) or 0))
        bad = recovery.bad_slices(at, back, over, limit)
        if len(bad) >= recovery.GOOD_SLICES:
            out.values["recovery_ms"] = recovery.until_good(bad)


NEEDED = ("task", "seq", "outcome", "arrival", "end", "sent", "deadline",
          "frame", "buffered", "rtp_ts", "media_step")


def _scaled(value):
    return None if value is None else value / 1e3


def _rows(values, kind, same, arrived):
    """Means of the first of a row and of the later ones, of the codec pairs
    that have both, as these arrive; None where there are none."""
    both = np.intersect1d(kind[same], kind[~same])
    out = []
    for row in (~same, same):
        mine = row & np.isin(kind, both)
        of = arrived[np.isin(arrived, kind[mine])]
        out.append(costs(values[mine], kind[mine],
                         of if len(of) else kind[mine])[1]
                   if mine.any() else None)
    return out


def _p99(values):
    return nearest_rank(values, [0.99])[0] / 1e6 if len(values) else None


def _worst(call, lost):
    """The largest share of its frames that a call lost."""
    _, index = np.unique(call, return_inverse=True)
    whole = np.bincount(index)
    known = whole >= ENOUGH * np.median(whole)
    return float((np.bincount(index, lost) / whole)[known].max())


def _kinds(trace, jobs):
    """Number of the codec pair of each job."""
    names = {}
    pair = {int(c["task"]): names.setdefault(
        tuple(bytes(c[n]) for n in ("codec_in", "mode_in", "codec_out",
                                    "mode_out")), len(names))
            for c in trace.tasks}
    calls, index = np.unique(jobs["task"], return_inverse=True)
    return np.array([pair.get(int(c), len(names)) for c in calls],
                    np.int64)[index]


BROKE = " until it broke its contract at "


def measure(trace, played):
    """[Block] of a trace whose jobs run.sections() has prepared; rounds from 1
    on. Those of a scheduler that broke its contract say so."""
    switched = trace.notes[trace.notes["code"] == NOTE_SWITCHED]["at"]
    measurer = Measurer(trace.jobs, _kinds(trace, trace.jobs), played,
                        switched)
    found = [measurer.block(item) for item in played.blocks if item["round"]]
    first = int(trace.jobs["arrival"].min())
    for block in found:
        at = played.broken.get(block.scheduler)
        if at is not None:
            block.scheduler = (f"{scheduler_name(block.scheduler)}{BROKE}"
                               f"{(at - first) / 1e9:.1f} s")
    return found

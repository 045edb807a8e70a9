# SPDX-License-Identifier: Apache-2.0
"""The phases of a run: calm, overload or peak, after.

They depend on the load, not on a scheduler's handling of it, so all columns of
a campaign have the same: those of its first run with a trace. A frame needs
the mean time that a worker had a frame of its call (none counts for more than
ten times the median). The demand is the time that the frames arriving in 100
ms need, over the workers' time, smoothed over half a second (or two periods,
if these are longer).

overload     the demand is above 100 %. Two overloads with less than a second
             between them are one.
peak         where there is no overload: the load is in the upper half of its
             range, in one piece after a calmer time, and that range is wide (a
             quarter of the load or more). A column that needs more time for a
             frame, such as another program, can be overloaded then.
calm, after  the time before the first, and the rest.

A phase shorter than half a second belongs to its neighbour; a run shorter than
four times the smoothing time is one phase. frames.bin gives the phases of a
campaign that has no trace, without a demand. Conversions are left out, and so
is the time that --since, --until and --warm-up leave out.

in time      frames that met their deadline, of all frames offered that have
             one: a lost frame is not in time. Frames offered are those done
             and those lost.
worst call   the largest share of its frames that a call lost in the phase, of
             calls with 25 frames in it or more. A call is starved when it
             lost half of them or more, and twice as many as the median call.
MOS          of the frames of the phase: one over several phases would describe
             none of them.

Where a program without a trace (a media proxy) is compared, all of this is
counted by the feeder, from frames.bin, for all columns: in time is what came
back before the deadline.
"""
from dataclasses import dataclass

import numpy as np

BIN = 0.1        # s
SMOOTH = 0.5     # s
SHORTEST = 0.5   # s
APART = 1.0      # s: overloads closer to each other are one
RISE = 1.25      # times the low load: what a peak is at least
WHOLE = 0.8      # of a peak is above the middle
TRIED = 0.02     # demand over 1 that is more than a rounding


@dataclass
class Phase:
    """name: "calm", "overload", "peak", "after" or "all"; spans: [(from,
    to)], s since the first arrival; demand: mean share of the workers' time
    that frames ask for, None: not known; calls: how many there are, on
    average."""
    name: str
    spans: list
    demand: float = None
    calls: float = 0.0

    def holds(self, at):
        """Mask of the times at, s."""
        inside = np.zeros(len(at), bool)
        for begin, end in self.spans:
            inside |= (at >= begin) & (at < end)
        return inside


@dataclass
class Load:
    """Frames offered. at: s since the first; cost: s of a worker, None: not
    known; call: of each; period: the longest between two frames of a call,
    s; workers: how many; hidden: numbers of the bins whose frames are not
    looked at."""
    at: np.ndarray
    cost: np.ndarray
    call: np.ndarray
    period: float
    workers: int = 1
    hidden: np.ndarray = ()


def bins(at):
    """In which each of the times at is, s."""
    return (at / BIN).astype(np.int64)


def _smooth(values, width):
    """Mean over the width bins around each; fewer at the ends."""
    kernel = np.ones(width)
    return np.convolve(values, kernel, "same") / \
        np.convolve(np.ones(len(values)), kernel, "same")


def _runs(mask):
    """[(begin, end)] of the stretches of a mask."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask, [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]


def _merge(runs, apart, shortest):
    """Stretches close to each other as one; without those too short."""
    out = []
    for begin, end in runs:
        if out and begin - out[-1][1] < apart:
            begin = out.pop()[0]
        out.append((begin, end))
    return [(a, b) for a, b in out if b - a >= shortest]


def _sharpen(run, demand, width):
    """Smoothing moves the ends of a stretch: to where the demand crosses."""
    begin, end = run
    half = width // 2 + 1
    above = np.flatnonzero(demand[max(begin - half, 0):begin + half] > 1)
    if len(above):
        begin = max(begin - half, 0) + int(above[0])
    above = np.flatnonzero(demand[max(end - half, 0):end + half] > 1)
    if len(above):
        end = max(end - half, 0) + int(above[-1]) + 1
    return begin, end


def _overloads(demand, width):
    apart = max(round(APART / BIN), width)
    shortest = max(round(SHORTEST / BIN), width)
    found = _merge(_runs(_smooth(demand, width) > 1), apart, shortest)
    found = [_sharpen(run, demand, width) for run in found]
    return [(a, b) for a, b in found
            if b > a and demand[a:b].mean() > 1 + TRIED]


def _peak(work, width):
    """[(begin, end)] of the bins of the one stretch of high load; []."""
    smooth = _smooth(work, width)
    low, high = np.quantile(smooth, (0.2, 0.98))
    if high < RISE * low or not high:
        return []
    above = np.flatnonzero(smooth > (low + high) / 2)
    begin, end = int(above[0]), int(above[-1]) + 1
    shortest = max(round(SHORTEST / BIN), width)
    if len(above) < WHOLE * (end - begin) or end - begin < shortest or \
            begin < shortest:
        return []
    return [(begin, end)]


def _spread(stretches, count):
    """Ends of a run that are too short to be phases belong to the stretch
    beside them."""
    least = round(SHORTEST / BIN)
    (first, end), *rest = stretches
    stretches = [(0 if first < least else first, end), *rest]
    begin, last = stretches[-1]
    stretches[-1] = begin, count if count - last < least else last
    return stretches


def _alive(load, middles):
    """Mean number of calls that are there at these times, s."""
    order = np.lexsort((load.at, load.call))
    call, at = load.call[order], load.at[order]
    first = np.concatenate(([True], call[1:] != call[:-1]))
    begins = np.sort(at[first])
    ends = np.sort(at[np.append(first[1:], True)]) + load.period
    return float(np.mean(np.searchsorted(begins, middles, side="right")
                         - np.searchsorted(ends, middles, side="right")))


def _phase(name, runs, work, load, places):
    """places: the numbers of the bins of work."""
    inside = np.concatenate([np.arange(a, b) for a, b in runs])
    if len(inside) > 1 and inside[0] == 0 and \
            places[0] * BIN < load.at.min() - load.period:
        inside = inside[1:]  # not full: begins in the middle of it
    demand = float(work[inside].mean()) if load.cost is not None else None
    edges = np.append(places * BIN, float("inf"))
    spans = [(float(edges[a]), float(edges[b])) for a, b in runs]
    if runs[0][0] == 0:
        spans[0] = float("-inf"), spans[0][1]
    return Phase(name, spans, demand,
                 _alive(load, (places[inside] + 0.5) * BIN))


def _one(work, load, places):
    """The only phase; a last bin that is not full would count too little."""
    begin, end = load.at.min(), load.at.max()
    hidden = places[-1] - places[0] + 1 - len(places)
    span = end + load.period - begin - hidden * BIN
    demand = None
    if load.cost is not None and end > begin:
        demand = float(load.cost.sum() / span / load.workers)
    name = "all" if demand is None else \
        "overload" if demand > 1 + TRIED else "calm"
    phase = _phase(name, [(0, len(work))], work, load, places)
    phase.demand = demand
    return [phase]


def find(load):
    """The phases of a Load, in time order; [] when it has no frame."""
    if not len(load.at):
        return []
    at = bins(load.at)
    places = np.setdiff1d(np.arange(at.min(), at.max() + 1), load.hidden)
    count = len(places)
    cost = load.cost if load.cost is not None else np.ones(len(load.at))
    work = np.bincount(np.searchsorted(places, at), cost,
                       count) / BIN / load.workers
    width = max(round(SMOOTH / BIN), int(np.ceil(2 * load.period / BIN)))
    if count < 4 * width:
        return _one(work, load, places)
    name, high = "overload", []
    if load.cost is not None:
        high = _overloads(work, width)
    if not high:
        name, high = "peak", _peak(work, width)
    if not high:
        return _one(work, load, places)
    high = _spread(high, count)
    low = _runs(~np.isin(np.arange(count), np.concatenate(
        [np.arange(a, b) for a, b in high])))
    if not low:
        return _one(work, load, places)
    parts = [("calm", [r for r in low if r[1] <= high[0][0]]), (name, high),
             ("after", [r for r in low if r[0] >= high[0][1]])]
    return [_phase(what, runs, work, load, places)
            for what, runs in parts if runs]

# SPDX-License-Identifier: Apache-2.0
"""What a frame costs by how long ago its call ran on that CPU.

turns between  turns of other calls on the worker since this call's last turn
               there: 0 for a frame that follows one of its own call.
row            successive turns of a worker for the same call. The first
               frame of a row finds the caches as other calls left them.
turn           pick to the worker's next pick, of frames after which another
               one waited already: all of the worker's time for a frame, what
               the scheduler and the sockets take included.

Times are means without the highest and the lowest twentieth: a frame of 20 us
during which something else had the CPU for 4 ms says nothing about frames.
"""
from dataclasses import dataclass

import numpy as np

from codec_report.metric import Metric
from codec_report.trace import NO_WORKER

#: In place of turns between: the call's first turn on the worker; no turn.
FIRST_TURN, NO_TURN = -1, -2
#: In place of a turn: nothing waited behind it.
UNKNOWN = -1
TRIM = 0.05


@dataclass(frozen=True)
class Rows:
    """share_same: share of the turns that stay with the same call, 0..1.
    first_us, later_us: time in the codec of the first frame of a row and of
    the later ones; *_turn_us: of the whole turn. None where there are none."""
    share_same: float = None
    first_us: float = None
    later_us: float = None
    first_turn_us: float = None
    later_turn_us: float = None


METRICS = [
    Metric("row_share", "turns of the same call", "share"),
    Metric("row_first_us", "first of a row, codec us", "rate"),
    Metric("row_later_us", "  later", "rate"),
    Metric("row_first_turn_us", "first of a row, turn us", "rate"),
    Metric("row_later_turn_us", "  later", "rate")]


def trimmed_mean(values, trim=TRIM):
    """The mean of an array without this part of it at each end; None when it
    is empty."""
    if not len(values):
        return None
    out = int(len(values) * trim)
    return float(np.sort(values)[out:len(values) - out].mean())


def add_turns(jobs):
    """Add the columns "between" (turns between, FIRST_TURN, NO_TURN) and
    "turn" (ns, UNKNOWN) to jobs, columns of trace.Trace in any order. Returns
    jobs."""
    worked = np.flatnonzero((jobs["start"] > 0) & (jobs["pick"] > 0)
                            & (jobs["worker"] != NO_WORKER))
    order = np.lexsort((jobs["pick"][worked], jobs["worker"][worked]))
    at = worked[order]
    worker = jobs["worker"][at].astype(np.uint64)
    pair = worker << np.uint64(32) | jobs["call"][at]
    by_pair = np.argsort(pair, kind="stable")
    same = pair[by_pair][1:] == pair[by_pair][:-1]
    found = np.full(len(at), FIRST_TURN, np.int64)
    found[by_pair[1:][same]] = (by_pair[1:] - by_pair[:-1])[same] - 1
    jobs["between"] = np.full(len(jobs["call"]), NO_TURN, np.int64)
    jobs["between"][at] = found
    jobs["turn"] = np.full(len(jobs["call"]), UNKNOWN, np.int64)
    before, after = at[:-1], at[1:]
    # its release is no later than the pick, but it may be by the end of the
    # frame before it of its call, or when that one was dropped
    waited = (worker[1:] == worker[:-1]) \
        & (jobs["arrival"][after] <= jobs["end"][before])
    jobs["turn"][before[waited]] = \
        (jobs["pick"][after] - jobs["pick"][before])[waited]
    return jobs


def _mean_us(values):
    mean = trimmed_mean(values)
    return None if mean is None else mean / 1e3


def _with_turns(jobs):
    return jobs if "between" in jobs else add_turns(dict(jobs))


def rows(jobs):
    """Rows of the jobs: columns of trace.Trace, in any order."""
    jobs = _with_turns(jobs)
    between, codec, turn = jobs["between"], jobs["codec_ns"], jobs["turn"]
    turns = between != NO_TURN
    if not turns.any():
        return Rows()
    done = turns & (jobs["outcome"] == 0)
    later = between == 0
    known = turn != UNKNOWN
    return Rows(float(later.sum() / turns.sum()),
                _mean_us(codec[done & ~later]), _mean_us(codec[done & later]),
                _mean_us(turn[done & ~later & known]),
                _mean_us(turn[done & later & known]))


def curve(jobs, edges=(1, 10, 100, 1000)):
    """[(from, mean codec us, mean turn us or None, frames)]: of the frames
    done with 0 turns between, then of those between two edges, the last ones
    without an end. Calls' first turns are left out."""
    jobs = _with_turns(jobs)
    between, turn = jobs["between"], jobs["turn"]
    done = jobs["outcome"] == 0
    out = []
    for low, high in zip((0, *edges), (*edges, np.iinfo(np.int64).max)):
        mine = done & (between >= low) & (between < high)
        if mine.any():
            out.append((low, _mean_us(jobs["codec_ns"][mine]),
                        _mean_us(turn[mine & (turn != UNKNOWN)]),
                        int(mine.sum())))
    return out


def measure(jobs):
    """METRICS of jobs, as a dict."""
    found = rows(jobs)
    return {"row_share": found.share_same, "row_first_us": found.first_us,
            "row_later_us": found.later_us,
            "row_first_turn_us": found.first_turn_us,
            "row_later_turn_us": found.later_turn_us}

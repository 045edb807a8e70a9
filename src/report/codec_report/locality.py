# SPDX-License-Identifier: Apache-2.0
"""What a frame costs by how long ago its call ran on that CPU.

turns between  turns of other calls on the worker since this call's last turn
               there: 0 for a frame that follows one of its own call.
row            successive turns of a worker for the same call. The first
               frame of a row finds the caches as other calls left them.
turn           all of a worker's time for a frame: see "blocks".

Times are means without the highest and the lowest twentieth: a frame of 20 us
during which something else had the CPU for 4 ms says nothing about frames.
"""
from dataclasses import dataclass

import numpy as np

from codec_report.metric import Metric
from codec_report.trace import NEVER, NO_WORKER

#: In place of turns between: the call's first turn on the worker; no turn.
FIRST_TURN, NO_TURN = -1, -2
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


class Turns:
    """All turns of a trace, by pick: at, indexes of jobs; pick; between, turns
    of other calls or FIRST_TURN; took, beside (of it, what is not from the pick
    to the end), codec (in it), ns. jobs: columns of trace.Trace in any order."""

    def __init__(self, jobs):
        worked = np.flatnonzero((jobs["start"] > 0) & (jobs["pick"] > 0)
                                & (jobs["worker"] != NO_WORKER))
        at = worked[np.lexsort((jobs["pick"][worked],
                                jobs["worker"][worked]))]
        call, pick, end, worker, codec, sent, arrival, release = (
            jobs[name][at] for name in (
                "call", "pick", "end", "worker", "codec_ns", "sent",
                "arrival", "release"))
        before = np.concatenate(([0], end[:-1]))[:len(at)]
        alone = np.concatenate(([True], worker[1:] != worker[:-1]))[:len(at)]
        held = end - pick
        # behind a frame of its call it is released when that one ended, or was
        # dropped; one that is held for longer than that lets the worker rest
        soon = before + int(np.median(held) if len(held) else 0)
        follows = ~alone & (arrival <= before) & (release <= soon) \
            & (before <= pick)
        begin = np.where(follows, before, pick)
        nexts = np.append(np.where(alone[1:], NEVER, pick[1:]), NEVER)
        idle = np.append(~follows[1:], True)
        # what is sent before the worker rests belongs to the last turn
        end = np.where(idle, np.maximum(end, np.minimum(sent, nexts)), end)
        order = np.argsort(pick, kind="stable")
        self.at, self.pick = at[order], pick[order]
        self.between = _between(worker, call)[order]
        self.took = (end - begin)[order].astype(float)
        self.beside = self.took - held[order]
        self.codec = codec[order].astype(float)

    def by_clock(self):
        """ns that each took, whatever else had the CPU; but a worker that
        lets a frame wait for longer than another takes rests."""
        if not len(self.took):
            return self.took
        longest = np.median(self.took - self.beside)
        return self.took - np.maximum(self.beside - longest, 0)


def _between(worker, call):
    """Turns of other calls between two of a call, of turns in the order of each
    worker."""
    pair = worker.astype(np.uint64) << np.uint64(32) | call
    by_pair = np.argsort(pair, kind="stable")
    same = pair[by_pair][1:] == pair[by_pair][:-1]
    found = np.full(len(pair), FIRST_TURN, np.int64)
    found[by_pair[1:][same]] = (by_pair[1:] - by_pair[:-1])[same] - 1
    return found


def add_turns(jobs):
    """Add the columns "between" (turns between, FIRST_TURN, NO_TURN) and
    "turn" (ns) to jobs, columns of trace.Trace in any order. Returns jobs."""
    turns = Turns(jobs)
    jobs["between"] = np.full(len(jobs["call"]), NO_TURN, np.int64)
    jobs["between"][turns.at] = turns.between
    jobs["turn"] = np.zeros(len(jobs["call"]))
    jobs["turn"][turns.at] = turns.took
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
    return Rows(float(later.sum() / turns.sum()),
                _mean_us(codec[done & ~later]), _mean_us(codec[done & later]),
                _mean_us(turn[done & ~later]), _mean_us(turn[done & later]))


def curve(jobs, edges=(1, 10, 100, 1000)):
    """[(from, mean codec us, mean turn us, frames)]: of the frames
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
                        _mean_us(turn[mine]), int(mine.sum())))
    return out


def measure(jobs):
    """METRICS of jobs, as a dict."""
    found = rows(jobs)
    return {"row_share": found.share_same, "row_first_us": found.first_us,
            "row_later_us": found.later_us,
            "row_first_turn_us": found.first_turn_us,
            "row_later_turn_us": found.later_turn_us}

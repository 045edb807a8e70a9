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
import numpy as np

from codec_report.metric import Metric
from codec_report.trace import NEVER, NO_WORKER

#: In place of turns between: the call's first turn on the worker; no turn.
FIRST_TURN, NO_TURN = -1, -2
TRIM = 0.05


METRICS = [
    Metric("row_share", "turns of the same call", "share"),
    Metric("row_first_us", "first of a row, codec us", "rate"),
    Metric("row_later_us", "  later", "rate"),
    Metric("row_first_turn_us", "first of a row, turn us", "rate"),
    Metric("row_later_turn_us", "  later", "rate")]


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
                "task", "pick", "end", "worker", "codec_ns", "sent",
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
    jobs["between"] = np.full(len(jobs["task"]), NO_TURN, np.int64)
    jobs["between"][turns.at] = turns.between
    jobs["turn"] = np.zeros(len(jobs["task"]))
    jobs["turn"][turns.at] = turns.took
    return jobs


def _mean_us(values):
    """The mean, us, without TRIM at each end; None: there is no value."""
    out = int(len(values) * TRIM)
    return float(np.sort(values)[out:len(values) - out].mean()) / 1e3 \
        if len(values) else None


def measure(jobs):
    """METRICS of jobs, columns of trace.Trace in any order, as a dict; None
    where there are no such turns."""
    jobs = jobs if "between" in jobs else add_turns(dict(jobs))
    between = jobs["between"]
    turns = between != NO_TURN
    done = turns & (jobs["outcome"] == 0)
    later = between == 0
    found = [float(later.sum() / turns.sum()) if turns.any() else None]
    found += [_mean_us(jobs[name][done & mine])
              for name in ("codec_ns", "turn") for mine in (~later, later)]
    return dict(zip((m.key for m in METRICS), found))

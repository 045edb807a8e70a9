# SPDX-License-Identifier: Apache-2.0
"""What became of the frames offered in a phase: of a trace, or as the feeder
saw it. phases.py has the definitions."""
from dataclasses import dataclass, replace

import numpy as np

from codec_report import emodel, metrics
from codec_report.delay import came
from codec_report.metric import Metric, quantiles
from codec_report.trace import OUTCOMES

#: Of each phase, in the order of machine-readable output.
METRICS = [
    Metric("offered", "offered", "count"),
    Metric("lost", "lost", "count", -1),
    Metric("lost_share", "lost", "share", -1),
    Metric("in_time_share", "in time", "share", 1),
    Metric("missed_share", "missed", "share", -1),
    Metric("call_loss_median", "median call lost", "share", -1),
    Metric("call_loss_max", "worst call lost", "share", -1),
    Metric("call_missed_max", "worst call missed", "share", -1),
    Metric("starved", "calls starved", "count", -1),
    Metric("failed", "calls failed", "count", -1),
    Metric("delay_p50_ms", "delay p50, ms", "ms", -1),
    Metric("delay_p99_ms", "delay p99, ms", "ms", -1),
    Metric("delay_max_ms", "delay max, ms", "ms", -1),
    Metric("mos_mean", "MOS", "score", 1),
    Metric("mos_min", "lowest MOS", "score", 1)]
KEYS = [metric.key for metric in METRICS]
ENOUGH = 25  # frames of a call in a phase, to say what share it lost
HALF = 0.5   # lost: starved
NEEDED = ("task", "outcome", "arrival", "end", "sent", "deadline", "frame",
          "buffered", "pause")


@dataclass
class Sample:
    """A phase of one run. values: {key of METRICS: number or None}. frames,
    lost, due, missed: of each call, arrays; scores: MOS of each call."""
    values: dict
    frames: np.ndarray
    lost: np.ndarray
    due: np.ndarray
    missed: np.ndarray
    scores: np.ndarray


def _single(part, whole):
    """(median, largest, number of suffering) share of the calls with enough
    frames; suffering: half or more, and twice as much as the median."""
    known = whole >= ENOUGH
    if not known.any():
        return None, None, 0
    shares = part[known] / whole[known]
    middle, worst = float(np.median(shares)), float(shares.max())
    suffering = (shares >= HALF) & (shares >= 2 * middle)
    return middle, worst, int(suffering.sum())


def _sample(call, lost, due, in_time, delays, scores=()):
    """Of frames offered: call, lost, due, in_time of each; delays: ns, of
    those sent."""
    _, index = np.unique(call, return_inverse=True)
    count = int(index.max()) + 1 if len(index) else 0

    def each(mask):
        return np.bincount(index, mask, count).astype(np.int64)
    frames, gone = each(np.ones(len(call))), each(lost)
    owed, late = each(due), each(due & ~in_time)
    values = dict.fromkeys(KEYS)
    values["offered"], values["lost"] = len(call), int(lost.sum())
    if len(call):
        values["lost_share"] = float(lost.mean())
        values["call_loss_median"], values["call_loss_max"], \
            values["starved"] = _single(gone, frames)
    if due.any():
        values["in_time_share"] = float(in_time[due].mean())
        values["missed_share"] = float((~in_time[due]).mean())
        _, values["call_missed_max"], values["failed"] = _single(late, owed)
    found = quantiles(delays, 1e-6)
    values.update({f"delay_{q}_ms": found[q] for q in ("p50", "p99", "max")})
    if len(scores):
        values["mos_mean"] = float(np.mean(scores))
        values["mos_min"] = float(np.min(scores))
    return Sample(values, frames, gone, owed, late, np.asarray(scores, float))


def pick(columns, mask):
    """The columns where the mask is set."""
    at = np.flatnonzero(mask)
    return {name: column[at] for name, column in columns.items()}


def _withheld(assumed, whole, part):
    """Assumptions for a part of the jobs: of the frames that the network
    withheld from a call, as large a share as of those that came."""
    if not assumed.withheld:
        return assumed
    calls, counts = np.unique(whole, return_counts=True)
    total = dict(zip(calls.tolist(), counts.tolist()))
    calls, counts = np.unique(part, return_counts=True)
    return replace(assumed, withheld={
        call: assumed.withheld[call] * count / total[call]
        for call, count in zip(calls.tolist(), counts.tolist())
        if call in assumed.withheld})


def _scores(jobs, lost, descriptions, assumed):
    """MOS of each call; none when one of them has none, or they are of two
    scales."""
    found = emodel.ratings(jobs, lost, metrics.task_starts(jobs),
                           descriptions, assumed)
    if any(r.mos is None for r in found) or len({r.wide for r in found}) > 1:
        return ()
    return [r.mos for r in found]


def of_trace(jobs, first, phase, descriptions, assumed):
    """Sample of a phase. jobs: as for metrics.measure(), without files; first:
    ns from which phases count; descriptions, assumed: as for
    emodel.ratings()."""
    lost = metrics.lost_jobs(jobs)
    counts = lost | (jobs["outcome"] == OUTCOMES.index("done"))
    every = jobs["task"]
    at = (jobs["arrival"] - first) / 1e9
    jobs = pick({name: jobs[name] for name in NEEDED},
                counts & phase.holds(at))
    assumed = _withheld(assumed, every, jobs["task"])
    lost = metrics.lost_jobs(jobs)
    sent = ~lost & (jobs["sent"] > 0)
    return _sample(jobs["task"], lost, *metrics.deadlines(jobs),
                   (jobs["sent"] - came(jobs))[sent],
                   _scores(jobs, lost, descriptions, assumed))


def of_feeder(records, first, phase, deadlines):
    """Sample of a phase. records: of frames.bin; first: ns, of its first
    sending; deadlines: {call: ns}, for those that have one."""
    records = records[phase.holds((records["sent"] - first) / 1e9)]
    lost = records["received"] <= 0
    delay = records["received"] - records["sent"]
    calls = np.array(sorted(deadlines), np.int64)
    limits = np.array([deadlines[int(call)] for call in calls], np.int64)
    limit = np.zeros(len(records), np.int64)
    if len(calls):
        at = np.minimum(np.searchsorted(calls, records["stream"]),
                        len(calls) - 1)
        known = calls[at] == records["stream"]
        limit[known] = limits[at[known]]
    return _sample(records["stream"], lost, limit > 0,
                   ~lost & (delay <= limit), delay[~lost])

# SPDX-License-Identifier: Apache-2.0
"""What is measured, and how it is defined.

A job is one frame of a task: of a stream or a conversion. A call of one stream
is one task; of a two-way call each direction counts as a call below. Times come
from the job's trace record.

lost         jobs that ended overwritten (dropped as the oldest of a full
             buffer), expired (too old when picked), concealed (too old, NO_DATA
             or concealment sent instead), send_failed, or in the simulator
             unreceived (too many waited for the receiver) or unbuffered (too
             late for the jitter buffer, or dropped there), or shed (given up
             before they were too old: by --shed, most in pauses, or by the
             scheduler). Bad payloads and frames of calls that ended meanwhile
             (cancelled) are the peers' doing: they are jobs, but not losses.
delay        arrival at the machine to the socket's acceptance of the output
             of the jobs done; its time in a jitter buffer counts.
jitter       |sent(i) - sent(i-1) - frame duration| over frames i-1, i of a
             call that follow each other and were both sent: what a jitter
             buffer behind us has to even out.
sched jitter |pick(i) - pick(j) - frame duration| where j is the frame of the
             call that was worked on before i, whatever was lost between: the
             thesis (6.1, 6.3) stamps each frame when its task is scheduled,
             before the work, and its histograms show the intervals of
             these stamps around the frame duration. A lost frame therefore
             shows as a deviation of about one frame duration here, and not
             in "jitter".
in time      share of the frames offered (done or lost) that have a deadline:
             done, and sent before it. A lost frame is not in time.
missed       the rest of these frames: sent late, or lost.
late share   of the jobs done that have a deadline: sent after it.
call loss    per call: lost / (lost + done), over the calls with either.
             Jain's index over these shares (Jain, Chiu, Hawe 1984):
             (sum x)^2 / (n sum x^2) is 1 when all calls lose alike and 1/n
             when one call bears all; not defined without losses.
arrivals behind  how much later than by its RTP timestamp a frame arrived,
             counted from the least late frame of its call. Beyond the jitter
             of a network it shows that the sender did not keep pace: there
             was less load than planned, and losses of such runs are not
             comparable.
busy share   time a job had its worker (picked to coded, less what it was
             interrupted in the simulator) per worker and second; sending,
             which several jobs may share, is not in it.
codec share  part of that inside decode and encode.
rows         the cost of frames, by whether their call had the turn before:
             see "rows" below.
feeder       codec-feeder's counts: frames sent to the daemon, received
             back, lost, late; delay from send to receive and jitter of the
             frames that came back, over all calls and of the worst call.
delay in     where a frame's time goes: see "delay" below.
E-model      estimated quality: see "E-model" below.
PESQ         quality of the recorded speech: see "PESQ" below.
conversions  files that the daemon converted beside the calls, and how many
             were done before the campaign's end; turnaround is
             from submission to end, of those; speed is the speech converted,
             of unfinished ones too, per time from the submission to the end
             of the last. They are a group of their own, and have no jitter.

Pairs of frames across a pause of the talker (the RTP timestamps show it) say
nothing about scheduling and are left out of both jitters. Quantiles are
nearest-rank: a value that occurred. Rates are per second between the first
and the last arrival.
"""
import numpy as np

from codec_report import delay, emodel, locality, quality
from codec_report.metric import Metric, quantile_metrics, quantiles
from codec_report.trace import NEVER, NO_WORKER, OUTCOMES

LOST = ("overwritten", "expired", "concealed", "send_failed", "unreceived",
        "unbuffered", "shed")

METRICS = (
    [Metric("tasks", "tasks", "count"),
     Metric("jobs", "jobs", "count"),
     Metric("done", "done", "count"),
     Metric("lost", "lost", "count", -1),
     Metric("lost_per_s", "lost per second", "rate", -1)]
    + [Metric(f"drop_{name}", f"  {name.replace('_', ' ')}", "count",
              optional=True) for name in OUTCOMES[1:]]
    + quantile_metrics("delay", "delay") + delay.METRICS
    + quantile_metrics("jitter", "jitter")
    + quantile_metrics("sched_jitter", "sched jitter")
    + [Metric("behind_p99_ms", "arrivals behind p99, ms", "ms"),
       Metric("in_time_share", "in time", "share", 1),
       Metric("late_share", "late, of those done", "share", -1),
       Metric("call_loss_min", "call loss min", "share"),
       Metric("call_loss_median", "call loss median", "share", -1),
       Metric("call_loss_max", "call loss max", "share", -1),
       Metric("call_loss_sd", "call loss sd", "share", -1),
       Metric("call_loss_jain", "call loss Jain index", "index", 1),
       Metric("busy_share", "workers busy", "share"),
       Metric("codec_share", "  of it in codecs", "share")]
    + locality.METRICS)

#: Counts that streams.csv may have.
FEEDER_COUNTS = ("sent", "received", "lost", "late")
FEEDER_METRICS = (
    [Metric("feeder_streams", "feeder streams", "count"),
     Metric("feeder_streams_within", "  with p99 <= 10 ms", "count", 1)]
    + [Metric(f"feeder_{name}", f"feeder {name}", "count",
              -1 if name in ("lost", "late") else 0)
       for name in FEEDER_COUNTS]
    + [Metric("feeder_loss", "feeder loss", "share", -1),
       Metric("feeder_delay_mean_ms", "feeder delay mean, ms", "ms", -1),
       Metric("feeder_delay_p50_ms", "feeder delay p50, ms", "ms", -1),
       Metric("feeder_delay_p99_ms", "feeder delay p99, ms", "ms", -1),
       Metric("feeder_delay_p99_worst_ms", "  of the worst call, ms", "ms",
              -1),
       Metric("feeder_delay_max_ms", "feeder delay max, ms", "ms", -1),
       Metric("feeder_jitter_p99_ms", "feeder jitter p99, ms", "ms", -1),
       Metric("feeder_recovery_ms", "feeder recovery, ms", "ms", -1)])
CONVERSION_METRICS = (
    [Metric("conversions", "conversions", "count"),
     Metric("conversions_done", "  of them done", "count", 1)]
    + [Metric(f"turnaround_{q}_ms", f"turnaround {q}, ms", "ms", -1)
       for q in ("mean", "p50", "max")]
    + [Metric("times_real_time", "speed, x real time", "rate", 1)])
METRICS += emodel.METRICS + quality.METRICS + FEEDER_METRICS \
    + CONVERSION_METRICS


def jain(shares):
    """Jain's fairness index of an array, None when all are zero."""
    squares = float(np.square(shares).sum())
    if not squares:
        return None
    return float(shares.sum()) ** 2 / (len(shares) * squares)


def sort_by_task(jobs):
    """Sort the columns of jobs by call and frame, in place and one at a time,
    so that a long trace is not in memory twice."""
    order = np.argsort(jobs["task"].astype(np.uint64) << np.uint64(32)
                       | jobs["seq"], kind="stable")
    for name in jobs:
        jobs[name] = jobs[name][order]


def task_starts(jobs):
    """The index of each call's first job in sorted columns."""
    call = jobs["task"]
    if not len(call):
        return np.empty(0, np.intp)
    return np.flatnonzero(np.concatenate(([True], call[1:] != call[:-1])))


def media_step(jobs, starts):
    """Per job: by how much its call's RTP timestamp moves per frame (the
    smallest step seen between frames that follow each other), 0: unknown.

    jobs: columns sorted by call and frame; starts: task_starts(jobs).
    """
    if not len(starts):
        return np.empty(0, np.int64)
    unknown = np.int64(1 << 31)  # and beyond: the timestamp went back
    step = (jobs["rtp_ts"][1:] - jobs["rtp_ts"][:-1]).astype(np.int64)
    follows = jobs["seq"][1:] - jobs["seq"][:-1] == 1
    follows &= jobs["task"][1:] == jobs["task"][:-1]
    step[~follows | (step == 0)] = unknown
    smallest = np.minimum.reduceat(np.append(step, unknown), starts)
    smallest[smallest >= unknown] = 0
    return np.repeat(smallest, np.diff(np.append(starts, len(step) + 1)))


def arrivals_behind(jobs, starts):
    """"arrivals behind", ns, of the jobs of calls whose pace is known.

    jobs: as for measure(); starts: task_starts(jobs).
    """
    if not len(starts):
        return np.empty(0, np.int64)
    length = np.diff(np.append(starts, len(jobs["task"])))
    since = (jobs["rtp_ts"] - np.repeat(jobs["rtp_ts"][starts], length)) \
        .astype(np.int32).astype(np.int64)
    step = jobs["media_step"]
    known = (step > 0) & (jobs["frame"] > 0)
    behind = delay.came(jobs) - since * jobs["frame"] // np.maximum(step, 1)
    least = np.minimum.reduceat(behind, starts)
    return (behind - np.repeat(least, length))[known]


def _deviations(jobs, stamp, worked, adjacent):
    """Interval - frame duration, ns, between successive worked jobs of a call;
    and the index of the later job of each pair.

    adjacent: only frames that follow each other. Left out: unknown frame
    durations, and pairs whose RTP timestamps moved by more than the frames
    between them account for.
    """
    at = np.flatnonzero(worked)
    earlier, later = at[:-1], at[1:]
    frames = jobs["seq"][later] - jobs["seq"][earlier]
    keep = jobs["task"][earlier] == jobs["task"][later]
    keep &= jobs["frame"][later] > 0
    if "stretch" in jobs:
        keep &= jobs["stretch"][earlier] == jobs["stretch"][later]
    if adjacent:
        keep &= frames == 1
    step = jobs["media_step"][later]
    moved = jobs["rtp_ts"][later] - jobs["rtp_ts"][earlier]
    keep &= (step == 0) | (moved <= step * frames)
    earlier, later = earlier[keep], later[keep]
    return stamp[later] - stamp[earlier] - jobs["frame"][later], later


def sched_deviations(jobs):
    """"sched jitter" with its sign, ns, and the index of each pair's later
    job. jobs: as for measure()."""
    picked = jobs["pick"] > 0
    picked &= (jobs["outcome"] == 0) | (jobs["start"] > 0)
    return _deviations(jobs, jobs["pick"], picked, False)


def sent_jitters(jobs):
    """"jitter", ns, of each pair. jobs: as for measure()."""
    sent = (jobs["sent"] > 0) & (jobs["outcome"] == 0)
    return np.abs(_deviations(jobs, jobs["sent"], sent, True)[0])


def deadlines(jobs):
    """Masks of the jobs that have a deadline, and of those that met it if they
    have."""
    finished = np.maximum(jobs["sent"], jobs["end"])
    return ((jobs["deadline"] > 0) & (jobs["deadline"] != NEVER),
            (jobs["outcome"] == 0) & (finished <= jobs["deadline"]))


def lost_jobs(jobs):
    """Mask of the jobs that are losses."""
    return np.isin(jobs["outcome"], [OUTCOMES.index(name) for name in LOST])


def call_losses(jobs):
    """The calls that lost or got a frame, and the share each lost. jobs:
    sorted by call."""
    starts = task_starts(jobs)
    if not len(starts):
        return np.empty(0, jobs["task"].dtype), np.empty(0)
    losses = np.add.reduceat(lost_jobs(jobs).astype(np.int64), starts)
    served = np.add.reduceat((jobs["outcome"] == 0).astype(np.int64), starts)
    some = losses + served > 0
    return (jobs["task"][starts][some],
            losses[some] / (losses[some] + served[some]))


def _loss_spread(shares):
    if not len(shares):
        return {}
    return {"call_loss_min": float(shares.min()),
            "call_loss_median": float(np.median(shares)),
            "call_loss_max": float(shares.max()),
            "call_loss_sd": float(shares.std()),
            "call_loss_jain": jain(shares)}


def busy_ns(jobs):
    """Time each job kept its worker, ns (float64: sums do not overflow).

    Without sending: packets of several jobs may leave together, later.
    """
    end = jobs["end"]
    worked = (jobs["start"] > 0) & (end >= jobs["pick"])
    worked &= jobs["worker"] != NO_WORKER
    held = end - jobs["pick"] - jobs["away"]
    return np.where(worked, held.astype(np.float64), 0.0)


def _busy(jobs, seconds, workers):
    busy = float(busy_ns(jobs).sum())
    out = {"codec_share": None, "busy_share": None}
    if busy:
        codec = jobs["codec_ns"].sum(dtype=np.uint64)
        out["codec_share"] = float(codec) / busy
    if seconds and workers:
        out["busy_share"] = busy / 1e9 / seconds / workers
    return out


def measure(jobs, seconds, workers):
    """METRICS that the jobs alone give, as a dict; None: not defined.

    jobs: columns sorted by call and frame (sort_by_task()), with two more: "frame",
    the frame duration in ns, 0 where unknown, and "media_step"
    (media_step()); and, if other calls had turns as well, those of
    locality.add_turns() of all of them. seconds: between the first and the
    last arrival; workers: how many there were.
    """
    out = {metric.key: None for metric in METRICS}
    starts = task_starts(jobs)
    counts = np.bincount(jobs["outcome"], minlength=len(OUTCOMES))
    by_name = dict(zip(OUTCOMES, (int(n) for n in counts)))
    done = jobs["outcome"] == 0
    out.update({f"drop_{name}": by_name[name] for name in OUTCOMES[1:]})
    out.update(tasks=len(starts), jobs=len(done), done=by_name["done"],
               lost=sum(by_name[name] for name in LOST))
    if seconds:
        out["lost_per_s"] = out["lost"] / seconds

    sent = done & (jobs["sent"] > 0)
    for key, values in (("delay", delay.whole(jobs, sent)),
                        ("jitter", sent_jitters(jobs)),
                        ("sched_jitter", np.abs(sched_deviations(jobs)[0]))):
        out.update({f"{key}_{name}_ms": value for name, value
                    in quantiles(values, 1e-6).items()})

    out.update(delay.measure(jobs, sent))
    behind = quantiles(arrivals_behind(jobs, starts), 1e-6)
    out["behind_p99_ms"] = behind["p99"]
    owed, met = deadlines(jobs)
    due = done & owed
    offered = owed & (done | lost_jobs(jobs))
    if offered.any():
        out["in_time_share"] = float((owed & met).sum()) \
            / float(offered.sum())
    if due.any():
        out["late_share"] = float((due & ~met).sum()) / float(due.sum())
    out.update(_loss_spread(call_losses(jobs)[1]))
    out.update(_busy(jobs, seconds, workers))
    out.update(locality.measure(jobs))
    return out

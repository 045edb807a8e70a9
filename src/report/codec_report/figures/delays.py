# SPDX-License-Identifier: Apache-2.0
"""The share of the frames offered that are sent within a delay, up to 99.99 %:
as far apart as 99 % is from 90 % are 99.9 % and 99 % here, so that tails show.
A lost frame is never sent: a line ends at the share that was."""
from dataclasses import dataclass

import numpy as np

from codec_report import metrics, words
from codec_report.delay import came, whole
from codec_report.figures import style

NAME = "delay"
TITLE = "Delay"
ALT = ("A line per scheduler: the share of the frames offered that took at "
       "most so long from arrival to sending, up to 99.99 percent, over the "
       "delay in milliseconds on a logarithmic axis. A line ends at the share "
       "that was not lost.")
POINTS = 160
NINES = 4  # 99.99 %
TICKS = (0, 0.5, 0.9, 0.99, 0.999, 0.9999)


@dataclass
class Data:
    """shares, delays: of that share of the frames offered none took longer,
    ns. sent: the share that was sent, None without any; last: the delay at
    99.99 % of those, ns; in_time: share of the frames offered that met their
    deadline, None without deadlines; deadline: after arrival, ns, None unless
    (nearly) the same for all."""
    shares: np.ndarray
    delays: np.ndarray
    sent: float
    last: int
    in_time: float
    deadline: int


def _deadlines(jobs, offered):
    due, met = metrics.deadlines(jobs)
    due &= offered
    if not due.any():
        return None, None
    in_time = float(met[due].mean())
    low, middle, high = np.percentile(
        (jobs["deadline"] - came(jobs))[due], (5, 50, 95))
    return in_time, int(middle) if high - low <= 0.25 * middle else None


def data(frames):
    """Data of a section's jobs."""
    jobs = frames.jobs
    sent = (jobs["outcome"] == 0) & (jobs["sent"] > 0)
    offered = (jobs["outcome"] == 0) | metrics.lost_jobs(jobs)
    delay = np.sort(whole(jobs, sent))
    n, all_of = len(delay), int(offered.sum())
    if not n:
        return Data(np.empty(0), delay, 0.0 if all_of else None, None, None,
                    None)
    shares = 1 - np.logspace(0, -NINES, POINTS)
    shares = shares[shares <= min(1 - 1 / n, n / all_of)]
    rank = np.maximum(np.ceil(np.round(shares * all_of, 6)).astype(np.int64),
                      1)
    last = max(int(np.ceil(round(TICKS[-1] * n, 6))), 1)
    return Data(shares, delay[rank - 1], n / all_of, int(delay[last - 1]),
                *_deadlines(jobs, offered))


def nines(share):
    """Where a share is on the axis: 0.9 at 1, 0.99 at 2."""
    return -np.log10(1 - np.asarray(share))


def _draw_deadline(axes, columns):
    known = {c.data.deadline for c in columns}
    if None in known or max(known) > 1.1 * min(known):
        return
    at = sorted(known)[len(known) // 2] / 1e6
    axes.axvline(at, color=style.LIGHT["muted"], linewidth=1,
                 linestyle=(0, (2, 2)))
    axes.annotate("deadline", (at, axes.get_ylim()[1]), xytext=(-3, -2), fontsize=8,
                  textcoords="offset points", ha="right", va="top",
                  color=style.LIGHT["muted"])


def _draw_lines(axes, columns):
    for i, c in enumerate(columns):
        axes.plot(c.data.delays / 1e6, nines(c.data.shares), label=c.label,
                  marker=c.look.mark, markersize=4,
                  markevery=(i * 4, 32), **c.look.stroke())
    style.log_scale(axes, "x")
    axes.set_yticks(nines(TICKS), [f"{100 * t:g}" for t in TICKS])


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    # the first of TICKS that no line is above: of much lost, few nines
    most = max((c.data.sent or 0 for c in columns), default=0)
    top = next((tick for tick in TICKS[2:] if tick > most), TICKS[-1])
    with style.lines(4.2, columns) as (fig, drawn):
        for (axes,), group in drawn:
            _draw_lines(axes, group)
            axes.set_ylim(0, nines(top) + 0.05)
            axes.set_xlabel("delay from arrival to sent, ms")
            axes.set_ylabel("frames within it, % of those offered")
            _draw_deadline(axes, [c for c in columns if len(c.data.delays)])
    return fig


def sentence(columns):
    """The tails of the best and the worst, and who is in time: of all frames
    offered."""
    known = [c for c in columns if c.data.last is not None]
    if not known:
        return "No frame was sent."
    best = min(known, key=lambda c: c.data.last)
    worst = max(known, key=lambda c: c.data.last)
    soon, late = (words.ms(c.data.last / 1e6) for c in (best, worst))
    text = f"99.99 % of the frames sent leave within {soon}"
    if late != soon:
        text += f" under {best.label}, within {late} under {worst.label}"
    elif len(known) > 1:
        text += " under each"
    due = [c for c in known if c.data.in_time is not None]
    if due and min(c.data.in_time for c in due) == 1:
        text += "; all are in time"
    elif due:
        prompt = max(due, key=lambda c: c.data.in_time)
        text += f"; most in time are those of {prompt.label}: " \
            if len(due) > 1 else "; in time are "
        text += f"{words.percent(prompt.data.in_time)} of all offered"
    return text + "."

# SPDX-License-Identifier: Apache-2.0
"""What scheduling costs: time of the workers outside codecs, and how long a
worker that is free takes to pick a frame that is ready."""
from dataclasses import dataclass

import numpy as np

from codec_report import metrics, words
from codec_report.figures import style
from codec_report.trace import NO_WORKER

NAME = "overhead"
TITLE = "Overhead"
ALT = ("Left, stacked bars: time of the workers outside codecs in "
       "microseconds per frame, with the frame and between frames. Right: "
       "pick latency, the time from a worker being free and the frame ready "
       "to its being picked, in microseconds on a logarithmic axis: median, "
       "99 percent, longest; none where it is 0.")


@dataclass
class Data:
    """codec, beside, between: mean times of a worker per frame, ns: in
    codecs; with the frame but in no codec; free though the next was ready.
    latency: quantiles of the last as of metrics.quantiles(), ns."""
    codec: float
    beside: float
    between: float
    latency: dict


def pick_latencies(jobs):
    """pick - max(worker free, release), ns, of the frames that were worked
    on; without those that displaced another (the simulator preempts)."""
    worked = (jobs["start"] > 0) & (jobs["worker"] != NO_WORKER)
    order = np.lexsort((jobs["pick"][worked], jobs["worker"][worked]))
    worker, pick, end, release = (jobs[name][worked][order] for name in
                                  ("worker", "pick", "end", "release"))
    out = [np.empty(0, np.int64)]
    for mine in (worker == w for w in np.unique(worker)):
        free = np.maximum.accumulate(end[mine])[:-1]
        late = pick[mine][1:] - np.maximum(free, release[mine][1:])
        out.append(late[late >= 0])
    return np.concatenate(out)


def data(frames):
    """Data of a section's jobs."""
    jobs = frames.jobs
    held = metrics.busy_ns(jobs)
    worked = held > 0
    if not worked.any():
        return Data(0.0, 0.0, 0.0, metrics.quantiles(np.empty(0)))
    codec = np.minimum(jobs["codec_ns"][worked].astype(np.float64),
                       held[worked])
    late = pick_latencies(jobs)
    return Data(float(codec.mean()), float((held[worked] - codec).mean()),
                float(late.sum()) / int(worked.sum()),
                metrics.quantiles(late))


def _draw_times(axes, columns):
    at = np.arange(len(columns))
    left = np.zeros(len(columns))
    for i, (name, label) in enumerate((("beside", "with a frame"),
                                       ("between", "between frames"))):
        long = np.array([getattr(c.data, name) for c in columns]) / 1e3
        axes.barh(at, long, left=left, height=0.6, label=label,
                  color=style.part(2 * i), linewidth=0.5,
                  edgecolor=style.BACKGROUND["light"])
        left += long
    style.bars(axes, at, [c.label for c in columns],
               [c.look for c in columns])
    axes.set_xlabel("time outside codecs, us per frame")


def _draw_latencies(axes, columns):
    for i, (name, label) in enumerate((("p50", "median"), ("p99", "99 %"),
                                       ("max", "longest"))):
        known = [(c.data.latency[name], y) for y, c in enumerate(columns)
                 if c.data.latency[name]]
        axes.plot([max(v / 1e3, 0.01) for v, _ in known],
                  [y for _, y in known], style.MARKERS[i], linestyle="none",
                  color=style.part(i), label=label, markersize=5)
    style.log_scale(axes, "x")
    axes.set_xlabel("pick latency, us")


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    with style.figure(style.pair_height(1.1 + 0.32 * len(columns))) as fig:
        left, right = style.pair(fig)
        _draw_times(left, columns)
        _draw_latencies(right, columns)
        left.margins(y=0.02)
        left.set_xlim(left=0)
        left.invert_yaxis()
        style.name_in_colour(right.get_yticklabels(),
                             [c.look for c in columns])
        handles, labels = left.get_legend_handles_labels()
        more = right.get_legend_handles_labels()
        style.legend(fig, handles + more[0], labels + more[1], 5)
    return fig


def _outside(c):
    return c.data.beside + c.data.between


def sentence(columns):
    """The cheapest and the dearest."""
    known = [c for c in columns if c.data.codec + _outside(c) > 0]
    if not known:
        return "No worker had a frame."
    known.sort(key=_outside)
    if not _outside(known[-1]):
        return ("No worker spends time outside codecs while a frame is there "
                "to be worked on.")
    text = []
    for c in known[:1] + known[1:][-1:]:
        share = _outside(c) / (c.data.codec + _outside(c))
        text.append(f"{words.ms(_outside(c) / 1e6)} per frame under {c.label} "
                    f"({words.percent(share)} of their time)")
    return ("Outside codecs the workers spend " + " and ".join(text)
            + ", while a frame is there to be worked on.")

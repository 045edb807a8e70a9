# SPDX-License-Identifier: Apache-2.0
"""Where the time of a frame goes: the parts of codec_report.delay, of all
frames and of the slowest."""
from dataclasses import dataclass

import numpy as np

from codec_report import delay, metrics, words
from codec_report.figures import style

NAME = "split"
TITLE = "Where the time of a frame goes"
ALT = ("Stacked bars, two per scheduler: mean time in milliseconds on the "
       "network, in the call's buffer, in the queue for a worker, in the "
       "codec, until sent and in a jitter buffer; of all frames sent, and of the slowest "
       "hundredth.")
PARTS = ("network",) + delay.PARTS
WHERE = {"network": "on the network", "buffer": "in the buffer",
         "queue": "in the queue", "codec": "in the codec",
         "send": "until sent", "playout": "in a jitter buffer"}


@dataclass
class Data:
    """mean, slowest: {part: ns}, means over the frames sent, and over those
    not faster than their 99 % quantile; {} without any. Time on the network
    is of those that came back; of the slowest it is not known when the feeder
    gives a mean only, and of none without a feeder."""
    mean: dict
    slowest: dict


def data(frames):
    """Data of a section's jobs."""
    jobs = frames.jobs
    sent = (jobs["outcome"] == 0) & (jobs["sent"] > 0)
    if not sent.any():
        return Data({}, {})
    whole = delay.whole(jobs, sent)
    slow = whole >= metrics.quantiles(whole)["p99"]
    parts = delay.parts(jobs, sent)
    mean = {part: float(values.mean()) for part, values in parts.items()}
    if frames.network is not None:
        mean["network"] = float(frames.network)
    slowest = {part: float(values[slow].mean())
               for part, values in parts.items()}
    which = np.zeros(len(sent), bool)
    which[np.flatnonzero(sent)[slow]] = True
    network = delay.network_ns(jobs, which) if "feeder_sent" in jobs else ()
    if len(network):
        slowest["network"] = float(network.mean())
    return Data(mean, slowest)


def _draw_bars(axes, places, bars):
    """bars: [{part: ns}]; a bar at each of the places."""
    left = np.zeros(len(bars))
    for part in PARTS:
        long = np.array([bar.get(part, 0) for bar in bars]) / 1e6
        if long.any():
            axes.barh(places, long, left=left, height=0.36, label=part,
                      color=style.part(PARTS.index(part)),
                      edgecolor=style.BACKGROUND["light"], linewidth=0.5)
        left += long
    for place, end in zip(places, left):
        axes.annotate(f"{end:.3g} ms" if end < 100 else f"{end:.0f} ms",
                      (end, place), xytext=(3, 0), va="center", fontsize=8,
                      textcoords="offset points")


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    at = np.arange(len(columns))
    with style.figure(1.0 + 0.55 * len(columns)) as fig:
        axes = fig.subplots()
        places = np.concatenate((at - 0.2, at + 0.2))
        _draw_bars(axes, places, [c.data.mean for c in columns]
                   + [c.data.slowest for c in columns])
        style.bars(axes, places, [f"{c.label}, all" for c in columns]
                   + ["slowest 1 %"] * len(columns),
                   [c.look for c in columns])
        axes.invert_yaxis()
        axes.margins(0.08, 0.01)
        axes.set_xlabel("mean time per frame, ms")
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            style.legend(fig, handles, labels, len(PARTS))
    return fig


def _largest(c):
    total = sum(c.data.mean.values())
    part = max(c.data.mean, key=c.data.mean.get)
    return (f"{words.ms(total / 1e6)} under {c.label}, "
            f"{words.percent(c.data.mean[part] / total if total else 0)} of "
            f"it {WHERE[part]}")


def sentence(columns):
    """Mean and largest part of the fastest and of the slowest."""
    known = [c for c in columns if c.data.mean]
    if not known:
        return "No frame was sent."
    known.sort(key=lambda c: sum(c.data.mean.values()))
    text = f"A frame takes {_largest(known[0])}"
    if len(known) > 1:
        text += f", and {_largest(known[-1])}"
    return text + "."

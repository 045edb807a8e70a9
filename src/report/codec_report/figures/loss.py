# SPDX-License-Identifier: Apache-2.0
"""Loss over calls: whether all lose a little, or a few lose much. The thesis
shows it as histograms (Figure 6.7); sorted calls show every single one."""
from dataclasses import dataclass

import numpy as np

from codec_report import metrics, words
from codec_report.figures import style

NAME = "loss"
TITLE = "Loss over calls"
ALT = ("A line per scheduler: the share of its frames that each call lost, in "
       "percent, over the calls, the one that lost most first, on a "
       "logarithmic axis.")
POINTS = 300


@dataclass
class Data:
    """calls: ids, the one that lost most first; shares: what each lost,
    0..1."""
    calls: np.ndarray
    shares: np.ndarray


def data(frames):
    """Data of a section's jobs."""
    calls, shares = metrics.call_losses(frames.jobs)
    order = np.argsort(-shares, kind="stable")
    return Data(calls[order], shares[order])


def thin(count):
    """Ranks, from 1, to draw of count calls: all of a few, else evenly spread
    over the logarithmic axis."""
    ranks = np.geomspace(1, max(count, 1), POINTS)
    return np.unique(np.rint(ranks).astype(np.int64))


def _draw_lines(axes, columns):
    for i, c in enumerate(columns):
        if not len(c.data.shares):
            continue
        ranks = thin(len(c.data.shares))
        axes.plot(ranks, 100 * c.data.shares[ranks - 1], label=c.label,
                  marker=c.look.mark, markevery=(i * 5, 40),
                  markersize=4, **c.look.stroke())
    style.log_scale(axes, "x")


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    with style.lines(3.6, columns) as (fig, drawn):
        for (axes,), group in drawn:
            _draw_lines(axes, group)
            axes.set_xlabel("calls, the one that lost most first (rank)")
            axes.set_ylabel("frames lost, % of the call's")
    return fig


def _worst(c):
    return (f"Under {c.label} call {int(c.data.calls[0])} lost "
            f"{words.percent(c.data.shares[0])} of its frames while the "
            f"median call lost {words.percent(np.median(c.data.shares))}")


def sentence(columns):
    """Where a call suffered most beside the others, where all suffer alike."""
    losing = [c for c in columns if c.data.shares.any()]
    clean = [c for c in columns if not c.data.shares.any()]
    if not losing:
        return "No call lost a frame."
    apart = max(losing, key=lambda c: c.data.shares[0]
                - np.median(c.data.shares))
    text = _worst(apart)
    alike = max(losing, key=lambda c: metrics.jain(c.data.shares))
    if alike is not apart:
        text += (f"; loss is spread most evenly under {alike.label} (Jain "
                 f"index {metrics.jain(alike.data.shares):.3f}, worst call "
                 f"{words.percent(alike.data.shares[0])})")
    if clean:
        text += f"; no call lost a frame under {words.names(clean, columns)}"
    return text + "."

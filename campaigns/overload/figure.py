# SPDX-License-Identifier: Apache-2.0
"""PESQ against demand."""
from collections import namedtuple

from codec_report.figures import style, svg

HEIGHT = 3.2  # inches
LOWEST, HIGHEST = 1, 4.5  # of MOS-LQO

#: What codec_report.figures.svg saves.
Drawn = namedtuple("Drawn", "name figure")


def _looks(whats):
    """{what: (colour, marker)}: the proxy's is its own in all figures."""
    out = {}
    for i, what in enumerate(whats):
        if what == "rtpengine":
            look = style.looks([what])[0]
            out[what] = look.colour, look.mark
        else:
            out[what] = style.colour(i), style.marker(i)
    return out


def _draw(axes, points, look, label):
    colour, marker = look
    points = sorted(points, key=lambda p: p["load"])
    xs = [100 * p["load"] for p in points]
    axes.plot(xs, [p["pesq_mean"] for p in points], color=colour,
              marker=marker, markersize=5, linewidth=2.2, label=label)
    axes.plot(xs, [p["pesq_worst"] for p in points], color=colour,
              linewidth=0.8, linestyle="--")
    known = [(x, p["pesq_low"], p["pesq_high"]) for x, p in zip(xs, points)
             if p["pesq_low"] is not None]
    if known:
        xs, low, high = zip(*known)
        axes.vlines(xs, low, high, color=colour, linewidth=1)


def draw(points, names):
    """points: of scores.summary(); names: {what: label}."""
    looks = _looks(names)
    with style.figure(HEIGHT) as fig:
        axes = fig.subplots()
        for what, label in names.items():
            some = [p for p in points if p["what"] == what]
            if some:
                _draw(axes, some, looks[what], label)
        axes.set_ylim(LOWEST, HIGHEST)
        axes.set_xticks(sorted({round(100 * p["load"], 6) for p in points}))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("calls, % of what one core carries")
        axes.set_ylabel("PESQ, MOS-LQO\nbold: mean; thin: worst call")
        style.legend(fig, *axes.get_legend_handles_labels())
    return fig


def save(points, names, path):
    """path.svg and path.png."""
    svg.save(Drawn("overload", draw(points, names)), path)

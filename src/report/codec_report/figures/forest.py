# SPDX-License-Identifier: Apache-2.0
"""An interleaved comparison as differences within rounds: of a turn's cost, and
of what is lost beyond the floor. Unlike other figures, of a verdict and not of
sections: figures.draw() does not draw it."""
import math

import numpy as np

from codec_report import bootstrap, words
from codec_report.figures import Drawn, style

COST = "log_cost"  # interleaved.COST
NAME = "forest"
TITLE = "Differences within rounds"
ALT = ("A row per scheduler. Left: cost of a turn beside what all cost in the "
       "round, in percent; right: frames lost beyond the floor, 1 - 1/demand, "
       "in points. A faint dot is a block, a marker the mean over rounds, its "
       "bar the 95 percent interval.")


def rows(ranking, key, scale):
    """[(member, value of each block, (low, high) or None)]. ranking:
    interleaved.Verdict."""
    out = []
    for m in ranking.members:
        found = [scale(v) for v in ranking.results.values(m.label, key)]
        if found:
            out.append((m, found, bootstrap.interval(found)))
    return out


def _draw(axes, found, names, title):
    for y, (m, values, interval) in enumerate(found):
        look = style.looks([m.scheduler])[0]
        spread = np.linspace(-0.22, 0.22, len(values)) if len(values) > 1 \
            else [0.0]
        axes.plot(values, y + np.array(spread), linestyle="none", marker="o",
                  markersize=2.5, alpha=0.35, color=look.colour)
        if interval:
            axes.plot(interval, [y, y], color=look.colour, linewidth=2)
        axes.plot([np.mean(values)], [y], linestyle="none", marker=look.mark,
                  markersize=6, color=look.colour)
    axes.axvline(0, color=style.LIGHT["muted"], linewidth=0.8)
    style.bars(axes, range(len(found)),
               [names.get(m.label, m.label) for m, _, _ in found])
    axes.set_xlabel(title)


def _sentence(ranking):
    r = ranking.results
    known = sorted((m.label for m in ranking.members if r.values(
        m.label, "cost_ratio")), key=lambda n: r.cost_ratio(n, ranking.members[
            0].label))
    if len(known) < 2:
        return "There is nothing to compare."
    low, high = known[0], known[-1]
    sure = r.differ(low, high, COST)
    return (f"A turn costs {words.percent(r.cost_ratio(high, low) - 1)} more "
            f"under {high} than under {low}"
            + ("." if sure else ", which noise could explain."))


def drawn(ranking, names=None):
    """Drawn of an interleaved.Verdict; None: no block can be shown. names:
    {label: what is written in its place}."""
    names = names or {}
    costs = rows(ranking, COST, lambda v: 100 * math.expm1(v))
    losses = rows(ranking, "excess", lambda v: 100 * v)
    if not costs or not losses:
        return None
    with style.figure(style.pair_height(1.1 + 0.36 * len(costs))) as fig:
        left, right = style.pair(fig)
        _draw(left, costs, names, "cost of a turn, % beside all of the round")
        _draw(right, losses, names, "lost beyond the floor, points")
        left.invert_yaxis()
        for axes in (left, right):
            style.name_in_colour(axes.get_yticklabels(), style.looks(
                [m.scheduler for m, _, _ in costs]))
    return Drawn(NAME, TITLE, _sentence(ranking), ALT, fig)

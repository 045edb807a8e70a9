# SPDX-License-Identifier: Apache-2.0
"""Figures of sweeps, in the style of codec-report."""
import itertools
import os
import sys
from collections import namedtuple

from codec_sweep import api, grid

sys.path.append(api.installation.report(api.ROOT))

PANELS = 12  # of one figure
HEIGHT = 2.6  # inches, of a row of panels

#: What codec_report.figures.svg saves.
Drawn = namedtuple("Drawn", "name figure")


def scale(metric):
    """(factor, unit) by which a metric is drawn."""
    name = metric.rsplit(".", 1)[-1]
    if name in ("loss", "busy") or name.endswith("_share"):
        return 100, ", %"
    if name in ("pesq", "pesq_worst"):
        return 1, ", MOS-LQO"
    return (1e-6, ", ms") if name.endswith("_ns") else (1, "")


def _x(param):
    """(positions, their labels or None, unit) of a parameter's axis."""
    numbers = param.numbers
    if numbers is None:
        return list(range(len(param.values))), list(param.values), ""
    unit = grid.NUMBER.fullmatch(param.values[0])[2]
    factor = float(grid.UNITS[unit])
    return [n / factor for n in numbers], None, f", {unit}" if unit else ""


def _looks(style, schedulers):
    """{scheduler: its look, as in all figures}."""
    return dict(zip(schedulers, style.looks([name.split(",")[0]
                                             for name in schedulers])))


def _line(axes, at, points, factor, look, label):
    """Means with their intervals."""
    xs = [at[p["x"]] for p in points]
    means = [factor * p["mean"] for p in points]
    axes.plot(xs, means, label=label, marker=look.mark, markersize=4,
              **look.stroke())
    known = [(x, factor * p["low"], factor * p["high"])
             for x, p in zip(xs, points) if p["low"] is not None]
    if known:
        xs, low, high = zip(*known)
        axes.vlines(xs, low, high, color=look.colour, linewidth=1)


def _title(panel):
    return ", ".join(f"{key}={value}" for key, value in panel)


def of_metric(params, points, metric, schedulers):
    """The figure of one metric: the first parameter across, a panel for each
    of the others' values, a line for each scheduler.

    points: of api.points(), with the keys of params; also gives how many
    panels there was no room for."""
    from codec_report.figures import style
    across = params[0] if params else grid.Parameter("campaign", ("",))
    positions, labels, unit = _x(across)
    at = dict(zip(across.values, positions))
    panels = [tuple(zip((p.key for p in params[1:]), some)) for some in
              itertools.product(*(p.values for p in params[1:]))]
    factor, of = scale(metric)
    shown, looks = panels[:PANELS], _looks(style, schedulers)
    rows = -(-len(shown) // 3)
    with style.figure(max(3.4, HEIGHT * rows + 0.4)) as fig:
        grid_of_axes = style.panels(fig, len(shown))
        for axes, panel in zip(grid_of_axes, shown):
            for name, look in looks.items():
                some = [{**p, "x": p.get(across.key, "")} for p in points
                        if p["scheduler"] == name and
                        all(p[key] == value for key, value in panel)]
                if some:
                    _line(axes, at, some, factor, look, name)
            axes.set_title(_title(panel))
            axes.set_xlabel(across.key + unit)
            if labels:
                axes.set_xticks(positions, labels)
        grid_of_axes[0].set_ylabel(metric + of)
        grid_of_axes[0].set_ylim(bottom=min(0, grid_of_axes[0].get_ylim()[0])
                                 if min(p["mean"] for p in points) < 0 else 0)
        style.legend(fig, *grid_of_axes[0].get_legend_handles_labels())
    return fig, len(panels) - len(shown)


def _curve(axes, points, name, i, style, filled):
    xs = [100 * p["share"] for p in points]
    look = {"color": style.colour(i), "marker": style.marker(i),
            "markersize": 4}
    if not filled:
        look.update(linestyle="--", markerfacecolor="none")
    axes.plot(xs, [100 * p[name] for p in points],
              label="admitted by its test" if filled
              else "simulated without a late job", **look)
    axes.fill_between(xs, [100 * p[f"{name}_low"] for p in points],
                      [100 * p[f"{name}_high"] for p in points],
                      color=style.colour(i), alpha=0.15, linewidth=0)


def of_tasksets(points, schedulers):
    """A panel for each scheduler: the share of sets that its test admits, and
    that is played without a late job, over the share of the CPUs."""
    from codec_report.figures import style
    shown = schedulers[:PANELS]
    with style.figure(max(3.4, HEIGHT * -(-len(shown) // 3) + 0.4)) as fig:
        panels = style.panels(fig, len(shown))
        for axes, name in zip(panels, shown):
            some = [p for p in points if p["scheduler"] == name]
            _curve(axes, some, "admitted", 0, style, True)
            _curve(axes, some, "met", 1, style, False)
            axes.set_title(name)
            axes.set_xlabel("utilisation, % of the CPUs")
        panels[0].set_ylabel("task sets, %")
        panels[0].set_ylim(0, 103)
        style.legend(fig, *panels[0].get_legend_handles_labels())
    return fig, len(schedulers) - len(shown)


def save(figure, folder, name):
    """folder/name.svg and .png; the path without its end."""
    from codec_report.figures import svg
    path = os.path.join(folder, name)
    svg.save(Drawn(name, figure), path)
    return path

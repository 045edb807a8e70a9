# SPDX-License-Identifier: Apache-2.0
"""Scheduling jitter as histograms with log y, as the thesis's Figures 6.4-6.8:
a panel per scheduler; codec pairs or CPU counts in shades."""
import re
from dataclasses import dataclass

import numpy as np

from codec_report import metrics, words
from codec_report.figures import style

NAME = "jitter"
TITLE = "Jitter of scheduling"
ALT = ("Histograms, one panel per scheduler: the time from one frame of a "
       "call being picked to the next, less the frame duration, in "
       "milliseconds, over a logarithmic count of frames.")
GRAIN = 10_000  # ns: what a deviation is rounded to
BINS = 200
SHARE = 0.0005  # of the frames of a series, on each side, may lie beyond
TAIL = 2  # times the tail of three in four series is drawn
FLOOR = 0.6  # below one frame: what a logarithmic axis has for none


@dataclass
class Data:
    """series: {label: (deviations in GRAIN, ascending; how often each)}.
    p99, largest: of the deviations' sizes over all series, ns; None without
    any. workers: CPUs."""
    series: dict
    p99: int
    largest: int
    workers: int


def data(frames):
    """Data of a section's jobs."""
    deviation, later = metrics.sched_deviations(frames.jobs)
    group = frames.jobs["group"][later]
    grains = np.rint(deviation / GRAIN).astype(np.int64)
    present = np.unique(group)
    series = {frames.names[i] if len(present) > 1 else "":
              np.unique(grains[group == i], return_counts=True)
              for i in present}
    size = metrics.quantiles(np.abs(deviation))
    return Data(series, size["p99"], size["max"], frames.workers)


def _panels(columns):
    """{title: [(label, values, counts)]}: a scheduler on machines of several
    sizes is one panel, else each column is."""
    out = {}
    for c in columns:
        many = c.label.startswith(f"{c.heading} on ")
        place = out.setdefault(c.heading if many else c.label, [])
        for label, (values, counts) in c.data.series.items():
            if many:
                cpus = f"{c.data.workers} CPU" + "s" * (c.data.workers > 1)
                label = f"{label}, {cpus}" if label else cpus
            place.append((label, values, counts))
    return out


def bins(values, counts, width, reach):
    """(frames in each of the bins [(k - 1/2) width, (k + 1/2) width) for k of
    range(*reach); the bins' edges; how many frames lie beyond). All but the
    counts in GRAIN."""
    first, end = reach
    at = np.floor(values / width + 0.5).astype(np.int64) - first
    inside = (at >= 0) & (at < end - first)
    edges = (np.arange(first, end + 1) - 0.5) * width
    return (np.bincount(at[inside], counts[inside], end - first), edges,
            int(counts[~inside].sum()))


def _quantile(values, counts, share):
    return values[np.searchsorted(np.cumsum(counts), share * counts.sum())]


def scale(panels):
    """(width of a bin in GRAIN, range of bins): room for all but SHARE of the
    frames of each series on each side, but for those of which the tail is TAIL
    times as long as that of three in four: a few frames that waited for
    seconds would make a line of every histogram."""
    ends = [(_quantile(values, counts, SHARE),
             _quantile(values, counts, 1 - SHARE))
            for series in panels.values() for _, values, counts in series
            if len(values)] + [(-1, 1)]
    low, tails = min(e[0] for e in ends), sorted(e[1] for e in ends)
    high, usual = tails[-1], tails[len(tails) * 3 // 4]
    if usual > 1:
        high = min(high, TAIL * usual)
    width = max(int(style.nice((high - low) / BINS * GRAIN) / GRAIN + 0.5), 1)
    return width, (int(low / width) - 2, int(high / width) + 3)


def _draw_panel(axes, series, looks, width, reach):
    """looks: {label of a series: keywords for matplotlib}."""
    beyond = 0
    for label, values, counts in series:
        if not len(values):
            continue
        frames, edges, more = bins(values, counts, width, reach)
        beyond += more
        axes.stairs(np.maximum(frames, FLOOR), edges * GRAIN / 1e6,
                    baseline=FLOOR, linewidth=1.1, label=label,
                    **looks[label])
    if beyond:
        farthest = max(np.abs(values).max() for _, values, _ in series)
        axes.text(0.98, 0.95, f"{beyond:,} beyond,\nup to "
                  f"{words.ms(farthest * GRAIN / 1e6)}", ha="right", va="top",
                  fontsize=8, transform=axes.transAxes)


def _by_number(label):
    """Sorts "2 CPUs" before "16 CPUs"."""
    return [int(part) if part.isdigit() else part
            for part in re.split("([0-9]+)", label)]


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    panels = _panels(columns)
    order = sorted({label for series in panels.values()
                    for label, _, _ in series}, key=_by_number)
    looks = {label: {"color": style.part(i),
                     "linestyle": style.LINES[i % len(style.LINES)]}
             for i, label in enumerate(order)}
    width, reach = scale(panels)
    rows = -(-len(panels) // style.across(*style.PANELS))
    with style.figure(0.9 + 1.75 * rows) as fig:
        grid = style.panels(fig, len(panels))
        for axes, (title, series) in zip(grid, panels.items()):
            c = next(c for c in columns if title in (c.label, c.heading))
            style.name_in_colour([axes.set_title(title)], [c.look])
            style.log_scale(axes, "y")
            _draw_panel(axes, series, looks if len(order) > 1 else
                        dict.fromkeys(order, {"color": c.look.colour}),
                        width, reach)
            axes.set_ylim(bottom=FLOOR)
        fig.supxlabel("interval between picks - frame duration, ms",
                      fontsize="medium")
        fig.supylabel(f"frames per {words.ms(width * GRAIN / 1e6)}",
                      fontsize="medium")
        if len(order) > 1:
            handles = {h.get_label(): h for axes in grid
                       for h in axes.patches}
            shown = [label for label in order if label in handles]
            style.legend(fig, [handles[label] for label in shown], shown)
    return fig


def sentence(columns):
    """Who keeps the beat, who does not, and the largest slip."""
    known = [c for c in columns if c.data.p99 is not None]
    if not known:
        return "No call had two frames picked: there is no jitter to show."
    best = min(known, key=lambda c: c.data.p99)
    worst = max(known, key=lambda c: c.data.p99)
    slip = max(known, key=lambda c: c.data.largest)
    text = (f"Under {best.label} 99 % of the frames are picked within "
            f"{words.ms(best.data.p99 / 1e6)} of the call's beat")
    if worst.data.p99 > best.data.p99:
        text += f", under {worst.label} within {words.ms(worst.data.p99 / 1e6)}"
    return (f"{text}; the largest slip is {words.ms(slip.data.largest / 1e6)}"
            + (f", under {slip.label}." if len(known) > 1 else "."))

# SPDX-License-Identifier: Apache-2.0
"""The run as it went: load of the workers, losses, calls."""
from dataclasses import dataclass, field

import numpy as np

from codec_report import metrics, words
from codec_report.figures import style

NAME = "timeline"
TITLE = "Load, losses and calls over time"
ALT = ("Three charts over the time since the first arrival, in seconds, a "
       "line per scheduler: how busy the workers are, in percent; frames "
       "lost per second, by their arrival; calls admitted and alive. The time "
       "of the overload is shaded.")
BINS = 160
STALL = 20_000_000  # ns: shorter ones are not worth a word


@dataclass
class Data:
    """edges: of the bins, s since the run's first arrival. busy: share of the
    workers' time in each, at most 1 (when the simulator interrupted a job is
    not known: its time is spread over its life). lost: frames per second.
    calls: alive in its middle, which is from the first frame to the end of
    the last. stall: (how long no worker had a frame though one waited, ns;
    from when, s). high: [(from, to)] of the overload, s."""
    edges: np.ndarray
    busy: np.ndarray
    lost: np.ndarray
    calls: np.ndarray
    stall: tuple
    high: list = field(default_factory=list)


def busy_until(jobs, at):
    """Time that jobs had a worker before each of the times at, summed, ns.

    The busy_ns() of each is spread evenly from its pick to its end, so that
    the sum is one of ramps: those begun less those ended.
    """
    held = metrics.busy_ns(jobs)
    worked = (held > 0) & (jobs["end"] > jobs["pick"])
    begin = jobs["pick"][worked].astype(np.float64)
    end = jobs["end"][worked].astype(np.float64)
    slope = held[worked] / (end - begin)

    def ramps(starts):
        order = np.argsort(starts, kind="stable")
        starts, slopes = starts[order], slope[order]
        upto = np.searchsorted(starts, at)
        total = np.concatenate(([0], np.cumsum(slopes)))[upto]
        moment = np.concatenate(([0], np.cumsum(slopes * starts)))[upto]
        return total * at - moment
    return ramps(begin) - ramps(end)


def longest_stall(jobs):
    """(ns, begin in ns) of the longest time that no worker had a frame though
    one that was picked later had arrived; (0, 0) when there is none."""
    worked = (jobs["start"] > 0) & (jobs["pick"] > 0)
    order = np.argsort(jobs["pick"][worked], kind="stable")
    pick, end, arrival = (jobs[name][worked][order]
                          for name in ("pick", "end", "arrival"))
    if len(pick) < 2:
        return 0, 0
    free = np.maximum.accumulate(end)[:-1]
    waiting = np.minimum.accumulate(arrival[::-1])[::-1][1:]
    begin = np.maximum(free, waiting)
    at = int(np.argmax(pick[1:] - begin))
    length = int(pick[1:][at]) - int(begin[at])
    return (length, int(begin[at])) if length > 0 else (0, 0)


def _alive(jobs, at):
    starts = metrics.task_starts(jobs)
    first = np.minimum.reduceat(jobs["arrival"], starts)
    last = np.maximum.reduceat(jobs["arrival"], starts) \
        + jobs["frame"][starts]
    return (np.searchsorted(np.sort(first), at, side="right")
            - np.searchsorted(np.sort(last), at, side="left"))


def _edges(begin, end):
    """Edges of bins of a round width from begin to end, seconds; the first
    and the last bin may be narrower."""
    width = style.nice((end - begin) / BINS) if end > begin else 1.0
    inner = np.arange(int(np.floor(begin / width)) + 1,
                      int(np.ceil(end / width))) * width
    return np.concatenate(([begin], inner[(inner > begin) & (inner < end)],
                           [end if end > begin else begin + width]))


def data(frames):
    """Data of a section's jobs."""
    jobs, first = frames.jobs, frames.first
    arrival = jobs["arrival"]
    edges = _edges((int(arrival.min()) - first) / 1e9,
                   (int(arrival.max()) - first) / 1e9)
    shifted = {**jobs, "pick": jobs["pick"] - first,
               "end": jobs["end"] - first}
    seconds = np.diff(edges)
    busy = np.diff(busy_until(shifted, edges * 1e9)) / 1e9
    lost = metrics.lost_jobs(jobs)
    count, _ = np.histogram((arrival[lost] - first) / 1e9, edges)
    middle = first + ((edges[:-1] + edges[1:]) / 2 * 1e9).astype(np.int64)
    length, begin = longest_stall(jobs)
    return Data(edges, np.minimum(busy / seconds / max(frames.workers, 1), 1),
                count / seconds, _alive(jobs, middle),
                (length, (begin - first) / 1e9), frames.high)


#: Of the figure: member of Data, axis, factor.
ROWS = (("busy", "workers\nbusy, %", 100),
        ("lost", "frames lost\nper s", 1),
        ("calls", "calls", 1))


def _draw_lines(axes, columns, name, title, scale):
    for c in columns:
        middle = (c.data.edges[:-1] + c.data.edges[1:]) / 2
        axes.plot(middle, scale * getattr(c.data, name), label=c.label,
                  **{**c.look.stroke(), "linewidth": 1.2})
    axes.set_ylabel(title)
    axes.margins(y=0.08)


def _shade(axes, columns):
    """The overload, behind the lines; it may have no end."""
    begin = min(c.data.edges[0] for c in columns)
    end = max(c.data.edges[-1] for c in columns)
    for low, high in columns[0].data.high:
        axes.axvspan(max(low, begin), min(high, end), linewidth=0,
                     color=style.LIGHT["grid"], alpha=0.5, zorder=0.5)


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    with style.lines(4.8, columns, (3, 3, 2)) as (fig, drawn):
        for places, group in drawn:
            for axes, row in zip(places, ROWS):
                _draw_lines(axes, group, *row)
                _shade(axes, group)
            places[-1].set_xlabel("time since the first arrival, s")
        fig.align_ylabels()
    return fig


def _peak(columns, name):
    """(column with the highest bin, that bin's value, its begin in s)."""
    c = max(columns, key=lambda c: getattr(c.data, name).max())
    values = getattr(c.data, name)
    return c, values.max(), c.data.edges[int(np.argmax(values))]


def sentence(columns):
    """When most is lost, else when it is busiest; and the longest stall."""
    c, lost, at = _peak(columns, "lost")
    if lost:
        text = (f"Losses are highest at {at:.1f} s under "
                f"{c.label}: {words.number(lost)} frames per second")
    else:
        c, busy, at = _peak(columns, "busy")
        text = (f"No frame was lost; the workers were busiest at {at:.1f}"
                f" s under {c.label}: {words.percent(busy)}")
    still = max(columns, key=lambda c: c.data.stall[0])
    length, begin = still.data.stall
    if length >= STALL:
        text += (f"; from {begin:.2f} s on no worker of "
                 f"{still.label} had a frame for {words.ms(length / 1e6)} though "
                 "one waited")
    return text + "."

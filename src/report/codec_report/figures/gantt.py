# SPDX-License-Identifier: Apache-2.0
"""A few milliseconds in full: tasks as rows, workers as colours, deadlines
and losses as marks. By default around the worst moment of the first
scheduler; of all the same time."""
from dataclasses import dataclass, field

import numpy as np

from codec_report import metrics, words
from codec_report.figures import style
from codec_report.trace import NEVER, NO_WORKER

NAME = "gantt"
TITLE = "Frame by frame"
ALT = ("A chart per scheduler, tasks as rows, over the time since the first "
       "arrival in seconds: a thin line while a frame waits, a bar in the "
       "worker's colour while it is worked on, a triangle at its deadline, "
       "full when it was missed, a cross where a frame was lost.")
ROWS = 16
MANY = 6   # charts; more are put closer together
FRAMES = 3  # frame durations in the window
LONGEST = 12  # unless one frame waited longer: so many at most
GRAINS = 250  # of a row that an eye can tell apart
USUAL = 20_000_000  # ns: a frame duration where none is known


@dataclass
class Data:
    """window: (from, to), s since the run's first arrival. frames, lost,
    late: counts of jobs of any call that touch it. worst: the call that lost
    most, or else was late most, there; None when none did. tasks: the rows'.
    Of the rows, in s: waits (row, from, to), bars (row, from, to, worker),
    deadlines (row, at, missed), losses (row, at)."""
    window: tuple
    frames: int
    lost: int
    late: int
    worst: int
    tasks: list
    waits: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    deadlines: list = field(default_factory=list)
    losses: list = field(default_factory=list)


def _ends(jobs):
    """When each job was over: sent or coded, or noticed to be lost; those
    pushed out of a full buffer left no stamp but their arrival."""
    return np.maximum.reduce([jobs["arrival"], jobs["pick"], jobs["end"],
                              jobs["sent"]])


def _lateness(jobs):
    """Time after the deadline, ns, of the jobs done; others and those without
    a deadline count as never late."""
    due = metrics.deadlines(jobs)[0] & (jobs["outcome"] == 0)
    finished = np.maximum(jobs["sent"], jobs["end"])
    return np.where(due, finished - jobs["deadline"], np.iinfo(np.int64).min)


def _most_lost(at, width):
    """Middle of the span of this width in which most of the times are."""
    at = np.sort(at)
    within = np.searchsorted(at, at + width, side="right") - np.arange(len(at))
    return int(at[np.argmax(within)]) + width // 2


def worst_moment(jobs):
    """(from, to) in ns: where most frames are lost, or, without losses, the
    life of the frame that was latest, or slowest."""
    known = jobs["frame"][jobs["frame"] > 0]
    frame = int(np.median(known)) if len(known) else USUAL
    width = FRAMES * frame
    lost = metrics.lost_jobs(jobs)
    ends = _ends(jobs)
    if lost.any():
        middle = _most_lost(ends[lost], width)
    else:
        late = _lateness(jobs)
        slow = np.where(jobs["outcome"] == 0, ends - jobs["arrival"], 0)
        worst = int(np.argmax(late if late.max() > 0 else slow))
        begin, end = int(jobs["arrival"][worst]), int(ends[worst])
        width = min(max(width, (end - begin) * 5 // 4), LONGEST * frame)
        middle = max((begin + end) // 2, end - width // 3)
    return middle - width // 2, middle + width // 2


def _rows(jobs, lost, late):
    """The tasks worth a row, ascending: those with most losses, then with
    most late frames; and the first of them, if it has any."""
    tasks, at = np.unique(jobs["task"], return_inverse=True)
    trouble = np.bincount(at, lost * 1e6 + late, len(tasks))
    order = np.argsort(-trouble, kind="stable")
    worst = int(tasks[order[0]]) if len(order) and trouble[order[0]] else None
    return np.sort(tasks[order[:ROWS]]), worst


def data(frames):
    """Data of a section's jobs, in frames.window if that is set."""
    jobs, first = frames.jobs, frames.first
    if frames.window:
        begin, end = (first + int(t * 1e9) for t in frames.window)
    else:
        begin, end = worst_moment(jobs)
    inside = (jobs["arrival"] < end) & (_ends(jobs) >= begin)
    jobs = {name: column[inside] for name, column in jobs.items()}
    lost = metrics.lost_jobs(jobs)
    late = _lateness(jobs) > 0
    tasks, worst = _rows(jobs, lost, late)
    out = Data(((begin - first) / 1e9, (end - first) / 1e9),
               int(inside.sum()), int(lost.sum()), int(late.sum()), worst,
               [int(t) for t in tasks])
    shown = np.flatnonzero(np.isin(jobs["task"], tasks))
    rows = np.searchsorted(tasks, jobs["task"])
    ends = _ends(jobs)
    for k in shown:
        _add(out, {name: int(jobs[name][k]) for name in (
            "arrival", "pick", "start", "end", "deadline", "worker")},
            int(rows[k]), first, (bool(lost[k]), bool(late[k]), int(ends[k])))
    return out


def _add_wait(waits, row, begin, end):
    """Waiting frames of a call, which come in its order, overlap: one line."""
    if waits and waits[-1][0] == row and begin <= waits[-1][2]:
        begin, end = waits[-1][1], max(end, waits.pop()[2])
    waits.append((row, begin, end))


def _add(out, job, row, first, ending):
    """The marks of a job on its row."""
    lost, late, over = ending

    def seconds(ns):
        return (ns - first) / 1e9
    picked = job["pick"] if job["pick"] > 0 else over
    _add_wait(out.waits, row, seconds(job["arrival"]), seconds(picked))
    if job["start"] > 0 and job["worker"] != NO_WORKER:
        out.bars.append((row, seconds(job["pick"]), seconds(job["end"]),
                         job["worker"]))
    if 0 < job["deadline"] < NEVER:
        out.deadlines.append((row, seconds(job["deadline"]), lost or late))
    if lost:
        out.losses.append((row, seconds(over)))


def seen(marks, window):
    """Of marks (row, at, ...) those in the window, and of those of a row that
    would lie on top of each other one."""
    width = (window[1] - window[0]) / GRAINS
    places = {(mark[0], int((mark[1] - window[0]) / width)): mark
              for mark in marks if window[0] <= mark[1] <= window[1]}
    return list(places.values())


def _draw_marks(axes, d):
    missed = {True: dict(color=style.LIGHT["text"]),
              False: dict(markerfacecolor="none",
                          markeredgecolor=style.LIGHT["muted"])}
    for late, look in missed.items():
        marks = seen([m for m in d.deadlines if m[2] == late], d.window)
        axes.plot([m[1] for m in marks], [m[0] - 0.32 for m in marks],
                  "v", markersize=3.2, markeredgewidth=0.6, **look,
                  label="deadline missed" if late else "deadline met")
    marks = seen(d.losses, d.window)
    axes.plot([m[1] for m in marks], [m[0] for m in marks], "x",
              color=style.LIGHT["bad"], markersize=5.5, markeredgewidth=1.6,
              label="lost")


def _strokes(axes, spans, **look):
    """Horizontal lines (row, from, to), as one line with gaps."""
    at = np.array([(begin, end, np.nan) for _, begin, end in spans])
    rows = np.repeat([row for row, _, _ in spans], 3)
    axes.plot(at.ravel(), rows, solid_capstyle="butt", **look)


def _draw_panel(axes, c, workers):
    d = c.data
    _strokes(axes, d.waits, color=style.LIGHT["muted"], linewidth=0.8,
             label="waits")
    least = (d.window[1] - d.window[0]) / GRAINS  # seen, however short
    for i, worker in enumerate(workers):
        _strokes(axes, [(row, begin, max(end, begin + least))
                        for row, begin, end, by in d.bars if by == worker],
                 color=style.part(i), linewidth=5,
                 label=f"on worker {worker}")
    _draw_marks(axes, d)
    axes.set_xlim(*d.window)
    axes.set_ylim(len(d.tasks) - 0.4, -0.9)
    axes.set_yticks(range(len(d.tasks)), [str(n) for n in d.tasks],
                    fontsize=style.row_text())
    axes.grid(axis="y", visible=False)
    style.name_in_colour([axes.set_title(c.label)], [c.look])


def draw(columns):
    """The figure. columns: figures.Column of Data."""
    workers = sorted({b[3] for c in columns for b in c.data.bars})
    across = min(style.across(2 if len(columns) <= MANY else 3, 1.7),
                 len(columns))
    down = -(-len(columns) // across)
    tallest = max(len(c.data.tasks) for c in columns)
    with style.figure(0.9 + down * (
            0.65 + style.row_text() / 65 * tallest)) as fig:
        grid = style.grid(fig, len(columns), across)
        for axes, c in zip(grid, columns):
            _draw_panel(axes, c, workers)
            axes.locator_params(axis="x", nbins=min(
                9 - 2 * across, style.across(18, 0.55) // across))
        fig.supxlabel("time since the first arrival, s", fontsize="medium")
        fig.supylabel("task", fontsize="medium")
        handles = {label: h for axes in grid for h, label
                   in zip(*axes.get_legend_handles_labels())}
        style.legend(fig, list(handles.values()), list(handles), 6)
    return fig


def _count(c, first=True):
    d = c.data
    begin, length = d.window[0], (d.window[1] - d.window[0]) * 1e9
    where = f"in {words.ms(length / 1e6)} from {begin:.3f} s "
    where = (where if first else "") + f"{c.label} "
    if not d.frames:
        return where + "has no frame"
    trouble = f"loses {d.lost:,}" if d.lost else \
        f"is late with {d.late:,}" if d.late else "loses none"
    whose = f", task {d.worst} most" if d.worst is not None else ""
    return f"{where}{trouble} of {d.frames:,} frames{whose}"


def sentence(columns):
    """What happens in the windows of the worst and of the best."""
    if not any(c.data.frames for c in columns):
        return "No frame was there in the window asked for."
    if not any(c.data.lost or c.data.late for c in columns):
        return ("No frame is lost or late; the charts are around the slowest "
                "frame, or of the window asked for.")
    ranked = sorted(columns, key=lambda c: (c.data.lost, c.data.late))
    text = _count(ranked[-1])
    if len(ranked) > 1:
        same = np.allclose(ranked[0].data.window, ranked[-1].data.window,
                           rtol=0, atol=1e-6)
        text += "; " + _count(ranked[0], not same)
    return text[0].upper() + text[1:] + "."

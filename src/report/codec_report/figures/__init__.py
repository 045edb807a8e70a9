# SPDX-License-Identifier: Apache-2.0
"""Figures: a module each, of three functions.

data(frames)       what is shown of a section's jobs (run.Frames), small; pure
sentence(columns)  what to see in it, in one sentence, computed
draw(columns)      a matplotlib Figure, in the colours of style.py

TITLE, NAME (of files, ids) and ALT (what is on which axis) go with them. Only
draw() needs matplotlib: nothing here loads it before.
"""
from dataclasses import dataclass

from codec_report import ReportError
from codec_report.figures import (delays, gantt, jitter, loss, overhead,
                                  split, style, timeline)

FIGURES = (timeline, loss, delays, jitter, split, overhead, gantt)


@dataclass
class Column:
    """A scheduler of a run in a figure. label: unlike any other's; heading:
    the scheduler, which several runs may share; data: of one figure; look:
    style.Look, None: the scheduler's."""
    label: str
    heading: str
    data: object
    look: object = None

    def __post_init__(self):
        self.look = self.look or style.looks([self.heading])[0]


@dataclass
class Drawn:
    """A figure as a page shows it. figure: matplotlib's."""
    name: str
    title: str
    sentence: str
    alt: str
    figure: object


def require():
    """ReportError when matplotlib is missing: before a long read."""
    try:
        import matplotlib  # noqa: F401  (loaded late: it is slow and optional)
    except ImportError:
        raise ReportError("--html and --plots need matplotlib, which this "
                          "Python lacks: install python3-matplotlib") \
            from None


def reduce(frames):
    """{figure's name: its data} of a section's jobs."""
    return {module.NAME: module.data(frames) for module in FIGURES}


def draw(sections):
    """Every figure that there is something to draw for, as Drawn.

    sections: [(label, heading, what reduce() made of it, or part of that)].
    """
    looks = style.looks([heading for _, heading, _ in sections])
    for module in FIGURES if sections else ():
        columns = [Column(label, heading, reduced[module.NAME], look)
                   for (label, heading, reduced), look
                   in zip(sections, looks) if module.NAME in reduced]
        if not columns:
            continue
        yield Drawn(module.NAME, module.TITLE, module.sentence(columns),
                    module.ALT, module.draw(columns))

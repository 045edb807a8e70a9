# SPDX-License-Identifier: Apache-2.0
"""--html and --plots: what is kept of each run for them, and their files."""
import os
from dataclasses import dataclass

from codec_report import (ReportError, access, figures, labels, page,
                          write_file)
from codec_report.contenders import facts
from codec_report.figures import forest, gantt, style, svg, timeline


@dataclass
class Print:
    """How --plots writes figures. formats: of svg.FORMATS; inches: their width,
    None: as on a page; labels: [LABEL=TEXT], what columns are called."""
    formats: tuple = svg.FORMATS[:2]
    inches: float = None
    labels: tuple = ()

    def names(self, known):
        """{label: text}; ReportError: a label that is not known."""
        out = {}
        for item in self.labels:
            found = [label for label in known if item.startswith(f"{label}=")]
            if not found:
                raise ReportError(f"--labels: {item!r} is not LABEL=TEXT with "
                                  f"one of {'; '.join(known)}")
            label = max(found, key=len)
            out[label] = item[len(label) + 1:]
        return out


class Album:
    """Figures in the making: add() each run, then write() or save()."""

    def __init__(self, window=None):
        """window: of the Gantt chart, s since the first arrival; None: the
        worst moment of a campaign's first run."""
        figures.require()
        self.window, self.windows = window, {}
        self.reduced = []  # a list per run of its sections' data
        self.facts = []
        self.drawn, self.absent = None, []

    def add(self, run, sections, family=None):
        """Keep of a run what figures need; its jobs may go then. family: its
        contenders.Family, of which all charts show the same time."""
        kept = []
        for i, section in enumerate(sections):
            if section.frames:
                network = section.groups[0][1].get("delay_network_mean_ms")
                section.frames.network = network and network * 1e6
                section.frames.high = family.high() if family else []
                section.frames.window = self.window or \
                    self.windows.get(id(family))
                kept.append((i, labels.scheduler_name(
                    section.scheduler.partition("#")[0]),
                             figures.reduce(section.frames)))
                if run.played:  # no course of time: each has its blocks
                    del kept[-1][2][timeline.NAME]
                if len(sections) == 1 and family:
                    self.windows.setdefault(
                        id(family), kept[-1][2][gantt.NAME].window)
        self.reduced.append(kept)
        self.facts.append(facts(run))

    def draw(self, headings, interleaved=(), wanted=Print()):
        """Draw; headings: per run (its name, [label of each section]). A run
        that is repeated may have fewer than its first repetition. interleaved:
        [interleaved.Verdict]."""
        known = [label for _, names in headings for label in names]
        known += [m.label for ranking in interleaved for m in ranking.members]
        called = wanted.names(list(dict.fromkeys(known)))
        with style.printed(wanted.inches):
            self._draw(headings, interleaved, called)

    def _draw(self, headings, interleaved, called):
        """called: {label: text}."""
        self.drawn = [found for ranking in interleaved
                      if (found := forest.drawn(ranking, called))]
        self.drawn += list(figures.draw(
            [(called.get(names[i], names[i]), scheduler, reduced)
             for (_, names), kept in zip(headings, self.reduced)
             for i, scheduler, reduced in kept if i < len(names)]))
        self.absent = [label for (_, names), kept
                       in zip(headings, self.reduced) if not kept
                       for label in names]
        for fact, (run, _) in zip(self.facts, headings):
            fact["run"] = run

    def write(self, path, title, verdicts, tables, notes, passages=()):
        """The page, at path. passages: [heard.Passage]."""
        runs = [{"run": f["run"], **f} for f in self.facts]
        write_file(path, page.page(title, verdicts, tables, self.drawn, runs,
                                   notes, self.absent, passages))

    def save(self, folder, wanted):
        """Every figure into folder, which is made, as wanted: a Print."""
        dpi = svg.PRINT_DPI if wanted.inches else svg.PNG_DPI
        with access(folder):
            os.makedirs(folder, exist_ok=True)
            for drawn in self.drawn:
                svg.save(drawn, os.path.join(folder, drawn.name),
                         wanted.formats, dpi)

# SPDX-License-Identifier: Apache-2.0
"""--html and --plots: what is kept of each run for them, and their files."""
import os

from codec_report import ReportError, feeder, figures, page
from codec_report.figures import svg


def _object(told, name):
    value = told.get(name)
    return value if isinstance(value, dict) else {}


def facts(run):
    """{what: text} of a run, for the page's list of runs."""
    header = run.trace.header if run.trace else {}
    told = run.feeder or {}
    campaign = _object(told, "campaign")
    machine = {**_object(header, "machine"), **_object(told, "machine")}
    hello = _object(_object(told, "daemon"), "hello")
    found = {
        "program": feeder.peer_name(told) or
        " ".join(str(header.get(k) or told.get(k) or "")
                 for k in ("program", "version")).strip(),
        "scheduler": header.get("options") or header.get("scheduler")
        or told.get("scheduler"),
        "CPUs": header.get("workers"),
        "campaign": os.path.basename(str(campaign.get("path", ""))),
        "seed": told.get("seed"),
        "machine": machine.get("cpu"),
        "kernel": machine.get("kernel"),
        "codec kernels": told.get("kernels") or hello.get("kernels"),
    }
    return {name: "" if value is None else str(value)
            for name, value in found.items()}


def _labels(columns):
    """What tells columns apart: the scheduler, else with its CPUs, else with
    the run. columns: [(run, CPUs, scheduler)]."""
    names = [heading for _, _, heading in columns]
    machines = [(heading, cpus) for _, cpus, heading in columns]
    out = []
    for run, cpus, heading in columns:
        if names.count(heading) == 1:
            out.append(heading)
        elif machines.count((heading, cpus)) == 1:
            out.append(f"{heading} on {cpus} CPU" + "s" * (cpus != "1"))
        else:
            out.append(f"{heading} ({run})")
    return out


class Album:
    """Figures in the making: add() each run, then write() or save()."""

    def __init__(self, window=None):
        """window: of the Gantt chart, s since the first arrival; None: the
        worst moment of each."""
        figures.require()
        self.window = window
        self.reduced = []  # a list per run of its sections' data
        self.facts = []
        self.drawn, self.absent = None, []

    def add(self, run, sections):
        """Keep of a run what figures need; its jobs may go then."""
        kept = []
        for i, section in enumerate(sections):
            if section.frames:
                network = section.groups[0][1].get("delay_network_mean_ms")
                section.frames.network = network and network * 1e6
                section.frames.window = self.window
                kept.append((i, figures.reduce(section.frames)))
        self.reduced.append(kept)
        self.facts.append(facts(run))

    def draw(self, headings):
        """Draw; headings: per run (its name, [heading of each section]). A
        run that is repeated may have fewer than its first repetition."""
        columns = [(run, told["CPUs"], names[i], reduced)
                   for (run, names), told, kept
                   in zip(headings, self.facts, self.reduced)
                   for i, reduced in kept if i < len(names)]
        self.absent = [run for (run, _), kept in zip(headings, self.reduced)
                       if not kept]
        labels = _labels([column[:3] for column in columns])
        self.drawn = list(figures.draw(
            [(label, heading, reduced)
             for label, (_, _, heading, reduced) in zip(labels, columns)]))
        for told, (run, _) in zip(self.facts, headings):
            told["run"] = run

    def write(self, path, title, tables, notes):
        """The page, at path."""
        runs = [{"run": f["run"], **f} for f in self.facts]
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(page.page(title, tables, self.drawn, runs, notes,
                                  self.absent))
        except OSError as error:
            raise ReportError(f"{path}: {error.strerror}") from None

    def save(self, folder):
        """Every figure as SVG and PNG into folder, which is made."""
        try:
            os.makedirs(folder, exist_ok=True)
            for drawn in self.drawn:
                svg.save(drawn, os.path.join(folder, drawn.name))
        except OSError as error:
            raise ReportError(f"{folder}: {error.strerror}") from None

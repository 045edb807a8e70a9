# SPDX-License-Identifier: Apache-2.0
"""Runs as they are read: what --json prints of them, what columns are called,
and the verdicts."""
from codec_report import (contenders, emodel, interleaved, labels, repeats,
                          verdict)


def report(run, by, measured):
    """A run, measured by sections(), as what --json prints of it."""
    notes = list(run.notes)
    if run.trace is not None and not measured:
        notes.append("no frame arrived in the time looked at")
    if by == "flow" and not run.streams:
        notes.append("no streams.csv: flows are not known")
    return {
        "run": run.name,
        "program": str(run.trace.header.get("program", "")) if run.trace
        else "",
        "notes": notes,
        "schedulers": [{
            "scheduler": s.scheduler,
            "options": s.options,
            "begin_s": s.begin_s,
            "end_s": s.end_s,
            "workers": {str(i): share for i, share in s.workers.items()},
            "phases": [],
            "groups": [{"group": label, **values}
                       for label, values in s.groups],
        } for s in measured],
        "feeder": run.feeder,
    }


class Comparison:
    """Runs as they are read: what --json prints of them, and what the verdict
    is made from."""

    def __init__(self):
        self.contest = contenders.Contest()
        self.single = []   # of each RUN, the reports of its repetitions
        self.names = []    # of each RUN, its own; None: not repeated
        self.known = {}    # {(RUN, section): labels.Known}
        self.interleaved = []

    def add(self, run, summary, measured, turn, name):
        """A run; turn 0: the first of a RUN, which has a name. Returns its
        contenders.Family, or None."""
        if turn == 0:
            self.single.append([])
        facts = contenders.facts(run)
        for i, section in enumerate(measured):
            self.known.setdefault((len(self.single) - 1, i), labels.Known(
                name, section.scheduler, section.options,
                facts["CPUs"], facts["campaign"].removesuffix(".yaml")))
        self.single[-1].append(summary)
        if run.blocks:
            family = contenders.Family(facts["campaign"], facts["CPUs"], True,
                                       facts)
            self.interleaved.append(interleaved.Verdict(family, run.blocks,
                                                        run.played))
            return None
        return self.contest.add(run, measured, len(self.single) - 1, turn)

    def finish(self, names):
        """The reports, one for each RUN. names: of each, None: not
        repeated."""
        known = {(at, i): one for (at, i), one in self.known.items()
                 if i < self._common(at)}
        by_place = dict(zip(known, labels.labels(list(known.values()))))
        self.contest.finish(by_place)
        for family in self.contest.families:
            for member in family.members:
                self._add_phases(family, member)
        reports = [repeats.combine(name, several) if name else several[0]
                   for name, several in zip(names, self.single)]
        for (at, i), label in by_place.items():
            for section in reports[at]["schedulers"][i:i + 1]:
                section["label"] = label
        return reports

    def _common(self, at):
        """How many sections all repetitions have that have any: one may have
        been switched in mid-run."""
        return min((len(summary["schedulers"]) for summary in self.single[at]
                    if summary["schedulers"]), default=0)

    def _add_phases(self, family, member):
        at, i = member.place
        for turn, summary in enumerate(self.single[at]):
            if i >= len(summary["schedulers"]) or turn not in member.every:
                continue
            section, found = summary["schedulers"][i], member.every[turn]
            section["phases"] = [{"phase": name, **sample.values}
                                 for name, sample in found.items()]
            if len(family.phases) > 1:  # a mean over phases describes none
                for group in section["groups"]:
                    group.update(dict.fromkeys(emodel.SCORES))

    @property
    def verdicts(self):
        """Of each campaign that there is something to say of."""
        return self.interleaved + [
            verdict.Verdict(family) for family in self.contest.families
            if family.phases and family.members]

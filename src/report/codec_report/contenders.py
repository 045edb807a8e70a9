# SPDX-License-Identifier: Apache-2.0
"""Who is compared with whom: the columns of one campaign, with what each made
of every phase, run by run."""
import os
from dataclasses import dataclass, field

import numpy as np

from codec_report import blocks, feeder, locality, metrics, offered, phases
from codec_report.labels import scheduler_name
from codec_report.metric import median
from codec_report.run import BEHIND_MS
from codec_report.trace import NEVER, NOTE_FAULT

STALLED = 10  # times the median of its call: no work takes so long
NOTHING = phases.Load(np.empty(0), None, np.empty(0), 0.0)


def _object(holder, name):
    value = (holder or {}).get(name)
    return value if isinstance(value, dict) else {}


def _text(value):
    return "" if value is None else str(value)


def facts(run):
    """{what: text} of a run: what was run, and on what."""
    header = run.trace.header if run.trace else {}
    summary = run.feeder or {}
    campaign = _object(summary, "campaign")
    machine = {**_object(header, "machine"), **_object(summary, "machine")}
    hello = _object(_object(summary, "daemon"), "hello")
    found = {
        "program": feeder.peer_name(summary) or
        " ".join(_text(header.get(k) or summary.get(k))
                 for k in ("program", "version")).strip(),
        "scheduler": header.get("options") or header.get("scheduler")
        or summary.get("scheduler"),
        "CPUs": header.get("workers"),
        "campaign": os.path.basename(_text(campaign.get("path"))),
        "seed": summary.get("seed"),
        "machine": machine.get("cpu"),
        "kernel": machine.get("kernel"),
        "codec kernels": summary.get("kernels") or hello.get("kernels"),
    }
    return {name: _text(value) for name, value in found.items()}


@dataclass
class Contender:
    """A column. place: (number of the report, of the section); traced, heard:
    {repetition: {phase: offered.Sample}}, by the trace and by the feeder;
    every: the one that all columns have; chosen: what of it is compared;
    flawed: {repetition: why it shows too little}; conversions: {repetition:
    metrics of its files}; demands: {repetition: {phase: share of the workers'
    time}}, by the column's own trace."""
    place: tuple
    scheduler: str
    label: str = ""
    traced: dict = field(default_factory=dict)
    heard: dict = field(default_factory=dict)
    conversions: dict = field(default_factory=dict)
    every: dict = field(default_factory=dict)
    chosen: dict = field(default_factory=dict)
    flawed: dict = field(default_factory=dict)
    demands: dict = field(default_factory=dict)

    def demand(self, phase):
        """The median over the runs compared; None: not known."""
        return median([of[phase] for turn, of in self.demands.items()
                       if turn in self.chosen and phase in of])

    @property
    def samples(self):
        """{phase: offered.Sample} of each run."""
        return list(self.chosen.values())

    @property
    def broken(self):
        """Whether all that is known of it is of a broken contract."""
        return BROKE in (self.flawed.get(turn) for turn in self.chosen)

    @property
    def sound(self):
        """Whether what is compared is of runs without a flaw."""
        return not self.chosen.keys() & self.flawed.keys()

    def values(self, phase, key):
        """Of every run that has it."""
        found = [runs[phase].values[key] for runs in self.samples
                 if phase in runs]
        return [v for v in found if v is not None]

    def files(self, key):
        """Of the conversions of every run compared that has it."""
        found = [group.get(key) for turn, group in self.conversions.items()
                 if turn in self.chosen]
        return [v for v in found if v is not None]

    def value(self, phase, key):
        """The median over the runs; None when it is not known."""
        return median(self.values(phase, key))


@dataclass
class Family:
    """Columns that were offered the same. live: None when unknown; deadlines:
    {(flow, index): ns}; expected: [(run's place, what run.json says)]."""
    campaign: str
    cpus: str
    live: bool = None
    facts: dict = field(default_factory=dict)
    phases: list = field(default_factory=list)
    members: list = field(default_factory=list)
    deadlines: dict = field(default_factory=dict)
    expected: list = field(default_factory=list)
    synthetic: bool = False

    def member(self, place, scheduler):
        """The Contender of a place; a new one when there is none."""
        for one in self.members:
            if one.place == place:
                return one
        self.members.append(Contender(place, scheduler_name(scheduler)))
        return self.members[-1]

    def high(self):
        """Spans of overload or peak, s, with ends; of the whole run none."""
        return [span for p in self.phases if p.name in ("overload", "peak")
                and len(self.phases) > 1 for span in p.spans]


def _speech(frames):
    """The jobs that are no files."""
    if feeder.CONVERSIONS not in frames.names:
        return frames.jobs
    files = frames.names.index(feeder.CONVERSIONS)
    return offered.pick(frames.jobs, frames.jobs["group"] != files)


def _cost(call, busy):
    """s of a worker that each frame asks for; None: nothing was worked on."""
    worked = busy > 0
    if not worked.any():
        return None
    _, index = np.unique(call, return_inverse=True)
    order = np.lexsort((busy[worked], index[worked]))
    mine, times = index[worked][order], busy[worked][order]
    count = np.bincount(mine, minlength=index.max() + 1)
    ends = np.cumsum(count)
    middle = times[np.minimum(ends - (count + 1) // 2, len(times) - 1)]
    # who was kept from its CPU for a while did not ask for that
    times = np.minimum(times, STALLED * middle[mine])
    total = np.bincount(mine, times, len(count))
    mean = np.where(count > 0, total / np.maximum(count, 1),
                    total.sum() / count.sum())
    return mean[index] / 1e9


def _hidden(trace, frames):
    """The bins of phases in which only frames arrived that no section has:
    those of a window's outside."""
    arrival = [f.jobs["arrival"] for f in frames]
    if sum(map(len, arrival)) == len(trace.jobs["arrival"]):
        return np.empty(0, np.int64)
    every, seen = (phases.bins((at - frames[0].first) / 1e9) for at in (
        trace.jobs["arrival"], np.concatenate(arrival)))
    return np.setdiff1d(every, seen)


def _load(parts, frames, hidden):
    """phases.Load of the jobs of a run's sections."""
    first, workers = frames[0].first, frames[0].workers
    call, arrival, busy = (
        np.concatenate([column(jobs) for jobs in parts]) for column in (
            lambda j: j["task"], lambda j: j["arrival"], metrics.busy_ns))
    period = max(int(jobs["frame"].max()) for jobs in parts) / 1e9
    return phases.Load((arrival - first) / 1e9, _cost(call, busy), call,
                       period, max(workers, 1), hidden)


def _demands(found, jobs, section, live):
    """{phase: share of the workers' time that its frames ask for, by what
    turns took in it}."""
    frames, out = section.frames, {}
    at = (jobs["arrival"] - frames.first) / 1e9
    if not len(at):
        return out
    if live:
        turns = locality.Turns(jobs)
        took, picked = turns.by_clock(), turns.pick
        kind = jobs["group"][turns.at]
    else:  # a simulated worker does nothing beside, but may be interrupted
        took, kind, picked = metrics.busy_ns(jobs), jobs["group"], jobs["pick"]
        worked = took > 0
        took, kind, picked = took[worked], kind[worked], picked[worked]
    picked = (picked - frames.first) / 1e9
    last = float(at.max()) + int(jobs["frame"].max()) / 1e9
    for phase in found:
        inside, mine = phase.holds(at), phase.holds(picked)
        if not inside.any() or not mine.any():
            continue
        seconds = sum(min(end, last) - max(begin, float(at.min()))
                      for begin, end in phase.spans
                      if begin < at.max() and end > at.min())
        cost = blocks.costs(took[mine], kind[mine],
                            jobs["group"][inside])[1]
        out[phase.name] = int(inside.sum()) * cost / 1e9 / seconds \
            / max(frames.workers, 1)
    return out


def _deadlines(run):
    """{task: ns} of the trace's tasks that have one."""
    return {int(c["task"]): int(c["rel_deadline"]) for c in run.trace.tasks
            if 0 < c["rel_deadline"] < NEVER}


SLOW = "the sender did not keep pace"
SHORT = "the run was not played to its end"
BROKE = "a scheduler broke its contract"


def _flaw(run, behind):
    """Why a run shows too little; "". behind: its sender was."""
    summary = run.feeder or {}
    if isinstance(summary.get("scheduler_fault"), str) or (
            run.trace and (run.trace.notes["code"] == NOTE_FAULT).any()):
        return BROKE
    if isinstance(summary.get("failure"), str) or \
            summary.get("interrupted") is True:
        return SHORT
    return SLOW if behind else ""


def _rows(run):
    """[((flow, index), stream)] of streams.csv."""
    found = [((row.get("flow"), row.get("index")), feeder.stream_number(row))
             for row in run.streams or []]
    return [(key, n) for key, n in found if n is not None]


class Contest:
    """add() every run, finish() once; then families has who is compared."""

    def __init__(self):
        self.families, self._keys, self._later = [], {}, []

    def _family(self, run, place):
        """The one that a run belongs to; that of its first repetition."""
        for family in self.families:
            if any(m.place[0] == place[0] for m in family.members):
                return family
        known = facts(run)
        live = run.trace.header.get("live") if run.trace else True
        text = _object(run.feeder, "campaign").get("text")
        key = (text or known["campaign"], known["seed"], live)
        if run.trace is None:  # knows no CPUs: of whichever it fits
            for other, family in self._keys.items():
                if other[:3] == key:
                    return family
        family = self._keys.get((*key, known["CPUs"]))
        if family is None:
            family = Family(known["campaign"], known["CPUs"],
                            live if isinstance(live, bool) else None, known)
            self._keys[*key, known["CPUs"]] = family
            self.families.append(family)
        return family

    def add(self, run, measured, place, turn=0):
        """A run, measured by run.sections(); place: number of its report;
        turn: which repetition. Returns its Family, None when it waits for
        finish(), as one of a broken contract does: others make the phases."""
        if run.trace is None or not any(s.frames for s in measured) or \
                _flaw(run, False) == BROKE:
            self._later.append((run, measured, place, turn))
            return None
        return self._add_traced(run, measured, place, turn)

    def _add_traced(self, run, measured, place, turn):
        family = self._family(run, (place, 0))
        if run.trace.header.get("live") is not True and family.live is None:
            family.live = False
        frames = [s.frames for s in measured if s.frames]
        parts = [jobs for jobs in map(_speech, frames) if len(jobs["task"])]
        if not family.phases:
            family.synthetic = run.trace.synthetic
            load = _load(parts, frames, _hidden(run.trace, frames)) \
                if parts else NOTHING
            family.phases = phases.find(load)
        for i, section in enumerate(measured):
            if section.frames:
                self._add_section(family, section, (place, i), turn,
                                  _flaw(run, section.behind))
        limits = _deadlines(run)
        family.deadlines.update(
            (key, limits[call]) for key, call in _rows(run) if call in limits)
        if len(measured) == 1:
            self._hear(family, run, (place, 0), turn, limits)
        self._expect(family, run, place)
        return family

    @staticmethod
    def _add_section(family, section, place, turn, flaw):
        member = family.member(place, section.scheduler)
        if flaw:
            member.flawed[turn] = flaw
        jobs = _speech(section.frames)
        member.demands[turn] = _demands(family.phases, jobs, section,
                                         family.live is True)
        member.traced[turn] = {
            phase.name: offered.of_trace(jobs, section.frames.first, phase,
                                         section.descriptions,
                                         section.assumed)
            for phase in family.phases}
        groups = dict(section.groups)
        if feeder.CONVERSIONS in groups:
            member.conversions[turn] = groups[feeder.CONVERSIONS]

    @staticmethod
    def _hear(family, run, place, turn, limits):
        """What the feeder saw of a run."""
        if run.frames is None:
            return
        records = run.frames[run.frames["sent"] > 0]
        if not len(records):
            return
        first = int(records["sent"].min())
        if not family.phases:
            family.phases = phases.find(phases.Load(
                (records["sent"] - first) / 1e9, None, records["stream"], 0.02))
        scheduler = feeder.peer_name(run.feeder) or "unknown"
        family.member(place, scheduler).heard[turn] = {
            phase.name: offered.of_feeder(records, first, phase, limits)
            for phase in family.phases}

    @staticmethod
    def _expect(family, run, place):
        listed = (run.feeder or {}).get("expectations")
        family.expected += [(place, item) for item in (
            listed if isinstance(listed, list) else ())
            if isinstance(item, dict)]

    def finish(self, labels):
        """Runs without a trace, and names. labels: {place: label}."""
        for run, measured, place, turn in self._later:
            if not measured:
                continue
            if run.trace and any(s.frames for s in measured):
                self._add_traced(run, measured, place, turn)
                continue
            family = self._family(run, (place, 0))
            limits = {call: family.deadlines[key] for key, call in _rows(run)
                      if key in family.deadlines}
            member = family.member((place, 0), measured[0].scheduler)
            flaw = _flaw(run, (feeder.late_ms(run.feeder) or 0) > BEHIND_MS)
            if flaw:
                member.flawed[turn] = flaw
            self._hear(family, run, (place, 0), turn, limits)
            self._expect(family, run, place)
        for family in self.families:
            # of sections that not all repetitions have there is no column
            family.members = sorted((m for m in family.members
                                     if m.place in labels),
                                    key=lambda m: m.place)
            alone = any(not m.traced for m in family.members)
            heard = all(m.heard for m in family.members)
            for m in family.members:
                m.label = labels[m.place]
                m.every = m.heard if alone and (heard or not m.traced) \
                    else m.traced
                m.chosen = {turn: sample for turn, sample in m.every.items()
                            if turn not in m.flawed} or m.every

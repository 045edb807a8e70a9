# SPDX-License-Identifier: Apache-2.0
"""A run: a trace file, or a folder with trace.bin, run.json and streams.csv.

The trace is the daemon's (or the simulator's); run.json and streams.csv are the
feeder's. A folder may lack any of them: what is missing is noted. With
blocks.json, it is an interleaved comparison.
"""
import csv
import os
from dataclasses import dataclass, field, replace

import numpy as np

from codec_report import (ReportError, blocks, delay, emodel, feeder, locality,
                          metrics, parse_json, read_text)
from codec_report.frames import read_frames, read_records
from codec_report.trace import (CLASSES, NO_WORKER, NOTE_FAULT,
                                NOTE_SWITCHED, Trace, clean, read_trace)

TRACE, FEEDER, STREAMS = FILES = "trace.bin", "run.json", "streams.csv"
FRAMES = "frames.bin"
#: Arrivals so far behind are no jitter of a network that anybody plans with,
#: and no lateness of a feeder that keeps pace.
BEHIND_MS = 100
DRIFT_MS_PER_S = 1  # more than any clock that runs by itself


@dataclass
class Window:
    """Which part of a run counts, in seconds. since, until: from its first
    arrival; warm_up: left out after the start and after each switch."""
    since: float = 0.0
    until: float = float("inf")
    warm_up: float = 0.0


@dataclass
class Run:
    """What was found. trace, feeder (run.json), streams (rows of streams.csv as
    dicts), frames (records of frames.bin) and played (blocks.Played) are None
    where the run has none. blocks: [blocks.Block], once sections() has measured
    them."""
    name: str
    trace: Trace = None
    feeder: dict = None
    streams: list = None
    frames: np.ndarray = None
    played: blocks.Played = None
    blocks: list = field(default_factory=list)
    notes: list = field(default_factory=list)


@dataclass
class Frames:
    """What figures are made of: the jobs of a section.

    jobs: columns as for metrics.measure(), and "group", an index into names.
    workers: how many there were; first: the run's first arrival, ns, from
    which figures count time. network: mean time on the network, ns, where a
    feeder gives; window: (from, to) in s since first, to be shown in full,
    None: the worst moment; high: [(from, to)] in s, the times of overload.
    """
    jobs: dict
    names: list
    workers: int
    first: int
    network: float = None
    window: tuple = None
    high: list = field(default_factory=list)


@dataclass
class Section:
    """What a run was under one scheduler, measured: a stretch, or several.

    groups: list of (label, metrics dict), the sum over all first when there
    are several. workers: busy share of each worker by its number. frames: the
    jobs it was measured from; None without a trace. ratings: of its calls,
    emodel.Rating; descriptions, assumed: what they were made with. behind:
    its sender did not keep pace.
    """
    scheduler: str
    options: str
    begin_s: float
    end_s: float
    groups: list
    workers: dict
    frames: Frames = None
    ratings: list = field(default_factory=list)
    descriptions: dict = field(default_factory=dict)
    assumed: emodel.Assumptions = emodel.Assumptions()
    behind: bool = False


def _refuse(constant):
    raise ValueError(f"{constant} is no number of JSON")


def load_object(path):
    """What a file of one JSON object says."""
    value = parse_json(read_text(path), f"{path}:", parse_constant=_refuse)
    if not isinstance(value, dict):
        raise ReportError(f"{path}: no JSON object")
    return value


def base_name(path):
    """The last part of a path, whether or not it ends in a slash."""
    return os.path.basename(os.path.normpath(path)) or path


def _part_of_it(summary):
    """Notes on a run that is not whole: it counts less than it would have."""
    failure = summary.get("failure")
    if isinstance(failure, str):
        return [f"the run broke off: {failure}"]
    fault = summary.get("scheduler_fault")
    if isinstance(fault, str):
        return [f"a scheduler broke its contract, and another went on: "
                f"{fault}"]
    return ["the run was interrupted"] if summary.get("interrupted") is True \
        else []


def _load_folder(path):
    run = Run(base_name(path))
    present = [name for name in (TRACE, FEEDER, STREAMS)
               if os.path.exists(os.path.join(path, name))]
    if not present:
        raise ReportError(f"{path}: no run: it holds neither {TRACE} nor "
                          f"{FEEDER} nor {STREAMS}")
    if TRACE in present:
        run.trace = read_trace(os.path.join(path, TRACE))
        run.notes += run.trace.warnings
    if FEEDER in present:
        run.feeder = load_object(os.path.join(path, FEEDER))
        run.notes += _part_of_it(run.feeder)
    if TRACE not in present:
        who = feeder.peer_name(run.feeder) or "the daemon"
        run.notes.append(f"no {TRACE}: nothing from inside {who}, and "
                         "no figures")
    if os.path.exists(os.path.join(path, FRAMES)):
        run.frames = read_records(os.path.join(path, FRAMES))[1]
    if run.trace is not None and os.path.exists(os.path.join(path, FRAMES)):
        jobs = run.trace.jobs
        jobs["feeder_sent"], jobs["feeder_received"] = read_frames(
            os.path.join(path, FRAMES), run.trace.realtime_offset).of(jobs)
    if run.trace is not None and \
            os.path.exists(os.path.join(path, blocks.FILE)):
        at = os.path.join(path, blocks.FILE)
        run.played = blocks.parse(read_text(at), at)
    if STREAMS in present:
        at = os.path.join(path, STREAMS)
        try:
            run.streams = list(csv.DictReader(read_text(at).splitlines(),
                                            restval=""))
        except csv.Error as error:
            raise ReportError(f"{at}: not CSV: {error}") from None
    else:
        run.notes.append(f"no {STREAMS}: nothing from the feeder's side")
    return run


def load_run(path):
    """Load a trace file or a run folder; ReportError when it is neither."""
    if os.path.isdir(path):
        return _load_folder(path)
    trace = read_trace(path)
    folder, name = os.path.split(os.path.abspath(path))
    if name == TRACE:  # says nothing; its folder may
        name = os.path.basename(folder) or name
    return Run(name, trace, notes=list(trace.warnings))


def _task_labels(trace, by, flows):
    """{task id: (label, frame duration ns)} of the trace's tasks."""
    labels, descriptions = {}, _descriptions(trace)
    for record in trace.tasks:
        task = int(record["task"])
        if by == "class":
            cls = int(record["cls"])
            label = CLASSES[cls] if cls < len(CLASSES) else f"class {cls}"
        elif by == "flow":
            label = flows.get(task, "unknown flow")
        else:
            label = descriptions[task].label
        labels[task] = (label, int(record["ptime"]) * 250000)
    return labels


def _spread(jobs, starts, labels):
    """Per job: index of its label, and frame duration; and the labels."""
    names = sorted({label for label, _ in labels.values()})
    index = {name: i for i, name in enumerate(names)}
    ids = np.array(sorted(labels), np.uint64)
    group = np.array([index[labels[int(i)][0]] for i in ids], np.int64)
    frame = np.array([labels[int(i)][1] for i in ids], np.int64)
    calls = jobs["task"][starts].astype(np.uint64)
    at = np.searchsorted(ids, calls)
    known = at < len(ids)
    known[known] = ids[at[known]] == calls[known]
    call_group = np.full(len(calls), len(names))
    call_frame = np.zeros(len(calls), np.int64)
    call_group[known] = group[at[known]]
    call_frame[known] = frame[at[known]]
    if not known.all():
        names.append("unknown")
    length = np.diff(np.append(starts, len(jobs["task"])))
    return np.repeat(call_group, length), np.repeat(call_frame, length), names


def _history(trace, first):
    """[(scheduler, options, from ns)], by time, of a trace and its switches;
    scheduler "": none went on. The names of a scheduler that broke its
    contract, and of the one that went on for it, say so."""
    header, notes = trace.header, trace.notes
    name = str(header.get("scheduler", "unknown"))
    notes = notes[np.isin(notes["code"], (NOTE_FAULT, NOTE_SWITCHED))]
    out = [(name, str(header.get("options", name)), first)]
    broke = None
    for note in notes[np.argsort(notes["at"], kind="stable")]:
        at = int(note["at"])
        if note["code"] == NOTE_FAULT:
            name, _, begin = out[-1]
            broke = f"{name} broke its contract at {(at - first) / 1e9:.1f} s"
            until = broke.replace(" ", " until it ", 1)
            out[-1] = (until, until, begin)
            continue
        text = clean(bytes(note["text"])) or "unknown"
        name = text.split(",")[0]
        if broke:  # no result under a scheduler's name that is not its own
            name = text = f"{name} after {broke}"
        out.append((name, text, at))
        broke = None
    return out + ([("", "", at)] if broke else [])


@dataclass
class _Stretch:
    """A time under one scheduler, s since the first arrival."""
    scheduler: str
    options: str
    begin: float
    end: float


def _switched(trace, first, window):
    """Stretches of the run and its switches, by time."""
    found = _history(trace, first)
    ends = [(at - first) / 1e9 for _, _, at in found[1:]] + [float("inf")]
    return [_Stretch(scheduler, options,
                     max((at - first) / 1e9 + window.warm_up, window.since),
                     min(end, window.until))
            for (scheduler, options, at), end in zip(found, ends)
            if scheduler]


def _played(run, first, window):
    """Stretches of the blocks that are compared, by column, as the first round
    has them."""
    warm_up = max(run.played.warm_up / 1e9, window.warm_up)
    return [_Stretch(b.scheduler.split(",")[0], b.scheduler,
                     max((b.begin - first) / 1e9 + warm_up, window.since),
                     min((b.end - first) / 1e9, window.until))
            for b in run.blocks if b.kind == blocks.STEADY and not b.flaw]


def _pick(jobs, index):
    return {name: column[index] for name, column in jobs.items()}


def _workers(jobs, seconds):
    """Busy share of each worker that did something."""
    worker = jobs["worker"]
    busy = np.bincount(worker, metrics.busy_ns(jobs))
    ids = np.unique(worker[worker != NO_WORKER])
    if not seconds:
        return {}
    return {int(i): float(busy[i]) / 1e9 / seconds for i in ids}


def _worker_count(trace, jobs):
    claimed = trace.header.get("workers")
    if isinstance(claimed, int) and 0 < claimed < NO_WORKER:
        return claimed
    worker = jobs["worker"]
    return len(np.unique(worker[worker != NO_WORKER]))


def _descriptions(trace):
    """{task id: emodel.Description} of the trace's tasks."""
    return {int(record["task"]): emodel.Description(*(
        clean(bytes(record[name])) for name in ("codec_in", "mode_in", "codec_out",
                                         "mode_out")))
            for record in trace.tasks}


@dataclass
class _Context:
    """What measuring needs beside the jobs. assumed: emodel.Assumptions."""
    workers: int
    descriptions: dict
    assumed: emodel.Assumptions


def _rate(jobs, context):
    return emodel.ratings(jobs, metrics.lost_jobs(jobs),
                          metrics.task_starts(jobs), context.descriptions,
                          context.assumed)


def rate_stream(run, stream, begin, end, assumed):
    """Return the emodel.Rating of a stream's speech, without its pauses, that
    arrived from begin to end, ns; None without any. run: measured by
    sections()."""
    jobs = run.trace.jobs if run.trace else {}
    if "frame" not in jobs:
        return None
    index = np.flatnonzero((jobs["task"] == stream) & (jobs["arrival"] >= begin)
                           & (jobs["arrival"] < end))
    index = index[~emodel.is_pause(jobs["importance"][index])]
    found = _rate(_pick(jobs, index), _Context(1, _descriptions(run.trace),
                                               assumed))
    return found[0] if found else None


def _measure_group(jobs, ratings, seconds, context):
    return metrics.measure(jobs, seconds, context.workers) \
        | emodel.measure(ratings)


def _measure_section(frames, ratings, seconds, context):
    jobs = frames.jobs
    present = np.unique(jobs["group"])
    groups = []
    if len(present) != 1:
        groups.append(("all", _measure_group(jobs, ratings, seconds,
                                             context)))
    for i in present:
        mine = jobs if len(present) == 1 else \
            _pick(jobs, np.flatnonzero(jobs["group"] == i))
        tasks = set(np.unique(mine["task"]).tolist())
        groups.append((frames.names[i], _measure_group(
            mine, [r for r in ratings if r.stream in tasks], seconds,
            context)))
    return groups, _workers(jobs, seconds)


def _prepare(trace, labels):
    """Sort the jobs, and add the columns that measuring needs. Returns the
    first arrival, ns, and the names of groups."""
    jobs = trace.jobs
    first = int(jobs["arrival"].min())
    metrics.sort_by_task(jobs)
    starts = metrics.task_starts(jobs)
    jobs["group"], jobs["frame"], names = _spread(jobs, starts, labels)
    jobs["media_step"] = metrics.media_step(jobs, starts)
    jobs["pause"] = emodel.pauses(jobs, starts)
    locality.add_turns(jobs)
    return first, names


def _inside(jobs, first, stretches):
    """(indexes of the jobs that arrived in the stretches, by call, which one,
    how many s they last)."""
    at = (jobs["arrival"] - first) / 1e9
    which = np.full(len(at), -1, np.int32)
    seconds = 0.0
    for i, one in enumerate(stretches):
        inside = (at >= one.begin) & (at < one.end)
        which[inside] = i
        if inside.any():
            seconds += float(at[inside].max() - at[inside].min())
    index = np.flatnonzero(which >= 0)
    return index, which[index], seconds


def _trace_sections(run, labels, window, assumed):
    """A section for each scheduler, as it came first."""
    trace, jobs = run.trace, run.trace.jobs
    if not len(jobs["task"]):
        return []
    first, names = _prepare(trace, labels)
    if run.played:
        run.blocks = blocks.measure(trace, run.played)
    stretches = _played(run, first, window) if run.played \
        else _switched(trace, first, window)
    descriptions = _descriptions(trace)
    out = []
    for options in dict.fromkeys(one.options for one in stretches):
        mine = [one for one in stretches if one.options == options]
        index, which, seconds = _inside(jobs, first, mine)
        if not len(index):
            continue
        picked = jobs if len(index) == len(jobs["task"]) else \
            _pick(jobs, index)
        if len(mine) > 1:
            picked["stretch"] = which
        frames = Frames(picked, names, _worker_count(trace, picked), first)
        context = _Context(frames.workers, descriptions, assumed)
        ratings = _rate(picked, context)
        groups, workers = _measure_section(frames, ratings, seconds, context)
        begin = max(mine[0].begin, 0.0)
        out.append(Section(mine[0].scheduler, options, begin,
                           (float(picked["arrival"].max()) - first) / 1e9,
                           groups, workers, frames,
                           ratings, descriptions, assumed))
    return out


def _add_feeder(out, run, by, labels):
    """The feeder's numbers into the groups of the run's only section; those of
    groups that the trace lacks make groups of their own."""
    summary = run.feeder or {}
    if not out:
        name = summary.get("scheduler") or feeder.peer_name(summary) or \
            "unknown"
        options = clean(str(name).encode())
        out.append(Section(options.split(",")[0], options, 0.0, 0.0, [], {}))
    names = {call: label for call, (label, _) in labels.items()}
    groups = dict(out[0].groups)
    seen = feeder.measure(run.streams, summary, by, names, run.frames)
    for label, values in seen.items():
        label = clean(label.encode())
        if label not in groups:
            groups[label] = dict.fromkeys(m.key for m in metrics.METRICS)
        groups[label].update(values)
        delay.network(groups[label])
    out[0].groups = sorted(groups.items(), key=lambda g: g[0] != "all")


def _note_slow_senders(run, measured):
    """In the simulator jobs come when they come, and those of tasks have no
    pace to be behind. A feeder knows itself how late it was: its campaigns may
    have any jitter and drift."""
    if run.trace.header.get("live") is not True:
        for _, values in (group for section in measured if run.trace.synthetic
                          for group in section.groups):
            values["behind_p99_ms"] = None
        return
    late_ms = feeder.late_ms(run.feeder)
    if late_ms is not None and late_ms <= BEHIND_MS:
        return
    sender = "the sender did not keep pace" if late_ms is None else \
        f"the feeder sent them up to {late_ms:.0f} ms late"
    for section in measured:
        behind = section.groups[0][1]["behind_p99_ms"] or 0
        drift = (section.end_s - section.begin_s) * DRIFT_MS_PER_S
        if behind > BEHIND_MS + drift:
            section.behind = True
            run.notes.append(
                f"under {section.scheduler} frames arrived up to "
                f"{behind:.0f} ms (p99) behind their timestamps: {sender}, "
                "and there was less load than planned")


def sections(run, by="codec", window=Window(), assumed=emodel.Assumptions()):
    """Measure a run: a Section per scheduler, as they came first.

    by: "codec" (pair), "class" or "flow" (needs streams.csv). A job belongs to
    the scheduler under which it arrived. What the feeder saw cannot be split
    in time: it is added when the whole run is one section. assumed: of the
    E-model; what the network lost is put in from streams.csv.
    """
    if window == Window():
        assumed = replace(assumed, withheld=feeder.withheld(run.streams))
    labels = _task_labels(run.trace, by, feeder.flows(run.streams)) \
        if run.trace else {}
    # frames of files come as fast as they are done: of no duration
    labels.update((call, (feeder.CONVERSIONS, 0))
                  for call in feeder.conversion_ids(run.feeder)
                  if call in labels)
    out = _trace_sections(run, labels, window, assumed) \
        if run.trace else []
    if out and not run.played:
        _note_slow_senders(run, out)
    simulated = (run.feeder or {}).get("program") == "codec-sim"
    if run.streams and simulated:
        pass  # the same jobs as in the trace
    elif run.streams and window == Window() and len(out) < 2 and \
            not run.played:
        _add_feeder(out, run, by, labels)
    elif run.streams:
        run.notes.append("the feeder's numbers are of the whole run and left "
                         "out here")
    return out

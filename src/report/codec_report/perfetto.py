# SPDX-License-Identifier: Apache-2.0
"""A trace that ui.perfetto.dev and chrome://tracing open: trace events as JSON.

For each run two groups of tracks. "workers": what each worker did, a slice per
frame from pick to end. "tasks": the frames of each task, a slice from release
to end with the work in it as a slice of its own; marks where a frame arrived,
where its deadline was, and where one was lost, with the reason. Slices of one
track never overlap: what would (a frame that was interrupted in the simulator)
goes to a track below, "worker 0 +1". Times count from the run's first arrival;
a switch of the scheduler is a mark across all tracks.

Format: Trace Event Format, Google; time stamps in us.
"""
import heapq
import itertools
import json

from codec_report import ReportError
from codec_report.metrics import lost_jobs
from codec_report.trace import NEVER, NO_WORKER, OUTCOMES

FRAMES_MAX = 100000
LANES = 1 << 8  # places for a worker's or task's tracks in the order shown


def _us(ns):
    return None if ns is None else ns / 1000


class _Tracks:
    """Events of one process ("workers" or "tasks" of a run), with a track per
    key and lane."""

    def __init__(self, pid, name, tids):
        """tids: an iterator; no two tracks of a file may have the same."""
        self.pid, self.tids = pid, tids
        self.lanes, self.events = {}, []
        self._meta(0, "process_name", name=name)
        self._meta(0, "process_sort_index", sort_index=pid)

    def _meta(self, tid, what, **args):
        self.events.append({"ph": "M", "pid": self.pid, "tid": tid, "ts": 0,
                            "name": what, "args": args})

    def track(self, key, title, begin, end):
        """The tid of a track of key that is free from begin to end, ns;
        begins must not decrease."""
        lanes = self.lanes.setdefault(key, [])
        for lane in lanes:
            if lane[1] <= begin:
                lane[1] = end
                return lane[0]
        return self._open(key, title, lanes, end)

    def home(self, key, title):
        """The tid of the first track of key, where marks go."""
        lanes = self.lanes.setdefault(key, [])
        return lanes[0][0] if lanes else self._open(key, title, lanes, 0)

    def _open(self, key, title, lanes, until):
        tid, number = next(self.tids), len(lanes)
        lanes.append([tid, until])
        self._meta(tid, "thread_name",
                   name=f"{title} +{number}" if number else title)
        self._meta(tid, "thread_sort_index", sort_index=key * LANES + number)
        return tid

    def slice(self, tid, name, begin, end, args):
        self.events.append({"ph": "X", "pid": self.pid, "tid": tid,
                            "ts": _us(begin), "dur": _us(end - begin),
                            "name": name, "cat": "frame", "args": args})

    def mark(self, tid, name, at, args):
        self.events.append({"ph": "i", "s": "t", "pid": self.pid, "tid": tid,
                            "ts": _us(at), "name": name, "cat": "mark",
                            "args": args})


def _rows(frames):
    """The jobs of a section as dicts of Python numbers; times in ns from the
    run's first arrival, None where the job never came so far."""
    jobs = dict(frames.jobs, lost=lost_jobs(frames.jobs))
    names = list(jobs)
    rows = [dict(zip(names, values))
            for values in zip(*(jobs[n].tolist() for n in names))]
    for row in rows:
        for name in ("arrival", "release", "pick", "start", "end", "sent"):
            row[name] = row[name] - frames.first if row[name] else None
        due = 0 < row["deadline"] < NEVER
        row["deadline"] = row["deadline"] - frames.first if due else None
    return rows


def _args(row, label):
    done = row["sent"] is not None
    return {
        "task": row["task"], "frame": row["seq"], "codecs": label,
        "outcome": OUTCOMES[row["outcome"]], "worker": row["worker"],
        "arrival_us": _us(row["arrival"]), "sent_us": _us(row["sent"]),
        "delay_us": _us(row["sent"] - row["arrival"] + row["buffered"])
        if done else None, "buffered_us": _us(row["buffered"]),
        "codec_us": _us(row["codec_ns"]), "away_us": _us(row["away"])}


def _worked(row):
    """(pick, start, end) in order, None when the frame was not worked on."""
    if row["start"] is None or row["end"] is None or \
            row["worker"] == NO_WORKER:
        return None
    start = max(row["start"], row["pick"] or row["start"])
    return row["pick"] or start, start, max(row["end"], start)


def _work(workers, rows, names):
    for row in sorted(filter(_worked, rows), key=lambda r: _worked(r)[0]):
        begin, _, end = _worked(row)
        tid = workers.track(row["worker"], f"worker {row['worker']}", begin,
                            end)
        workers.slice(tid, f"task {row['task']} #{row['seq']}", begin, end,
                      _args(row, names[row["group"]]))


def _frame(tasks, row, label):
    """Slices and marks of one frame on its task's track."""
    arrival, title = row["arrival"], f"task {row['task']}"
    worked = _worked(row)
    begin = row["release"] if row["release"] is not None else arrival
    end = begin
    if worked:
        begin, end = min(begin, worked[0]), worked[2]
    elif row["pick"] is not None:
        end = max(begin, row["pick"])
    args = _args(row, label)
    tid = home = tasks.home(row["task"], title)
    if end > begin:
        tid = tasks.track(row["task"], title, begin, end)
        tasks.slice(tid, f"frame {row['seq']}", begin, end, args)
    if worked:
        tasks.slice(tid, "work", worked[1], worked[2],
                    {"worker": row["worker"], "codec_us": args["codec_us"]})
    tasks.mark(home, "arrival", arrival, {"frame": row["seq"]})
    if row["deadline"] is not None:
        tasks.mark(home, "deadline", row["deadline"], {"frame": row["seq"]})
    if row["lost"]:
        tasks.mark(home, f"lost: {OUTCOMES[row['outcome']]}", end, args)


def _begin(row):
    release = row["arrival"] if row["release"] is None else row["release"]
    worked = _worked(row)
    return min(release, worked[0]) if worked else release


def _run_events(number, name, sections, tids):
    workers = _Tracks(2 * number + 1, f"{name}: workers", tids)
    tasks = _Tracks(2 * number + 2, f"{name}: tasks", tids)
    for section in sections:
        frames = section.frames
        if frames is None:
            continue
        rows = sorted(_rows(frames), key=_begin)
        _work(workers, rows, frames.names)
        for row in rows:
            _frame(tasks, row, frames.names[row["group"]])
        workers.events.append(
            {"ph": "i", "s": "g", "pid": workers.pid, "tid": 0,
             "ts": max(section.begin_s, 0) * 1e6, "cat": "mark",
             "name": f"scheduler {section.options}", "args": {}})
    return [sorted(t.events, key=_order) for t in (workers, tasks)]


def _order(event):
    """By time; names of tracks first, and of slices the longer one."""
    return event["ph"] != "M", event["ts"], -event.get("dur", 0)


def write(out, runs, limit=FRAMES_MAX):
    """Write runs, [(name, sections)], to a text file.

    limit: frames; more than that is a ReportError, for no viewer would open
    the file in a reasonable time.
    """
    count = sum(len(s.frames.jobs["task"]) for _, sections in runs
                for s in sections if s.frames)
    if count > limit:
        raise ReportError(
            f"{count} frames are more than viewers bear: choose a part with "
            f"--since and --until, or raise --perfetto-frames ({limit})")
    tids = itertools.count(2 * len(runs) + 1)
    streams = [events for i, (name, sections) in enumerate(runs)
               for events in _run_events(i, name, sections, tids)]
    out.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
    first = True
    for event in heapq.merge(*streams, key=_order):
        out.write(("" if first else ",\n")
                  + json.dumps(event, allow_nan=False))
        first = False
    out.write("\n]}\n")

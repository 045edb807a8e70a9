# SPDX-License-Identifier: Apache-2.0
"""Trace files as numpy arrays; the format is defined in include/cr/trace.h.

A file is read in blocks, so that memory is what the columns need and the
records are touched once. Nothing in the file is trusted: it gives arrays
whose kinds and outcomes are known, or a ReportError.
"""
import os
from dataclasses import dataclass, field

import numpy as np

from codec_report import ReportError, access, parse_json

MAGIC = b"CRTRACE1"
FAMILY = MAGIC[:-1]  # what traces of every version begin with
NEVER = np.iinfo(np.int64).max
NO_WORKER = 0xFFFF
JOB, TASK, NOTE = 1, 2, 3
NOTE_LOST, NOTE_SWITCHED, NOTE_FAULT = 0, 1, 4
OUTCOMES = ("done", "overwritten", "expired", "concealed", "cancelled", "bad",
            "send_failed", "unreceived", "unbuffered", "shed")
CLASSES = ("hard", "soft", "best-effort")

HEADER = np.dtype([("magic", "S8"), ("record_bytes", "<u4"),
                   ("json_bytes", "<u4"), ("realtime_offset", "<i8")])
JOB_RECORD = np.dtype([
    ("kind", "u1"), ("outcome", "u1"), ("worker", "<u2"), ("task", "<u4"),
    ("seq", "<u4"), ("bytes_in", "<u2"), ("bytes_out", "<u2"),
    ("arrival", "<i8"), ("release", "<i8"), ("pick", "<i8"), ("start", "<i8"),
    ("end", "<i8"), ("sent", "<i8"), ("deadline", "<i8"), ("rtp_ts", "<u4"),
    ("codec_ns", "<u4"), ("away", "<i8"), ("buffered", "<u4"),
    ("importance", "u1"), ("charged_before", "u1", 3)])
TASK_RECORD = np.dtype([
    ("kind", "u1"), ("cls", "u1"), ("ptime", "<u2"), ("task", "<u4"),
    ("start", "<i8"), ("rel_deadline", "<i8"), ("codec_in", "S16"),
    ("mode_in", "S8"), ("codec_out", "S16"), ("mode_out", "S8"),
    ("weight", "<u4"), ("nice", "i1"), ("reserved", "u1", 3),
    ("cost_mean", "<i8"), ("cost_p99", "<i8")])
NOTE_RECORD = np.dtype([
    ("kind", "u1"), ("code", "u1"), ("worker", "<u2"), ("count", "<u4"),
    ("at", "<i8"), ("text", "S80")])

#: What the metrics need of a job; the rest is not kept.
JOB_COLUMNS = ("outcome", "worker", "task", "seq", "arrival", "release", "pick",
               "start", "end", "sent", "deadline", "rtp_ts", "codec_ns",
               "away", "buffered", "importance")
BLOCK = 1 << 15


def clean(raw):
    """Bytes of the file as text that is safe to print."""
    text = raw.decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)


@dataclass
class Trace:
    """A trace file: its header's JSON, and its records by kind.

    jobs: dict of column name -> array, in the order of the file; times are
    int64 ns of the run's monotonic clock, 0 where the job never came so far.
    tasks, notes: arrays of TASK_RECORD and NOTE_RECORD.
    """
    path: str
    header: dict
    jobs: dict
    tasks: np.ndarray
    notes: np.ndarray
    realtime_offset: int = 0  # CLOCK_REALTIME less the run's clock, ns
    truncated: bool = False
    warnings: list = field(default_factory=list)

    @property
    def synthetic(self):
        """Whether it is of tasks without codecs."""
        return len(self.tasks) > 0 and all(
            bytes(c["codec_out"]).rstrip(b"\0") == b"synthetic"
            for c in self.tasks)


def _read_header(f, path, size):
    raw = f.read(HEADER.itemsize)
    if raw.startswith(FAMILY) and not raw.startswith(MAGIC):
        raise ReportError(f"{path}: a trace of another version "
                          f"({clean(raw[:8])}); this one reads "
                          f"{MAGIC.decode()}")
    if len(raw) < HEADER.itemsize or not raw.startswith(MAGIC):
        raise ReportError(f"{path}: not a trace file (it does not begin with "
                          f"{MAGIC.decode()})")
    head = np.frombuffer(raw, HEADER)[0]
    if head["record_bytes"] != JOB_RECORD.itemsize:
        raise ReportError(f"{path}: records of {head['record_bytes']} bytes; "
                          f"this version reads {JOB_RECORD.itemsize}")
    length = int(head["json_bytes"])
    if HEADER.itemsize + length > size:
        raise ReportError(f"{path}: ends inside its header")
    header = parse_json(f.read(length), f"{path}: header is")
    if not isinstance(header, dict):
        raise ReportError(f"{path}: header is no JSON object")
    return header, int(head["realtime_offset"])


def _check(block, first, path):
    """Every record of a block has a known kind and outcome."""
    kind = block["kind"]
    bad = (kind < JOB) | (kind > NOTE)
    bad |= (kind == JOB) & (block["outcome"] >= len(OUTCOMES))
    if bad.any():
        at = int(np.argmax(bad))
        raise ReportError(
            f"{path}: record {first + at}: unknown kind "
            f"{kind[at]} or outcome {block['outcome'][at]}; the file is "
            "damaged or from a newer version")


def _read_records(f, path, count):
    jobs = {name: np.empty(count, JOB_RECORD[name].newbyteorder("="))
            for name in JOB_COLUMNS}
    others = []
    used = done = 0
    while done < count:
        block = np.fromfile(f, JOB_RECORD, min(BLOCK, count - done))
        if not len(block):
            raise ReportError(f"{path}: cannot be read to its end")
        _check(block, done, path)
        done += len(block)
        is_job = block["kind"] == JOB
        if not is_job.all():
            others.append(block[~is_job])
            block = block[is_job]
        for name, column in jobs.items():
            column[used:used + len(block)] = block[name]
        used += len(block)
    jobs = {name: column[:used] for name, column in jobs.items()}
    rest = np.concatenate(others) if others else np.empty(0, JOB_RECORD)
    return jobs, rest


def read_trace(path):
    """Read the trace file at path; ReportError says why it cannot be."""
    with access(path), open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        header, offset = _read_header(f, path, size)
        count, rest_bytes = divmod(size - f.tell(), JOB_RECORD.itemsize)
        jobs, rest = _read_records(f, path, count)
    trace = Trace(path, header, jobs,
                  rest[rest["kind"] == TASK].view(TASK_RECORD),
                  rest[rest["kind"] == NOTE].view(NOTE_RECORD), offset)
    trace.truncated = rest_bytes != 0
    if trace.truncated:
        trace.warnings.append("the last record is cut short: the writer did "
                              "not end in order")
    lost = trace.notes[trace.notes["code"] == NOTE_LOST]["count"]
    if lost.sum(dtype=np.uint64):
        trace.warnings.append(
            f"{lost.sum(dtype=np.uint64)} trace records were lost: counts "
            "are too low by as many")
    return trace

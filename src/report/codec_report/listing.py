# SPDX-License-Identifier: Apache-2.0
"""One line per job, or per stream, as CSV.

--jobs csv   the table of real-time tools: a task is a stream, a job a frame.
             response  arrival to the end of sending
             lateness  the end of sending less the deadline: negative is early
             tardiness lateness, 0 when early
             All times in ns; empty where the job was not done or has no
             deadline. outcome is "done", or why it was not.
--streams csv
             what the E-model was given and says: one-way delay, ms, loss and
             its burst ratio, R and MOS; empty where no value is published.
"""
import csv

from codec_report.trace import NEVER, OUTCOMES

JOBS = ("run", "scheduler", "task", "job", "period_ns", "arrival_ns",
        "response_ns", "lateness_ns", "tardiness_ns", "outcome")
STREAMS = ("run", "scheduler", "stream", "codecs", "frames", "delay_ms",
           "loss", "burst_ratio", "late_for_playout", "r", "mos")


def _job(task, job, period, arrival, end, sent, deadline, outcome):
    finished = max(end, sent)
    response = lateness = tardiness = ""
    if OUTCOMES[outcome] == "done" and finished:
        response = finished - arrival
        if 0 < deadline < NEVER:
            lateness = finished - deadline
            tardiness = max(lateness, 0)
    return (task, job, period or "", arrival, response, lateness, tardiness,
            OUTCOMES[outcome])


def _write(out, runs, heads, rows_of):
    writer = csv.writer(out, lineterminator="\n")  # None: an empty cell
    writer.writerow(heads)
    writer.writerows((name, section.scheduler, *row)
                     for name, sections in runs for section in sections
                     for row in rows_of(section))


def jobs(out, runs):
    """runs: [(name, sections)]; arrival_ns counts from the run's first."""
    def rows(section):
        columns = section.frames.jobs if section.frames else {}
        for row in zip(*(columns[c].tolist() for c in (
                "task", "seq", "frame", "arrival", "end", "sent", "deadline",
                "outcome") if columns)):
            line = list(_job(*row))
            line[3] -= section.frames.first
            yield line
    _write(out, runs, JOBS, rows)


def streams(out, runs):
    """runs: [(name, sections)]."""
    _write(out, runs, STREAMS, lambda section: (
        (r.stream, "{0.codec_in}/{0.mode_in} -> {0.codec_out}/{0.mode_out}"
         .format(r.description), r.frames, r.delay_ms, r.loss, r.burst_ratio,
         r.late, r.r, r.mos) for r in section.ratings))

# SPDX-License-Identifier: Apache-2.0
"""What is heard of a simulated run: PESQ of some of its calls.

The trace says which frames of a call came. bench-heard has the call's speech
transcoded without the others, and decoded as a listener's codec does;
codec-report's PESQ compares that with what was said.

A program, too, as the package pesq needs a process of its own:

  score.py CALLS BENCH-HEARD CAMPAIGN [KEY=VALUE...] RUN

RUN: a folder of codec-sim --out. Prints {name: number} as JSON.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "src" /
                    "report"))

import numpy as np  # noqa: E402

from codec_report import ReportError, quality  # noqa: E402
from codec_report.trace import OUTCOMES, read_trace  # noqa: E402

#: What the numbers of a run are called, behind "total." or "flows.NAME.".
NAMES = ("pesq", "pesq_worst", "pesq_calls")
MISSING = quality.MISSING.replace("--pesq", "PESQ", 1)
PLAYOUT = 400_000_000  # ns: what comes later is not heard; campaigns/overload
CAME, LOST = ".", "c"
DONE = OUTCOMES.index("done")


class ScoreError(Exception):
    """Why there is no PESQ."""


def evenly(rows, most):
    """As many rows as that."""
    n = min(len(rows), most)
    return [rows[i * len(rows) // n] for i in range(n)]


def fates(jobs, stream):
    """A character for each frame of a stream, from the first to the last that
    the trace knows of. jobs: codec_report.trace.Trace.jobs."""
    here = jobs["task"] == stream
    frame = jobs["seq"][here].astype(np.int64)
    delay = jobs["sent"][here] - jobs["arrival"][here] + jobs["buffered"][here]
    heard = (jobs["outcome"][here] == DONE) & (delay <= PLAYOUT)
    came = np.zeros(frame.max(initial=-1) + 1, bool)
    came[frame[heard]] = True
    return "".join(np.where(came, CAME, LOST))


def _said(command):
    """Run it; ScoreError when that fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ScoreError(done.stderr.strip() or
                         f"{command[0]}: exit code {done.returncode}")


def check(heard, campaign, settings):
    """ScoreError when a flow has no speech to be compared. heard: the program
    bench-heard."""
    _said([heard, campaign, *settings])


def listen(run, rows, heard, campaign, settings):
    """RUN/dump, with what is said and heard of the calls: rows of streams.csv."""
    jobs = read_trace(os.path.join(run, "trace.bin")).jobs
    some = np.isin(jobs["task"], [int(row["stream"]) for row in rows])
    jobs = {name: column[some] for name, column in jobs.items()}
    told = [f"{row['flow']} {row['index']} {fates(jobs, int(row['stream']))}\n"
            for row in rows]
    path, dump = (os.path.join(run, name) for name in ("fates", "dump"))
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(told)
    os.makedirs(dump)
    with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
        head = json.load(f)
    _said([heard, campaign, str(head["seed"]), str(head["duration_ns"]), path,
           dump, *settings])
    return dump


def _too_short(dump, row):
    source, rate = quality.read_wav(
        os.path.join(dump, f"{row['flow']}-{row['index']}.src.wav"))
    return len(source) < quality.SHORTEST_S * rate


def numbers(scored):
    """{name: number} of (flow, MOS-LQO or None) of each call."""
    groups = {"total": [value for _, value in scored]}
    for flow, value in scored:
        groups.setdefault(f"flows.{flow}", []).append(value)
    found = {}
    for name, values in groups.items():
        values = [value for value in values if value is not None]
        mean = sum(values) / len(values) if values else None
        found.update(zip((f"{name}.{n}" for n in NAMES),
                         (mean, min(values, default=None), len(values))))
    return found


def score(run, most, heard, campaign, settings, pesq):
    """{name: number} of a run; ScoreError, ReportError."""
    with open(os.path.join(run, "streams.csv"), encoding="utf-8") as f:
        rows = [row for row in csv.DictReader(f) if int(row["jobs"])]
    rows = evenly(rows, most)
    dump = listen(run, rows, heard, campaign, settings)
    if all(_too_short(dump, row) for row in rows):
        raise ScoreError(f"no PESQ: no call lasts {quality.SHORTEST_S} s")
    return numbers([(row["flow"], quality.score(pesq, dump, row))
                    for row in rows])


def main(words):
    most, heard, campaign, *settings, run = words
    pesq = quality.load_pesq()
    try:
        if pesq is None:
            raise ScoreError(MISSING)
        print(json.dumps(score(run, int(most), heard, campaign, settings,
                               pesq)))
    except (ScoreError, ReportError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

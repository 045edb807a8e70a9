# SPDX-License-Identifier: Apache-2.0
"""What was heard: PESQ of every call of a run, and the run's numbers."""
import concurrent.futures
import contextlib
import csv
import json
import os
import signal

from codec_report import quality
from plays import forget_speech, told

COLUMNS = ("load", "what", "repetition", "calls", "sent", "lost",
           "delay_p50_ms", "delay_p99_ms", "pesq_calls", "pesq_mean",
           "pesq_worst")
SUMMARY = ("load", "what", "repetitions", "calls", "lost", "delay_p99_ms",
           "pesq_mean", "pesq_low", "pesq_high", "pesq_worst")


def _score(job):
    """A process has a pesq of its own."""
    folder, row = job
    return quality.score(quality.load_pesq(), folder, row)


def _calls(folder):
    with open(os.path.join(folder, "streams.csv"), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def _later(path, other):
    return os.path.exists(path) and \
        os.path.getmtime(path) >= os.path.getmtime(other)


def _some(rows, most):
    """As many rows as that, evenly."""
    n = min(len(rows), most)
    return [rows[i * len(rows) // n] for i in range(n)]


def pesq_of(folder, pool, most, keep):
    """PESQ of the calls of a run, or of some of them, from pesq.json if that
    has it. The speech is removed then, if it is not to be kept."""
    path, dump, run = (os.path.join(folder, name)
                       for name in ("pesq.json", "dump", "run.json"))
    if _later(path, run):
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
        if found["most"] == most or not os.path.isdir(dump):
            return found["scores"]
    rows = [(dump, row) for row in _some(_calls(folder), most)]
    values = [v for v in pool.map(_score, rows, chunksize=4) if v is not None]
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump({"most": most, "scores": values}, f)
    os.replace(path + ".new", path)
    if not keep:
        forget_speech(folder)
    return values


def row_of(run, folder, values):
    """A run as of COLUMNS, and the scores of its calls."""
    total = told(folder)["total"]
    delay = total["delay"]
    found = quality.measure(values)
    return {"scores": values, **dict(zip(COLUMNS, (
        run.load, run.what, run.turn, total["admitted"], total["sent"],
        total["lost"], delay["p50_ns"] / 1e6, delay["p99_ns"] / 1e6,
        len(values), found.get("pesq_mean"), found.get("pesq_min"))))}


@contextlib.contextmanager
def _pool():
    """Who interrupts us does not wait for what has not begun."""
    pool = concurrent.futures.ProcessPoolExecutor(
        initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def rows_of(runs, out, most, keep):
    """Of all runs, told on the way."""
    found = []
    with _pool() as pool:
        for run in runs:
            folder = run.folder(out)
            row = row_of(run, folder, pesq_of(folder, pool, most, keep))
            found.append(row)
            print("{load:.2f} {what}, {repetition}: lost {lost} of {sent}, "
                  "p99 {delay_p99_ms:.1f} ms".format(**row) +
                  (", PESQ {pesq_mean:.2f}, worst {pesq_worst:.2f}"
                   .format(**row) if row["pesq_calls"] else ""), flush=True)
    return found


def _point(some):
    found = quality.measure([v for r in some for v in r["scores"]])
    return dict(zip(SUMMARY, (
        some[0]["load"], some[0]["what"], len(some), some[0]["calls"],
        sum(r["lost"] for r in some) / sum(r["sent"] for r in some),
        max(r["delay_p99_ms"] for r in some), found["pesq_mean"],
        found.get("pesq_mean_low"), found.get("pesq_mean_high"),
        found["pesq_min"])))


def summary(rows):
    """Over the repetitions: the mean of all calls with its 95 % interval, as
    codec-report has it, the worst call and the longest p99 of any."""
    groups = {}
    for row in rows:
        groups.setdefault((row["what"], row["load"]), []).append(row)
    return [_point(some) for some in groups.values()
            if any(row["scores"] for row in some)]


def write(path, columns, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.DictWriter(f, columns, lineterminator="\n",
                             extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)

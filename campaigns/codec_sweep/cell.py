# SPDX-License-Identifier: Apache-2.0
"""One cell: codec-sim is run, and what it told becomes numbers by name.

A Dask cluster gets these functions by value: they need nothing but the
standard library, and codec-sim and the campaign at the same paths.
"""
import contextlib
import json
import subprocess
import sys
import tempfile

#: Of CPUs and receivers: not added up.
MEANS = ("busy",)
LARGEST = ("longest", "wait_max_ns")


def _numbers(prefix, value, out):
    if isinstance(value, dict):
        for name, below in value.items():
            _numbers(f"{prefix}.{name}", below, out)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        out[prefix] = value


def _together(name, rows):
    """One number of all CPUs or receivers."""
    found = [row[name] for row in rows]
    if name in LARGEST:
        return max(found)
    return sum(found) / len(found) if name in MEANS else sum(found)


def numbers(told):
    """{name: number} of a run's JSON: total.loss, flows.NAME.delay.p99_ns,
    cpus.migrations (of all CPUs), receivers.dropped. Not how long it took."""
    out = {}
    _numbers("total", told["total"], out)
    for flow in told["flows"]:
        _numbers(f"flows.{flow['flow']}", flow, out)
    for group in ("cpus", "receivers"):
        rows = told.get(group) or []
        for name in rows[0] if rows else ():
            out[f"{group}.{name}"] = _together(name, rows)
    return out


def play(command, text=None, watch=None):
    """(runs, error): the JSON of codec-sim's runs, or None and what it said.

    command: list. text: of a campaign /dev/stdin, or None. watch: called with
    the process while it runs.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, process_group=0)
    except OSError as error:
        return None, f"{command[0]}: {error.strerror}"
    if watch:
        watch(process)
    out, said = process.communicate(text)
    if process.returncode not in (0, 3):  # 3: an expectation was missed
        return None, said.strip() or f"exit code {process.returncode}"
    found = json.loads(out)
    return found if isinstance(found, list) else [found], None


def run(job, watch=None):
    """The numbers of one cell, {"numbers": {name: number}, "measured": bool},
    or {"error": text}. measured: its costs are this machine's.

    job: {"command": [...]}, with one scheduler; "score": the program score.py
    with its words but the last, if what is heard is to be told, too.
    """
    with contextlib.ExitStack() as stack:
        command, score = job["command"], job.get("score")
        if score:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            command = [*command, "--out", folder]
        runs, error = play(command, watch=watch)
        if not error and score:
            heard, error = play([sys.executable, "-B", *score, folder],
                                watch=watch)
    if error:
        return {"error": error}
    found = numbers(runs[0])
    if score:
        found.update(heard[0])
    return {"numbers": found,
            "measured": runs[0].get("kernels") is not None}


def run_set(job, watch=None):
    """One task set under several policies: a list of {"scheduler", "admitted"
    (all tasks were), "missed" (jobs, of the set played without admission),
    "promised_missed" (jobs of the set that was admitted, else 0)}, as
    {"rows": ...}, or {"error": text}.

    job: {"command": of codec-sim without schedulers, "schedulers": [...],
    "text": the campaign, with admission}.
    """
    def told(schedulers, *more):
        words = [word for name in schedulers for word in ("-s", name)]
        return play([*job["command"], *more, *words], job["text"], watch)

    runs, error = told(job["schedulers"])
    if error:
        return {"error": error}
    rows = {}
    for one in runs:
        total = one["total"]
        admitted = total["admitted"] == total["planned"]
        missed = total["missed"] if admitted else 0
        rows[one["scheduler"]] = {
            "scheduler": one["scheduler"], "admitted": int(admitted),
            "missed": missed, "promised_missed": missed}
    left = [name for name, row in rows.items() if not row["admitted"]]
    if left:
        runs, error = told(left, "--set", "daemon.admission=off")
        if error:
            return {"error": error}
        for one in runs:
            rows[one["scheduler"]]["missed"] = one["total"]["missed"]
    return {"rows": [rows[name] for name in job["schedulers"]]}

# SPDX-License-Identifier: Apache-2.0
"""What the machine takes for itself: measured here, or read from a file.

bench_contention: ns for which a decision holds its run queue's lock, by the
number of tasks in it, alone ("alone", one thread) and where another CPU wants
it all the time and its cache lines come from there ("shared", two threads).
bench-moves: ns that a frame takes longer because its call's codec state is one
of many ("context_ns"), and because another CPU had it last ("migration_ns").
codec-runner --codecs: ns of an AMR 12.2 frame encoded with our kernels
("encode"). receiving.py: ns that a receiver takes for a packet and to wake up
("receiver").
"""
import json
import math
import os
import statistics
import subprocess
import sys

import receiving  # it has set the path for the next
import environment

# At a higher load per CPU of others the benchmarks measure these.
QUIET = 0.5
# Medians of so many runs of a benchmark.
REPEATS = 3


def run_json(command):
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    except FileNotFoundError:
        sys.exit(f"{command[0]}: missing; campaigns/run builds it, and "
                 "--overheads FILE takes figures in place of it")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{command[0]}: exit code {error.returncode}")
    return json.loads(run.stdout)


def measure_lock(build, scheduler):
    """{"alone": {tasks: ns}, "shared": {tasks: ns}}."""
    bench = build / "tests" / "bench" / "engine" / "bench_contention"
    found = {}
    for _ in range(REPEATS):
        for r in run_json([bench, "--json", "--scheduler",
                           scheduler.split(",")[0]]):
            found.setdefault((r["threads"], str(r["tasks"])),
                             []).append(r["ns"])
    if not any(threads == 2 for threads, _ in found):
        sys.exit("scale: contention needs two CPUs to be measured; use "
                 "--overheads FILE")
    return {kind: {tasks: statistics.median(ns)
                   for (n, tasks), ns in found.items() if n == threads}
            for kind, threads in (("alone", 1), ("shared", 2))}


def measure_moves(build):
    """What bench-moves tells, in the median."""
    runs = [run_json([build / "bench-moves", "--json"])
            for _ in range(REPEATS)]
    return {**runs[0], **{key: statistics.median(r[key] for r in runs)
                          for key in ("few_ns", "context_ns",
                                      "migration_ns")}}


def measure_encode(build):
    """What a frame costs with the kernels that this machine has."""
    runs = [run_json([build / "codec-runner", "--codecs", "--json",
                      "--seconds", "5s"]) for _ in range(REPEATS)]
    rows = [next(r for r in run["rows"] if r["codec"] == "amr" and
                 r["mode"] == "12.2" and r["direction"] == "encode")
            for run in runs]
    return {"mean_ns": round(1000 * statistics.median(r["mean_us"]
                                                      for r in rows)),
            "sd_ns": round(1000 * statistics.median(r["stddev_us"]
                                                    for r in rows)),
            "kernels": runs[0]["kernels"]}


def measure_receiving(build, encode):
    """What receiving.measure() tells; exits where it cannot."""
    try:
        return receiving.measure(build, encode["mean_ns"], REPEATS)
    except (RuntimeError, OSError) as error:
        return sys.exit(f"scale: receiving: {error}")


def measure(build, schedulers):
    """All of it, and where it comes from. Takes about two minutes."""
    load = os.getloadavg()[0]
    if load > QUIET * os.cpu_count():
        print(f"scale: others load this machine ({load:.1f}): overheads will "
              "be measured too large", file=sys.stderr)
    cpu, moves = environment.cpu(), measure_moves(build)
    encode = measure_encode(build)
    return {
        "source": {"machine": f"{len(cpu['usable'])} x "
                   f"{cpu['model'] or 'unknown'}", "load_before": load,
                   "lock": "bench_contention", "context_ns": "bench-moves",
                   "migration_ns": "bench-moves", "moves": moves,
                   "encode": "codec-runner --codecs",
                   "receiver": "receiving.py"},
        "encode": encode, "receiver": measure_receiving(build, encode),
        "lock": {name: measure_lock(build, name) for name in schedulers},
        "context_ns": max(0, moves["context_ns"]),
        "migration_ns": max(0, moves["migration_ns"]),
    }


def load(path, schedulers):
    """What measure() returned once."""
    try:
        found = json.loads(path.read_text())
        for name in schedulers:
            for kind in ("alone", "shared"):
                lock_ns(found, name, kind, 1)
        return {**found, "context_ns": int(found["context_ns"]),
                "migration_ns": int(found["migration_ns"]),
                **whole_numbers(found, "encode", "mean_ns", "sd_ns"),
                **whole_numbers(found, "receiver", "cost_ns", "wake_ns"),
                "source": {**found.get("source", {}), "file": str(path)}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"scale: {path}: no overheads of {', '.join(schedulers)}: "
                 f"{error!r}; use one that an earlier run left")


def whole_numbers(found, part, *keys):
    """@part with its @keys as whole numbers; older files do not have it."""
    if part not in found:
        return {}
    return {part: {**found[part], **{k: int(found[part][k]) for k in keys}}}


def know_receivers(overheads, scheduler):
    """Enough to try receivers under @scheduler?"""
    return ("encode" in overheads and "receiver" in overheads and
            scheduler in overheads["lock"])


def lock_ns(overheads, scheduler, kind, tasks):
    """Between the numbers of tasks that were measured: linear over log(tasks);
    beyond them: that of the nearest."""
    points = sorted((int(n), ns) for n, ns in
                    overheads["lock"][scheduler][kind].items())
    below = [p for p in points if p[0] <= tasks] or points[:1]
    above = [p for p in points if p[0] >= tasks] or points[-1:]
    (n0, ns0), (n1, ns1) = below[-1], above[0]
    if n0 == n1:
        return round(ns0)
    part = math.log(tasks / n0) / math.log(n1 / n0)
    return round(ns0 + part * (ns1 - ns0))


def options(overheads, scheduler, domain, tasks):
    """codec-sim's, for a run queue of @domain CPUs and @tasks calls. Where
    nobody else wants the lock it is no more than time of the decision."""
    kind = "alone" if domain == 1 else "shared"
    held = lock_ns(overheads, scheduler, kind, max(1, tasks))
    return ["--overhead-decision" if domain == 1 else "--overhead-lock",
            f"{held}ns",
            "--overhead-context", f"{overheads['context_ns']}ns",
            "--overhead-migration", f"{overheads['migration_ns']}ns"]


def receiver_options(overheads, receivers):
    """codec-sim's, for so many receivers; 0: they take no time."""
    if not receivers:
        return []
    cost = overheads["receiver"]
    return ["--receivers", receivers, "--receiver-cost",
            f"{cost['cost_ns']}ns", "--receiver-wake", f"{cost['wake_ns']}ns"]

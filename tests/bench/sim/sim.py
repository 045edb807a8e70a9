#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How fast codec-sim is: jobs per second of real time, and its memory.

    tests/bench/sim/sim.py [--build DIR] [--json] [--large] [SCHEDULER...]

Every figure is the best of three runs without a trace: calls of a 20 ms
period with staggered starts, their cost such that every CPU is busy 90 %.
--large adds 100,000 calls on 256 CPUs in 256, 16 and 1 run queues.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PERIOD_NS = 20000000
SMALL = [(1, 1, 300, 60), (1, 1, 3000, 6), (4, 1, 1200, 30), (4, 4, 1200, 30)]
LARGE = [(256, 256, 100000, 4), (256, 16, 100000, 4), (256, 1, 100000, 1)]


def campaign(folder, cpus, queues, calls, seconds):
    path = folder / "bench.yaml"
    cost = PERIOD_NS * cpus * 9 // calls // 10
    path.write_text(f"""duration: {seconds}s
platform: {{cpus: {cpus}, run-queues: {queues}}}
daemon: {{admission: off}}
flows:
  - {{count: {calls}, period: 20ms, cost: {{mean: {cost}ns}},
     start: {{spread: 20ms}}}}
""")
    return path


def run(program, path, scheduler):
    """(jobs, seconds, peak bytes) of one run, a process of its own."""
    begin = time.monotonic()
    with subprocess.Popen([program, path, "-q", "--json", "-s", scheduler],
                          stdout=subprocess.PIPE) as process:
        told = json.load(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"codec-sim failed: {process.returncode}")
    return told["total"]["done"], time.monotonic() - begin, \
        usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "release")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("schedulers", nargs="*", default=["fifo", "edf"])
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cpus, queues, calls, seconds in SMALL + LARGE * args.large:
            path = campaign(pathlib.Path(folder), cpus, queues, calls, seconds)
            for name in args.schedulers:
                jobs, took, peak = min(
                    (run(args.build / "codec-sim", path, name)
                     for _ in range(3)), key=lambda r: r[1])
                rows.append({"scheduler": name, "cpus": cpus,
                             "run_queues": queues, "calls": calls,
                             "jobs_per_second": round(jobs / took),
                             "peak_bytes": peak})
                if not args.json:
                    print(f"{name:10} {cpus:4} CPUs {queues:4} queues "
                          f"{calls:7} calls {jobs / took / 1e6:8.2f} M jobs/s "
                          f"{peak / 1e6:8.1f} MB", flush=True)
    if args.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

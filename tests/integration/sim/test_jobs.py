# SPDX-License-Identifier: Apache-2.0
"""codec-sim --jobs: random campaigns, the same byte for byte however many
threads simulate them. CR_SEED repeats a failure."""
import json
import os
import pathlib
import random
import subprocess
import time

import pytest

from conftest import PATIENCE

BUILD = pathlib.Path(os.environ.get(
    "CR_BUILD", pathlib.Path(__file__).resolve().parents[3] / "build/release"))
SEED = int(os.environ.get("CR_SEED", time.time_ns() % 10**9))
SCHEDULERS = ["fifo", "rr", "edf", "edf-steal", "gfl", "dbp", "rm", "cfs",
              "eevdf", "bfs", "pd2", "staircase", "best", "goodness",
              "edf-hsb", "srpt", "cbs"]


def flow(r, number, closed):
    """A synthetic flow of any kind that --preempt full can simulate, closed
    ones only where they are allowed."""
    period = r.choice([7, 10, 20, 30, 40, 60])
    arrival = r.choice([
        "{model: periodic}", "{model: poisson}", "{model: bursty, burst: 3}"]
        + closed * ["{model: closed}"])
    cost = r.choice(["{mean: 700us}", "{model: exponential, mean: 1ms}",
                     "{model: normal, mean: 1ms, sd: 200us}",
                     "{model: lognormal, mean: 1ms, sd: 1ms}"])
    parts = [f"name: f{number}", f"period: {period}ms", f"cost: {cost}"]
    if r.random() < .5:
        parts.append(f"ring: {r.choice([1, 2, 8])}")
    if r.random() < .3:
        parts.append("talk: {spurt: 200ms, pause: 300ms}, "
                     "network: {jitter: 3ms, loss: 5%, reorder: 2%}")
    else:
        parts.append(f"arrival: {arrival}")
    if r.random() < .5:
        parts.append(f"count: {r.randint(1, 40)}, "
                     f"start: {{spread: {r.randint(1, 900)}ms}}")
    else:
        parts.append("start: {poisson: 60/s}, "
                     "hold: {mean: 300ms, model: exponential}")
    return "  - {" + ", ".join(parts) + "}\n"


def campaign(r):
    cpus = r.choice([2, 3, 5, 8, 70])
    size = r.randint(1, (cpus + 1) // 2)
    queues = r.choice(["partitioned", -(-cpus // size)])
    overhead = r.choice(["", ", overhead: {decision: 300ns, context: 1us, "
                         "migration: 3us, release: 50ns, lock: 200ns}"])
    preempt = r.choice(["full", "frame", "quantum, quantum: 1ms"])
    receivers = r.choice(["", f", receivers: {{count: {r.choice([1, 2, 7])}, "
                          f"cost: {r.choice([20, 300])}us, wake: 5us, "
                          f"waiting: {r.choice([4, 20000])}}}"])
    return (f"seed: {r.randint(0, 999)}\nduration: {r.randint(1000, 1500)}ms\n"
            f"platform: {{cpus: {cpus}, run-queues: {queues}, "
            f"preempt: {preempt}{overhead}{receivers}}}\n"
            f"daemon: {{admission: {r.choice(['on', 'off'])}}}\nflows:\n" +
            "".join(flow(r, i, not receivers)
                    for i in range(r.randint(1, 5))))


def played(path, scheduler, jobs, out):
    """Everything a run says but its clock and command line: with the trace,
    which makes it go step by step, or without."""
    where = ["--out", out] if out else ["--json"]
    done = subprocess.run([BUILD / "codec-sim", path, "-q", "-s", scheduler,
                           "--jobs", str(jobs), *where],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    result = json.loads((out / "run.json").read_text() if out else done.stdout)
    del result["seconds"], result["command"]
    if not out:
        return result, None, None
    return result, (out / "streams.csv").read_text(), \
        (out / "trace.bin").read_bytes()


@pytest.mark.parametrize("case", range(12))
def test_the_result_is_the_same_with_any_number_of_threads(case, tmp_path):
    r = random.Random(SEED + case)
    path = tmp_path / "c.yaml"
    path.write_text(campaign(r))
    scheduler = r.choice(SCHEDULERS)
    print(f"CR_SEED={SEED} case {case}, {scheduler}:\n{path.read_text()}")
    one = played(path, scheduler, 1, tmp_path / "one")
    assert one[0]["total"]["done"] > 0
    assert played(path, scheduler, 1, None)[0] == one[0]
    for jobs in (2, r.randint(3, 9), 256):
        many = played(path, scheduler, jobs, tmp_path / f"jobs{jobs}")
        assert many[0] == one[0] and many[1] == one[1]
        assert many[2] == one[2], "traces differ"  # no diff of binaries
        assert played(path, scheduler, jobs, None)[0] == one[0]


def test_a_number_of_threads_is_at_least_one(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("duration: 1s\nflows:\n"
                    "  - {period: 10ms, cost: {mean: 1ms}}\n")
    for jobs in ("0", "-1", "257", "many"):
        done = subprocess.run([BUILD / "codec-sim", path, "--jobs", jobs],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and "--jobs" in done.stderr

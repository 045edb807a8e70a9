# SPDX-License-Identifier: Apache-2.0
"""codec-sim end to end: what it refuses, and runs that do not come to an end."""
import json
import signal
import subprocess
import time

import pytest

from conftest import FEEDER, MS, P, PATIENCE, SIM, run


def test_live_programs_refuse_what_only_the_simulator_can(campaign):
    for flow in ("name: x, period: 10ms, cost: {mean: 1ms}",
                 "name: x, count: 1, in: {codec: pcmu}, out: {codec: pcma}, "
                 "arrival: {model: poisson}"):
        done = subprocess.run([FEEDER, campaign(flow)], capture_output=True,
                              text=True)
        assert done.returncode == 2
        assert "c.yaml:5: flow x" in done.stderr
        assert "codec-sim" in done.stderr


@pytest.mark.parametrize("flow, args, says", [
    (P, ["--cpus", "0"], "--cpus"),
    (P, ["--cpus", "257"], "--cpus"),
    (P, ["--cpus", "2", "--run-queues", "3"], "a number from 1 to cpus (2)"),
    (P, ["--cpus", "4", "--run-queues", "3"],
     "4 CPUs make 2 run queues of 2, or 4 of 1"),
    (P, ["--run-queues", "blobal"], "global, partitioned"),
    (P, ["--quantum", "1ms"], "--preempt quantum"),
    (P, ["--preempt", "ful"], "full"),
    (P, ["-s", "efd"], "did you mean 'edf'"),
    (P, ["-s", "rr,quantum=5"], "quantum"),
    (P, ["--overhead-context", "-1us"], "overhead-context"),
    (P, ["--trace", "/nowhere/x"], "/nowhere/x"),
    ("name: l, arrival: {model: loop}", [], "never ends"),
    ("period: 10ms", [], "needs cost"),
    ("name: z, cost: {mean: 1ms}", [], "period"),
    ("period: 10ms, share: 0.00001%", [], "share"),
    ("period: 2s, cost: {mean: 1ms}", [], "make duration longer"),
    ("period: 10ms, cost: {mean: 1}", [], "needs a time"),
    ("period: 10ms, cost: {model: normal, mean: 1ms}", [], "needs 'sd'"),
    ("period: 10ms, cost: {mean: 1ms, sd: 1ms}", [], "does not belong"),
    ("period: 10ms, cost: {model: histogram, file: no.txt}", [], "no.txt"),
    ("period: 10ms, cost: {model: gaussian, mean: 1ms}", [], "c.yaml:5"),
    (P + ", arrival: {model: bursty, burst: 3, spacing: 15ms}", [],
     "must end before"),
    (P + ", arrival: {model: tspec, rate: 50}", [], "per second"),
    (P + ", arrival: {model: tspec, rate: 50/s, peak: 5/s}", [], "below"),
    (P + ", arrival: {model: periodic, jitter: 1ms}", [], "does not belong"),
    (P + ", arrival: {model: periodic}, network: {loss: 1%}", [], "network"),
    (P + ", nice: 20", [], "nice"),
    (P + ", share: 10%", [], "exclude each other"),
])
def test_nonsense_is_refused_with_the_reason(campaign, flow, args, says):
    done = run(campaign(flow), *args)
    assert done.returncode in (1, 2), done.stdout
    assert says in done.stderr, done.stderr


def test_json_is_json_or_nothing(campaign, tmp_path):
    """A run that failed is told on stderr."""
    path = campaign(P)
    done = run(path, "-s", "efd", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    done = run(path, "--json", "--out", tmp_path / "no" / "folder")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("last, says", [
    ("efd", "did you mean 'edf'"),
    ("rr,quantum=0", "scheduler rr: quantum=0"),
    ("./no.so", "cannot load scheduler"),
    ("edf", "edf is given twice"),
])
def test_every_scheduler_is_checked_before_the_first_run(campaign, last, says):
    done = run(campaign(P), "-s", "edf", "-s", last, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_ctrl_c_keeps_what_was_done(campaign, tmp_path):
    path = campaign("count: 300, period: 20ms, cost: {mean: 60us}",
                    duration="100000s")
    p = subprocess.Popen([SIM, path, "--out", tmp_path / "o"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    while not (tmp_path / "o" / "trace.bin").exists() or \
            not (tmp_path / "o" / "trace.bin").stat().st_size:
        assert p.poll() is None
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=PATIENCE)
    assert p.returncode == 130
    assert "interrupted" in out
    told = json.loads((tmp_path / "o" / "run.json").read_text())
    assert told["interrupted"] and told["end_ns"] < 100000 * 1000 * MS


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_result_that_cannot_be_printed_is_told(campaign, how):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SIM, campaign(P), *how], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == \
        "codec-sim: standard output: No space left on device\n"


def test_a_full_disk_is_told(campaign):
    done = run(campaign(P, duration="100s"), "--trace", "/dev/full")
    assert done.returncode == 1
    assert "No space left" in done.stderr

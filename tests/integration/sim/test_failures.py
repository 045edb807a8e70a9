# SPDX-License-Identifier: Apache-2.0
"""codec-sim end to end: what it refuses, and runs that do not come to an end."""
import json
import re
import signal
import subprocess
import time

import pytest

from conftest import (FEEDER, MS, P, PATIENCE, REPORT, ROOT, SABOTEUR, SIM,
                      folder, run)


def test_live_programs_refuse_options_of_the_simulator(campaign):
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
    (P, ["--cpus", "2", "--run-queues", "3"], "a whole number from 1 to 2"),
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
    ("period: 10ms, cost: {model: trace, file: no.bin}", [], "no.bin"),
    ("period: 10ms, cost: {model: gaussian, mean: 1ms}", [], "c.yaml:5"),
    (P + ", arrival: {model: bursty, burst: 3, spacing: 15ms}", [],
     "must end before"),
    (P + ", arrival: {model: tspec}", [], "plan, periodic"),
    (P + ", arrival: {model: periodic, depth: 1ms}", [], "does not belong"),
    (P + ", arrival: {model: periodic}, network: {loss: 1%}", [], "network"),
    (P + ", nice: 20", [], "nice"),
    (P + ", share: 10%", [], "exclude each other"),
])
def test_nonsense_is_refused_with_the_reason(campaign, flow, args, says):
    done = run(campaign(flow), *args)
    assert done.returncode in (1, 2), done.stdout
    assert says in done.stderr, done.stderr


def test_json_is_json_or_nothing(campaign, tmp_path):
    """A run that failed is reported on stderr."""
    path = campaign(P)
    done = run(path, "-s", "efd", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    (tmp_path / "file").touch()
    done = run(path, "--json", "--out", tmp_path / "file" / "folder")
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


def test_ctrl_c_keeps_the_results_so_far(campaign, tmp_path):
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
    result = json.loads((tmp_path / "o" / "run.json").read_text())
    assert result["interrupted"] and result["end_ns"] < 100000 * 1000 * MS


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_result_that_cannot_be_printed_is_reported(campaign, how):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SIM, campaign(P), *how], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == \
        "codec-sim: standard output: No space left on device\n"


def test_a_full_disk_is_reported(campaign):
    done = run(campaign(P, duration="100s"), "--trace", "/dev/full")
    assert done.returncode == 1
    assert "No space left" in done.stderr


FULL = "count: 8, period: 10ms, cost: {mean: 1ms}"  # 80 % of a CPU


@pytest.mark.parametrize("mischief", ["twice", "lose", "stall", "sleeper"])
@pytest.mark.parametrize("platform", [
    "{cpus: 1}", "{cpus: 2, run-queues: partitioned}",
    "{cpus: 1, preempt: full}"])
def test_a_broken_contract_ends_the_run_and_leaves_no_result(
        campaign, tmp_path, mischief, platform):
    """Another's digits are not filed under the plug-in's name; who keeps its
    contract is played all the same."""
    spec = f"{SABOTEUR},mischief={mischief},after=100"
    path = campaign(FULL, platform=platform)
    done = run(path, "-s", spec, "-s", "rr", "--json", "--out",
               tmp_path / "o")
    assert done.returncode == 1, done.stderr
    assert [r["scheduler"] for r in json.loads(done.stdout)] == ["rr"]
    for says in (f"{spec} broke its contract at 0.", "its run ends there",
                 "policy=saboteur callback=pick what=", "--stand-in"):
        assert says in done.stderr, done.stderr
    saved = tmp_path / "o" / folder(spec) / "run.json"
    result = json.loads(saved.read_text())
    assert f"{spec} broke its contract at 0." in result["failure"]
    assert result["scheduler"] == spec
    assert result["end_ns"] < 1000 * MS


def test_a_plug_ins_damaged_queue_is_found_in_every_build(campaign):
    done = run(campaign(FULL), "-s", f"{SABOTEUR},mischief=leave,after=100")
    assert done.returncode == 1 and done.stdout == ""
    assert "broke its contract at 0." in done.stderr
    assert "callback=check what=" in done.stderr


def test_with_stand_in_fifo_goes_on_and_names_the_policy_that_failed(
         campaign, tmp_path):
    spec = f"{SABOTEUR},after=100"
    done = run(campaign(FULL), "-s", spec, "-s", "fifo", "--json",
               "--stand-in", "--out", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert f"{spec} broke its contract at 0." in done.stderr
    broke, fifo = json.loads(done.stdout)
    assert broke["scheduler"].startswith(f"fifo, after {spec} broke its contr")
    assert "policy=saboteur" in broke["scheduler_fault"]
    assert broke["failure"] is None and fifo["scheduler_fault"] is None
    assert broke["total"]["done"] == fifo["total"]["done"] > 700
    assert f"fifo, after {spec} broke its contract at" in run(
        campaign(FULL), "-s", spec, "--stand-in").stdout


def test_the_fault_is_the_same_in_any_number_of_threads(campaign):
    path = campaign("count: 80, period: 10ms, cost: {mean: 1ms}",
                    platform="{cpus: 10, run-queues: partitioned}")
    said = {run(path, "-s", f"{SABOTEUR},after=100", "--jobs", n).stderr
            for n in (1, 4)}
    assert len(said) == 1 and "broke its contract" in said.pop()


@pytest.mark.parametrize("more", [[], ["--stand-in"]])
def test_a_report_marks_the_columns_of_a_broken_contract(campaign, tmp_path,
                                                         more):
    spec = f"{SABOTEUR},after=100"
    assert run(campaign(FULL), "-s", spec, "-s", "fifo", *more, "--out",
               tmp_path / "o").returncode == (0 if more else 1)
    done = subprocess.run([REPORT, "--json", tmp_path / "o"],
                          capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    names = [s["label"] for r in result["runs"] for s in r["schedulers"]]
    at = re.search(r"contract at (0\.\d) s", "\n".join(names))[1]
    assert "fifo" in names and "saboteur" not in names
    assert f"saboteur until it broke its contract at {at} s" in names
    went_on = f"fifo after saboteur broke its contract at {at} s"
    assert (went_on in names) == bool(more)
    verdict, = result["verdict"]
    assert verdict["choose"] == []
    assert "a scheduler broke its contract" in verdict["sentences"][-1]
    assert "Mend the scheduler" in verdict["sentences"][-1]


def test_a_folder_of_campaigns_ends_with_an_error(campaign, tmp_path):
    campaign(FULL)
    done = subprocess.run(
        [ROOT / "campaigns" / "simulate", tmp_path, "-s",
         f"{SABOTEUR},after=100", "--out", tmp_path / "o"],
        capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "broke its contract" in done.stderr and done.stdout == ""

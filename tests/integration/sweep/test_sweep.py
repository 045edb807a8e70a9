# SPDX-License-Identifier: Apache-2.0
"""campaigns/sweep: what it plays, writes and says."""
import csv
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from conftest import BUILD, PATIENCE, command

LOADS = "flows.speech.load=50%..110%:30%"


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def test_every_cell_is_a_run_of_codec_sim(run, campaign, tmp_path):
    done = run(campaign, "--set", LOADS, "--set", "platform.cpus=1,2",
               "--seeds", "3,4", "--out", "o")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "o/sweep.csv")
    assert [(r["flows.speech.load"], r["platform.cpus"], r["scheduler"],
             r["seed"]) for r in rows] == [
        (load, cpus, scheduler, seed) for load in ("50%", "80%", "110%")
        for cpus in "12" for scheduler in ("fifo", "rr,quantum=2ms")
        for seed in "34"]
    assert {r["flows.speech.load.number"] for r in rows} == {
        "0.5", "0.8", "1.1"}
    last = subprocess.run(
        [BUILD / "codec-sim", campaign, "--json", "--set",
         "flows.speech.load=110%", "--set", "platform.cpus=2", "-s",
         "rr,quantum=2ms", "--seed", "4"], capture_output=True, text=True,
        timeout=PATIENCE, check=True)
    told = json.loads(last.stdout)
    assert float(rows[-1]["total.loss"]) == told["total"]["loss"]
    assert int(rows[-1]["flows.speech.delay.p99_ns"]) == \
        told["flows"][0]["delay"]["p99_ns"]
    assert int(rows[-1]["cpus.picks"]) == sum(c["picks"]
                                              for c in told["cpus"])


def test_means_have_intervals_and_figures_are_drawn(run, campaign, tmp_path):
    done = run(campaign, "--set", LOADS, "--schedulers", "fifo,rr:quantum=5ms",
               "--seeds", "1..3", "--metric", "loss", "--metric",
               "flows.speech.delay.p99_ns", "--out", "o")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "o/sweep.csv")
    means = table(tmp_path / "o/summary.csv")
    assert len(means) == 2 * 3 * 2
    assert {m["scheduler"] for m in means} == {"fifo", "rr,quantum=5ms"}
    for m in means:
        some = [float(r[m["metric"]]) for r in rows
                if r["scheduler"] == m["scheduler"] and
                r["flows.speech.load"] == m["flows.speech.load"]]
        assert int(m["runs"]) == len(some) == 3
        assert float(m["mean"]) == pytest.approx(sum(some) / 3)
        assert float(m["low"]) <= float(m["mean"]) <= float(m["high"])
    assert any(float(m["low"]) < float(m["high"]) for m in means)
    for name in "loss", "flows.speech.delay.p99_ns":
        picture = (tmp_path / f"o/{name}.svg").read_text()
        assert "rr,quantum=5ms" in picture and "flows.speech.load, %" in picture
        assert (tmp_path / f"o/{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert f"figure: {tmp_path}/o/{name}.svg" in done.stdout
    shown = re.search(r"rr,quantum=5ms +flows.speech.delay.p99_ns, ms +3 +(\S+)",
                      done.stdout)
    assert float(shown[1]) < 1000  # in the unit of the figure


def test_an_error_names_its_cell_and_the_others_are_kept(run, campaign,
                                                         tmp_path):
    done = run(campaign, "--set", "platform.cpus=1,0,300", "--schedulers",
               "edf", "--seeds", "1,2", "--out", "o")
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert len(said) == 2
    assert said[0].startswith(
        "campaigns/sweep: cell platform.cpus=0, scheduler edf, seed 1 and 1 "
        "more: codec-sim: --set platform.cpus=0: platform: cpus=0: ")
    assert "cell platform.cpus=300, scheduler edf, seed 1 and 1 more" in said[1]
    assert len(table(tmp_path / "o/sweep.csv")) == 2
    again = run(campaign, "--set", "platform.cpus=1,2", "--schedulers", "edf",
                "--seeds", "1,2", "--out", "o", "--resume")
    assert again.returncode == 0, again.stderr
    assert "2 of 4 cells are done already" in again.stdout
    assert len(table(tmp_path / "o/sweep.csv")) == 4


def test_options_follow_a_colon_or_as_for_codec_sim_a_comma():
    from codec_sweep.cli import scheduler_list
    assert scheduler_list("./m.so,age=5ms,fifo,rr:quantum=2ms") == [
        "./m.so,age=5ms", "fifo", "rr,quantum=2ms"]


@pytest.mark.parametrize("words, says", [
    ([], "needs a campaign file, or --tasksets"),
    (["no.yaml"], "no campaign file no.yaml"),
    (["talk.yaml", "--set", "load"], "needs KEY=VALUES"),
    (["talk.yaml", "--seeds", "x"], "--seeds: 'x' is no list of numbers"),
    (["talk.yaml", "--tasksets", "n=3"], "needs a campaign file, or"),
    (["talk.yaml", "--schedulers", "fifo,edff", "--seeds", "1"],
     "--schedulers: no scheduler 'edff'; did you mean 'edf'?"),
    (["--tasksets", "n=3", "--schedulers", "edf,edf:bund=1"],
     "--schedulers: scheduler edf: no option 'bund'; did you mean 'bound'?"),
    (["talk.yaml", "--jobs", "0"], "--jobs: needs at least 1"),
    (["talk.yaml", "--metric", "los", "--schedulers", "edf", "--seeds", "1"],
     "--metric los: no run has it; did you mean 'loss'?"),
    (["--tasksets", "n=3", "--set", "a=1"], "--set is for campaigns"),
    (["--tasksets", "n"], "--tasksets n: needs KEY=VALUE"),
])
def test_what_is_wrong_is_said(run, campaign, words, says):
    done = run(*words, "--out", "o")
    assert done.returncode == 2
    assert says in done.stderr, done.stderr


def test_a_wrong_metric_loses_no_run(run, campaign, tmp_path):
    """The sweep is finished; --resume draws it and plays nothing again."""
    grid = ("--schedulers", "edf", "--seeds", "1,2", "--out", "o")
    wrong = run(campaign, *grid, "--metric", "los")
    assert wrong.returncode == 2
    assert "with --resume and another --metric draws" in wrong.stderr
    assert json.loads((tmp_path / "o/sweep.json").read_text())["finished"]
    right = run(campaign, *grid, "--metric", "loss", "--resume")
    assert right.returncode == 0, right.stderr
    assert "2 of 2 cells are done already" in right.stdout
    assert (tmp_path / "o/loss.svg").exists()


def interrupted(campaign, tmp_path, number, *words):
    """A sweep that gets a signal when some cells are done; (exit code,
    stderr). It has a terminal, to show its progress on."""
    terminal, other = pty.openpty()
    p = subprocess.Popen(command(campaign, *words), cwd=tmp_path,
                         stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    kept = tmp_path / "o/cells.jsonl"
    deadline = time.monotonic() + PATIENCE
    while not (kept.exists() and kept.read_text().count("\n") >= 3):
        assert p.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    p.send_signal(number)
    code, said = p.wait(timeout=PATIENCE), b""
    try:
        while part := os.read(terminal, 65536):
            said += part
    except OSError:  # all of it
        pass
    os.close(terminal)
    return code, said.decode()


GRID = ("--set", "flows.speech.load=60%..90%:10%", "--seeds", "1..4",
        "--duration", "10s")
CELLS = 4 * 2 * 4


def test_sigterm_is_as_ctrl_c(campaign, tmp_path):
    code, said = interrupted(campaign, tmp_path, signal.SIGTERM, *GRID,
                             "--jobs", "1", "--out", "o")
    assert code == 130
    assert f" of {CELLS} cells; they are kept in {tmp_path}/o." in said
    assert 3 <= len(table(tmp_path / "o/sweep.csv")) < CELLS


def test_what_is_done_is_kept_and_gone_on_with(run, campaign, tmp_path):
    """The result is that of a sweep that nobody stopped."""
    code, said = interrupted(campaign, tmp_path, signal.SIGINT, *GRID,
                             "--jobs", "1", "--out", "o")
    assert code == 130
    assert f" of {CELLS} cells, " in said  # progress
    assert "The same command with --resume goes on" in said
    assert 3 <= len(table(tmp_path / "o/sweep.csv")) < CELLS
    with open(tmp_path / "o/cells.jsonl", "a") as f:
        f.write('{"cell": [[["flows.')  # and the power had failed, too
    refused = run(campaign, *GRID, "--out", "o")
    assert refused.returncode == 2
    assert "not finished: --resume goes on with it" in refused.stderr
    other = run(campaign, *GRID[:4], "--out", "o", "--resume")
    assert other.returncode == 2 and "another options" in other.stderr
    after = run(campaign, *GRID, "--out", "o", "--resume")
    assert after.returncode == 0, after.stderr
    assert f"of {CELLS} cells are done already" in after.stdout
    whole = run(campaign, *GRID, "--out", "p", "--jobs", "1")
    assert whole.returncode == 0
    assert (tmp_path / "o/sweep.csv").read_bytes() == \
        (tmp_path / "p/sweep.csv").read_bytes()


def test_another_build_is_not_mixed_in(run, campaign, tmp_path):
    """Finished or not: what is there is of one codec-sim."""
    other = tmp_path / "build"
    other.mkdir()
    (other / "codec-feeder").symlink_to(BUILD / "codec-feeder")
    (other / "codec-sim").write_text(
        f'#!/bin/sh\nexec {BUILD}/codec-sim "$@"\n')
    (other / "codec-sim").chmod(0o755)
    grid = ("--schedulers", "edf", "--seeds", "1", "--out", "o")
    assert run(campaign, *grid).returncode == 0
    for more in (), ("--resume",):
        refused = run(campaign, *grid, "--build", other, *more)
        assert refused.returncode == 2
        assert "done there has another codec-sim; --anew" in refused.stderr
    anew = run(campaign, *grid, "--build", other, "--anew")
    assert anew.returncode == 0, anew.stderr


SABOTEUR = BUILD / "tests" / "integration" / "node" / "libsaboteur.so"


def test_no_result_is_filed_under_who_broke_its_contract(run, campaign,
                                                         tmp_path):
    done = run(campaign, "--schedulers", f"fifo,{SABOTEUR}:after=10",
               "--seeds", "1,2", "--out", "o")
    assert done.returncode == 1
    assert f"scheduler {SABOTEUR},after=10, seed 1" in done.stderr
    assert "broke its contract at 0." in done.stderr
    assert {r["scheduler"] for r in table(tmp_path / "o/sweep.csv")} == {
        "fifo"}


def test_a_changed_plugin_is_simulated_again(run, campaign, tmp_path):
    """The others' cells are not."""
    mine = tmp_path / "mine.so"
    mine.write_bytes(SABOTEUR.read_bytes())
    grid = ("--schedulers", "fifo,./mine.so:after=1000000", "--seeds", "1,2",
            "--out", "o", "--resume")
    assert run(campaign, *grid).returncode == 0
    same = run(campaign, *grid)
    assert "4 of 4 cells are done already" in same.stdout
    mine.unlink()  # it may be mapped
    mine.write_bytes(SABOTEUR.read_bytes() + b"another build")
    other = run(campaign, *grid)
    assert other.returncode == 0, other.stderr
    assert "2 of 4 cells are done already" in other.stdout
    assert len(table(tmp_path / "o/sweep.csv")) == 4


def test_task_sets_know_a_changed_plugin_too(run, tmp_path):
    mine = tmp_path / "mine.so"
    mine.write_bytes(SABOTEUR.read_bytes())
    grid = ("--tasksets", "n=2", "cpus=1", "sets=1", "util=20%", "--schedulers",
            "./mine.so:after=1000000", "--out", "o", "--resume")
    assert run(*grid).returncode == 0
    assert "1 of 1 cells are done already" in run(*grid).stdout
    mine.unlink()
    mine.write_bytes(SABOTEUR.read_bytes() + b"another build")
    other = run(*grid)
    assert other.returncode == 0 and "done already" not in other.stdout


def test_a_finished_sweep_is_not_replaced_unasked(run, campaign, tmp_path):
    out = ("--schedulers", "edf", "--out", "o")
    first = run(campaign, *out, "--seeds", "1,2", "--metric", "loss",
                "--metric", "p99")
    assert first.returncode == 0, first.stderr
    (tmp_path / "o/mine.svg").write_text("")
    refused = run(campaign, *out, "--seeds", "3")
    assert refused.returncode == 2
    assert "has a sweep of another grid: --resume" in refused.stderr
    assert len(table(tmp_path / "o/sweep.csv")) == 2
    anew = run(campaign, *out, "--seeds", "3", "--metric", "loss", "--anew")
    assert anew.returncode == 0, anew.stderr
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "cells.jsonl", "loss.png", "loss.svg", "mine.svg", "summary.csv",
        "sweep.csv", "sweep.json"]


def test_anew_helps_where_sweep_json_is_torn(run, campaign, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o/sweep.json").write_text("{")
    words = (campaign, "--schedulers", "edf", "--seeds", "1", "--out", "o")
    assert "is no JSON; --anew starts anew" in run(*words).stderr
    assert run(*words, "--anew").returncode == 0


@pytest.mark.parametrize("cpus, deadlines, queues, more", [
    (1, "implicit", "global", {"edf-be", "grub", "red"}),
    (2, "constrained", "global", {"gfl", "cbs", "srpt"}),
    (2, "implicit", "partitioned", {"edf-steal", "grub", "red"})])
def test_an_admitted_set_never_misses(run, tmp_path, cpus, deadlines, queues,
                                      more):
    """Under every scheduler with a test of deadlines."""
    done = run("--tasksets", "n=6", f"cpus={cpus}", "sets=6",
               "util=15%..90%:15%,100%", f"deadlines={deadlines}", "seed=3",
               f"queues={queues}", "--out", "o")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = table(tmp_path / "o/sweep.csv")
    names = {r["scheduler"] for r in rows}
    assert {"edf", "llf", "rm", "dwa", "pd2", "edf-hsb"} | more <= names
    assert len(rows) == 7 * 6 * len(names)
    for name in names:
        admitted = [r for r in rows if r["scheduler"] == name and
                    r["admitted"] == "1"]
        assert len(admitted) >= 4
        assert all(r["missed"] == r["promised_missed"] == "0"
                   for r in admitted)
        assert f"{name}: {len(admitted)} sets admitted, none of them had a " \
            "late job" in done.stdout
    # and it is no idle promise: there is load that nobody admits, and misses
    assert any(r["missed"] != "0" for r in rows)
    points = table(tmp_path / "o/summary.csv")
    for p in points:
        assert float(p["admitted"]) <= float(p["met"])
        assert float(p["met_low"]) <= float(p["met"]) <= float(p["met_high"])
    assert (tmp_path / "o/curves.svg").exists()


def test_a_test_that_is_none_of_deadlines_is_found_out(run, tmp_path):
    """fifo admits by capacity: hard tasks of short deadlines are late."""
    done = run("--tasksets", "n=5", "cpus=1", "sets=10", "util=80%",
               "--schedulers", "fifo", "--out", "o")
    assert done.returncode == 3
    assert "of them had late jobs, the first: util=0.8, set " in done.stdout
    again = subprocess.run([BUILD / "codec-sim", tmp_path / "o/late-fifo.yaml",
                            "-s", "fifo", "--json"], capture_output=True,
                           text=True, timeout=PATIENCE, check=True)
    total = json.loads(again.stdout)["total"]
    assert total["admitted"] == 5 and total["missed"] > 0


def test_pandas_reads_it_in_one_line(run, campaign, tmp_path):
    pandas = pytest.importorskip("pandas",
                                 reason="no pandas: deps/install notebook")
    from codec_sweep import summarise, sweep
    done = run(campaign, "--set", LOADS, "--seeds", "1,2", "--out", "o")
    assert done.returncode == 0, done.stderr
    read = pandas.read_csv(tmp_path / "o/sweep.csv")
    made = sweep(campaign, {"flows.speech.load": ["50%", "80%", "110%"]},
                 seeds=[1, 2], build=BUILD)
    pandas.testing.assert_frame_equal(read, made)
    means = summarise(made, "total.loss")
    written = pandas.read_csv(tmp_path / "o/summary.csv")
    written = written[written.metric == "total.loss"].reset_index(drop=True)
    assert list(means["mean"]) == list(written["mean"])
    assert list(means["low"]) == list(written["low"])

# SPDX-License-Identifier: Apache-2.0
"""The command line of campaigns/run."""
import os
import pathlib
import runpy
import subprocess

import pytest
from conftest import ROOT

import build
import rounds
from names import folder_name
from options import UNSCHEDULED, Options, Wrong, parse

# folders with a program of their own
OWN = sorted(p.parent.name for p in (ROOT / "campaigns").glob("*/run"))


def checked(*words):
    options = parse(words)
    options.check()
    return options


def test_the_demo_is_played_when_nothing_is_said():
    options = checked()
    assert options.campaign == str(ROOT / "campaigns" / "demo.yaml")
    assert options.out == str(ROOT / "out" / "demo")
    assert options.schedulers == options.feeder == options.runner == []


def test_schedulers_have_options_after_colons():
    options = checked("best", "--schedulers",
                      "rr:quantum=2ms,rsdl:levels=3:quantum=2ms,cfs,./a.so:x=1")
    assert options.schedulers == ["rr,quantum=2ms",
                                  "rsdl,levels=3,quantum=2ms", "cfs",
                                  "./a.so,x=1"]
    assert options.out.endswith("out/best")


def test_an_option_after_a_comma_is_of_the_scheduler_before_it():
    options = checked("best", "--schedulers",
                      "./m.so,age=5ms,fifo,rr:quantum=2ms")
    assert options.schedulers == ["./m.so,age=5ms", "fifo", "rr,quantum=2ms"]
    options = checked("demo.yaml", "--schedulers",
                      "kernel:deadline,overhead=7us,edf")
    assert options.schedulers == ["kernel:deadline,overhead=7us", "edf"]


def test_a_colon_is_part_of_the_kernels_names():
    options = checked("demo.yaml", "--schedulers",
                      "kernel:nice,kernel:deadline:overhead=7us:a=1")
    assert options.schedulers == ["kernel:nice",
                                  "kernel:deadline,overhead=7us,a=1"]


def test_options_of_the_programs_may_begin_with_dashes(tmp_path):
    options = checked("demo.yaml", "--feeder", "--dump", "--feeder", "x",
                      "--runner", "--ring", "--runner", "64", "--out",
                      str(tmp_path))
    assert options.feeder == ["--dump", "x"]
    assert options.runner == ["--ring", "64"]
    assert options.out == str(tmp_path)


@pytest.mark.parametrize("words,why", [
    (["--bogus"], "unknown option --bogus"),
    (["demo.yaml", "--out"], "--out needs a value"),
    (["a.yaml", "b.yaml"], "one campaign at a time, not a.yaml and b.yaml"),
    (["missing.yaml"], "no campaign file missing.yaml"),
    (["best", "--feeder", "x"], "best is simulated"),
    (["best", "--quick"], "best has no short form"),
    (["--quick", "--rounds", "8"], "--quick plays blocks, six rounds"),
    (["best", "--rounds", "2"], "best is simulated"),
    (["cluster", "--schedulers", "fifo"], "cluster compares no schedulers"),
    (["--schedulers", ","], "--schedulers takes names such as fifo,edf"),
    (["--schedulers", "age=5ms,fifo"], "age=5ms is an option: the scheduler"),
    (["--schedulers", "fifo,edf,fifo"], "call the second one fifo#2"),
    (["best", "--peer", "rtpengine"], "best is simulated"),
    (["--peer", "kamailio"], "--peer takes rtpengine or the address"),
    (["--peer", "127.0.0.1"], "--peer takes rtpengine or the address"),
    (["--peer", "127.0.0.1:70000"], "--peer takes rtpengine or the address"),
    (["best", "--separate"], "best is simulated"),
    (["--rounds", "0"], "--rounds takes 1 to 999, not 0"),
    (["--p99", "20"], "--p99 takes a time such as 20ms, not 20"),
    (["--find-capacity", "--rounds", "2"], "--find-capacity repeats"),
])
def test_wrong_command_lines_are_told(words, why):
    with pytest.raises(Wrong, match=why):
        checked(*words)


def test_a_peer_is_rtpengine_or_an_address():
    assert checked("--peer", "rtpengine").peer == "rtpengine"
    assert checked("--peer", "127.0.0.1:2223").peer == "127.0.0.1:2223"
    assert checked("--peer", "[::1]:2223").peer == "[::1]:2223"
    assert checked().peer is None


def knows(program, option):
    done = subprocess.run([program, "--help"], check=True, text=True,
                          capture_output=True)
    return option in done.stdout.split()


@pytest.mark.parametrize("name", OWN)
def test_a_folders_program_knows_what_it_is_given(name):
    own = checked(name).own_program()
    for option in "--out", "--quick":
        assert knows(own, option)
    assert knows(own, "--scheduler") == (name not in UNSCHEDULED)
    if name not in UNSCHEDULED:
        assert checked(name, "--schedulers", "edf").schedulers == ["edf"]


def test_a_wrong_command_line_is_exit_code_2():
    words, why = ["--bogus"], "unknown option --bogus"
    done = subprocess.run([ROOT / "campaigns" / "run", *words], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"campaigns/run: {why}")


@pytest.mark.parametrize("campaign", ["demo.yaml", "best"])
@pytest.mark.parametrize("names,why", [
    ("fifo,edff", "--schedulers: no scheduler 'edff'; did you mean 'edf'?"),
    ("edf:bund=1,fifo", "no option 'bund'; did you mean 'bound'?"),
    ("kernel:nise", "kernel:nise"), ("./no.so", "no.so")])
def test_a_scheduler_that_is_none_is_told_before_anybody_plays(
        campaign, names, why, tmp_path, monkeypatch, capsys):
    def play(*_):
        raise AssertionError("plays")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "release").symlink_to(
        pathlib.Path(os.environ["RUNNER"]).parent)
    run = runpy.run_path(str(ROOT / "campaigns" / "player" / "__main__.py"))
    monkeypatch.setattr(build, "build", lambda *_, **__: True)
    monkeypatch.setattr(rounds, "run", play)
    monkeypatch.setattr(os, "execv", play)
    monkeypatch.setattr(Options, "TOP", str(tmp_path))
    assert run["main"]([campaign, "--schedulers", names]) == 2
    told = capsys.readouterr().err
    assert told.startswith("campaigns/run: ") and why in told
    with pytest.raises(AssertionError, match="plays"):
        run["main"]([campaign, "--schedulers", "fifo,kernel:nice,rr:quantum=2ms"])


def test_repetitions_and_searches():
    options = checked("--rounds", "5", "--dump")
    assert (options.rounds, options.dump) == (5, True)
    options = checked("--find-capacity", "--p99", "1.5s")
    assert (options.find_capacity, options.p99) == (True, 1500)
    assert checked().p99 == 20


def test_run_folders_have_plain_names():
    assert folder_name("rr,quantum=2ms") == "rr_quantum=2ms"
    assert folder_name("./x.so,bound=97%") == "x.so_bound=97_"
    assert folder_name("../a/.x.so") == "a_.x.so"  # nothing hidden

# SPDX-License-Identifier: Apache-2.0
"""The command line of campaigns/run."""
import subprocess

import pytest
from conftest import ROOT

import live
from options import Wrong, parse


def checked(*words):
    options = parse(words)
    options.check()
    return options


def test_the_demo_is_played_when_nothing_is_said():
    options = checked()
    assert options.campaign == str(ROOT / "campaigns" / "demo.yaml")
    assert options.out == str(ROOT / "out" / "demo")
    assert options.schedulers == options.feeder == options.runner == []


def test_schedulers_have_options_after_a_colon():
    options = checked("best", "--schedulers", "rr:quantum=2ms,edf:a=1:2,cfs")
    assert options.schedulers == ["rr,quantum=2ms", "edf,a=1:2", "cfs"]
    assert options.out.endswith("out/best")


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
    (["demo.yaml", "--quick"], "demo has no short form"),
])
def test_wrong_command_lines_are_exit_code_2(words, why):
    with pytest.raises(Wrong, match=why):
        checked(*words)
    done = subprocess.run([ROOT / "campaigns" / "run", *words], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"campaigns/run: {why}")


def test_run_folders_have_plain_names():
    assert live.folder_name("rr,quantum=2ms") == "rr_quantum=2ms"
    assert live.folder_name("./x.so bound=97%") == "._x.so_bound=97_"

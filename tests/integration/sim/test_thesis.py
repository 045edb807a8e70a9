# SPDX-License-Identifier: Apache-2.0
"""campaigns/thesis-simulated: what the thesis says of its Figures 6.4 to 6.8."""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))


def play(name, scheduler):
    """Flows by name, after two seconds; and the exit code."""
    done = subprocess.run(
        [BUILD / "codec-sim", ROOT / "campaigns" / "thesis-simulated" /
         f"{name}.yaml", "-s", scheduler, "--duration", "2s", "--json",
         "--quiet"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    return {f["flow"]: f for f in result["flows"]}, done.returncode


@pytest.mark.parametrize("scheduler", ["cfs", "fifo", "edf"])
@pytest.mark.parametrize("cpus", ["one", "four"])
def test_nothing_is_lost_at_high_load(cpus, scheduler):
    flows, code = play(f"fig6.4-{cpus}", scheduler)
    assert flows["amr"]["loss"] == 0 and code == 0


def test_in_overload_edf_keeps_jitter_sharp_and_cfs_does_not():
    def jitter(scheduler):
        return play("fig6.5-four", scheduler)[0]["amr"]["jitter"]["p99_ns"]
    assert 4 * jitter("edf") < jitter("cfs")


def test_weights_make_cfs_treat_both_codecs_alike():
    default, weights = (play(f"fig6.6-{kind}", "cfs")[0]
                        for kind in ("default", "weights"))
    assert default["narrow"]["loss"] == 0 < default["wide"]["loss"]
    light, heavy = (weights[name] for name in ("narrow", "wide"))
    assert light["loss"] > 0 and heavy["loss"] < default["wide"]["loss"]
    assert light["jitter"]["p99_ns"] == \
        pytest.approx(heavy["jitter"]["p99_ns"], rel=.25)


def test_fifo_treats_all_codecs_alike():
    flows, _ = play("fig6.6-default", "fifo")
    assert flows["narrow"]["loss"] == pytest.approx(flows["wide"]["loss"],
                                                    rel=.02)

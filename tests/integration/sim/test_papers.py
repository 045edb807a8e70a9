# SPDX-License-Identifier: Apache-2.0
"""campaigns/best/progress and campaigns/thesis/bounds: what the BEST paper says
of its Figures 3 and 7, and Table 3.1 of the thesis, on small runs."""
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import PATIENCE, curves

CAMPAIGNS = pathlib.Path(__file__).resolve().parents[3] / "campaigns"
BUILD = pathlib.Path(os.environ.get(
    "CR_BUILD", CAMPAIGNS.parent / "build" / "release"))


def run(*args):
    done = subprocess.run([sys.executable, *args], capture_output=True,
                          text=True, timeout=PATIENCE,
                          env={**os.environ, "CR_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_curves_of_progress_have_the_slopes_the_paper_tells(tmp_path):
    """Of the CPU, in percent, under goodness, best and rm: time-sharing gives
    half to each; beside 120 % it gives the loop a quarter, rm nothing."""
    result = run(CAMPAIGNS / "best" / "progress", "3", "7", "--until", "30",
               "--out", tmp_path)
    rows = [line.split() for line in result.splitlines()
            if line.startswith("  ")]
    share = [(name, *(float(v.rstrip("%")) for v in values))
             for name, *values in rows]
    loop, p100 = share[:2]
    assert loop[0] == "loop" and p100[0] == "p100ms"
    assert loop[1] == pytest.approx(50, abs=3)
    assert p100[2] == pytest.approx(70, abs=2)
    assert loop[3] == pytest.approx(30, abs=2)
    seventh = {name: values for name, *values in share[2:]}
    assert seventh["loop"][0] == pytest.approx(25, abs=3)
    assert seventh["loop"][2] == pytest.approx(0, abs=1)
    assert seventh["loop"][1] > 3
    for figure, lines in ("fig3", 6), ("fig7", 12):
        found = curves(tmp_path / f"{figure}.svg")
        assert len(found) == lines and all(found)


def test_no_class_but_the_last_serves_the_set_above_its_bound():
    result = run(CAMPAIGNS / "thesis" / "bounds", "-M", "2", "--sets", "3")
    rows = {line[:2]: line for line in result.splitlines()[2:]}
    assert len(rows) == 9
    for name in ("A1", "B1", "C1", "A3", "B3"):
        assert " late " in rows[name]
    assert " in time " in rows["C3"] and rows["C3"].endswith("0 of 3")
    assert rows["B1"].endswith("0 of 3")
    assert " 1.500 (M+1)/2 " in rows["B1"] and " 0.828 " in rows["A1"]

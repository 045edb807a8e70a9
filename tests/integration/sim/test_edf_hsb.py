# SPDX-License-Identifier: Apache-2.0
"""campaigns/edf-hsb has the shapes of the paper's Figure 3."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
NS = "edf-hsb,reclaim=no,background=no"


def play(name):
    """Flows by scheduler and name; throughput in CPUs is added."""
    path = ROOT / "campaigns" / "edf-hsb" / f"{name}.yaml"
    done = subprocess.run([BUILD / "codec-sim", path, "--json", "--quiet"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 3), done.stderr
    runs = json.loads(done.stdout)
    result = {}
    for run in runs if isinstance(runs, list) else [runs]:
        flows = {f["flow"]: f for f in run["flows"]}
        for f in flows.values():
            f["cpus"] = f["service_ns"] / 60e9
        result[run["scheduler"]] = flows
    return result


def cpus(result, scheduler):
    return result[scheduler]["generator"]["cpus"]


def missed(result, scheduler, flow="decode"):
    return result[scheduler][flow]["missed_share"]


@pytest.mark.parametrize("name", ["v18-be36", "v22-be36"])
def test_a_full_machine(name):
    result = play(name)
    nice5 = play(f"{name}-nice5")
    for scheduler in ("edf-hsb", NS, "dwa"):
        assert missed(result, scheduler, "display") == 0
    assert missed(result, "edf-hsb") == 0
    # both give best effort its share; one of them all that is left as well
    assert cpus(result, NS) == pytest.approx(1.1, abs=0.003)
    assert 1.1 <= cpus(result, "edf-hsb") < cpus(result, "cfs")
    assert cpus(result, "edf-hsb") == pytest.approx(cpus(result, "dwa"),
                                                    rel=0.01)
    # what time sharing gives best effort more is what videos have less
    assert cpus(result, "edf-hsb") < cpus(nice5, "cfs") < cpus(result, "cfs")
    assert missed(result, "cfs") > missed(nice5, "cfs") > 0.5
    assert missed(result, "fifo") > 0.5


def test_slack_and_background_keep_22_videos_in_time():
    result = play("v22-be36")
    longest = {s: result[s]["decode"]["delay"]["max_ns"]
               for s in ("edf-hsb", NS)}
    assert missed(result, NS) > 0 == missed(result, "edf-hsb")
    assert longest[NS] > 2 * longest["edf-hsb"]


def test_best_effort_has_its_share_when_videos_are_too_many():
    result = play("v23-be36")
    assert cpus(result, "edf-hsb") >= 1.1 > cpus(result, "dwa")
    assert missed(result, "edf-hsb", "display") == 0


def test_with_room_for_all_schedulers_hardly_differ():
    result = play("v11-be36")
    assert all(missed(result, s) == 0 for s in result)
    assert cpus(result, "edf-hsb") == pytest.approx(cpus(result, "cfs"),
                                                    rel=0.01)


def start_figures(*args):
    return subprocess.run(
        [sys.executable, ROOT / "campaigns" / "edf-hsb" / "figures", *args],
        capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "CR_BUILD": str(BUILD)})


def figures(*args):
    done = start_figures(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_bound_over_the_budget_has_one_valley():
    """Figure 2: one part rises, the other falls; the largest budget is not the
    best one."""
    rows = [line.split() for line in figures("bounds")[2:]]
    curve = [list(map(float, row)) for row in rows if len(row) == 4]
    assert [row[1] for row in curve] == sorted(row[1] for row in curve)
    falling = [row[2] for row in curve]
    assert falling == sorted(falling, reverse=True)
    best = float(rows[-1][-1])
    assert rows[-1][:2] == ["least", "bound"]
    assert best <= min(row[3] for row in curve) < float(rows[-2][-1]) / 3


def test_replications_have_intervals():
    lines = figures("videos", "--at", "11,22", "--seeds", "2", "--duration", "2s")
    assert [line.split()[0] for line in lines if "+-" in line] == \
        ["11", "22"] * 3
    assert all(line.count("+-") == 5 for line in lines if "+-" in line)


def test_lateness_over_time_is_nothing_under_edf_hsb_and_grows_under_cfs():
    rows = [line.split() for line in figures("time", "--duration", "10s")[2:]]
    result = [row[4] for row in rows]
    cfs = [float(mean) for mean in result if mean != "-"]
    # where frames were left undone a mean of the others would fall
    assert result[len(cfs):] and set(result[len(cfs):]) == {"-"}
    assert cfs == sorted(cfs)
    assert len(rows) >= 10 and all(row[2] == "0.0" for row in rows)
    assert cfs[0] == 0 and cfs[-1] > max(cfs[:5])


def test_videos_without_a_queue_are_refused():
    done = start_figures("videos", "--at", "11,12")
    assert done.returncode == 2
    assert "Table 1 has queues of 11, 16, 17" in done.stderr

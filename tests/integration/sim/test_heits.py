# SPDX-License-Identifier: Apache-2.0
"""campaigns/heits: Figures 4 to 9 of the 1996 paper, as its text has them."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import PATIENCE, curves

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
HEITS = ROOT / "campaigns" / "heits"
LOADS = (0, 1, 2, 3, 4, 16)

#: Loads under which the paper says that time-sharing keeps all deadlines, and
#: those under which it does not.
TIME_SHARING = {
    "fig4": ((0,), (3, 4, 16)),
    "fig5": ((0,), (3, 4, 16)),
    "fig6": ((0, 1), (2, 3, 4, 16)),
    "fig7": ((), (1, 2, 3, 4, 16)),
    "fig8-17": ((), LOADS),
    "fig8-19": ((), LOADS),
    "fig9-30": ((0,), ()),
    "fig9-31": ((), LOADS),
    "fig9-32": ((), LOADS),
    "fig9-36": ((), LOADS),
}


def play(name, scheduler, *args):
    """Flows of a campaign by name, the whole report, and the exit code."""
    done = subprocess.run(
        [BUILD / "codec-sim",
         name if isinstance(name, pathlib.Path) else HEITS / f"{name}.yaml",
         "-s", scheduler,
         "--json", *args], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    return {f["flow"]: f for f in result["flows"]}, result, done.returncode


def missed(flows):
    return {n: flows[f"load-{n}"]["missed_share"] for n in LOADS}


@pytest.mark.parametrize("scheduler", ["rm", "dwa"])
@pytest.mark.parametrize("name", TIME_SHARING)
def test_with_admission_no_load_makes_a_stream_late(name, scheduler):
    flows, result, code = play(name, scheduler)
    for load in LOADS:
        flow = flows[f"load-{load}"]
        assert flow["refused"] == 0 and flow["missed"] == 0
        assert flow["done"] == flow["jobs"] > 0
    assert result["total"]["refused"] == 0 and code == 0


@pytest.mark.parametrize("name", TIME_SHARING)
def test_time_sharing_fails_where_the_papers_does(name):
    in_time, late = TIME_SHARING[name]
    flows, _, code = play(name, "goodness")
    share = missed(flows)
    assert all(share[load] == 0 for load in in_time), share
    assert all(share[load] > 0 for load in late), share
    assert code == (3 if max(share.values()) > 0 else 0)


def test_every_stream_above_30_misses_more_under_time_sharing():
    found = [missed(play(f"fig9-{n}", "goodness")[0])[0]
             for n in (30, 31, 32, 36)]
    assert found[0] == 0 and found == sorted(set(found)), found


def test_laxities_of_three_processes_are_the_papers(tmp_path):
    """45.6, 24.5 and 3.5 ms, whatever the load."""
    play("fig7", "rm", "--out", tmp_path)
    with open(tmp_path / "streams.csv", encoding="utf-8") as f:
        rows = [r for r in csv.DictReader(f) if r["flow"].startswith("load-")]
    for load in LOADS:
        laxity = sorted(66.667 - float(r["delay_max_ms"]) for r in rows
                        if r["flow"] == f"load-{load}")
        assert laxity == pytest.approx([3.5, 24.5, 45.6], abs=.2)
        assert all(r["delay_mean_ms"] == r["delay_max_ms"] for r in rows)


@pytest.mark.parametrize("scheduler", ["rm", "dwa"])
def test_the_37th_stream_is_refused_with_a_reason(scheduler):
    flows, result, code = play("fig9-37", scheduler)
    for load in (0, 16):
        flow = flows[f"load-{load}"]
        assert (flow["admitted"], flow["refused"]) == (36, 1)
        assert flow["missed"] == 0 and flow["done"] == 36 * 1800
    assert re.match(r"no-capacity: need 0\.027\d, free 0\.017\d of 1\.00 "
                    rf"under {scheduler} \(.+ <= .+\)$", result["refusal"])
    assert code == 0


@pytest.mark.parametrize("scheduler, fails", [
    ("fifo", {"even"}), ("edf", {"mail"}), ("rm", set()), ("dwa", set()),
    ("rm,workahead=hold", set()), ("dwa,workahead=hold", set())])
def test_bursts_within_their_contract_delay_no_conforming_call(scheduler,
                                                               fails):
    flows, result, code = play("burst", scheduler)
    failed = {e["flow"] for e in result["expectations"] if not e["met"]}
    assert failed == fails
    assert code == (3 if fails else 0)
    if not fails:
        # nine of 5 % of a period of 33.333 ms, nobody else before them
        assert flows["even"]["delay"]["max_ns"] == 9 * 1666650


def test_frames_beyond_the_burst_are_counted_and_harm_nobody(tmp_path):
    """A burst of four is declared, twelve frames come: eight are too early."""
    text = (HEITS / "burst.yaml").read_text()
    assert "burst: 11}" in text
    path = tmp_path / "liar.yaml"
    path.write_text(text.replace("burst: 11}", "burst: 3}"))
    _, honest, _ = play("burst", "dwa", "--out", tmp_path / "honest")
    flows, _, code = play(path, "dwa", "--out", tmp_path / "liar")
    assert code == 0
    assert honest["total"]["violations"] == 0
    assert flows["even"]["violations"] == 0
    assert flows["disk"]["jobs"] % 12 == 0
    assert flows["disk"]["violations"] == flows["disk"]["jobs"] // 12 * 8
    with open(tmp_path / "liar" / "streams.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            late = int(row["jobs"]) // 12 * 8 if row["flow"] == "disk" else 0
            assert int(row["violations"]) == late
    assert flows["even"]["delay"]["max_ns"] == 9 * 1666650


@pytest.mark.parametrize("cls, limits, admitted", [
    ("hard", ", max: 5ms", 4),   # 4 x 5 ms of 20
    ("hard", "", 7),             # by the 99th percentile, 2.6 ms
    ("soft", ", max: 5ms", 22),  # by the mean
    ("soft", "", 22)])
def test_guaranteed_by_the_worst_case_statistical_by_the_average(
        tmp_path, cls, limits, admitted):
    path = tmp_path / "classes.yaml"
    path.write_text(
        "duration: 2s\nplatform: {cpus: 1, preempt: full}\nflows:\n"
        f"  - {{count: 30, class: {cls}, period: 20ms, "
        f"cost: {{model: lognormal, mean: 900us, sd: 500us{limits}}}}}\n")
    flows, _, _ = play(path, "dwa")
    assert flows["flow1"]["admitted"] == admitted


def test_laxities_are_plotted(tmp_path):
    done = subprocess.run(
        [sys.executable, HEITS / "laxity", "fig7", "--out", tmp_path],
        capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "CR_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("3.67 ms      0.0 o/oo") == len(LOADS)
    assert curves(tmp_path / "fig7.svg") == [200] * 2 * len(LOADS)

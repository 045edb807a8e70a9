# SPDX-License-Identifier: Apache-2.0
"""codec-sim --analyse: the numbers of the EDF-HSB paper from a campaign, and
what cannot be analysed."""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
MS = 1000000
DISPLAY = ("name: display, class: hard, count: {v}, period: 41708333ns, "
           "cost: {{mean: 4ms}}")
DECODE = ("name: decode, count: {v}, period: 41708333ns, cost: {{model: "
          "normal, mean: 14490us, sd: 5190us}}")
PAPER = ("-s", "edf-hsb,epsilon=1.92%")


def run(*args):
    return subprocess.run([BUILD / "codec-sim", "--analyse", *map(str, args)],
                          capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def campaign(tmp_path):
    def write(*flows, platform="{cpus: 11, preempt: full}", more=""):
        path = tmp_path / "c.yaml"
        path.write_text(f"duration: 1s\nplatform: {platform}\n{more}flows:\n" +
                        "".join(f"  - {{{flow}}}\n" for flow in flows))
        return path
    return write


def parsed(*args):
    done = run(*args, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


# The campaign's normal distribution ends at 0, which costs 0.3 % of its sd.
@pytest.mark.parametrize("videos,budget,bound,frames", [
    (11, 19.94, 838.57, 21), (16, 18.94, 910.81, 22), (17, 18.74, 925.04, 23),
    (19, 17.73, 580.76, 14), (20, 16.65, 399.94, 10), (21, 15.66, 339.29, 9)])
def test_a_campaign_of_videos_has_the_rows_of_table_1(campaign, videos, budget,
                                                      bound, frames):
    path = campaign(DISPLAY.format(v=videos), DECODE.format(v=videos))
    a, code = parsed(path, *PAPER)
    decode = a["flows"][1]
    assert code == 0 and a["schedulable"]
    assert decode["budget_ns"] / MS == pytest.approx(budget, abs=0.006)
    assert decode["tardiness_ns"] / MS == pytest.approx(bound, rel=0.004)
    assert decode["buffer_frames"] == frames
    assert a["best_effort_cpus"] == pytest.approx(1.1)


def test_the_table_names_the_constraint_that_is_broken(campaign):
    path = campaign(DISPLAY.format(v=23), DECODE.format(v=23))
    done = run(path, *PAPER)
    assert done.returncode == 3
    assert "NOT schedulable" in done.stdout
    assert "BROKEN 4: mean cost over budget" in done.stdout
    a, code = parsed(path, *PAPER)
    assert code == 3 and a["flows"][1]["tardiness_ns"] is None


def test_the_campaigns_own_options_are_used(campaign):
    flow = "name: a, count: 2, period: 20ms, cost: {mean: 2ms}"
    more = 'schedulers: [edf, "edf-hsb,be-share=40%,budget=1.5"]\n'
    a, code = parsed(campaign(flow, platform="{cpus: 2}", more=more))
    assert code == 0
    assert a["best_effort_cpus"] == pytest.approx(0.8)
    assert a["flows"][0]["budget_ns"] == pytest.approx(3 * MS)
    assert a["flows"][0]["stochastic_tardiness_ns"] == 0


def test_jitter_and_a_late_deadline_count(campaign):
    flow = "name: {n}, count: 1, period: 20ms, cost: {{mean: 2ms}}, {more}"
    a, _ = parsed(campaign(
        flow.format(n="a", more="deadline: 60ms"),
        flow.format(n="b", more="deadline: 60ms, network: {jitter: 5ms}"),
        platform="{cpus: 2}"))
    plain, jittered = a["flows"]
    late = plain["tardiness_ns"] + (20 - 60) * MS
    assert plain["lateness_ns"] == pytest.approx(max(0, late))
    assert jittered["lateness_ns"] == pytest.approx(max(0, late + 5 * MS))


@pytest.mark.parametrize("flow,says", [
    ("name: x, count: 2, period: 20ms, cost: {mean: 1ms}, arrival: {model: "
     "poisson}", "flow x cannot be analysed: its jobs do not come one a"),
    ("name: x, count: 2, period: 20ms, cost: {mean: 1ms}, class: hard, "
     "network: {jitter: 1ms}", "a period apart"),
    ("name: x, period: 20ms, cost: {mean: 1ms}, start: {poisson: 5/s}, "
     "count: 0", "count"),
    ("name: x, count: 2, period: 20ms, cost: {mean: 1ms}, hold: {mean: 1s}, "
     "start: {poisson: 100%}", "flow x cannot be analysed: its calls come at "
     "random; give count and calls per second"),
    ("name: x, count: 2, period: 20ms, cost: {mean: 1ms}, drift: 50ppm",
     "more than one job a period; leave drift away"),
])
def test_a_flow_that_cannot_be_analysed_is_named(campaign, flow, says):
    done = run(campaign(flow))
    assert done.returncode == 2 and not done.stdout
    assert says in done.stderr


def test_it_is_of_one_run_queue(campaign):
    flow = "name: x, count: 2, period: 20ms, cost: {mean: 1ms}"
    path = campaign(flow, platform="{cpus: 4, run-queues: partitioned}")
    done = run(path)
    assert done.returncode == 2
    assert "--run-queues global" in done.stderr
    assert run(path, "--run-queues", "global").returncode == 0

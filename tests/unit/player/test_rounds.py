# SPDX-License-Identifier: Apache-2.0
"""Rounds and searches, with a player that plays nothing."""
import json
import os
from types import SimpleNamespace

import pytest

import rounds
import search
from live import BROKEN, Broken


class Stage:
    """In place of live.Player: carries so many per cent of the load under
    each scheduler; every 100 % are 40 calls."""

    def __init__(self, out, limits, repeat=1, fail_at=None):
        self.options = SimpleNamespace(
            out=str(out), repeat=repeat, name="x", p99=20.0,
            campaign="x.yaml")
        self.limits, self.specs = limits, list(limits)
        self.counts, self.constant = {"talk": 40}, {"revision": "r"}
        self.stopped, self.played, self.fail_at = False, [], fail_at

    def program(self, name):
        return "true"

    def play(self, spec, folder, scale=1, repetition=1):
        self.played.append((spec, os.path.relpath(folder, self.options.out)))
        if len(self.played) == self.fail_at:
            raise Broken
        os.makedirs(folder, exist_ok=True)
        lost = 0 if scale * 100 <= self.limits[spec] else 7
        with open(os.path.join(folder, "trace.bin"), "w") as f:
            f.write("x")
        with open(os.path.join(folder, "run.json"), "w") as f:
            json.dump({"total": {
                "admitted": round(40 * scale), "refused": 0, "missed": 0,
                "lost": lost, "delay": {"p99_ns": 4000000}}}, f)
        return 0


def test_rounds_are_interleaved(tmp_path):
    stage = Stage(tmp_path, {"a": 100, "b,x=1": 100, "c": 100}, repeat=2)
    assert rounds.play_all(stage) == 0
    assert stage.played == [
        ("a", "a/1"), ("b,x=1", "b_x=1/1"), ("c", "c/1"),
        ("a", "a/2"), ("b,x=1", "b_x=1/2"), ("c", "c/2")]


def test_one_round_has_no_numbers(tmp_path):
    stage = Stage(tmp_path, {"a": 100, "b": 100})
    assert rounds.play_all(stage) == 0
    assert stage.played == [("a", "a"), ("b", "b")]


def test_what_is_left_of_earlier_runs_is_not_reported(tmp_path):
    rounds.play_all(Stage(tmp_path, {"a": 100}))
    rounds.play_all(Stage(tmp_path, {"a": 100}, repeat=3))
    rounds.play_all(Stage(tmp_path, {"a": 100}, repeat=2))
    left = sorted(str(p.parent.relative_to(tmp_path))
                  for p in tmp_path.rglob("trace.bin"))
    assert left == ["a/1", "a/2"]


def test_a_broken_run_ends_it_and_the_rest_is_reported(tmp_path, capfd):
    stage = Stage(tmp_path, {"a": 100, "b": 100}, repeat=2, fail_at=2)
    assert rounds.play_all(stage) == BROKEN
    assert len(stage.played) == 2
    assert "== report" in capfd.readouterr().out


def test_capacities_are_found_and_written(tmp_path, capfd):
    stage = Stage(tmp_path, {"edf": 130, "fifo": 61})
    assert search.search_all(stage) == 0
    found = json.load(open(tmp_path / "capacity.json", encoding="utf-8"))
    scales = {s["scheduler"]: s["scale"] for s in found["schedulers"]}
    assert 1.30 / 1.05 <= scales["edf"] <= 1.30
    assert .61 / 1.05 <= scales["fifo"] <= .61
    assert found["environment"] == {"revision": "r"}
    lines = capfd.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("scheduler"))
    cells = [line.split() for line in lines[at + 1:at + 3]]
    for name, load, calls, p99, runs in cells:
        assert load == f"{scales[name]:.1%}" and p99 == "4.00"
        assert calls == str(round(40 * scales[name])) and int(runs) > 4


@pytest.mark.parametrize("change,why", [
    ({"lost": 1}, "1 frames lost"), ({"missed": 2}, "2 frames lost"),
    ({"refused": 3}, "3 calls refused"),
    ({"delay": {"p99_ns": 20000001}}, "p99 20.0 ms"),
    ({"delay": {}}, "nothing came back")])
def test_what_is_not_carried(change, why):
    total = {"admitted": 4, "refused": 0, "missed": 0, "lost": 0,
             "delay": {"p99_ns": 20000000}}
    assert search.judge(1, {"total": total}, 20)
    trial = search.judge(1, {"total": {**total, **change}}, 20)
    assert not trial and trial.why == why

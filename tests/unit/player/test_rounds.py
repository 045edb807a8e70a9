# SPDX-License-Identifier: Apache-2.0
"""Rounds and searches, with a player that plays nothing."""
import json
import os
from types import SimpleNamespace

import pytest

import rounds
import search
from live import BROKEN, WRONG, Broken


class Stage:
    """In place of live.Player: carries so many per cent of the load under
    each scheduler; every 100 % are 40 calls. codes: of the first runs."""

    def __init__(self, out, limits, rounds=None, fail_at=None, codes=()):
        self.options = SimpleNamespace(
            out=str(out), rounds=rounds, name="x", p99=20.0,
            campaign="x.yaml", peer=None, dump=False,
            separate=False, quick=False)
        self.campaign = {"seed": 1, "conversions": 0, "expects": True}
        self.limits, self.specs = limits, list(limits)
        self.counts, self.constant = {"talk": 40}, {"revision": "r"}
        self.stopped, self.played, self.fail_at = False, [], fail_at
        self.codes, self.report = list(codes), "true"

    def program(self, name):
        return self.report

    def is_foreign(self, spec):
        return False

    def size_loads(self):
        pass

    def play(self, spec, folder, scale=1, repetition=1):
        self.played.append((spec, os.path.relpath(folder, self.options.out)))
        if len(self.played) == self.fail_at:
            raise Broken
        code = self.codes.pop(0) if self.codes else 0
        if code not in (0, 3):
            return code
        os.makedirs(folder, exist_ok=True)
        lost = 0 if scale * 100 <= self.limits[spec] else 7
        with open(os.path.join(folder, "trace.bin"), "w") as f:
            f.write("x")
        with open(os.path.join(folder, "run.json"), "w") as f:
            json.dump({"total": {
                "admitted": round(40 * scale), "refused": 0, "missed": 0,
                "lost": lost, "delay": {"p99_ns": 4000000}}}, f)
        return code


def test_rounds_are_interleaved(tmp_path):
    stage = Stage(tmp_path, {"a": 100, "b,x=1": 100, "c": 100}, rounds=2)
    assert rounds.play_all(stage) == 0
    assert [sorted(stage.played[:3]), sorted(stage.played[3:])] == [
        [("a", "a/1"), ("b,x=1", "b_x=1/1"), ("c", "c/1")],
        [("a", "a/2"), ("b,x=1", "b_x=1/2"), ("c", "c/2")]]


def test_the_order_within_a_round_is_random_by_the_seed():
    drawn = rounds.order("abcdef", 20, 3)
    assert drawn == rounds.order("abcdef", 20, 3) != rounds.order(
        "abcdef", 20, 4)
    turns = ["".join(s for s, turn in drawn if turn == n)
             for n in range(1, 21)]
    assert {"".join(sorted(turn)) for turn in turns} == {"abcdef"}
    assert len(set(turns)) > 10


def test_it_says_why_the_runs_are_separate(tmp_path, capfd):
    rounds.play_all(Stage(tmp_path, {"a": 100, "kernel:nice": 100}))
    assert ("separate runs, one after another: kernel:nice cannot be switched "
            "to under live calls") in capfd.readouterr().out
    rounds.play_all(Stage(tmp_path, {"a": 100}))
    assert "separate runs" not in capfd.readouterr().out
    quick = Stage(tmp_path, {"a": 100, "kernel:nice": 100})
    quick.options.quick = True
    assert rounds.play_all(quick) == WRONG and not quick.played
    assert "no --quick: kernel:nice cannot be" in capfd.readouterr().err


def test_one_round_has_no_numbers(tmp_path):
    stage = Stage(tmp_path, {"a": 100, "b": 100})
    assert rounds.play_all(stage) == 0
    assert sorted(stage.played) == [("a", "a"), ("b", "b")]


def test_a_run_without_a_trace_is_reported_too(tmp_path):
    """A media proxy writes none. An empty one is a daemon that broke off."""
    for name, files in (("proxy", {"run.json": "{}"}),
                        ("broken", {"trace.bin": "", "run.json": "{}"}),
                        ("edf", {"trace.bin": "x"}), ("none", {})):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    assert [name for name in ("proxy", "broken", "edf", "none")
            if rounds.has_run(str(tmp_path / name))] == ["proxy", "edf"]


def test_what_is_left_of_earlier_runs_is_not_reported(tmp_path):
    rounds.play_all(Stage(tmp_path, {"a": 100}))
    rounds.play_all(Stage(tmp_path, {"a": 100}, rounds=3))
    rounds.play_all(Stage(tmp_path, {"a": 100}, rounds=2))
    left = sorted(str(p.parent.relative_to(tmp_path))
                  for p in tmp_path.rglob("trace.bin"))
    assert left == ["a/1", "a/2"]


def test_it_ends_with_the_verdict_a_page_and_every_number(tmp_path, capfd):
    """What codec-report says is the last that is said."""
    stage = Stage(tmp_path / "out", {"a": 100, "b": 100})
    program = tmp_path / "report"
    program.write_text('#!/bin/sh\nprintf "%s " "$@"\necho verdict\n')
    program.chmod(0o755)
    stage.report = str(program)
    assert rounds.play_all(stage) == 0
    out = stage.options.out
    assert capfd.readouterr().out.endswith(
        f"--html {out}/report.html --data {out}/report.json {out}/"
        + f" {out}/".join(s for s, _ in stage.played) + " verdict\n")


def test_a_broken_run_ends_it_and_the_rest_is_reported(tmp_path, capfd):
    stage = Stage(tmp_path, {"a": 100, "b": 100}, rounds=2, fail_at=2)
    assert rounds.play_all(stage) == BROKEN
    assert len(stage.played) == 2
    assert "== report" in capfd.readouterr().out


@pytest.mark.parametrize("codes,code,played", [
    ((3, 0, 0), 3, 3), ((3, 1), 1, 2), ((3, 2), 2, 2), ((3, 130), 130, 2)])
def test_what_broke_off_wins_over_what_was_missed(
        tmp_path, codes, code, played):
    stage = Stage(tmp_path, {"a": 100, "b": 100, "c": 100}, codes=codes)
    assert rounds.play_all(stage) == code
    assert len(stage.played) == played


def test_a_report_that_fails_wins_over_what_was_missed(tmp_path):
    stage = Stage(tmp_path, {"a": 100}, codes=[3])
    stage.report = "false"
    assert rounds.play_all(stage) == BROKEN


def test_a_search_that_is_told_it_is_wrong_keeps_what_it_found(tmp_path):
    stage = Stage(tmp_path, {"edf": 130, "fifo": 61}, codes=[3, 0, 2])
    assert search.search_all(stage) == 2
    found = json.load(open(tmp_path / "capacity.json", encoding="utf-8"))
    only, = found["schedulers"]
    assert [t["scale"] for t in only["trials"]] == [1, 2]


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

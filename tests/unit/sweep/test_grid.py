# SPDX-License-Identifier: Apache-2.0
"""Ranges, lists and their product."""
import pytest

from codec_sweep import SweepError, api, cell, curves, grid


@pytest.mark.parametrize("text, found", [
    ("50%..80%:10%", ["50%", "60%", "70%", "80%"]),
    ("0.1%..0.3%:0.1%", ["0.1%", "0.2%", "0.3%"]),  # no 0.30000000000000004
    ("1..4:2", ["1", "3"]),  # the end only where a step leads to it
    ("3ms..1ms:-1ms", ["3ms", "2ms", "1ms"]),
    ("5ms..5ms:1ms", ["5ms"]),
    ("100..300:100,1000", ["100", "200", "300", "1000"]),
    ("a,b", ["a", "b"]),
    # values of campaigns with dots or commas of their own
    ("-100ppm..100ppm", ["-100ppm..100ppm"]),
    ("20%..100%..20%", ["20%..100%..20%"]),
    ("[fifo,edf],[rr]", ["[fifo,edf]", "[rr]"]),
    ('{mean: 1ms, sd: 2ms},"a,b"', ["{mean: 1ms, sd: 2ms}", '"a,b"']),
])
def test_values(text, found):
    assert grid.values(text) == found


@pytest.mark.parametrize("text, says", [
    ("50%..80%:10", "one unit for all three"),
    ("1..5:0", "do not lead from 1 to 5"),
    ("5..1:1", "do not lead from 5 to 1"),
    ("1..1000000:1", "10000 at most"),
    ("1,2,1", "stands there twice"),
])
def test_values_that_are_none(text, says):
    with pytest.raises(SweepError, match=says):
        grid.values(text)


@pytest.mark.parametrize("text, number", [
    ("50%", 0.5), ("20ms", 2e7), ("1.5s", 1.5e9), ("3", 3), ("-2", -2),
    ("50ppm", 5e-5), ("5/s", 5), ("partitioned", None), ("1ms..2ms", None)])
def test_numbers_are_those_of_run_json(text, number):
    assert grid.number(text) == number


def test_seeds():
    assert grid.integers("1..3,7", "--seeds") == [1, 2, 3, 7]
    for wrong in "", "a", "3..1", "1,1", "1..", "-1":
        with pytest.raises(SweepError, match="--seeds"):
            grid.integers(wrong, "--seeds")


def test_parameters_come_as_texts_or_values():
    texts = grid.parameters(["a.b=1..3:1", "c=x"])
    assert texts == grid.parameters({"a.b": [1, 2, 3], "c": "x"})
    assert grid.parameters(["a="])[0].values == ("",)  # takes it away
    assert texts[0].numbers == [1, 2, 3] and texts[1].numbers is None
    for wrong in ["a"], ["=3"], ["a=1", "a=2"]:
        with pytest.raises(SweepError):
            grid.parameters(wrong)


def test_what_stands_there_twice_is_refused():
    """The same runs again would make intervals too narrow."""
    once = grid.parameters(["a=1,2"])
    for params, schedulers, seeds, says in [
            (once, ["edf", "edf"], [1], "schedulers: edf"),
            (once, ["edf"], [1, 2, 1], "seeds: 1"),
            (grid.parameters({"a": [1, 1]}), ["edf"], [1], "a: 1")]:
        with pytest.raises(SweepError, match=f"{says} stands there twice"):
            grid.cells(params, schedulers, seeds)
    with pytest.raises(SweepError, match="schedulers: edf stands there twice"):
        curves.tasksets_sweep(curves.asked({}), ["edf", "edf"])


@pytest.mark.parametrize("key", ["seed", "schedulers"])
def test_keys_of_the_grid_are_no_parameters(key):
    """A campaign has them, but every run is told its own."""
    with pytest.raises(SweepError, match=f"{key} is no parameter"):
        grid.parameters([f"{key}=1..3:1"])


def test_cells_are_the_product_in_order():
    found = grid.cells(grid.parameters(["a=1,2", "b=x,y"]), ["edf", "rm"],
                       [1, 2])
    assert len(found) == 16
    assert [str(c) for c in found[:5]] == [
        "a=1, b=x, scheduler edf, seed 1", "a=1, b=x, scheduler edf, seed 2",
        "a=1, b=x, scheduler rm, seed 1", "a=1, b=x, scheduler rm, seed 2",
        "a=1, b=y, scheduler edf, seed 1"]
    assert len({str(c.key) for c in found}) == 16


def test_numbers_of_a_run():
    told = {"seconds": 3.5, "seed": 1,
            "total": {"loss": 0.1, "delay": {"p99_ns": 7}, "name": "x",
                      "ok": True},
            "flows": [{"flow": "a", "jobs": 2}],
            "cpus": [{"busy": 0.5, "picks": 3}, {"busy": 1.0, "picks": 4}],
            "receivers": [{"longest": 5, "packets": 1},
                          {"longest": 2, "packets": 1}]}
    assert cell.numbers(told) == {
        "total.loss": 0.1, "total.delay.p99_ns": 7, "flows.a.jobs": 2,
        "cpus.busy": 0.75, "cpus.picks": 7, "receivers.longest": 5,
        "receivers.packets": 2}


def test_programs_are_where_all_campaigns_look_for_them(monkeypatch, tmp_path):
    (tmp_path / "codec-sim").touch()
    monkeypatch.setenv("CR_BUILD", str(tmp_path))
    assert api.programs() == tmp_path.resolve()

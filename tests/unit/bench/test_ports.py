# SPDX-License-Identifier: Apache-2.0
"""Bars of many calls with ports of their own."""
import pytest


@pytest.fixture
def ports(program):
    return program("ports")


def test_a_bar_is_for_what_it_was_set_for(ports):
    figure = {"median": 1, "least": 1, "most": 3}
    assert ports.barred(figure, 2, True) == {**figure, "bar": 2,
                                             "verdict": "ok"}
    assert ports.barred({**figure, "median": 3}, 2, True)["verdict"] == "missed"
    assert ports.barred(figure, 2, False) == figure


def test_figures_of_fewer_calls_are_told_without_a_bar(ports, capsys):
    one = {"median": 1, "least": 1, "most": 1}
    ports.show({"timed": 10, "calls": 10, "repeat": 1, "start_s": one,
                "resident_mb": {**one, "bar": 300, "verdict": "ok"},
                "idle_cpu_share": one, "cpu_us": None, "p99_ms": None,
                "sent": 5, "lost": 1})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "bar" in line] == [
        next(line for line in lines if line.startswith("resident_mb"))]
    assert "none" in lines[4] and lines[-1].endswith("1 of 5")

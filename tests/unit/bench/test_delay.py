# SPDX-License-Identifier: Apache-2.0
"""The capacity, the bars and the table of delays."""
import pytest


@pytest.mark.parametrize("share, bar", [(5, .5), (20, .5), (50, 1), (70, 1),
                                        (85, 10), (90, 10)])
def test_bars(delay, share, bar):
    assert delay.bar_of(share) == bar


@pytest.mark.parametrize("limit", [1, 7, 8, 100, 650, 5000])
def test_the_capacity_is_found_to_four_per_cent(delay, limit):
    tries = []
    found = delay.capacity(lambda n: tries.append(n) or n <= limit)
    assert limit / 1.04 - 1 <= found <= limit
    assert len(tries) < 18


def test_nothing_is_carried(delay):
    assert delay.capacity(lambda n: False) is None


def test_lost_packets_and_long_delays_are_not_carried(delay, result):
    assert delay.carried(result(p99_ms=10))
    assert not delay.carried(result(p99_ms=10.1))
    assert not delay.carried(result(lost=1))


def test_a_row_leaves_out_runs_whose_load_was_late(delay, result):
    row = delay.row(20, 100, "own", [result(p99_ms=.4), result(p99_ms=.3),
                                     result(p99_ms=99, late_ms=50)],
                    [result(p99_ms=.2)])
    assert row["runs"] == 2 and row["p99_ms"]["most"] == .4
    assert (row["bar_ms"], row["verdict"]) == (.5, "ok")
    row = delay.row(20, 100, "own", [result(late_ms=50)], [])
    assert row["verdict"] == "not measured"


@pytest.mark.parametrize("ours, ideal, said", [
    (.4, .3, "ok"), (.4, 9, "ok"), (.6, .5, "missed"), (.6, .51, "machine")])
def test_the_machine_is_told_from_the_daemon(delay, result, ours, ideal, said):
    row = delay.row(20, 100, "own", [result(p99_ms=ours)],
                    [result(p99_ms=ideal)])
    assert row["verdict"] == said
    assert row["ideal"]["p99_ms"]["median"] == ideal


def test_an_ideal_that_was_not_measured_excuses_nothing(delay, result):
    row = delay.row(20, 100, "own", [result(p99_ms=.6)], [])
    assert row["verdict"] == "missed"


def test_the_table(delay, result, capsys):
    delay.show({"codec": "PCMU to AMR 12.2", "whole": True, "capacity": 100,
                "ideal_capacity": 120, "to_ideal": .833, "bar": .9,
                "verdict": "missed", "repeat": 1, "rows": [
                    delay.row(5, 5, "shared", [result(p99_ms=.6)],
                              [result(p99_ms=.2)]),
                    delay.row(90, 90, "own", [result(late_ms=9)], [])]})
    out = capsys.readouterr().out
    assert "the whole daemon on one core; 100 % are 100 calls" in out
    assert "the ideal carries 120: 0.833 of it, bar 0.9: missed" in out
    assert "0.5 ms: missed" in out and "10.0 ms: not measured" in out

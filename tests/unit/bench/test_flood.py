# SPDX-License-Identifier: Apache-2.0
"""What is told of a flood, and of the calls beside it."""
import argparse

import pytest

ARGS = argparse.Namespace(rate=1000)


@pytest.fixture
def flood(program):
    return program("flood")


def stats(**counts):
    """A daemon's, with these counts."""
    return {group: {name: counts.get(name, 0) for name in names}
            for group, names in {
                "totals": ("packets_in", "duplicates", "reordered", "seq_jumps",
                           "too_big", "wrong_source", "wrong_pt", "surplus",
                           "port_drops"),
                "rx": ("malformed", "unknown_ssrc", "oversized",
                       "socket_drops", "handover_drops")}.items()}


def told(flood, run, sent=1000, seen=900, dropped=100):
    """@run with a flood of a second."""
    return {**run, "flood": flood.figures(
        {"sent": sent, "ns": 1_000_000_000 if sent else 1}, 500, 500 + sent,
        stats(packets_in=500, wrong_pt=seen, port_drops=dropped))}


@pytest.mark.parametrize("counts, unaccounted", [
    ({"packets_in": 50, "wrong_pt": 30, "port_drops": 70}, 0),
    ({"packets_in": 50, "unknown_ssrc": 60, "socket_drops": 40}, 0),
    ({"packets_in": 50, "wrong_pt": 30, "port_drops": 69}, 1),
    ({"packets_in": 51, "unknown_ssrc": 100}, -1)])
def test_every_packet_is_accounted_for(flood, counts, unaccounted):
    figures = flood.figures({"sent": 100, "ns": 2_000_000_000}, 50, 150,
                            stats(**counts))
    assert figures["unaccounted"] == unaccounted
    assert figures["per_second"] == 50
    assert figures["seen"] + figures["dropped"] + unaccounted == 100


def rows(flood, result, **p99_ms):
    runs = {("uring", "own", kind): [told(
        flood, result(p99_ms=p99_ms.get(kind, 1)),
        *(() if kind != "none" else (0, 0, 0)))] for kind in flood.FLOODS}
    return {row["flood"]: row
            for row in flood.rows_of(ARGS, "uring", "own", runs)}


def test_calls_beside_a_flood_have_ten_milliseconds(flood, result):
    said = rows(flood, result, own=10.1, shared=9.9)
    assert said["own"]["verdict"] == "missed"
    assert said["shared"]["verdict"] == said["none"]["verdict"] == "ok"
    assert said["own"]["seen"] == 900 and said["own"]["dropped"] == 100


def test_or_what_the_machine_itself_has(flood, result):
    said = rows(flood, result, elsewhere=20, own=19, shared=21)
    assert said["own"]["verdict"] == "ok"
    assert said["shared"]["verdict"] == "missed"
    assert said["shared"]["bar_ms"] == 20


def test_a_slow_flood_is_none(flood, result):
    run = told(flood, result(), sent=899, seen=899, dropped=0)
    assert not flood.full(ARGS, run)
    row = flood.row(ARGS, ("uring", "own", "own"), [run], 10)
    assert row["runs"] == 0 and row["verdict"] == "not measured"


def test_a_packet_that_is_not_counted_ends_the_program(flood, result):
    key = ("epoll", "own", "shared")
    good = flood.row(ARGS, key, [told(flood, result())], 10)
    bad = flood.row(ARGS, key, [told(flood, result(), seen=899)], 10)
    flood.exact({"rows": [good]})
    with pytest.raises(SystemExit, match="1 .epoll, calls at own, flood sha"):
        flood.exact({"rows": [good, bad]})


def test_the_table(flood, result, capsys):
    said = list(rows(flood, result, own=30).values())
    flood.show({"codec": "PCMU to PCMA", "calls": 50, "whole": True,
                "rate": 1000, "repeat": 1, "rows": said})
    out = capsys.readouterr().out
    assert "the whole daemon on one core; floods of 1000 packets/s" in out
    assert len(out.splitlines()) == 2 + len(flood.FLOODS)
    assert "10.0 ms: missed" in out

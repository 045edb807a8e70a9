# SPDX-License-Identifier: Apache-2.0
"""Ratios of codec-runner to its reflector."""
import pytest


def test_ratios_are_of_neighbours(packet, result):
    """The machine was slow in the second pair: the ratio is the same."""
    pair = packet.pair([result(6), result(12)], [result(5), result(10)], 1.25)
    assert pair["ratio"] == {"median": 1.2, "least": 1.2, "most": 1.2}
    assert pair["verdict"] == "ok" and pair["thrown_away"] == 0
    assert pair["codec_runner"]["cpu_us"]["most"] == 12
    assert pair["reflector"]["p99_ms"]["median"] == 0.1


@pytest.mark.parametrize("bad", [{"lost": 1}, {"late_ms": 4}])
def test_a_bad_run_takes_its_neighbour_with_it(packet, result, bad):
    ours, theirs = [result(9), result(6)], [result(5, **bad), result(5)]
    pair = packet.pair(ours, theirs, 1.25)
    assert pair["ratio"]["most"] == 1.2 and pair["thrown_away"] == 1
    assert pair["codec_runner"]["cpu_us"]["most"] == 6
    assert packet.pair(ours[:1], theirs[:1], 1.25)["verdict"] == "not measured"


def test_a_table_has_what_was_measured_and_what_was_not(packet, result, capsys):
    runs = {(wait, port, who): [result(6 if who == port else 4,
                                       lost=who == "own")]
            for wait in packet.WAITS
            for port, name in packet.REFLECTORS.items()
            for who in (port, name)}
    packet.show({"calls": 600, "repeat": 1, "waits": {
        wait: packet.figures(wait, runs, packet.REFLECTORS)
        for wait in packet.WAITS}})
    lines = capsys.readouterr().out.splitlines()
    assert sum("bar 1.25: missed" in line for line in lines) == 3
    assert sum("bar 1.15: missed" in line for line in lines) == 3
    assert sum("not measured; 1 thrown away" in line for line in lines) == 3

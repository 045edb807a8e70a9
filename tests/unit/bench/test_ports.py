# SPDX-License-Identifier: Apache-2.0
"""Bars of many calls with ports of their own."""
import pytest


@pytest.fixture
def ports(program):
    return program("ports")


def told(ports, **more):
    return list(ports.missed({"soon_calls": 5000, "soon_s": 1.9,
                              "calls": 10000, "resident_mb": 299, **more}))


def test_each_bar_is_told_when_it_is_missed(ports):
    assert not told(ports)
    assert told(ports, soon_s=2.5) == ["5000 calls took 2.5 s, not less than 2.0"]
    assert len(told(ports, soon_s=2.5, resident_mb=300)) == 2


def test_a_bar_is_for_what_it_was_set_for(ports):
    assert not told(ports, soon_calls=4000, soon_s=9)
    assert not told(ports, calls=20000, resident_mb=500)

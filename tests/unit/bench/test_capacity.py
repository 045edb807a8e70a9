# SPDX-License-Identifier: Apache-2.0
"""What one core serves: campaigns, bars, and what is left beside a reflector."""
import types

import pytest


@pytest.fixture
def capacity(program):
    return program("capacity")


def args(**more):
    return types.SimpleNamespace(**{
        "codec": "amr", "mode": "12.2", "direction": "encode", "whole": False,
        "codec_kernels": "auto", "seconds": 1, **more})


@pytest.mark.parametrize("port", ["shared", "own"])
def test_calls_have_addresses_of_their_own(capacity, port, tmp_path):
    capacity.campaign(args(), port, 7, tmp_path / "c")
    text = (tmp_path / "c").read_text()
    assert "\nports: own\n" in text and "count: 7" in text
    assert f"daemon: {{admission: off, ports: {port}}}" in text


def test_the_other_direction_swaps_the_sides(capacity, tmp_path):
    def sides(direction):
        capacity.campaign(args(direction=direction), "own", 1, tmp_path / "c")
        lines = (tmp_path / "c").read_text().splitlines()
        return [line.split(": ", 1)[1] for line in lines[-2:]]

    assert sides("encode") == sides("decode")[::-1]


def test_the_ports_are_searched_in_turn(capacity, monkeypatch):
    """Each finds its own limit, a step of one after a step of the other."""
    limits, tried = {"shared": 930, "own": 811}, []

    def serve(_, port, calls):
        tried.append(port)
        return {"calls": calls, "good": calls <= limits[port], "lost": 0,
                "p99_ns": 1e6}

    monkeypatch.setattr(capacity, "serve", serve)
    raw = types.SimpleNamespace(loop=lambda calls: None, limit=1000,
                                in_time=990)
    searches = [capacity.Search(args(tries=1), port, raw)
                for port in capacity.PORTS["both"]]
    capacity.in_turn(search.run(1000) for search in searches)
    for search in searches:
        limit = limits[search.port]
        assert limit - 10 < search.best["calls"] <= limit
    both = tried[:2 * min(map(tried.count, limits))]
    assert both[::2] == ["shared"] * (len(both) // 2)
    assert both[1::2] == ["own"] * (len(both) // 2)


def test_what_is_left_beside_a_reflector(capacity):
    """A call costs 1 ms a second of codec, and 50 packets of 20 us: half."""
    assert capacity.beside(1000, 50, 20000) == pytest.approx(500)
    assert capacity.beside(1000, 50, 0) == pytest.approx(1000)


def test_bars_are_those_of_amr(capacity):
    assert capacity.bars(args()) == ("efficiency_at_p99", .93)
    assert capacity.bars(args(codec_kernels="stock")) == (
        "efficiency_at_p99", .95)
    assert capacity.bars(args(whole=True)) == ("to_loop_and_reflector", .9)
    assert capacity.bars(args(whole=True, codec_kernels="stock")) is None
    assert capacity.bars(args(mode="4.75")) is None
    assert capacity.bars(args(codec="amr-wb", mode="12.65")) is None


def found(calls):
    return types.SimpleNamespace(port="own", best=calls and {
        "calls": calls, "p99_ns": 5e6})


def test_a_port_is_judged_by_its_bar(capacity):
    raw = types.SimpleNamespace(limit=1000, in_time=900)
    of = capacity.of_port(args(), found(837), raw)
    assert (of["efficiency"], of["efficiency_at_p99"]) == (.837, .93)
    assert of["verdict"] == "ok"
    assert capacity.of_port(args(), found(836), raw)["verdict"] == "missed"
    assert capacity.of_port(args(), found(None), raw) is None


def test_the_whole_daemon_is_judged_beside_the_reflector(capacity, monkeypatch):
    monkeypatch.setattr(capacity, "reflector_ns", lambda *_: 5000.)
    raw = types.SimpleNamespace(limit=1000, in_time=1000)
    of = capacity.of_port(args(whole=True), found(720), raw)
    assert of["loop_and_reflector_calls"] == 800
    assert of["to_loop_and_reflector"] == .9 and of["verdict"] == "ok"

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
        "codec_kernels": "auto", "seconds": 1, "step": 1, **more})


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
                "sane": True, "p99_ns": 1e6}

    monkeypatch.setattr(capacity, "serve", serve)
    raw = types.SimpleNamespace(loop=lambda calls: None, limit=1000,
                                in_time=990)
    searches = capacity.searches_of(args(tries=1, ports="both"), raw)
    capacity.in_turn(search.run(1000) for search in searches)
    for search in searches:
        limit = limits[search.name.split()[0]]
        assert limit - 10 < search.best["calls"] <= limit
    both = tried[:2 * min(map(tried.count, limits))]
    assert both[::2] == ["shared"] * (len(both) // 2)
    assert both[1::2] == ["own"] * (len(both) // 2)


def test_larger_steps_take_fewer_runs(capacity):
    def found(step):
        runs = []
        search = capacity.Search(
            args(tries=1, step=step), "x", lambda n: runs.append(n) or {
                "calls": n, "good": n <= 777, "lost": 0, "p99_ns": 1,
                "sane": True},
            types.SimpleNamespace(loop=lambda calls: None, limit=1, in_time=1))
        list(search.run(1000))
        assert 777 - 10 * step < search.best["calls"] <= 777
        return len(runs)

    assert found(4) < found(1)


def test_the_whole_daemon_has_the_ideal_instead_of_raw_loops(capacity,
                                                             monkeypatch):
    asked = []
    monkeypatch.setattr(capacity, "raw", lambda *them: asked.append(them) or {
        "calls_per_core": 30, "calls_at_p99": 20})
    loops = [{"calls_per_core": 12, "calls_at_p99": 10},
             {"calls_per_core": 11, "calls_at_p99": 11}]
    whole = capacity.Raw(args(whole=True), loops)
    whole.loop(5)
    assert (whole.limit, whole.in_time, asked) == (12, 11, [])
    split = capacity.Raw(args(), loops)
    split.loop(5)
    assert (split.limit, split.in_time, len(asked)) == (30, 20, 1)


def test_a_load_that_lost_its_cpu_serves_nothing(capacity, result):
    assert capacity.judge(9, result(p99_ms=9))["good"]
    for bad in ({"p99_ms": 10.1}, {"lost": 1}, {"held_ms": 190}):
        assert not capacity.judge(9, result(**bad))["good"]
    assert [capacity.judgement(capacity.judge(9, result(**of))) for of in (
        {}, {"lost": 1}, {"held_ms": 190})] == [
            "ok", "too much", "does not count, the load was late itself"]


def test_the_ideal_is_searched_beside_the_whole_daemon(capacity):
    raw = types.SimpleNamespace()
    searches = capacity.searches_of(args(whole=True, ports="both"), raw)
    assert [search.name for search in searches] == [
        "shared port", "ideal, shared port", "own port", "ideal, own port"]


def test_the_ideal_does_what_the_calls_ask(capacity, monkeypatch, result):
    asked = []
    monkeypatch.setattr(capacity.ideal, "through",
                        lambda *them: asked.append(them) or result(p99_ms=1))
    served = capacity.serve_ideal(args(direction="decode"), "own", 70)
    assert served["good"] and served["calls"] == 70
    (calls, port, work, _), = asked
    assert (calls, port) == (70, "own")
    said = dict(zip(work[::2], work[1::2]))
    assert said["--codec"] == "amr" and said["--mode"] == "12.2"
    assert said["--direction"] == "decode" and said["--states"] == "70"


def test_bars_are_those_of_amr(capacity):
    assert capacity.bars(args()) == ("efficiency_at_p99", .93)
    assert capacity.bars(args(codec_kernels="stock")) == (
        "efficiency_at_p99", .95)
    assert capacity.bars(args(whole=True)) == ("to_ideal", .9)
    assert capacity.bars(args(whole=True, codec_kernels="stock")) is None
    assert capacity.bars(args(mode="4.75")) is None
    assert capacity.bars(args(codec="amr-wb", mode="12.65")) is None


def found(calls):
    return calls and {"calls": calls, "p99_ns": 5e6}


def test_a_port_is_judged_by_its_bar(capacity):
    raw = types.SimpleNamespace(limit=1000, in_time=900)
    of = capacity.of_port(args(), found(837), None, raw)
    assert (of["efficiency"], of["efficiency_at_p99"]) == (.837, .93)
    assert of["verdict"] == "ok"
    of = capacity.of_port(args(), found(836), None, raw)
    assert of["verdict"] == "missed"
    assert capacity.of_port(args(), found(None), None, raw) is None


@pytest.mark.parametrize("served, verdict", [(720, "ok"), (719, "missed")])
def test_the_whole_daemon_is_judged_by_the_ideal(capacity, served, verdict):
    raw = types.SimpleNamespace(limit=1000, in_time=1000)
    of = capacity.of_port(args(whole=True), found(served), found(800), raw)
    assert of["ideal_calls"] == 800 and of["verdict"] == verdict

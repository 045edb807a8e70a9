# SPDX-License-Identifier: Apache-2.0
"""codec-runner beside the proxy: ratios, bars, the search for the most calls."""
import pytest


@pytest.fixture
def proxy(program):
    return program("proxy")


def runs(result, program, **of):
    """Two runs of each program, in the second of which all was twice as slow."""
    return {name: [result(cpu_us=of.get(name, 10) * slow, p99_ms=.2 * slow)
                   for slow in (1, 2)] for name in program.NAMES}


def test_ratios_are_of_neighbours(proxy, result):
    of = proxy.figures(runs(result, proxy, proxy=60), runs(result, proxy))
    assert of["auto"]["calls_to_proxy"] == {"median": 6, "least": 6, "most": 6}
    # 1,000 packets of 10 us in a second of 50 calls
    assert of["auto"]["cpu_ms_per_call_second"]["least"] == .2
    assert of["auto"]["p99_at_50_bar"] == {"bar": .3, "verdict": "ok"}


def test_a_longer_delay_than_the_proxys_is_missed(proxy, result):
    quiet = runs(result, proxy)
    quiet["auto"] = [result(p99_ms=.4)]
    of = proxy.figures(runs(result, proxy), quiet)
    assert of["auto"]["p99_at_50_bar"]["verdict"] == "missed"
    assert of["stock"]["p99_at_50_bar"]["verdict"] == "ok"


def test_delays_of_a_late_load_are_not_judged(proxy, result):
    quiet = runs(result, proxy)
    quiet["auto"] = [result(p99_ms=.1), result(p99_ms=50, late_ms=9)]
    quiet["stock"] = [result(p99_ms=50, late_ms=9)]
    of = proxy.figures(runs(result, proxy), quiet)
    assert of["auto"]["p99_at_50_ms"]["most"] == .1
    assert of["stock"]["p99_at_50_ms"] is None
    assert "p99_at_50_bar" not in of["stock"]


@pytest.mark.parametrize("limit", [17, 51, 77, 101, 199, 860])
def test_the_most_calls_are_found(proxy, result, monkeypatch, limit):
    """Also beyond what the CPU time of few calls would allow."""
    monkeypatch.setattr(proxy, "one", lambda args, name, folder, calls: result(
        lost=calls > limit))
    assert limit * .97 - 1 < proxy.search(None, "auto", None, 100) <= limit


def test_a_load_that_is_late_far_above_the_limit_does_not_matter(
        proxy, result, monkeypatch):
    monkeypatch.setattr(proxy, "one", lambda args, name, folder, calls: result(
        lost=calls > 110, late_ms=9 if calls > 150 else .1))
    assert 107 <= proxy.search(None, "auto", None, 100) <= 110


def test_no_figure_when_the_load_was_late(proxy, result, monkeypatch):
    monkeypatch.setattr(proxy, "one", lambda *_: result(lost=1, late_ms=9))
    assert proxy.search(None, "auto", None, 100) is None


def test_the_bar_of_calls_is_for_kernels(proxy, monkeypatch):
    served = {"proxy": 100, "stock": 100, "auto": 550, "shared": 549}
    monkeypatch.setattr(proxy, "search", lambda _, name, *more: served[name])
    of = {name: {"calls_per_core": {"median": 1}} for name in proxy.NAMES}
    proxy.capacity(None, None, of)
    assert of["auto"]["served_bar"] == {"bar": 5.5, "verdict": "ok"}
    assert of["shared"]["served_bar"]["verdict"] == "missed"
    assert of["stock"]["served_to_proxy"] == 1
    assert "served_bar" not in of["stock"]


def test_a_second_counts_in_which_the_load_had_its_cpu(proxy, result):
    """Half of the time it could not send: what it sent took twice as much."""
    assert proxy.cpu_ms(result(held_ms=500)) == 2 * proxy.cpu_ms(result())
    assert proxy.good(result(held_ms=80))
    assert not proxy.good(result(held_ms=120))

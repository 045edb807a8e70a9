# SPDX-License-Identifier: Apache-2.0
"""Phases come from the load: where it is above what the workers can do, or
else where it is high."""
import numpy as np
import pytest

from codec_report.phases import Load, find


def load(*spells, cost=0.001, workers=1):
    """Calls of 50 frames a second; spells: (how many, from s, to s)."""
    at, call, number = [], [], 0
    for count, begin, end in spells:
        for k in range(count):
            number += 1
            times = np.arange(begin + 0.02 * k / count, end, 0.02)
            at.append(times)
            call.append(np.full(len(times), number))
    at, call = np.concatenate(at), np.concatenate(call)
    return Load(at, None if cost is None else np.full(len(at), cost), call,
                0.02, workers)


def parsed(phases):
    return [(p.name, [tuple(round(t, 3) for t in span) for span in p.spans])
            for p in phases]


INF = float("inf")


def test_an_overload_has_a_calm_and_an_after():
    calm, over, after = find(load((12, 0, 10), (12, 4, 6)))
    assert parsed([calm, over, after]) == [
        ("calm", [(-INF, 4)]), ("overload", [(4, 6)]), ("after", [(6, INF)])]
    assert [round(p.demand, 2) for p in (calm, over, after)] == [.6, 1.2, .6]
    assert [round(p.calls, 1) for p in (calm, over, after)] == [12, 24, 12]


def test_every_frame_is_in_one_phase():
    made = load((12, 0, 10), (12, 4, 6), (12, 8, 9.5))
    phases = find(made)
    assert sum(p.holds(made.at).astype(int) for p in phases).tolist() == \
        [1] * len(made.at)
    assert parsed(phases)[1] == ("overload", [(4, 6), (8, 10)]) or \
        parsed(phases)[1] == ("overload", [(4, 6), (8, 9.5)])


def test_load_within_the_capacity_of_two_workers_is_a_peak():
    assert [p.name for p in find(load((12, 0, 10), (12, 4, 6), workers=2))] \
        == ["calm", "peak", "after"]


@pytest.mark.parametrize("spells,cost,name", [
    ([(12, 0, 10)], .001, "calm"),
    ([(24, 0, 10)], .001, "overload"),        # all the time
    ([(12, 0, 10)], None, "all"),             # nobody knows
    ([(12, 0, 1), (12, 0.2, 0.8)], .001, "calm"),  # too short to tell
    ([(12, 0, 10), (2, 4, 6)], .001, "calm"),      # hardly more
    ([(12, 0, 10), (12, 0, 7)], .0005, "calm"),    # no calm before it
])
def test_one_phase(spells, cost, name):
    assert parsed(find(load(*spells, cost=cost))) == [(name, [(-INF, INF)])]


def test_a_load_at_the_limit_is_no_row_of_overloads():
    """Frames cost more by turns, but no half second is over by 2 %."""
    made = load((20, 0, 10))
    made.cost = np.where(made.at * 50 % 2 < 1, .0012, .0008)
    assert [p.name for p in find(made)] == ["calm"]


def test_without_costs_a_peak_is_found_by_frames():
    assert parsed(find(load((12, 0, 10), (12, 4, 6), cost=None)))[1] == (
        "peak", [(4, 6)])
    assert find(Load(np.empty(0), None, np.empty(0), 0.0)) == []


def test_a_worker_that_was_kept_from_its_cpu_is_no_load():
    """Of 100 frames of a call, one took a second; of another, none is
    known."""
    from codec_report.contenders import _cost
    call = np.repeat([3, 7, 9], 100)
    busy = np.concatenate([np.full(100, 2e6), np.full(100, 4e6),
                           np.zeros(100)])
    busy[50] = 1e9
    cost = _cost(call, busy)
    assert cost[:100] == pytest.approx((99 * .002 + .02) / 100)
    assert cost[100:200] == pytest.approx(.004)
    assert cost[200:] == pytest.approx((cost[0] + .004) / 2)
    assert _cost(call, np.zeros(300)) is None

# SPDX-License-Identifier: Apache-2.0
"""Random task sets are what their names say."""
import math
import random

import pytest

from codec_sweep import SweepError, curves, tasksets

DRAWS = tuple(tasksets.DRAWS)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("n, total", [(1, 0.7), (2, 1.9), (6, 1.0), (10, 2.0),
                                      (10, 0.05), (16, 3.9)])
def test_utilisations_add_up_and_none_is_above_one(draw, n, total):
    rng = random.Random(f"{n} {total}")
    for _ in range(200):
        found = tasksets.DRAWS[draw](rng, n, total)
        assert len(found) == n
        assert math.fsum(found) == pytest.approx(total, abs=1e-9)
        assert all(-1e-12 <= u <= 1 + 1e-12 for u in found)


@pytest.mark.parametrize("n, total", [(4, 4.0), (40, 37.5), (200, 100.5)])
def test_randfixedsum_fills_every_cpu(n, total):
    """Where UUniFast gives up."""
    found = tasksets.randfixedsum(random.Random(1), n, total)
    assert math.fsum(found) == pytest.approx(total) and max(found) <= 1 + 1e-9
    if n > 4:
        with pytest.raises(SweepError, match="use draw=randfixedsum"):
            tasksets.uunifast(random.Random(1), n, total)


def by_rejection(rng, n, total):
    """Evenly over the slice, the slow way: all but one drawn from the cube,
    until the rest fits."""
    while True:
        found = [rng.random() for _ in range(n - 1)]
        rest = total - math.fsum(found)
        if 0 <= rest <= 1:
            return [*found, rest]


def deciles(draw, n, total, of):
    rng = random.Random(f"{n} {total} {of.__name__}")
    found = sorted(of(draw(rng, n, total)) for _ in range(4000))
    return [found[400 * k] for k in range(1, 10)]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("n, total", [(3, 0.8), (3, 1.5), (4, 2.3), (5, 1.2)])
def test_draws_are_even_over_all_ways_to_share_out(draw, n, total):
    """The largest, the smallest, the first and the product of values are
    distributed as by rejection: deciles within the noise of 4000 draws."""
    for of in max, min, math.prod, lambda found: found[0]:
        assert deciles(tasksets.DRAWS[draw], n, total, of) == pytest.approx(
            deciles(by_rejection, n, total, of), abs=0.04)


def test_periods_are_log_uniform_on_their_grid():
    shape = tasksets.Shape(n=10)
    found = [t.period for k in range(400)
             for t in tasksets.draw(shape, 0.5, k)]
    assert all(p % shape.grid == 0 for p in found)
    assert shape.shortest <= min(found) and max(found) <= shape.longest
    # half of them below the geometric mean, 100 ms
    below = sum(p < 100 * tasksets.MS for p in found) / len(found)
    assert abs(below - 0.5) < 4 * 0.5 / len(found) ** 0.5


def test_a_set_never_takes_more_than_it_should_and_is_the_same_again():
    shape = tasksets.Shape(n=8, cpus=4, constrained=True)
    for share in 0.05, 0.5, 1.0:
        tasks = tasksets.draw(shape, share, "7/x")
        assert tasks == tasksets.draw(shape, share, "7/x")
        assert tasks != tasksets.draw(shape, share, "8/x")
        taken = sum(t.cost / t.period for t in tasks)
        assert 4 * share - 1e-5 < taken <= 4 * share + 1e-12
        assert all(t.cost <= t.deadline <= t.period for t in tasks)


@pytest.mark.parametrize("words, says", [
    ({"m": 3}, "--tasksets m: known: n, cpus, queues"),
    ({"n": "ten"}, "n=ten: needs a number"),
    ({"n": 300}, "needs 1 to 200"),
    ({"util": "50%..200%:50%"}, "util=150%: needs shares"),
    ({"periods": "10..20"}, "periods=10: needs a time"),
    ({"periods": "10ms..5ms"}, "grid <= shortest <= longest"),
    ({"draw": "uniform"}, "draw=uniform: known: randfixedsum, uunifast"),
])
def test_shapes_that_are_none(words, says):
    with pytest.raises(SweepError, match=says):
        curves.asked(words)


def test_more_load_than_tasks_is_refused():
    with pytest.raises(SweepError, match="2 tasks cannot take 3 CPUs"):
        tasksets.draw(tasksets.Shape(n=2, cpus=4), 0.75, 1)

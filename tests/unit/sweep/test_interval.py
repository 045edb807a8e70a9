# SPDX-License-Identifier: Apache-2.0
"""Intervals, against tables and against draws."""
import random

import pytest

from codec_sweep import interval


@pytest.mark.parametrize("degrees, t", [
    (1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (5, 2.5706),
    (9, 2.2622), (10, 2.2281), (19, 2.0930), (30, 2.0423), (100, 1.9840)])
def test_students_t_is_that_of_the_tables(degrees, t):
    assert interval.quantile(degrees) == pytest.approx(t, abs=5e-5)


def test_a_mean_has_an_interval_when_there_are_two():
    assert interval.of_mean([3.0]) == (3.0, None, None, None)
    mean, deviation, low, high = interval.of_mean([1.0, 2.0, 3.0])
    assert (mean, deviation) == (2, 1)
    assert (low, high) == pytest.approx((2 - 4.3027 / 3 ** 0.5,
                                         2 + 4.3027 / 3 ** 0.5), abs=1e-3)


def test_intervals_hold_the_truth_19_times_of_20():
    """2000 samples of 6: 95 % within 4 standard errors."""
    rng, hits = random.Random(5), 0
    for _ in range(2000):
        _, _, low, high = interval.of_mean([rng.gauss(7, 3)
                                            for _ in range(6)])
        hits += low <= 7 <= high
    assert abs(hits / 2000 - 0.95) < 4 * (0.05 * 0.95 / 2000) ** 0.5


def test_shares_stay_shares():
    assert interval.of_share(0, 20)[:2] == (0, 0)
    assert interval.of_share(20, 20)[2] == 1
    for n in range(1, 60):  # for 6, rounding made it 3e-17 of 0 hits
        assert interval.of_share(0, n)[1] == 0
        assert interval.of_share(n, n)[2] == 1
    # Newcombe 1998, Table I: 81 of 263
    share, low, high = interval.of_share(81, 263)
    assert (low, high) == pytest.approx((0.2553, 0.3662), abs=1e-4)

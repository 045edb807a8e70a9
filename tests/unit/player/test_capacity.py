# SPDX-License-Identifier: Apache-2.0
"""The search for the largest load, on machines of known capacity."""
import random

import pytest

from capacity import LOWEST, Search


@pytest.mark.parametrize("limit", [.02, .3, .99, 1, 1.01, 1.7, 9, 40])
def test_the_limit_is_found_to_five_per_cent(limit):
    found = Search(lambda scale: scale <= limit).run()
    assert limit / 1.05 <= found.scale <= limit
    assert found.confirmed
    assert len(found.trials) <= 14
    assert [s for s, _ in found.trials].count(found.scale) == 2


def test_nothing_is_carried():
    found = Search(lambda scale: False).run()
    assert found.scale is None and not found.confirmed
    assert min(s for s, _ in found.trials) == LOWEST


def test_everything_is_carried():
    found = Search(lambda scale: True).run()
    assert found.scale == 64 and found.confirmed


def test_a_winner_that_fails_again_is_not_believed():
    """The first trial at 1 was luck: the limit is .5."""
    seen = []

    def trial(scale):
        seen.append(scale)
        return scale <= .5 or len(seen) == 1
    found = Search(trial).run()
    assert .5 / 1.05 <= found.scale <= .5 and found.confirmed


def test_a_noisy_machine_ends_the_search_too():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(200):
        found = Search(lambda scale: scale < rng.uniform(.5, 1.5)).run()
        assert found.confirmed and found.scale < 1.5
        assert len(found.trials) < 200

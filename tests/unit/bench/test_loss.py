# SPDX-License-Identifier: Apache-2.0
"""When speech through a two-way call is as good as the codec alone."""
import pytest


@pytest.fixture
def loss(program):
    return program("loss")


@pytest.mark.parametrize("apart, late, verdict", [
    (0.0, 0.0, "ok"), (0.15, 0.01, "ok"), (-0.15, 0.0, "ok"),
    (0.151, 0.0, "missed"), (-0.151, 0.0, "missed"), (0.0, 0.011, "missed")])
def test_apart_or_late_is_missed(loss, apart, late, verdict):
    assert loss.verdict(apart, late) == verdict

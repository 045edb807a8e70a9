# SPDX-License-Identifier: Apache-2.0
"""Interleaved comparisons of blocks that codec-sim plays, on a machine whose
speed drifts; tests/bench/self-comparison --simulated plays more of them."""
import sys

import pytest
from conftest import ROOT, SIM

sys.path.insert(0, str(ROOT / "tests" / "bench"))
from common import comparison  # noqa: E402

BOTH = ["fifo", "fifo#2"]


@pytest.mark.parametrize("codec, said", [(1.0, "equal"), (1.05, "fifo#2")])
def test_the_same_is_equal_and_waste_is_found(codec, said):
    run = comparison.simulated(SIM, 1, BOTH, codec={"fifo#2": codec})
    result = comparison.verdict(run.blocks)
    assert comparison.found(result, *BOTH) == said
    assert {b.round for b in run.blocks} == set(range(1, 11))
    for b in run.blocks:
        assert not b.flaw and b.values["stolen"] == 0
        # a worker that never rests: what it cannot do is lost, and no more
        assert abs(b.values["excess"]) < 0.02 and b.values["idle"] < 0.01

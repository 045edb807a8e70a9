# SPDX-License-Identifier: Apache-2.0
"""bench-load through codec-runner, set up as the benchmarks do: every answer is
the speech that was sent, in order."""
import os
import pathlib
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from common.runner import Calls, Runner  # noqa: E402
from common.wire import played  # noqa: E402

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2,
                                reason="needs two CPUs")


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "apart"])
@pytest.mark.parametrize("port", ["shared", "own"])
@pytest.mark.parametrize("codec, calls", [
    ("pcma", 120),  # more than a batch of requests
    ("amr-wb", 10)], ids=["pcma", "amr-wb"])
def test_answers_are_what_was_said(codec, calls, port, whole):
    terms = Calls(codec, port)
    runner = Runner(whole, ["--ring", "100"])
    # all packets count, so that each gap is a loss that is told
    run = played(calls, runner, lambda where: runner.start(terms, where),
                 [*terms.load_options(), "--seconds", "1s", "--warm", "0s",
                  "--linger", "5s"])
    assert runner.process.returncode == 0
    assert run["sent"] == run["received"] + run["lost"]
    assert run["received"] > 0
    for trouble in ("refused", "duplicate", "reordered", "strange", "wrong"):
        assert run[trouble] == 0, (trouble, run)
    # a packet that a stalled machine has lost leaves a gap
    assert run["out_of_sequence"] <= run["lost"]

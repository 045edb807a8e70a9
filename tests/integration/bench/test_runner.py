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

CALLS = 150  # more than a batch of requests

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2,
                                reason="needs two CPUs")


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "apart"])
@pytest.mark.parametrize("port", ["shared", "own"])
@pytest.mark.parametrize("codec", ["pcma", "amr-wb"])
def test_answers_are_what_was_said(codec, port, whole):
    calls = Calls(codec, port)
    runner = Runner(whole, ["--ring", "100"])
    run = played(CALLS, runner, lambda where: runner.start(calls, where),
                 [*calls.load_options(), "--seconds", "1s", "--warm", "100ms",
                  "--linger", "5s"])
    assert runner.process.returncode == 0
    assert run["sent"] == run["received"] + run["lost"]
    assert run["received"] > 0
    for trouble in ("refused", "duplicate", "reordered", "strange", "wrong"):
        assert run[trouble] == 0, (trouble, run)
    # a packet that a stalled machine has lost leaves a gap
    assert run["out_of_sequence"] <= run["lost"]

# SPDX-License-Identifier: Apache-2.0
"""What the tests of campaigns/sweep share."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
PATIENCE = 600  # seconds until a step counts as hung
sys.path.insert(0, str(ROOT / "campaigns"))

CAMPAIGN = """\
duration: 300ms
platform: {cpus: 1}
daemon: {admission: off}
schedulers: [fifo, "rr,quantum=2ms"]
flows:
  - name: speech
    load: 50%
    period: 20ms
    start: {spread: 20ms}
    ring: 4
    cost: {model: lognormal, mean: 1ms, sd: 500us, max: 5ms}
  - {name: noise, count: 1, period: 7ms, share: 10%}
"""


@pytest.fixture
def campaign(tmp_path):
    path = tmp_path / "talk.yaml"
    path.write_text(CAMPAIGN)
    return path


def command(*words):
    """campaigns/sweep on the build under test."""
    return [str(ROOT / "campaigns" / "sweep"), "--build", str(BUILD),
            *map(str, words)]


@pytest.fixture
def run(tmp_path):
    """Run campaigns/sweep; its CompletedProcess."""

    def run(*words):
        return subprocess.run(command(*words), cwd=tmp_path,
                              capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
    return run

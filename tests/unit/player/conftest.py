# SPDX-License-Identifier: Apache-2.0
"""campaigns/player as a package-less folder, as campaigns/run starts it."""
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "campaigns" / "player"))

import search  # noqa: E402


@pytest.fixture(autouse=True)
def others(monkeypatch):
    """What others have of the CPU time, trial by trial; then nothing: what runs
    beside these tests is not their subject."""
    shares = []
    monkeypatch.setattr(search.Others, "share",
                        lambda _: shares.pop(0) if shares else 0)
    return shares

# SPDX-License-Identifier: Apache-2.0
"""tests/bench/survival: calls of SIPp through Kamailio outlive the upgrade, the
crash and the machine of their media node."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CALLS = 10

if missing := [name for name in ("kamailio", "sipp", "redis-server", "nsenter")
               if not shutil.which(name, path=f"{os.environ['PATH']}:"
                                   "/usr/sbin")]:
    pytest.skip(f"needs {missing}", allow_module_level=True)
if os.getuid():
    pytest.skip("networks of its own are root's", allow_module_level=True)


@pytest.mark.parametrize("kind, events", [
    ("amr", ["upgrade", "crash", "machine", "machine"]),
    ("relay", ["crash", "machine"])])
def test_no_call_is_lost(kind, events):
    """Not even if the first machine comes back, and then the other one dies."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/bench/survival", "--json", "--calls",
         str(CALLS), "--kind", kind, *(f"--event={e}" for e in events)],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["event"] for row in result["events"]] == ["none", *events]
    for row in result["events"]:
        assert (row["calls_lost"], row["calls_kept"]) == (0, CALLS), row
        assert (row["others"], row["breaks"]) == (0, 0), row
    assert (result["byes"], result["calls_left"]) == (CALLS, 0)
    assert result["records"] == CALLS

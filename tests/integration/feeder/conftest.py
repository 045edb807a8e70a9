# SPDX-License-Identifier: Apache-2.0
"""The daemons and campaigns of tests/integration/programs, for these tests."""
import importlib.util
import pathlib

_PATH = pathlib.Path(__file__).resolve().parents[1] / "programs" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("programs_rig", _PATH)
rig = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rig)

PATIENCE = rig.PATIENCE
real_time_is_allowed = rig.real_time_is_allowed
daemon = rig.daemon
campaign = rig.campaign

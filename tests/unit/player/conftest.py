# SPDX-License-Identifier: Apache-2.0
"""campaigns/player as a package-less folder, as campaigns/run starts it."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "campaigns" / "player"))

# SPDX-License-Identifier: Apache-2.0
"""codec_sweep, as campaigns/sweep starts it."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "campaigns"))

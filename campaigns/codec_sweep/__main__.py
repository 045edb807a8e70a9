# SPDX-License-Identifier: Apache-2.0
"""python3 -m codec_sweep: campaigns/sweep."""
import sys

from codec_sweep.cli import main

sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""python3 -m codec_report: the same as codec-report."""
import sys

from codec_report.cli import main

sys.exit(main())

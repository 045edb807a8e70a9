# SPDX-License-Identifier: Apache-2.0
"""The names of run folders."""
import re


def folder_name(spec):
    """Of a scheduler's run, as codec-sim has it (src/sim/report_folder.c):
    "./x.so,boost=5" is x.so_boost=5, no hidden folder."""
    return re.sub(r"[^A-Za-z0-9=._-]", "_", spec.lstrip("./"))

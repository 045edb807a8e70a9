# SPDX-License-Identifier: Apache-2.0
"""Names of schedulers, and those of their run folders."""
import re
import subprocess


def plain_name(spec):
    """As codec-runner knows it: fifo#2 is fifo under another name, for a
    comparison with itself."""
    return re.sub(r"#[0-9]+$", "", spec)


def wrong_scheduler(runner, spec):
    """What codec-runner says is wrong with it; None: nothing."""
    done = subprocess.run([runner, "--config", "none", "--check-config",
                           "--scheduler", plain_name(spec)],
                          capture_output=True,
                          text=True, check=False)
    if not done.returncode:
        return None
    return done.stderr.partition("\n")[0].removeprefix("codec-runner: ")


def folder_name(spec):
    """Of a scheduler's run, as codec-sim has it (src/sim/sim_report.c):
    "./x.so,boost=5" is x.so_boost=5, no hidden folder."""
    return re.sub(r"[^A-Za-z0-9=._-]", "_", spec.lstrip("./"))

# SPDX-License-Identifier: Apache-2.0
"""CPUs, ports and processes of a benchmark."""
import ctypes
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "campaigns" / "player"))

from loopback import HOST, free_port  # noqa: E402,F401

BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def build():
    """Make the release build unless it is there."""
    if all((BUILD / name).exists() for name in ("codec-feeder", "bench-load")):
        return
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)


@functools.cache
def cpus():
    """CPU of the sender, CPU of the program that is measured; asked before
    this program binds itself to the first."""
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 2:
        fail("needs two CPUs, one for the measured program alone")
    return have[0], have[-1]


def pin(*on):
    """For preexec_fn: what a child does first. It dies with its parent."""
    prctl = ctypes.CDLL(None).prctl

    def do():
        os.sched_setaffinity(0, on)
        prctl(1, signal.SIGTERM)
    return do


def cpu_ns(pid):
    """CPU time of all threads of a process: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)

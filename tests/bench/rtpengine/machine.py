# SPDX-License-Identifier: Apache-2.0
"""CPUs, ports and processes of a benchmark."""
import ctypes
import functools
import os
import signal
import socket
import sys
import time

HOST = "127.0.0.1"


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"proxy: {text}")


@functools.cache
def cpus():
    """CPU of the sender, CPU of the program that is measured; asked before
    this program binds itself to the first."""
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 2:
        fail("needs two CPUs, one for the measured program alone")
    return have[0], have[-1]


def pin(cpu):
    """For preexec_fn: what a child does first. It dies with its parent."""
    prctl = ctypes.CDLL(None).prctl

    def do():
        os.sched_setaffinity(0, {cpu})
        prctl(1, signal.SIGTERM)
    return do


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def cpu_ns(pid):
    """CPU time of all threads of a process: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)

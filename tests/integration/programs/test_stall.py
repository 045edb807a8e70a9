# SPDX-License-Identifier: Apache-2.0
"""A side that stalls keeps its association; one that is silent for longer than
the other's --peer-timeout is lost, and --grace begins then."""
import contextlib
import re
import signal
import subprocess
import time

import pytest

from conftest import BUILD, PATIENCE

# Longer than --peer-timeout=4s, and than three retransmissions took once.
STALL = 8


@contextlib.contextmanager
def watching(d, *options):
    """codec-ctl, which asks ten times a second over one association."""
    watch = subprocess.Popen(
        [BUILD / "codec-ctl", *d.where(), "--json", *options, "watch",
         "100ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines(watch, 3)
        yield watch
    finally:
        watch.kill()
        watch.communicate()


def lines(process, n):
    """Read so many lines; a process that ends says no more."""
    for _ in range(n):
        assert process.stdout.readline(), process.stderr.read()


@contextlib.contextmanager
def stopped(process):
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def wait_for(d, pattern):
    """Wait for a line of the daemon's log; all of it until now."""
    for _ in range(10 * PATIENCE):
        d.log.seek(0)
        log = d.log.read()
        if re.search(pattern, log):
            return log
        time.sleep(0.1)
    raise AssertionError(f"no {pattern} in {log}")


def lost(d):
    d.log.seek(0)
    return "peer-gone" in d.log.read()


@pytest.mark.parametrize("who", ["client", "daemon"])
def test_who_stalls_keeps_its_association(daemon, who):
    # the side that is stopped does not take its own silence for the other's
    short = ["--peer-timeout=4s"]
    d = daemon(*(short if who == "daemon" else []))
    with watching(d, *(short if who == "client" else [])) as watch:
        with stopped(watch if who == "client" else d.process):
            time.sleep(STALL)
        # what it has written before the stop is in the pipe
        lines(watch, 30)
        assert watch.poll() is None
        assert not lost(d)


def test_a_silent_client_is_lost_then_grace_begins(daemon, campaign):
    d = daemon("--peer-timeout=4s", "--grace=1s")
    calls = campaign("seed: 1\nduration: 1h\nflows:\n  - name: some\n"
                     "    count: 2\n    in: {codec: pcmu}\n"
                     "    out: {codec: pcma}\n")
    feeder = subprocess.Popen([BUILD / "codec-feeder", calls, *d.where(),
                               "--quiet"])
    try:
        for _ in range(10 * PATIENCE):
            if len(d.ctl("list")["streams"]) == 2:
                break
        with stopped(feeder):
            log = wait_for(d, "session-over")
    finally:
        feeder.kill()
        feeder.wait()
    told = re.findall(r"(peer-gone .*reason=lost calls=2|session-over .*)", log)
    assert [t.split()[0] for t in told] == ["peer-gone", "session-over"]
    assert d.ctl("list")["streams"] == []


def test_a_silent_daemon_is_lost(daemon):
    d = daemon()
    with watching(d, "--peer-timeout=4s") as watch, stopped(d.process):
        assert watch.wait(timeout=PATIENCE) == 3
        assert "no answer from the peer" in watch.stderr.read()

# SPDX-License-Identifier: Apache-2.0
"""codec-runner with io_uring, without, and where a sandbox refuses it: SANDBOX
names the program that starts another one in such a sandbox."""
import os
import signal
import socket
import subprocess
import time

import pytest

from conftest import BUILD, PATIENCE
from test_daemon import rtp, start_call

SANDBOX = (os.environ["SANDBOX"], "io_uring")
ALL = ("--max-age", "none")  # a busy machine sheds no frame


def transcodes(d, sock):
    """Frames come back from the shared port and from one of a call's own."""
    for port in ("shared", "own"):
        call = start_call(d, sock, port=port)
        host, number = call["rtp"]["address"].split(":")
        for i in range(20):
            sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                        (host, int(number)))
            assert len(sock.recv(2048)) == 172
        # an answer may be here before the worker has counted it
        end = time.monotonic() + PATIENCE
        while d.ctl("stream", str(call["call"]))["count"]["done"] < 20:
            assert time.monotonic() < end
        count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
        assert count["done"] == count["packets_out"] == 20


def assert_io(d, io):
    """All that tells how packets come and go tells the same."""
    assert d.ctl("hello")["io"] == io
    stats = d.ctl("stats")
    assert stats["rx"]["io"] == io
    assert [r["io"] for r in stats["receivers"]] == [io] * len(
        stats["receivers"])
    assert f" io={io}" in log_of(d)


def log_of(d):
    """What it said of its start."""
    return d.logged(" ready ")


def test_a_sandbox_without_io_uring_means_epoll(daemon, sock):
    d = daemon(*ALL, launcher=SANDBOX)
    transcodes(d, sock)
    assert_io(d, "epoll")
    (line,) = (one for one in log_of(d).splitlines() if "no-io-uring" in one)
    assert "seccomp" in line and "kernel.io_uring_disabled" in line


def test_epoll_by_choice_needs_no_explanation(daemon, sock):
    d = daemon(*ALL, "--io", "epoll")
    transcodes(d, sock)
    assert_io(d, "epoll")
    assert "no-io-uring" not in log_of(d)


@pytest.mark.parametrize("options", [[], ["--receivers", "2"]])
def test_io_uring_by_choice(daemon, sock, options):
    try:
        d = daemon(*ALL, "--io", "uring", *options)
    except RuntimeError as e:
        assert "io_uring: " in str(e)
        pytest.skip(f"this kernel refuses: {e}")
    transcodes(d, sock)
    assert_io(d, "uring")


def test_what_is_taken_by_itself_is_one_of_both(daemon, sock):
    d = daemon(*ALL)
    transcodes(d, sock)
    io = d.ctl("hello")["io"]
    assert_io(d, io)
    assert (io == "epoll") == ("no-io-uring" in log_of(d))


def test_io_uring_that_cannot_be_had_is_refused():
    done = subprocess.run([*SANDBOX, BUILD / "codec-runner", "--rtp",
                           "127.0.0.1:0", "--io", "uring"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and not done.stdout
    assert "io_uring: forbidden to this process" in done.stderr
    assert "--io auto" in done.stderr


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_the_port_is_free_when_the_daemon_has_ended(daemon, sock, io):
    d = daemon(*ALL, "--io", io)
    transcodes(d, sock)
    host, port = d.ready["rtp"].split(":")
    assert d.stop() == 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind((host, int(port)))


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_a_daemon_takes_the_port_of_one_that_was_killed(daemon, sock, io):
    d = daemon(*ALL, "--io", io)
    for _ in range(5):
        transcodes(d, sock)
        d.stop(signal.SIGKILL)
        d = daemon(*ALL, "--io", io, "--rtp", d.ready["rtp"])
    transcodes(d, sock)

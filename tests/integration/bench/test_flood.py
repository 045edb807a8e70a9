# SPDX-License-Identifier: Apache-2.0
"""bench-flood sends what it says, and tests/bench/flood accounts for each of
its packets while the other calls lose none."""
import argparse
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from common.machine import BUILD  # noqa: E402
from common.runner import Runner  # noqa: E402

PATIENCE = 600


def program():
    loader = SourceFileLoader("bench_flood", str(BENCH / "flood"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def io_here():
    """How a daemon receives that has the choice."""
    runner = Runner(True)
    try:
        return runner.ask("hello")["io"]
    finally:
        runner.stop()


def test_packets_are_what_was_asked_for():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.settimeout(PATIENCE)
        s.bind(("127.0.0.1", 0))
        flood = subprocess.Popen(
            [BUILD / "bench-flood", "--rate", "2000", "--ssrc", "7", "--pt",
             "8", "--to", "127.0.0.1:%d" % s.getsockname()[1]],
            stdout=subprocess.PIPE, text=True)
        assert flood.stdout.readline() == "ready\n"
        got = [s.recv(2048) for _ in range(200)]
        flood.terminate()
        said = json.loads(flood.communicate(timeout=PATIENCE)[0])
        assert flood.returncode == 0
        got += [s.recv(2048) for _ in range(said["sent"] - 200)]
        s.setblocking(False)
        with pytest.raises(BlockingIOError):
            s.recv(2048)
    for i, packet in enumerate(got):
        assert packet[:2] == b"\x80\x08" and len(packet) == 172
        assert packet[2:] == ((i & 0xffff).to_bytes(2, "big") +
                              (160 * i).to_bytes(4, "big") +
                              (7).to_bytes(4, "big") + b"\xff" * 160)
    assert said["refused"] == 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2,
                    reason="needs two CPUs")
@pytest.mark.parametrize("io", ["uring", "epoll"])
@pytest.mark.parametrize("kind", ["own", "speech", "shared"])
def test_every_packet_is_accounted_for(io, kind):
    if io == "uring" and io_here() != io:
        pytest.skip("no io_uring here")
    args = argparse.Namespace(
        rate=50000, calls=20, codec="pcma", mode=None, whole=True, seconds=1,
        warm=0, phases="random", seed=1,
        # a busy machine sheds nothing
        option=["--ring", "100", "--max-age", "none"])
    for _ in range(3):
        run = program().once(args, io, "own", kind)
        flood = run["flood"]
        assert flood["unaccounted"] == 0, flood
        assert flood["seen"] > 0
        assert run["sent"] >= run["received"] > 0
        # behind a flood, a busy machine answers later than anybody waits
        lost = run["sent"] - run["received"]
        for trouble in ("refused", "duplicate", "reordered", "strange",
                        "wrong", *([] if lost else ["out_of_sequence"])):
            assert run[trouble] == 0, (trouble, run)
        if kind == "shared" or not lost:
            return
    assert os.getloadavg()[0] > 2 * os.cpu_count(), lost

# SPDX-License-Identifier: Apache-2.0
"""Traces on a disk that takes its time: HELD_SYNC names the object whose
fsync() returns only when the test says so."""
import contextlib
import os
import signal
import urllib.request

import pytest

from conftest import PATIENCE
from control import Control
from test_short import speak

CONFLICT = 5
# a call and 20 frames of it; the last one is sent before it is traced, so the
# end may be between; nothing of what comes behind the end
FRAMES_20 = (20, 21)


class Node:
    """A daemon on such a disk, its folder of traces and its pipe."""

    def __init__(self, daemon, folder, options):
        self.traces = folder / "traces"
        self.traces.mkdir()
        self.hold = folder / "hold"
        os.mkfifo(self.hold)
        self.path = folder / "c"
        self.daemon = daemon(
            "--trace-dir", self.traces, "--control-socket", self.path,
            "--http", "127.0.0.1:0", *options,
            launcher=("env", "LD_PRELOAD=" + os.environ["HELD_SYNC"],
                      f"HOLD={self.hold}"))

    @contextlib.contextmanager
    def held(self):
        """From when the disk has been asked until it is free."""
        with open(self.hold, "wb"):
            yield

    def client(self):
        return Control(self.path)

    def healthy(self):
        with urllib.request.urlopen(
                f"http://{self.daemon.ready['http']}/healthz",
                timeout=PATIENCE) as answer:
            return answer.read() == b"ok\n"

    def size(self, name):
        return (self.traces / name).stat().st_size


@pytest.fixture
def node(daemon, tmp_path):
    return lambda *options: Node(daemon, tmp_path, options)


def refused(reply):
    assert reply["error"]["code"] == CONFLICT, reply
    return reply["error"]["message"]


def test_control_goes_on_while_the_disk_syncs(node, sock):
    n = node()
    one, two = n.client(), n.client()
    call = one.start(sock)["result"]
    assert "result" in one.ask("trace.start", {"name": "a"})
    speak(call, sock, 20)
    one.send("trace.stop", {})
    with n.held():
        assert n.healthy()
        for _ in range(3):
            assert two.ask("stats", {})["result"]["calls"] == 1
        assert "result" in two.ask("scheduler.set", {"scheduler": "rr"})
        speak(call, sock, 20, first=20)
        assert "way to the disk" in refused(
            two.ask("trace.start", {"name": "b"}))
        assert "stopped already" in refused(two.ask("trace.stop", {}))
        assert not (n.traces / "b").exists()
    told = one.hear()["result"]
    assert told["records"] in FRAMES_20
    assert (told["lost"], told["unwritten"]) == (0, 0)
    assert told["bytes"] == n.size("a") and "error" not in told
    assert "no trace is running" in refused(two.ask("trace.stop", {}))
    assert "result" in two.ask("trace.start", {"name": "b"})
    one.send("trace.stop", {})
    with n.held():
        pass
    assert one.hear()["result"]["bytes"] == n.size("b")
    one.stop(call)


def test_who_has_asked_may_leave(node):
    n = node()
    one, two = n.client(), n.client()
    assert "result" in one.ask("trace.start", {"name": "a"})
    one.send("trace.stop", {})
    with n.held():
        one.socket.close()
        one.lines.close()
        n.daemon.logged("peer-gone")
        assert "stopped already" in refused(two.ask("trace.stop", {}))
    # nobody is told when it has been: ask until it is
    while "error" in (reply := two.ask("trace.start", {"name": "b"})):
        assert "way to the disk" in refused(reply)
    assert reply["result"]["path"].endswith("/b")
    two.send("trace.stop", {})
    with n.held():
        pass
    assert two.hear()["result"]["bytes"] == n.size("b")


def test_replies_behind_it_in_a_batch_come_with_it(node):
    n = node()
    one = n.client()
    one.socket.sendall(
        b'[{"jsonrpc":"2.0","id":1,"method":"trace.start",'
        b'"params":{"name":"a"}},'
        b'{"jsonrpc":"2.0","id":2,"method":"trace.stop"},'
        b'{"jsonrpc":"2.0","method":"trace.stop"},'
        b'{"jsonrpc":"2.0","id":3,"method":"hello"}]\n')
    with n.held():
        assert n.healthy()
    told = {reply["id"]: reply["result"] for reply in one.hear()}
    assert sorted(told) == [1, 2, 3]
    assert told[2]["bytes"] == n.size("a")


def test_at_the_end_the_file_is_whole_and_who_has_asked_is_told(node, sock):
    n = node()
    one = n.client()
    call = one.start(sock)["result"]
    assert "result" in one.ask("trace.start", {"name": "a"})
    speak(call, sock, 20)
    one.send("trace.stop", {})
    with n.held():
        n.daemon.process.send_signal(signal.SIGTERM)
        n.daemon.logged("drain ")
        one.send("call.stop", {"call": call["call"]})
    # the call's end is replied to and told; then the trace's
    told = [one.hear() for _ in range(3)]
    result, = [t["result"] for t in told
               if "records" in t.get("result", {})]
    assert result["records"] in FRAMES_20
    assert result["bytes"] == n.size("a")
    assert n.daemon.process.wait(timeout=PATIENCE) == 0


def test_a_trace_that_nobody_has_stopped_is_whole_at_the_end(node, tmp_path):
    n = node("--trace", str(tmp_path / "own"))
    n.daemon.process.send_signal(signal.SIGTERM)
    with n.held():
        assert n.daemon.process.poll() is None
    assert n.daemon.process.wait(timeout=PATIENCE) == 0
    assert (tmp_path / "own").read_bytes().startswith(b"CR")

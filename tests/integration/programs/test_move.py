# SPDX-License-Identifier: Apache-2.0
"""A call moves to another node, by codec-ctl. Whatever is lost on the way, it
runs at one of the two at least; and the same command, said again, ends with it
at the other one alone."""
import contextlib
import json
import socket
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE, own_host
from test_crash import Load, address
from test_failover import ctl, node, store  # noqa: F401, fixtures


def test_a_call_moves_to_another_node(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host)
    phones = a.two(1000, "pcma")
    one = a.one(2000)
    load = Load([*phones, one])
    try:
        load.all_heard(25)
        moved = ctl(a, "call", "move", str(phones[0].call), f"unix:{b.path}")
        # as proxies do it that re-invite
        for phone, party in zip(phones, "ab"):
            phone.to = address(moved[party]["rtp"])
        there = ctl(a, "call", "move", str(one.call), f"unix:{b.path}")
        one.to = address(there["streams"][0]["rtp"])
        load.all_heard(25)
        assert "there is no call 7" in ctl(a, "call", "move", "7",
                                           f"unix:{b.path}", code=1)
        ctl(b, "drain", "1h")
        third = a.one(3000)
        assert "draining" in ctl(a, "call", "move", str(third.call),
                                 f"unix:{b.path}", code=1)
    finally:
        load.stop()
    assert a.listed() == [third.call]
    assert b.listed() == [moved["call"], there["call"]]
    for phone in [*phones, one]:
        phone.assert_goes_on()
    assert {r["reason"] for r in a.ended(2)} == {"moved"}
    # the id of a session is a secret
    mine = a.start(keep=False, a={"codec": "pcmu"}, b={"codec": "pcmu"})
    state = a.control.ask("call.export", {"call": mine["call"]})["result"]
    assert "session" not in json.loads(state["state"])
    assert "result" in a.control.ask("call.take", state)


def test_what_no_node_has_written_is_not_taken_as_a_call(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    party = {"codec": "pcmu", "interface": "moves"}
    end = a.control.ask("endpoint.open", party)["result"]["endpoint"]
    own = a.start(a=party, b=party)["call"]
    opened = a.start(a={"endpoint": end}, b=party)["call"]

    def take(call, change):
        got = a.control.ask("call.export", {"call": call})["result"]
        state = json.loads(got["state"])
        change(state)
        return a.control.ask("call.take", {**got, "state": json.dumps(state)})

    # it would end at once
    assert "crashes" in take(own, lambda state: state["past"].update(
        crashes=2))["error"]["message"]
    # the endpoint of that id is another one's here
    free = a.control.ask("endpoint.open", party)["result"]["endpoint"]
    assert "cannot move" in take(opened, lambda state: state["start"].update(
        a={"endpoint": free}))["error"]["message"]
    # nor does it bring a dialog of NG
    assert "no call" in take(own, lambda state: state.update(note={}))[
        "error"]["message"]
    assert a.listed() == [own, opened]


def test_a_call_that_moves_is_admitted_by_what_it_costs(store, node):
    """Not by what the other node says that it does."""
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    full = node("b", redis.url("b"), host, "--capacity", "0.0001%")
    free = node("c", redis.url("c"), host)
    request = {"port": "own", "in": {"codec": "pcmu"},
               "out": {"codec": "amr", "address": "127.0.0.1:9"}}
    call = a.start(**request)["call"]
    state = a.control.ask("call.export", {"call": call})["result"]
    said = json.loads(state["state"])
    said["past"]["a"].update(mean=0, p99=0)
    state["state"] = json.dumps(said)
    # it is measured first
    refused = full.control.ask("call.take", state)["error"]["message"]
    assert refused.startswith("no-capacity: need 0.0")
    assert "need 0.0000" not in refused
    assert full.control.ask("call.start", request)["error"][
        "message"].startswith("no-capacity: need 0.0")
    assert full.listed() == []
    there = free.control.ask("call.take", state)["result"]["call"]
    assert free.listed() == [there]
    costs = free.control.ask("hello", {})["result"]["capacity"]["costs"]
    assert [c["mean_us"] > 0 for c in costs if c["streams"]] == [True]


class Lossy(threading.Thread):
    """Control of @n, which answers requests until the method @lost: that one is
    done, and the connection is lost before the answer comes."""

    def __init__(self, path, n, lost):
        super().__init__(daemon=True)
        self.path, self.n, self.lost = path, n, lost
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.start()

    def run(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def _serve(self, s):
        to = socket.socket(socket.AF_UNIX)
        to.connect(str(self.n.path))
        with s, to, contextlib.suppress(OSError):
            answers = to.makefile()
            for line in s.makefile():
                to.sendall(line.encode())
                answer = answers.readline()
                while "method" in json.loads(answer):
                    answer = answers.readline()
                if json.loads(line)["method"] == self.lost:
                    return
                s.sendall(answer.encode())


def move(a, call, to, by=None):
    """codec-ctl, which has control of @a or @by: its code, its two texts."""
    done = subprocess.run(
        [a.d.programs / "codec-ctl", "--to", f"unix:{by or a.path}", "--json",
         "call", "move", str(call), f"unix:{to}"],
        capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def until_lists(n, calls):
    end = time.monotonic() + PATIENCE
    while n.listed() != calls:
        assert time.monotonic() < end, n.listed()
        time.sleep(0.02)


@pytest.fixture
def two(store, node):
    redis, host = store(), own_host()
    return [node(name, redis.url(name), host, "--grace", "1s") for name in "ab"]


def start(n):
    return n.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]


def test_a_call_whose_taking_was_not_answered_ends_there(two, tmp_path):
    a, b = two
    call = start(a)
    lossy = Lossy(tmp_path / "lossy", b, "call.take")
    code, shown, why = move(a, call, lossy.path)
    assert code == 3 and not shown and "lossy" in why
    assert a.listed() == [call]
    until_lists(b, [])
    assert {r["reason"] for r in b.ended(1)} == {"lost"}


@pytest.mark.parametrize("lost", ["call.take", "call.keep"])
def test_a_move_that_is_said_again_leaves_one_call(two, tmp_path, lost):
    a, b = two
    call = start(a)
    lossy = Lossy(tmp_path / "lossy", b, lost)
    code, shown, why = move(a, call, lossy.path)
    assert code == 3 and not shown
    assert a.listed() == [call] and len(b.listed()) == 1
    assert ("repeat the command" in why) == (lost == "call.keep")
    code, shown, why = move(a, call, b.path)
    assert code == 0, why
    assert a.listed() == []
    until_lists(b, [json.loads(shown)["call"]])
    b.until(lambda s: s["calls"] == 1)
    b.d.logged("reason=bye calls=0")  # nobody's end ends it
    assert b.listed() == [json.loads(shown)["call"]]


def test_a_move_whose_end_was_not_answered_says_where_the_call_is(two, tmp_path):
    a, b = two
    call = start(a)
    lossy = Lossy(tmp_path / "lossy", a, "call.moved")
    code, shown, why = move(a, call, b.path, by=lossy.path)
    assert code == 3 and "it may be here, too" in why
    assert a.listed() == []
    until_lists(b, [json.loads(shown)["call"]])
    # there is nothing to move any more
    code, shown, why = move(a, call, b.path)
    assert code == 1 and f"there is no call {call}" in why

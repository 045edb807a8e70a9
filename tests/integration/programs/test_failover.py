# SPDX-License-Identifier: Apache-2.0
"""A node that dies with its machine costs frames, not calls: they are copied to
a store, from which another node takes them, at the same ports. The store may be
away, slow, closed or mad: calls do not notice. A call moves to another node."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE, own_host
from control import Control
from redis_store import SERVER, RedisStore
from test_crash import Load, Phone, address

if not SERVER:
    pytest.skip("neither redis-server nor valkey-server is here",
                allow_module_level=True)


@pytest.fixture
def store(tmp_path):
    running = []

    def start(*words, **more):
        running.append(RedisStore(tmp_path, *words, **more))
        return running[-1]

    yield start
    for s in running:
        s.stop()


class Node:
    """A daemon whose calls have ports at @host, copied to the store at @url."""

    def __init__(self, daemon, path, name, url, host, *options):
        self.name = name
        self.path = path / f"{name}.control"
        self.records = path / f"{name}.records"
        self.d = daemon("--control-socket", str(self.path), "--replicate", url,
                        "--interface", f"own/127.0.0.1", "--interface",
                        f"moves/{host}", "--records", str(self.records),
                        *options)
        self.control = Control(self.path)

    def start(self, **params):
        reply = self.control.ask("call.start", {"keep": True, **params})
        assert "result" in reply, reply
        return reply["result"]

    def one(self, ssrc):
        """PCMU to AMR 12.2, at an address that moves; its phone."""
        phone = Phone(ssrc)
        call = self.start(port="own", interface="moves", **{
            "in": {"codec": "pcmu"},
            "out": {"codec": "amr", "mode": "12.2", "address": phone.at}})
        phone.to = address(call["rtp"]["address"])
        phone.call = call["call"]
        return phone

    def two(self, ssrc, codec):
        """PCMU to @codec and back; the phones."""
        phones = Phone(ssrc), Phone(ssrc + 1, 8 if codec == "pcma" else 0)
        call = self.start(label=f"call {ssrc}",
                          a={"codec": "pcmu", "interface": "moves"},
                          b={"codec": codec, "interface": "moves"})
        for phone, party in zip(phones, "ab"):
            phone.to = address(call[party]["rtp"])
            phone.call = call["call"]
        return phones

    def many(self):
        """Phones of some calls of each kind."""
        phones = [self.one(1000 + i) for i in range(5)]
        for i in range(3):
            phones += self.two(2000 + 10 * i, "pcmu")  # a relay
            phones += self.two(3000 + 10 * i, "pcma")
        return phones

    def listed(self):
        return [c["call"] for c in
                self.control.ask("call.list", {"limit": 200})["result"]["calls"]]

    def replica(self):
        return self.control.ask("stats", {})["result"]["replicate"]

    def until(self, done):
        """Until @done of what stats says of the store."""
        end = time.monotonic() + PATIENCE
        while not done(self.replica()):
            assert time.monotonic() < end, self.replica()
            time.sleep(0.02)

    def die(self):
        self.d.process.send_signal(signal.SIGKILL)
        self.d.process.wait()
        self.d.process.stdout.close()
        self.d.log.close()

    def ended(self, count):
        """Records, once there are @count."""
        end = time.monotonic() + PATIENCE
        while len(lines := self.records.read_text().splitlines()) < count:
            assert time.monotonic() < end
            time.sleep(0.02)
        return [json.loads(line) for line in lines]


def until_free(phones):
    """Until the ports of a process that was killed can be had: the kernel ends
    its io_uring a moment later. Another machine's are free."""
    end = time.monotonic() + PATIENCE
    for phone in phones:
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                with contextlib.suppress(OSError):
                    s.bind(phone.to)
                    break
            assert time.monotonic() < end
            time.sleep(0.005)


@pytest.fixture
def node(daemon, tmp_path):
    return lambda name, url, host, *options: Node(daemon, tmp_path, name, url,
                                                  host, *options)


def test_the_calls_of_a_machine_that_died_go_on_at_another(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    own = b.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    phones = a.many()
    calls = a.listed()
    load = Load(phones)
    try:
        load.all_heard(50)
        a.until(lambda s: s["calls"] == len(calls))
        a.die()
        until_free(phones)
        taken = b.control.ask("takeover", {"node": "a"})["result"]
        load.all_heard(50)
    finally:
        load.stop()
    assert taken == {"node": "a", "calls": len(calls), "dropped": 0,
                     "alive": True}
    assert sorted(b.listed()) == sorted([own, *calls])
    lost = [p.assert_goes_on() for p in phones]
    print("frames lost of each call:", sorted(lost))
    # they are b's now, also in the store
    b.until(lambda s: s["calls"] == len(calls) + 1)
    assert redis.calls("b") == len(calls) + 1
    assert redis.calls("a") == 0
    for call in calls:
        b.control.ask("call.stop", {"call": call})
    assert {r["reason"] for r in b.ended(len(calls))} == {"stopped"}
    b.until(lambda s: s["calls"] == 1)
    assert b.replica()["calls_taken"] == len(calls)

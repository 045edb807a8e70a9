# SPDX-License-Identifier: Apache-2.0
"""Whom a call hears and where it sends, when strangers know all its ports: who
sprays them while a party says nothing, and who names a place that is none of
a party's."""
import socket
import time

import pytest

from ng_call import Call, Talker, d, proxy, until  # noqa: F401
from telephony import sdp

CALLS = 20
LAW = "0 PCMU/8000"
SPOKEN = 1.2  # seconds after which a party leads, for sure
ABSENT = 5.5
SILENT = 1.2


class NattedCall(Call):
    """Its caller's description names a port at which it is not."""

    def __init__(self, proxy, natted, **flags):
        super().__init__(proxy, **flags)
        self.natted = natted
        self.other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.other.bind(("127.0.0.1", 0))

    def begin(self, **more):
        mine = self.a.port
        if self.natted:
            self.a.port = self.other.getsockname()[1]
        self.offer(LAW, **more)
        self.a.port = mine
        self.answer(LAW)
        return self

    def talks(self):
        self.a.says(1, 1, 0)
        self.b.says(2, 1, 0)


def talk(calls, seconds):
    """All of them, a packet every 20 ms."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for call in calls:
            call.talks()
        time.sleep(0.02)


def spray(strangers, calls, seconds):
    """Ports of both ends of all calls, by each stranger."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for stranger in strangers:
            seq = stranger.seq
            for to in {to for call in calls for to in (call.a.to, call.b.to)}:
                stranger.to, stranger.seq = to, seq
                stranger.says(0x7f, 1, 0)
        time.sleep(0.02)


def hush(phone):
    """What it has heard so far."""
    phone.sock.setblocking(False)
    heard = []
    try:
        while True:
            heard.append(phone.sock.recv(2048))
    except BlockingIOError:
        return heard


def test_who_sprays_while_a_party_is_silent_overhears_nobody(proxy, d):
    """Half of the callers are behind NAT. They say something, pause for longer
    than a silence and longer than an absence, and are heard again by their
    first packet. No stranger is sent anything, nor heard."""
    calls = [NattedCall(proxy, i % 2).begin() for i in range(CALLS)]
    strangers = [Talker() for _ in range(3)]
    talk(calls, SPOKEN)
    for pause in SILENT, ABSENT:
        spray(strangers, calls, pause)
        legs = legs_of(d)
        before = {leg: x["packets"] for leg, x in legs.items()}
        for call in calls:
            call.talks()
        until(lambda: legs_of(d), lambda now: all(
            now[leg]["packets"] > before[leg] for leg in before))
        for call in calls:
            for phone, octet in (call.b, 1), (call.a, 2):
                assert {p[12] for p in hush(phone)} <= {octet}
        assert not any(map(hush, strangers))
        talk(calls, 0.1)
    assert all(x["wrong_source"] for x in legs_of(d).values())


def legs_of(d):
    return {leg["leg"]: leg for leg in (
        d.ctl("leg", "query", str(one["leg"]))
        for one in d.ctl("leg", "list")["legs"])}


def test_asymmetric_is_heard_from_elsewhere_and_answered_as_it_says(proxy):
    """By each of its names; with strict-source only from there."""
    for flags, heard in (({"flags": ["asymmetric"]}, True),
                         ({"flags": ["endpoint-learning-off"]}, True),
                         ({"endpoint_learning": "off"}, True),
                         ({"flags": ["strict-source", "asymmetric"]}, False)):
        call = NattedCall(proxy, True).begin(**flags)
        for _ in range(10):
            call.b.says(2, 1, 0)
            assert call.other.recv(2048)[12:] == b"\2" * 160
            call.a.says(1, 1, 0)
            if heard:
                assert call.b.hears(1)[0][12:] == b"\1" * 160
        assert not hush(call.a)
        assert heard or not hush(call.b)
        call.delete()

# SPDX-License-Identifier: Apache-2.0
"""A call as a telephone system sets it up, and the two phones that talk."""
import itertools
import struct
import time

import pytest

from conftest import PATIENCE
from telephony import System, lines, sdp
from test_phone import Phone
from test_senders import started

AMR = "AMR/8000/1/12200//mode-set--7;octet-align--1"
TO_AMR = {"mask": ["all"], "except": ["telephone-event"], "transcode": [AMR]}
HERE = {"replace": ["origin", "session-connection"], "ICE": "remove"}
SSRC = itertools.count(1000)


@pytest.fixture
def d(daemon):
    return started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                   "127.0.0.1:0")


@pytest.fixture
def proxy(d):
    return System(d.ready["ng"])


class Talker(Phone):
    """A phone that knows where it is told to send to."""

    def __init__(self, host="127.0.0.1"):
        super().__init__(9, host)
        self.host, self.port = self.sock.getsockname()[:2]
        self.seq, self.ssrc, self.ms = 0, next(SSRC), 0

    def told(self, line):
        self.to = (line.host, line.port)

    def says(self, octet, n, pt, size=160):
        for _ in range(n):
            self.say(self.ssrc, self.seq, 160 * self.seq,
                     payload=bytes([octet]) * size, pt=pt)
            self.seq += 1

    def presses(self, digit, pt, clock=8000, ms=20, speech=None):
        """For so long; its end is said three times. @clock: of the rtpmap;
        timestamps may be those of the @speech all the same."""
        ts = (speech or clock) // 50 * self.seq
        for now in (*range(20, ms, 20), ms, ms, ms):
            self.say(self.ssrc, self.seq, ts, pt=pt, payload=struct.pack(
                "!BBH", digit, (now == ms) << 7 | 10, clock * now // 1000))
            self.seq += 1

    def hears(self, n):
        return [self.sock.recv(2048) for _ in range(n)]


class Call:
    """Two phones and the proxy between them."""

    ids = itertools.count(1)

    def __init__(self, proxy, host="127.0.0.1", **flags):
        self.proxy, self.flags = proxy, {**HERE, **flags}
        self.id = f"call-{next(self.ids)}"
        self.a, self.b = Talker(host), Talker(host)

    def offer(self, formats, by="a", **more):
        tags = ("from_tag", "to_tag") if by == "a" else ("to_tag", "from_tag")
        names = {tags[0]: "tag-a"}
        if by == "b" or more.pop("known", False):
            names = {tags[0]: "tag-a", tags[1]: "tag-b"}
        phone = self.a if by == "a" else self.b
        lines_ = more.pop("lines", ())
        reply = self.proxy.ok("offer", call_id=self.id, sdp=sdp(
            phone.port, formats, phone.host, lines_), **names,
            **{**self.flags, **more})
        self.offered = lines(reply["sdp"])
        (self.b if by == "a" else self.a).told(self.offered[0])
        return reply

    def answer(self, formats, by="b", **more):
        names = {"from_tag": "tag-a", "to_tag": "tag-b"}
        if by == "a":
            names = {"from_tag": "tag-b", "to_tag": "tag-a"}
        phone = self.b if by == "b" else self.a
        lines_ = more.pop("lines", ())
        reply = self.proxy.ok("answer", call_id=self.id, sdp=sdp(
            phone.port, formats, phone.host, lines_), **names,
            **{**HERE, **more})
        self.answered = lines(reply["sdp"])
        (self.a if by == "b" else self.b).told(self.answered[0])
        return reply

    def delete(self):
        return self.proxy.ok("delete", call_id=self.id, from_tag="tag-a")


def until(look, done):
    deadline = time.monotonic() + PATIENCE
    while not done(now := look()):
        assert time.monotonic() < deadline, now
        time.sleep(0.01)
    return now


def all_is_gone(d):
    until(lambda: d.ctl("stats"),
          lambda x: x["calls"] == 0 and x["interfaces"][0]["used"] == 0)


AMR_FMTP = "mode-set=7;octet-align=1"

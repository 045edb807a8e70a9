# SPDX-License-Identifier: Apache-2.0
"""Calls as a telephone system sets them up: descriptions go through the node,
phones send to where these say, and hear each other."""
import itertools
import json
import re
import select
import signal
import struct
import time

import pytest

from conftest import PATIENCE
from packets import header
from telephony import System, lines, sdp
from test_phone import Phone
from test_rtcp import pair
from test_senders import started

AMR = "AMR/8000/1/12200//mode-set--7;octet-align--1"
TO_AMR = {"mask": ["all"], "transcode": [AMR]}
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

    def __init__(self):
        super().__init__(9)
        self.port = self.sock.getsockname()[1]
        self.seq, self.ssrc = 0, next(SSRC)

    def told(self, line):
        self.to = (line.host, line.port)

    def says(self, octet, n, pt, size=160):
        for _ in range(n):
            self.say(self.ssrc, self.seq, 160 * self.seq,
                     payload=bytes([octet]) * size, pt=pt)
            self.seq += 1

    def presses(self, digit, pt, clock=8000):
        """For 20 ms; its end is said three times."""
        ts = clock // 50 * self.seq
        for _ in range(3):
            self.say(self.ssrc, self.seq, ts, pt=pt, payload=struct.pack(
                "!BBH", digit, 0x80 | 10, clock // 50))
            self.seq += 1

    def hears(self, n):
        return [self.sock.recv(2048) for _ in range(n)]


class Call:
    """Two phones and the proxy between them."""

    ids = itertools.count(1)

    def __init__(self, proxy, **flags):
        self.proxy, self.flags = proxy, {**HERE, **flags}
        self.id = f"call-{next(self.ids)}"
        self.a, self.b = Talker(), Talker()

    def offer(self, formats, by="a", **more):
        tags = ("from_tag", "to_tag") if by == "a" else ("to_tag", "from_tag")
        names = {tags[0]: "tag-a"}
        if by == "b" or more.pop("known", False):
            names = {tags[0]: "tag-a", tags[1]: "tag-b"}
        phone = self.a if by == "a" else self.b
        lines_ = more.pop("lines", ())
        reply = self.proxy.ok("offer", call_id=self.id, sdp=sdp(
            phone.port, formats, lines=lines_), **names, **self.flags, **more)
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
            phone.port, formats, lines=lines_), **names, **HERE, **more)
        self.answered = lines(reply["sdp"])
        (self.a if by == "b" else self.b).told(self.answered[0])
        return reply

    def delete(self):
        return self.proxy.ok("delete", call_id=self.id, from_tag="tag-a")


def digits(packets):
    """(type, digit, whether it is its end, duration) of each."""
    told = [(header(x)["pt"], *struct.unpack("!BBH", x[12:]))
            for x in packets]
    return [(pt, digit, flags >> 7, duration)
            for pt, digit, flags, duration in told]


def assert_digits(call, a, b, clocks=(8000, 8000)):
    """Each presses one, by its own payload type; the other one hears it once,
    by the type and at the clock that it knows."""
    phones, types = (call.a, call.b), (a, b)
    for i in range(2):
        phones[i].presses(5 + i, types[i], clocks[i])
        assert digits(phones[1 - i].hears(3)) == [
            (types[1 - i], 5 + i, 1, clocks[1 - i] // 50)] * 3


def until(look, done):
    deadline = time.monotonic() + PATIENCE
    while not done(now := look()):
        assert time.monotonic() < deadline, now
        time.sleep(0.01)


def all_is_gone(d):
    until(lambda: d.ctl("stats"),
          lambda x: x["calls"] == 0 and x["interfaces"][0]["used"] == 0)


def test_pcma_meets_amr(d, proxy):
    """The caller has PCMA, the other side only AMR: both hear each other."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000, 101 telephone-event/8000 0-15")
    offered, = call.offered
    assert offered.names == ["AMR/8000", "telephone-event/8000"]
    amr, events = offered.types
    assert offered.fmtp(amr).replace(" ", "") == "mode-set=7;octet-align=1"
    assert offered.host == "127.0.0.1" and offered.port not in (
        call.a.port, 0)
    call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1, "
                f"{events} telephone-event/8000")
    answered, = call.answered
    assert answered.names == ["PCMA/8000", "telephone-event/8000"]
    assert answered.types == [8, 101]
    assert answered.port not in (offered.port, call.b.port)
    call.a.says(0xd5, 20, 8)
    heard = call.b.hears(20)
    assert {header(x)["pt"] for x in heard} == {amr}
    assert {len(x) for x in heard} == {12 + 2 + 31}  # 12.2 kbit/s
    # no data, 20 ms each: octet-aligned, CMR 15, frame type 15
    for i in range(20):
        call.b.say(7, i, 160 * i, payload=b"\xf0\x7c", pt=amr)
    heard = call.a.hears(20)
    assert {header(x)["pt"] for x in heard} == {8}
    assert {len(x) for x in heard} == {12 + 160}
    total = call.delete()["totals"]["RTP"]
    assert total["packets"] == 40 and total["errors"] == 0
    all_is_gone(d)


def test_what_both_speak_is_passed_on(d, proxy):
    """Least transcoding: no codec is used, payload types keep their
    numbers."""
    call = Call(proxy, codec={"transcode": ["AMR"]})
    call.offer("0 PCMU/8000, 8 PCMA/8000")
    assert call.offered[0].names == ["PCMU/8000", "PCMA/8000", "AMR/8000"]
    call.answer("8 PCMA/8000")
    assert call.answered[0].names == ["PCMA/8000"]
    call.a.says(0x11, 10, 8)
    assert [x[12:] for x in call.b.hears(10)] == [bytes([0x11]) * 160] * 10
    assert d.ctl("stats")["relays"] == 2
    call.delete()
    all_is_gone(d)


def version(reply):
    """Of the description in @reply, by its "o="."""
    return int(re.search(r"^o=\S+ \S+ (\d+) ", reply["sdp"], re.M)[1])


def test_a_refused_answer_spends_no_version(proxy):
    """What is told rises by one from each description to the next (RFC 3264,
    8)."""
    call = TwoLines(proxy)
    ours = {"replace": [*HERE["replace"], "SDP-version"]}
    call.offer("8 PCMA/8000", "0 PCMU/8000")
    first = version(call.answered("8 PCMA/8000", "0 PCMU/8000", **ours))
    call.offer("0 PCMU/8000", "0 PCMU/8000", to_tag="tag-b")
    call.b[1].port = call.b[1].to[1]  # where the node itself is
    reply = call.answered("0 PCMU/8000", "0 PCMU/8000", **ours)
    assert "packets would go round" in reply["error-reason"]
    call.b[1].port = 0
    told = call.answered("0 PCMU/8000", "0 PCMU/8000", **ours)
    assert version(told) == first + 1


def test_a_repeated_answer_is_the_same(d, proxy):
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    amr = call.offered[0].types[0]
    first = call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1")
    conversations = d.ctl("stats")["calls"]
    again = call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1")
    assert again == first and d.ctl("stats")["calls"] == conversations == 2
    call.delete()


def test_a_cookie_that_comes_again_gets_the_same(d, proxy):
    message = proxy.message("same", {
        "command": "offer", "call-id": "x", "from-tag": "a",
        "sdp": sdp(4000), **HERE})
    first = proxy.hear_udp(message)
    assert first[1]["result"] == "ok"
    assert [proxy.hear_udp(message) for _ in range(3)] == [first] * 3
    assert len(proxy.ok("list")["calls"]) == 1


def test_hold_and_back(d, proxy):
    """By the caller, by sendonly and back; then by the other side."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("0 PCMU/8000")
    ports = call.offered[0].port, call.answered[0].port
    call.a.says(0xd5, 5, 8)
    call.b.hears(5)
    call.offer("8 PCMA/8000", known=True, lines=["a=sendonly"])
    assert call.offered[0].mode == "sendonly"
    call.answer("0 PCMU/8000", lines=["a=recvonly"])
    assert call.answered[0].mode == "recvonly"
    assert (call.offered[0].port, call.answered[0].port) == ports
    call.a.says(0xd5, 5, 8)  # music
    call.b.hears(5)
    call.b.says(0xff, 5, 0)  # that nobody wants
    until(lambda: d.ctl("stats")["totals"]["held"], lambda n: n == 5)
    call.offer("8 PCMA/8000", known=True)
    call.answer("0 PCMU/8000")
    call.b.says(0xff, 5, 0)
    heard = call.a.hears(5)
    assert {header(x)["pt"] for x in heard} == {8}
    call.a.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        call.a.hears(1)  # what was said on hold was not sent
    call.delete()
    all_is_gone(d)


def test_a_reoffer_of_the_other_side_keeps_what_was_spoken(d, proxy):
    """B offers its own codec again; A still gets one that it has."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    amr = call.offered[0].types[0]
    spec = f"{amr} AMR/8000 mode-set=7;octet-align=1"
    call.answer(spec)
    call.flags = HERE
    call.offer(spec, by="b")
    assert "PCMA/8000" in call.offered[0].names
    assert call.offered[0].types[call.offered[0].names.index("PCMA/8000")] == 8
    call.answer("8 PCMA/8000", by="a")
    assert call.answered[0].names == ["AMR/8000"]
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}


def test_a_change_of_codec(d, proxy):
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.offer("8 PCMA/8000", known=True)
    call.answer("0 PCMU/8000")
    assert d.ctl("stats")["relays"] == 0
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {0}


def test_a_party_that_moves(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    to, call.b = call.b.to, Talker()
    call.b.to = to
    call.offer("8 PCMA/8000", by="b")
    call.answer("8 PCMA/8000", by="a")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)


def test_forks_by_branch(d, proxy):
    """Two branches ring; both send early media by turns; one wins."""
    call = Call(proxy)
    call.offer("8 PCMA/8000", via_branch="one")
    first = call.offered[0]
    call.offer("8 PCMA/8000", via_branch="two")
    second = call.offered[0]
    assert first.port != second.port
    phones = {}
    for branch, told in (("one", first), ("two", second)):
        phone = phones[branch] = Talker()
        phone.told(told)
        reply = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                         to_tag=f"tag-{branch}", via_branch=branch,
                         sdp=sdp(phone.port), **HERE)
        call.a.told(lines(reply["sdp"])[0])
        phone.says(0xd5, 3, 8)
        call.a.hears(3)
        call.a.says(0xd5, 3, 8)
        phone.hears(3)
    # the first one answers once more: it has the caller again
    again = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                     to_tag="tag-one", via_branch="one",
                     sdp=sdp(phones["one"].port), **HERE)
    call.a.told(lines(again["sdp"])[0])
    call.a.says(0xd5, 3, 8)
    phones["one"].hears(3)
    proxy.ok("delete", call_id=call.id, from_tag="tag-a", to_tag="tag-two",
             via_branch="two")
    phones["one"].says(0xd5, 3, 8)
    call.a.hears(3)
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 2)
    call.delete()
    all_is_gone(d)


def test_late_offer(d, proxy):
    """The offer is in the 200, the answer in the ACK: tags are the other way
    round."""
    call = Call(proxy)
    call.offer("8 PCMA/8000", by="b")
    call.answer("8 PCMA/8000", by="a")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.b.says(0xd5, 3, 8)
    call.a.hears(3)
    call.delete()
    all_is_gone(d)


def test_lines(d, proxy):
    """Two audio lines are carried; video and secure ones are refused."""
    call = Call(proxy)
    second = Talker()
    more = [f"m=audio {second.port} RTP/AVP 0", "m=video 6000 RTP/AVP 96",
            "a=rtpmap:96 H264/90000", "m=audio 6002 RTP/SAVP 8"]
    reply = proxy.ok("offer", call_id=call.id, from_tag="tag-a",
                     sdp=sdp(call.a.port, more=more), **HERE)
    got = lines(reply["sdp"])
    assert [x.media for x in got] == ["audio", "audio", "video", "audio"]
    assert [x.port > 0 for x in got] == [True, True, False, False]
    assert "video" in reply["warning"] and "SRTP" in reply["warning"]
    other = Talker()
    call.b.told(got[0])
    other.told(got[1])
    reply = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                     to_tag="tag-b", sdp=sdp(call.b.port, more=[
                         f"m=audio {other.port} RTP/AVP 0",
                         "m=video 0 RTP/AVP 96", "m=audio 0 RTP/SAVP 8"]),
                     **HERE)
    back = lines(reply["sdp"])
    assert [x.port > 0 for x in back] == [True, True, False, False]
    call.a.told(back[0])
    second.told(back[1])
    call.a.says(0xd5, 3, 8)
    second.says(0xff, 4, 0)
    assert len(call.b.hears(3)) == 3 and len(other.hears(4)) == 4
    call.delete()
    all_is_gone(d)


class TwoLines:
    """Two lines of audio between two phones each; a third stands in for
    others."""

    ids = itertools.count(1)

    def __init__(self, proxy):
        self.proxy, self.id = proxy, f"lines-{next(self.ids)}"
        self.a, self.b = ([Talker(), Talker()] for _ in range(2))

    @staticmethod
    def sdp(phones, formats, **more):
        pt, name = formats[1].split(" ")
        return sdp(phones[0].port, formats[0], more=[
            f"m=audio {phones[1].port} RTP/AVP {pt}", f"a=rtpmap:{pt} {name}"],
            **more)

    def offer(self, *formats, **more):
        reply = self.proxy.ok("offer", call_id=self.id, from_tag="tag-a",
                              sdp=self.sdp(self.a, formats), **HERE, **more)
        for phone, line in zip(self.b, lines(reply["sdp"])):
            phone.told(line)

    def answered(self, *formats, **more):
        """What is answered, whatever that is."""
        reply = self.proxy.ask("answer", call_id=self.id, from_tag="tag-a",
                               to_tag="tag-b", sdp=self.sdp(self.b, formats),
                               **{**HERE, **more})
        if reply["result"] == "ok":
            for phone, line in zip(self.a, lines(reply["sdp"])):
                phone.told(line)
        return reply

    def hear_each_other(self, *types):
        for a, b, pt in zip(self.a, self.b, types):
            a.says(0x55, 3, pt[0])
            assert {header(x)["pt"] for x in b.hears(3)} == {pt[1]}
            b.says(0x55, 3, pt[1])
            assert {header(x)["pt"] for x in a.hears(3)} == {pt[0]}


def refuses(call, why, *formats):
    reply = call.answered(*formats)
    assert reply["result"] == "error" and why in reply["error-reason"], reply


def test_an_answer_is_taken_for_all_lines_or_none(daemon):
    """There is room for one line of two: neither begins."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "4")
    call = TwoLines(System(d.ready["ng"]))
    call.offer("8 PCMA/8000", "0 PCMU/8000")
    other = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                  "out.address=127.0.0.1:9")
    refuses(call, "--max-calls", "8 PCMA/8000", "0 PCMU/8000")
    assert d.ctl("stats")["calls"] == 1
    d.ctl("call", "stop", str(other["call"]))
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 0)
    assert call.answered("8 PCMA/8000", "0 PCMU/8000")["result"] == "ok"
    call.hear_each_other((8, 8), (0, 0))
    call.proxy.ok("delete", call_id=call.id)
    all_is_gone(d)


def test_a_branch_for_which_there_is_no_room_takes_nothing(daemon):
    """Another one talks, and goes on."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "4")
    call = Call(System(d.ready["ng"]))
    told = []
    for branch in ("one", "two"):
        call.offer("8 PCMA/8000", via_branch=branch)
        told.append(call.offered[0])
    call.b.told(told[0])
    call.answer("8 PCMA/8000", via_branch="one")
    other = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                  "out.address=127.0.0.1:9")
    second = {"call_id": call.id, "from_tag": "tag-a", "to_tag": "tag-c",
              "via_branch": "two", "sdp": sdp(9, "8 PCMA/8000")}
    reply = call.proxy.ask("answer", **second, **HERE)
    assert "--max-calls" in reply["error-reason"]
    call.a.says(0x55, 3, 8)
    call.b.hears(3)
    call.b.says(0x55, 3, 8)
    call.a.hears(3)
    d.ctl("call", "stop", str(other["call"]))
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 2)
    call.proxy.ok("answer", **second, **HERE)
    call.delete()
    all_is_gone(d)


@pytest.mark.parametrize("why, wrong", [
    ("no codec that was offered", "9 G722/8000"),
    ("packets would go round", "0 PCMU/8000"),
])
def test_a_wrong_line_leaves_the_others_as_they_were(d, proxy, why, wrong):
    call = TwoLines(proxy)
    call.offer("8 PCMA/8000", "0 PCMU/8000")
    assert call.answered("8 PCMA/8000", "0 PCMU/8000")["result"] == "ok"
    assert d.ctl("stats")["relays"] == 4
    call.offer("8 PCMA/8000", "0 PCMU/8000", to_tag="tag-b",
               codec={"transcode": ["AMR"]})
    own = call.b[1].port
    if "round" in why:  # where the node itself is
        call.b[1].port = call.b[1].to[1]
    refuses(call, why, "96 AMR/8000", wrong)
    assert d.ctl("stats")["relays"] == 4
    call.hear_each_other((8, 8), (0, 0))
    call.b[1].port = own
    assert call.answered("96 AMR/8000", "0 PCMU/8000")["result"] == "ok"
    assert d.ctl("stats")["relays"] == 2
    call.a[0].says(0x55, 3, 8)
    assert {header(x)["pt"] for x in call.b[0].hears(3)} == {96}


def test_all_that_a_new_line_may_be_sent_is_measured_first(proxy):
    """One line goes on. In the other one the caller may also send what the
    other side does not know, and nobody knows yet what that costs."""
    call = TwoLines(proxy)
    names = {"call_id": call.id, "from_tag": "tag-a", "to_tag": "tag-b"}
    proxy.ok("offer", **names, **HERE, sdp=sdp(call.a[0].port, "8 PCMA/8000"))
    proxy.ok("answer", **names, **HERE, sdp=sdp(call.b[0].port, "8 PCMA/8000"))
    reply = proxy.ok("offer", **names, **HERE, codec={
        "accept": ["G722"], "transcode": ["AMR"]}, sdp=sdp(
            call.a[0].port, "8 PCMA/8000",
            more=[f"m=audio {call.a[1].port} RTP/AVP 8 9"]))
    for phone, line in zip(call.b, lines(reply["sdp"])):
        phone.told(line)
    assert call.answered("8 PCMA/8000", "96 AMR/8000")["result"] == "ok"
    call.hear_each_other((8, 8))
    for pt in (8, 9):
        call.a[1].says(0x55, 3, pt)
        assert {header(x)["pt"] for x in call.b[1].hears(3)} == {96}


@pytest.fixture
def small(daemon):
    """A node with room for packets that are passed on, and for no codec."""
    return System(started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                          "127.0.0.1:0", "--capacity", "0.001%").ready["ng"])


def test_a_second_offer_is_weighed_like_the_first(small):
    """Nobody has answered, and it would cost more. It is refused, and the
    first one stands."""
    call = Call(small)
    call.offer("8 PCMA/8000", via_branch="one")
    reply = small.ask("offer", call_id=call.id, from_tag="tag-a", codec=TO_AMR,
                      via_branch="one", sdp=sdp(call.a.port),
                      supports=["load limit"], **HERE)
    assert reply["result"] == "load limit"
    assert "no-capacity" in reply["message"]
    call.answer("8 PCMA/8000", via_branch="one")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)


def test_what_goes_on_is_weighed_when_it_is_to_change(small):
    """Another node cannot have a part of the call: that is an error."""
    call = Call(small)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    request = {"call_id": call.id, "from_tag": "tag-a", "to_tag": "tag-b",
               "supports": ["load limit"], "codec": {"mask": ["all"]},
               "sdp": sdp(call.a.port, "9 G722/8000"), **HERE}
    reply = small.ask("offer", **request)  # the other one has PCMA
    assert reply["result"] == "error"
    assert "no-capacity" in reply["error-reason"]
    call.offer("8 PCMA/8000", known=True, lines=["a=sendonly"])  # costs nothing
    call.answer("8 PCMA/8000", lines=["a=recvonly"])
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)


def test_what_no_codec_is_known_of_is_refused(d, proxy):
    call = TwoLines(proxy)
    reply = proxy.ok("offer", call_id=call.id, from_tag="a", sdp=call.sdp(
        call.a, ("97 EVS/16000", "0 PCMU/8000")), **HERE)
    assert [line.port > 0 for line in lines(reply["sdp"])] == [False, True]
    assert "line 1: this node has no codec of it" in reply["warning"]
    reply = proxy.ask("offer", call_id="none", from_tag="a", sdp=sdp(
        call.a[0].port, "97 EVS/16000"), **HERE)
    assert reply["result"] == "error"
    assert "no codec of it" in reply["error-reason"]


@pytest.mark.parametrize("wish, host", [
    ({}, "192.0.2.1"),  # as towards who offers
    ({"direction": ["in", "out"]}, "198.51.100.1"),
    ({"address_family": "IP6"}, "2001:db8::1"),
    ({"direction": ["in", "out"], "address_family": "IP6"}, "2001:db8::1"),
])
def test_interfaces(daemon, wish, host):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", "in/127.0.0.1!192.0.2.1",
                "--interface", "out/127.0.0.1!198.51.100.1", "--interface",
                "out/::1!2001:db8::1")
    call = Call(System(d.ready["ng"]), **wish)
    call.offer("8 PCMA/8000")
    assert call.offered[0].host == host
    call.delete()


def test_cancel_before_an_answer(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    assert d.ctl("stats")["interfaces"][0]["used"] == 2
    call.delete()
    all_is_gone(d)


@pytest.mark.parametrize("offer, why", [
    ({"sdp": "rubbish"}, "sdp"),
    ({"sdp": sdp(4000).replace("RTP/AVP", "RTP/SAVP")}, "SRTP"),
    ({"transport_protocol": "RTP/SAVP"}, "RTP/SAVP"),
    ({"direction": ["nowhere", "nowhere"]}, "nowhere"),
    ({"to_tag": "a"}, "to-tag"),
])
def test_what_cannot_be_done_is_refused(d, proxy, offer, why):
    request = {"call_id": "x", "from_tag": "a", "sdp": sdp(4000), **HERE}
    reply = proxy.ask("offer", **{**request, **offer})
    assert reply["result"] == "error"
    assert why.lower() in reply["error-reason"].lower(), reply
    assert proxy.ok("list")["calls"] == []
    all_is_gone(d)


@pytest.mark.parametrize("encoding, request_", [
    ("bencode", {"command": b"\xff\xfe"}),
    ("json", {"command": "a" + "\u00e9" * 30}),  # is cut in a character
    ("bencode", {"command": "offer", "call-id": "x", "from-tag": "a",
                 "sdp": sdp(4000), "direction": [b"\xe9" * 9, b"\xe8"]}),
    ("bencode", {"command": "offer", "call-id": "x", "from-tag": "a",
                 "sdp": sdp(4000), "transport-protocol": b"\xe9" * 60}),
    ("json", {"command": "offer", "call-id": "x", "from-tag": "a",
              "sdp": sdp(4000), "codec": {"mask": ["\u00e9" * 70]}}),
])
def test_what_is_no_text_is_an_error(d, encoding, request_):
    """And quoting it harms nobody."""
    proxy = System(d.ready["ng"], encoding=encoding)
    _, reply = proxy.hear_udp(proxy.message("c", request_))
    assert reply["result"] == "error" and reply["error-reason"]
    assert proxy.ask("ping")["result"] == "pong"


def test_tags_of_any_octets(d):
    proxy = System(d.ready["ng"], encoding="bencode")
    message = proxy.message("c", {
        "command": "offer", "call-id": b"\xe9", "from-tag": b"\xe8",
        "sdp": sdp(4000)})
    proxy.socket.send(message)
    assert b"2:ok" in proxy.socket.recv(65536)
    proxy.socket.send(proxy.message("q", {"command": "query",
                                          "call-id": b"\xe9"}))
    assert b"3:tag1:\xe8" in proxy.socket.recv(65536)


def test_a_delete_overtakes_an_offer_whose_cost_is_measured(d, proxy):
    """Then there is no call: who was called is not called back."""
    offer = proxy.message("offer", {
        "command": "offer", "call-id": "x", "from-tag": "a",
        "sdp": sdp(4000), "codec": TO_AMR, **HERE})
    proxy.socket.send(offer)
    proxy.socket.send(proxy.message("delete", {
        "command": "delete", "call-id": "x", "from-tag": "a"}))
    proxy.socket.settimeout(PATIENCE)
    answers = dict(proxy.read(proxy.socket.recv(65536)) for _ in range(2))
    assert answers["delete"]["result"] == "ok"
    assert "warning" not in answers["delete"]
    if answers["offer"]["result"] != "ok":  # else it was quick
        assert "deleted" in answers["offer"]["error-reason"]
    assert proxy.ok("list")["calls"] == []
    all_is_gone(d)


def test_who_rings_for_long_is_not_silent(daemon):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-silence", "2s", "--ng-patience", "600s")
    call = Call(System(d.ready["ng"]))
    call.offer("8 PCMA/8000")
    time.sleep(2.5)
    call.answer("8 PCMA/8000")
    time.sleep(0.7)
    assert call.proxy.ok("list")["calls"] == [call.id]
    until(lambda: call.proxy.ok("list")["calls"], lambda c: not c)
    all_is_gone(d)


def test_the_branch_says_which_answer_it_is(d, proxy):
    """Even if both branches end at somebody with one tag."""
    call = Call(proxy)
    told, phones = {}, {}
    for branch in ("one", "two"):
        call.offer("8 PCMA/8000", via_branch=branch)
        told[branch] = call.offered[0]
    for branch in ("one", "two"):
        phone = phones[branch] = Talker()
        phone.told(told[branch])
        reply = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                         to_tag="tag-b", via_branch=branch,
                         sdp=sdp(phone.port), **HERE)
        call.a.told(lines(reply["sdp"])[0])
        call.a.says(0xd5, 3, 8)
        phone.hears(3)
    call.delete()
    all_is_gone(d)


def test_unknown_calls(d, proxy):
    assert "Unknown" in proxy.ask("query", call_id="x")["error-reason"]
    assert "warning" in proxy.ok("delete", call_id="x", from_tag="a")
    assert proxy.ask("delete", call_id="x", from_tag="a",
                     flags=["fatal"])["result"] == "error"
    reply = proxy.ask("answer", call_id="x", from_tag="a", to_tag="b",
                      sdp=sdp(4000))
    assert reply["result"] == "error"


def test_query_tells_what_is_known(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 7, 8)
    call.b.hears(7)
    told = proxy.ok("query", call_id=call.id)
    assert set(told["tags"]) == {"tag-a", "tag-b"}
    a = told["tags"]["tag-a"]
    assert a["in dialogue with"] == "tag-b"
    stream = a["medias"][0]["streams"][0]
    assert stream["stats"]["packets"] == 7
    assert stream["endpoint"]["port"] == call.a.port
    assert stream["local port"] == call.answered[0].port
    assert "passthrough" in a["medias"][0]["flags"]
    numbers = proxy.ok("statistics")["statistics"]
    assert numbers["controlstatistics"]["offer"] == 1
    assert numbers["currentstatistics"]["sessionstotal"] == 1


def test_records_name_the_call(daemon, tmp_path):
    path = tmp_path / "records"
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--records", str(path))
    call = Call(System(d.ready["ng"]), codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("0 PCMU/8000")
    conversation, = d.ctl("conversation", "list")["conversations"]
    assert conversation["label"] == call.id
    call.a.says(0xd5, 5, 8)
    call.b.hears(5)
    call.delete()
    all_is_gone(d)
    assert d.stop() == 0
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["label"] for r in records] == [call.id] * 2
    assert sorted(r["count"]["packets_in"] for r in records) == [0, 5]


def test_load_limit(daemon):
    """What admission says is what the proxy hears, before anybody rings."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "4")
    proxy = System(d.ready["ng"])
    calls = [Call(proxy) for _ in range(2)]
    for call in calls:
        call.offer("8 PCMA/8000")
    request = {"call_id": "third", "from_tag": "a", "sdp": sdp(4000), **HERE}
    reply = proxy.ask("offer", **request, supports=["load limit"])
    assert reply["result"] == "load limit"
    assert "--max-calls" in reply["message"]
    assert proxy.ask("offer", **request)["result"] == "error"
    calls[0].delete()
    assert proxy.ask("offer", **request)["result"] == "ok"


def test_a_host_has_a_share_of_the_lines(daemon):
    """No legs are opened for more; another host has its own."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-lines", "3", "--ng-host-lines", "2")
    proxy = System(d.ready["ng"])
    calls = [Call(proxy) for _ in range(2)]
    for call in calls:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
    request = {"call_id": "third", "from_tag": "a", "sdp": sdp(4000),
               "supports": ["load limit"], **HERE}
    reply = proxy.ask("offer", **request)
    assert reply["result"] == "load limit"
    assert "2 media lines (--ng-host-lines 2)" in reply["message"]
    assert d.ctl("stats")["interfaces"][0]["used"] == 4
    calls[0].offer("8 PCMA/8000", known=True)  # what it has it may use again
    other = System(d.ready["ng"], host="127.0.0.2")
    assert other.ask("offer", **request)["result"] == "ok"
    reply = other.ask("offer", **{**request, "call_id": "fourth"})
    assert "3 media lines (--ng-lines 3)" in reply["message"]
    for call in calls:
        call.delete()
    assert other.ok("delete", call_id="third")["result"] == "ok"
    all_is_gone(d)


def test_nobody_answers_and_nobody_speaks(daemon, tmp_path):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-patience", "1s", "--ng-silence",
                "300ms")
    proxy = System(d.ready["ng"])
    Call(proxy).offer("8 PCMA/8000")
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    all_is_gone(d)
    until(lambda: proxy.ok("list")["calls"], lambda calls: not calls)
    told = proxy.ok("statistics")["statistics"]["totalstatistics"]
    assert told["offertimeoutsessions"] == 1
    assert told["timeoutsessions"] == 1
    log = (tmp_path / "runner-0.log").read_text()
    assert log.count(" ng-silent call=") == 2


def test_a_drained_node_takes_no_new_calls(daemon):
    d = started(daemon, "auto", "--drain-timeout", "600s", "--ng",
                "127.0.0.1:0")
    proxy = System(d.ready["ng"])
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    d.ctl("drain")
    reply = proxy.ask("offer", call_id="new", from_tag="a", sdp=sdp(4000),
                      supports=["load limit"], **HERE)
    assert reply["result"] == "load limit" and "drain" in reply["message"]
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.offer("8 PCMA/8000", known=True)  # what goes on may change
    call.answer("8 PCMA/8000")
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def ringing(daemon, *options):
    """A daemon, and a call that was offered before its drain."""
    d = started(daemon, "auto", "--drain-timeout", "600s", "--ng",
                "127.0.0.1:0", *options)
    call = Call(System(d.ready["ng"]), codec=TO_AMR)
    call.offer("8 PCMA/8000")
    return d, call


@pytest.mark.parametrize("how", ["drain", "SIGTERM"])
def test_a_drain_waits_for_calls_that_ring(daemon, how):
    d, call = ringing(daemon)
    if how == "drain":
        d.ctl("drain")
    else:
        d.process.send_signal(signal.SIGTERM)
    time.sleep(1.2)  # it looks each second whether all is over
    amr = call.offered[0].types[0]
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}")
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    time.sleep(1.2)
    assert d.process.poll() is None
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def test_a_drain_ends_when_the_caller_gives_up(daemon):
    d, call = ringing(daemon)
    d.ctl("drain")
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def test_a_drain_has_the_patience_of_the_node(daemon):
    d, call = ringing(daemon, "--ng-patience", "1s")
    d.ctl("drain")
    assert d.process.wait(timeout=PATIENCE) == 0
    log = d.log
    log.seek(0)
    assert f'ng-silent call="{call.id}" answered=0' in log.read()


def test_bencode_as_well(d):
    proxy = System(d.ready["ng"], encoding="bencode")
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    assert call.offered[0].names == ["AMR/8000"]
    call.delete()


EVENTS = "telephone-event/8000"
AMR_FMTP = "mode-set=7;octet-align=1"


def talk_transcoded(call, events="101", others="110"):
    """PCMA and AMR, each with its own number for events."""
    call.offer(f"8 PCMA/8000, {events} {EVENTS}")
    amr = call.offered[0].types[0]
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, {others} {EVENTS}")
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    return amr


def test_digits_have_the_number_that_each_knows(proxy):
    call = Call(proxy, codec=TO_AMR)
    talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.delete()


def test_digits_of_a_relay(d, proxy):
    call = Call(proxy)
    call.offer(f"8 PCMA/8000, 101 {EVENTS}")
    call.answer(f"8 PCMA/8000, 110 {EVENTS}")
    assert d.ctl("stats")["relays"] == 2
    assert_digits(call, 101, 110)
    call.delete()


def test_a_new_offer_numbers_digits_anew(proxy):
    call = Call(proxy, codec=TO_AMR)
    amr = talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.offer(f"8 PCMA/8000, 102 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, 111 {EVENTS}")
    assert_digits(call, 102, 111)
    call.delete()


def test_what_an_answer_lacks_is_not_sent(d, proxy):
    """Digits were agreed, and are not any more; and then they are again."""
    call = Call(proxy, codec=TO_AMR)
    amr = talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.offer(f"8 PCMA/8000, 101 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}")
    assert call.answered[0].names == ["PCMA/8000"]
    call.a.presses(5, 101)
    until(lambda: d.ctl("stats")["totals"]["wrong_pt"], lambda n: n == 3)
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    call.offer(f"8 PCMA/8000, 101 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, 110 {EVENTS}")
    assert_digits(call, 101, 110)
    call.delete()


def test_digits_at_another_clock(proxy):
    """An event's length is counted by the clock of the speech (RFC 4733,
    2.1)."""
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["opus"]})
    call.offer(f"8 PCMA/8000, 101 {EVENTS}")
    offered, = call.offered
    assert offered.names == ["opus/48000/2", "telephone-event/48000"]
    opus, events = offered.types
    call.answer(f"{opus} opus/48000/2, {events} telephone-event/48000")
    assert call.answered[0].names == ["PCMA/8000", EVENTS]
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {opus}
    assert_digits(call, 101, events, (8000, 48000))
    call.delete()


def test_comfort_noise_goes_by_its_number(proxy):
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["PCMU"]})
    call.offer("8 PCMA/8000, 13 CN/8000")
    assert call.offered[0].names == ["PCMU/8000", "CN/8000"]
    call.answer("0 PCMU/8000, 13 CN/8000")
    assert call.answered[0].types == [8, 13]
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.a.says(60, 1, 13, size=1)
    assert header(call.b.hears(1)[0])["pt"] == 13
    call.delete()


def test_a_relay_passes_all_that_both_have_agreed_on(d, proxy):
    """Who may send two codecs, changes from one to the other at will."""
    call = Call(proxy)
    call.offer("8 PCMA/8000, 0 PCMU/8000")
    call.answer("8 PCMA/8000, 0 PCMU/8000")
    assert call.answered[0].types == [8, 0]
    for says, hears in ((call.a, call.b), (call.b, call.a)):
        for pt in (8, 0, 8):
            says.says(0x33, 5, pt)
            assert {header(x)["pt"] for x in hears.hears(5)} == {pt}
    stats = d.ctl("stats")
    assert stats["relays"] == 2 and stats["totals"]["wrong_pt"] == 0
    call.delete()


def test_an_answer_names_no_codec_that_a_relay_cannot_number(d, proxy):
    call = Call(proxy)
    call.offer("96 PCMA/8000, 0 PCMU/8000")
    call.answer("97 PCMA/8000, 0 PCMU/8000")
    assert call.answered[0].types == [96]
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0x33, 5, 96)
    assert {header(x)["pt"] for x in call.b.hears(5)} == {97}
    call.delete()


def test_what_was_refused_but_is_accepted_is_heard(d, proxy):
    """The rules let the caller send PCMU, which the other side has not."""
    call = Call(proxy, codec={"accept": ["PCMU"]})
    call.offer("8 PCMA/8000, 0 PCMU/8000")
    call.answer("8 PCMA/8000")
    assert call.answered[0].types == [8, 0]
    for pt in (8, 0):
        call.a.says(0x33, 5, pt)
        assert {header(x)["pt"] for x in call.b.hears(5)} == {8}
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()


NO_DATA = b"\xf0\xfc\x7c"  # two frames of AMR, octet-aligned


def heard_of_amr(call, pt, packets=4):
    """How long what the caller hears is, in ms of PCMA."""
    for i in range(packets):
        call.b.say(call.b.ssrc, call.b.seq, 320 * call.b.seq,
                   payload=NO_DATA, pt=pt)
        call.b.seq += 1
    heard = call.a.hears(2 * packets if call.short else packets)
    assert {header(x)["pt"] for x in heard} == {8}
    return {(len(x) - 12) // 8 for x in heard}


@pytest.mark.parametrize("said", [
    ["a=maxptime:20"], ["a=ptime:40", "a=maxptime:20"]])
def test_packets_are_never_longer_than_who_hears_them_can_have(proxy, said):
    """One sends 40 ms; the other one has 20 ms at most, and later 40."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000", lines=said, ptime=40)
    amr = call.offered[0].types[0]
    spec = f"{amr} AMR/8000 {AMR_FMTP}"
    assert call.offered[0].value("ptime") == "40"
    call.answer(spec, lines=["a=ptime:40", "a=maxptime:20"])
    call.short = True
    assert heard_of_amr(call, amr) == {20}
    call.a.says(0xd5, 4, 8)
    assert {len(x) for x in call.b.hears(4)} == {12 + 2 + 31}  # one frame each
    call.offer("8 PCMA/8000", known=True, lines=["a=maxptime:40"], ptime=40)
    call.answer(spec, lines=["a=ptime:40"])
    call.short = False
    assert heard_of_amr(call, amr) == {40}
    call.offer("8 PCMA/8000", known=True, lines=said, ptime=40)
    call.answer(spec, lines=["a=ptime:40"])
    call.short = True
    assert heard_of_amr(call, amr) == {20}
    call.delete()


def test_each_has_modes_of_its_own_set(d, proxy):
    """The answer names another one than was offered, which it must not (RFC
    4867, 8.3.1): there is a codec between."""
    call = Call(proxy)
    call.offer("96 AMR/8000 mode-set=7;octet-align=1")
    call.answer("96 AMR/8000 mode-set=0;octet-align=1")
    assert call.answered[0].fmtp(96) == "mode-set=7;octet-align=1"
    assert d.ctl("stats")["relays"] == 0
    for says, hears, size in ((call.a, call.b, 12), (call.b, call.a, 31)):
        for i in range(3):
            says.say(says.ssrc, i, 160 * i, payload=b"\xf0\x7c", pt=96)
        assert {len(x) for x in hears.hears(3)} == {12 + 2 + size}
    call.delete()


def test_opus_is_answered_by_what_the_node_is(proxy):
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["PCMA"]})
    call.offer("111 opus/48000/2 stereo=1;sprop-stereo=1;useinbandfec=1;"
               "maxaveragebitrate=16000")
    call.answer("8 PCMA/8000")
    assert call.answered[0].names == ["opus/48000/2"]
    assert call.answered[0].fmtp(111) == "useinbandfec=1"
    call.b.says(0xd5, 5, 8)
    assert {header(x)["pt"] for x in call.a.hears(5)} == {111}
    call.delete()


def test_a_payload_that_is_not_known_is_left_out(proxy):
    call = Call(proxy)
    call.offer("96 AMR/8000 crc=1, 8 PCMA/8000")
    assert call.offered[0].names == ["PCMA/8000"]
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.delete()


def test_an_answer_to_an_offer_that_another_one_has_overtaken(d, proxy):
    """Both offer at once, and the later one counts: the answer to the earlier
    one is an error, and harms nobody."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.offer("0 PCMU/8000", known=True)
    call.offer("8 PCMA/8000", by="b")
    reply = proxy.ask("answer", call_id=call.id, from_tag="tag-a",
                      to_tag="tag-b", sdp=sdp(call.b.port), **HERE)
    assert reply["result"] == "error"
    assert "another offer" in reply["error-reason"], reply
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0x33, 3, 8)
    assert [x[12:] for x in call.b.hears(3)] == [bytes([0x33]) * 160] * 3
    call.answer("8 PCMA/8000", by="a")
    call.b.says(0x44, 3, 8)
    assert [x[12:] for x in call.a.hears(3)] == [bytes([0x44]) * 160] * 3
    call.delete()


class Reporting(Talker):
    """One that has a socket for RTCP, too, at the next port."""

    def __init__(self):
        super().__init__()
        self.sock.close()
        self.sock, self.rtcp = pair()
        self.sock.settimeout(PATIENCE)
        self.port = self.sock.getsockname()[1]

    def reported(self):
        """Where the next report comes: at the port of RTP ("mux"), or at its
        own ("port"). What came before does not count."""
        for sock in (self.sock, self.rtcp):
            while select.select([sock], [], [], 0)[0]:
                sock.recv(2048)
        while True:
            ready = select.select([self.sock, self.rtcp], [], [], PATIENCE)[0]
            assert ready
            for sock in ready:
                if 192 <= sock.recv(2048)[1] <= 223:
                    return "mux" if sock is self.sock else "port"


@pytest.fixture
def reported(daemon):
    """A call of phones that want to be reported to."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--rtcp-interval", "250ms")
    call = Call(System(d.ready["ng"]))
    call.a, call.b = Reporting(), Reporting()
    return call


def settle_mux(call, flags, a, b, known=False):
    """What both are told of it; they have spoken."""
    mux = ["a=rtcp-mux"]
    call.offer("8 PCMA/8000", known=known, lines=mux if a else [],
               rtcp_mux=flags)
    call.answer("8 PCMA/8000", lines=mux if b else [])
    call.a.says(0x55, 3, 8)
    call.b.says(0x55, 3, 8)
    return [line.value("rtcp-mux") is not None
            for line in (call.answered[0], call.offered[0])]


@pytest.mark.parametrize("flags, a, b, told, at", [
    ([], True, False, [True, False], ["mux", "port"]),
    (["accept", "demux"], True, False, [True, False], ["mux", "port"]),
    (["offer"], False, True, [False, True], ["port", "mux"]),
    (["offer"], True, False, [True, True], ["mux", "port"]),
    (["require"], False, False, [False, True], ["port", "mux"]),
    (["reject"], True, False, [False, False], ["port", "port"]),
    (["reject", "offer"], True, True, [False, True], ["port", "mux"]),
])
def test_rtcp_is_where_each_side_has_agreed_to(reported, flags, a, b, told,
                                               at):
    assert settle_mux(reported, flags, a, b) == told
    assert [reported.a.reported(), reported.b.reported()] == at
    reported.delete()


def test_rtcp_moves_by_a_new_offer(reported):
    """From its own port to that of RTP, and back; the other side, which has
    agreed once, stays."""
    call = reported
    assert settle_mux(call, ["offer"], False, True) == [False, True]
    assert call.a.reported() == "port"
    assert settle_mux(call, [], True, True, known=True) == [True, True]
    assert [call.a.reported(), call.b.reported()] == ["mux", "mux"]
    assert settle_mux(call, ["demux"], False, False, known=True) == [False] * 2
    assert [call.a.reported(), call.b.reported()] == ["port", "port"]
    call.delete()

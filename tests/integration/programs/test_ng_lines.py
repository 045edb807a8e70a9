# SPDX-License-Identifier: Apache-2.0
"""Calls of several lines of audio, and what each of them costs."""
import itertools
import os
import re
import sys

import pytest

from conftest import ROOT
from ng_call import (  # noqa: F401
    Call, HERE, TO_AMR, Talker, all_is_gone, d, proxy, until)
from packets import header
from telephony import System, lines, sdp
from test_senders import needed, started

sys.path.append(str(ROOT / "campaigns" / "player"))
from peer import Rtpengine  # noqa: E402


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
    """There is room for one line of two: neither begins. What was begun for
    the offer has been stopped."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "2")
    call = TwoLines(System(d.ready["ng"]))
    call.offer("8 PCMA/8000", "0 PCMU/8000")
    for early in d.ctl("call", "list")["calls"]:
        d.ctl("call", "stop", str(early["call"]))
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
    call.offer("8 PCMA/8000", known=True, lines=["a=sendonly"])  # is free
    call.answer("8 PCMA/8000", lines=["a=recvonly"])
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)


def test_what_no_codec_is_known_of_is_refused(d, proxy):
    call = TwoLines(proxy)
    reply = proxy.ok("offer", call_id=call.id, from_tag="a", sdp=call.sdp(
        call.a, ("97 red/8000", "0 PCMU/8000")), **HERE)
    assert [line.port > 0 for line in lines(reply["sdp"])] == [False, True]
    assert "line 1: this node has no codec of it" in reply["warning"]
    reply = proxy.ask("offer", call_id="none", from_tag="a", sdp=sdp(
        call.a[0].port, "97 red/8000"), **HERE)
    assert reply["result"] == "error"
    assert "no codec of it" in reply["error-reason"]


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


@pytest.mark.parametrize("flags, rises", [
    ({"replace": ["force-increment-sdp-ver"]}, 1),
    ({"replace": ["SDP-version"]}, 0)])
def test_a_version_rises_always_or_with_what_is_said(proxy, flags, rises):
    """The same is offered and answered again and again, to each side."""
    call = {"call_id": "versions", "from_tag": "a", "to_tag": "b", **flags}
    told = [[], []]
    for _ in range(4):
        told[0].append(version(proxy.ok("offer", sdp=sdp(4000), **call)))
        told[1].append(version(proxy.ok(
            "answer", sdp=sdp(4002, version=7), **call)))
    assert told[0] == [1 + rises * n for n in range(4)]
    assert told[1] == [7 + rises * n for n in range(4)]
    # what is sent again, as it was lost, has the version that it had
    again = proxy.ok("answer", sdp=sdp(4002, version=7), **call)
    assert version(again) == told[1][-1]


def test_nothing_of_a_description_says_where_a_party_is(proxy):
    """Of offers, answers and refusals, with lines of all kinds."""
    inside = "10.9.8.7"
    refused = ["m=audio 0 RTP/AVP 8", f"c=IN IP4 {inside}", "i=second",
               "m=video 0 RTP/AVP 255", f"c=IN IP4 {inside}",
               "m=image 0 udptl t38", f"c=IN IP4 {inside}"]

    def said(port, more):
        return sdp(port, host=inside, more=more, lines=[
            "i=speech", "b=TIAS:64000", "b=RS:0", "b=AS:80"])

    call = {"call_id": "inside", "from_tag": "a", **HERE}
    for what, port, more in (
            ("offer", 4000, refused), ("answer", 4002, refused),
            ("offer", 4000, ["m=audio 4004 RTP/AVP 8", *refused[1:]]),
            ("answer", 0, refused), ("offer", 0, refused)):
        known = {} if what == "offer" else {"to_tag": "b"}
        text = proxy.ok(what, sdp=said(port, more), **call, **known)["sdp"]
        assert inside not in text and "127.0.0.1" in text
        assert [x.port > 0 for x in lines(text)] == [
            port > 0, "4004" in more[0], False, False]
        assert "i=speech" in text and "i=second" in text
        if port:
            assert re.findall(r"^b=\S+", text, re.M) == [
                "b=TIAS:64000", "b=RS:0", "b=AS:80"]


def test_a_refused_offer_says_no_address(proxy):
    """Where no port was ever opened for it, either."""
    text = proxy.ok("offer", call_id="none", from_tag="a", sdp=sdp(
        0, host="10.9.8.7"), **HERE)["sdp"]
    assert "10.9.8.7" not in text and "127.0.0.1" in text
    assert lines(text)[0].port == 0


def addresses_by(proxy, wish, own):
    """What both sides of a call are told of where they are, and where the proxy
    sends to."""
    names = {"call_id": f"addresses-{next(TwoLines.ids)}", "from_tag": "a"}
    told, sent = [], {}
    for command, tag, phone in (("offer", {}, "198.51.100.1"),
                                ("answer", {"to_tag": "b"}, "198.51.100.2")):
        text = sdp(5004, "8 PCMA/8000", phone)
        if own:
            text = text.replace("AVP 8\r\n", f"AVP 8\r\nc=IN IP4 {phone}\r\n")
        reply = proxy.ok(command, **names, **tag, sdp=text, **wish)
        at = {kind: {line.split(" ")[-1] for line in reply["sdp"].split("\r\n")
                     if line.startswith(kind) and " IN " in line}
              for kind in ("o=", "c=", "a=rtcp:")}
        told.append(at)  # one that inherits c= need not repeat it
    for tag, side in proxy.ok("query", **names)["tags"].items():
        sent[tag] = side["medias"][0]["streams"][0]["endpoint"]["address"]
    proxy.ok("delete", **names, delete_delay=0)
    return told, sent


WISHES = [
    {}, {"replace": ["origin"]}, {"replace": ["session-connection"]}, HERE,
    {"media_address": "192.0.2.77"}, {"media_address": "2001:db8::7"},
    {**HERE, "media_address": "192.0.2.77"},
    {"media_address": "192.0.2.77", "flags": ["SIP-source-address"],
     "received_from": ["IP4", "192.0.2.5"]},
    {"media_address": "192.0.2.77", "flags": ["full-rtcp-attribute"]},
    {"flags": ["SIP-source-address"], "received_from": ["IP4", "192.0.2.5"]},
]


def test_addresses_are_told_as_rtpengine_tells_them(daemon, tmp_path):
    """In c= of the session, or of the line that has its own; and nobody is sent anything to what
    is only shown."""
    needed("rtpengine")
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", "127.0.0.1")
    engine = Rtpengine(str(tmp_path), sorted(os.sched_getaffinity(0)))
    assert engine.start()
    # a cookie that comes again is answered again
    proxies = System(d.ready["ng"]), System(engine.where()[1])
    try:
        for own in False, True:
            for wish in WISHES:
                ours, theirs = (addresses_by(p, wish, own) for p in proxies)
                assert ours == theirs, (wish, own)
    finally:
        engine.stop()

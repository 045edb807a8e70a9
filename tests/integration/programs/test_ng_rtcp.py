# SPDX-License-Identifier: Apache-2.0
"""Where reports of a call go (RFC 5761)."""
import os
import select
import socket
import struct
import sys
import time

import pytest

from conftest import PATIENCE, ROOT
from ng_call import Call, Talker, until
from telephony import System
from test_rtcp import pair
from test_senders import needed, started

sys.path.append(str(ROOT / "campaigns" / "player"))
from peer import Rtpengine  # noqa: E402


class Reporting(Talker):
    """One that has a socket for RTCP, too, at the next port, and others
    elsewhere."""

    def __init__(self, host="127.0.0.1", others=()):
        super().__init__()
        self.sock.close()
        self.sock, rtcp = pair(host)
        self.sock.settimeout(PATIENCE)
        self.host, self.port = self.sock.getsockname()[:2]
        self.at = {"mux": self.sock, "port": rtcp}
        for other in others:
            self.at[other] = sock = socket.socket(rtcp.family,
                                                  socket.SOCK_DGRAM)
            sock.bind((other.split()[0], 0))

    def rtcp_line(self, name, whole):
        """"a=rtcp" of one of the sockets."""
        host, port = self.at[name].getsockname()[:2]
        whole = f" IN IP{6 if ':' in host else 4} {host}" if whole else ""
        return f"a=rtcp:{port}{whole}"

    def reports(self, at):
        """To a port of the node's, from that for RTP."""
        self.sock.sendto(struct.pack("!BBHI", 0x80, 201, 1, self.ssrc) +
                         struct.pack("!BBHI2s6x", 0x81, 202, 3, self.ssrc,
                                     b"\x01\x00"), at)

    def reported(self):
        """Where the next report comes: at the port of RTP ("mux"), at the next
        one ("port"), or elsewhere. What came before does not count."""
        for sock in self.at.values():
            while select.select([sock], [], [], 0)[0]:
                sock.recv(2048)
        while True:
            ready = select.select(self.at.values(), [], [], PATIENCE)[0]
            assert ready
            for name, sock in self.at.items():
                if sock in ready and 192 <= sock.recv(2048)[1] <= 223:
                    return name


@pytest.fixture
def node(daemon):
    """One that reports often."""
    return started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                   "127.0.0.1:0", "--interface", "in/127.0.0.1",
                   "--interface", "in/::1", "--rtcp-interval", "250ms")


@pytest.fixture
def reported(node):
    """A call of phones that want to be reported to."""
    call = Call(System(node.ready["ng"]))
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


@pytest.mark.parametrize("flags, mux, attributes", [
    ({}, [], ["{1}", "{1}"]),
    ({}, ["a=rtcp-mux"], ["{1}", "{0}"]),
    ({}, ["a=rtcp-mux", "a=rtcp-mux-only"], ["{1}", None]),
    ({"rtcp_mux": ["offer"]}, ["a=rtcp-mux"], ["{1}", "{0}"]),
    ({"rtcp_mux": ["require"]}, [], ["{0}", "{1}"]),
    ({"rtcp_mux": ["reject"]}, ["a=rtcp-mux"], ["{1}", "{1}"]),
    ({"flags": ["no-rtcp-attribute"]}, ["a=rtcp-mux"], [None, None]),
    ({"flags": ["full rtcp attribute"]}, [],
     ["{1} IN IP{2} {3}", "{1} IN IP{2} {3}"]),
])
@pytest.mark.parametrize("family", ["IP4", "IP6"])
def test_where_rtcp_goes_is_always_told(node, family, flags, mux, attributes):
    """In the offer's and the answer's description, and in those of a new
    offer (RFC 3605); flags are those of either request."""
    call = Call(System(node.ready["ng"]))
    host = {"IP4": "127.0.0.1", "IP6": "::1"}[family]
    call.a.host = call.b.host = host
    flags = {**flags, "flags": flags.get("flags", [])}
    for known in (False, True):
        call.offer("8 PCMA/8000", known=known, lines=mux, **flags)
        call.answer("8 PCMA/8000", flags=flags["flags"])
        for line, attribute in zip([call.offered[0], call.answered[0]],
                                   attributes):
            assert line.host == host
            assert line.value("rtcp") == (attribute and attribute.format(
                line.port, line.port + 1, family[2], host))
    call.delete()


@pytest.mark.parametrize("codec", [{}, {"mask": ["all"],
                                        "transcode": ["PCMU"]}])
@pytest.mark.parametrize("host, others", [
    ("127.0.0.1", ["127.0.0.1", "127.0.0.2"]), ("::1", ["::1", "::1 too"])])
def test_reports_go_where_a_description_says(node, host, others, codec):
    """By "a=rtcp" of the offer and of the answer, with an address or without
    (RFC 3605), and by those of later ones; without it to the next port."""
    call = Call(System(node.ready["ng"]), codec=codec)
    call.a, call.b = (Reporting(host, others) for _ in "ab")
    spoken = "0 PCMU/8000" if codec else "8 PCMA/8000"
    for a, b, known in [(others[0], others[1], False), ("port", others[0],
                                                        True),
                        (others[1], None, True)]:
        told = [[phone.rtcp_line(name, name == others[1])] if name else []
                for phone, name in ((call.a, a), (call.b, b))]
        call.offer("8 PCMA/8000", known=known, lines=told[0])
        call.answer(spoken, lines=told[1])
        assert [call.a.reported(), call.b.reported()] == [a, b or "port"]
    call.delete()


@pytest.mark.parametrize("told", [False, True])
def test_rtcp_at_the_port_of_rtp_is_heard_unasked(node, told):
    """Told apart by its type (RFC 5761, 4) where nobody has agreed to it, and
    answered there, unless "a=rtcp" names another port."""
    call = Call(System(node.ready["ng"]))
    call.a, call.b = (Reporting(others=["127.0.0.1"]) for _ in "ab")
    phones = [call.a, call.b]
    lines = [[p.rtcp_line("127.0.0.1", False)] if told else [] for p in phones]
    call.offer("8 PCMA/8000", lines=lines[0])
    call.answer("8 PCMA/8000", lines=lines[1])
    for phone in phones:
        phone.reports(phone.to)
    until(lambda: node.ctl("stats")["rx"]["rtcp_heard"], lambda n: n == 2)
    assert [p.reported() for p in phones] == [
        "127.0.0.1" if told else "mux"] * 2
    assert node.ctl("stats")["totals"]["malformed"] == 0
    call.delete()


def lost_some(phone, pt):
    """50 packets, each tenth of which is lost."""
    for n in range(5):
        phone.says(0x55, 9, pt)
        phone.seq += 1


def answers_report(phone, about):
    """To the next SR of the node it answers at once, as one who has lost half
    of what @about sent."""
    while True:
        sr, at = phone.at["port"].recvfrom(2048)
        if sr[1] == 200:
            break
    report = struct.pack("!IIIII", about, 128 << 24, 0, 80,
                         int.from_bytes(sr[10:14], "big"))
    phone.at["port"].sendto(
        struct.pack("!BBHI", 0x81, 201, 7, phone.ssrc) + report +
        struct.pack("!I", 0) +
        struct.pack("!BBHI2s6x", 0x81, 202, 3, phone.ssrc, b"\x01\x00"), at)


@pytest.mark.parametrize("codec, pt, name", [
    ({}, 8, "PCMA/8000"),
    ({"mask": ["all"], "transcode": ["PCMU"]}, 0, "PCMU/8000")])
def test_query_and_delete_tell_how_it_sounds(node, codec, pt, name):
    """By SSRC: what was lost, and how bad that is; round trips, from the
    reports of both; packets of RTCP."""
    call = Call(System(node.ready["ng"]), codec=codec)
    call.a, call.b = Reporting(), Reporting()
    call.offer("8 PCMA/8000")
    call.answer(f"{pt} {name}")
    lost_some(call.a, 8)
    call.b.says(0x55, 50, pt)
    ssrc = struct.unpack("!I", call.b.hears(1)[0][8:12])[0]
    answers_report(call.b, ssrc)
    ssrc = struct.unpack("!I", call.a.hears(1)[0][8:12])[0]
    answers_report(call.a, ssrc)

    def about(phone, told):
        return told["SSRC"].get(str(phone.ssrc), {}).get("average MOS", {})

    told = until(lambda: call.proxy.ok("query", call_id=call.id),
                 lambda t: all(about(p, t).get("round-trip time")
                               for p in (call.a, call.b)))
    a, b = about(call.a, told), about(call.b, told)
    assert told["SSRC"][str(call.a.ssrc)]["cumulative loss"] == 4
    assert told["SSRC"][str(call.b.ssrc)]["cumulative loss"] == 0
    assert (a["packet loss"], b["packet loss"]) == (8, 0)
    assert a["MOS"] < b["MOS"] and 40 <= b["MOS"] <= 45
    assert a["round-trip time"] == pytest.approx(
        a["round-trip time leg"] + b["round-trip time leg"], abs=2)
    rtp, rtcp = told["tags"]["tag-b"]["medias"][0]["streams"]
    assert (rtp["SSRC"], rtp["flags"]) == (call.b.ssrc, ["RTP"])
    assert rtcp["local port"] == rtp["local port"] + 1
    assert rtcp["flags"] == ["RTCP"]
    assert rtcp["stats"] == {"packets": 1, "bytes": 48, "errors": 0}
    assert [told["tags"][f"tag-{x}"]["medias"][0]["codec"] for x in "ab"] == [
        "PCMA/8000", name]
    for ssrc in call.a.ssrc, call.b.ssrc:
        worst, best = (told["SSRC"][str(ssrc)][f"{which} MOS"]
                       for which in ("lowest", "highest"))
        assert worst["MOS"] <= best["MOS"]
        assert min(worst["reported at"], best["reported at"]) >= \
            told["created"]
    end = call.delete()
    assert end["SSRC"] == told["SSRC"]
    assert end["totals"]["RTCP"] == {"packets": 2, "bytes": 96, "errors": 0}


def test_the_worst_and_the_best_part_are_told(daemon):
    """Looked for four times in --ng-silence."""
    node = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                   "127.0.0.1:0", "--rtcp-interval", "250ms", "--ng-silence",
                   "800ms")
    call = Call(System(node.ready["ng"]))
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")

    def about():
        return call.proxy.ok("query", call_id=call.id)["SSRC"].get(
            str(call.a.ssrc), {})

    def samples(least):
        """Of parts that are all good, or all as bad."""
        def speak():
            for _ in range(5):
                call.a.says(0x55, 1, 8)
                call.a.seq += bad
            return about()
        return until(speak, lambda x: x.get("average MOS", {}).get(
            "samples", 0) >= least)

    bad = 0
    good = samples(2)
    assert good["lowest MOS"]["packet loss"] == 0
    bad = 1
    then = samples(good["average MOS"]["samples"] + 3)
    assert then["highest MOS"] == good["highest MOS"]
    assert 40 <= then["lowest MOS"]["packet loss"] <= 60
    assert then["lowest MOS"]["MOS"] < then["average MOS"]["MOS"] < \
        then["highest MOS"]["MOS"]
    bad = 0
    again = samples(then["average MOS"]["samples"] + 3)
    assert again["lowest MOS"]["MOS"] <= then["lowest MOS"]["MOS"]
    assert again["average MOS"]["MOS"] > then["average MOS"]["MOS"]
    call.delete()


class Mutual(Reporting):
    """One that reports on what it hears."""
    last = about = 0

    def report(self):
        for name, sock in self.at.items():
            while select.select([sock], [], [], 0)[0]:
                got = sock.recv(2048)
                if name == "mux":
                    self.about, = struct.unpack("!I", got[8:12])
                elif got[1] == 200:
                    self.last, = struct.unpack("!I", got[10:14])
        now = int((time.time() + 2208988800) * 2**32)
        self.at["port"].sendto(
            struct.pack("!BBHIQIII", 0x81, 200, 12, self.ssrc, now,
                        160 * self.seq, self.seq, 160 * self.seq) +
            struct.pack("!IIIIII", self.about, 0, self.seq, 80, self.last, 1),
            (self.to[0], self.to[1] + 1))


def form_of(ng):
    """What a proxy tells of how each of two phones sounds: its keys."""
    call = Call(System(ng))
    call.a, call.b = Mutual(), Mutual()
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")

    def talked():
        for phone in call.a, call.b:
            phone.says(0x55, 10, 8)
            phone.report()
        told = call.proxy.ok("query", call_id=call.id)["SSRC"]
        return [told.get(str(p.ssrc), {}) for p in (call.a, call.b)]

    # rtpengine 12 has no SSRC in its reply to delete
    told = until(talked,
                 lambda told: all("lowest MOS" in one for one in told))
    call.delete()
    return [{key: sorted(value) if isinstance(value, dict) else "a number"
             for key, value in one.items() if key != "MOS progression"}
            for one in told]


def test_how_it_sounds_is_told_as_rtpengine_does(node, tmp_path):
    needed("rtpengine")
    engine = Rtpengine(str(tmp_path), sorted(os.sched_getaffinity(0)))
    assert engine.start()
    try:
        assert form_of(node.ready["ng"]) == form_of(engine.where()[1])
    finally:
        engine.stop()

# SPDX-License-Identifier: Apache-2.0
"""Calls of SIPp through Kamailio, as both are packaged: 100, ten a second, with
PCMA on one side and AMR on the other, and every frame of either is the other's
speech, transcoded once."""
import contextlib
from collections import Counter

from captured import numbers, streams
from kamailio import Kamailio
from ng_node import Node
from ng_phones import (
    Phone, Phones, amr_heard, amr_said, law_decode, law_encode, speech)
from sipp import (
    AMR, OWN_PORT, PCMA, Caller, Sipp, asked, got, maybe, media, pause, plays,
    replied, sdp, taken)
from streams import Stream, assert_packets, assert_streams, write_pcap
from test_senders import needed
from test_wire import Capture

CALLS, RATE, PACKETS, VOICES = 100, 10, 100, 10


def calling(callee, file):
    """The scenario of the one that calls and hangs up."""
    c = Caller(callee)
    return [c.invite(sdp(media(OWN_PORT, PCMA))), maybe(100, 180, 183),
            got(200, rrs="true"), c.within("ACK", 1),
            plays(file, 8, "PCMA"), pause(PACKETS * 20 + 2500),
            c.within("BYE", 2), got(200)]


def called(folder, phones):
    """The scenario of who is called, and SIPp's words for it: each call has the
    next one's port."""
    ports = folder / "ports.csv"
    ports.write_text("SEQUENTIAL\n" + "".join(f"{p.port};\n" for p in phones))
    # it rings, as the proxy's processes may overtake each other
    return [asked("INVITE"), replied("180 Ringing", first=True), pause(300),
            replied("200 OK", sdp(media("[field0]", AMR)), first=True,
                    again=True),
            taken("ACK"), taken("BYE"), replied("200 OK")], ["-inf", ports]


def assert_phone(phone, expected):
    """It has heard the caller: every frame once, in order, by one sender."""
    assert phone.said == PACKETS
    heads, senders = phone.numbers()
    assert len(senders) == 1 and len(heads) == PACKETS
    assert_packets(heads, Stream(phone.port, 96, PACKETS))
    assert phone.payloads() == expected


def assert_callers(path, ports, voices):
    """At these ports of SIPp, of which several calls may have the same, each
    phone was heard: every frame once, in order; each of @voices as often as
    there are phones with it."""
    heard = streams(path, ports, 12 + 160)
    assert len(heard) == CALLS
    for packets in heard.values():
        assert_packets([numbers(p) for p in packets], Stream(0, 8, PACKETS))
    found = [b"".join(p[12:] for p in packets) for packets in heard.values()]
    assert Counter(found) == Counter(voices)


def voice(says):
    """What a caller hears of a phone."""
    return law_encode("alaw", amr_heard(says))


def test_a_hundred_calls(daemon, tmp_path):
    needed("kamailio", "sipp", "dumpcap", "tshark", "ffmpeg")
    node = Node(daemon)
    file = tmp_path / "said.alaw"
    file.write_bytes(law_encode("alaw", speech(PACKETS)))
    says = [amr_said(speech(PACKETS, 7 * n)) for n in range(VOICES)]
    path = tmp_path / "all.pcap"
    with contextlib.ExitStack() as at_end:
        phones = [Phone(says[n % VOICES]) for n in range(CALLS)]
        at_end.callback(Phones(phones).end)
        proxy = Kamailio(tmp_path / "kamailio", [node.url])
        at_end.callback(proxy.end)
        capture = Capture(path)
        at_end.callback(capture.process.kill)
        steps, words = called(tmp_path, phones)
        callee = Sipp(tmp_path, "callee", steps, CALLS, words=words)
        at_end.callback(callee.end)
        caller = Sipp(tmp_path, "caller", calling(
            f"sip:callee@127.0.0.1:{callee.port}", file), CALLS, proxy.port,
            RATE)
        at_end.callback(caller.end)
        caller.over()
        callee.over()
        assert node.is_empty() == (0, 0, 0)
        capture.stop()
    expected = amr_said(law_decode("alaw", file.read_bytes()))
    for phone in phones:
        assert_phone(phone, expected)
    ports = caller.media("sent")
    assert_callers(path, ports, [voice(v) for v in says] * (CALLS // VOICES))
    heard = tmp_path / "heard.pcap"
    write_pcap(heard, [(phone.port, phone.port, data) for phone in phones
                       for data in phone.heard])
    assert_streams(heard, [Stream(p.port, 96, PACKETS) for p in phones])

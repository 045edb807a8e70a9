# SPDX-License-Identifier: Apache-2.0
"""How long packets are that parties are sent: what each asks for, and changes
of it while speech goes on."""
import socket

import pytest

from conftest import PATIENCE
from packets import header
from test_two_way import address, d, heard, endpoint, said  # noqa: F401
from test_phone import Phone

MS = 8  # octets of PCMU


class Listener:
    """What comes to a socket: each octet once, each packet behind the one
    before."""

    def __init__(self, sock):
        self.sock, self.seq, self.ts, self.lengths = sock, None, None, []
        self.speech = b""
        sock.settimeout(PATIENCE)

    def hear(self, n):
        for _ in range(n):
            data = self.sock.recv(2048)
            now = header(data)
            if self.seq is not None:
                assert now["seq"] == (self.seq + 1) & 0xffff
                assert now["ts"] == self.ts
            self.seq = now["seq"]
            self.ts = now["ts"] + len(data) - 12 & 0xffffffff
            self.lengths.append((len(data) - 12) // MS)
            self.speech += data[12:]
        return self.lengths[-n:]

    def nothing(self):
        self.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            self.sock.recv(2048)
        self.sock.settimeout(PATIENCE)


class Talker:
    """A phone whose octets count."""

    def __init__(self, phone, ssrc=1):
        self.phone, self.ssrc, self.seq, self.n = phone, ssrc, 0, 0
        self.speech = b""

    def say(self, *lengths):
        for ms in lengths:
            speech = bytes((self.n // MS + i) % 127
                           for i in range(ms * MS))
            self.phone.say(self.ssrc, self.seq, self.n, payload=speech)
            self.speech += speech
            self.n += ms * MS
            self.seq += 1


def test_what_a_codec_cannot_do_is_refused(d):  # noqa: F811
    for codec, ms, why in (("g723_1", 20, "30 or 60 ms, not 20"),
                           ("amr", 30, "20, 40 or 60 ms, not 30"),
                           ("opus", 30, "5, 10, 20, 40 or 60 ms, not 30"),
                           ("pcma", 12, "55 or 60 ms, not 12")):
        text = d.ctl("call", "start", "in.codec=pcmu", f"out.codec={codec}",
                     "out.address=127.0.0.1:9", f"out.ptime={ms}ms", code=1)
        assert "out.ptime" in text and why in text
        assert why in d.ctl("endpoint", "open", f"codec={codec}", f"ptime={ms}ms",
                            code=1)
    open_endpoint = d.ctl("endpoint", "open", "codec=amr", "ptime=60ms")
    assert "20, 40 or 60" in d.ctl("endpoint", "change", str(open_endpoint["endpoint"]),
                                   "ptime=10ms", code=1)


def test_each_party_is_sent_what_it_asks_for(d):  # noqa: F811
    """Packets are as long both ways as their receivers want them, and that
    changes while they speak: by the endpoint, and by the call."""
    c = d.ctl("call", "start", "a.codec=pcmu", "a.ptime=40ms",
              "b.codec=pcmu", "b.ptime=10ms", "relay=never")
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    at_a, at_b = Listener(a.sock), Listener(b.sock)
    from_a, from_b = Talker(a, 10), Talker(b, 11)
    b.sock.sendto(b"hello", b.to)
    from_b.say(20)  # B is known; A is not yet: nobody hears the half packet
    from_a.say(20)
    assert at_b.hear(2) == [10, 10]
    from_b.say(20, 20, 20)
    assert at_a.hear(2) == [40, 40]
    d.ctl("endpoint", "change", str(c["b"]["endpoint"]), "ptime=60ms")
    from_a.say(20, 30, 10, 60)
    assert at_b.hear(2) == [60, 60]
    d.ctl("call", "change", str(c["call"]), "a.ptime=20ms",
          "b.ptime=30ms")
    from_a.say(60, 20, 10)
    assert at_b.hear(3) == [30, 30, 30]
    from_b.say(20, 10, 10)
    assert at_a.hear(2) == [20, 20]
    # what waits when it changes goes as it is
    from_a.say(10, 10)
    at_b.nothing()
    d.ctl("endpoint", "change", str(c["b"]["endpoint"]), "ptime=20ms")
    from_a.say(20)
    assert at_b.hear(2) == [20, 20]
    assert at_b.speech == from_a.speech
    assert at_a.speech == from_b.speech
    query = d.ctl("call", "query", str(c["call"]))
    assert (query["a"]["ptime_ms"], query["b"]["ptime_ms"]) == (20, 20)


def test_a_call_changes_what_it_sends(d):  # noqa: F811
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcmu",
                     "port=own",
                     f"out.address=127.0.0.1:{sock.getsockname()[1]}")
        number, rtp = str(call["call"]), call["rtp"]["address"]
        at = Listener(sock)
        talker = Talker(Phone(int(rtp.rsplit(":", 1)[1])))
        assert d.ctl("stream", number)["out"]["ptime_ms"] == 20
        talker.say(20, 20)
        assert at.hear(2) == [20, 20]
        now = d.ctl("stream", "change", number, "out.ptime=60ms")
        assert now["out"]["ptime_ms"] == 60
        assert now["transcoding"] == "pcmu>pcmu@20ms>60ms"
        talker.say(20, 20, 20, 20, 20, 20)
        assert at.hear(2) == [60, 60]
        d.ctl("call", "change", number, "out.ptime=10ms")
        talker.say(20)
        assert at.hear(2) == [10, 10]
        d.ctl("call", "change", number, "nice=1")  # and nothing else
        talker.say(20)
        assert at.hear(2) == [10, 10]
        assert at.speech == talker.speech
        count = d.ctl("stream", number)["count"]
        assert count["packets_out"] == len(at.lengths)
        assert count["octets_out"] == len(at.speech)


def test_what_comes_may_be_declared_anew(d):  # noqa: F811
    """A call's period, deadline and load follow; what it sends does not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcmu",
                     "port=own", "in.noise=13", "in.fill=signalled",
                     f"out.address=127.0.0.1:{sock.getsockname()[1]}")
        number, rtp = str(call["call"]), call["rtp"]["address"]
        at = Listener(sock)
        talker = Talker(Phone(int(rtp.rsplit(":", 1)[1])))
        talker.say(20, 20)
        assert at.hear(2) == [20, 20]
        for ms in (60, 10, 30):
            now = d.ctl("stream", "change", number, f"ptime={ms}ms")
            assert now["ptime_ms"] == now["deadline_ms"] == ms
            assert now["transcoding"] == f"pcmu>pcmu@{ms}ms>20ms"
            assert now["admitted"]["load"] > 0
            talker.say(*[ms] * (120 // ms))
            at.hear(6)
        now = d.ctl("stream", "change", number, "deadline=7ms")
        now = d.ctl("stream", "change", number, "ptime=20ms")
        assert (now["ptime_ms"], now["deadline_ms"]) == (20, 7)
        assert now["transcoding"] == "pcmu>pcmu@20ms"
        assert at.lengths == [20] * 20
        assert at.speech == talker.speech
        count = d.ctl("stream", number)["count"]
        assert count["missing"] == count["violations"] == 0


def test_parties_declare_what_they_send(d):  # noqa: F811
    c = d.ctl("call", "start", "a.codec=pcmu", "a.in_ptime=60ms",
              "b.codec=pcma")
    calls = [str(c[party]["stream"]) for party in "ab"]
    length = lambda: [d.ctl("stream", call)["ptime_ms"] for call in calls]
    assert length() == [60, 20]
    d.ctl("endpoint", "change", str(c["b"]["endpoint"]), "in_ptime=30ms")
    assert length() == [60, 30]
    d.ctl("endpoint", "change", str(c["a"]["endpoint"]), "codec=gsm", "in_ptime=40ms")
    assert length() == [40, 30]
    assert "frames of 20 ms" in d.ctl("endpoint", "change", str(c["a"]["endpoint"]),
                                      "in_ptime=30ms", code=1)
    assert length() == [40, 30]


def test_a_relay_sends_packets_as_they_come(d):  # noqa: F811
    """So it is none where they are to be of another length."""
    for words, relayed in (([], True), (["a.ptime=20ms"], True),
                           (["a.ptime=20ms", "b.ptime=40ms"], False),
                           (["a.ptime=40ms", "b.ptime=40ms"], True),
                           (["b.ptime=40ms"], False),
                           (["b.ptime=40ms", "ptime=40ms"], True)):
        c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcmu",
                  *words)
        assert c["relay"] == relayed, words
        d.ctl("call", "stop", str(c["call"]))

# SPDX-License-Identifier: Apache-2.0
"""A call of parties that speak the same: what foreign programs send
comes through bit by bit, and is counted and recorded."""
import json
import select
import socket
import subprocess

import pytest

from conftest import PATIENCE
from control import Control
from packets import header
from streams import Stream, assert_streams, write_pcap
from test_two_way import address, heard, endpoint, said
from test_foreign import recording
from test_phone import Phone
from test_senders import needed, started

GSTREAMER = ("gst-launch-1.0 -q audiotestsrc wave=ticks num-buffers=150 "
             "samplesperbuffer=160 is-live=true ! audio/x-raw,rate=8000,"
             "channels=1 ! mulawenc ! rtppcmupay min-ptime=20000000 "
             "max-ptime=20000000 ! udpsink host=127.0.0.1 port={port}")
FFMPEG = ("ffmpeg -v error -re -i {file} -t 3 -ar 8000 -ac 1 -af "
          "asetnsamples=160 -acodec pcm_mulaw "
          "-payload_type 100 -f rtp rtp://127.0.0.1:{port}?pkt_size=172")


@pytest.fixture
def d(daemon, tmp_path):
    return started(daemon, "auto", "--drain-timeout", "0s", "--records",
                   str(tmp_path / "records"), "--control-socket",
                   str(tmp_path / "control"))


class Tap(Phone):
    """A phone whose speech another program makes: its packets, and those that
    come to the phone."""

    def __init__(self):
        super().__init__(0)
        self.inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.inner.bind(("127.0.0.1", 0))
        self.said, self.heard = [], []

    def port(self):
        return self.inner.getsockname()[1]

    def pass_on(self):
        data = self.inner.recv(2048)
        self.said.append(data)
        self.sock.sendto(data, self.to)

    def hear(self):
        self.heard.append(self.sock.recv(2048))


def talk(taps, programs):
    """Until the programs have ended and all that they said was heard."""
    sockets = {t.inner: t.pass_on for t in taps} | {
        t.sock: t.hear for t in taps}
    running = [subprocess.Popen(line.split(), stdin=subprocess.DEVNULL)
               for line in programs]
    while True:
        over = all(p.poll() is not None for p in running)
        ready, _, _ = select.select(sockets, [], [], 0.02 if not over else 0)
        for s in ready:
            sockets[s]()
        if over and not ready and all(
                len(t.heard) == len(o.said) for t, o in zip(taps, taps[::-1])):
            break
    assert [p.returncode for p in running] == [0, 0]


def records(tmp_path, client, n):
    while client.ask("stats", {})["result"]["records"]["written"] < n:
        pass
    return [json.loads(line) for line in
            (tmp_path / "records").read_text().splitlines()]


def test_foreign_programs_hear_each_other_bit_by_bit(d, tmp_path):
    needed("gst-launch-1.0", "ffmpeg", "tshark")
    a, b = Tap(), Tap()
    c = d.ctl("call", "start", "a.codec=pcmu",
              f"a.address={address(a)}", "b.codec=pcmu", "b.pt=100",
              f"b.address={address(b)}")
    assert c["relay"] is True and "out_ssrc" not in c["a"]
    a.to, b.to = ("127.0.0.1", endpoint(c, "a")), ("127.0.0.1", endpoint(c, "b"))
    talk([a, b], [GSTREAMER.format(port=a.port()),
                  FFMPEG.format(file=recording(3), port=b.port())])
    assert len(a.said) >= 140 and len(b.said) >= 140
    for sent, got, pt in ((a.said, b.heard, 100), (b.said, a.heard, 0)):
        assert [s[:1] + bytes([s[1] & 0x80 | pt]) + s[2:]
                for s in sent] == got
    port = {"a": 4000, "b": 4002}
    write_pcap(tmp_path / "heard.pcap",
               [(5000, port["a"], p) for p in a.heard] +
               [(5002, port["b"], p) for p in b.heard])
    assert_streams(tmp_path / "heard.pcap", [
        Stream(port["a"], 0, len(a.heard), ssrc=header(b.said[0])["ssrc"]),
        Stream(port["b"], 100, len(b.heard), ssrc=header(a.said[0])["ssrc"])])
    now = d.ctl("stream", str(c["a"]["stream"]))
    assert now["relay"] is True and now["transcoding"] == "relay"
    assert now["in"]["pt"] == 0 and now["out"]["pt"] == 100
    d.ctl("call", "stop", str(c["call"]))
    record, = records(tmp_path, Control(tmp_path / "control"), 1)
    for r, sent in zip(record["streams"], (a.said, b.said)):
        count = r["count"]
        assert r["relay"] is True and r["in"]["codec"] == "pcmu"
        assert r["heard"]["ssrc"] == header(sent[0])["ssrc"]
        assert r["heard"]["expected"] == len(sent)
        assert count["packets_in"] == count["relayed"] == len(sent)
        assert count["packets_out"] == len(sent)
        assert count["octets_in"] == count["octets_out"] == sum(
            len(p) - 12 for p in sent)
        assert count["send_failed"] == count["no_destination"] == count["done"] == 0


def test_what_is_asked_for_is_what_happens(d):
    """Transcoding on demand: other numbers, and the node's own SSRC."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcmu",
              "relay=never")
    assert c["relay"] is False and c["a"]["out_ssrc"] != c["b"]["out_ssrc"]
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0xff, 0xb, 0, 1, 0)
    said(a, 0xff, 0xa, 0, 1, 0)
    assert header(heard(b, 1)[0])["ssrc"] == c["b"]["out_ssrc"]
    stats = d.ctl("stats")
    assert stats["calls"] == 1 and stats["relays"] == 0
    assert stats["totals"]["relayed"] == 0


def test_a_session_ends_its_relays(d, tmp_path):
    client = Control(tmp_path / "control")
    c = client.ask("call.start", {"a": {"codec": "pcma"},
                                          "b": {"codec": "pcma"}})["result"]
    assert c["relay"] is True
    assert d.ctl("stats")["relays"] == 2
    client.send("bye", {})
    assert {r["reason"] for r in records(
        tmp_path, Control(tmp_path / "control"), 1)} == {"bye"}
    assert d.ctl("stats")["relays"] == 0


def test_terms_of_a_relay_do_not_change(d):
    c = d.ctl("call", "start", "a.codec=pcma", "b.codec=pcma")
    assert "is relayed" in d.ctl("stream", "change", str(c["a"]["stream"]),
                                 "deadline=40ms", code=1)

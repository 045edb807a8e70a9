# SPDX-License-Identifier: Apache-2.0
"""Foreign programs over IPv6: each is heard and hears."""
import socket
import subprocess
import time

import pytest

import gstreamer
from conftest import PATIENCE
from digits import CODECS
from listen import likeness
from test_digits import converse, pressed_by
from test_foreign import recording
from test_foreign_codecs import PCMU, PEERS, SDP
from test_senders import REFUSED, needed, started
from test_two_way import endpoint

HOST = "::1"


def free_port():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


@pytest.fixture
def d(daemon):
    if not socket.has_ipv6:
        pytest.skip("Python was built without IPv6")
    try:
        free_port()
    except OSError as error:
        pytest.skip(f"this machine has no {HOST}: {error}")
    return started(daemon, "auto", "--drain-timeout", "0s", "--interface",
                   f"six/{HOST}")


def receiver(peer, port, folder, name):
    """ffmpeg, writing what it hears to a file; the file."""
    sdp, heard = folder / f"{name}.sdp", folder / f"{name}.wav"
    sdp.write_text(SDP.format(port=port, pt=peer.pt, rtpmap=peer.rtpmap)
                   .replace("IN IP4 127.0.0.1", f"IN IP6 {HOST}"))
    return subprocess.Popen(
        ["ffmpeg", "-v", "error", "-y", "-protocol_whitelist", "file,udp,rtp",
         "-i", str(sdp), "-t", "3", "-ar", "8000", "-ac", "1", str(heard)],
        stdin=subprocess.DEVNULL), heard


def sender(peer, to, speech):
    return subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-stream_loop", "2", "-i", speech,
         "-t", "9", "-ac", "1", *peer.encoder, "-f", "rtp", "-payload_type",
         str(peer.pt), f"rtp://{to}?pkt_size={peer.size}"],
        stdin=subprocess.DEVNULL)


def test_ffmpeg_and_a_call_hear_each_other(d, tmp_path):
    needed("ffmpeg")
    speech = recording(4)
    ways = [("pcmu", PCMU, "opus", PEERS["opus"]),
            ("opus", PEERS["opus"], "pcmu", PCMU)]
    calls, heard, senders = [], [], []
    for in_name, in_peer, out_name, out_peer in ways:
        port = free_port()
        call = d.ctl("call", "start", f"in.codec={in_name}", "port=own",
                     f"in.pt={in_peer.pt}", f"out.codec={out_name}",
                     f"out.pt={out_peer.pt}", f"out.address=[{HOST}]:{port}")
        assert call["rtp"]["address"].startswith(f"[{HOST}]:")
        calls.append(call)
        heard.append(receiver(out_peer, port, tmp_path, out_name))
        senders.append(sender(in_peer, call["rtp"]["address"], speech))
    assert [s.wait(timeout=PATIENCE) for s in senders] == [0, 0]
    for call, (process, path) in zip(calls, heard):
        assert process.wait(timeout=PATIENCE) == 0
        count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
        assert count["done"] == count["packets_in"]
        assert count["packets_out"] in (450, 451)  # the last may be short
        assert [name for name in REFUSED if count[name]] == [], count
        assert likeness(path, speech) > .9


def test_gstreamer_hears_what_gstreamer_presses(d):
    """A call, each party from and at one port."""
    gstreamer.needed()
    c = converse(d, CODECS["pcmu"], CODECS["l16"], "interface=six")
    assert all(c[party]["rtp"].startswith(f"[{HOST}]:") for party in "ab")
    phones = [gstreamer.GstPhone(codec, endpoint(c, party), ssrc, 3, HOST)
              for codec, party, ssrc in (("pcmu", "a", 7), ("l16", "b", 8))]
    codes = [[1, 2, 3, 4], [15, 14, 13, 12]]
    try:
        for phone in phones:
            phone.speak()
        deadline = time.monotonic() + PATIENCE
        while d.ctl("stream", str(c["b"]["stream"]))["count"]["packets_out"] < 10:
            assert time.monotonic() < deadline
        pressed_by(phones, codes)
        assert [phone.digits() for phone in phones] == codes[::-1]
        now = d.ctl("call", "query", str(c["call"]))
        assert [now[party]["to"] for party in "ab"] == [
            f"[{HOST}]:{phone.port}" for phone in phones]
    finally:
        for phone in phones:
            phone.end()

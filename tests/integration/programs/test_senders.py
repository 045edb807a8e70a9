# SPDX-License-Identifier: Apache-2.0
"""Foreign programs send at once, each to a port of a call's own: every packet
is transcoded, and what comes back is sound as a foreign dissector reads it.

ffmpeg and GStreamer take the SSRC that they are told. SIPp has one of its own,
which nobody tells the daemon.
"""
import contextlib
import random
import shutil
import socket
import subprocess

import pytest

from conftest import PATIENCE, free_port
from streams import Stream, assert_streams, write_pcap
from test_foreign import recording
from test_wire import ERRORS, tshark

PACKETS = 100  # of 20 ms, each
REFUSED = ("duplicates", "reordered", "seq_jumps", "too_big", "wrong_source",
           "wrong_pt", "surplus", "port_drops", "overwritten", "malformed", "expired",
           "concealed", "cancelled", "send_failed")


def needed(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"no {program}: deps/install test")


def started(daemon, io, *options):
    """A daemon with @io that sheds nothing: ffmpeg sends a quarter of a second
    at once, and the machine may be busy."""
    try:
        return daemon("--io", io, "--ring", "128",
                      *options)
    except RuntimeError as e:
        if "io_uring: " not in str(e):
            raise
        pytest.skip(f"this kernel refuses: {e}")


class Party:
    """A call with a port of its own, and the socket that hears its output."""

    def __init__(self, d, sock, *words):
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(PATIENCE)
        self.daemon, self.sock = d, sock
        self.port = sock.getsockname()[1]
        self.call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                          "port=own", f"out.address=127.0.0.1:{self.port}",
                          *words)
        self.rtp = self.call["rtp"]
        self.to = int(self.rtp["address"].rsplit(":", 1)[1])
        self.heard = []

    def hear(self):
        """All answers, and nothing more."""
        self.heard = [self.sock.recv(2048) for _ in range(PACKETS)]
        self.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            self.sock.recv(2048)

    def stop(self):
        """Every packet was taken, transcoded and sent."""
        count = self.daemon.ctl("call", "stop",
                                str(self.call["call"]))["streams"][0]["count"]
        assert (count["packets_in"] == count["done"] == count["packets_out"]
                == PACKETS), count
        assert [name for name in REFUSED if count[name]] == [], count


def ffmpeg(party, folder, rtcp):
    """The programs to run, each an argument list. RTCP, which ffmpeg sends,
    too, goes to the port @rtcp."""
    return [["ffmpeg", "-v", "error", "-re", "-i", recording(4), "-t",
            str(PACKETS * 0.02), "-ar", "8000", "-ac", "1", "-af",
            "asetnsamples=n=160", "-acodec", "pcm_mulaw", "-f", "rtp", "-ssrc", str(party.rtp["ssrc"]),
            f"rtp://127.0.0.1:{party.to}?pkt_size=172&rtcpport={rtcp}"]]


def gstreamer(party, folder, rtcp):
    return [["gst-launch-1.0", "-q", "audiotestsrc", f"num-buffers={PACKETS}",
            "samplesperbuffer=160", "wave=pink-noise", "is-live=true", "!",
            "audio/x-raw,rate=8000,channels=1", "!", "mulawenc", "!",
            "rtppcmupay", f"ssrc={party.rtp['ssrc']}", "min-ptime=20000000",
            "max-ptime=20000000", "!", "udpsink", "host=127.0.0.1",
            f"port={party.to}"]]


SIP = """Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:sipp@[local_ip]:[local_port]>;tag=[call_number]
To: <sip:call@[remote_ip]:[remote_port]>[peer_tag_param]
Call-ID: [call_id]
CSeq: [cseq] {method}
Contact: <sip:sipp@[local_ip]:[local_port]>
Max-Forwards: 70
"""
SDP = """Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio {port} RTP/AVP 0
a=rtpmap:0 PCMU/8000
"""
EMPTY = "Content-Length: 0\n\n"


def sent(text):
    return f"<send><![CDATA[\n{text}]]></send>"


def request(method, body=EMPTY):
    return sent(f"{method} sip:call@[remote_ip]:[remote_port] SIP/2.0\n" +
                SIP.format(method=method) + body)


def answer(body=EMPTY):
    return sent("SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n"
                "[last_To:];tag=[call_number]\n[last_Call-ID:]\n"
                "[last_CSeq:]\nContact: <sip:[local_ip]:[local_port]>\n" +
                body)


def scenario(path, *steps):
    path.write_text('<?xml version="1.0" encoding="ISO-8859-1" ?>\n'
                    '<scenario name="call">' + "\n".join(steps) +
                    "</scenario>\n")
    return str(path)


def sipp(party, folder, rtcp):
    """One calls the other, which says that the call's port is its own."""
    speech = folder / "speech.ulaw"
    speech.write_bytes(random.Random(1).randbytes(160 * PACKETS))
    speaks = scenario(
        folder / "speaks.xml",
        request("INVITE", SDP.format(port="[rtpstream_audio_port]")),
        '<recv response="200"/>', request("ACK"),
        f'<nop><action><exec rtp_stream="{speech},1,0"/></action></nop>',
        f'<pause milliseconds="{PACKETS * 20 + 500}"/>', request("BYE"),
        '<recv response="200"/>')
    answers = scenario(
        folder / "answers.xml", '<recv request="INVITE"/>',
        answer(SDP.format(port=party.to)), '<recv request="ACK"/>',
        '<recv request="BYE"/>', answer())
    one, other = free_port(), free_port()
    both = ["-i", "127.0.0.1", "-m", "1", "-nostdin", "-timeout", "60s"]
    return [["sipp", "-sf", answers, "-p", str(other), *both],
            ["sipp", "-sf", speaks, "-p", str(one), *both,
             f"127.0.0.1:{other}"]]


PROGRAMS = {ffmpeg: "ffmpeg", gstreamer: "gst-launch-1.0", sipp: "sipp"}


def assert_sound(path, parties):
    """PCMA in sequence, with the marker where the input has it."""
    options = [word for party in parties
               for word in ("-d", f"udp.port=={party.port},rtp")]
    assert tshark(path, *options, show=ERRORS) == []
    lines = iter(tshark(path, *options, show="rtp", fields=(
        "udp.dstport", "rtp.seq", "rtp.timestamp", "rtp.ssrc", "rtp.p_type",
        "rtp.marker", "udp.length")))
    for party in parties:
        out = party.call["out"]
        packets = [next(lines).split("\t") for _ in range(PACKETS)]
        first = int(packets[0][1])
        for i, (port, seq, ts, ssrc, pt, marker, length) in enumerate(packets):
            assert int(port) == party.port
            assert int(seq) == (first + i) % 2**16
            assert int(ts) == (out["ts_base"] + 160 * i) % 2**32
            assert int(ssrc, 0) == out["ssrc"]
            assert (int(pt), int(length)) == (8, 8 + 12 + 160)
            assert i == 0 or marker in ("0", "False")
        # speech or noise, not silence
        assert len(set(b"".join(data[12:] for data in party.heard))) > 50
    assert list(lines) == []


def check(parties, path):
    for party in parties:
        party.hear()
        party.stop()
    if shutil.which("tshark"):
        write_pcap(path, [(party.to, party.port, data) for party in parties
                          for data in party.heard])
        assert_streams(path, [Stream(party.port, 8, PACKETS,
                                     ssrc=party.call["out"]["ssrc"])
                              for party in parties])
        assert_sound(path, parties)


def udp(stack):
    return stack.enter_context(socket.socket(socket.AF_INET,
                                             socket.SOCK_DGRAM))


@pytest.mark.parametrize("io", ["uring", "epoll"])
@pytest.mark.parametrize("senders", [
    [ffmpeg] * 3, [gstreamer] * 3, [ffmpeg, gstreamer, sipp]],
    ids=["ffmpeg", "gstreamer", "all"])
def test_several_send_at_once(daemon, tmp_path, senders, io):
    needed(*{PROGRAMS[send] for send in senders})
    d = started(daemon, io)
    with contextlib.ExitStack() as stack:
        rtcp = udp(stack)  # nobody reads it
        rtcp.bind(("127.0.0.1", 0))
        parties = [Party(d, udp(stack)) for _ in senders]
        running = [subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, cwd=tmp_path)
                   for send, party in zip(senders, parties)
                   for words in send(party, tmp_path, rtcp.getsockname()[1])]
        assert not any(p.wait(timeout=PATIENCE) for p in running)
        check(parties, tmp_path / "heard.pcap")

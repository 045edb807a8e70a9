# SPDX-License-Identifier: Apache-2.0
"""ffmpeg's coders beside ours, over RTP: it sends each codec to a call and
hears each codec from a call, and the speech is the same."""
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from conftest import PATIENCE, free_port
from listen import RATE, likeness
from test_foreign import recording

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=call
c=IN IP4 127.0.0.1
t=0 0
m=audio {port} RTP/AVP {pt}
a=rtpmap:{pt} {rtpmap}
"""


@dataclass(frozen=True)
class Peer:
    """A codec as ffmpeg has it. encoder: its options, none if it cannot
    encode; size: of an RTP packet, bytes."""
    pt: int
    rtpmap: str
    encoder: tuple = ()
    size: int = 1200


PCMU = Peer(0, "PCMU/8000", ("-ar", "8000", "-acodec", "pcm_mulaw"), 172)
PEERS = {
    "gsm": Peer(3, "GSM/8000"),  # its RTP sender does not know it
    "opus": Peer(96, "opus/48000/2", ("-ar", "48000", "-acodec", "libopus",
                                      "-b:a", "24000")),
    "g726-32": Peer(97, "G726-32/8000", ("-ar", "8000", "-acodec", "g726le",
                                         "-b:a", "32000"), 92),
    "speex": Peer(98, "speex/8000", ("-ar", "8000", "-acodec", "libspeex")),
    "speex-wb": Peer(99, "speex/16000", ("-ar", "16000", "-acodec",
                                         "libspeex")),
    "g722": Peer(9, "G722/8000", ("-ar", "16000", "-acodec", "g722"), 172),
}


def receiver(peer, port, folder, name):
    """ffmpeg, writing what it hears to a file of 8000 Hz; the file."""
    sdp = folder / f"{name}.sdp"
    sdp.write_text(SDP.format(port=port, pt=peer.pt, rtpmap=peer.rtpmap))
    heard = folder / f"{name}.wav"
    process = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-y", "-protocol_whitelist", "file,udp,rtp",
         "-i", str(sdp), "-t", "3", "-ar", str(RATE), "-ac", "1", str(heard)],
        stdin=subprocess.DEVNULL)
    return process, heard


SPOKEN_S = 9


def sender(peer, call, speech):
    """ffmpeg, sending speech to a call for some seconds."""
    return subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-stream_loop", "2", "-i", speech,
         "-t", str(SPOKEN_S), "-ac", "1", *peer.encoder, "-f", "rtp", "-payload_type",
         str(peer.pt), "-ssrc", str(call["rtp"]["ssrc"]),
         f"rtp://{call['rtp']['address']}?pkt_size={peer.size}"],
        stdin=subprocess.DEVNULL)


def start(daemon, codec_in, codec_out, port, *more):
    return daemon.ctl("call", "start", f"in.codec={codec_in}",
                      f"out.codec={codec_out}",
                      f"out.pt={PEERS.get(codec_out, PCMU).pt}",
                      f"in.pt={PEERS.get(codec_in, PCMU).pt}",
                      f"out.address=127.0.0.1:{port}", *more)


# Of several frames of AMR or Speex in a packet it plays the first one only
# (a half and a third of the speech came out); test_packing has other ears.
PACKETS = [("pcmu", PCMU, 10), ("pcmu", PCMU, 60), ("g722", PEERS["g722"], 40),
           ("g726-32", PEERS["g726-32"], 30), ("gsm", PEERS["gsm"], 60),
           ("opus", PEERS["opus"], 60)]


@pytest.mark.parametrize("codec, peer, ms", PACKETS)
def test_ffmpeg_hears_packets_of_any_length(daemon, tmp_path, codec, peer, ms):
    d = daemon("--ring", "64")
    speech, port = recording(4), free_port()
    call = start(d, "pcmu", codec, port, f"out.ptime={ms}ms")
    process, heard = receiver(peer, port, tmp_path, codec)
    assert sender(PCMU, call, speech).wait(timeout=PATIENCE) == 0
    assert process.wait(timeout=PATIENCE) == 0
    end, = d.ctl("call", "stop", str(call["call"]))["streams"]
    assert end["out"]["ptime_ms"] == ms
    count = end["count"]
    assert count["done"] == count["packets_in"] > 0
    assert count["malformed"] == count["overwritten"] == 0
    # what comes is of 20 ms, and at times less
    assert count["packets_out"] == SPOKEN_S * 1000 // ms
    assert likeness(heard, speech) > .9


@pytest.mark.parametrize("codec", PEERS)
def test_ffmpeg_and_a_call_hear_each_other(daemon, tmp_path, codec):
    # ffmpeg sends a quarter of a second at once, and may be late
    d = daemon("--ring", "64")
    speech = recording(4)
    ways = [("pcmu", codec)]
    if PEERS[codec].encoder:
        ways.append((codec, "pcmu"))
    ports = [free_port() for _ in ways]
    calls = [start(d, *way, port) for way, port in zip(ways, ports)]
    heard = [receiver(PEERS.get(way[1], PCMU), port, tmp_path, way[1])
             for way, port in zip(ways, ports)]
    senders = [sender(PEERS.get(way[0], PCMU), call, speech)
               for way, call in zip(ways, calls)]
    assert [s.wait(timeout=PATIENCE) for s in senders] == [0] * len(ways)
    for way, call, (process, path) in zip(ways, calls, heard):
        assert process.wait(timeout=PATIENCE) == 0
        count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
        assert count["done"] == count["packets_in"] > 0
        assert count["malformed"] == count["overwritten"] == 0
        assert likeness(path, speech) > .9, way


# What an encoder may choose by itself (RFC 7587, 4.2); the call goes by 20 ms.
OPUS_MS = ("2.5", "10", "60", "120")


@pytest.mark.parametrize("ms", OPUS_MS)
def test_a_call_hears_packets_of_any_length(daemon, tmp_path, ms):
    """ffmpeg sends Opus in packets that nobody agreed on, to a port of the
    call's own where silence is filled: all of it is heard, in its time."""
    # ffmpeg sends a quarter of a second at once
    d = daemon("--ring", "256")
    speech, port = recording(4), free_port()
    call = start(d, "opus", "pcmu", port, "port=own", "in.fill=signalled",
                 "out.ptime=20ms")
    opus = PEERS["opus"]
    peer = Peer(opus.pt, opus.rtpmap,
                (*opus.encoder, "-frame_duration", ms))
    process, heard = receiver(PCMU, port, tmp_path, "pcmu")
    assert sender(peer, call, speech).wait(timeout=PATIENCE) == 0
    assert process.wait(timeout=PATIENCE) == 0
    count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
    assert count["packets_in"] >= SPOKEN_S * 1000 / float(ms)
    assert count["done"] == count["packets_in"]
    assert count["malformed"] == count["overwritten"] == count["excess"] == 0
    # the last packet, and one for what the encoder looks ahead, are filled up
    assert 0 <= count["packets_out"] * 20 - SPOKEN_S * 1000 <= 2 * 120 + 20
    assert likeness(heard, speech) > .9

# SPDX-License-Identifier: Apache-2.0
"""A foreign sender packs 10, 30, 40 or 60 ms, whatever was agreed: the other
party gets packets of 20 ms, or of what it asked for, of every sample."""
import socket
import subprocess

import pytest

from conftest import PATIENCE
from streams import Stream, assert_streams, write_pcap
from test_two_way import endpoint
from test_senders import needed, started

SPEECH_MS = 2400
PTIMES = 10, 30, 40, 60
TO = {"pcma": 8, "g722": 9, "amr": 96, "l16": 97, "gsm": 3}
LENGTHS = [(codec, 20) for codec in TO if codec != "gsm"] + [
    ("pcma", 10), ("pcma", 60), ("g722", 40), ("amr", 60), ("amr", 40),
    ("l16", 10), ("l16", 60), ("gsm", 60)]


def sender(port, ms):
    samples = 8 * ms
    return subprocess.Popen(
        ["gst-launch-1.0", "-q", "audiotestsrc", "wave=pink-noise",
         f"num-buffers={SPEECH_MS // ms}", f"samplesperbuffer={samples}",
         "is-live=true", "!", "audio/x-raw,rate=8000,channels=1", "!",
         "mulawenc", "!", "rtppcmupay", f"min-ptime={ms}000000",
         f"max-ptime={ms}000000", "!", "udpsink", "host=127.0.0.1",
         f"port={port}"], stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("codec, out_ms", LENGTHS)
def test_any_packing_is_packed_anew(daemon, tmp_path, codec, out_ms):
    needed("gst-launch-1.0", "tshark")
    d = started(daemon, "auto", "--drain-timeout", "0s")
    pt, step = TO[codec], 8 * out_ms
    length = [] if out_ms == 20 else [f"b.ptime={out_ms}ms"]
    socks, talks, senders = [], [], []
    for ms in PTIMES:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(PATIENCE)
        socks.append(sock)
        talks.append(d.ctl(
            "call", "start", "a.codec=pcmu", f"b.codec={codec}",
            f"b.pt={pt}", f"b.address=127.0.0.1:{sock.getsockname()[1]}",
            # the port above may be the next one here
            "b.rtcp=off", *length))
        senders.append(sender(endpoint(talks[-1], "a"), ms))
    packets, streams = [], []
    for ms, sock, c, process in zip(PTIMES, socks, talks, senders):
        port = sock.getsockname()[1]
        packets += [(endpoint(c, "b"), port, sock.recv(2048))
                    for _ in range(SPEECH_MS // out_ms)]
        streams.append(Stream(port, pt, SPEECH_MS // out_ms, step,
                              c["b"]["out_ssrc"]))
        assert process.wait(timeout=PATIENCE) == 0
        count = d.ctl("stream", str(c["a"]["stream"]))["count"]
        assert count["packets_in"] == count["done"] == SPEECH_MS // ms
        assert count["packets_out"] == SPEECH_MS // out_ms
        assert count["missing"] == count["malformed"] == 0
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(2048)
        sock.close()
    write_pcap(tmp_path / "heard.pcap", packets)
    assert_streams(tmp_path / "heard.pcap", streams)

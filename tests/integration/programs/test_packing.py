# SPDX-License-Identifier: Apache-2.0
"""A foreign sender packs 10, 30, 40 or 60 ms, whatever was agreed: the other
party gets packets of 20 ms, as agreed, of every sample."""
import socket
import subprocess

import pytest

from conftest import PATIENCE
from streams import Stream, assert_streams, write_pcap
from test_conversation import leg
from test_senders import needed, started

SPEECH_MS = 2400
PTIMES = 10, 30, 40, 60
TO = {"pcma": (8, 160), "g722": (9, 160), "amr": (96, 160), "l16": (97, 160)}


def sender(port, ms):
    samples = 8 * ms
    return subprocess.Popen(
        ["gst-launch-1.0", "-q", "audiotestsrc", "wave=pink-noise",
         f"num-buffers={SPEECH_MS // ms}", f"samplesperbuffer={samples}",
         "is-live=true", "!", "audio/x-raw,rate=8000,channels=1", "!",
         "mulawenc", "!", "rtppcmupay", f"min-ptime={ms}000000",
         f"max-ptime={ms}000000", "!", "udpsink", "host=127.0.0.1",
         f"port={port}"], stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("codec", TO)
def test_any_packing_is_packed_anew(daemon, tmp_path, codec):
    needed("gst-launch-1.0", "tshark")
    d = started(daemon, "auto", "--drain-timeout", "0s")
    pt, step = TO[codec]
    socks, talks, senders = [], [], []
    for ms in PTIMES:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(PATIENCE)
        socks.append(sock)
        talks.append(d.ctl(
            "conversation", "start", "a.codec=pcmu", f"b.codec={codec}",
            f"b.pt={pt}", f"b.address=127.0.0.1:{sock.getsockname()[1]}"))
        senders.append(sender(leg(talks[-1], "a"), ms))
    packets, streams = [], []
    for ms, sock, c, process in zip(PTIMES, socks, talks, senders):
        port = sock.getsockname()[1]
        packets += [(leg(c, "b"), port, sock.recv(2048))
                    for _ in range(SPEECH_MS // 20)]
        streams.append(Stream(port, pt, SPEECH_MS // 20, step,
                              c["b"]["out_ssrc"]))
        assert process.wait(timeout=PATIENCE) == 0
        count = d.ctl("call", str(c["a"]["call"]))["count"]
        assert count["packets_in"] == count["done"] == SPEECH_MS // ms
        assert count["packets_out"] == SPEECH_MS // 20
        assert count["missing"] == count["malformed"] == 0
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(2048)
        sock.close()
    write_pcap(tmp_path / "heard.pcap", packets)
    assert_streams(tmp_path / "heard.pcap", streams)

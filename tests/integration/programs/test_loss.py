# SPDX-License-Identifier: Apache-2.0
"""Speech through a conversation that loses packets: what the listener gets is,
sample by sample, what the codec's own decoder makes of the same losses
(bench-loss, which has no network)."""
import socket
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from conftest import BUILD, PATIENCE
from listen import read_wav
from test_conversation import leg
from test_phone import Phone, header
from streams import Stream, assert_streams, write_pcap
from test_senders import needed, started

SECONDS = 16
SEED = 4
CONCEALED_MS = 60  # of one gap


@dataclass(frozen=True)
class Codec:
    """step: of its timestamps, a frame; rate: of its speech, Hz; samples: of a
    frame"""
    pt: int
    step: int = 160
    rate: int = 8000
    samples: int = 160


CODECS = {"pcmu": Codec(0), "pcma": Codec(8), "gsm": Codec(3),
          "g722": Codec(9, rate=16000, samples=320), "amr": Codec(96),
          "amr-wb": Codec(96, 320, 16000, 320),
          "g723_1": Codec(4, 240, samples=240)}


class Way:
    """From A to B through a conversation, one packet at a time."""

    def __init__(self, d, a, b, *words):
        self.a, self.b, self.d = a, b, d
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(PATIENCE)
        self.port = self.sock.getsockname()[1]
        self.c = d.ctl("conversation", "start", *self._words(), *words,
                       f"b.address=127.0.0.1:{self.port}")
        self.phone, self.leg = Phone(leg(self.c, "a")), leg(self.c, "b")
        self.conceals = "a.loss=conceal" in words
        self.n, self.heard = 0, []

    def _words(self):
        for party in "ab":
            name, codec = getattr(self, party)
            yield f"{party}.codec={name}"
            yield f"{party}.pt={codec.pt}"
            if name == "l16":
                yield f"{party}.rate={codec.rate}"

    def say(self, payload, answers=1):
        """A packet, None if it is lost, and what B hears then."""
        n, codec = self.n, self.a[1]
        self.n += 1
        if payload is None:
            return
        self.phone.say(0xa, 100 + n, codec.step * n, payload=payload,
                       pt=codec.pt)
        self.heard += [self.sock.recv(4096) for _ in range(answers)]

    def end(self):
        count = self.d.ctl("call", str(self.c["a"]["call"]))["count"]
        self.d.ctl("conversation", "stop", str(self.c["conversation"]))
        self.sock.close()
        self.phone.sock.close()
        return count


def offline(codec, percent, folder):
    """WAV files by name, and the numbers of the frames that are lost."""
    folder = folder / str(percent)
    folder.mkdir()
    subprocess.run([BUILD / "bench-loss", codec, str(percent), str(SEED),
                    str(SECONDS), folder], check=True,
                   stdout=subprocess.DEVNULL)
    files = {name: read_wav(folder / f"{name}.wav")[0]
             for name in ("source", "whole", "concealed", "silence")}
    return files, {int(n) for n in (folder / "lost").read_text().split()}


def l16(codec):
    return "l16", Codec(97, codec.samples, codec.rate, codec.samples)


def encoded(d, name, pcm):
    """The payloads of a conversation's encoder."""
    codec = CODECS[name]
    way = Way(d, l16(codec), (name, codec))
    for frame in pcm.reshape(-1, codec.samples):
        way.say(frame.astype(">i2").tobytes())
    way.end()
    return [data[12:] for data in way.heard]


def heard(way, payloads, lost):
    """What B hears when A says @payloads, without those @lost: samples, zeros
    where none came; and the counters."""
    frame = way.b[1].samples
    pcm = np.zeros(len(payloads) * frame, np.int16)
    missing = 0
    for n, payload in enumerate(payloads):
        gone = n in lost
        way.say(None if gone else payload, 1 + missing * way.conceals)
        missing = missing + 1 if gone else 0
    first = header(way.heard[0])
    for data in way.heard:
        h = header(data)
        at = h["ts"] - first["ts"] & 0xffffffff
        assert at // frame == h["seq"] - first["seq"] & 0xffff
        pcm[at:at + frame] = np.frombuffer(data[12:], ">i2")
    return pcm, way.end()


def longest_run(lost):
    run = longest = 0
    for n in range(max(lost, default=0) + 1):
        run = run + 1 if n in lost else 0
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_heard_is_what_the_decoder_conceals(daemon, tmp_path, codec):
    d = started(daemon, "auto", "--drain-timeout", "0s")
    payloads = None
    for percent in 0, 1, 3, 5:
        files, lost = offline(codec, percent, tmp_path)
        # no gap is longer than what is concealed
        frame_ms = CODECS[codec].samples * 1000 / CODECS[codec].rate
        assert longest_run(lost) * frame_ms <= CONCEALED_MS
        if payloads is None:
            payloads = encoded(d, codec, files["source"])
        way = Way(d, (codec, CODECS[codec]), l16(CODECS[codec]),
                  "a.loss=conceal")
        pcm, count = heard(way, payloads, lost)
        assert count["missing"] == len(lost) and bool(lost) == bool(percent)
        assert np.array_equal(pcm, files["concealed"]), percent


def test_losses_show_in_the_numbers(daemon, tmp_path):
    """What came is where it belongs, and a foreign analysis counts what did
    not."""
    needed("tshark")
    d = started(daemon, "auto", "--drain-timeout", "0s")
    files, lost = offline("pcmu", 5, tmp_path)
    payloads = encoded(d, "pcmu", files["source"])
    way = Way(d, ("pcmu", CODECS["pcmu"]), l16(CODECS["pcmu"]),
              "a.loss=number")
    pcm, count = heard(way, payloads, lost)
    assert count["missing"] == len(lost)
    assert np.array_equal(pcm, files["silence"])
    write_pcap(tmp_path / "heard.pcap", [(way.leg, way.port, data)
                                         for data in way.heard])
    assert_streams(tmp_path / "heard.pcap", [
        Stream(way.port, 97, len(payloads) - len(lost), lost=len(lost),
               ssrc=way.c["b"]["out_ssrc"])])

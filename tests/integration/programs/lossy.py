# SPDX-License-Identifier: Apache-2.0
"""Speech through a call whose first party's packets are lost, and what
its codec makes of the same losses without a network (bench-loss)."""
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from conftest import BUILD, PATIENCE
from listen import read_wav
from packets import header, packet
from test_two_way import address, endpoint
from test_phone import Phone

SEED = 4
FIRST = 100  # sequence number of the first packet
CONCEALED_MS = 60  # of one gap
AHEAD_S = 1.5  # of time: the node sends no more than 2 s at once


@dataclass(frozen=True)
class Codec:
    """step: of its timestamps, a frame; rate: of its speech, Hz; samples: of a
    frame"""
    pt: int
    step: int = 160
    rate: int = 8000
    samples: int = 160

    @property
    def ms(self):
        return self.samples * 1000 // self.rate


CODECS = {"pcmu": Codec(0), "pcma": Codec(8), "gsm": Codec(3),
          "g722": Codec(9, rate=16000, samples=320), "amr": Codec(96),
          "amr-wb": Codec(96, 320, 16000, 320),
          "g723_1": Codec(4, 240, samples=240),
          "opus": Codec(96, 960, 16000, 320)}


class Way:
    """From A to B through a call, one packet at a time; and back."""

    def __init__(self, d, a, b, *words):
        self.a, self.b, self.d = a, b, d
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(PATIENCE)
        self.port, self.phone = self.sock.getsockname()[1], Phone(9)
        self.c = d.ctl("call", "start", *self._words(), *words,
                       f"a.address={address(self.phone)}",
                       f"b.address=127.0.0.1:{self.port}")
        self.phone.to = ("127.0.0.1", endpoint(self.c, "a"))
        self.endpoint = endpoint(self.c, "b")
        self.conceals = "a.loss=conceal" in words
        self.n, self.heard = 0, []
        self.until = 0  # what was said lasts until then

    def _words(self):
        for party in "ab":
            name, codec = getattr(self, party)
            yield f"{party}.rtcp=off"  # the next port is another's
            yield f"{party}.codec={name}"
            yield f"{party}.pt={codec.pt}"
            if name == "l16":
                yield f"{party}.rate={codec.rate}"

    def say(self, payload, answers=1):
        """A packet, None if it is lost, and what B hears then."""
        now = time.monotonic()
        time.sleep(max(0, self.until - AHEAD_S - now))
        self.until = max(self.until, now) + self.a[1].ms / 1000
        self.n += 1
        if payload is not None:
            self.send(self.n - 1, payload)
            self.hear(answers)

    def send(self, n, payload):
        """Packet @n."""
        codec = self.a[1]
        self.phone.say(0xa, FIRST + n, codec.step * n, payload=payload,
                       pt=codec.pt)

    def answer(self, n, payload):
        """B's packet @n, to A."""
        codec = self.b[1]
        self.sock.sendto(packet(0xb, FIRST + n, codec.step * n, payload,
                                codec.pt), ("127.0.0.1", self.endpoint))

    def hear(self, answers):
        self.heard += [self.sock.recv(4096) for _ in range(answers)]

    def pcm(self, packets):
        """What B has heard in the time of so many packets of A: samples, zeros
        where none came."""
        frame = self.b[1].samples
        pcm = np.zeros(packets * frame, np.int16)
        first = header(self.heard[0])
        for data in self.heard:
            at = header(data)["ts"] - first["ts"] & 0xffffffff
            if at < len(pcm):  # behind the last packet more is concealed
                pcm[at:at + frame] = np.frombuffer(data[12:], ">i2")
        return pcm

    def are_numbered(self):
        """Do sequence numbers tell B how much time lies between packets?"""
        heads = [header(data) for data in self.heard]
        return all(
            (h["ts"] - heads[0]["ts"] & 0xffffffff) // self.b[1].samples ==
            h["seq"] - heads[0]["seq"] & 0xffff for h in heads)

    def count(self):
        return self.d.ctl("stream", str(self.c["a"]["stream"]))["count"]

    def end(self):
        count = self.count()
        self.d.ctl("call", "stop", str(self.c["call"]))
        self.sock.close()
        self.phone.sock.close()
        return count


def offline(codec, loss, seconds, folder, seed=SEED, warm=0):
    """WAV files by name, and the numbers of the frames that are lost. @loss:
    percent, or a file of fates (bench-loss); @warm: frames that new codecs are
    run over."""
    subprocess.run([BUILD / "bench-loss", codec, str(loss), str(seed),
                    str(seconds), folder, str(warm)], check=True,
                   stdout=subprocess.DEVNULL)
    files = {name: read_wav(folder / f"{name}.wav")[0]
             for name in ("source", "whole", "concealed", "silence")}
    fates = (folder / "fates").read_text()
    return files, {n for n, fate in enumerate(fates) if fate != "."}


def at_once(do, things):
    """What @do returns for each of them, in their order."""
    with ThreadPoolExecutor(len(things)) as pool:
        return list(pool.map(do, things))


def l16(codec):
    return "l16", Codec(97, codec.samples, codec.rate, codec.samples)


def frames(pcm, codec):
    """Payloads of L16, as long as a frame of @codec."""
    return [frame.astype(">i2").tobytes()
            for frame in pcm.reshape(-1, codec.samples)]


def encoded(d, name, pcm):
    """The payloads of a call's encoder."""
    codec = CODECS[name]
    way = Way(d, l16(codec), (name, codec))
    for frame in frames(pcm, codec):
        way.say(frame)
    way.end()
    return [data[12:] for data in way.heard]


def heard(way, payloads, lost):
    """What B hears when A says @payloads, without those @lost, one at a time;
    and the counters."""
    missing = 0
    for n, payload in enumerate(payloads):
        gone = n in lost
        way.say(None if gone else payload, 1 + missing * way.conceals)
        missing = missing + 1 if gone else 0
    assert way.are_numbered()
    return way.pcm(len(payloads)), way.end()

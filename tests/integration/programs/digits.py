# SPDX-License-Identifier: Apache-2.0
"""Digits among speech: a gateway that sends them as tones and as telephone
events (RFC 4733) at the same time, and what came of both."""
import socket
import struct
from dataclasses import dataclass

import numpy as np

from packets import header, packet

EVENT_PT = 101
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)  # Hz
KEYS = "123A456B789C*0#D"  # of these rows and columns (ITU-T Q.23)
CODES = "0123456789*#ABCD"  # of RFC 4733, 3.2
TICK_MS = 20


@dataclass(frozen=True)
class Press:
    """A key is down from @begin for @ms."""
    key: str
    begin: int
    ms: int


def presses(keys, shortest=40, longest=400, gap=80, begin=200):
    """One key after the other, each longer than the one before."""
    found = []
    for i, key in enumerate(keys):
        ms = shortest + (longest - shortest) * i // (len(keys) - 1)
        found.append(Press(key, begin, ms))
        begin = -(-(begin + ms + gap) // TICK_MS) * TICK_MS
    return found


def with_tones(speech, rate, pressed):
    """@speech, in which there are tones while keys are down."""
    sound = speech.copy()
    for p in pressed:
        row, column = divmod(KEYS.index(p.key), 4)
        a, n = p.begin * rate // 1000, p.ms * rate // 1000
        t = np.arange(n) / rate
        sound[a:a + n] = 6000 * (np.sin(2 * np.pi * ROWS[row] * t) +
                                 np.sin(2 * np.pi * COLUMNS[column] * t))
    return sound


def power(frames, rate, hz):
    """Of a frequency in each frame, as a share of all its power (Goertzel's
    bin)."""
    n = frames.shape[1]
    turn = np.exp(-2j * np.pi * hz * np.arange(n) / rate)
    return 2 * np.abs(frames @ turn) ** 2 / (n * (frames ** 2).sum(axis=1) + 1)


def tones(sound, rate):
    """The keys whose tones are in @sound for 40 ms or more, as a receiver in
    the telephone network takes them for digits (ITU-T Q.24)."""
    half = rate // 100
    frames = np.lib.stride_tricks.sliding_window_view(
        sound.astype(float), 2 * half)[::half]
    found, before, run = [], None, 0
    powers = [np.array([power(frames, rate, hz) for hz in group])
              for group in (ROWS, COLUMNS)]
    loud = (frames ** 2).mean(axis=1) > 100 ** 2
    for i in range(len(frames)):
        best = [p[:, i].max() for p in powers]
        key = None
        if loud[i] and min(best) > .25 and sum(best) > .8:
            key = KEYS[4 * powers[0][:, i].argmax() + powers[1][:, i].argmax()]
        run = run + 1 if key and key == before else 1
        before = key
        if key and run == 3:  # windows of 20 ms, a half apart
            found.append(key)
    return found


def _pcmu():
    """The sample of each octet of PCMU (ITU-T G.711)."""
    octets = ~np.arange(256) & 0xff
    size = ((octets & 15) * 8 + 132 << (octets >> 4 & 7)) - 132
    return np.where(octets & 0x80, -size, size)


PCMU = _pcmu()
PCMU_ORDER = np.argsort(PCMU, kind="stable")
PCMU_EDGES = (PCMU[PCMU_ORDER][1:] + PCMU[PCMU_ORDER][:-1]) / 2


@dataclass(frozen=True)
class Codec:
    name: str
    pt: int
    rate: int  # of its samples and its RTP clock, Hz

    def encode(self, pcm):
        if self.name == "l16":
            return pcm.astype(">i2").tobytes()
        return PCMU_ORDER[np.searchsorted(PCMU_EDGES, pcm)].astype(
            np.uint8).tobytes()

    def decode(self, octets):
        if self.name == "l16":
            return np.frombuffer(octets, ">i2")
        return PCMU[np.frombuffer(octets, np.uint8)]


CODECS = {"pcmu": Codec("pcmu", 0, 8000), "l16": Codec("l16", 97, 16000)}


class Gateway:
    """A party that says @sound and presses keys, and all that it hears."""

    def __init__(self, codec, sound, pressed):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.codec, self.sound, self.pressed = codec, sound, pressed
        self.seq, self.first = 65500, 2**32 - codec.rate
        self.to, self.heard, self.begun = None, [], set()

    def _send(self, ms, payload, pt, marker=False):
        ts = self.first + ms * self.codec.rate // 1000
        self.sock.sendto(packet(0xd161, self.seq, ts, payload=payload,
                                pt=pt | marker << 7), self.to)
        self.seq += 1

    def _event(self, p, ms, end=False):
        marker = p not in self.begun
        self.begun.add(p)
        self._send(p.begin, struct.pack(
            "!BBH", CODES.index(p.key), end << 7 | 10,
            ms * self.codec.rate // 1000), EVENT_PT, marker)

    def tick(self, ms):
        """Say what there is to be said from @ms on, for 20 ms."""
        for p in self.pressed:
            now = ms + TICK_MS - p.begin
            if 0 < now < p.ms:
                self._event(p, now)
            elif p.ms <= now < p.ms + TICK_MS:
                for _ in range(3):
                    self._event(p, p.ms, True)
        n = self.codec.rate * TICK_MS // 1000
        at = ms // TICK_MS * n
        self._send(ms, self.codec.encode(self.sound[at:at + n]),
                   self.codec.pt)
        self.listen()

    def listen(self):
        """Take what has come."""
        self.sock.setblocking(False)
        try:
            while True:
                self.heard.append(self.sock.recv(4096))
        except BlockingIOError:
            pass

    def speech(self):
        """What it has heard as speech, silence where there was none, and the
        timestamp at which that begins."""
        packets = [(header(data)["ts"], self.codec.decode(data[12:]))
                   for data in self.heard
                   if header(data)["pt"] == self.codec.pt]
        first = packets[0][0]
        at = [(ts - first & 0xffffffff, pcm) for ts, pcm in packets]
        sound = np.zeros(max(ts + len(pcm) for ts, pcm in at), np.int16)
        for ts, pcm in at:
            sound[ts:ts + len(pcm)] = pcm
        return sound, first

    def events(self):
        """The packets of each event that it has heard, by timestamp, in order:
        (key, end, duration, marker)."""
        found = {}
        for data in self.heard:
            h = header(data)
            if h["pt"] == EVENT_PT:
                code, flags, duration = struct.unpack("!BBH", data[12:])
                found.setdefault(h["ts"], []).append(
                    (CODES[code], flags >> 7, duration, h["marker"]))
        return found

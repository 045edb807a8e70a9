# SPDX-License-Identifier: Apache-2.0
"""Calls through rtpengine: PCMU to it, AMR 12.2 back."""
import select
import socket
import struct
import time

from common.machine import HOST, fail

FRAME_NS = 20_000_000
SAMPLES = 160
# After one that begins with 0, the proxy delays all packets by a frame.
TS_FIRST = 8000
AMR_PT = 96
# Octet-aligned (RFC 4867, 4.4): request octet, ToC of a good frame of mode 7,
# 244 bits.
AMR_BYTES, AMR_TOC = 33, 0x3C
CALLS_A_SOCKET = 8


class Sender:
    """Sends every call its speech, paced by absolute time, and matches what
    comes back. One thread."""

    def __init__(self, proxy, speech):
        self.proxy, self.speech = proxy, speech
        self.length = len(speech[0]) // SAMPLES  # then from the start again
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out.bind((HOST, 0))
        self.targets, self.by_source, self.sockets = [], {}, {}
        self.poll = select.epoll()
        for i in range(len(speech)):
            if i % CALLS_A_SOCKET == 0:
                here = self.listen()
            target, source = proxy.call(i, self.out.getsockname()[1],
                                        here.getsockname()[1])
            self.targets.append((HOST, target))
            self.by_source[source] = i
        self.sent = set()  # (call, frame): no answer yet
        self.frames = [{} for _ in speech]  # by index, until they repeat
        self.first = [None] * len(speech)   # RTP timestamp of frame 0
        self.lost = 0

    def listen(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        s.bind((HOST, 0))
        s.setblocking(False)
        self.sockets[s.fileno()] = s
        self.poll.register(s, select.EPOLLIN)
        return s

    def close(self):
        self.poll.close()
        for s in (self.out, *self.sockets.values()):
            s.close()

    def receive(self, timeout):
        for fd, _ in self.poll.poll(timeout):
            s = self.sockets[fd]
            while True:
                try:
                    data, source = s.recvfrom(2048)
                except BlockingIOError:
                    break
                self.take(data, source[1])

    def take(self, data, port):
        call = self.by_source.get(port)
        if call is None or data[1] & 0x7F != AMR_PT:
            return
        if len(data) != 12 + AMR_BYTES or data[13] != AMR_TOC:
            fail(f"call {call}: not a frame of AMR 12.2: {data.hex()}")
        index = self.index(call, int.from_bytes(data[4:8], "big"))
        if index < self.length:
            self.frames[call][index] = data[13:]
        self.sent.discard((call, index))

    def index(self, call, stamp):
        """Number of a frame by its RTP timestamp."""
        if self.first[call] is None:
            self.first[call] = stamp
        return (stamp - self.first[call] & 0xFFFFFFFF) // SAMPLES

    def send(self, call, index, counted):
        header = struct.pack("!BBHII", 0x80, 0x80 if index == 0 else 0,
                             index & 0xFFFF,
                             TS_FIRST + index * SAMPLES & 0xFFFFFFFF,
                             call + 1)
        speech = self.speech[call]
        at = index % self.length * SAMPLES
        if counted:
            self.sent.add((call, index))
        self.out.sendto(header + speech[at:at + SAMPLES], self.targets[call])

    def run(self, frames):
        """Send @frames frames a call. One more frame marks its end and does not
        count."""
        calls = len(self.speech)
        start = time.monotonic_ns() + FRAME_NS
        for turn in range((frames + 1) * calls):
            index, call = divmod(turn, calls)
            due = start + turn * FRAME_NS // calls
            while (now := time.monotonic_ns()) < due:
                self.receive((due - now) / 1e9)
            self.send(call, index, index < frames)
            if turn % 32 == 0:
                self.receive(0)
        done = time.monotonic_ns() + 500_000_000
        while self.sent and time.monotonic_ns() < done:
            self.receive(0.01)
        self.lost = len(self.sent)

# SPDX-License-Identifier: Apache-2.0
"""Phones behind a SIP program that sends no speech of its own: each has a port,
which the program's SDP names, and speaks once it has been spoken to."""
import selectors
import socket
import threading
import time

from loopback import PATIENCE
from packets import header, numbers, packet
from speech import FRAME

PTIME = 0.02  # s


class Phone:
    """says: payloads, one each 20 ms from the first packet heard on; heard:
    (payload type, payload) by the order of coming; @pt: that it says and
    wants."""

    def __init__(self, says, pt=96):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.setblocking(False)
        self.port = self.sock.getsockname()[1]
        self.says, self.pt, self.said = says, pt, 0
        self.heard, self.begun = [], None

    def hear(self):
        data, to = self.sock.recvfrom(2048)
        if 192 <= data[1] <= 223:  # RTCP, of the phone one port below
            return
        self.to = to
        self.heard.append(data)
        if self.begun is None:
            self.begun = time.monotonic()

    def due(self, now):
        return (self.begun is not None and self.said < len(self.says) and
                now >= self.begun + self.said * PTIME)

    def speak(self):
        self.sock.sendto(packet(self.port, self.said, FRAME * self.said,
                                self.says[self.said], self.pt), self.to)
        self.said += 1

    def payloads(self):
        return [data[12:] for data in self.heard]

    def numbers(self):
        """(number, timestamp, marker, type) of each, and its sender's name."""
        return ([numbers(data) for data in self.heard],
                {header(data)["ssrc"] for data in self.heard})


class Answering(Phone):
    """One that says a packet for each that it hears."""

    def due(self, now):
        return self.said < min(len(self.heard), len(self.says))


class Phones:
    """All of them, in a thread of their own until they end."""

    def __init__(self, phones):
        self.phones, self.done = phones, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        with selectors.DefaultSelector() as s:
            for phone in self.phones:
                s.register(phone.sock, selectors.EVENT_READ, phone)
            while not self.done.is_set():
                for key, _ in s.select(0.004):
                    key.data.hear()
                now = time.monotonic()
                for phone in self.phones:
                    if phone.due(now):
                        phone.speak()

    def wait(self, reached):
        """Until @reached() of each phone."""
        deadline = time.monotonic() + PATIENCE
        while not all(map(reached, self.phones)):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self):
        self.done.set()
        self.thread.join()
        for phone in self.phones:
            phone.sock.close()

# SPDX-License-Identifier: Apache-2.0
"""SCTP of our own, over UDP (RFC 9260, 6951): enough to have an association, and
to lie at each step of it."""
import json
import os
import pathlib
import pwd
import random
import socket
import struct

from node import HOST, PATIENCE

(DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN,
 SHUTDOWN_ACK, ERROR, COOKIE_ECHO, COOKIE_ACK) = range(12)
COOKIE = 7  # a parameter of INIT_ACK


def table():
    """Of CRC-32C."""
    rows = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        rows.append(i)
    return rows


TABLE = table()


def crc32c(data):
    crc = 0xffffffff
    for octet in data:
        crc = crc >> 8 ^ TABLE[(crc ^ octet) & 0xff]
    return crc ^ 0xffffffff


def chunk(kind, body=b"", flags=0, length=None):
    """@length: what it claims to have; padded to four octets."""
    return struct.pack("!BBH", kind, flags, 4 + len(body) if length is None
                       else length & 0xffff) + body + bytes(-len(body) % 4)


def chunks(data):
    """(kind, flags, body) of each."""
    at = 12
    while at + 4 <= len(data):
        kind, flags, length = struct.unpack_from("!BBH", data, at)
        if length < 4:
            return
        yield kind, flags, data[at + 4:at + length]
        at += length + (-length % 4)


class Peer:
    """One end of an association with @node, at a UDP port of its own."""

    def __init__(self, node, rng=None, host=HOST):
        self.rng = rng or random.Random()
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((host, 0))
        self.sock.connect((HOST, node.daemon.udp))
        self.sock.settimeout(1)
        self.to = node.daemon.sctp
        self.port = self.rng.randrange(1024, 65536)
        self.tag = self.rng.randrange(1, 1 << 32)
        self.tsn = self.rng.getrandbits(32)
        self.theirs, self.cookie, self.seen, self.ssn = 0, b"", 0, 0
        self.sent = 0

    def send(self, *parts, tag=None, crc=None):
        head = struct.pack("!HHI", self.port, self.to,
                           self.theirs if tag is None else tag)
        body = b"".join(parts)
        if crc is None:
            crc = crc32c(head + bytes(4) + body)
        self.raw(head + struct.pack("<I", crc) + body)

    def raw(self, data):
        """Whatever it is."""
        try:
            self.sock.send(data)
        except OSError:
            pass  # too long, or what came before was refused
        self.sent += 1

    def init(self, window=65536, streams=10):
        return chunk(INIT, struct.pack("!IIHHI", self.tag, window, streams,
                                       streams, self.tsn))

    def hear(self):
        """Chunks of the next datagram; none when none comes."""
        try:
            return list(chunks(self.sock.recv(65536)))
        except (TimeoutError, ConnectionRefusedError):
            return []

    def ask_cookie(self, window=65536):
        """INIT, until there is a cookie. Is there one?"""
        for _ in range(PATIENCE):
            self.send(self.init(window), tag=0)
            for kind, _, body in self.hear():
                if kind == INIT_ACK:
                    self.take(body)
                    return True
                if kind == ABORT:
                    return False
        return False

    def take(self, body):
        self.theirs, _, _, _, self.seen = struct.unpack_from("!IIHHI", body)
        self.seen -= 1
        at = 16
        while at + 4 <= len(body):
            kind, length = struct.unpack_from("!HH", body, at)
            if kind == COOKIE:
                self.cookie = body[at + 4:at + length]
            at += max(4, length + (-length % 4))

    def open(self, window=65536):
        """An association. Is there one?"""
        if not self.ask_cookie(window):
            return False
        for _ in range(PATIENCE):
            self.send(chunk(COOKIE_ECHO, self.cookie))
            if any(kind == COOKIE_ACK for kind, _, _ in self.hear()):
                return True
        return False

    def show_key(self):
        """What it asks then is run, and not refused at once."""
        key = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir,
                           ".codec-runner/control.key").read_text().strip()
        self.send(self.data(json.dumps(
            {"jsonrpc": "2.0", "method": "hello",
             "params": {"key": key}}).encode()))

    def data(self, text, flags=3, stream=0, ppid=0, length=None, tsn=None):
        """A chunk of DATA, which counts unless it has a number of its own."""
        if tsn is None:
            tsn, self.tsn = self.tsn, self.tsn + 1 & 0xffffffff
        part = chunk(DATA, struct.pack("!IHHI", tsn, stream, self.ssn & 0xffff,
                                       ppid) + text, flags, length)
        self.ssn += flags & 1
        return part

    def sack(self, window=65536, ahead=0):
        return chunk(SACK, struct.pack("!IIHH", self.seen + ahead & 0xffffffff,
                                       window, 0, 0))

    def answer(self, wanted=b"\n", patience=PATIENCE):
        """What comes as data, acknowledged; until it has @wanted."""
        text = b""
        for _ in range(patience):
            for kind, _, body in self.hear():
                if kind == DATA and len(body) > 12:
                    self.seen = max(self.seen, struct.unpack("!I", body[:4])[0])
                    text += body[12:]
                elif kind == ABORT:
                    return None
                elif kind == HEARTBEAT:
                    self.send(chunk(HEARTBEAT_ACK, body))
            self.send(self.sack())
            if wanted in text:
                break
        return text

    def close(self):
        self.sock.close()

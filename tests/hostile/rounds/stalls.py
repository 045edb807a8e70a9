# SPDX-License-Identifier: Apache-2.0
"""Everybody who reads what the node says stops reading, at the same time: its
log, its records, a trace, and clients of control (both ways), NG and HTTP."""
import contextlib
import fcntl
import os
import pathlib
import select
import socket
import threading
import time

import ng
import sctp
from liars import clean
from node import HOST, Wrong, wait_for
from phases import Asker, terms

PIPE = 4096
MOST_RSS = 200 << 20  # more than before
QUARANTINE = 1 << 30  # of AddressSanitizer, for what has been freed
ASK = b'{"jsonrpc": "2.0", "id": 1, "method": "stats"}\n'
GET = b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Pipe:
    """A named pipe, and who reads it: not before read() is called."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, PIPE)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.text, self.over = b"", False

    def read(self):
        self.thread.start()

    def run(self):
        while True:
            over = self.over
            select.select([self.fd], [], [], 0.05)
            try:
                part = os.read(self.fd, 65536)
            except BlockingIOError:
                part = b""
            self.text += part
            if over and not part:
                return

    def end(self):
        """All that has come, as lines."""
        self.over = True
        self.thread.join()
        os.close(self.fd)
        return self.text.decode().splitlines()


def place(folder):
    """Options of a node whose log and records go into pipes."""
    return ("--log-file", str(folder / "log-pipe"), "--records",
            str(folder / "records-pipe"), "--log-level", "debug")


def rss(node):
    return int(pathlib.Path(f"/proc/{node.pid}/statm").read_text().split()[1]
               ) * os.sysconf("SC_PAGE_SIZE")


class Deaf:
    """A client that asks and does not read."""

    def __init__(self, sock, ask):
        self.sock, self.ask, self.sent = sock, ask, 0
        sock.setblocking(False)

    def go_on(self):
        with contextlib.suppress(OSError):
            for _ in range(100):
                self.sent += self.sock.send(self.ask) == len(self.ask)

    def close(self):
        self.sock.close()


def clients(node):
    local = socket.socket(socket.AF_UNIX)
    local.connect(str(node.path))
    proxy = ng.Proxy(f"{HOST}:{node.ng}", "tcp")
    return [Deaf(local, ASK), Deaf(proxy.socket, proxy.message(
        "c", {"command": "list", "limit": 100})), Deaf(
            socket.create_connection((HOST, node.http)), GET)]


class DeafPeer:
    """The same by SCTP: what the node sends is never acknowledged."""

    def __init__(self, node, rng):
        self.peer, self.sent = sctp.Peer(node, rng), 0
        if not self.peer.open(window=1500):
            raise Wrong("no association")
        self.peer.show_key()

    def go_on(self):
        for _ in range(10):
            self.peer.send(self.peer.data(ASK.strip()))
            self.sent += 1

    def close(self):
        self.peer.close()


def attack(scene):
    """Calls come and go meanwhile, which log and record; honest clients are
    served, and no memory fills."""
    node, asker = scene.node, Asker(scene.node)
    os.mkfifo(scene.folder / "traces" / "pipe")
    deaf = clients(node) + [DeafPeer(node, scene.rng)]
    told, before = {"calls": 0, "honest": 0}, rss(node)
    end = time.monotonic() + scene.seconds
    while time.monotonic() < end or told["calls"] < 100:
        for of in deaf:
            of.go_on()
        call = asker.result("call.start", **terms(asker, "shared"))
        asker.result("call.stop", call=call["call"])
        told["calls"] += 1
        if told["calls"] % 40 == 1:
            node.daemon.ctl("hello")
            told["honest"] += 1
            # a pipe can hold whoever waits for it up
            reply = asker.reply("trace.start", name="pipe", overwrite=True)
            if "error" not in reply:
                raise Wrong(f"a trace into a pipe: {reply}")
    sanitized = "libasan" in pathlib.Path(f"/proc/{node.pid}/maps").read_text()
    if rss(node) - before > MOST_RSS + sanitized * QUARANTINE:
        raise Wrong(f"{rss(node) - before} bytes more than before")
    told["unread"] = sum(of.sent for of in deaf)
    for of in deaf:
        of.close()
    clean(scene, asker)
    for pipe in scene.pipes:
        pipe.read()
    told["records dropped"] = wait_for(
        "what waited is read", lambda: all_told(node.ask("stats")))["dropped"]
    return told


def all_told(stats):
    """Of each call that has ended, a record is written, or counted: there is an
    end to what waits for who does not read."""
    of = stats["records"]
    ended = stats["calls_started"] - stats["calls"]
    return of if of["written"] and sum(
        of[n] for n in ("written", "dropped", "failed")) == ended else None

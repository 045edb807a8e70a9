# SPDX-License-Identifier: Apache-2.0
"""Clients that lie: half messages, wrong lengths, huge numbers, requests whose
replies nobody reads, associations opened and dropped, cookies repeated."""
import contextlib
import json
import socket
import time

import mutants
import ng
import sctp
from node import HOST, Control, Wrong, wait_for
from phases import Asker, calls, sdp, stop_new

TEXT = (mutants.flip, mutants.cut, mutants.grow, mutants.double, mutants.number)
HUGE = ("999999999999999999999999", "-1", "1e400", "18446744073709551616", "0",
        "-9223372036854775809", "2147483648", "null", "\"\"", "[]", "{}")


def until(scene, step):
    """Call @step(told) again and again; what it told."""
    told, end = {"lies": 0}, time.monotonic() + scene.seconds
    while time.monotonic() < end:
        step(told)
        told["lies"] += 1
    return told


def add(told, name, n=1):
    told[name] = told.get(name, 0) + n


# Control by SCTP

def half(peer, rng):
    """Its beginning comes, its end never does."""
    peer.send(peer.data(b'{"jsonrpc"', flags=2), peer.data(rng.randbytes(99),
                                                           flags=0))


def lengths(peer, rng):
    """Chunks that claim more or less than there is."""
    peer.send(peer.data(b"x" * 40, length=rng.choice(mutants.NUMBERS)))
    peer.send(sctp.chunk(rng.randrange(256), rng.randbytes(20),
                         rng.randrange(256), rng.choice((0, 1, 3, 5, 65535))))


def far(peer, rng):
    """Numbers and streams that nobody has."""
    peer.send(peer.data(b"{}\n", tsn=rng.choice(mutants.NUMBERS)))
    peer.send(peer.data(b"{}\n", stream=rng.choice((11, 65535))))
    peer.send(peer.sack(ahead=rng.choice((1, 1000, 0x7fffffff))))
    peer.send(peer.sack(window=rng.choice((0, 1, 0xffffffff))))


def again(peer, rng):
    """The cookie once more, and one that was changed."""
    for _ in range(3):
        peer.send(sctp.chunk(sctp.COOKIE_ECHO, peer.cookie))
    peer.send(sctp.chunk(sctp.COOKIE_ECHO, mutants.mutated(rng, peer.cookie,
                                                           TEXT)))
    peer.send(peer.init(), tag=0)


def unread(peer, rng):
    """Requests by the dozen, of whose replies none is acknowledged."""
    ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": rng.choice(
        ("stats", "codecs", "call.list"))}).encode()
    for _ in range(50):
        peer.send(peer.data(ask))


def noise(peer, rng):
    """Whole datagrams that were good once."""
    for _ in range(20):
        peer.raw(mutants.mutated(rng, peer.init(), TEXT))
        peer.send(mutants.mutated(rng, peer.data(b'{"jsonrpc": "2.0"}\n') +
                                  peer.sack() + peer.init(), TEXT))
    peer.send(peer.data(b"{}"), crc=rng.getrandbits(32))
    peer.send(peer.data(b"{}"), tag=rng.getrandbits(32))


SCTP = (half, lengths, far, again, unread, noise)


def by_sctp(scene):
    """Most are dropped without a word. In between somebody asks and is told."""
    sent = 0

    def step(told):
        nonlocal sent
        peer = sctp.Peer(scene.node, scene.rng,
                         scene.rng.choice((HOST, "127.0.0.5")))
        with contextlib.closing(peer):
            if peer.open():
                add(told, "associations")
                if scene.rng.random() < 0.7:
                    peer.show_key()
            scene.rng.choice(SCTP)(peer, scene.rng)
            if scene.rng.random() < 0.7:
                peer.send(sctp.chunk(scene.rng.choice(
                    (sctp.ABORT, sctp.ABORT, sctp.SHUTDOWN, sctp.ERROR))))
            else:
                add(told, "dropped")
            sent += peer.sent
        if told["lies"] % 25 == 0:
            scene.node.daemon.ctl("hello")
            add(told, "honest")

    told = until(scene, step)
    told["packets"] = sent
    return told


# Control by the Unix socket

def request(rng):
    """A request with a number that nobody expects."""
    return json.dumps({
        "jsonrpc": "2.0", "id": 7, "method": rng.choice(
            ("call.start", "call.stop", "call.change", "endpoint.open", "drain?",
             "call.start", "convert.start", "trace.start", "hello")),
        "params": {"call": 0xbad, "in": {"codec": "pcmu", "pt": 0xbad},
                   "out": {"codec": "pcma", "address": f"{HOST}:9"},
                   "ptime_ms": 0xbad, "name": "../x", "port": "own"}}
                      ).replace(str(0xbad), rng.choice(HUGE)).encode() + b"\n"


def by_unix(scene):
    """Half lines, long lines, nested ones, replies that nobody reads."""
    asker = Asker(scene.node)
    before = calls(asker)

    def step(told):
        rng = scene.rng
        control = Control(scene.node.path)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError,
                                 TimeoutError):
            control.socket.settimeout(1)  # who is not read may wait
            what = rng.randrange(6)
            if what == 0:
                control.socket.sendall(request(rng)[:-rng.randrange(1, 60)])
            elif what == 1:
                control.socket.sendall(b"[" * rng.choice((10, 5000, 60000)))
                control.socket.sendall(b"\n")
            elif what == 2:
                control.socket.sendall(b"x" * rng.choice((70000, 1 << 20)))
            elif what == 3:
                for _ in range(200):
                    control.socket.sendall(request(rng))
                add(told, "unread", 200)
            elif what == 4:
                control.socket.sendall(b"[" + b",".join(
                    request(rng)[:-1] for _ in range(rng.choice(
                        (1, 200, 300)))) + b"]\n")
            else:
                for _ in range(20):
                    control.socket.sendall(mutants.mutated(rng, request(rng),
                                                           TEXT) + b"\n")
        control.lines.close()
        control.socket.close()
        if told["lies"] % 10 == 0:
            asker.result("stats")

    told = until(scene, step)
    stop_new(asker, before)
    clean(scene, asker)
    return told


def clean(scene, asker):
    """Nothing is left of who has gone: sessions end with --grace."""
    wait_for("only the good calls are left", lambda: calls(asker) == {
        of.call for of in scene.good.calls})
    asker.close()


# NG

QUIET = 100  # looks in a row at which there was no call


def offers(n):
    of = {"call-id": f"liar{n % 50}", "from-tag": "a"}
    return ({"command": "ping"},
            {"command": "offer", "sdp": sdp(4000), "ICE": "remove", **of},
            {"command": "answer", "sdp": sdp(4002), "to-tag": "b", **of},
            {"command": "query", **of}, {"command": "delete", **of},
            {"command": "list", "limit": "999999999999"})


BENCODE = (b"d", b"l" * 5000, b"d7:commandi99999999999999999999999e",
           b"d7:command99999999999:ping", b"d7:command-1:pinge", b"i-0e",
           b"d7:command4:ping7:command4:pinge", b"0:" * 30000, b"i" + b"9" * 60000)


def message(rng, proxy, n):
    cookie = f"k{rng.randrange(20)}" if rng.random() < 0.5 else f"n{n}"
    if rng.random() < 0.2:
        return cookie.encode() + b" " + rng.choice(BENCODE)
    ask = rng.choice(offers(n))
    text = proxy.message(cookie, ask)
    # no longer than that a name fits a list of calls
    return mutants.mutated(rng, text, TEXT)[:600] if rng.random() < 0.7 \
        else text


def by_ng(scene):
    """By UDP and TCP, in bencode and JSON; a cookie may come again with another
    request. Who asks properly beside them is told."""
    asker, n = Asker(scene.node), 0
    at = f"{HOST}:{scene.node.ng}"
    honest = ng.Proxy(at, encoding="bencode", host="127.0.0.77")

    def step(told):
        nonlocal n
        kind = scene.rng.choice(("udp", "udp", "tcp"))
        proxy = ng.Proxy(at, kind, scene.rng.choice(("json", "bencode")),
                         scene.rng.choice((HOST, "127.0.0.66")))
        with contextlib.suppress(OSError):
            proxy.socket.settimeout(1)
            # one only by TCP: a wrong length has what follows in a name
            for _ in range(20 if kind == "udp" else 1):
                n += 1
                proxy.socket.send(message(scene.rng, proxy, n))
                add(told, kind)
        proxy.close()
        if told["lies"] % 20 == 0:
            if honest.ask("ping")["result"] != "pong":
                raise Wrong("no pong")
            add(told, "honest")

    told = until(scene, step)
    quiet = 0
    while quiet < QUIET:  # who was too fast is read later
        left = honest.ask("list", limit=1)  # ids may be long
        if "calls" not in left:
            raise Wrong(f"list: {left}")
        left = left["calls"]
        quiet = 0 if left else quiet + 1
        time.sleep(0.01)
        for call in left:
            reply = honest.ask("delete", **{"call-id": call,
                                            "delete-delay": 0})
            if reply["result"] != "ok":
                raise Wrong(f"delete of {call!r}: {reply}")
    honest.close()
    clean(scene, asker)
    return told


# HTTP

HTTP = (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999"
        b"9999\r\n\r\n", b"POST /scheduler HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"\r\n" * 1000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000, b"\x16\x03\x01\x02\x00")


def by_http(scene):
    """Requests that end too early or never, by the dozen, and not read."""
    held = []

    def step(told):
        with contextlib.suppress(OSError):
            s = socket.create_connection((HOST, scene.node.http), 1)
            for _ in range(scene.rng.choice((1, 20))):
                s.sendall(mutants.mutated(scene.rng, scene.rng.choice(HTTP),
                                          TEXT))
            held.append(s)
        while len(held) > 30:
            held.pop(scene.rng.randrange(len(held))).close()
        if told["lies"] % 20 == 0:
            scene.node.ask("stats")

    told = until(scene, step)
    for s in held:
        s.close()
    return told

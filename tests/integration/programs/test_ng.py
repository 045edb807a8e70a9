# SPDX-License-Identifier: Apache-2.0
"""Telephone systems reach the daemon by NG, and who floods it takes nothing
from others."""
import os
import random
import socket
import threading

import pytest

from conftest import PATIENCE, free_port
from control import Control
from ng import Proxy
from test_http import metrics

KINDS = [(kind, encoding) for kind in ("udp", "tcp")
         for encoding in ("bencode", "json")]


@pytest.mark.parametrize("at", ["127.0.0.1:0", "[::1]:0"])
def test_the_daemon_is_pinged(daemon, at):
    d = daemon("--ng", at)
    for kind, encoding in KINDS:
        proxy = Proxy(d.ready["ng"], kind, encoding, host=None)
        assert [proxy.ask("ping") for _ in range(3)] == [{"result": "pong"}] * 3
        answer = proxy.ask("dance")
        assert answer["result"] == "error" and answer["error-reason"]
        proxy.close()


def test_without_the_option_nobody_listens(daemon):
    assert "ng" not in daemon().ready


def test_a_wrong_address_ends_the_start(daemon):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = "127.0.0.1:%d" % other.getsockname()[1]
        for address, says in [("here", "--ng: here: needs an address"),
                              ("127.0.0.1", "needs an address"),
                              ("99999", "needs an address"),
                              ("0.0.0.0:0", "say who may ask .--ng-allow"),
                              ("[::]:0", "say who may ask .--ng-allow"),
                              (taken, f"{taken}: Address already in use")]:
            with pytest.raises(RuntimeError, match=says):
                daemon("--ng", address)
    with pytest.raises(RuntimeError, match="localhost: is no ADDR"):
        daemon("--ng", "0", "--ng-allow", "localhost")


def test_a_port_alone_is_one_of_loopback(daemon):
    port = free_port()
    d = daemon("--ng", str(port))
    assert d.ready["ng"] == f"127.0.0.1:{port}"
    proxy = Proxy(d.ready["ng"], host="127.0.0.55")
    assert proxy.ask("ping") == {"result": "pong"}
    proxy.close()


def test_an_open_address_has_a_list_of_guests(daemon, tmp_path):
    d = daemon("--ng", "0.0.0.0:0", "--ng-allow", "192.0.2.1,127.0.0.8/31")
    at = "127.0.0.3:" + d.ready["ng"].rsplit(":", 1)[1]
    for kind, encoding in KINDS:
        proxy = Proxy(at, kind, encoding, host="127.0.0.9")
        assert proxy.ask("ping") == {"result": "pong"}
        proxy.close()
    stranger = Proxy(at, host="127.0.0.10")
    stranger.socket.send(b'1 {"command": "ping"}')
    by_tcp = Proxy(at, "tcp", host="127.0.0.10")
    by_tcp.socket.settimeout(PATIENCE)
    assert by_tcp.socket.recv(1) == b""  # closed, and the datagram was first
    stranger.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        stranger.socket.recv(1)
    stranger.close()
    by_tcp.close()
    proxy = Proxy(at, host="127.0.0.9")
    told = proxy.ask("statistics")["statistics"]["listener"]
    assert told["denied"] == 2
    proxy.close()
    d.logged(" warn  ng-open address=0.0.0.0:0 ",
             " warn  ng-denied from=127.0.0.10:")


def flood(at, datagrams):
    """Garbage and pings of one host."""
    host, port = at.rsplit(":", 1)
    chance = random.Random(7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.66", 0))
        for i in range(datagrams):
            text = b"%d d7:command4:pinge" % i if i % 3 else \
                chance.randbytes(chance.randrange(300))
            s.sendto(text, (host, int(port)))


def test_a_flood_takes_nothing_from_others(daemon, tmp_path):
    path = tmp_path / "c"
    d = daemon("--ng", "127.0.0.1:0", "--control-socket", str(path))
    client, proxy = Control(path), Proxy(d.ready["ng"])
    by_tcp = Proxy(d.ready["ng"], "tcp", "bencode")
    flooding = threading.Thread(target=flood, args=(d.ready["ng"], 50000))
    flooding.start()
    served = 0
    while flooding.is_alive() or served < 20:
        assert "result" in client.ask("stats", {})
        assert proxy.ask("ping") == {"result": "pong"}
        assert by_tcp.ask("ping") == {"result": "pong"}
        served += 1
    flooding.join(timeout=PATIENCE)
    proxy.close()
    by_tcp.close()
    # the log has told, and was not flooded itself
    assert len(d.logged("ng-limited from=127.0.0.66:")) < 200000


def test_connections_are_bounded(daemon, tmp_path):
    d = daemon("--ng", "127.0.0.1:0")
    at = d.ready["ng"].rsplit(":", 1)
    to = (at[0], int(at[1]))
    others = [socket.create_connection(to) for _ in range(300)]
    assert len(os.listdir(f"/proc/{d.process.pid}/fd")) < 150
    # a host of its own has its own
    proxy = Proxy(d.ready["ng"], "tcp", host="127.0.0.77")
    assert proxy.ask("ping") == {"result": "pong"}
    proxy.close()
    for one in others:
        one.close()


def test_metrics_are_what_was_asked(daemon):
    d = daemon("--ng", "127.0.0.1:0", "--http", "127.0.0.1:0")
    proxy = Proxy(d.ready["ng"])
    for command in ("ping", "ping", "list"):
        assert proxy.ask(command)["result"] != "error"
    assert proxy.ask("query", **{"call-id": "x"})["result"] == "error"
    m = metrics(d)
    name = "codec_runner_ng_"
    for command, n in (("ping", 2), ("list", 1), ("query", 1), ("offer", 0)):
        assert m[name + "requests_total", (("command", command),)] == n
    assert m[name + "refused_total", (("why", "error"),)] == 1
    assert m[name + "messages_total", (("outcome", "asked"),)] == 4
    assert m[name + "answers_total", (("outcome", "sent"),)] == 4
    assert m[name + "calls", ()] == m[name + "denied_total", ()] == 0
    proxy.close()

# SPDX-License-Identifier: Apache-2.0
"""Out of descriptors, out of ports: the call is refused with the limit and the
way out, and nothing else suffers."""
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import urllib.request

import pytest

from conftest import BUILD, PATIENCE, free_port
from control import Control
from ng import Proxy

NO_CAPACITY = 1  # error code

# A network of its own, with a loopback interface and four ports to choose from
FEW_PORTS = r"""
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))  # up, running
with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as f:
    f.write("50000 50003")
os.execv(sys.argv[1], sys.argv[1:])
"""


def programs_with(tmp_path, line):
    """A folder with a codec-runner that is started by a line of shell."""
    folder = tmp_path / "programs"
    folder.mkdir()
    runner = folder / "codec-runner"
    runner.write_text(f"#!/bin/sh\n{line} {BUILD}/codec-runner \"$@\"\n")
    runner.chmod(0o755)
    (folder / "codec-ctl").symlink_to(BUILD / "codec-ctl")
    return folder


def send_through(call, sock, payload):
    """What comes back for a packet of this call, without its header."""
    host, port = call["rtp"]["address"].split(":")
    sock.sendto(struct.pack("!BBHII", 0x80, 0, 1, 160, call["rtp"]["ssrc"])
                + payload, (host, int(port)))
    packet = sock.recv(2048)
    assert struct.unpack("!I", packet[8:12])[0] == call["out"]["ssrc"]
    return packet[12:]


def test_the_soft_limit_is_raised_at_the_start(daemon, tmp_path):
    d = daemon(programs=programs_with(
        tmp_path, "ulimit -S -n 90; ulimit -H -n 150; exec"))
    assert d.ctl("hello")["capacity"]["descriptors"] == 150
    d.logged(" descriptors limit=150 before=90 ")


def test_what_is_closed_at_the_start_becomes_nothing_else(daemon, tmp_path):
    """A log to a closed descriptor would go into the next socket or file."""
    d = daemon(programs=programs_with(tmp_path, "exec <&- 2>&-"))
    for number in "02":
        assert os.readlink(f"/proc/{d.process.pid}/fd/{number}") == "/dev/null"
    assert d.ctl("stats")["log"]["failed"] == 0


def test_out_of_descriptors(daemon, sock, tmp_path):
    path, web = tmp_path / "c", free_port(socket.SOCK_STREAM)
    d = daemon("--control-socket", str(path),
               "--http", f"127.0.0.1:{web}",
               programs=programs_with(tmp_path, "ulimit -n 128; exec"))
    client = Control(path)
    calls, error = client.start_until_refused(sock)
    assert len(calls) > 20
    assert error["code"] == NO_CAPACITY
    assert "limit 128 (RLIMIT_NOFILE)" in error["message"]
    assert "LimitNOFILE=" in error["message"]
    # some are left for everybody else
    assert len(os.listdir(f"/proc/{d.process.pid}/fd")) <= 128 - 30
    assert d.ctl("stats")["calls"] == len(calls)
    # an eighth is for clients, of which a user has half
    others = [Control(path) for _ in range(128 // 8 // 2 - 1)]
    assert all("result" in o.ask("stats", {}) for o in others)
    with urllib.request.urlopen(f"http://127.0.0.1:{web}/healthz",
                                timeout=PATIENCE) as page:
        assert page.status == 200
    for i, call in enumerate(calls):
        assert len(send_through(call, sock, bytes([i]) * 160)) == 160
    shared = client.start(sock, "shared")["result"]
    assert len(send_through(shared, sock, b"\xff" * 160)) == 160
    # room again: others have taken some meanwhile and have given them back
    for o in others:
        o.lines.close()
        o.socket.close()
    for call in [*calls, shared]:
        client.stop(call)
    again, _ = client.start_until_refused(sock)
    assert len(again) == len(calls)


def descriptors(d):
    return os.listdir(f"/proc/{d.process.pid}/fd")


def test_connections_wait_for_a_descriptor(daemon, tmp_path):
    """There is none for a while, whoever has them: then who wants to see the
    page is served, and meanwhile the log is not flooded."""
    web, limit = free_port(socket.SOCK_STREAM), resource.RLIMIT_NOFILE
    d = daemon("--http", f"127.0.0.1:{web}")
    before = resource.prlimit(d.process.pid, limit)
    resource.prlimit(d.process.pid, limit, (len(descriptors(d)), before[1]))
    page = socket.create_connection(("127.0.0.1", web))
    page.settimeout(PATIENCE)
    page.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
    for _ in range(3):  # by now it has met the limit
        d.ctl("stats")
    resource.prlimit(d.process.pid, limit, before)
    told = page.makefile().read()
    assert "\ncodec_runner_http_paused_total 0\n" not in told
    assert "\ncodec_runner_http_connections 1\n" in told
    log = (tmp_path / "runner-0.log").read_text()
    assert "accept" not in log, log[-1000:]


def test_silent_clients_leave_descriptors_for_others(daemon, sock, tmp_path):
    """60 connections to the Unix socket, of 64 descriptors: an operator gets
    in, the page answers, and there is room for as many calls as before."""
    web, path = free_port(socket.SOCK_STREAM), tmp_path / "c"
    d = daemon("--http", f"127.0.0.1:{web}", "--control-socket", str(path),
               programs=programs_with(tmp_path, "ulimit -n 64; exec"))
    client = Control(path)
    calls, error = client.start_until_refused(sock)
    assert len(calls) > 3
    assert "limit 64 (RLIMIT_NOFILE)" in error["message"]
    for call in calls:
        client.stop(call)
    many = [socket.socket(socket.AF_UNIX) for _ in range(60)]
    for one in many:
        one.connect(str(path))
    page = http.client.HTTPConnection("127.0.0.1", web, timeout=PATIENCE)
    assert get(page, "/healthz") == "ok\n"
    away = 0
    # an eighth are clients, half of them of one user, one is that above
    while away < 60 - 3:
        told = d.ctl("stats")["control"]
        away = told["peers_refused"] + told["peers_silent"]
    assert away == 60 - 3
    again, error = client.start_until_refused(sock)
    assert len(again) == len(calls)
    assert "limit 64 (RLIMIT_NOFILE)" in error["message"]
    # who has said nothing for 5 s makes room; until then a client is told why
    # not, or finds that closed which it has just written to
    text, tries = "", 0
    while ("too many connections" in text or "reset by peer" in text
           or not tries):
        tries += 1
        run = subprocess.run(
            [BUILD / "codec-ctl", "--to", f"unix:{path}", "stats"],
            capture_output=True, text=True, timeout=PATIENCE)
        text = run.stderr
    assert run.returncode == 0, run.stderr
    assert d.ctl("stats")["control"]["peers_silent"] >= 1
    assert get(page, "/healthz") == "ok\n"


def test_the_web_leaves_descriptors_for_others(daemon, tmp_path):
    """150 connections have a quarter of them; control and calls go on."""
    web, path = free_port(socket.SOCK_STREAM), tmp_path / "c"
    d = daemon("--http", f"127.0.0.1:{web}", "--control-socket", str(path),
               programs=programs_with(tmp_path, "ulimit -n 64; exec"))
    many = [socket.create_connection(("127.0.0.1", web)) for _ in range(150)]
    while web_sockets(d, web) < 16:
        pass
    assert "result" in Control(path).ask("stats", {})
    assert web_sockets(d, web) <= 16  # one that others waited for may go
    for one in many:
        one.close()
    assert " libevent " not in d.logged(" http-full connections=16\n")


def test_ng_leaves_descriptors_for_others(daemon, sock, tmp_path):
    """Calls have all that they may have. Then 60 NG connections have an eighth
    of the descriptors, and who wants to talk to the node gets in."""
    web, path = free_port(socket.SOCK_STREAM), tmp_path / "c"
    d = daemon("--http", f"127.0.0.1:{web}", "--control-socket", str(path),
               "--ng", "127.0.0.1:0",
               programs=programs_with(tmp_path, "ulimit -n 128; exec"))
    calls, _ = Control(path).start_until_refused(sock)
    assert len(calls) > 10
    proxies = [Proxy(d.ready["ng"], "tcp") for _ in range(60)]
    waiting, stay = [p.socket for p in proxies], 128 // 8
    while len(waiting) > stay:
        ready, _, _ = select.select(waiting, [], [], PATIENCE)
        assert ready, len(waiting)
        for one in ready:
            assert one.recv(1) == b""
            waiting.remove(one)
    for one in proxies:
        if one.socket in waiting:
            assert one.ask("ping")["result"] == "pong"
    assert "result" in Control(path).ask("stats", {})
    page = http.client.HTTPConnection("127.0.0.1", web, timeout=PATIENCE)
    assert get(page, "/healthz") == "ok\n"
    for one in proxies:
        one.close()


def test_calls_leave_what_the_page_may_have(daemon, sock, tmp_path):
    """More than its usual 64 connections, if the operator says so."""
    web, path = free_port(socket.SOCK_STREAM), tmp_path / "c"
    d = daemon("--http", f"127.0.0.1:{web}", "--http-connections", "500",
               "--control-socket", str(path),
               programs=programs_with(tmp_path, "ulimit -n 512; exec"))
    calls, _ = Control(path).start_until_refused(sock)
    assert len(calls) > 50
    assert len(descriptors(d)) <= 512 - 512 // 4 - 512 // 8


def web_sockets(d, web):
    """The daemon's descriptors of connections to its web port."""
    ours = {line.split()[9] for line in
            pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[1].endswith(f":{web:04X}")
            and line.split()[3] != "0A"}  # not the one that listens
    folder = pathlib.Path(f"/proc/{d.process.pid}/fd")
    named = set()
    for fd in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            named.add(os.readlink(fd))
    return len({f"socket:[{inode}]" for inode in ours} & named)


def get(connection, path):
    """Ask by a connection that stays; the text."""
    connection.request("GET", path)
    return connection.getresponse().read().decode()


def test_web_connections_have_a_limit(daemon, tmp_path):
    """Eight may be there. Who comes later waits for a place, and is served."""
    web = free_port(socket.SOCK_STREAM)
    d = daemon("--http", f"127.0.0.1:{web}", "--http-connections", "8")
    first = http.client.HTTPConnection("127.0.0.1", web, timeout=PATIENCE)
    assert get(first, "/healthz") == "ok\n"
    many = [socket.create_connection(("127.0.0.1", web)) for _ in range(40)]
    told = ""
    while "\ncodec_runner_http_full_total 1\n" not in told:
        told = get(first, "/metrics")
    assert "\ncodec_runner_http_connections 8\n" in told
    assert web_sockets(d, web) == 8
    for one in many:
        one.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
    for one in many:  # each closes and makes room for the next
        one.settimeout(PATIENCE)
        answer = b""
        while part := one.recv(4096):
            answer += part
        assert answer.endswith(b"\r\n\r\nok\n")
        one.close()
    d.logged(" http-full connections=8\n")


def reads_on(sock):
    """The other end has not closed it."""
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_who_holds_on_to_the_web_makes_room(daemon):
    """All places are taken by clients that are never silent for long."""
    web = free_port(socket.SOCK_STREAM)
    d = daemon("--http", f"127.0.0.1:{web}", "--http-connections", "2")
    holding = [socket.create_connection(("127.0.0.1", web)) for _ in range(2)]
    asking = socket.create_connection(("127.0.0.1", web))
    asking.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
    while not select.select([asking], [], [], 1)[0]:
        for one in holding:
            with contextlib.suppress(OSError):
                one.send(b"G")
    answer = asking.makefile().read()
    assert "\ncodec_runner_http_cut_total 1\n" in answer
    assert not reads_on(holding[0]) and reads_on(holding[1])
    assert d.ctl("stats")["calls"] == 0


def test_a_host_keeps_no_other_out_of_the_web(daemon):
    """400 connections of one host have the places of one: another host is
    served beside them, and so is the newest of theirs."""
    web = free_port(socket.SOCK_STREAM)
    d = daemon("--http", f"127.0.0.1:{web}")
    many = [socket.create_connection(("127.0.0.1", web)) for _ in range(400)]
    for host, theirs in ("127.0.0.2", 16), ("127.0.0.1", 15):
        told = ""
        while f"\ncodec_runner_http_connections {theirs + 1}\n" not in told:
            page = http.client.HTTPConnection(
                "127.0.0.1", web, timeout=PATIENCE, source_address=(host, 0))
            told = get(page, "/metrics")
            page.close()
        assert web_sockets(d, web) <= 17
    d.logged(" http-cut peer=::ffff:127.0.0.1 ")
    for one in many:
        one.close()


def test_who_asks_and_does_not_read_waits(daemon):
    """What it asks is not read before what it has asked is sent."""
    web, most = free_port(socket.SOCK_STREAM), 64 << 20
    d = daemon("--http", f"127.0.0.1:{web}")
    request = b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
    sent = 0
    with socket.create_connection(("127.0.0.1", web)) as s:
        s.setblocking(False)
        while sent < most and select.select([], [s], [], 2)[1]:
            sent += s.send(request)
        rss = int(pathlib.Path(f"/proc/{d.process.pid}/statm").read_text()
                  .split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert sent < most // 2, (sent, rss)
    assert d.ctl("stats")["calls"] == 0


def test_a_log_that_nobody_reads_stops_nothing(daemon, tmp_path):
    """Its pipe is full and its reader stalls: control answers, calls go
    through, and SIGTERM is obeyed. Who reads again misses nothing."""
    log, path = tmp_path / "log", tmp_path / "c"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    stopper = os.open(log, os.O_WRONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)

    def fill():
        with contextlib.suppress(BlockingIOError):
            while os.write(stopper, b"."):
                pass

    def read():
        text = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(reader, 4096):
                text += part
        return text.decode()

    d = daemon("--log-file", str(log), "--control-socket", str(path))
    fill()
    clients = [Control(path) for _ in range(8)]
    for c in clients:
        told = c.ask("stats", {})["result"]["log"]
    assert told["dropped"] == 0  # they wait in memory
    text = ""
    while text.count(" peer-up ") < 8:
        text += read()
    fill()
    d.process.send_signal(signal.SIGTERM)
    assert d.process.wait(timeout=PATIENCE) == 0
    for c in clients:
        c.lines.close()
        c.socket.close()
    os.close(reader)
    os.close(stopper)


def test_out_of_ports(tmp_path):
    if subprocess.run(["unshare", "-rn", "true"],
                      capture_output=True).returncode:
        pytest.skip("no network namespace of one's own here")
    path = tmp_path / "c"
    runner = subprocess.Popen(
        ["unshare", "-rn", sys.executable, "-c", FEW_PORTS,
         BUILD / "codec-runner", "--rtp", "127.0.0.1:4000", "--control",
         "127.0.0.1:5999", "--sctp", "user", "--udp-port", "9899", "--workers",
         "1", "--pin", "none", "--rx-cpu", "none", "--control-socket",
         str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True)
    try:
        assert runner.stdout.readline().startswith("ready ")
        client = Control(path)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(("127.0.0.1", 0))
            client.start(sock, "shared")  # what a call costs is measured
            calls, error = client.start_until_refused(sock)
            assert len(calls) == 4
            assert error["code"] == NO_CAPACITY
            assert "50000-50003" in error["message"]
            assert ("/proc/sys/net/ipv4/ip_local_port_range"
                    in error["message"])
            assert "result" in client.start(sock, "shared")
            client.stop(calls[2])
            again, _ = client.start_until_refused(sock)
        assert [c["rtp"]["address"] for c in again] == [
            calls[2]["rtp"]["address"]]
        runner.terminate()
        assert runner.wait(timeout=PATIENCE) == 0
    finally:
        if runner.poll() is None:
            runner.kill()
            runner.wait()
        runner.stdout.close()

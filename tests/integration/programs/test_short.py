# SPDX-License-Identifier: Apache-2.0
"""Short of threads or of memory: the daemon says so, refuses what is new, and
what there is goes on. FEW_THREADS names the object that limits threads."""
import contextlib
import os
import resource
import signal
import struct
import subprocess

import pytest

from conftest import BUILD, Daemon, free_port
from control import Control
from test_limits import NO_CAPACITY

MIB = 1 << 20
# what needs memory of a library that does not look whether it has any
CODECS = [("amr", "pcma"), ("pcma", "amr"), ("amr-wb", "amr"),
          ("amr", "amr-wb"), ("speex", "amr-wb"), ("amr-wb", "speex-wb"),
          ("opus", "amr-wb"), ("g722", "opus")]


def speak(call, sock, n, first=0):
    """So many packets through a call; all come back, in order."""
    for i in range(first, first + n):
        host, port = call["rtp"]["address"].split(":")
        sock.sendto(struct.pack("!BBHII", 0x80, 0, i, i * 160,
                                call["rtp"]["ssrc"]) + bytes([i]) * 160,
                    (host, int(port)))
        back = sock.recv(2048)
        assert len(back) == 172
        assert struct.unpack("!I", back[8:12])[0] == call["out"]["ssrc"]


# --- threads ---

def with_threads(n):
    return dict(os.environ, THREADS=str(n),
                LD_PRELOAD=os.environ["FEW_THREADS"])


def start_with(n, path):
    """A start with so many threads at most."""
    return subprocess.Popen(
        [BUILD / "codec-runner", "--config", "none", "--rtp", "127.0.0.1:0",
         "--control", "127.0.0.1:" + str(1024 + free_port() % 60000),
         "--udp-port", str(free_port()), "--sctp", "user", "--workers", "1",
         "--pin", "none", "--rx-cpu", "none", "--shed", "age",
         "--max-age", "none", "--control-socket", path],
        env=with_threads(n), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)


def test_a_limit_of_threads_is_told_or_does_not_matter(tmp_path, sock):
    """With ever more of them the start fails with a word, until it succeeds;
    then calls begin, speak and end with no thread more."""
    path = tmp_path / "c"
    for n in range(30):
        d = start_with(n, path)
        if d.stdout.readline().startswith("ready "):
            break
        _, why = d.communicate()
        assert d.returncode == 1, (n, d.returncode, why)
        assert "no thread for " in why and "RLIMIT_NPROC" in why, (n, why)
    assert n > 3
    client = Control(path)
    for _ in range(5):
        call = client.start(sock)["result"]
        speak(call, sock, 3)
        client.stop(call)
    d.send_signal(signal.SIGTERM)
    _, log = d.communicate()
    assert d.returncode == 0, log[-1000:]


# --- memory ---

def size(d):
    """Address space that a daemon has, bytes."""
    with open(f"/proc/{d.process.pid}/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize()


def limit(d, room):
    """It may take so many bytes more; None: as many as it likes."""
    most = resource.RLIM_INFINITY if room is None else size(d) + room
    resource.prlimit(d.process.pid, resource.RLIMIT_AS,
                     (most, resource.RLIM_INFINITY))


def ask_for(client, sock, i):
    came, goes = CODECS[i % len(CODECS)]
    at = "%s:%d" % sock.getsockname()[:2]
    return client.ask("call.start", {"in": {"codec": came}, "port": "own",
                                     "out": {"codec": goes, "address": at}})


def start_all(client, sock):
    """Calls until one is refused; the calls, and the refusal."""
    calls = []
    while "result" in (reply := ask_for(client, sock, len(calls))):
        calls.append(reply["result"])
    return calls, reply["error"]


@pytest.fixture
def short(daemon, tmp_path):
    """A daemon that has measured all these codecs, and a client of it."""
    def start(*options):
        path = tmp_path / "c"
        d = daemon("--no-admission", "--control-socket",
                   str(path), *options)
        return d, Control(path)

    return start


def test_calls_are_refused_before_the_reserve(short, sock):
    d, client = short("--memory-reserve", "48")
    for i in range(len(CODECS)):
        client.stop(ask_for(client, sock, i)["result"])
    kept = client.start(sock)["result"]
    limit(d, 64 * MIB)
    calls, error = start_all(client, sock)
    assert error["code"] == NO_CAPACITY
    assert "(RLIMIT_AS), and 48 are kept" in error["message"]
    assert "--memory-reserve" in error["message"]
    assert "LimitAS=" in error["message"]
    said = {"codec": "pcmu"}
    for method, params in (("call.start", {"a": said, "b": {"codec": "amr"}}),
                           ("endpoint.open", said)):
        assert "--memory-reserve" in client.ask(method, params)["error"][
            "message"]
    # who comes by SCTP is served from the reserve, and speech goes on
    assert d.ctl("stats")["calls"] == len(calls) + 1
    speak(kept, sock, 20)
    limit(d, None)
    assert "result" in ask_for(client, sock, 0)


def test_without_a_reserve_nothing_crashes_either(short, sock):
    """To the last byte, again and again: who asks is told."""
    d, client = short("--memory-reserve", "0")
    for i in range(len(CODECS)):
        client.stop(ask_for(client, sock, i)["result"])
    kept = client.start(sock)["result"]
    for i, room in enumerate((0, MIB, 3 * MIB, 8 * MIB, 9 * MIB)):
        limit(d, room)
        calls, error = start_all(client, sock)
        assert "memory" in error["message"], (room, error)
        # usrsctp is spoken to, and may not hear it
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([BUILD / "codec-ctl", *d.where(), "hello"],
                           capture_output=True, timeout=0.5, check=False)
        speak(kept, sock, 20, first=20 * i)
        for call in calls:
            client.stop(call)
    limit(d, None)
    assert d.ctl("stats")["calls"] == 1


def test_little_memory_at_the_start_is_told(tmp_path):
    """Whatever little there is, the start succeeds or says what is missing."""
    refused = started = 0
    for mib in range(40, 400, 24):
        try:
            d = Daemon(log=tmp_path / "log", launcher=(
                "sh", "-c", f'ulimit -v {mib * 1024}; exec "$@"', "sh"))
        except RuntimeError as why:
            assert "codec-runner: " in str(why) or (
                "shared librar" in str(why)), (mib, why)
            refused += 1
        else:
            assert d.stop() == 0, mib
            started += 1
    assert refused and started

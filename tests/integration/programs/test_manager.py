# SPDX-License-Identifier: Apache-2.0
"""What codec-runner tells the service manager that has started it, as systemd
would hear it. STUCK_RESAMPLER: see test_watchdog.py."""
import os
import re
import signal
import socket

import pytest

from conftest import PATIENCE
from test_daemon import start_call
from test_watchdog import send

SPARES = 8  # threads that may be stuck at a time
STATUS = re.compile(r"STATUS=(draining: )?(\d+) calls, load [\d.]+ of [\d.]+ CPUs,"
                    r" [^ ]+, (\d+) frames lost")


class Manager:
    """Its socket. Messages in their order; those that repeat are skipped when
    something else is waited for."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.bind(str(path))

    def hear(self):
        return self.socket.recv(4096).decode()

    def until(self, want):
        """The message that begins so, and all before it."""
        before = []
        while not (message := self.hear()).startswith(want):
            before.append(message)
        return message, before


@pytest.fixture
def manager(tmp_path, monkeypatch):
    m = Manager(tmp_path / "notify")
    with m.socket:
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield m


def test_ready_reloading_stopping(daemon, sock, manager):
    d = daemon()
    assert manager.hear() == "READY=1"
    assert STATUS.fullmatch(manager.hear()).group(2, 3) == ("0", "0")
    start_call(d, sock)
    d.process.send_signal(signal.SIGHUP)
    message, before = manager.until("RELOADING=1")
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", message)
    assert all(STATUS.fullmatch(m) for m in before)  # no watchdog was asked for
    assert manager.hear() == "READY=1"
    assert STATUS.fullmatch(manager.hear()).group(2) == "1"
    d.process.send_signal(signal.SIGTERM)
    message, before = manager.until("STOPPING=1")
    # the drain's limit and what the rest of the end may take
    assert message.endswith("\nEXTEND_TIMEOUT_USEC=25000000")
    assert all(STATUS.fullmatch(m) for m in before)
    d.ctl("drain", "0s")
    assert d.stop() == 0


def test_a_drain_by_control_is_no_stop_before_its_end(daemon, sock, manager):
    d = daemon()
    call = start_call(d, sock)
    d.ctl("drain", "1h")
    # a manager that heard STOPPING=1 would kill what goes on for longer than
    # its own limit
    _, before = manager.until("STATUS=draining: 1 calls")
    assert before[0] == "READY=1"
    assert all(STATUS.fullmatch(m) for m in before[1:])
    d.ctl("call", "stop", str(call["call"]))
    message, before = manager.until("STOPPING=1")
    assert all(STATUS.fullmatch(m) for m in before)
    assert d.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT,
                                    signal.SIGHUP])
def test_no_signal_kills_what_is_ending(daemon, tmp_path, number):
    """Whenever it comes: they come without a pause."""
    d = daemon("--log-file", tmp_path / "log")
    d.process.send_signal(signal.SIGTERM)
    while d.process.poll() is None:
        d.process.send_signal(number)
    assert d.process.returncode == 0
    assert " exit code=0\n" in (tmp_path / "log").read_text()


def test_the_watchdog_is_fed_while_workers_advance(daemon, sock, manager,
                                                   monkeypatch, tmp_path):
    stuck = tmp_path / "stuck"
    with monkeypatch.context() as m:
        m.setenv("LD_PRELOAD", os.environ["STUCK_RESAMPLER"])
        m.setenv("STUCK", str(stuck))
        m.setenv("WATCHDOG_USEC", "300000")
        d = daemon("--watchdog", "200ms")
    calls = [start_call(d, sock, **{"out.codec": "amr-wb"})
             for _ in range(SPARES + 1)]
    assert manager.hear() == "READY=1"
    for _ in range(3):
        manager.until("WATCHDOG=1")
    stuck.touch()
    for call in calls[:SPARES]:
        send(call, sock, 0)
    while d.ctl("stats")["watchdog"]["stuck_now"] < SPARES:
        pass
    # each has a substitute: it serves
    last = start_call(d, sock)
    send(last, sock, 0)
    assert len(sock.recv(2048)) == 172
    while True:  # what came before that
        try:
            manager.socket.setblocking(False)
            manager.hear()
        except BlockingIOError:
            manager.socket.settimeout(PATIENCE)
            break
    manager.until("WATCHDOG=1")
    # the last one has none
    send(calls[SPARES], sock, 0)
    message, _ = manager.until("STATUS=a worker is stuck")
    for _ in range(5):
        assert manager.hear().startswith("STATUS=")
    stuck.unlink()
    manager.until("WATCHDOG=1")
    while d.ctl("stats")["watchdog"]["stuck_now"]:
        pass
    assert d.stop() == 0

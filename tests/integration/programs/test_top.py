# SPDX-License-Identifier: Apache-2.0
"""Which calls stand out: stream.top, and codec-ctl top on a terminal, where keys
choose the order and the terminal is as it was at the end."""
import json
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import PATIENCE
from control import Control
from test_records import wait_for

SORTS = ["loss", "missing", "cost", "delay"]
RATES = {"loss": "lost_per_s", "missing": "missing_per_s", "cost": "load",
         "delay": "delay_ms"}


@pytest.fixture
def node(daemon, tmp_path):
    d = daemon("--control-socket", tmp_path / "control", "--no-admission",
               "--ring", "2", "--drain-timeout", "0s")
    return d, Control(tmp_path / "control")


def start(client, sock, codec="pcma", **out):
    address = "%s:%d" % sock.getsockname()
    return client.ask("call.start", {
        "in": {"codec": "pcmu"}, "port": "own",
        "out": {"codec": codec, "address": address, **out}})["result"]


def send(sock, call, numbers):
    host, port = call["rtp"]["address"].rsplit(":", 1)
    for n in numbers:
        sock.sendto(struct.pack("!BBHII", 0x80, 0, n, 160 * n, 7) +
                    random.Random(n).randbytes(160), (host, int(port)))


def top(client, **ask):
    reply = client.ask("stream.top", ask)
    assert "result" in reply, reply
    return reply["result"]


def look(client, act=lambda: None):
    """Until a window has ended in which @act was done, and all before it is
    in none; that window."""
    before = top(client)["window_s"]
    act()
    return wait_for(lambda: (now := top(client)["window_s"]) != before and now)


def count(client, call):
    return client.ask("stream.query", {"stream": call["call"]}
                      )["result"]["count"]


def all_done(client, call, packets):
    """Each has become of what it could."""
    def done():
        c = count(client, call)
        return c["packets_in"] == packets and packets == sum(
            c[k] for k in ("done", "overwritten", "expired", "shed"))
    wait_for(done)
    return count(client, call)


def test_each_order_has_another_call_first(node, sock):
    d, client = node
    cheap, gap, flooded = (
        start(client, sock, codec) for codec in ("pcma", "pcma", "amr"))
    # more than a cheap one could be kept from its CPU now and then
    dear = start(client, sock, "spin", spin="5ms")
    for n in range(100):  # one by one, so that none is lost
        for call in (cheap, dear, gap):
            if call is not gap or n % 10:
                send(sock, call, [n])
                sock.recv(2048)
    lost = 0
    for burst in range(1, 1000):
        send(sock, flooded, range(10 * burst - 10, 10 * burst))
        lost = all_done(client, flooded, 10 * burst)["overwritten"]
        if lost:
            break
    assert lost
    for call, packets in (cheap, 100), (dear, 100), (gap, 90):
        all_done(client, call, packets)
    first = top(client)  # of the time since the node's start
    assert (first["streams"], first["sort"]) == (4, "loss")
    rows = {row["stream"]: row for row in first["top"]}
    assert [row["stream"] for row in first["top"] if row["lost_per_s"]] == \
        [flooded["call"]] == [first["top"][0]["stream"]]
    # what the node has dropped is missing, too, if a frame came behind it
    missing = {c for c, row in rows.items() if row["missing_per_s"]}
    assert {gap["call"]} <= missing <= {gap["call"], flooded["call"]}
    assert rows[dear["call"]]["load"] > rows[cheap["call"]]["load"] > 0
    lossy, holes = rows[flooded["call"]], rows[gap["call"]]
    assert 0 < lossy["delay_ms"] <= lossy["delay_max_ms"]
    # of 90 that came; what was left out before the first is not missing
    assert holes["missing_per_s"] / holes["in_per_s"] == pytest.approx(9 / 90)


def test_a_quiet_window_has_no_rates(node, sock):
    d, client = node
    call = start(client, sock)
    send(sock, call, [0])
    all_done(client, call, 1)
    assert top(client)["top"][0]["in_per_s"] > 0
    look(client)
    row, = top(client)["top"]
    assert [row[k] for k in ("in_per_s", "load", "delay_ms")] == [0, 0, 0]
    assert row["delay_max_ms"] > 0


def test_the_first_ones_are_those_of_all_in_order(node, sock):
    """Whatever @limit is, and of equal ones the older call first."""
    d, client = node
    calls = [start(client, sock) for _ in range(60)]
    sent = iter(range(60000))

    def speak():
        for i, call in enumerate(calls):
            for n in range(i * 7 % 3):
                send(sock, call, [next(sent)])
                sock.recv(2048)

    def compare(sort, limits):
        """As many of @limits as fit into a window in which they spoke; takes
        them out."""
        window = look(client, speak)
        whole = top(client, sort=sort, limit=200)
        ids = [row["stream"] for row in whole["top"]]
        keys = [(-row[RATES[sort]], -row["load"], row["stream"])
                for row in whole["top"]]
        assert sorted(ids) == [c["call"] for c in calls]
        assert keys == sorted(keys)
        while limits:
            part = top(client, sort=sort, limit=limits[0])
            if not part["window_s"] == whole["window_s"] == window:
                break
            assert [row["stream"] for row in part["top"]] == ids[:limits[0]]
            limits.pop(0)

    for sort in SORTS:
        limits = list(range(1, 70, 4))
        wait_for(lambda: compare(sort, limits) or not limits)


def test_wrong_words_are_refused(node):
    d, client = node
    error = client.ask("stream.top", {"sort": "los"})["error"]
    assert "did you mean 'loss'" in error["message"]
    assert "limit" in client.ask("stream.top", {"limit": 201}
                                 )["error"]["message"]
    assert "from 500ms to 3600s" in d.ctl("top", "10ms", code=2)


def test_programs_have_it_as_lines_of_json(node, sock):
    d, client = node
    for _ in range(3):
        start(client, sock)
    done = subprocess.run(
        [d.programs / "codec-ctl", *d.where(), "--json", "top", "500ms", "2",
         "--sort", "cost", "--limit", "2"], capture_output=True, text=True,
        timeout=PATIENCE)
    assert done.returncode == 0 and not done.stderr
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [p["sort"] for p in pages] == ["cost", "cost"]
    assert [len(p["top"]) for p in pages] == [2, 2]
    assert all(0.4 <= p["window_s"] < 3600 for p in pages)
    assert len({p["window_s"] for p in pages}) == 2
    once = d.ctl("top", "500ms", "--once")
    assert once["sort"] == "loss" and len(once["top"]) == 3


def test_text_has_no_colours_where_nobody_sees_them(node, sock):
    d, client = node
    start(client, sock)
    done = subprocess.run(
        [d.programs / "codec-ctl", *d.where(), "top", "500ms", "--once"],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and not re.search("[\x01-\x09\x0b-\x1f]",
                                                  done.stdout)
    assert done.stdout.splitlines()[3].startswith("STREAM  CLASS  IN/S  LOST/S")
    assert len(done.stdout.splitlines()) == 5 and "keys" not in done.stdout


class Terminal:
    """codec-ctl top on a terminal."""

    def __init__(self, d, **environment):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave, self.seen = slave, ""
        self.process = subprocess.Popen(
            [d.programs / "codec-ctl", "--to", f"unix:{d.ready['socket']}",
             "top"], stdin=slave,
            stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(
                slave, termios.TIOCSCTTY, 0),
            env={**os.environ, "NO_COLOR": "", **environment})

    def until(self, text):
        """Until @text has been seen, from now on."""
        self.seen, deadline = "", time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert select.select([self.master], [], [], PATIENCE)[0], self.seen
            self.seen += os.read(self.master, 65536).decode()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """Its exit code; the terminal is as before."""
        code = self.process.wait(timeout=PATIENCE)
        assert termios.tcgetattr(self.slave) == self.before
        os.close(self.slave)
        os.close(self.master)
        return code


@pytest.mark.parametrize("how", ["q", "\x03", "\x1c", "TERM", "HUP"])
def test_keys_choose_and_the_terminal_is_given_back(node, sock, how):
    d, client = node
    start(client, sock)
    t = Terminal(d)
    t.until("\x1b[7mSTREAM")
    assert "by loss, over" in t.seen
    assert not termios.tcgetattr(t.slave)[3] & (termios.ICANON | termios.ECHO)
    for key, sort in (("c", "cost"), ("d", "delay"), ("m", "missing"),
                      ("xyl", "loss")):
        t.press(key)
        t.until(f"by {sort}, over")
    if how in ("TERM", "HUP"):
        t.process.send_signal(signal.Signals["SIG" + how])
    else:
        t.press(how)
    assert t.end() == 0


def test_no_color_is_obeyed(node, sock):
    d, client = node
    start(client, sock)
    t = Terminal(d, NO_COLOR="1")
    t.until("STREAM  CLASS")
    assert not re.search(r"\x1b\[[0-9;]*m", t.seen)
    t.press("q")
    assert t.end() == 0


def test_a_server_that_goes_ends_it_and_leaves_the_terminal(node, sock):
    d, client = node
    t = Terminal(d)
    t.until("by loss, over")
    d.process.kill()
    d.process.wait()
    assert t.end() == 3

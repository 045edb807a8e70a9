# SPDX-License-Identifier: Apache-2.0
"""The UDP ports of calls: each call its own, as real calls have, or all the
same, at either end.

Counts and content only; loads are such that nothing has to be dropped.
"""
import csv
import resource
import signal
import socket
import struct
import subprocess
import time

import pytest

from conftest import PATIENCE, rig

FEEDER = rig.BUILD / "codec-feeder"
# a daemon that drops nothing, however long the machine keeps it waiting
PATIENT = ("--ring", "256", "--max-age", "none")
LAYOUTS = ("own", "shared")


def calls(count, duration="2s", head="", **keys):
    """A campaign of PCMU -> PCMA."""
    extra = "".join(f"    {k}: {v}\n" for k, v in keys.items())
    return (f"seed: 2\nduration: {duration}\n{head}flows:\n  - name: a\n"
            f"    count: {count}\n    in: {{codec: pcmu}}\n"
            f"    out: {{codec: pcma}}\n{extra}")


def knows_costs(d):
    """Daemon @d, which has measured what such a call costs."""
    call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                 "out.address=127.0.0.1:9")
    d.ctl("call", "stop", str(call["call"]))
    return d


def while_up(d, path, *options, count):
    """A feeder that plays for long, and the daemon's view of its calls when
    all @count have sent something."""
    p = subprocess.Popen([FEEDER, path, *d.where(), "--json", "--quiet",
                          *options], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while True:
        listed = d.ctl("list")["streams"]
        if (len(listed) == count and
                all(c["count"]["packets_in"] for c in listed)):
            return p, listed
        assert p.poll() is None, p.stderr.read()
        assert time.monotonic() < end, "hung"
        time.sleep(0.05)


def ended(p):
    """Interrupt it; its result."""
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 130, err
    return rig.json.loads(out)


def exact(result, path):
    """Every packet of every call came to the daemon from where the call said
    it sends, and every answer to where it receives."""
    total, feeder = result["total"], result["feeder"]
    assert total["sent"] == total["received"] > 0 and total["lost"] == 0
    assert total["unmatched"] == total["duplicates"] == total["reordered"] == 0
    assert feeder["packets_sent"] == feeder["packets_received"]
    for name in ("misdirected", "asymmetric", "unknown_ssrc", "socket_drops",
                 "send_failed"):
        assert feeder[name] == 0, name
    with open(path / "streams.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            assert row["sent"] == row["received"] == row["daemon_packets_in"]
            assert row["daemon_packets_out"] == row["received"]


@pytest.mark.parametrize("theirs", LAYOUTS)
@pytest.mark.parametrize("ours", LAYOUTS)
def test_layouts_are_as_the_options_say_and_counts_exact(daemon, campaign,
                                                         tmp_path, ours,
                                                         theirs):
    d = knows_costs(daemon(*PATIENT))
    layout = ("--ports", ours, "--daemon-ports", theirs)
    p, listed = while_up(d, campaign(calls(6, "600s"), "long.yaml"), *layout,
                         count=6)
    assert len({c["to"] for c in listed}) == (6 if ours == "own" else 1)
    assert len({c["rtp"] for c in listed}) == (6 if theirs == "own" else 1)
    ended(p)
    run = tmp_path / "run"
    r = d.feed(campaign(calls(6)), *layout, "--out", run)
    assert (r["feeder"]["ports"], r["feeder"]["daemon_ports"]) == (ours,
                                                                   theirs)
    exact(r, run)
    stats = d.ctl("stats")
    assert stats["totals"]["wrong_source"] == stats["rx"]["unknown_ssrc"] == 0


@pytest.mark.parametrize("head, ours, theirs", [
    ("", "shared", "shared"),
    ("ports: own\n", "own", "own"),
    ("ports: own\ndaemon: {ports: shared}\n", "own", "shared"),
    ("daemon: {ports: own}\n", "shared", "own"),
])
def test_a_campaign_says_its_layout(daemon, campaign, head, ours, theirs):
    r = daemon(*PATIENT).feed(campaign(calls(2, "500ms", head)))
    assert (r["feeder"]["ports"], r["feeder"]["daemon_ports"]) == (ours,
                                                                   theirs)


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_packets_come_and_go_as_the_options_say(daemon, campaign, tmp_path,
                                                io):
    d = knows_costs(daemon(*PATIENT))
    run, path = tmp_path / "run", campaign(calls(3, "500ms"))
    done = subprocess.run([FEEDER, path, *d.where(), "--json", "--quiet",
                           "--io", io, "--out", run], capture_output=True,
                          text=True, timeout=PATIENCE)
    if io == "uring" and "io_uring: " in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    exact(rig.json.loads(done.stdout), run)


@pytest.mark.parametrize("theirs", LAYOUTS)
def test_a_hundred_calls_of_their_own_ports(daemon, campaign, tmp_path,
                                            theirs):
    """60 ms of speech in a packet: a slow build must keep up."""
    d = knows_costs(daemon("--no-admission", *PATIENT))
    run = tmp_path / "run"
    r = d.feed(campaign(calls(100, "4s", ptime="60ms")), "--ports", "own",
               "--daemon-ports", theirs, "--out", run)
    assert r["total"]["admitted"] == 100
    exact(r, run)


def test_answers_at_another_calls_port_count_as_misdirected(daemon, campaign):
    """Somebody sends to call b's port what call a waits for."""
    d = knows_costs(daemon(*PATIENT))
    p, (a, b) = while_up(d, campaign(calls(2, "600s")), "--ports", "own",
                         count=2)
    host, port = b["to"].split(":")
    packet = struct.pack("!BBHII", 0x80, 8, 1, 160, a["out_ssrc"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(5):
            s.sendto(packet + b"\0" * 160, (host, int(port)))
    r = ended(p)
    assert r["feeder"]["misdirected"] == 5
    assert r["feeder"]["packets_received"] == r["total"]["received"] + 5
    assert r["total"]["unmatched"] == r["total"]["duplicates"] == 0


def limited(soft, hard, *command):
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True,
        timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (soft, hard)))


def test_more_calls_than_descriptors_are_explained(daemon, campaign):
    d = knows_costs(daemon("--no-admission", *PATIENT))
    path = campaign(calls(200, "1s"))
    done = limited(90, 90, FEEDER, path, *d.where(), "--ports", "own")
    assert done.returncode == 1
    for words in ("up to 200 calls at once", "need 232 file descriptors",
                  "may have 90:", "ulimit -n", "--ports shared"):
        assert words in done.stderr, done.stderr
    assert d.ctl("stats")["calls_started"] == 1  # before any of its calls
    # where it may, it raises the limit; and one port needs none
    for soft, hard, ports in ((90, 1000, "own"), (90, 90, "shared")):
        done = limited(soft, hard, FEEDER, path, *d.where(), "--ports", ports)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("head, says", [
    ("ports: owm\n", ":3: ports=owm: no such name; did you mean 'own'?"),
    ("daemon: {ports: each}\n", "daemon: ports=each: no such name"),
])
def test_unknown_layouts_are_refused_with_their_line(campaign, head, says):
    path = campaign(calls(1, head=head))
    done = subprocess.run([FEEDER, path], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 2 and says in done.stderr


def test_an_unknown_layout_on_the_command_line_is_explained(campaign):
    done = subprocess.run([FEEDER, campaign(calls(1)), "--ports", "sharde"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "did you mean 'shared'?" in done.stderr

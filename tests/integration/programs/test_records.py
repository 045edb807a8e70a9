# SPDX-License-Identifier: Apache-2.0
"""One call's record at its end: what is in it, that all calls have one, and
that the file can be moved away."""
import datetime
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import BUILD, PATIENCE, ROOT
from control import Control

sys.path.insert(0, str(ROOT / "src" / "report"))
from codec_report import emodel  # noqa: E402

PTIME = 20  # ms


@pytest.fixture
def recorded(daemon, tmp_path):
    """A daemon that records, a client of it, and the file."""
    d = daemon("--control-socket", tmp_path / "control", "--records",
               tmp_path / "records", "--log-file", tmp_path / "log",
               "--drain-timeout", "0s")
    return d, Control(tmp_path / "control"), tmp_path / "records"


def records(path):
    """All lines, each complete."""
    text = path.read_text()
    assert not text or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def wait_for(ask):
    """Until it is true: what it says then."""
    deadline = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


def counts(client):
    return client.ask("stats", {})["result"]["records"]


def wait_for_records(client, n):
    wait_for(lambda: counts(client)["written"] >= n)


def send(sock, call, sequence, ssrc=None, unheard=()):
    """Frames by their numbers, each after the answer to the last one."""
    host, port = call["rtp"]["address"].rsplit(":", 1)
    for n in sequence:
        sock.sendto(struct.pack("!BBHII", 0x80, call["rtp"]["pt"], n, 160 * n,
                                ssrc or call["rtp"]["ssrc"]) + bytes(160),
                    (host, int(port)))
        if n not in unheard:
            sock.recv(2048)


def when(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00")


def test_a_record_says_what_the_call_was(recorded, sock):
    d, client, path = recorded
    before = datetime.datetime.now(datetime.timezone.utc)
    call = client.start(sock)["result"]
    send(sock, call, [n for n in range(100) if n not in (10, 50, 51, 90)])
    client.stop(call)
    wait_for_records(client, 1)
    after = datetime.datetime.now(datetime.timezone.utc)
    r, = records(path)
    assert r["call"] == call["call"] and r["reason"] == "stopped"
    assert r["interface"] == "default" and r["ptime_ms"] == PTIME
    slack = datetime.timedelta(milliseconds=1)
    assert before - slack <= when(r["start"]) <= when(r["end"]) <= after
    at = "127.0.0.1:%d" % sock.getsockname()[1]
    assert (r["in"]["codec"], r["in"]["pt"], r["in"]["ssrc"], r["in"]["rtp"]) \
        == ("pcmu", 0, call["rtp"]["ssrc"], call["rtp"]["address"])
    assert (r["out"]["codec"], r["out"]["pt"], r["out"]["ssrc"],
            r["out"]["to"]) == ("pcma", 8, call["out"]["ssrc"], at)
    assert (r["heard"]["source"], r["heard"]["expected"], r["heard"]["lost"]) \
        == (at, 100, 4)
    assert r["heard"]["ssrc"] == call["rtp"]["ssrc"]
    assert r["heard"]["jitter_us"] > 0
    assert (r["count"]["packets_in"], r["count"]["packets_out"],
            r["count"]["octets_in"], r["count"]["done"], r["lost"]) == \
        (96, 96, 96 * 160, 96, 0)
    delay = r["delay"]
    assert delay["count"] == 96
    assert 0 < delay["p50_us"] <= delay["p99_us"] <= delay["max_us"]
    check_quality(r, .04)


def check_quality(r, loss):
    """As codec-report has it."""
    assert r["quality"]["loss"] == pytest.approx(loss)
    assert r["quality"]["delay_ms"] == pytest.approx(
        PTIME + r["delay"]["p99_us"] / 1e3, abs=1e-3)
    want = emodel.rate(emodel.Rating(1, emodel.Description(
        r["in"]["codec"], r["in"]["mode"], r["out"]["codec"],
        r["out"]["mode"]), r["quality"]["delay_ms"], loss, 1.0, 100, 0), True)
    assert r["quality"]["r"] == pytest.approx(want.r, abs=.01)
    assert r["quality"]["mos"] == pytest.approx(want.mos, abs=.001)
    assert r["quality"]["wideband"] is False


def test_a_call_that_heard_nothing_has_a_record(recorded, sock):
    d, client, path = recorded
    call = client.start(sock, port="shared")["result"]
    client.stop(call)
    wait_for_records(client, 1)
    r, = records(path)
    assert r["heard"] == {"ssrc_changes": 0, "address_changes": 0,
                          "expected": 0, "lost": 0, "jitter_us": 0}
    assert r["quality"] is None and r["delay"]["count"] == 0
    assert "interface" not in r


def test_what_was_learned_is_in_the_record(recorded, sock):
    """The phone's own SSRC, then another one: gaps of both count."""
    d, client, path = recorded
    call = client.start(sock)["result"]
    send(sock, call, [n for n in range(20) if n != 7], ssrc=4711)
    # the first two of three that prove the new sender are not heard
    send(sock, call, [n for n in range(1000, 1020) if n not in (1010, 1011)],
         ssrc=4712, unheard=(1000, 1001))
    client.stop(call)
    wait_for_records(client, 1)
    heard = records(path)[0]["heard"]
    assert (heard["ssrc"], heard["ssrc_changes"]) == (4712, 1)
    assert heard["address_changes"] in (0, 1)  # the first one told it
    assert heard["expected"] == 20 + 20 - 2
    assert heard["lost"] == 1 + 2


def test_every_end_has_a_record(recorded, sock):
    """Calls that are stopped, whose client says bye, that are kept, and that
    the end of the daemon ends."""
    d, client, path = recorded
    stopped = [client.start(sock)["result"]["call"] for _ in range(20)]
    kept = [client.start(sock, keep=True)["result"]["call"] for _ in range(5)]
    for call in stopped:
        client.stop({"call": call})
    leaving = Control(path.parent / "control")
    gone = [leaving.start(sock)["result"]["call"] for _ in range(3)]
    leaving.ask("bye", {})
    wait_for_records(client, 23)
    assert d.stop() == 0
    found = {r["call"]: r["reason"] for r in records(path)}
    assert found == {**dict.fromkeys(stopped, "stopped"),
                     **dict.fromkeys(gone, "bye"),
                     **dict.fromkeys(kept, "drained")}
    assert len(records(path)) == 28


def test_files_are_opened_again(recorded, sock):
    d, client, path = recorded
    log = path.parent / "log"
    first = client.start(sock)["result"]
    client.stop(first)
    wait_for_records(client, 1)
    old, old_log = path.with_suffix(".1"), log.with_suffix(".1")
    path.rename(old)
    log.rename(old_log)
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: counts(client)["reopened"] == 1)
    second = client.start(sock)["result"]
    client.stop(second)
    wait_for_records(client, 2)
    assert [r["call"] for r in records(old)] == [first["call"]]
    assert [r["call"] for r in records(path)] == [second["call"]]
    assert "ready" in old_log.read_text()
    assert "reopened" in wait_for(lambda: log.exists() and log.read_text())
    assert counts(client) == {"written": 2, "dropped": 0, "failed": 0,
                              "reopened": 1}


def test_what_cannot_be_opened_is_told_and_tried_again(daemon, tmp_path):
    """Nobody sends a second signal."""
    folder, away = tmp_path / "folder", tmp_path / "away"
    folder.mkdir()
    d = daemon("--control-socket", tmp_path / "control", "--records",
               folder / "records", "--log-file", folder / "log",
               "--log-format", "json")
    client = Control(tmp_path / "control")
    folder.rename(away)
    d.process.send_signal(signal.SIGHUP)

    def told(path, event):
        return [e for e in records(path) if e["event"] == event]

    wait_for(lambda: len(told(away / "log", "not-reopened")) == 2)
    wait_for(lambda: told(away / "log", "config-read"))
    why = [e["why"] for e in told(away / "log", "not-reopened")]
    assert sorted(w.partition(":")[0] for w in why) == [
        str(folder / "log"), str(folder / "records")]
    assert not told(away / "log", "reopened")
    assert counts(client)["reopened"] == 0
    folder.mkdir()
    wait_for(lambda: counts(client)["reopened"] == 1)
    wait_for((folder / "log").exists)
    assert d.stop() == 0
    # each once, whichever was first
    assert sorted(e["path"] for name in (away, folder)
                  for e in told(name / "log", "reopened")) == [
        str(folder / "log"), str(folder / "records")]
    assert len(told(away / "log", "not-reopened")) == 2
    assert told(folder / "log", "exit")


def test_a_hangup_without_files_ends_nothing(daemon, tmp_path, sock):
    d = daemon("--control-socket", tmp_path / "control", "--drain-timeout",
               "0s")
    client = Control(tmp_path / "control")
    assert client.ask("stats", {})["result"]["records"] is None
    d.process.send_signal(signal.SIGHUP)
    call = client.start(sock)["result"]
    send(sock, call, range(5))
    client.stop(call)


def test_a_file_that_cannot_be_is_refused_at_the_start(tmp_path):
    done = subprocess.run([BUILD / "codec-runner", "--sctp", "user", "--rtp",
                           "127.0.0.1:0", "--records", tmp_path / "no" / "r"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert f"{tmp_path}/no/r: cannot open" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_counted_and_calls_go_on(daemon, tmp_path, sock):
    d = daemon("--control-socket", tmp_path / "control", "--records",
               "/dev/full", "--drain-timeout", "0s")
    client = Control(tmp_path / "control")
    for _ in range(3):
        call = client.start(sock)["result"]
        send(sock, call, range(5))
        client.stop(call)
    wait_for(lambda: counts(client)["failed"] == 3)
    assert counts(client)["written"] == 0

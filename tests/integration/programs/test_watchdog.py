# SPDX-License-Identifier: Apache-2.0
"""codec-runner with a library that does not come back from a frame:
STUCK_RESAMPLER names the object that makes it so."""
import json
import os

import pytest

from test_convert import convert, names, speech, wait_for
from test_daemon import rtp, start_call
from test_http import ask

SILENCE = b"\xff" * 160


@pytest.fixture
def stuck(tmp_path):
    """While this file is there, no resampler comes back."""
    return tmp_path / "stuck"


@pytest.fixture
def runner(daemon, monkeypatch, stuck):
    def start(*options):
        with monkeypatch.context() as m:
            m.setenv("LD_PRELOAD", os.environ["STUCK_RESAMPLER"])
            m.setenv("STUCK", str(stuck))
            return daemon("--watchdog", "2s",
                          *options)

    return start


def send(call, sock, i):
    host, port = call["rtp"]["address"].split(":")
    sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], SILENCE),
                (host, int(port)))


def watchdog(d, **want):
    """Wait until the watchdog tells that."""
    def told():
        w = d.ctl("stats")["watchdog"]
        return all(w[key] == value for key, value in want.items())

    wait_for(told)


def test_its_call_ends_and_the_others_go_on(runner, sock, stuck):
    d = runner("--http", "127.0.0.1:0")
    lost = start_call(d, sock, **{"out.codec": "amr-wb"})
    kept = start_call(d, sock)
    send(lost, sock, 0)
    sock.recv(2048)
    stuck.touch()
    send(lost, sock, 1)
    watchdog(d, hung=1, stuck_now=1)
    assert "hung" in d.ctl("stream", "query", str(lost["call"]), code=1)
    for i in range(50):
        send(kept, sock, i)
        assert len(sock.recv(2048)) == 172
    stats = d.ctl("stats")
    assert (stats["calls"], stats["totals"]["cancelled"]) == (1, 1)
    metrics = ask(d, "/metrics")[1]
    assert '_watchdog_total{found="hung"} 1\n' in metrics
    assert "_stuck_threads 1\n" in metrics
    stuck.unlink()
    watchdog(d, returned=1, stuck_now=0)
    why = d.ctl("stream", "query", str(lost["call"]), code=1)
    assert "there is no stream" in why and "hung" not in why
    assert d.ctl("call", "stop", str(kept["call"]))["streams"][0]["count"]["done"] == 50


def test_what_is_found_has_fields(runner, sock, stuck, tmp_path):
    log = tmp_path / "log"
    d = runner("--log-format", "json", "--log-file", log)
    call = start_call(d, sock, **{"out.codec": "amr-wb"})
    stuck.touch()
    send(call, sock, 0)
    watchdog(d, hung=1)
    stuck.unlink()
    watchdog(d, stuck_now=0)
    assert d.stop() == 0
    told = [json.loads(line) for line in log.read_text().splitlines()]
    found, back = [e for e in told if e["event"] == "watchdog"]
    assert list(found) == ["time", "level", "event", "found", "worker",
                           "stream", "for_ms"]
    assert (found["found"], found["worker"], found["stream"]) == (
        "worker-stuck", 0, call["call"])
    assert (back["returned"], back["stream"]) == ("stream", call["call"])


def test_a_conversion_is_cancelled(runner, stuck, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    speech(spool / "in.wav", 2)
    d = runner("--spool", str(spool))
    assert convert(d, "in.wav", "one.amr").wait() == 0
    stuck.touch()
    p = convert(d, "in.wav", "two.amr")
    watchdog(d, hung=1, stuck_now=1)
    assert d.ctl("convert", "list")["conversions"][-1]["state"] == "ending"
    third = convert(d, "in.wav", "three.awb")  # nothing to resample
    assert third.wait() == 0
    stuck.unlink()
    watchdog(d, stuck_now=0)
    assert p.wait() != 0
    p.communicate()
    assert d.ctl("stats")["conversions"]["cancelled"] == 1
    assert names(spool) == ["in.wav", "one.amr", "three.awb"]


def test_the_end_does_not_wait_for_it(runner, sock, stuck, tmp_path):
    d = runner("--trace", str(tmp_path / "t.trace"))
    call = start_call(d, sock, **{"out.codec": "amr-wb"})
    stuck.touch()
    send(call, sock, 0)
    watchdog(d, hung=1)
    assert d.stop() == 3
    log = (tmp_path / "runner-0.log").read_text()
    assert "found=worker-stuck" in log and "left behind" in log

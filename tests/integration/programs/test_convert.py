# SPDX-License-Identifier: Apache-2.0
"""codec-ctl convert against a real daemon: files, exit codes, interrupts, and
a daemon that is killed in the middle."""
import math
import os
import signal
import struct
import subprocess
import time
import wave

import pytest

from conftest import BUILD, PATIENCE


def speech(path, seconds, rate=16000):
    one = struct.pack(f"<{rate}h", *(int(6000 * math.sin(i * i * 1e-5))
                                     for i in range(rate)))
    with wave.open(str(path), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes(one * seconds)


@pytest.fixture
def spool(tmp_path):
    path = tmp_path / "spool"
    path.mkdir()
    speech(path / "short.wav", 2)
    speech(path / "long.wav", 900)  # some seconds of work at least
    return path


def convert(d, *words):
    """codec-ctl convert, in the background."""
    return subprocess.Popen([BUILD / "codec-ctl", *d.where(), "convert",
                             *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def growing(spool):
    """Is there a temporary file with something in it?"""
    return any(p.stat().st_size > 1000
               for p in spool.glob(".codec-runner-convert-*"))


def names(spool):
    return sorted(os.listdir(spool))


def test_files_are_converted_and_known_to_others(daemon, spool):
    d = daemon("--spool", str(spool))
    assert d.ctl("convert", "short.wav", "a.awb")["frames"] == 100
    assert d.ctl("convert", "a.awb", "b.amr", "mode=7.95")["to"] == "amr/7.95"
    done = d.ctl("convert", "b.amr", "c.wav", "rate=16000")
    assert (done["state"], done["progress"]) == ("done", 1)
    with wave.open(str(spool / "c.wav")) as w:
        assert (w.getframerate(), w.getnchannels(), w.getnframes()) == (
            16000, 1, 32000)
    assert (spool / "a.awb").read_bytes()[:9] == b"#!AMR-WB\n"
    assert len((spool / "b.amr").read_bytes()) == 6 + 100 * 21
    listed = d.ctl("convert", "list")["conversions"]
    assert [c["state"] for c in listed] == ["done"] * 3


def test_frames_without_data_are_heard_as_silence(daemon, spool):
    """Every fifth frame of an AMR file is NO_DATA."""
    d = daemon("--spool", str(spool))
    d.ctl("convert", "short.wav", "a.amr", "mode=12.2")
    data = (spool / "a.amr").read_bytes()
    frames = [data[i:i + 32] for i in range(6, len(data), 32)]
    frames[::5] = [b"\x7c"] * len(frames[::5])
    (spool / "b.amr").write_bytes(b"#!AMR\n" + b"".join(frames))
    assert d.ctl("convert", "b.amr", "b.wav")["frames"] == 100
    with wave.open(str(spool / "b.wav")) as w:
        assert w.getnframes() == 16000


@pytest.mark.parametrize("words,reason", [
    (("none.wav", "a.amr"), "No such file"),
    (("../short.wav", "a.amr"), "within the spool folder"),
    (("short.wav", "a.amr", "mode=1"), "12.2"),
])
def test_a_refusal_is_said_and_has_its_exit_code(daemon, spool, words, reason):
    d = daemon("--spool", str(spool))
    assert reason in d.ctl("convert", *words, code=1)
    assert "usage" in d.ctl("convert", "short.wav", code=2)


def test_a_conversion_that_fails_has_its_exit_code(daemon, spool):
    (spool / "bad.amr").write_bytes(b"#!AMR\n" + b"\x3c" * 320 + b"\x48")
    d = daemon("--spool", str(spool))
    assert "failed: broken at byte 326" in d.ctl("convert", "bad.amr", "a.wav",
                                                 code=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_the_conversion(daemon, spool, number):
    d = daemon("--spool", str(spool))
    before = names(spool)
    c = convert(d, "long.wav", "a.awb")
    wait_for(lambda: growing(spool))
    c.send_signal(number)
    out, err = c.communicate(timeout=PATIENCE)
    assert (c.returncode, out) == (1, "")
    assert "cancelled" in err
    assert names(spool) == before
    assert d.ctl("convert", "query", "1")["state"] == "cancelled"


def test_a_killed_daemon_leaves_no_half_file(daemon, spool):
    d = daemon("--spool", str(spool))
    before = names(spool)
    c = convert(d, "long.wav", "a.awb")
    wait_for(lambda: growing(spool))
    assert d.stop(signal.SIGKILL) == -signal.SIGKILL
    c.kill()
    c.communicate()
    assert not (spool / "a.awb").exists()
    assert names(spool) == [".codec-runner-convert-1"] + before
    d = daemon("--spool", str(spool))
    assert names(spool) == before
    d.ctl("convert", "short.wav", "a.awb")


def test_a_second_daemon_does_not_get_the_folder(daemon, spool):
    daemon("--spool", str(spool))
    with pytest.raises(RuntimeError, match="another codec-runner uses it"):
        daemon("--spool", str(spool))


def test_without_a_folder_the_way_out_is_said(daemon):
    assert "--spool" in daemon().ctl("convert", "a.wav", "a.amr", code=1)

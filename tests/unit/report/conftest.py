# SPDX-License-Identifier: Apache-2.0
"""Makes traces byte by byte, from cr/trace.h and not from codec_report."""
import contextlib
import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src" / "report"))

MS = 1000000
(DONE, OVERWRITTEN, STALE, CONCEALED, CANCELLED, BAD, SEND_FAILED,
 UNRECEIVED, UNBUFFERED, SHED) = range(10)


def header(scheduler="edf", **more):
    text = json.dumps({"scheduler": scheduler, "workers": 2, **more}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<8sIIq", b"CRTRACE1", 88, len(text), 0) + text


def job(call, seq, arrival, sent=0, outcome=DONE, **more):
    """A job record; the work takes the last millisecond before sent."""
    start = more.get("start", sent - MS if sent else 0)
    return struct.pack(
        "<BBHIIHHqqqqqqqIIq", 1, outcome, more.get("worker", 0), call, seq,
        160, 32, arrival, more.get("release", arrival),
        more.get("pick", start), start, more.get("end", sent), sent,
        more.get("deadline", arrival + 20 * MS), more.get("rtp_ts", seq * 160),
        more.get("codec_ns", 0), more.get("away", 0))


def record(**member):
    """A job record of these members, the others 0."""
    names = ("kind", "outcome", "worker", "call", "seq", "bytes_in",
             "bytes_out", "arrival", "release", "pick", "start", "end",
             "sent", "deadline", "rtp_ts", "codec_ns", "away")
    member["kind"] = 1
    return struct.pack("<BBHIIHHqqqqqqqIIq",
                       *(member.get(name, 0) for name in names))


def call(number, ptime_ms=20, codec_in="pcmu", codec_out="amr",
         mode_out="12.2", cls=1):
    return struct.pack("<BBHIqq16s8s16s8sIIQ", 2, cls, ptime_ms * 4, number, 0,
                       20 * MS, codec_in.encode(), b"", codec_out.encode(),
                       mode_out.encode(), 0, 0, 0)


def note(code, at=0, count=0, text=""):
    return struct.pack("<BBHIq72s", 3, code, 0xFFFF, count, at, text.encode())


@pytest.fixture
def write(tmp_path):
    """write(b"...", b"...") -> path of a file of these parts."""
    def write_parts(*parts, name="t.bin"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(parts))
        return str(path)
    return write_parts


@pytest.fixture
def program():
    """program("--man") -> CompletedProcess of the program itself; first: a
    folder whose modules hide others of their name."""
    path = os.environ.get("CODEC_REPORT")
    argv = [path] if path else [sys.executable, "-m", "codec_report"]

    def run(*args, first=""):
        folders = [first] * bool(first) + [str(ROOT / "src" / "report")]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(folders))
        return subprocess.run(argv + list(args), env=env, text=True,
                              capture_output=True, check=False, timeout=600)
    return run


@pytest.fixture
def codec_report():
    """As program, but in this process: a start of Python costs more than most
    tests."""
    from codec_report.cli import main

    def run(*args):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(list(args))
            except SystemExit as stop:
                code = stop.code or 0
        return subprocess.CompletedProcess(args, code, out.getvalue(),
                                           err.getvalue())
    return run


@pytest.fixture
def groups(codec_report):
    """groups(path, ...) -> {(scheduler, group): metrics} of --json."""
    def run(*args):
        result = codec_report("--json", *args)
        assert result.returncode == 0, result.stderr
        return {(s["scheduler"], g["group"]): g
                for r in json.loads(result.stdout)["runs"]
                for s in r["schedulers"] for g in s["groups"]}
    return run

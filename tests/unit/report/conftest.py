# SPDX-License-Identifier: Apache-2.0
"""Makes traces byte by byte, from cr/trace.h and not from codec_report; and runs
that several tests look at."""
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

US, MS = 1000, 1000000
(DONE, OVERWRITTEN, EXPIRED, CONCEALED, CANCELLED, BAD, SEND_FAILED,
 UNRECEIVED, UNBUFFERED, SHED) = range(10)


def header(scheduler="edf", **more):
    text = json.dumps({"scheduler": scheduler, "workers": 2, **more}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<8sIIq", b"CRTRACE1", 96, len(text), 0) + text


def job(task, seq, arrival, sent=0, outcome=DONE, **more):
    """A job record; the work takes the last millisecond before sent."""
    start = more.get("start", sent - MS if sent else 0)
    return struct.pack(
        "<BBHIIHHqqqqqqqIIqII", 1, outcome, more.get("worker", 0), task, seq,
        160, 32, arrival, more.get("release", arrival),
        more.get("pick", start), start, more.get("end", sent), sent,
        more.get("deadline", arrival + 20 * MS), more.get("rtp_ts", seq * 160),
        more.get("codec_ns", 0), more.get("away", 0), more.get("buffered", 0),
        more.get("importance", 0))


def record(**member):
    """A job record of these members, the others 0."""
    names = ("kind", "outcome", "worker", "task", "seq", "bytes_in",
             "bytes_out", "arrival", "release", "pick", "start", "end",
             "sent", "deadline", "rtp_ts", "codec_ns", "away", "buffered",
             "importance")
    member["kind"] = 1
    return struct.pack("<BBHIIHHqqqqqqqIIqII",
                       *(member.get(name, 0) for name in names))


def call(number, ptime_ms=20, codec_in="pcmu", codec_out="amr",
         mode_out="12.2", cls=1):
    return struct.pack("<BBHIqq16s8s16s8sIIQQ", 2, cls, ptime_ms * 4, number, 0,
                       20 * MS, codec_in.encode(), b"", codec_out.encode(),
                       mode_out.encode(), 0, 0, 0, 0)


def note(code, at=0, count=0, text=""):
    return struct.pack("<BBHIq80s", 3, code, 0xFFFF, count, at, text.encode())


CALLS, MORE = 10, 10   # all the time; from 2 s to 4 s of 6 s
COST = 1600000         # ns of the only worker: 80 %, 160 %


def speech(scheduler="fifo", spoil=lambda j: j, live=True, **more):
    """A trace; spoil changes a frame before it becomes a record."""
    frames = []
    for number in range(1, CALLS + MORE + 1):
        begin, end = (0, 300) if number <= CALLS else (100, 200)
        for i in range(begin, end):
            arrival = MS + 20 * MS * i + number * 100000
            frames.append(spoil(dict(
                task=number, seq=i, arrival=arrival, pick=arrival + 1400000,
                start=arrival + 1400000, end=arrival + 1400000 + COST,
                sent=arrival + 1400000 + COST, codec_ns=COST, outcome=DONE,
                high=100 <= i < 200)))
    return b"".join([
        header(scheduler, live=live, workers=1, **more),
        *[call(n, codec_in="pcmu", codec_out="pcma", mode_out="")
          for n in range(1, CALLS + MORE + 1)],
        *[job(**{k: v for k, v in j.items() if k != "high"})
          for j in frames]])


def streams_csv():
    return ("stream,flow,index,codec_in,codec_out,sent,received\n" + "".join(
        f"{n},talk,{n},pcmu,pcma,300,300\n"
        for n in range(1, CALLS + MORE + 1))).encode()


def steady(calls=40, count=100, spoil=lambda j: j):
    """Calls in turn, each frame 0.2 ms of the one worker, sent 0.1 ms after;
    spoil changes a frame before it becomes a record."""
    records = []
    for i in range(count):
        for c in range(1, calls + 1):
            arrival = MS + 20 * MS * i + 400 * US * c
            records.append(spoil(dict(
                task=c, seq=i, arrival=arrival, pick=arrival + 10 * US,
                start=arrival + 12 * US, end=arrival + 200 * US,
                sent=arrival + 300 * US, codec_ns=180 * US, outcome=DONE,
                deadline=arrival + 20 * MS)))
    return [header(workers=1), *[call(c) for c in range(1, calls + 1)],
            *[job(**j) for j in records]]


def starve(j):
    """Call 17 gets nothing from its 50th frame on."""
    if j["task"] != 17 or j["seq"] < 50:
        return j
    return {**j, "start": 0, "end": 0, "sent": 0, "worker": 0xFFFF,
            "pick": j["arrival"] + 100 * MS, "outcome": CONCEALED}


def stall(j):
    """Nothing happens from 1.0 s to 1.3 s; then all that waits is done."""
    begin, end = MS + 1000 * MS, MS + 1300 * MS
    if not begin <= j["pick"] < end:
        return j
    late = end + (j["arrival"] - begin) // 1000 - j["pick"]
    return {**j, **{name: j[name] + late for name in
                    ("pick", "start", "end", "sent")}}


def column(label, data):
    from codec_report.figures import Column
    return Column(label, label, data)


def plain(text):
    """A sentence with ordinary spaces."""
    return text.replace("\u00a0", " ")


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
def sections(write):
    """sections(part, ...) -> the sections of a trace of these parts."""
    def load(*parts):
        from codec_report.run import load_run
        from codec_report.run import sections as measured
        return measured(load_run(write(*parts)))
    return load


@pytest.fixture
def frames(sections):
    """As sections, but the frames of the only one."""
    def load(*parts):
        section, = sections(*parts)
        return section.frames
    return load


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
def verdict(write, codec_report):
    """verdict({folder: trace}) -> what --json says of it; the campaign is
    known to be demo.yaml."""
    def make_files(traces, output=None, more=()):
        folders = []
        for name, trace in traces.items():
            path = write(trace, name=f"{name}/trace.bin")
            folder = os.path.dirname(path)
            write(json.dumps({
                "campaign": {"path": "/somewhere/demo.yaml", "text": "x"},
                "seed": 7, "machine": {"cpu": "AMD EPYC"},
                **(output or {}).get(name, {})}).encode(),
                name=f"{name}/run.json")
            top = os.path.dirname(folder) if "/" in name else folder
            folders += [top] if top not in folders else []
        result = codec_report("--json", *folders, *more)
        assert result.returncode == 0, result.stderr
        said, = json.loads(result.stdout)["verdict"]
        return said
    return make_files


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

# SPDX-License-Identifier: Apache-2.0
"""--jobs csv, --streams csv, and --perfetto against the rules of its format."""
import csv
import io
import json

import pytest
from conftest import (DONE, MS, OVERWRITTEN, EXPIRED, call, header, note, record)

NEVER = 2 ** 63 - 1
PHASES = {"M", "X", "i"}


def two_calls():
    """Call 1: done early, late, lost; call 2 has no deadlines, is interrupted
    and shares worker 0."""
    def frame(number, seq, at, outcome=DONE, **more):
        times = {k: (at + v) * MS for k, v in more.items()
                 if k in ("release", "pick", "start", "end", "sent")}
        deadline = (at + 20) * MS if number == 1 else NEVER
        return record(task=number, seq=seq, outcome=outcome, arrival=at * MS,
                      deadline=deadline, rtp_ts=160 * seq,
                      worker=more.get("worker", 0), codec_ns=500000,
                      away=more.get("away", 0) * MS, **times)
    return [
        frame(1, 0, 1, release=0, pick=1, start=1, end=3, sent=4),
        frame(1, 1, 21, release=0, pick=20, start=20, end=22, sent=25),
        frame(1, 2, 41, EXPIRED, release=4, pick=70, worker=0xFFFF),
        frame(1, 3, 61, OVERWRITTEN, worker=0xFFFF),
        frame(2, 0, 1, release=0, pick=2, start=2, end=9, sent=9, away=2),
        frame(2, 1, 22, release=0, pick=0, start=0, end=1, sent=2, worker=1)]


def rows_of(result):
    assert result.returncode == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_the_job_table(write, codec_report):
    path = write(header(), call(1), call(2), *two_calls())
    rows = rows_of(codec_report("--jobs", "csv", path))
    found = [(r["task"], r["job"], r["period_ns"], r["arrival_ns"],
              r["response_ns"], r["lateness_ns"], r["tardiness_ns"],
              r["outcome"]) for r in rows]
    ms = "000000"
    assert found == [
        ("1", "0", "20" + ms, "0", "4" + ms, "-16" + ms, "0", "done"),
        ("1", "1", "20" + ms, "20" + ms, "25" + ms, "5" + ms, "5" + ms,
         "done"),
        ("1", "2", "20" + ms, "40" + ms, "", "", "", "expired"),
        ("1", "3", "20" + ms, "60" + ms, "", "", "", "overwritten"),
        ("2", "0", "20" + ms, "0", "9" + ms, "", "", "done"),
        ("2", "1", "20" + ms, "21" + ms, "2" + ms, "", "", "done")]
    assert {(r["run"], r["scheduler"]) for r in rows} == {("t.bin", "edf")}


def test_the_list_of_calls(write, codec_report):
    path = write(header(), call(1), call(2, codec_out="amr", mode_out="4.75"),
                 *two_calls())
    one, two = rows_of(codec_report("--streams", "csv", path))
    assert one["codecs"] == "pcmu/ -> amr/12.2"
    # frame 1 comes 21 ms after the fastest, which is within the play-out
    assert (one["frames"], one["loss"], one["late_for_playout"]) == \
        ("4", "0.5", "0")
    assert float(one["delay_ms"]) == pytest.approx(20 + 4 + 60 + 5)
    assert float(one["mos"]) >= 1 and two["mos"] == two["r"] == ""


def perfetto(codec_report, tmp_path, *args):
    file = tmp_path / "trace.json"
    result = codec_report("--perfetto", str(file), *args)
    assert result.returncode == 0, result.stderr
    with open(file, encoding="utf-8") as f:
        return json.load(f)["traceEvents"]


def check_rules(events):
    """The rules of the Trace Event Format on which ui.perfetto.dev relies."""
    names, stacks, last = {}, {}, 0.0
    for e in events:
        assert e["ph"] in PHASES and isinstance(e["name"], str)
        assert isinstance(e["pid"], int) and 0 <= e["tid"] < 2 ** 31
        track = e["pid"], e["tid"]
        if e["ph"] == "M":
            if e["name"] == "thread_name":
                assert track not in names
                names[track] = e["args"]["name"]
            continue
        assert e["ts"] >= last, "not sorted"
        last = e["ts"]
        if e["ph"] == "i":
            assert e["s"] in ("t", "p", "g")
            assert e["s"] != "t" or track in names
            continue
        assert track in names and e["dur"] >= 0
        # slices of a track nest: none begins in another and ends after it
        begin = round(e["ts"] * 1000)
        end = begin + round(e["dur"] * 1000)
        stack = stacks.setdefault(track, [])
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1]
        stack.append(end)
    tids = [tid for _, tid in names]
    assert len(tids) == len(set(tids))
    return names


def test_perfetto_s_trace_keeps_the_rules(write, codec_report, tmp_path):
    path = write(header(), call(1), call(2), *two_calls(),
                 note(1, 30 * MS, text="rr"))
    events = perfetto(codec_report, tmp_path, path, path)
    names = check_rules(events)
    assert {e["args"]["name"] for e in events
            if e["name"] == "process_name"} == {
        "t.bin: workers", "t.bin: tasks", "t.bin#2: workers",
        "t.bin#2: tasks"}
    # two frames are on worker 0 at once: one was interrupted
    assert sorted(name for (pid, _), name in names.items() if pid <= 2) == [
        "task 1", "task 2", "worker 0", "worker 0 +1", "worker 1"]


def test_perfetto_shows_frames_deadlines_and_losses(write, codec_report,
                                                    tmp_path):
    path = write(header(), call(1), call(2), *two_calls())
    events = perfetto(codec_report, tmp_path, path)
    names = check_rules(events)

    def on(track, name):
        return [(e["ts"], e.get("dur")) for e in events if e["name"] == name
                and names.get((e["pid"], e["tid"])) == track]
    # us from the first arrival, at 1 ms
    assert on("worker 0", "task 1 #0") == [(1000, 2000)]
    assert on("worker 0 +1", "task 2 #0") == [(2000, 7000)]
    assert on("task 1", "frame 1") == [(20000, 22000)]
    assert on("task 1", "work") == [(1000, 2000), (40000, 2000)]
    assert on("task 1", "deadline") == [
        (20000, None), (40000, None), (60000, None), (80000, None)]
    assert on("task 2", "deadline") == []
    assert on("task 1", "lost: expired") == [(110000, None)]
    assert on("task 1", "lost: overwritten") == [(60000, None)]
    expired = next(e for e in events if e["name"] == "lost: expired")
    assert expired["args"]["frame"] == 2
    assert expired["args"]["delay_us"] is None


def test_perfetto_is_guarded_and_takes_a_window(write, codec_report, tmp_path):
    path = write(header(), call(1), call(2), *two_calls())
    file = str(tmp_path / "x.json")
    result = codec_report("--perfetto", file, "--perfetto-frames", "5", path)
    assert result.returncode == 2
    assert "--since" in result.stderr and "6 frames" in result.stderr
    events = perfetto(codec_report, tmp_path, "--until", "10ms",
                      "--perfetto-frames", "2", path)
    assert {e["args"]["frame"] for e in events
            if e["name"] == "arrival"} == {0}
    result = codec_report("--perfetto", str(tmp_path / "no" / "x"), path)
    assert result.returncode == 2 and "No such file" in result.stderr


def test_random_records_keep_the_rules(write, codec_report, tmp_path):
    import random
    rng = random.Random(7)
    jobs = []
    for i in range(400):
        times = sorted(rng.randrange(1, 2000) for _ in range(6))
        if rng.random() < .1:
            rng.shuffle(times)  # a damaged record
        jobs.append(record(
            task=i % 5, seq=i // 5, outcome=rng.randrange(7),
            worker=rng.choice((0, 1, 0xFFFF)), deadline=rng.randrange(3000),
            **dict(zip(("arrival", "release", "pick", "start", "end",
                        "sent"), times))))
    path = write(header(), *(call(n) for n in range(4)), *jobs)
    check_rules(perfetto(codec_report, tmp_path, path))

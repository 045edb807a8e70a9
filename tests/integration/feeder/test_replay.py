# SPDX-License-Identifier: Apache-2.0
"""codec-sim --replay: a live run in overload, recorded here, is played again.

What the trace has is what happened, on however busy a machine: time that
something else took is in it, too. So the bounds hold on any.

six-schedulers.trace.gz is of such a run: 60 calls of PCMU to a codec that
takes 400 us, 2.8 s on one worker with --max-age 100ms --shed age
--realtime-workers, and the scheduler switched every 0.4 s.
"""
import csv
import gzip
import io
import json
import os
import pathlib
import struct
import subprocess

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
CALLS, SPIN = 50, "500us"  # 125 % of a worker
RECORDED = pathlib.Path(__file__).with_name("six-schedulers.trace.gz")
OVERLOAD = f"""
seed: 2
duration: 2s
flows:
  - name: talk
    count: {CALLS}
    in: {{codec: pcmu}}
    out: {{codec: spin, spin: {SPIN}}}
"""


def simulate(*args, code=0):
    done = subprocess.run([BUILD / "codec-sim", "-q", *map(str, args)],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def replay(run, *args):
    return json.loads(simulate("--replay", run, "--json", *args))


def arrivals(run):
    """Of the frames in its trace, by the trace's clock."""
    data = (run / "trace.bin").read_bytes()
    return [struct.unpack_from("<q", data, i + 16)[0] for i in jobs(data)]


def jobs(data):
    """Where in a trace the records of its jobs are."""
    at = 24 + struct.unpack_from("<I", data, 12)[0]
    return [i for i in range(at, len(data) - 95, 96) if data[i] == 1]


@pytest.fixture
def record(daemon, campaign, tmp_path):
    """Play an overload to a daemon; the folder with its trace."""
    def played(*options, switch=None):
        run = tmp_path / f"run{len(os.listdir(tmp_path))}"
        run.mkdir()
        d = daemon("--trace", run / "trace.bin", "--no-admission",
                   "--max-age", "100ms", *options)
        d.feed(campaign(OVERLOAD), "--out", run)
        if switch:
            d.ctl("scheduler", switch)
            d.feed(campaign(OVERLOAD), "--seed", "5", "--out", run)
        assert d.stop() == 0
        return run
    return played


def is_near(result, picks="same_picks"):
    """Loss within a point, delays within 5 %, nine of ten picks the same."""
    live, again = result["live"], result["own"]
    return (abs(again["loss"] - live["loss"]) <= 0.01
            and result[picks] >= 0.9
            and all(abs(again[q] - live[q]) <= max(0.05 * live[q], 1e6)
                    for q in ("p50_ns", "p99_ns")))


def test_a_recorded_run_happens_again(tmp_path):
    """Under each of its schedulers, which begins with what the one before it
    has left."""
    (tmp_path / "trace.bin").write_bytes(
        gzip.decompress(RECORDED.read_bytes()))
    runs = {r["scheduler"].split(",")[0]: r["replay"]
            for r in replay(tmp_path)}
    assert list(runs) == ["fifo", "edf", "rr", "cfs", "bfs", "pd2"]
    for name, result in runs.items():
        assert result["live"]["frames"] > 300
        assert result["same_queue"] > 0.99 and is_near(result), (name, result)


def test_an_older_trace_lacks_charged_times(tmp_path):
    """Then it is taken for the time until the worker's next pick."""
    data = bytearray(gzip.decompress(RECORDED.read_bytes()))
    for i in jobs(data):
        data[i + 93:i + 96] = bytes(3)
    (tmp_path / "trace.bin").write_bytes(data)
    runs = {r["scheduler"].split(",")[0]: r["replay"]
            for r in replay(tmp_path)}
    for result in runs.values():
        assert is_near(result, "same_queue"), result
    assert runs["fifo"]["same_queue"] == runs["edf"]["same_queue"] == 1
    assert runs["rr"]["same_queue"] < 0.99 and runs["cfs"]["same_queue"] < 0.99


def test_the_charge_of_a_turn_is_in_the_next_record(record):
    data = (record("--scheduler", "rr") / "trace.bin").read_bytes()
    turns = sorted((struct.unpack_from("<q", data, i + 32)[0],
                    struct.unpack_from("<I", data, i + 92)[0] >> 8)
                   for i in jobs(data) if data[i + 2:i + 4] == bytes(2))
    assert turns[0][1] == 0
    for (pick, _), (after, charged) in zip(turns, turns[1:]):
        assert (0 < charged <= after - pick + 10**5  # of two clocks
                or after - pick >= 1 << 24)


def test_a_dropped_frame_had_queued_its_call(tmp_path):
    """As the oldest of too many: those behind it have its place."""
    file = tmp_path / "ring.yaml"
    file.write_text("""
duration: 1s
daemon: {admission: off, max-age: none}
flows:
  - {name: many, count: 20, period: 20ms, deadline: 20ms, ring: 2,
     cost: {mean: 1300us}}
""")
    for policy in "rr", "bfs":
        run = tmp_path / policy
        simulate("-s", policy, "--out", run, file)
        result = replay(run, "-s", policy)["replay"]
        assert result["live"]["lost"] > 100
        # the header has the ring; bfs may part from it at a near tie
        assert result["own"]["lost"] == pytest.approx(result["live"]["lost"],
                                                    abs=5)
        assert result["same_queue"] > 0.99


def test_a_stall_stays_where_it_was(tmp_path):
    """The worker stops for two seconds, and the packets of 20 turns wait for
    that: later or earlier frames, or those that were lost, do not."""
    file, run = tmp_path / "over.yaml", tmp_path / "run"
    file.write_text("""
duration: 1s
daemon: {admission: off, max-age: 100ms}
flows:
  - {name: many, count: 75, period: 20ms, deadline: 20ms,
     cost: {mean: 400us}}
""")
    simulate("-s", "fifo", "--out", run, file)
    data = bytearray((run / "trace.bin").read_bytes())
    stall, fields = 2 * 10**9, range(16, 72, 8)  # arrival to deadline

    def stamp(i, at):
        return struct.unpack_from("<q", data, i + at)[0]

    turns = sorted((stamp(i, 32), i) for i in jobs(data)
                   if data[i + 2:i + 4] == bytes(2))
    begin = turns[1000][0]
    for i in jobs(data):
        for at in fields:
            if stamp(i, at) > begin:
                struct.pack_into("<q", data, i + at, stamp(i, at) + stall)
    for _, i in turns[980:1000]:
        struct.pack_into("<q", data, i + 56, begin + stall)
    (run / "trace.bin").write_bytes(data)
    simulate("--replay", run, "-s", "rr", "--out", tmp_path / "again")
    first = min(arrivals(run))
    data = (tmp_path / "again" / "trace.bin").read_bytes()
    shift = first - min(arrivals(tmp_path / "again"))
    took = [(stamp(i, 32) + shift - begin, stamp(i, 56) - stamp(i, 32))
            for i in jobs(data) if data[i + 2:i + 4] == bytes(2)]
    assert len(took) > 1000
    assert [t for t in took if t[1] > stall / 2 and abs(t[0]) < 10**7]
    assert not [t for t in took if t[1] > stall / 2 and abs(t[0]) > 10**7]


def test_each_live_pick_is_replayed(tmp_path):
    """From the same queue as then; not under a scheduler that was not at work,
    nor where the trace does not say which queue that was."""
    (tmp_path / "trace.bin").write_bytes(
        gzip.decompress(RECORDED.read_bytes()))
    assert replay(tmp_path, "-s", "srpt")["replay"]["same_queue"] is None
    assert replay(tmp_path, "-s", "edf")["replay"]["same_queue"] == 1
    assert replay(tmp_path, "-s", "edf", "--set", "platform.cpus=2",
                  "--set", "platform.run-queues=2"
                  )["replay"]["same_queue"] is None
    result = replay(tmp_path, "-s", "edf")["replay"]
    assert result["same_queue_asked"] == result["same_queue_picks"] > 500
    text = simulate("--replay", tmp_path, "-s", "edf")
    assert ("100.0 % of the live picks from the same queue (of the first "
            "{0} of {0} picks)".format(result["same_queue_picks"])) in text


def test_the_number_of_replayed_picks_is_bounded(tmp_path):
    """2,000,000 divided by the number of calls, each time."""
    file = tmp_path / "many.yaml"
    file.write_text("""
duration: 100ms
flows:
  - {name: many, count: 1000, period: 20ms, deadline: 20ms,
     cost: {mean: 5us}}
""")
    simulate("-s", "fifo", "--out", tmp_path / "run", file)
    result = replay(tmp_path / "run", "-s", "fifo")["replay"]
    assert result["same_queue_asked"] == 2000 < result["same_queue_picks"]
    assert result["same_queue"] == 1
    text = simulate("--replay", tmp_path / "run", "-s", "fifo")
    assert f"of the first 2000 of {result['same_queue_picks']} picks" in text


def of_two_workers(folder, number=1, switched=None):
    """The recorded run, the second half of it of another worker; bfs's time is
    another scheduler's."""
    data = bytearray(gzip.decompress(RECORDED.read_bytes())
                     .replace(b'"workers":1', b'"workers":2'))
    if switched:
        assert data.count(b"bfs,rr_interval=6ms") == 1
        data = data.replace(b"bfs,rr_interval=6ms", switched.ljust(19, b"\0"))
    found = jobs(data)
    for i in found[len(found) // 2:]:
        if data[i + 2:i + 4] != b"\xff\xff":
            struct.pack_into("<H", data, i + 2, number)
    (folder / "trace.bin").write_bytes(data)
    return folder


def test_workers_are_those_of_the_header(tmp_path):
    run = of_two_workers(tmp_path)
    result = replay(run, "-s", "edf")["replay"]
    assert result["same_queue_asked"] == result["same_queue_picks"] > 500
    fewer = replay(run, "-s", "edf", "--set", "platform.cpus=1")["replay"]
    assert fewer["same_queue"] is None and fewer["own"]["frames"] > 500
    for number in 2, 300:
        said = simulate("--replay", of_two_workers(tmp_path, number), code=2)
        assert f"has a turn of worker {number}" in said


def test_an_incomparable_recording_is_still_played(tmp_path):
    """wfq is for one CPU a run queue, and the run has two."""
    run = of_two_workers(tmp_path, switched=b"wfq")
    done = subprocess.run([BUILD / "codec-sim", "-q", "--replay", run, "-s",
                           "edf", "--json"], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    assert done.stderr.count("warning: ") == 2 and "wfq" in done.stderr
    result = json.loads(done.stdout)["replay"]
    assert result["same_queue"] is None and result["all"]["frames"] > 500
    # a scheduler that was not at work is compared with nothing
    assert "warning" not in subprocess.run(
        [BUILD / "codec-sim", "-q", "--replay", run, "-s", "srpt"],
        capture_output=True, text=True, timeout=PATIENCE, check=True).stderr


def test_a_live_run_happens_again(record):
    """One of three does, at least: of a worker that others keep from its CPU,
    the trace cannot tell when within a turn that was."""
    seen = []
    while len(seen) < 3 and not (seen and is_near(seen[-1])):
        run = record("--scheduler", "fifo")
        result = replay(run)
        assert result["scheduler"].startswith("fifo")
        assert result["total"]["jobs"] == len(arrivals(run))
        seen.append(result["replay"])
        assert seen[-1]["own"]["frames"] == seen[-1]["live"]["frames"] > 0
        assert seen[-1]["overheads"]["turns"] > 0
    assert is_near(seen[-1]), seen
    text = simulate("--replay", run / "trace.bin")
    assert "calibrated from" in text and "picks in the same order" in text


def test_other_policies_and_overheads_play_it_too(record):
    run = record("--scheduler", "edf")
    own = replay(run)["replay"]
    assert own["own"]["frames"] == own["live"]["frames"] > 0
    fifo, rr = replay(run, "-s", "fifo,rr,quantum=2ms")
    assert [r["scheduler"] for r in (fifo, rr)] == ["fifo", "rr,quantum=2ms"]
    for other in fifo, rr:
        assert other["replay"]["live"] is None
        assert other["replay"]["all"]["frames"] > 0
    given = replay(run, "--overhead-decision", "5us")
    assert given["platform"]["overhead_ns"]["decision"] == 5000
    # time that others took is played with the trace's overheads alone
    assert given["replay"]["overheads"]["stolen"] == 0
    assert given["replay"]["overheads"]["stolen_ns"] == 0
    spent = given["cpus"][0]
    assert spent["overhead_ns"] == 5000 * spent["picks"]
    # so long a turn leaves hardly any frame in time
    slow = replay(run, "--overhead-decision", "20ms")
    assert slow["total"]["loss"] > 0.9


def test_the_trace_of_a_replay_is_of_the_same_calls(record, tmp_path):
    run = record("--scheduler", "fifo")
    simulate("--replay", run, "--out", tmp_path / "again")
    seen = []
    for folder in run, tmp_path / "again":
        done = subprocess.run([BUILD / "codec-report", "--jobs", "csv",
                               folder], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        seen.append({(j["task"], j["job"])
                     for j in csv.DictReader(io.StringIO(done.stdout))})
    assert seen[0] == seen[1]
    # and it can be played again: nothing was drawn but what was lost
    again = replay(tmp_path / "again", "-s", "fifo")
    assert again["total"]["jobs"] == len(arrivals(run))


def test_each_scheduler_of_a_switched_run_has_its_own_time(record):
    run = record("--scheduler", "fifo", switch="edf")
    fifo, edf = replay(run)
    assert fifo["scheduler"].startswith("fifo")
    assert edf["scheduler"].startswith("edf")
    frames = [r["replay"]["live"]["frames"] for r in (fifo, edf)]
    assert min(frames) > 0
    for r in fifo, edf:
        assert r["replay"]["all"]["frames"] >= sum(frames) - 2 * CALLS * 8
        assert r["total"]["jobs"] == len(arrivals(run))


def test_blocks_define_the_comparison(record):
    run = record("--scheduler", "fifo")
    whole = replay(run)["replay"]["live"]["frames"]
    begin = min(arrivals(run))
    (run / "blocks.json").write_text(json.dumps({
        "version": 1, "warm_up_s": 0.1, "blocks": [
            {"round": 0, "scheduler": "rr", "begin_ns": begin,
             "end_ns": begin + 10**8},
            {"round": 1, "scheduler": "fifo#2", "begin_ns": begin + 10**8,
             "end_ns": begin + 12 * 10**8}]}))
    result = replay(run)
    assert result["scheduler"] == "fifo"  # neither calibration nor a suffix
    assert result["replay"]["blocks"]
    assert 0.3 * whole < result["replay"]["live"]["frames"] < 0.7 * whole
    (run / "blocks.json").write_text("{}")
    assert "holds no blocks" in simulate("--replay", run, code=2)
    (run / "blocks.json").write_text(json.dumps({"blocks": [
        {"round": 1, "scheduler": "fifo", "begin_ns": begin + at,
         "end_ns": begin + at + 10**8} for at in (10**8, 0)]}))
    assert "before the one before it has ended" in simulate(
        "--replay", run, code=2)


def test_a_recording_that_cannot_be_played_is_refused(tmp_path):
    assert "leave one" in simulate("--replay", "x", "campaign.yaml", code=2)
    assert "CAMPAIGN is missing" in simulate(code=2)
    assert "No such file" in simulate("--replay", tmp_path / "x", code=2)
    (tmp_path / "trace.bin").write_bytes(b"CRTRACE1" + bytes(16))
    assert "trace.bin" in simulate("--replay", tmp_path, code=2)

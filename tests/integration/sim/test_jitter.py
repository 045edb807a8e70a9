# SPDX-License-Identifier: Apache-2.0
"""codec-sim with jitter buffers: what is played when, what is concealed, what
is counted. CR_SEED repeats a failure."""
import collections
import json
import os
import pathlib
import random
import struct
import subprocess
import time

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
SEED = int(os.environ.get("CR_SEED", time.time_ns() % 10**9))
MS = 1000_000
JOB, DONE, UNBUFFERED = 1, 0, 8
Job = collections.namedtuple("Job", "outcome call frame arrival end sent "
                             "deadline buffered")


def run(path, *args):
    done = subprocess.run([BUILD / "codec-sim", path, "-q", *map(str, args)],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def total(path, *args):
    return json.loads(run(path, "--json", *args))["total"]


def write(tmp_path, flow, receivers="", duration="20s"):
    path = tmp_path / "c.yaml"
    if receivers:
        receivers = f", receivers: {{{receivers}}}"
    path.write_text(
        f"seed: {SEED}\nduration: {duration}\nplatform: {{cpus: 4{receivers}}}"
        "\ndaemon: {admission: off, max-age: none}\nflows:\n"
        f"  - {{count: 10, period: 20ms, cost: {{mean: 10us}}, {flow}}}\n")
    print(f"CR_SEED={SEED}\n{path.read_text()}")
    return path


def traced(path, tmp_path, *args):
    trace = tmp_path / "t.bin"
    run(path, "--trace", trace, *args)
    data = trace.read_bytes()
    size, head = struct.unpack_from("<II", data, 8)
    assert size == 96
    return [Job(r[1], *struct.unpack_from("<II", r, 4),
                *struct.unpack_from("<q", r, 16),
                *struct.unpack_from("<qqq", r, 48),
                struct.unpack_from("<I", r, 88)[0])
            for r in (data[i:i + size]
                      for i in range(24 + head, len(data), size))
            if r[0] == JOB]


def by_call(jobs):
    calls = collections.defaultdict(list)
    for j in jobs:
        calls[j.call].append(j)
    return calls.values()


def accounted(t):
    assert t["jobs"] == sum(t[name] for name in (
        "done", "left", "overwritten", "expired", "unreceived", "unbuffered"))


def test_a_fixed_buffer_makes_every_frame_wait_as_long(tmp_path):
    path = write(tmp_path, "jitter: {buffer: fixed, most: 60ms}")
    jobs = [j for j in traced(path, tmp_path) if j.outcome == DONE]
    assert len(jobs) == 10 * (20_000 // 20 - 3)
    assert {j.buffered for j in jobs} == {60 * MS}
    # the deadline is a period from when it is played
    assert all(j.deadline == j.arrival + 20 * MS for j in jobs)
    t = total(path)
    assert t["buffered"]["max_ns"] == 60 * MS
    assert t["delay"]["max_ns"] >= 60 * MS and t["late"] == 0
    assert t["concealed"] == t["unbuffered"] == 0
    accounted(t)


def test_a_buffer_smooths_the_jitter_of_the_network(tmp_path):
    """Frames are played in order, a period apart, however they came."""
    path = write(tmp_path, "network: {jitter: 30ms, reorder: 5%, duplicate: "
                 "5%}, jitter: {buffer: fixed, most: 120ms}")
    jobs = [j for j in traced(path, tmp_path) if j.outcome == DONE]
    assert max(j.buffered for j in jobs) <= 120 * MS
    for call in by_call(jobs):
        frames = [j.frame for j in call]
        assert frames == list(range(len(call)))
        gaps = [b.arrival - a.arrival for a, b in zip(call, call[1:])]
        # the fastest packet may still have to be found, or forgotten
        assert sum(abs(g - 20 * MS) <= 2 * MS for g in gaps) > \
            0.95 * len(gaps)
    accounted(total(path))


def test_lost_packets_are_concealed(tmp_path):
    path = write(tmp_path, "network: {loss: 5%}, jitter: {buffer: adaptive, "
                 "least: 30ms}")
    t = total(path)
    plain = total(write(tmp_path, "network: {loss: 5%}"))
    lost = 10 * 1000 - plain["jobs"]
    assert lost > 300 and t["unbuffered"] == 0
    # but for those in a row behind 60 ms, and at a call's end
    assert lost - 30 <= t["concealed"] <= lost
    accounted(t)


def test_bursts_are_concealed_for_60_ms(tmp_path):
    path = write(tmp_path, "network: {loss: 10%, burst: 20}, jitter: "
                 "{buffer: fixed, most: 100ms}")
    jobs = [j for j in traced(path, tmp_path) if j.outcome == DONE]
    longest = 0
    for call in by_call(jobs):
        row = 0
        for j in call:
            row = row + 1 if j.buffered == 0 else 0
            longest = max(longest, row)
    assert longest == 3


@pytest.mark.parametrize("drift", ("1%", "-1%", "100ppm", "-100ppm"))
def test_clocks_that_drift_leave_no_gap(drift, tmp_path):
    t = total(write(tmp_path, f"drift: {drift}, jitter: {{buffer: adaptive, "
                    "least: 10ms}", duration="60s"))
    assert t["concealed"] == t["unbuffered"] == 0
    assert t["buffered"]["max_ns"] <= 50 * MS
    assert t["jobs"] >= 10 * 2900
    accounted(t)


def test_packets_that_come_too_late_are_counted(tmp_path):
    path = write(tmp_path, "network: {jitter: 100ms, reorder: 20%}, jitter: "
                 "{buffer: fixed, most: 20ms}")
    jobs = traced(path, tmp_path)
    t = total(path)
    assert t["unbuffered"] > 50
    assert sum(j.outcome == UNBUFFERED for j in jobs) == t["unbuffered"]
    accounted(t)
    # each frame is played or concealed at most once, in order
    for call in by_call(j for j in jobs if j.outcome == DONE):
        frames = [j.frame for j in call]
        assert frames == sorted(set(frames))


def test_pauses_are_no_losses(tmp_path):
    """Only the 60 ms behind a spurt, of which nobody knows that it ended."""
    path = write(tmp_path, "talk: {spurt: 1s, pause: 1s}, jitter: {buffer: "
                 "adaptive}")
    t = total(path)
    spurts = sum(b.frame != a.frame + 1 for call in by_call(
        j for j in traced(path, tmp_path) if j.outcome == DONE)
        for a, b in zip(call, call[1:]))
    assert spurts > 20
    assert t["concealed"] <= 3 * (spurts + 10)
    assert t["unbuffered"] == 0
    accounted(t)


RANDOM = ("hold: {mean: 3s, model: exponential}, drift: -1%..1%, network: "
          "{jitter: 60ms, loss: 5%, burst: 2, reorder: 5%, duplicate: 5%}, ")


@pytest.mark.parametrize("case", range(8))
def test_every_packet_is_accounted_for(case, tmp_path):
    """And the same, however many threads simulate it."""
    r = random.Random(SEED + case)
    most = r.randrange(10, 300)
    kind = r.choice(["fixed", f"adaptive, least: {r.randrange(0, 10)}ms"])
    flow = RANDOM + f"jitter: {{buffer: {kind}, most: {most}ms}}"
    if r.random() < .5:
        flow += ", talk: {spurt: 500ms, pause: 500ms}"
    receivers = r.choice(["", "count: 2, cost: 300us, wake: 1ms",
                          "count: 1, cost: 1ms, waiting: 5"])
    path = write(tmp_path, flow, receivers)
    args = ("--run-queues", "partitioned")
    found = [run(path, "--json", *args, "--jobs", n) for n in (1, 3)]
    t, other = (json.loads(x)["total"] for x in found)
    assert t == other
    accounted(t)
    assert t["jobs"] > 50
    assert not t["buffered"]["count"] or t["buffered"]["max_ns"] <= most * MS

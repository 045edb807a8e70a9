# SPDX-License-Identifier: Apache-2.0
"""codec-sim in overload: which frames are given up, and by whom."""
import collections
import json
import os
import pathlib
import struct
import subprocess
import wave

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
SIM = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release")) \
    / "codec-sim"
MS = 1000000
JOB, DONE, OVERWRITTEN, EXPIRED, SHED = 1, 0, 1, 2, 9
NOISE = 50  # no frame of a pause is as loud, none of a spurt is softer
Job = collections.namedtuple("Job", "call frame arrival pick outcome loud "
                             "buffered")


def write(tmp_path, calls, voice="{model: talk}", more="", cpus=2):
    """Calls of a hundredth of a CPU each, in the sixth second of talk."""
    path = tmp_path / "c.yaml"
    path.write_text(
        f"seed: 5\nduration: 6s\nplatform: {{cpus: {cpus}}}\n"
        "daemon: {admission: off, max-age: auto}\nflows:\n"
        f"  - {{name: talk, count: {calls}, period: 20ms, ring: 8, "
        f"start: {{spread: 500ms}}, cost: {{mean: 200us}}, voice: {voice}"
        f"{more}}}\n")
    return path


def sim(path, *args):
    done = subprocess.run([SIM, path, "--json", *map(str, args)],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    t = json.loads(done.stdout)["total"]
    assert t["jobs"] == t["done"] + t["left"] + t["overwritten"] + \
        t["expired"] + t["shed"]
    return t


def traced(path, *args):
    """Every job of a run."""
    trace = path.with_suffix(".bin")
    t = sim(path, "--trace", trace, *args)
    data = trace.read_bytes()
    size, head = struct.unpack_from("<II", data, 8)
    jobs = []
    for at in range(24 + head, len(data), size):
        kind, outcome, _, call, frame = struct.unpack_from("<BBHII", data, at)
        if kind == JOB:
            arrival, _, pick = struct.unpack_from("<qqq", data, at + 16)
            jobs.append(Job(call, frame, arrival, pick, outcome,
                            data[at + 92],
                            struct.unpack_from("<I", data, at + 88)[0]))
    assert sum(j.outcome == SHED for j in jobs) == t["shed"]
    return jobs


def speech_lost(jobs):
    """The share of each call's speech that is lost, most first."""
    all_of, lost = collections.Counter(), collections.Counter()
    for j in jobs:
        if j.loud >= NOISE:
            all_of[j.call] += 1
            lost[j.call] += j.outcome in (EXPIRED, SHED)
    return sorted((lost[c] / n for c, n in all_of.items()), reverse=True)


@pytest.mark.parametrize("shed", ("pattern", "quiet"))
def test_a_load_that_fits_is_served_as_if_nothing_could_be_given_up(
        tmp_path, shed):
    path = write(tmp_path, 190)
    for scheduler in ("fifo", "edf", "rr", "cfs"):
        t = sim(path, "-s", scheduler, "--shed", shed)
        assert t["shed"] == t["expired"] == 0
        assert t == sim(path, "-s", scheduler)


def test_a_quarter_too_much_costs_pauses(tmp_path):
    """By age a fifth of everything is lost, speech or not. With quiet, there is
    no loss by age and as many frames are done."""
    path = write(tmp_path, 250)
    for scheduler in ("fifo", "edf"):
        age = sim(path, "-s", scheduler, "--shed", "age")
        jobs = traced(path, "-s", scheduler, "--shed", "quiet")
        gone = [j for j in jobs if j.outcome == SHED]
        assert age["expired"] > 0.15 * age["jobs"]
        assert not [j for j in jobs if j.outcome == EXPIRED]
        assert sum(j.outcome == DONE for j in jobs) > 0.99 * age["done"]
        assert sum(j.loud < NOISE for j in gone) > 0.9 * len(gone)
        worst = speech_lost(jobs)
        assert worst[0] < 0.15
        assert sum(worst) / len(worst) < 0.05


def test_none_waits_long_under_any_kind_of_scheduler(tmp_path):
    path = write(tmp_path, 250)
    for scheduler in ("fifo", "edf", "rr", "bfs", "pd2", "cfs"):
        for shed in ("pattern", "quiet"):
            t = sim(path, "-s", scheduler, "--shed", shed)
            assert t["delay"]["p99_ns"] <= 40 * MS
            assert t["expired"] < 0.01 * t["jobs"]


def test_only_so_many_go_in_a_row(tmp_path):
    """Three times what can be done. Speech goes in twos, pauses in sevens;
    what that is not enough for gets too old."""
    jobs = traced(write(tmp_path, 600), "-s", "fifo", "--shed", "quiet")
    calls = collections.defaultdict(list)
    for j in sorted(jobs):
        calls[j.call].append(j)
    longest = 0
    for call in calls.values():
        row = 0
        for j in call:
            row = row + 1 if j.outcome == SHED else 0
            longest = max(longest, row)
            # well above what is a pause to its call
            assert row <= (2 if j.loud >= NOISE + 20 else 7)
    assert longest == 7


def test_shedding_by_pattern_needs_no_loudness(tmp_path):
    path = write(tmp_path, 250, "{model: unknown}")
    t = sim(path, "-s", "fifo", "--shed", "pattern")
    assert 0.15 < t["shed"] / t["jobs"] < 0.25 and not t["expired"]
    # and what nobody can tell is not given up by loudness
    t = sim(path, "-s", "fifo", "--shed", "quiet")
    assert t["expired"] > 0.15 * t["jobs"] and t["shed"] == 0


def test_recordings_are_as_loud_as_they_are(tmp_path):
    """A second of a square wave, a second of nothing, by turns."""
    tone = b"".join(struct.pack("<h", 8000 if i % 20 < 10 else -8000)
                    for i in range(8000))
    with wave.open(str(tmp_path / "a.wav"), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(8000)
        f.writeframes((tone + bytes(16000)) * 4)
    path = write(tmp_path, 250, "{model: recordings}", ", input: [a.wav]")
    jobs = traced(path, "-s", "fifo", "--shed", "quiet")
    whole = [j.loud for j in jobs if j.loud > 1]
    # 8000 squared, and the frames in which it begins and ends
    assert max(whole) == 2 + 4 * 25 + 3
    assert 0.45 < len(whole) / len(jobs) < 0.55
    gone = [j for j in jobs if j.outcome == SHED]
    assert len(gone) > 0.15 * len(jobs)
    assert sum(j.loud == 1 for j in gone) > 0.9 * len(gone)


def sound_lost(jobs, loud):
    """The share of each call's energy that is lost, most first."""
    all_of, lost = collections.Counter(), collections.Counter()
    for j in jobs:
        if j.outcome in (DONE, EXPIRED, SHED):
            energy = 2 ** (loud[j.call, j.frame] / 4)
            all_of[j.call] += energy
            lost[j.call] += energy * (j.outcome != DONE)
    return sorted((lost[c] / n for c, n in all_of.items()), reverse=True)


@pytest.mark.parametrize("voice", (
    "{model: talk, spurt: 19s, pause: 1s}",     # hardly a pause
    "{model: talk, spurt: 600s, pause: 1ms}"))  # none: music
def test_without_pauses_it_is_no_worse_than_by_age(tmp_path, voice):
    """As many frames are done, sooner, and what is lost is what is soft."""
    path = write(tmp_path, 250, voice)
    for scheduler in ("fifo", "edf"):
        jobs = traced(path, "-s", scheduler, "--shed", "quiet")
        loud = {(j.call, j.frame): j.loud for j in jobs}
        age = [j for j in traced(path, "-s", scheduler)
               if (j.call, j.frame) in loud]
        assert sum(j.outcome == DONE for j in jobs) > \
            0.99 * sum(j.outcome == DONE for j in age)
        by_age = sound_lost(age, loud)
        assert 4 * sound_lost(jobs, loud)[0] < sum(by_age) / len(by_age)


def test_calls_of_constant_loudness_lose_alike(tmp_path):
    """As many frames are done as by age, and at most two in a row are not."""
    with wave.open(str(tmp_path / "a.wav"), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(8000)
        f.writeframes(struct.pack("<hh", 8000, -8000) * 8000)
    path = write(tmp_path, 250, "{model: recordings}", ", input: [a.wav]")
    jobs = traced(path, "-s", "fifo", "--shed", "quiet")
    age = traced(path, "-s", "fifo")
    assert sum(j.outcome == DONE for j in jobs) > \
        0.99 * sum(j.outcome == DONE for j in age)
    same = collections.defaultdict(lambda: 100)
    lost = sound_lost(jobs, same)
    assert lost[0] < 1.5 * lost[-1]
    rows = collections.Counter()
    for j in sorted(jobs):
        rows[j.call] = rows[j.call] + 1 if j.outcome == SHED else 0
        assert rows[j.call] <= 2 and j.outcome != EXPIRED


def test_a_frame_pushed_out_of_its_buffer_was_rated_too(tmp_path):
    """As loud as where there is room for it."""
    heard = {(j.call, j.frame): j.loud for j in
             traced(write(tmp_path, 60), "--shed", "quiet")}
    path = write(tmp_path, 60, cpus=1)
    path.write_text(path.read_text().replace("max-age: auto", "max-age: none")
                    .replace("200us", "600us"))
    gone = [j for j in traced(path, "--shed", "quiet", "--shed-wait", "60s")
            if j.outcome == OVERWRITTEN]
    assert len(gone) > 1000
    assert all(j.loud == heard[j.call, j.frame] > 0 for j in gone)


@pytest.mark.parametrize("args", (
    ("-s", "fifo", "--shed", "pattern"), ("-s", "fifo", "--shed", "quiet"),
    ("-s", "red", "--run-queues", "2")))
def test_concealed_frames_are_never_shed(tmp_path, args):
    """As live: nobody has waited for it in the jitter buffer, or can tell how
    loud it is."""
    path = write(tmp_path, 250, more=", network: {loss: 5%}, jitter: "
                 "{buffer: fixed, most: 60ms}")
    jobs = traced(path, *args)
    gone = [j for j in jobs if j.outcome == SHED]
    assert len(gone) > 0.1 * len(jobs) and all(j.buffered for j in gone)
    made = [j for j in jobs if not j.buffered]
    assert len(made) > 0.04 * len(jobs)
    assert all(j.loud == 0 for j in made)


def test_frames_given_up_by_the_scheduler_are_counted_as_such(tmp_path):
    """Red does so before frames are too old, also where --shed does not."""
    path = write(tmp_path, 250)
    t = sim(path, "-s", "red", "--run-queues", "2")
    assert t["shed"] > 0.15 * t["jobs"] and not t["expired"]
    result = subprocess.run([SIM, path, "-s", "red", "--run-queues", "2"],
                          capture_output=True, text=True, timeout=PATIENCE)
    lost = t["shed"] + t["overwritten"]
    assert f"shed (age): {t['shed']} of {lost} jobs lost were given up" in \
        result.stdout


def test_the_set_point_can_be_given(tmp_path):
    path = write(tmp_path, 250)
    wait = {t: min(j.pick - j.arrival for j in
                   traced(path, "-s", "fifo", "--shed", "pattern",
                          "--shed-wait", t) if j.outcome == SHED)
            for t in ("20ms", "50ms")}
    # a frame that takes the place of one that was given up has waited less
    assert wait["50ms"] > 20 * MS > wait["20ms"]
    result = sim(path, "-s", "fifo", "--shed", "pattern", "--shed-wait",
                 "50ms")
    assert result["delay"]["p50_ns"] > 40 * MS


def test_it_is_the_same_with_any_number_of_threads(tmp_path):
    path = write(tmp_path, 500, cpus=4)
    assert sim(path, "--run-queues", "4", "--jobs", "1", "--shed", "quiet") \
        == sim(path, "--run-queues", "4", "--jobs", "3", "--shed", "quiet")


def test_a_recorded_course_is_reproduced(tmp_path):
    t = sim(write(tmp_path, 120, cpus=1), "-s", "fifo", "--shed", "quiet")
    assert (t["jobs"], t["done"], t["shed"], t["expired"], t["left"]) == \
        (34455, 29016, 5427, 0, 12)

# SPDX-License-Identifier: Apache-2.0
"""campaigns/overload/run with real programs: two-way calls are played, scored
and drawn. PESQ itself is not part of this."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import time
import wave

import numpy as np
import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
PROGRAM = ROOT / "campaigns" / "overload" / "run"
sys.path[:0] = [str(PROGRAM.parent), str(ROOT / "campaigns"),
                str(ROOT / "src" / "report")]

import plays  # noqa: E402
import scores  # noqa: E402

FRAME = 160
CALLS = 3
CAMPAIGN = """\
duration: 4300ms
ports: own
daemon: {admission: off, shed: quiet}
flows:
  - name: talk
    load: 100%
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
    voice: {model: turns, spurt: 700ms..1800ms, pause: 600ms..1600ms, noise: 65}
    start: {spread: 200ms}
"""
PESQ = """\
def pesq(rate, said, heard, mode):
    assert (rate, mode) == (8000, "nb") and len(said) == len(heard)
    return 3.5 if abs(heard).max() > 1000 else 1.0
"""
SLOW = """\
import pathlib
import time

def pesq(*_):
    (pathlib.Path(__file__).parent / "scoring").touch()
    time.sleep(1)
"""


def wait_for(what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def rows(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def levels(path):
    """RMS of each frame of a file."""
    with wave.open(str(path)) as f:
        pcm = np.frombuffer(f.readframes(f.getnframes()), "<i2")
    frames = pcm[:len(pcm) // FRAME * FRAME].reshape(-1, FRAME)
    return np.sqrt((frames.astype(float) ** 2).mean(axis=1))


def test_two_way_calls_are_played_scored_and_drawn(tmp_path):
    (tmp_path / "pesq.py").write_text(PESQ)
    (tmp_path / "talk.yaml").write_text(CAMPAIGN)
    out = tmp_path / "out"
    command = [PROGRAM, tmp_path / "talk.yaml", "--capacity", CALLS,
               "--loads", 1, "--shed", "quiet", "--rounds", 1, "--keep",
               "--out", out]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "CR_BUILD": str(BUILD)}
    for again in ([], ["--resume"]):
        done = subprocess.run([*map(str, command), *again], env=env,
                              capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 0, done.stderr + done.stdout
        # what is there is not played again
        assert ("== 1.00 x the capacity, quiet, 1" in done.stdout) != \
            bool(again)
        [row] = rows(out / "runs.csv")
        assert (row["what"], row["calls"], row["pesq_mean"]) == \
            ("quiet", "3", "3.5")
        # a busy machine leaves nothing to score of some
        assert 1 <= int(row["pesq_calls"]) <= 3
    [point] = rows(out / "summary.csv")
    assert (point["load"], point["pesq_mean"], point["pesq_worst"]) == \
        ("1.0", "3.5", "3.5")
    assert "the quietest first" in (out / "overload.svg").read_text()

    # it can be ended while it scores
    (out / "1" / "quiet" / "1" / "pesq.json").unlink()
    (tmp_path / "pesq.py").write_text(SLOW)
    with subprocess.Popen([*map(str, command), "--only", "draw"],
                          env=env) as drawing:
        wait_for((tmp_path / "scoring").exists)
        drawing.terminate()
        assert drawing.wait(PATIENCE) == 130
    assert not (out / "1" / "quiet" / "1" / "pesq.json").exists()

    run = out / "1" / "quiet" / "1"
    result = json.loads((run / "run.json").read_text())["total"]
    # a frame every 20 ms, in pauses too
    assert result["sent"] + result["missed"] in range(CALLS * 204, CALLS * 216)
    said = np.concatenate([levels(run / "dump" / f"talk-{i}.src.wav")
                           for i in range(CALLS)])
    assert len(said) == result["sent"] + result["missed"]
    assert 0.25 < (said > 100).mean() < 0.65
    # most of the rest is noise of -65 dBov, as PCMU has it
    assert 16 < np.median(said[said < 100]) < 21
    for i in range(CALLS):
        assert (run / "dump" / f"talk-{i}.heard.wav").exists()


def test_the_capacity_is_the_throughput_under_overload():
    """Of 100 packets a second, every other one comes back."""
    records = np.zeros(1000, [("sent", "<i8"), ("received", "<i8")])
    records["sent"] = 7e9 + np.arange(1000) * 1e7
    records["received"][::2] = records["sent"][::2] + 3e7
    assert plays.carried(records) == pytest.approx(0.5, abs=0.01)
    # a run that is too short to leave its ends out
    assert plays.carried(records[:200]) == pytest.approx(0.5, abs=0.02)


def test_repetitions_make_one_mean_and_have_one_worst_call():
    few = [{"load": 1.1, "what": "quiet", "calls": 90, "sent": 100,
            "lost": lost, "delay_p99_ms": p99, "pesq_calls": 40,
            "scores": [low, low + .4] * 20}
           for lost, p99, low in ((9, 30, 3.6), (11, 33, 3.8))]
    deaf = {**few[0], "scores": []}  # nothing came in time
    [point] = scores.summary([*few, {**deaf, "load": 2}])
    assert point["repetitions"] == 2 and point["lost"] == 0.1
    assert (point["delay_p99_ms"], point["pesq_worst"]) == (33, 3.6)
    assert point["pesq_mean"] == pytest.approx(3.9)
    # the deviation is 0.22, of 80 calls
    [worse] = scores.summary([*few, {**deaf, "lost": 40}])
    assert worse["lost"] == 0.2 and worse["pesq_mean"] == point["pesq_mean"]
    assert 3.83 < point["pesq_low"] < 3.87 < 3.93 < point["pesq_high"] < 3.97


def left_behind(out, load, what, calls):
    """A run of an earlier time, with so many calls."""
    folder = out / str(load) / what / "1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "environment.json").write_text(json.dumps(
        {"codec_feeder": ["codec-feeder", f"--count=talk={calls}"]}))
    return plays.Run(load, what, 1)


def test_runs_of_two_capacities_are_not_drawn_as_one(tmp_path):
    (tmp_path / "pesq.py").write_text(PESQ)
    (tmp_path / "talk.yaml").write_text(CAMPAIGN)
    out = tmp_path / "out"
    ours = left_behind(out, 1.25, "quiet", 50)
    other = left_behind(out, 1.25, "age", 55)
    (out / "capacity.json").write_text(
        json.dumps({"flow": "talk", "calls": 39.9}))
    assert plays.is_of(ours, out, "talk", 39.9)
    assert not plays.is_of(other, out, "talk", 39.9)

    for words, code, why in (
            (["--only", "draw"], 1, "another capacity than capacity.json "
             "says: 1.25/age/1. "),
            (["--resume", "--only", "play", "--capacity", "44"], 2,
             "a capacity of 39.9 calls, not of 44")):
        done = subprocess.run(
            [PROGRAM, tmp_path / "talk.yaml", "--out", out, *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path),
                 "CR_BUILD": str(BUILD)},
            capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code and why in done.stderr
    assert not (out / "runs.csv").exists()


@pytest.mark.parametrize("result,name", (
    ("talk", "talk"), ('"talk"', "talk"), ("'a talk'", "a talk"),
    ("talk # one", "talk")))
def test_a_flow_has_the_name_that_the_file_says(tmp_path, result, name):
    path = tmp_path / "talk.yaml"
    path.write_text(CAMPAIGN.replace("name: talk", f"name: {result}"))
    assert plays.flow_of(path) == name


def test_impossible_options_are_refused(tmp_path):
    for words, why in ((["--shed", "loud"], "known: age, pattern, quiet"),
                       (["--capacity", "0"], "1 to 1000000 calls"),
                       (["--peer", "foo"], "rtpengine or the address"),
                       (["--scheduler=rr", "--scheduler=fifo"],
                        "one scheduler at a time"),
                       ([str(ROOT / "campaigns" / "two-codecs.yaml")],
                        "needs one flow")):
        done = subprocess.run([PROGRAM, "--only", "play", *words],
                              cwd=tmp_path, capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 2 and why in done.stderr


@pytest.mark.parametrize("only,numpy", (
    (None, False), ("play", False), ("draw", False), (None, True)))
def test_missing_files_are_named_before_the_first_run(tmp_path, only, numpy):
    """matplotlib is there, and built for another numpy. Where only the scoring
    lacks something, one may play."""
    (tmp_path / "talk.yaml").write_text(CAMPAIGN)
    if not numpy:
        (tmp_path / "numpy.py").write_text("raise ImportError('gone')")
    (tmp_path / "pesq.py").write_text("raise ImportError('gone')")
    (tmp_path / "matplotlib.py").write_text("raise ValueError('size changed')")
    done = subprocess.run(
        [PROGRAM, tmp_path / "talk.yaml", "--out", tmp_path / "out",
         *(["--only", only] if only else [])],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "CR_BUILD": "/none"},
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
    named = [line.strip().split(":")[0] for line in
             done.stderr[done.stderr.index(" lacks what "):].splitlines()[1:]]
    assert named == ["numpy (gone)"] * (not numpy) + [
        "pesq (gone)", "matplotlib (size changed)"] * (only != "play") + [
        "or --only play now, and --only draw when it is there"] * numpy
    assert ("-m pip install --target DIR pesq" in done.stderr) is \
        (only != "play")

# SPDX-License-Identifier: Apache-2.0
"""campaigns/sweep --metric pesq: whose speech is heard, and how it sounds."""
import csv
import os
import subprocess
import wave

import numpy as np
import pytest

from conftest import BUILD, PATIENCE, command

#: At 150 %, one frame of three is lost.
CAMPAIGN = """\
duration: 4500ms
platform: {cpus: 1}
daemon: {admission: off, shed: quiet}
schedulers: [fifo]
flows:
  - name: talk
    load: 50%
    in: {codec: pcmu}
    out: {codec: pcmu}
    voice: {model: turns}
    input: [said]
    start: {spread: 20ms}
    cost: {model: constant, mean: 2ms}
"""
FRAME = 160
LOUDEST_APART = 2  # steps of 0.75 dB: mu-law rounds


@pytest.fixture(name="talk")
def _talk(tmp_path):
    """A campaign beside what is said: tones in a voice's pitch, by syllables
    of any strength."""
    generator = np.random.default_rng(1)
    t = np.arange(8000 * 6) / 8000
    loud = np.repeat(generator.uniform(0.02, 1, 48), 1000)
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / 8000
    tone = sum(np.sin(k * phase) / k for k in range(1, 20))
    (tmp_path / "said").mkdir()
    with wave.open(str(tmp_path / "said/a.wav"), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(8000)
        f.writeframes((tone * loud * 8000).astype("<i2").tobytes())
    path = tmp_path / "talk.yaml"
    path.write_text(CAMPAIGN)
    return path


def listened(path, tmp_path, *settings):
    """Three calls of a run: [(importance of each frame, its fate, source,
    heard)], the last two a row for each frame."""
    from codec_sweep import score
    run = tmp_path / "run"
    subprocess.run([BUILD / "codec-sim", path, "--quiet", "--out", run,
                    *(f"--set={word}" for word in settings)], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE)
    with open(run / "streams.csv", newline="") as f:
        rows = score.evenly(list(csv.DictReader(f)), 3)
    dump = score.listen(str(run), rows, str(BUILD / "bench-heard"), str(path),
                        settings)
    jobs = score.read_trace(str(run / "trace.bin")).jobs
    for row in rows:
        here = jobs["task"] == int(row["stream"])
        fate = score.fates(jobs, int(row["stream"]))
        loud = np.zeros(len(fate), int)
        loud[jobs["seq"][here]] = jobs["importance"][here]
        name = f"{dump}/{row['flow']}-{row['index']}"
        yield loud, fate, *(
            score.quality.read_wav(f"{name}.{end}.wav")[0].reshape(
                -1, FRAME).astype(int) for end in ("src", "heard"))


@pytest.mark.parametrize("voice", ("turns", "recordings"))
def test_the_speech_is_what_the_simulator_has_rated(talk, tmp_path, voice):
    """Frame for frame, or it would be other frames that are lost."""
    for loud, _, source, _ in listened(
            talk, tmp_path, f"flows.talk.voice={{model: {voice}}}"):
        square = np.maximum((source ** 2).mean(axis=1), 1)
        found = 2 + np.floor(4 * np.log2(square))
        rated = loud > 1  # some are silent
        assert rated.sum() > 100 and len(loud) == len(source)
        assert np.abs(found - loud)[rated].max() <= LOUDEST_APART
        assert np.ptp(loud[rated]) > 20


def test_what_is_lost_is_not_heard_and_all_else_is(talk, tmp_path):
    """PCM: as it was said, or silent."""
    for _, fate, source, heard in listened(talk, tmp_path,
                                           "flows.talk.load=150%"):
        came = np.array([c == "." for c in fate])
        assert 0.2 < 1 - came.mean() < 0.5
        last = np.flatnonzero(came)[-1] + 1
        assert len(heard) == last and len(source) == len(fate)
        np.testing.assert_array_equal(heard[came[:last]], source[came])
        assert not heard[~came[:last]].any()


def test_a_listeners_codec_conceals(talk, tmp_path):
    """The same frames are lost, and there is no silence in their place."""
    for _, fate, _, heard in listened(
            talk, tmp_path, "flows.talk.load=150%",
            "flows.talk.out={codec: amr, mode: 12.2}"):
        at = [i for i in range(1, len(heard))
              if fate[i] == "c" and fate[i - 1] == "."]
        assert len(at) > 20
        assert sum(bool(heard[i].any()) for i in at) > 0.9 * len(at)


WORDS = ("--set", "flows.talk.load=50%,150%", "--seeds", "1,2", "--metric",
         "pesq", "--metric", "pesq_worst", "--score", "3")


@pytest.mark.parametrize("change, says", [
    ("voice={model: talk}", "voice {model: talk} is levels alone"),
    ("talk={spurt: 1s, pause: 1s}", "in the pauses of talk nothing is sent"),
    ("out={codec: g722}", "PESQ compares speech of 8 kHz, or of 16 kHz")])
def test_flows_without_speech_are_refused_by_name(run, talk, change, says):
    done = run(talk, "--set", f"flows.talk.{change}", "--metric", "pesq",
               "--out", "o")
    assert done.returncode == 2
    assert f"no PESQ of flow talk: {says}" in done.stderr, done.stderr


def test_tasks_say_nothing(run, campaign):
    done = run(campaign, "--metric", "pesq_worst", "--out", "o")
    assert done.returncode == 2
    assert "no PESQ of flow speech: it has no codecs" in done.stderr


def test_without_pesq_it_says_where_to_get_it(talk, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "none/pesq.py").write_text("raise ImportError\n")
    done = subprocess.run(
        command(talk, *WORDS, "--out", "o"), cwd=tmp_path, timeout=PATIENCE,
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "none")})
    assert done.returncode == 2
    assert "PESQ needs the Python package pesq: python3 -m pip" in done.stderr
    assert not (tmp_path / "o").exists()


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def test_pesq_is_a_metric_as_others_are(run, talk, tmp_path):
    """Gone on with or not, by any number of processes, it is the same."""
    pytest.importorskip("pesq", reason="no Python package pesq")
    done = run(talk, *WORDS, "--out", "o")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "o/sweep.csv")
    for r in rows:
        assert r["total.pesq_calls"] == r["flows.talk.pesq_calls"] == "3"
        assert 1 <= float(r["total.pesq_worst"]) <= float(r["total.pesq"]) < 5
    whole, lossy = (min(float(r["total.pesq"]) for r in some)
                    for some in (rows[:2], rows[2:]))
    assert whole > 4 > lossy + 0.5
    means = table(tmp_path / "o/summary.csv")
    assert [(m["metric"], m["runs"]) for m in means] == [
        (name, "2") for name in ("total.pesq", "total.pesq_worst")
        for _ in range(2)]
    assert all(float(m["low"]) <= float(m["mean"]) <= float(m["high"])
               for m in means)
    assert "total.pesq, MOS-LQO" in (tmp_path / "o/pesq.svg").read_text()
    kept = (tmp_path / "o/cells.jsonl").read_text().splitlines(True)
    (tmp_path / "o/cells.jsonl").write_text("".join(kept[:2]))
    before = (tmp_path / "o/sweep.csv").read_bytes()
    again = run(talk, *WORDS, "--out", "o", "--resume", "--jobs", "1")
    assert again.returncode == 0, again.stderr
    assert "2 of 4 cells are done already" in again.stdout
    assert (tmp_path / "o/sweep.csv").read_bytes() == before
    other = run(talk, *WORDS[:-1], "2", "--out", "o", "--resume")
    assert other.returncode == 2 and "has another PESQ" in other.stderr


def test_calls_that_are_too_short_are_no_speech(run, talk):
    pytest.importorskip("pesq", reason="no Python package pesq")
    done = run(talk, *WORDS, "--duration", "2s", "--out", "o")
    assert done.returncode == 1
    assert "no PESQ: no call lasts 4 s" in done.stderr

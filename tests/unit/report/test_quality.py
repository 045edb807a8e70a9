# SPDX-License-Identifier: Apache-2.0
"""--pesq: which files are compared, in which pieces, and what becomes of the
scores. PESQ itself is not tested here: it need not be installed."""
import sys
import types
import wave

import numpy as np
import pytest
from conftest import DONE, MS, call, header, job

from codec_report import quality
from codec_report.run import Run, load_run, sections


class NoUtterancesError(Exception):
    pass


NoUtterancesError.__module__ = "pesq.cypesq"


def fake_pesq(rate, source, heard, mode):
    """4.5 less the share of samples that differ; silence has no score."""
    assert len(source) == len(heard)
    assert mode == {8000: "nb", 16000: "wb"}[rate]
    if not source.any():
        raise NoUtterancesError(b"No utterances detected")
    return 4.5 - np.count_nonzero(source != heard) / len(source)


@pytest.fixture
def folder(tmp_path):
    """folder(name=(rate, samples), ...) -> a dump with these WAV files."""
    def make(**files):
        (tmp_path / "dump").mkdir(exist_ok=True)
        for name, (rate, samples) in files.items():
            path = tmp_path / "dump" / (name.replace("_", "-") + ".wav")
            path = path.with_name(path.name.replace("--", "."))
            with wave.open(str(path), "wb") as f:
                f.setnchannels(1)
                f.setsampwidth(2)
                f.setframerate(rate)
                f.writeframes(np.asarray(samples, "<i2").tobytes())
        return str(tmp_path)
    return make


def scored(folder, *rows, pesq=fake_pesq):
    run = Run("r", streams=[dict(zip(("flow", "index"), row)) for row in rows])
    quality.add_scores(run, folder, pesq)
    return [row.get("pesq") for row in run.streams], run.notes


def test_calls_are_scored_in_pieces_of_speech(folder):
    speech = np.ones(8000 * 21, int)
    heard = speech.copy()
    heard[:8000 * 4] = 0       # half of the first piece of 8 s
    speech[8000 * 16:] = 0     # the last, of 5 s, is silent
    path = folder(a_0__src=(8000, speech), a_0__heard=(8000, heard),
                  b_1__src=(16000, np.ones(16000 * 11)),
                  b_1=(16000, np.ones(16000 * 11)),  # 3 s are left: too short
                  c_0__src=(8000, speech), c_0=(16000, speech),
                  d_0__src=(8000, speech))
    found, notes = scored(path, ("a", 0), ("b", 1), ("c", 0), ("d", 0))
    assert found == [pytest.approx(4.25), 4.5, None, None]
    assert notes == []


def test_without_package_or_dump_there_is_a_note(folder, tmp_path,
                                                 monkeypatch):
    found, notes = scored(str(tmp_path / "none"), ("a", 0))
    assert found == [None] and "--dump" in notes[0]
    path = folder(a_0__src=(8000, [1] * 80000), a_0=(8000, [1] * 80000))
    monkeypatch.setitem(sys.modules, "pesq", None)
    found, notes = scored(path, ("a", 0), pesq=None)
    assert found == [None] and "pip install --target" in notes[0]


def test_scores_reach_the_groups(folder, write, monkeypatch):
    speech = np.ones(8000 * 8, int)
    half = speech.copy()
    half[::2] = 0
    path = folder(talk_0__src=(8000, speech), talk_0__heard=(8000, speech),
                  talk_1__src=(8000, speech), talk_1__heard=(8000, half))
    write(header(), call(1), call(2), *(
        job(n, i, MS + 20 * MS * i, 2 * MS + 20 * MS * i, DONE)
        for n in (1, 2) for i in range(5)), name="trace.bin")
    write(b"stream,flow,index,sent,received\n1,talk,0,5,5\n2,talk,1,5,5\n",
          name="streams.csv")
    module = types.ModuleType("pesq")
    module.pesq = fake_pesq
    monkeypatch.setitem(sys.modules, "pesq", module)
    run = load_run(path)
    quality.add_scores(run, path)
    (name, group), = sections(run)[0].groups
    assert (group["pesq_calls"], group["pesq_mean"], group["pesq_min"]) == \
        (2, 4.25, 4)
    assert 4 <= group["pesq_mean_low"] < 4.25 < group["pesq_mean_high"] <= 4.5

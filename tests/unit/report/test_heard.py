# SPDX-License-Identifier: Apache-2.0
"""Two passages of one call to be heard: what their score is, with PESQ and
without, and that a page has them inside."""
import base64
import csv
import io
import json
import os
import sys
import types
import wave

import numpy as np
import pytest
from conftest import MS, EXPIRED, call, header, job
from test_page import parse

S = 1000 * MS
SPANS = {"quiet": (0, 5 * S), "age": (5 * S, 10 * S)}


def frames(number, lost):
    """10 s of a call that loses so many of 10 frames, first and then."""
    return [job(number, i, at, *([0, EXPIRED] if i % 10 < lost[i // 250] else
                                 [at + 3 * MS])) for i, at in
            ((i, 20 * MS * i) for i in range(500))]


def sound(path, level):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(8000)
        f.writeframes(np.full(5 * 8000, level, "<i2").tobytes())


@pytest.fixture
def folder(write, tmp_path):
    """out/blocks as campaigns/run leaves it; call 2 has the passages."""
    write(header(live=True, workers=1), call(1), call(2, codec_out="amr"),
          *frames(1, (0, 0)), *frames(2, (1, 4)), name="out/blocks/trace.bin")
    write(json.dumps({"stream": 2, "scheduler": "e<d>f", **SPANS}).encode(),
          name="out/blocks/heard.json")
    for kind, level in (("quiet", 90), ("age", 30)):
        sound(tmp_path / f"out/shed-{kind}.wav", level)
        sound(tmp_path / f"out/blocks/said-{kind}.wav", 100)
    return str(tmp_path / "out" / "blocks")


@pytest.fixture
def pesq(monkeypatch):
    """pesq(True): the package is there, and scores how loud it is; False: it is
    not."""
    def there(known):
        monkeypatch.setitem(sys.modules, "pesq", types.SimpleNamespace(
            pesq=lambda rate, said, heard, mode: 1 + 3 * float(
                heard.mean() / said.mean())) if known else None)
    return there


def by_call(codec_report, folder, since, until):
    """MOS of call 2 as --streams says it."""
    result = codec_report("--streams", "csv", "--since", str(since), "--until",
                          str(until), folder)
    row, = [r for r in csv.DictReader(io.StringIO(result.stdout))
            if r["stream"] == "2"]
    return float(row["mos"])


@pytest.mark.parametrize("known", (True, False))
def test_each_has_a_score_and_says_of_what(folder, codec_report, pesq, known,
                                           tmp_path):
    pesq(known)
    mos = [by_call(codec_report, folder, 0, 5),
           by_call(codec_report, folder, 5, 10)]
    assert mos[0] > mos[1] + 0.5
    scores = ["PESQ 3.7", "PESQ 1.9"] if known else [
        f"E-model MOS {m:.1f}, as pesq is not installed" for m in mos]
    path = tmp_path / "r.html"
    result = codec_report("--html", str(path), folder)
    assert result.returncode == 0, result.stderr
    text = path.read_text(encoding="utf-8")
    for kind, score in zip(SPANS, scores):
        assert f"/out/shed-{kind}.wav: {score}\n" in result.stdout
        assert f"<br>{score}.</p>" in text
    output = " ".join(result.stdout.split())
    assert ("pip install --target DIR pesq" in output) is not known
    one, = json.loads(codec_report("--json", folder).stdout)["runs"]
    assert [h["shed"] for h in one["heard"]] == ["quiet", "age"]
    assert [h["mos"] for h in one["heard"]] == pytest.approx(mos)
    assert [h["pesq"] for h in one["heard"]] == (
        pytest.approx([3.7, 1.9]) if known else [None, None])


def test_lost_pauses_count_nothing_and_lost_speech_as_it_does(
        folder, write, codec_report, pesq, tmp_path):
    """Of five frames two are pauses; those, or as many others, are lost. Without
    levels all are speech."""
    pesq(False)
    mos = {}
    for levels in ((1, 60, 90, 100, 100), (0,) * 5):
        write(header(live=True, workers=1), call(2, codec_out="pcma"), *(
            job(2, i, 20 * MS * i, *(
                [0, EXPIRED] if i % 5 in ((0, 1), (2, 3))[i // 250] else
                [20 * MS * i + 3 * MS]), importance=levels[i % 5])
            for i in range(500)), name="out/blocks/trace.bin")
        one, = json.loads(codec_report("--json", folder).stdout)["runs"]
        mos[levels[0]] = [h["mos"] for h in one["heard"]]
    assert mos[1][0] > 4.3 and mos[1][1] < 1.5
    assert mos[0][0] == mos[0][1] < 2
    assert mos[1][1] < mos[0][1]  # two of three are more than two of five


def test_a_page_has_both_inside_with_a_name(folder, codec_report, pesq,
                                            tmp_path):
    pesq(False)
    path = tmp_path / "r.html"
    codec_report("--html", str(path), folder)
    text = path.read_text(encoding="utf-8")
    players = [attrs for tag, attrs in parse(text).tags if tag == "audio"]
    assert [a["aria-label"].split(":")[0] for a in players] == [
        "As the daemon is by default (--shed quiet)",
        "By age alone (--shed age)"]
    for kind, attrs in zip(SPANS, players):
        assert "controls" in attrs
        kept, data = attrs["src"].split(",")
        assert kept == "data:audio/wav;base64"
        with open(os.path.join(os.path.dirname(folder), f"shed-{kind}.wav"),
                  "rb") as f:
            assert base64.b64decode(data) == f.read()
    assert "under e&lt;d&gt;f." in text


def test_without_files_nothing_is_shown(folder, codec_report, pesq, tmp_path):
    """No heard.json, or no speech beside the folder."""
    pesq(False)
    path = tmp_path / "r.html"
    for gone in (["../shed-quiet.wav", "../shed-age.wav"], ["heard.json"]):
        for name in gone:
            os.remove(os.path.join(folder, name))
        result = codec_report("--html", str(path), folder)
        assert result.returncode == 0, result.stderr
        assert "to hear" not in result.stdout
        assert "<audio" not in path.read_text(encoding="utf-8")


def test_silence_and_codecs_that_are_not_tabulated_have_no_score(
        folder, write, codec_report, monkeypatch):
    """And say why."""
    def silent(*_):
        raise Silent
    Silent = type("NoUtterancesError", (Exception,), {"__module__": "pesq"})
    write(header(live=True, workers=1), call(2, codec_out="speex"),
          *frames(2, (1, 4)), name="out/blocks/trace.bin")
    monkeypatch.setitem(sys.modules, "pesq",
                        types.SimpleNamespace(pesq=silent))
    out = codec_report(folder).stdout
    assert out.count(".wav: no score, as PESQ finds no speech and the E-model "
                     "has no number\n") == 2
    assert "pip install" not in out


@pytest.mark.parametrize("output", (
    [], {}, {"stream": "2"}, {"stream": 2, "age": [1]}, {"stream": 2, "quiet": 7},
    {"stream": 2, "age": [1, None]}))
def test_a_malformed_list_of_passages_is_refused(folder, write, codec_report,
                                                 output):
    write(json.dumps(output).encode(), name="out/blocks/heard.json")
    result = codec_report(folder)
    assert result.returncode == 2 and "heard.json: no " in result.stderr

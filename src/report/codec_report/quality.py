# SPDX-License-Identifier: Apache-2.0
"""How the calls did sound: PESQ of what they received against what they said.

--pesq needs a run folder with the folder "dump" (codec-feeder --dump, or
campaigns/run --dump): FLOW-INDEX.src.wav is compared to FLOW-INDEX.heard.wav,
or to FLOW-INDEX.wav of PCM codecs. PESQ is ITU-T P.862 with the mapping of
P.862.1 at 8000 Hz, and P.862.2 at 16000 Hz: MOS-LQO, listening only, so delay
does not count. A call is scored in pieces of 8 s, and its score is their mean;
pieces without speech have none. The interval is of the mean over calls:
bootstrap, fixed seed.

The scores are computed by the Python package "pesq", which is not part of
codec-runner, nor of Debian:

  python3 -m pip install --target DIR pesq
  PYTHONPATH=DIR codec-report --pesq RUN
"""
import os
import wave

import numpy as np

from codec_report import ReportError, access, bootstrap
from codec_report.metric import Metric

MISSING = ("--pesq needs the Python package pesq: python3 -m pip install "
           "--target DIR pesq, then PYTHONPATH=DIR")
PIECE_S, SHORTEST_S = 8, 4
MODES = {8000: "nb", 16000: "wb"}
METRICS = [
    Metric("pesq_calls", "PESQ, calls scored", "count"),
    Metric("pesq_mean", "PESQ MOS-LQO mean", "score", 1),
    Metric("pesq_mean_low", "  LQO 95 % from", "score"),
    Metric("pesq_mean_high", "  LQO 95 % to", "score"),
    Metric("pesq_min", "PESQ MOS-LQO lowest", "score", 1)]


def load_pesq():
    """The function pesq(rate, reference, degraded, mode), None when it cannot be
    used: one that was built for another numpy raises anything."""
    try:
        from pesq import pesq
    except Exception:
        return None
    return pesq


def read_wav(path):
    """(samples as int16 array, rate) of a mono file of 16 bits."""
    try:
        with access(path), wave.open(path) as f:
            if (f.getnchannels(), f.getsampwidth()) != (1, 2):
                raise ReportError(f"{path}: not mono of 16 bits")
            return (np.frombuffer(f.readframes(f.getnframes()), "<i2"),
                    f.getframerate())
    except (wave.Error, EOFError) as error:
        raise ReportError(f"{path}: not a WAV file: {error}") from None


def pieces(source, heard, rate):
    """Pairs of equally long pieces; what is left at the end is one when it is
    long enough."""
    count = min(len(source), len(heard))
    for at in range(0, count, PIECE_S * rate):
        end = min(at + PIECE_S * rate, count)
        if end - at >= SHORTEST_S * rate:
            yield source[at:end], heard[at:end]


def _score_piece(pesq, rate, source, heard):
    try:
        return float(pesq(rate, source, heard, MODES[rate]))
    except Exception as error:  # the package's own, of no common base
        if type(error).__module__.split(".")[0] == "pesq":
            return None  # no utterance in it
        raise


def score_pcm(pesq, rate, source, heard):
    """MOS-LQO of @heard, None when it has none; int16 arrays at @rate, Hz."""
    found = [_score_piece(pesq, rate, *pair)
             for pair in pieces(source, heard, rate)]
    found = [value for value in found if value is not None]
    return sum(found) / len(found) if found else None


def _files(folder, row):
    name = os.path.join(folder, f"{row.get('flow')}-{row.get('index')}")
    heard = f"{name}.heard.wav"
    return f"{name}.src.wav", heard if os.path.exists(heard) \
        else f"{name}.wav"


def score(pesq, folder, row):
    """MOS-LQO of a call (a row of streams.csv), None when it has none."""
    source_file, heard_file = _files(folder, row)
    if not (os.path.exists(source_file) and os.path.exists(heard_file)):
        return None
    source, rate = read_wav(source_file)
    heard, heard_rate = read_wav(heard_file)
    if rate != heard_rate or rate not in MODES:
        return None
    return score_pcm(pesq, rate, source, heard)


def add_scores(run, folder, pesq=None):
    """Put "pesq" into the rows of run.streams; a note when it cannot be.

    folder: of the run. pesq: see load_pesq(), which is used when None.
    """
    dump = os.path.join(folder, "dump")
    if not run.streams or not os.path.isdir(dump):
        run.notes.append(f"no {dump}: nothing for --pesq; use codec-feeder "
                         "--dump")
        return
    pesq = pesq or load_pesq()
    if pesq is None:
        run.notes.append(MISSING)
        return
    for row in run.streams:
        value = score(pesq, dump, row)
        if value is not None:
            row["pesq"] = value


def measure(values):
    """Scores of a group's calls as of METRICS; {} without any."""
    if not values:
        return {}
    return {"pesq_calls": len(values), **bootstrap.described("pesq", values)}

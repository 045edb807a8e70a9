# SPDX-License-Identifier: Apache-2.0
"""Something to hear: one call of a run, twice through the same overload.

campaigns/run plays it with --shed quiet, the daemon's default, and with --shed
age, and leaves shed-quiet.wav and shed-age.wav beside the run folder.
heard.json in that folder has the stream's number and both times. --html has a
player for the two. Their score is PESQ, against the original speech
(said-KIND.wav), if the Python package pesq is installed; else the MOS of the
E-model, by the trace, for the call's speech without its pauses, lost or not.
Pauses are what "E-model" says of them.
"""
import base64
import os
from dataclasses import dataclass

from codec_report import ReportError, access, quality
from codec_report.run import load_object, rate_stream

FILE = "heard.json"
#: {codec-runner's --shed: what it does}
KINDS = {"quiet": "As the daemon is by default (--shed quiet): pauses and the "
                  "quietest frames are given up first",
         "age": "By age alone (--shed age): what is too old is given up, speech "
                "or pause"}
NO_PESQ = "pesq is not installed"
HINT = "For PESQ: " + quality.MISSING.split(": ", 1)[1]


@dataclass
class Passage:
    """One of the two. path: of the WAV file; pesq, mos: None where not known;
    why: there is no PESQ."""
    shed: str
    scheduler: str
    path: str
    pesq: float = None
    mos: float = None
    why: str = ""

    def score(self):
        """As text."""
        if self.pesq is not None:
            return f"PESQ {self.pesq:.1f}"
        if self.mos is not None:
            return f"E-model MOS {self.mos:.1f}, as {self.why}"
        return f"no score, as {self.why} and the E-model has no number"

    def as_dict(self):
        return {"shed": self.shed, "scheduler": self.scheduler,
                "file": self.path, "pesq": self.pesq, "mos": self.mos}

    def source(self):
        """The file as an address that needs no file."""
        with access(self.path), open(self.path, "rb") as f:
            return "data:audio/wav;base64," + \
                base64.b64encode(f.read()).decode("ascii")


def hint(passages):
    """What to do about a missing score; None: nothing."""
    return HINT if any(p.why == NO_PESQ for p in passages) else None


def _score(passage, folder, pesq):
    """Its PESQ, or why there is none."""
    said = os.path.join(folder, f"said-{passage.shed}.wav")
    if not pesq:
        passage.why = NO_PESQ
        return
    if not os.path.exists(said):
        passage.why = f"there is no {os.path.basename(said)}"
        return
    source, rate = quality.read_wav(said)
    heard, heard_rate = quality.read_wav(passage.path)
    if rate != heard_rate or rate not in quality.MODES:
        passage.why = "PESQ takes two files of 8 or of 16 kHz"
        return
    passage.pesq = quality.score_pcm(pesq, rate, source, heard)
    passage.why = "" if passage.pesq else "PESQ finds no speech"


def _times(entry, path):
    """(stream, {kind: (begin, end)}) of heard.json."""
    stream = entry.get("stream")
    times = {kind: entry[kind] for kind in KINDS if kind in entry}
    if type(stream) is not int or not all(
            isinstance(span, list) and [type(at) for at in span] == [int, int]
            for span in times.values()):
        raise ReportError(f"{path}: no stream with the times of "
                          + " and ".join(KINDS))
    return stream, times


def find(run, folder, assumed, pesq=None):
    """The Passages of a run folder whose run sections() has measured; []: it has
    none. pesq: see quality.load_pesq(), which is used when None."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return []
    entry = load_object(path)
    stream, times = _times(entry, path)
    out = []
    for kind, span in times.items():
        wav = os.path.normpath(os.path.join(folder, os.pardir,
                                            f"shed-{kind}.wav"))
        if not os.path.exists(wav):
            continue
        passage = Passage(kind, str(entry.get("scheduler", "")), wav)
        _score(passage, folder, pesq or quality.load_pesq())
        rating = rate_stream(run, stream, *span, assumed)
        passage.mos = rating and rating.mos
        out.append(passage)
    return out

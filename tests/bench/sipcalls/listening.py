# SPDX-License-Identifier: Apache-2.0
"""What a phone with AMR has heard of its call: as a file of sound, as a
spectrogram, and as a PESQ of what was said."""
import struct
import wave

import matplotlib
import numpy as np

from libraries import AMR_NO_DATA, FRAME, amr_heard, law_decode
from packets import header

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

RATE = 8000
PT = 96
LOST = bytes((0xf0, AMR_NO_DATA << 3 | 4))
HEAD = struct.Struct("@qII")  # struct dump_head of bench-restart-load


def packets(path):
    """(ns, whether it was heard, packet) of each in a dump."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        ns, heard, size = HEAD.unpack_from(data, at)
        at += HEAD.size + size
        yield ns, heard, data[at - size:at]


def said_and_played(path):
    """(ns of its begin, samples of the caller, samples of the callee) of what
    the callee's phone has played: frames at their timestamps, concealed by the
    decoder where there is none, and silence behind the last. Where those of a
    new sender begin anew, by the time at which they came."""
    every = list(packets(path))
    found = [(ns, p) for ns, heard, p in every
             if heard and header(p)["pt"] == PT]
    begin, frames, ssrc, base = found[0][0], {}, None, 0
    for ns, packet in found:
        h = header(packet)
        if h["ssrc"] != ssrc:
            ssrc = h["ssrc"]
            base = h["ts"] - round((ns - begin) * RATE / 1e9 / FRAME) * FRAME
        frames[(h["ts"] - base & 0xffffffff) // FRAME] = packet[12:]
    said = law_decode("mulaw", b"".join(
        p[12:] for ns, heard, p in every
        if not heard and ns > begin - 10_000_000))
    played = amr_heard([frames.get(i, LOST) for i in range(max(frames) + 1)])
    return begin, said, np.resize(np.append(played, np.zeros_like(said)),
                                  len(said))


def cut(begin, end, *sounds):
    """All of them from second to second."""
    at = slice(round(max(0, begin) * RATE), round(end * RATE))
    return [pcm[at] for pcm in sounds]


def write_sound(path, pcm):
    with wave.open(str(path), "wb") as f:
        f.setparams((1, 2, RATE, 0, "NONE", ""))
        f.writeframes(pcm.astype("<i2").tobytes())


def write_picture(path, said, heard, marks):
    """@marks: [(second, text)]"""
    figure, axes = plt.subplots(2, 1, figsize=(12, 7), sharex=True)
    for axis, pcm, title in zip(axes, (said, heard), ("said", "heard")):
        axis.specgram(pcm + np.random.default_rng(1).normal(0, 1, len(pcm)),
                      NFFT=256, noverlap=192, Fs=RATE, vmin=-40, vmax=50,
                      cmap="magma")
        axis.set_title(title, loc="left")
        axis.set_ylabel("Hz")
        for at, text in marks:
            axis.axvline(at, color="white", linestyle=":")
            axis.text(at + 0.03, 3700, text, color="white")
    axes[1].set_xlabel("s")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def pesq_of(said, heard):
    """Of pieces of 8 s, or None: the package pesq is not there."""
    from codec_report import quality
    pesq = quality.load_pesq()
    return pesq and quality.score_pcm(pesq, RATE, said, heard)



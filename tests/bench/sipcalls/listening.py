# SPDX-License-Identifier: Apache-2.0
"""What parties of bench-restart-load have heard of their calls: as a file of
sound, as a spectrogram, and as a PESQ of what was said."""
import collections
import struct
import wave

import matplotlib
import numpy as np

from libraries import AMR_NO_DATA, FRAME, amr_heard, law_decode, opus_decode
from packets import header

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

RATE = 8000
LOST = bytes((0xf0, AMR_NO_DATA << 3 | 4))
HEAD = struct.Struct("@qHHI")  # struct dump_head of bench-restart-load


def law(name, silence):
    return lambda payloads: law_decode(name, b"".join(
        p or silence * FRAME for p in payloads))


# payload type, ticks of a frame, the samples of payloads (None: lost)
CODECS = {"pcmu": (0, FRAME, law("mulaw", b"\xff")),
          "pcma": (8, FRAME, law("alaw", b"\xd5")),
          "amr": (96, FRAME, lambda ps: amr_heard([p or LOST for p in ps])),
          "opus": (96, 6 * FRAME, opus_decode)}


def packets(path):
    """{(party, whether it was heard): [(ns, packet)]} of a dump."""
    data, at, found = path.read_bytes(), 0, collections.defaultdict(list)
    while at < len(data):
        ns, party, heard, size = HEAD.unpack_from(data, at)
        at += HEAD.size + size
        found[party, bool(heard)].append((ns, data[at - size:at]))
    return found


def played(codec, found, begin):
    """Samples of [(ns, packet)] since then: frames at their timestamps,
    concealed by the decoder where there is none. Where those of a new sender
    begin anew, by the time at which they came."""
    own, ticks, decode = CODECS[codec]
    frames, ssrc, base = {}, None, 0
    for ns, packet in found:
        h = header(packet)
        if ns < begin or h["pt"] != own:
            continue
        if h["ssrc"] != ssrc:
            ssrc = h["ssrc"]
            base = h["ts"] - round(
                (ns - begin) * RATE / 1e9 / FRAME) * ticks
        frames[(h["ts"] - base & 0xffffffff) // ticks] = packet[12:]
    return decode([frames.get(i) for i in range(max(frames) + 1)])


def said_and_played(found, codecs, call=0, back=0):
    """(ns of its begin, samples that one party has said, and that the other one
    of the @call has played), of packets(). @codecs of both; @back: from the
    second one to the first."""
    one, other = 2 * call + back, 2 * call + 1 - back
    begin = found[other, True][0][0]
    said = played(codecs[back], found[one, False], begin)
    heard = played(codecs[1 - back], found[other, True], begin)
    # silence behind the last frame
    return begin, said, np.resize(np.append(heard, np.zeros_like(said)),
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



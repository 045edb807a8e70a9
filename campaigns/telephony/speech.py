# SPDX-License-Identifier: Apache-2.0
"""Recorded speech, and the two laws of G.711."""
import glob
import wave

import numpy as np

FRAME = 160  # samples of 20 ms


def recording(seconds):
    """A recording of at least so many seconds, 8 kHz; None if there is none."""
    for path in sorted(glob.glob("/usr/share/asterisk/sounds/**/*.wav",
                                 recursive=True)):
        with wave.open(path) as w:
            if w.getnframes() >= seconds * w.getframerate():
                return path
    return None


def speech(packets, skip=0):
    """Recorded speech of so many packets, without the first @skip of it."""
    with wave.open(recording(4)) as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), np.int16)
    loud = pcm[FRAME * (len(pcm) // FRAME // 20):]
    pcm = np.resize(loud[:len(loud) // FRAME * FRAME], FRAME * (packets + skip))
    return pcm[FRAME * skip:]


def law_encode(name, pcm):
    """The octets, as ITU-T G.191 has it (alaw_compress, ulaw_compress): others,
    ffmpeg's too, take the next step where a sample lies between two."""
    size = np.where(pcm < 0, ~pcm, pcm).astype(int)
    if name == "alaw":
        size >>= 4
        segment = np.maximum(np.frexp(size)[1] - 4, 0)
        code = size >> np.maximum(segment - 1, 0) & 15 | segment << 4
        return (code + (pcm >= 0) * 0x80 ^ 0x55).astype(np.uint8).tobytes()
    size = np.minimum((size >> 2) + 33, 0x1fff)
    segment = np.frexp(size)[1] - 5
    code = segment - 1 << 4 | size >> segment & 15
    return (~(code + (pcm < 0) * 0x80) & 0xff).astype(np.uint8).tobytes()

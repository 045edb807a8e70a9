# SPDX-License-Identifier: Apache-2.0
"""How alike two recordings are."""
import wave

import numpy as np

HOP = 0.02  # seconds of a step of the envelope
RATE = 8000  # Hz, at which speech is compared


def read_wav(path):
    """The samples of a file, of several channels the first; and its rate."""
    with wave.open(str(path)) as w:
        return np.frombuffer(w.readframes(w.getnframes()),
                             np.int16)[::w.getnchannels()], w.getframerate()


def envelope(path, skip=0):
    """How loud a file of any rate is, step by step, on a logarithmic scale,
    without its first @skip samples of RATE; of several channels the first."""
    pcm, rate = read_wav(path)
    assert rate % RATE == 0
    scale = rate // RATE
    step = int(HOP * RATE) * scale
    pcm = pcm[skip * scale:]
    pcm = pcm[:len(pcm) // step * step].astype(float).reshape(-1, step)
    return np.log10(100 + np.sqrt((pcm ** 2).mean(axis=1)))


def likeness(heard, said):
    """The greatest correlation of what was heard with a part, as long, of
    what was said again and again."""
    said = np.tile(envelope(said), 3)
    best = -1
    for skip in range(0, int(HOP * RATE), 20):
        part = envelope(heard, skip)
        parts = np.lib.stride_tricks.sliding_window_view(said, len(part))
        spread = parts.std(axis=1) * part.std()
        like = (parts @ (part - part.mean()) / len(part))[spread > 0]
        best = max(best, *(like / spread[spread > 0]))
    return best

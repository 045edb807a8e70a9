# SPDX-License-Identifier: Apache-2.0
"""Speech in a room, and pauses in which there is only the room's noise; and how
loud a listener finds that."""
import wave

import numpy as np

from listen import RATE, read_wav
from test_foreign import recording

SPURT_S, PAUSE_S = 1, 2
NOISE_RMS = 40  # -58 dBov
HANGOVER_MS = 600  # at most; what a sender takes for speech, behind that


def talk():
    """Speech, a pause, speech, a pause, speech; at RATE."""
    speech = read_wav(recording(SPURT_S * 3))[0]
    n = SPURT_S * RATE
    quiet_part = np.zeros(PAUSE_S * RATE)
    parts = [speech[:n], quiet_part, speech[n:2 * n], quiet_part,
             speech[2 * n:3 * n]]
    sound = np.concatenate(parts)
    room = np.random.default_rng(1).normal(0, NOISE_RMS, len(sound))
    return np.rint(np.clip(sound + room, -32768, 32767)).astype(np.int16)


def write_wav(path, pcm, rate=RATE):
    with wave.open(str(path), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes(pcm.astype("<i2").tobytes())
    return path


def dbov(pcm):
    """RMS, beside that of a square wave of full scale (RFC 3389, 3)."""
    return 20 * np.log10(np.sqrt((pcm.astype(float) ** 2).mean()) / 32767 +
                         1e-6)


def quiet(samples):
    """Where a sender takes nothing for speech, in a talk() of so many."""
    period = (SPURT_S + PAUSE_S) * RATE
    skip = SPURT_S * RATE + HANGOVER_MS * RATE // 1000
    return [slice(at + skip, at + period - RATE // 10)
            for at in range(0, samples - period, period)]


def pauses(pcm):
    """These parts of a talk(), or of what was heard of it."""
    return [pcm[part] for part in quiet(len(pcm))]

# SPDX-License-Identifier: Apache-2.0
"""The time until an overload has no effect any more, as the feeder saw it.

From frames.bin, so it is known for every program that was called. The overload
is over when the last of the calls that end early has sent its last frame: more
than a second before the last frame of the run. From then on, frames are cut
into slices of 100 ms by their sending times. A slice is bad when more than 1 %
of its frames were lost or took longer than 10 ms. The recovery ends where five
slices in a row are not bad, or else with the run. It is not known of a run
without a call that ends early, or with less than half a second left then; nor
of a group whose own calls have ended by then.
"""
import numpy as np

MS = 1e6
SLICE, SOON = 100 * MS, 10 * MS
BAD_SHARE, GOOD_SLICES = 0.01, 5
EARLY = 1000 * MS


def overload_end(calls, sent):
    """When the last call that ends early has sent its last frame, ns; None:
    there is none. calls, sent: of each frame."""
    if not len(sent):
        return None
    _, index = np.unique(calls, return_inverse=True)
    last = np.zeros(index.max() + 1, np.int64)
    np.maximum.at(last, index, sent)
    early = last[last < sent.max() - EARLY]
    return int(early.max()) if len(early) else None


def bad_slices(sent, received, begin, soon=SOON):
    """Of each whole slice from begin on, whether it is bad; one without frames
    is not. Empty: all was sent before. soon: ns that a frame may take."""
    late = (received <= 0) | (received - sent > soon)
    count = max(int((sent.max() - begin) // SLICE), 0)
    at = ((sent - begin) // SLICE).astype(np.int64)
    inside = (sent >= begin) & (at < count)
    frames = np.bincount(at[inside], minlength=count)
    bad = np.bincount(at[inside & late], minlength=count)
    return bad > BAD_SHARE * frames


def until_good(bad):
    """ms until GOOD_SLICES in a row are not bad, or to the end. bad: of each
    slice."""
    for first in range(len(bad) - GOOD_SLICES + 1):
        if not bad[first:first + GOOD_SLICES].any():
            return first * SLICE / MS
    return len(bad) * SLICE / MS


def measure(records, calls):
    """ms, or None. records: of frames.bin, with stream, sent and received; calls:
    numbers of those that are looked at."""
    end = overload_end(records["stream"], records["sent"])
    mine = records[np.isin(records["stream"], list(calls))]
    if end is None or not len(mine):
        return None
    bad = bad_slices(mine["sent"], mine["received"], end)
    return until_good(bad) if len(bad) >= GOOD_SLICES else None

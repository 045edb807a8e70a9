# SPDX-License-Identifier: Apache-2.0
"""frames.bin: when the feeder sent each frame, and when its answer came
(src/feeder/match.h; codec-feeder --frames)."""
import os

import numpy as np

from codec_report import ReportError, access

MAGIC = b"CRFRAME1"
HEADER = np.dtype([("magic", "S8"), ("record_bytes", "<u4"), ("pad", "<u4"),
                   ("realtime_offset", "<i8")])
RECORD = np.dtype([("stream", "<u4"), ("rtp_ts", "<u4"), ("sent", "<i8"),
                   ("received", "<i8")])
#: ns by which the two offsets may differ on one machine: the clock is
#: corrected meanwhile.
SAME_HOST = 10 ** 9

def _keys(stream, rtp_ts):
    return stream.astype(np.uint64) << np.uint64(32) | rtp_ts

class Frames:
    """The feeder's frames, to be looked up by stream and RTP timestamp. Times
    are ns of the clock of the trace."""

    def __init__(self, records, shift):
        keys = _keys(records["stream"], records["rtp_ts"])
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        self.sent = records["sent"][order] + shift
        self.received = np.where(records["received"] > 0,
                                 records["received"] + shift, 0)[order]

    def of(self, jobs):
        """(sent, received) of each job, ns; 0 where the feeder has none."""
        if not len(self.keys):
            none = np.zeros(len(jobs["task"]), np.int64)
            return none, none
        keys = _keys(jobs["task"], jobs["rtp_ts"])
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[at] == keys
        return (np.where(known, self.sent[at], 0),
                np.where(known, self.received[at], 0))

def read_records(path):
    """(head, records) of a file; ReportError says why it cannot be read."""
    with access(path), open(path, "rb") as f:
        raw = f.read(HEADER.itemsize)
        size = os.fstat(f.fileno()).st_size - HEADER.itemsize
        if len(raw) < HEADER.itemsize or not raw.startswith(MAGIC):
            raise ReportError(f"{path}: does not begin with "
                              f"{MAGIC.decode()}")
        head = np.frombuffer(raw, HEADER)[0]
        if head["record_bytes"] != RECORD.itemsize:
            raise ReportError(f"{path}: records of {head['record_bytes']} "
                              f"bytes; this version reads {RECORD.itemsize}")
        return head, np.fromfile(f, RECORD, size // RECORD.itemsize)

def read_frames(path, realtime_offset):
    """Frames of a file, as read_records() has them.

    realtime_offset: of the trace, ns: the feeder may have run elsewhere, with
    a monotonic clock of its own.
    """
    head, records = read_records(path)
    shift = int(head["realtime_offset"]) - realtime_offset
    return Frames(records, shift if abs(shift) > SAME_HOST else 0)

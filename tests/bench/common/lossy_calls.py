# SPDX-License-Identifier: Apache-2.0
"""Calls that lose packets, without a jitter buffer and with each kind
of one: what a party hears, and what the codec alone makes of what came."""
import sys
from dataclasses import dataclass

import numpy as np

from common.machine import ROOT, fail

sys.path.insert(0, str(ROOT / "tests" / "integration" / "programs"))
import conftest  # noqa: E402
import lossy  # noqa: E402
import paced  # noqa: E402

CODECS = lossy.CODECS
BUFFERS = {"none": ["a.loss=conceal"],
           # the sender may be late, too
           "fixed": ["a.jitter=fixed", "a.jitter_max_ms=80"],
           "adaptive": ["a.jitter=adaptive"]}
LATE_MS = 60  # where there is a buffer
LOSSES = 0, 1, 3, 5  # percent


@dataclass
class Heard:
    """Speech is int16 arrays at @rate, Hz. @late: packets that came and were not
    played."""
    loss: int
    buffer: str
    packets: int
    lost: int
    late: int
    rate: int
    source: np.ndarray
    live: np.ndarray
    alone: np.ndarray


def start(d, codec, args, folder):
    """A talk for each loss and buffer; and the source."""
    talks, payloads = {}, None
    party = codec, CODECS[codec]
    for loss in LOSSES:
        files, lost = lossy.offline(codec, loss, args.seconds, folder,
                                    args.seed)
        payloads = payloads or lossy.encoded(d, codec, files["source"])
        for buffer, words in BUFFERS.items():
            way = lossy.Way(d, party, lossy.l16(party[1]), *words)
            talks[loss, buffer] = paced.Talk(
                way, payloads, lost, LATE_MS if buffer != "none" else 0,
                lossy.frames(files["source"], party[1]))
    return talks, files["source"]


def heard(codec, args, folder):
    """Of @codec: all losses and buffers at once, in real time."""
    d = conftest.Daemon("--drain-timeout", "0s", "--max-age", "none", "--ring",
                        "128", "--no-admission", "--trace-dir", str(folder),
                        log=folder / "log")
    try:
        talks, source = start(d, codec, args, folder)
        d.ctl("trace", "start", "trace")
        paced.play(talks.values(), args.seed)
        for talk in talks.values():
            talk.way.end()
        if d.ctl("trace", "stop")["lost"]:
            fail("the trace has lost records: the machine is too busy")
    finally:
        d.stop()
    for (loss, buffer), talk in talks.items():
        yield outcome(codec, args, folder, talk, source, loss, buffer)


def outcome(codec, args, folder, talk, source, loss, buffer):
    fate = paced.fates(folder / "trace", talk)
    if [data[12:] for data in talk.answered] != talk.said:
        fail(f"{codec}, {loss} %, {buffer}: the other way is not sound")
    (folder / "told").write_text(fate.replace("s", "c"))
    files, missed = lossy.offline(codec, folder / "told", args.seconds, folder)
    return Heard(loss, buffer, len(talk.said), len(talk.lost),
                 len(missed - talk.lost), talk.way.a[1].rate, source,
                 talk.way.pcm(len(talk.said)), files["concealed"])

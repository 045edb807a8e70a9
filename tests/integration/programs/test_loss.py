# SPDX-License-Identifier: Apache-2.0
"""Speech through a call that loses packets: what the listener gets is,
sample by sample, what the codec's own decoder makes of the same losses
(bench-loss, which has no network)."""
from itertools import product

import numpy as np
import pytest

from lossy import (CODECS, CONCEALED_MS, Way, at_once, encoded, frames, heard,
                   l16, offline)
from paced import Talk, fates, play
from streams import Stream, assert_streams, write_pcap
from test_senders import REFUSED, needed, started

SECONDS = 16
BUFFERED = "pcmu", "gsm", "g722", "amr", "amr-wb", "opus"
BUFFERED_S = 4
LATE_MS = 100  # so up to five places from where it belongs


def longest_run(lost):
    run = longest = 0
    for n in range(max(lost, default=0) + 1):
        run = run + 1 if n in lost else 0
        longest = max(longest, run)
    return longest


def test_what_is_heard_is_what_the_decoder_conceals(daemon, tmp_path):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--no-admission")

    def said(codec):
        folder = tmp_path / codec
        folder.mkdir()
        files, _ = offline(codec, 0, SECONDS, folder)
        return encoded(d, codec, files["source"])

    def check(case):
        (codec, payloads), percent = case
        folder = tmp_path / f"{codec}-{percent}"
        folder.mkdir()
        files, lost = offline(codec, percent, SECONDS, folder)
        # no gap is longer than what is concealed
        assert longest_run(lost) * CODECS[codec].ms <= CONCEALED_MS
        way = Way(d, (codec, CODECS[codec]), l16(CODECS[codec]),
                  "a.loss=conceal")
        pcm, count = heard(way, payloads, lost)
        assert count["missing"] == len(lost) and bool(lost) == bool(percent)
        assert np.array_equal(pcm, files["concealed"]), case[1:]

    # the packet behind a lost one of Opus has its say
    codecs = [c for c in CODECS if c != "opus"]
    at_once(check, list(product(zip(codecs, at_once(said, codecs)),
                                (0, 1, 3, 5))))


def test_losses_show_in_the_numbers(daemon, tmp_path):
    """What came is where it belongs, and a foreign analysis counts what did
    not."""
    needed("tshark")
    d = started(daemon, "auto", "--drain-timeout", "0s")
    files, lost = offline("pcmu", 5, SECONDS, tmp_path)
    payloads = encoded(d, "pcmu", files["source"])
    way = Way(d, ("pcmu", CODECS["pcmu"]), l16(CODECS["pcmu"]),
              "a.loss=number")
    pcm, count = heard(way, payloads, lost)
    assert count["missing"] == len(lost)
    assert np.array_equal(pcm, files["silence"])
    write_pcap(tmp_path / "heard.pcap", [(way.endpoint, way.port, data)
                                         for data in way.heard])
    assert_streams(tmp_path / "heard.pcap", [
        Stream(way.port, 97, len(payloads) - len(lost), lost=len(lost),
               ssrc=way.c["b"]["out_ssrc"])])


def talks(d, folder, jitter):
    """Of all codecs of 20 ms, 5 % lost, with what B is to hear if no more is."""
    made = [offline(name, 5, BUFFERED_S, folder) for name in BUFFERED]
    every = at_once(lambda of: encoded(d, of[0], of[1][0]["source"]),
                    list(zip(BUFFERED, made)))
    for name, (files, lost), payloads in zip(BUFFERED, made, every):
        codec = CODECS[name]
        lost.discard(len(payloads) - 1)  # so that nothing is behind it
        way = Way(d, (name, codec), l16(codec), *jitter)
        yield Talk(way, payloads, lost, LATE_MS,
                   frames(files["source"], codec))


def played(d, folder, jitter):
    """Talks that are over, and what became of their packets."""
    every = list(talks(d, folder, jitter))
    d.ctl("trace", "start", "trace")
    play(every, seed=4)
    counts = [talk.way.end() for talk in every]
    totals = d.ctl("trace", "stop")
    assert totals["lost"] == totals["unwritten"] == 0
    return [(talk, count, fates(folder / "trace", talk))
            for talk, count in zip(every, counts)]


def expected(folder, codec, fate):
    """What the codec alone makes of packets with such a fate."""
    (folder / "told").write_text(fate)
    return offline(codec, folder / "told", BUFFERED_S, folder)[0]["concealed"]


@pytest.mark.parametrize("jitter", [
    # for a second, as the machine may be busy: nothing is late
    ("a.jitter=fixed", "a.jitter_max_ms=1000"),
    # as long as it finds good, so some are
    ("a.jitter=adaptive",)], ids=["fixed", "adaptive"])
def test_a_buffer_puts_into_order_what_comes(daemon, tmp_path, jitter):
    """And 5 % never come: what B hears is, sample by sample, what the decoder
    makes of what was played, in order; and A hears B meanwhile."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--no-admission",
                "--trace-dir", str(tmp_path))
    for talk, count, fate in played(d, tmp_path, jitter):
        name = talk.way.a[0]
        missed = {n for n, f in enumerate(fate) if f != "."}
        late = count["late_in"] + count["overflowed"]
        assert missed >= talk.lost and len(missed - talk.lost) == late, name
        assert late == 0 or "adaptive" in jitter[0], name
        assert not any(count[c] for c in REFUSED), count
        # what numbers prove; concealed behind the last packet is more
        proved = fate[fate.index("."):fate.rindex(".")]
        assert count["jitter_missed"] == len(proved) - proved.count(".") - \
            count["overflowed"], name
        pcm = talk.way.pcm(len(talk.said))
        assert np.array_equal(pcm, expected(tmp_path, name, fate)), name
        assert [data[12:] for data in talk.answered] == talk.said, name

# SPDX-License-Identifier: Apache-2.0
"""Speech through a conversation that loses packets: what the listener gets is,
sample by sample, what the codec's own decoder makes of the same losses
(bench-loss, which has no network)."""
import random
import time

import numpy as np
import pytest

from lossy import CODECS, Way, encoded, heard, l16, offline
from streams import Stream, assert_streams, write_pcap
from test_senders import needed, started

SECONDS = 16
CONCEALED_MS = 60  # of one gap
BUFFERED = "pcmu", "gsm", "g722", "amr", "amr-wb"
BUFFERED_S = 4


def longest_run(lost):
    run = longest = 0
    for n in range(max(lost, default=0) + 1):
        run = run + 1 if n in lost else 0
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_heard_is_what_the_decoder_conceals(daemon, tmp_path, codec):
    d = started(daemon, "auto", "--drain-timeout", "0s")
    payloads = None
    for percent in 0, 1, 3, 5:
        files, lost = offline(codec, percent, SECONDS, tmp_path)
        # no gap is longer than what is concealed
        frame_ms = CODECS[codec].samples * 1000 / CODECS[codec].rate
        assert longest_run(lost) * frame_ms <= CONCEALED_MS
        if payloads is None:
            payloads = encoded(d, codec, files["source"])
        way = Way(d, (codec, CODECS[codec]), l16(CODECS[codec]),
                  "a.loss=conceal")
        pcm, count = heard(way, payloads, lost)
        assert count["missing"] == len(lost) and bool(lost) == bool(percent)
        assert np.array_equal(pcm, files["concealed"]), percent


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
    write_pcap(tmp_path / "heard.pcap", [(way.leg, way.port, data)
                                         for data in way.heard])
    assert_streams(tmp_path / "heard.pcap", [
        Stream(way.port, 97, len(payloads) - len(lost), lost=len(lost),
               ssrc=way.c["b"]["out_ssrc"])])


def disorder(count, lost, seed):
    """(ms, number) of what is sent: each up to 100 ms late, so up to five
    places from where it belongs."""
    rng = random.Random(seed)
    return [(20 * n + rng.randrange(100) * (n > 0), n) for n in range(count)
            if n not in lost]


def test_a_buffer_puts_into_order_what_comes(daemon, tmp_path):
    """And 5 % never come: what is heard is what the decoder makes of the rest in
    order. All codecs of 20 ms at once. The buffer waits for a second, as the
    machine may be busy."""
    d = started(daemon, "auto", "--drain-timeout", "0s")
    ways, plan = [], []
    for name in BUFFERED:
        files, lost = offline(name, 5, BUFFERED_S, tmp_path)
        payloads = encoded(d, name, files["source"])
        assert len(payloads) - 1 not in lost  # so that nothing is behind it
        way = Way(d, (name, CODECS[name]), l16(CODECS[name]),
                  "a.jitter=fixed", "a.jitter_max_ms=1000")
        ways.append((way, files["concealed"], lost))
        plan += [(ms, n, way, payloads[n])
                 for ms, n in disorder(len(payloads), lost, name)]
    begin = time.monotonic()
    for ms, n, way, payload in sorted(plan, key=lambda p: p[:2]):
        time.sleep(max(0, begin + ms / 1000 - time.monotonic()))
        way.send(n, payload)
        way.listen()
    for way, concealed, lost in ways:
        packets = len(concealed) // CODECS[way.a[0]].samples
        way.hear(packets - len(way.heard))
        pcm, count = way.pcm(packets), way.end()
        # behind the last packet 60 ms are concealed: more may come yet
        assert 0 <= count["lost"] - len(lost) <= CONCEALED_MS // 20, count
        assert np.array_equal(pcm, concealed), way.a[0]

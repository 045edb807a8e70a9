# SPDX-License-Identifier: Apache-2.0
"""Speech through a conversation that loses packets: what the listener gets is,
sample by sample, what the codec's own decoder makes of the same losses
(bench-loss, which has no network)."""
import numpy as np
import pytest

from lossy import CODECS, Way, encoded, heard, l16, offline
from streams import Stream, assert_streams, write_pcap
from test_senders import needed, started

SECONDS = 16
CONCEALED_MS = 60  # of one gap


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

# SPDX-License-Identifier: Apache-2.0
"""Two foreign programs send to one port at once: what is heard is of one at a
time, and whole; what is refused is counted."""
import socket
import subprocess
import time

import pytest

from conftest import PATIENCE
from middle import NOT_TAKEN, Middle
from packets import header
from streams import Stream, assert_streams, write_pcap
from test_baresip import speeches
from test_senders import needed, started

FIRST, SECOND = 0xf1, 0xf2  # SSRCs
# two at once are heard by turns: the node sends 2 s more than time passes
SECONDS = {FIRST: 6, SECOND: 1}
PROOF = 3  # packets, of which the last is heard


@pytest.fixture
def talk(daemon):
    """talk(n): as many calls of one daemon; and a port for RTCP, which nobody
    reads."""
    needed("ffmpeg", "tshark")
    d = started(daemon, "auto", "--drain-timeout", "0s")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rtcp:
        rtcp.bind(("127.0.0.1", 0))

        def begin(n):
            middles = [Middle(d) for _ in range(n)]
            for middle in middles:
                middle.start("in.codec=pcmu", "out.codec=pcma")
            return middles, rtcp.getsockname()[1]

        yield begin


def ffmpeg(ssrc, port, rtcp):
    """It says a speech of its own, from a port of its own."""
    return subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-i", speeches()[ssrc == SECOND],
         "-t", str(SECONDS[ssrc]), "-ar", "8000", "-ac", "1", "-af",
         "asetnsamples=n=160", "-acodec", "pcm_mulaw", "-f", "rtp", "-ssrc",
         str(ssrc), f"rtp://127.0.0.1:{port}?pkt_size=172&rtcpport={rtcp}"],
        stdin=subprocess.DEVNULL)


def until_speaks(middle):
    deadline = time.monotonic() + PATIENCE
    while middle.count()["packets_in"] < 2 * PROOF:
        assert time.monotonic() < deadline


def payloads(packets):
    return [p[12:] for p in packets]


def refused(count):
    return sum(count[name] for name in NOT_TAKEN)


def assert_stream(middle, path, spurts):
    heard = middle.packets(False)
    write_pcap(path, [(9, middle.heard, p) for p in heard])
    assert_streams(path, [Stream(middle.heard, 8, len(heard),
                                 ssrc=middle.ssrc, spurts=spurts)])


def test_who_comes_second_from_elsewhere_is_refused(talk, tmp_path):
    """And the first is heard, bit by bit, as where nobody disturbs him."""
    (disturbed, alone), rtcp = talk(2)
    first, same = (ffmpeg(FIRST, middle.said, rtcp)
                   for middle in (disturbed, alone))
    until_speaks(disturbed)
    second = ffmpeg(SECOND, disturbed.to[1], rtcp)
    packets = {ssrc: 50 * s for ssrc, s in SECONDS.items()}
    count = disturbed.end(first, second, beside=packets[SECOND])
    assert count["packets_in"] == count["done"] == packets[FIRST]
    assert refused(count) == packets[SECOND]
    alone_count = alone.end(same)
    assert alone_count["packets_in"] == packets[FIRST]
    assert not refused(alone_count)
    assert payloads(disturbed.packets(False)) == payloads(alone.packets(False))
    assert_stream(disturbed, tmp_path / "heard.pcap", 1)


def taken_by_rule(said):
    """Which of these packets of one address are heard: the newer sender's, once
    three in sequence have proved it; the other one again after three without
    one of the newer in between (rtp/learn.h). (SSRC, its how manyth)"""
    current, runs, counts, heard = None, {}, {}, []
    for h in map(header, said):
        ssrc = h["ssrc"]
        counts[ssrc] = counts.get(ssrc, -1) + 1
        if current is None:
            current, replaced = ssrc, None
        if ssrc == current:
            runs.pop(replaced, None)
        else:
            seq, run = runs.get(ssrc, (None, 0))
            run = run + 1 if run and h["seq"] == seq + 1 else 1
            runs[ssrc] = h["seq"], run
            if run < PROOF:
                continue
            current, replaced, runs = ssrc, current, {}
        heard.append((ssrc, counts[ssrc]))
    return heard


def test_of_one_address_the_newer_is_heard(talk, tmp_path):
    """In the same output, and never both: ffmpeg sends a quarter of a second at
    once, so that the older one may come back."""
    (both, older, newer), rtcp = talk(3)
    first, same = (ffmpeg(FIRST, m.said, rtcp) for m in (both, older))
    until_speaks(both)
    second, same_too = (ffmpeg(SECOND, m.said, rtcp) for m in (both, newer))
    count = both.end(first, second)
    for middle, sender in (older, same), (newer, same_too):
        middle.end(sender)
    alone = {FIRST: payloads(older.packets(False)),
             SECOND: payloads(newer.packets(False))}
    said, heard = both.packets(True), payloads(both.packets(False))
    expected = taken_by_rule(said)
    assert {ssrc for ssrc, _ in expected} == {FIRST, SECOND}
    assert heard == [alone[ssrc][n] for ssrc, n in expected]
    assert count["packets_in"] == len(heard)
    assert refused(count) == len(said) - len(heard)
    changes = sum(a[0] != b[0] for a, b in zip(expected, expected[1:]))
    assert_stream(both, tmp_path / "heard.pcap", 1 + changes)

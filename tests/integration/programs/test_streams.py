# SPDX-License-Identifier: Apache-2.0
"""What the other tests expect of captured streams: sound ones are, and each
fault is found."""
import struct

import pytest

from packets import packet
from streams import Stream, assert_streams, write_pcap
from test_senders import needed

PORT = 4000
RR = struct.pack("!BBHIIIIIII", 0x81, 201, 7, 1, 2, 0, 9, 0, 0, 0)


def speech():
    """60 packets; the numbers wrap, and the timestamps."""
    return [(1, 65500 + i, 2**32 - 1600 + 160 * i) for i in range(60)]


def check(tmp_path, sent, rtcp=(), **expected):
    needed("tshark")
    path = tmp_path / "heard.pcap"
    write_pcap(path, [(9000, PORT, p if isinstance(p, bytes) else packet(*p))
                      for p in sent] + [(9001, PORT + 1, p) for p in rtcp])
    assert_streams(path, [Stream(PORT, 0, **{"packets": 60, **expected})],
                   [PORT + 1] if rtcp else [])


def test_a_sound_stream(tmp_path):
    check(tmp_path, speech(), rtcp=[RR], ssrc=1)


def test_a_gap_that_is_expected(tmp_path):
    packets = speech()
    del packets[20:23]
    check(tmp_path, packets, packets=57, lost=3)


def with_hole(packets):
    """So many at the 30th."""
    return speech()[:30] + [(s, n, ts + 160 * packets)
                            for s, n, ts in speech()[30:]]


def test_a_hole_that_is_expected(tmp_path):
    check(tmp_path, with_hole(3), holes=3)


def without(i):
    return speech()[:i] + speech()[i + 1:]


def changed(i, part, value):
    packets = speech()
    packets[i] = tuple(value if k == part else old
                       for k, old in enumerate(packets[i]))
    return packets


FAULTS = {
    "one is missing": without(30) + [(1, 65560, 8000)],
    "one is twice": speech()[:30] + speech()[29:-1],
    "two are exchanged": speech()[:30] + [speech()[31], speech()[30]] +
    speech()[32:],
    "a timestamp leaps": with_hole(1),
    "a timestamp goes back": changed(30, 2, 2**32 - 1600),
    "another SSRC": changed(59, 0, 2),
    "no RTP": speech()[:-1] + [b"\x01" * 20],
    "too short": speech()[:-1] + [b"\x80\0\0\1"],
    "another type": speech()[:-1] + [packet(1, 65559, 7840, pt=8)],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path, fault):
    with pytest.raises(AssertionError):
        check(tmp_path, FAULTS[fault])


@pytest.mark.parametrize("broken", [RR[:-4], RR[:2] + b"\0\6" + RR[4:], b"\x80\xc9"])
def test_broken_rtcp_is_found(tmp_path, broken):
    with pytest.raises(AssertionError):
        check(tmp_path, speech(), rtcp=[RR, broken])

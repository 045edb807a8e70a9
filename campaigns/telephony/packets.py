# SPDX-License-Identifier: Apache-2.0
"""Packets of RTP (RFC 3550, 5.1) without extras."""
import struct

SPEECH = bytes([0xff]) * 160  # silence in PCMU


def packet(ssrc, seq, ts, payload=SPEECH, pt=0):
    return struct.pack("!BBHII", 0x80, pt, seq & 0xffff, ts & 0xffffffff,
                       ssrc) + payload


def header(data):
    _, mpt, seq, ts, ssrc = struct.unpack("!BBHII", data[:12])
    return {"marker": mpt >> 7, "pt": mpt & 0x7f, "seq": seq, "ts": ts,
            "ssrc": ssrc}


def numbers(data):
    """(number, timestamp, marker, type) of a packet."""
    h = header(data)
    return h["seq"], h["ts"], h["marker"], h["pt"]

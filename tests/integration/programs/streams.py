# SPDX-License-Identifier: Apache-2.0
"""Captured streams of RTP as tshark's analysis finds them, beside what is
expected of each."""
import re
import struct
import subprocess
from dataclasses import dataclass

from conftest import PATIENCE

WARNING = 0x00600000  # of Wireshark's severities


@dataclass(frozen=True)
class Stream:
    """What is expected at UDP port @port. step: what one packet adds to the
    timestamp; lost: numbers that are missing; spurts: packets with the marker,
    at which the timestamp may leap; events: payload type of packets whose
    timestamp is that of an event's beginning; holes: packets at most that were
    never made, as timestamps show."""
    port: int
    pt: int
    packets: int
    step: int = 160
    ssrc: int = None
    lost: int = 0
    spurts: int = 1
    events: int = None
    holes: int = 0


ROW = re.compile(r"\s*[\d.]+\s+[\d.]+\s+\S+\s+\d+\s+\S+\s+(?P<port>\d+)\s+"
                 r"(?P<ssrc>0x\w+)\s.*?\s(?P<packets>\d+)\s+(?P<lost>-?\d+) "
                 r"\([-\d.]+%\)(?P<rest>[-\d.\s]*)(?P<problem>\S*)\s*$")
FIELDS = ("udp.dstport", "rtp.seq", "rtp.timestamp", "rtp.marker",
          "rtp.p_type", "rtcp.length_check", "_ws.malformed",
          "_ws.expert.severity")


def dissect(path, options, ports):
    """The packets to each of @ports, their FIELDS as text, and the rows of
    tshark's table of RTP streams."""
    words = ["tshark", "-n", "-r", str(path), *options, "-T", "fields", "-Y",
             " || ".join(f"udp.dstport == {port}" for port in ports),
             "-z", "rtp,streams"]
    for field in FIELDS:
        words += ["-e", field]
    done = subprocess.run(words, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    packets, rows = ({port: [] for port in ports} for _ in range(2))
    for line in done.stdout.splitlines():
        values = line.split("\t")
        if len(values) == len(FIELDS):
            packets[int(values[0])].append(dict(zip(FIELDS, values)))
        elif (row := ROW.match(line)) and int(row["port"]) in rows:
            rows[int(row["port"])].append(row)
    return packets, rows


def assert_no_fault(packet):
    """The dissector has nothing worse than a note to say against it."""
    severity = packet["_ws.expert.severity"].split(",")
    assert not packet["_ws.malformed"], packet
    assert all(int(s or 0) < WARNING for s in severity), packet


def assert_row(rows, stream):
    """One stream, as long as it should be, of which the analysis thinks well."""
    assert len(rows) == 1, [row[0] for row in rows]
    row = rows[0]
    assert int(row["packets"]) == stream.packets
    assert int(row["lost"]) == stream.lost
    assert bool(row["problem"]) == (stream.lost > 0), row[0]
    assert stream.ssrc in (None, int(row["ssrc"], 0))


def ahead(a, b, bits):
    """How far number b of so many bits is behind a: negative when before."""
    half = 1 << bits - 1
    return (b - a + half) % (2 * half) - half


def assert_packets(packets, stream):
    """Numbers rise by one but where some are lost, and timestamps with them,
    but where a spurt begins. packets: (number, timestamp, marker, type)"""
    assert {p[3] for p in packets} <= {stream.pt, stream.events}
    assert sum(p[2] for p in packets if p[3] == stream.pt) <= stream.spurts
    steps = [ahead(a[0], b[0], 16) for a, b in zip(packets, packets[1:])]
    assert all(step >= 1 for step in steps), steps
    assert sum(steps) - len(steps) == stream.lost
    speech = [p for p in packets if p[3] == stream.pt]
    holes = 0
    for a, b in zip(speech, speech[1:]):
        ts = ahead(a[1], b[1], 32)
        if b[2]:
            assert ts > 0, (a, b)
        elif stream.events is None:
            hole = ts - stream.step * ahead(a[0], b[0], 16)
            assert hole >= 0 and hole % stream.step == 0, (a, b)
            holes += hole // stream.step
        else:
            assert ts > 0 and ts % stream.step == 0, (a, b)
    assert holes <= stream.holes


def numbers(packet):
    """(number, timestamp, marker, type)"""
    seq, ts, marker, pt = (packet["rtp." + name] for name in (
        "seq", "timestamp", "marker", "p_type"))
    return int(seq), int(ts), marker in ("1", "True"), int(pt)


def assert_streams(path, streams, rtcp=()):
    """The packets to the ports of @streams are the expected, and sound; those
    to the ports @rtcp are sound RTCP, at least one to each."""
    options = []
    for s in streams:
        options += ["-d", f"udp.port=={s.port},rtp"]
        if s.events is not None:
            options += ["-d", f"rtp.pt=={s.events},rtpevent"]
    for port in rtcp:
        options += ["-d", f"udp.port=={port},rtcp"]
    packets, rows = dissect(path, options, [s.port for s in streams] +
                            list(rtcp))
    for s in streams:
        for p in packets[s.port]:
            assert_no_fault(p)
            assert p["rtp.seq"] or p["rtcp.length_check"], p
        assert_row(rows[s.port], s)
        assert_packets([numbers(p) for p in packets[s.port] if p["rtp.seq"]],
                       s)
    for port in rtcp:
        assert packets[port]
        for p in packets[port]:
            assert_no_fault(p)
            # compound, and of the length that it claims to have
            assert p["rtcp.length_check"] in ("1", "True"), p


def write_pcap(path, packets):
    """Packets of (port from, port to, UDP payload), 20 ms apart, as if they had
    been captured at 127.0.0.1."""
    host = bytes((127, 0, 0, 1))
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 228))
        for i, (source, to, data) in enumerate(packets):
            udp = struct.pack("!HHHH", source, to, 8 + len(data), 0) + data
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64,
                             17, 0, host, host) + udp
            out.write(struct.pack("<IIII", i // 50, i % 50 * 20000, len(ip),
                                  len(ip)) + ip)

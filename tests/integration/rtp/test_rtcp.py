# SPDX-License-Identifier: Apache-2.0
"""RTCP that we build, as a foreign dissector reads it.

rtcp_talk plays a call in virtual time; tshark reads what was sent as if
it had been captured at the first party, and works out round trips by itself.
"""
import os
import struct
import subprocess

import pytest

WALL = 1795392000
A, B = ("127.0.0.1", 5001), ("127.0.0.2", 6001)
MEAN_RTT = 70  # ms, as rtcp_talk's network delays


def address(text):
    return bytes(int(n) for n in text.split("."))


def datagram(source, to, payload):
    """IPv4 and UDP around @payload; no checksums."""
    udp = struct.pack(">HHHH", source[1], to[1], 8 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0)
    return ip + address(source[0]) + address(to[0]) + udp + payload


def pcap(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for us, source, to, payload in packets:
            data = datagram(source, to, payload)
            f.write(struct.pack("<IIII", WALL + us // 10**6, us % 10**6,
                                len(data), len(data)) + data)


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """The packets as a file, and what the first party says at the end."""
    out = subprocess.run([os.environ["RTCP_TALK"]], check=True,
                         capture_output=True, text=True).stdout
    packets, said = [], {}
    for line in out.splitlines():
        word = line.split()
        if word[1] in ("in", "out"):
            way = (A, B) if word[1] == "out" else (B, A)
            packets.append((int(word[0]), *way, bytes.fromhex(word[2])))
        else:
            said[word[0]] = [int(n) for n in word[1:]]
    path = tmp_path_factory.mktemp("rtcp") / "talk.pcap"
    pcap(path, sorted(packets))
    return path, len(packets), said


def tshark(path, show, *fields, options=()):
    """A row of values for each packet that @show selects."""
    words = ["tshark", "-n", "-r", str(path), "-Y", show, "-T", "fields",
             "-E", "separator=|", "-d", "udp.port==5001,rtcp",
             "-d", "udp.port==6001,rtcp", *options]
    for field in fields or ("frame.number",):
        words += ["-e", field]
    out = subprocess.run(words, check=True, capture_output=True, text=True)
    return [line.split("|") for line in out.stdout.splitlines()]


def test_everything_is_rtcp_and_nothing_malformed(talk):
    path, n, _ = talk
    assert n > 15
    assert len(tshark(path, "rtcp")) == n
    # the dissector has nothing to say against it, not even a note
    assert tshark(path, "_ws.malformed || _ws.expert.severity") == []
    assert tshark(path, "rtcp.length_check == 0") == []
    assert len(tshark(path, "rtcp.length_check == 1")) == n


def test_a_broken_packet_would_be_found(talk, tmp_path):
    """A report more told than there is."""
    payload = bytes.fromhex("82c90007" + "11" * 4 + "22" * 24)
    pcap(tmp_path / "broken.pcap", [(0, A, B, payload)])
    assert len(tshark(tmp_path / "broken.pcap",
                      "_ws.malformed || _ws.expert.severity")) == 1


def test_senders_send_sr_and_listeners_rr(talk):
    rows = tshark(talk[0], "ip.src == 127.0.0.2", "frame.time_epoch", "rtcp.pt")
    late = [pt for at, pt in rows if float(at) > WALL + 45]
    assert {pt for at, pt in rows if float(at) < WALL + 30} == {"200,202"}
    assert late and set(late) == {"201,202"}


def test_every_compound_packet_has_its_cname(talk):
    for source, cname in ("127.0.0.1", "a@example.com"), (
            "127.0.0.2", "bob@example.com"):
        rows = tshark(talk[0], f"ip.src == {source}", "rtcp.sdes.text")
        assert {r[0] for r in rows} <= {cname, cname + ",the end"}


def test_the_last_packet_says_bye(talk):
    rows = tshark(talk[0], "rtcp", "rtcp.pt", "rtcp.ssrc.identifier")
    assert rows[-1][0] == "200,202,203"
    assert rows.count([rows[-1][0], rows[-1][1]]) == 1
    assert [r for r in rows[:-1] if "203" in r[0]] == []


def test_losses_are_those_of_the_network(talk):
    path, _, said = talk
    rows = tshark(path, "ip.src == 127.0.0.2 && rtcp.ssrc.cum_nr",
                  "rtcp.ssrc.cum_nr", "rtcp.ssrc.fraction",
                  "rtcp.ssrc.high_seq", "rtcp.ssrc.high_cycles")
    lost = [int(r[0]) for r in rows]
    assert lost == sorted(lost) and said["told"] == [lost[-1]]
    # numbers from 65000 on, 3,000 of them: 54 tens before the wrap, of which
    # the first was never missed, and 247 after it
    assert said["lost"] == [300] and 250 < lost[-1] <= 300
    # 1/10 of 256
    assert {int(r[1]) for r in rows[1:]} <= {24, 25, 26, 27}
    highest = [int(r[2]) + (int(r[3]) << 16) for r in rows]
    assert highest == sorted(highest) and highest[-1] > 65536


def test_the_dissector_finds_our_round_trips(talk):
    path, _, said = talk
    trips = [int(r[0]) for r in tshark(
        path, "ip.src == 127.0.0.2 && rtcp.roundtrip-delay",
        "rtcp.roundtrip-delay",
        options=["-o", "rtcp.show_roundtrip_calculation:TRUE"])]
    mean, least, most, n = said["rtt"]
    assert len(trips) == n > 5
    # 1/65536 s is 15 us, and the dissector rounds to ms
    assert min(trips) >= MEAN_RTT - 1 and max(trips) <= MEAN_RTT + 1
    assert MEAN_RTT * 10**6 <= least <= mean <= most < MEAN_RTT * 10**6 + 31000

# SPDX-License-Identifier: Apache-2.0
"""Phones choose their SSRC themselves, change it in mid-call, and do not care
who else sends to the port that they were told."""
import random
import socket
import struct

import pytest

from conftest import PATIENCE
from packets import header, packet
from test_senders import Party, started


class Phone:
    """A party that sends from an address of its own, one packet at a time: the
    next one when the answer has come."""

    def __init__(self, to, host="127.0.0.1"):
        self.sock = socket.socket(
            socket.AF_INET6 if ":" in host else socket.AF_INET,
            socket.SOCK_DGRAM)
        self.sock.bind((host, 0))
        self.sock.settimeout(PATIENCE)
        self.to = (host, to)

    def say(self, ssrc, seq, ts, **more):
        self.sock.sendto(packet(ssrc, seq, ts, **more), self.to)


def count_of(party):
    return party.daemon.ctl("stream", str(party.call["call"]))["count"]


@pytest.fixture
def party(daemon):
    d = started(daemon, "auto", "--drain-timeout", "0s")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        yield Party(d, sock)


def test_the_phone_tells_its_ssrc(party):
    phone = Phone(party.to)
    for i in range(20):
        phone.say(0xdecaf, i, 160 * i)
    answers = [header(party.sock.recv(2048)) for _ in range(20)]
    assert [a["seq"] - answers[0]["seq"] & 0xffff for a in answers] == list(
        range(20))
    assert len({a["ssrc"] for a in answers}) == 1


def test_a_new_ssrc_goes_on_in_the_same_output(party):
    """After a transfer: other SSRC, sequence and timestamps. What proves it,
    two packets, is lost and counted; then everything is heard."""
    phone = Phone(party.to)
    for i in range(10):
        phone.say(1, 100 + i, 5000 + 160 * i)
    first = [header(party.sock.recv(2048)) for _ in range(10)]
    for i in range(12):
        phone.say(2, 60000 + i, 4000000000 + 160 * i)
    second = [header(party.sock.recv(2048)) for _ in range(10)]
    count = count_of(party)
    assert count["probation"] == 2 and count["packets_in"] == 20
    every = first + second
    assert len({a["ssrc"] for a in every}) == 1
    assert [a["seq"] - every[0]["seq"] & 0xffff for a in every] == list(
        range(20))
    steps = [b["ts"] - a["ts"] & 0xffffffff
             for a, b in zip(every, every[1:])]
    assert all(0 < step < 8000 * 60 for step in steps), steps[8:12]
    assert [step for step in steps[10:]] == [160] * 9
    assert second[0]["marker"] == 1


def test_a_sprayer_does_not_take_the_call_over(party):
    """Ten packets for each of the phone's, from another address, some with the
    phone's own SSRC and sequence."""
    phone, attacker = Phone(party.to), Phone(party.to)
    rng = random.Random(7)
    for i in range(50):
        phone.say(77, i, 160 * i)
        for k in range(10):
            attacker.say(77 if k % 2 else rng.getrandbits(32), i + k,
                         160 * (i + k), payload=bytes(160))
        party.sock.recv(2048)
    count = count_of(party)
    assert count["packets_in"] == count["done"] == 50
    assert count["wrong_source"] + count["probation"] == 500


def test_a_stray_first_packet_locks_nobody_out(party):
    """Whoever spoke first has said nothing more: the phone is heard from its
    third packet on at the latest."""
    stray, phone = Phone(party.to), Phone(party.to)
    stray.say(5, 1, 1)
    party.sock.recv(2048)
    heard = 0
    for i in range(400):
        phone.say(6, i, 160 * i)
        party.sock.settimeout(0.02)
        try:
            party.sock.recv(2048)
            heard += 1
        except TimeoutError:
            pass
        if heard >= 10:
            break
    count = count_of(party)
    assert heard >= 10, count
    assert count["packets_in"] >= 11


def test_rtcp_on_the_rtp_port_is_no_malformed_packet(party):
    """Multiplexed (RFC 5761): counted as what it is."""
    phone = Phone(party.to)
    report = struct.pack("!BBHIQIII", 0x80, 200, 6, 1, 0, 0, 0, 0)
    for i in range(3):
        phone.say(1, i, 160 * i)
        phone.sock.sendto(report, phone.to)
        party.sock.recv(2048)
    phone.say(1, 3, 480)  # behind the last report
    party.sock.recv(2048)
    rx = party.daemon.ctl("stats")["rx"]
    assert rx["rtcp"] == 3 and rx["malformed"] == 0

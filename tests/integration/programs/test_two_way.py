# SPDX-License-Identifier: Apache-2.0
"""Calls of two phones: speech both ways, each answered where it really
is, and one life for endpoints and streams."""
import json
import socket
import time

import pytest

from conftest import PATIENCE
from control import Control
from packets import header
from test_phone import Phone
from test_senders import started

# Octets of PCMU whose PCMA is known (ITU-T G.711): silence and full scale.
PCMA_OF = {0xff: 0xd5, 0x00: 0x2a, 0x80: 0xaa}


@pytest.fixture
def d(daemon):
    return started(daemon, "auto", "--drain-timeout", "0s")


def start(d, a, b):
    """A call of A (PCMU) and B (PCMA); Phones send to its endpoints. What
    the parties are said to be: words of the command."""
    words = ["a.codec=pcmu", "b.codec=pcma", *a, *b]
    return d.ctl("call", "start", *words)


def endpoint(call, party):
    return int(call[party]["rtp"].rsplit(":", 1)[1])


def said(phone, octet, ssrc, first, n, pt):
    for i in range(first, first + n):
        phone.say(ssrc, i, 160 * i, payload=bytes([octet]) * 160, pt=pt)


def heard(phone, n):
    return [phone.sock.recv(2048) for _ in range(n)]


def address(phone):
    return "127.0.0.1:{}".format(phone.sock.getsockname()[1])


def test_both_hear_each_other_where_they_are(d):
    """Nobody told an address: each is answered where it sends from, from the
    port that it sends to, in its own codec."""
    c = start(d, [], [])
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0xd5, 0xb, 0, 1, 8)  # B is known from now on; A is not yet
    for octet in PCMA_OF:
        said(a, octet, 0xa, list(PCMA_OF).index(octet), 1, 0)
        data = b.sock.recvfrom(2048)
        assert data[1] == ("127.0.0.1", endpoint(c, "b"))
        assert header(data[0])["pt"] == 8
        assert set(data[0][12:]) == {PCMA_OF[octet]}
    said(b, 0xd5, 0xb, 1, 5, 8)
    answers = heard(a, 5)
    assert {header(x)["pt"] for x in answers} == {0}
    assert all(set(x[12:]) <= {0xfe, 0xff} for x in answers)  # silence
    now = d.ctl("call", "query", str(c["call"]))
    assert now["a"]["to"] == address(a) and now["b"]["to"] == address(b)


def test_the_address_that_was_told_is_answered_at_once(d):
    """Before B says a word."""
    b = Phone(9)
    c = start(d, [], [f"b.address={address(b)}"])
    said(Phone(endpoint(c, "a")), 0xff, 1, 0, 3, 0)
    assert len(heard(b, 3)) == 3


def test_a_new_offer_moves_a_party_and_no_frame_is_lost(d):
    old, new = Phone(9), Phone(9)
    c = start(d, [], [f"b.address={address(old)}"])
    a = Phone(endpoint(c, "a"))
    said(a, 0xff, 1, 0, 10, 0)
    first = heard(old, 10)
    d.ctl("call", "change", str(c["call"]),
          f"b.address={address(new)}")
    said(a, 0xff, 1, 10, 10, 0)
    every = [header(x) for x in first + heard(new, 10)]
    assert [x["seq"] - every[0]["seq"] & 0xffff for x in every] == list(
        range(20))
    assert len({x["ssrc"] for x in every}) == 1


def test_both_streams_end_together_and_ports_close(d):
    c = start(d, [], [])
    calls = [c[party]["stream"] for party in "ab"]
    d.ctl("call", "stop", str(calls[0]))
    for call in calls:
        assert "no stream" in d.ctl("stream", str(call), code=1)
    assert "no call" in d.ctl("call", "query", str(c["call"]), code=1)
    again = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    deadline = time.monotonic() + PATIENCE
    while True:  # the ports are free when nobody can have them any more
        try:
            again.bind(("127.0.0.1", endpoint(c, "a")))
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    again.close()
    assert d.ctl("stats")["calls"] == 0


@pytest.mark.parametrize("words, why", [
    (["b.codec=pcma"], ": a.codec: is missing"),
    (["a.codec=pcmu"], ": b.codec: is missing"),
    (["a.codec=pcmu", "b.codec=pcmx"], ": b.codec: unknown"),
    (["a.codec=pcmu", "b.codec=pcma", "a.mode=x"], ": a.mode: pcmu has no"),
    (["a.codec=pcmu", "b.codec=pcma", "b.rate=16000"], ": b.rate: pcma"),
    (["a.codec=pcmu", "b.codec=pcma", "a.fec=1"], ": a.fec: "),
    (["a.codec=pcmu", "b.codec=pcma", "b.learn=strict"],
     ": b.learn: strict hears b.address only"),
    (["a.codec=pcmu", "b.codec=pcma", "b.address=[::1]:9"],
     ": b.address: this node has no IPv6"),
    (["a.codec=pcmu", "b.codec=pcma", "a.interface=nowhere"],
     ": a.interface: there is none called nowhere")])
def test_what_is_refused(d, words, why):
    """Members are called as who asks calls them."""
    assert why in d.ctl("call", "start", *words, code=1)
    stats = d.ctl("stats")
    assert stats["calls"] == 0


def test_costs_of_both_ways_are_known_first(d):
    """Both ways are measured before anything begins."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=amr",
              "b.mode=12.2")
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0, 2, 0, 1, 96)  # not AMR: malformed, but B is known
    said(a, 0xff, 1, 0, 5, 0)
    assert {header(x)["pt"] for x in heard(b, 5)} == {96}


def test_a_call_shows_where_its_packets_go(d):
    """The learned address, not what was told."""
    c = start(d, [], ["b.address=127.0.0.1:9"])
    b = Phone(endpoint(c, "b"))
    for i in range(3):  # a proof, as another address was told
        said(b, 0xd5, 1, i, 1, 8)
    deadline = time.monotonic() + PATIENCE
    while d.ctl("stream", str(c["a"]["stream"]))["to"] != address(b):
        assert time.monotonic() < deadline


def test_a_stream_shows_its_own_endpoint(d):
    """Not the shared port, at which it does not listen."""
    c = start(d, [], [])
    for party in "ab":
        call = d.ctl("stream", str(c[party]["stream"]))
        assert call["rtp"] == c[party]["rtp"]
        assert call["interface"] == c[party]["interface"] == "default"


def test_the_record_says_of_each_stream_who_was_heard(daemon, tmp_path):
    path = tmp_path / "records"
    d = started(daemon, "auto", "--drain-timeout", "0s", "--records", path)
    c = start(d, [], [])
    phone = {"a": Phone(endpoint(c, "a")), "b": Phone(endpoint(c, "b"))}
    said(phone["b"], 0xd5, 0xb, 0, 1, 8)
    said(phone["a"], 0xff, 0xa, 0, 1, 0)
    heard(phone["b"], 1)
    d.ctl("call", "stop", str(c["call"]))
    deadline = time.monotonic() + PATIENCE
    while not path.read_text().endswith("\n"):
        assert time.monotonic() < deadline
    found = {s["stream"]: s for s in json.loads(path.read_text())["streams"]}
    for party in "ab":
        r = found[c[party]["stream"]]
        assert r["in"]["rtp"] == c[party]["rtp"]
        assert r["heard"]["source"] == address(phone[party])
        assert r["heard"]["ssrc"] == int(party, 16)


def test_terms_that_repeat_the_address_move_no_answers(d):
    """B is behind NAT, and silent."""
    c = start(d, [], ["b.address=127.0.0.1:9", "b.learn=immediate"])
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    for i in range(3):  # a proof, as another address was told
        said(b, 0xd5, 0xb, i, 1, 8)
    deadline = time.monotonic() + PATIENCE
    while d.ctl("call", "query",
                str(c["call"]))["b"]["to"] != address(b):
        assert time.monotonic() < deadline
    for words in (["b.learn=delayed"], ["b.address=127.0.0.1:9"],
                  [f"a.address={address(a)}"]):
        now = d.ctl("call", "change", str(c["call"]), *words)
        assert now["b"]["to"] == address(b)
    said(a, 0xff, 0xa, 0, 3, 0)
    assert len(heard(b, 3)) == 3


def test_a_change_that_is_refused_changes_nobody(d):
    c = start(d, ["a.address=127.0.0.1:7"], [])
    with pytest.raises(Exception, match="other IP family"):
        d.ctl("call", "change", str(c["call"]),
              "a.address=127.0.0.1:9", "b.address=[::1]:9")
    now = d.ctl("call", "query", str(c["call"]))
    assert now["a"]["to"] == "127.0.0.1:7"


def test_a_endpoint_at_a_named_interface_of_the_other_family(daemon):
    """Though the party's address is not known yet."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--interface",
                "old/127.0.0.1", "--interface", "new/::1")
    c = start(d, ["a.interface=new"], [])
    assert c["a"]["rtp"].startswith("[::1]:")
    assert c["a"]["interface"] == "new"
    assert c["b"]["rtp"].startswith("127.0.0.1:")


UNKNOWN = {"a": {"codec": "amr-wb"}, "b": {"codec": "amr"}}  # their costs


def test_who_has_gone_starts_no_call(daemon, tmp_path):
    """While both ways are measured. Another client's begins in its place."""
    started(daemon, "auto", "--drain-timeout", "0s", "--control-socket",
            tmp_path / "control")
    first, second = (Control(tmp_path / "control") for _ in range(2))
    first.send("call.start", UNKNOWN)
    first.socket.shutdown(socket.SHUT_RDWR)
    assert "result" in second.ask("call.start", UNKNOWN)
    stats = second.ask("stats", {})["result"]
    assert (stats["calls"], stats["calls_started"]) == (1, 1)
    second.socket.shutdown(socket.SHUT_RDWR)

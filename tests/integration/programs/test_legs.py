# SPDX-License-Identifier: Apache-2.0
"""Legs that are open before anybody talks: heard, changed, joined into
conversations one after the other, and closed with their session."""
import json
import time

import pytest

from conftest import PATIENCE
from control import Control
from test_conversation import address, d, heard, leg, said  # noqa: F401
from test_phone import Phone, header
from test_senders import started


def port(of):
    return int(of["rtp"].rsplit(":", 1)[1])


def until(look, done):
    deadline = time.monotonic() + PATIENCE
    while not done(now := look()):
        assert time.monotonic() < deadline, now
        time.sleep(0.01)
    return now


def test_who_talks_first_is_learned_and_counted(d):
    """Before there is a conversation; then it is answered there at once."""
    a = d.ctl("leg", "open", "codec=pcmu")
    assert a["codec"] == "pcmu" and a["packets"] == 0
    early = Phone(port(a))
    said(early, 0xff, 0xa, 0, 5, 0)
    now = until(lambda: d.ctl("leg", "query", str(a["leg"])),
                lambda x: x["packets"] == 5)
    assert now["to"] == address(early)
    c = d.ctl("conversation", "start", f"a.leg={a['leg']}", "b.codec=pcma")
    assert c["a"]["leg"] == a["leg"] and c["a"]["rtp"] == a["rtp"]
    assert d.ctl("leg", "query", str(a["leg"]))["conversation"] == \
        c["conversation"]
    b = Phone(leg(c, "b"))
    said(b, 0xd5, 0xb, 0, 3, 8)
    assert {header(x)["pt"] for x in heard(early, 3)} == {0}
    d.ctl("conversation", "stop", str(c["conversation"]))
    d.ctl("leg", "close", str(a["leg"]))


def test_a_leg_goes_from_one_conversation_to_the_next(d):
    """Its port, its party and what was learned stay; the other one's leg ends
    with its conversation."""
    a = d.ctl("leg", "open", "codec=pcmu")
    phone = Phone(port(a))
    said(phone, 0xff, 0xa, 0, 1, 0)
    until(lambda: d.ctl("leg", "query", str(a["leg"])),
          lambda x: x["packets"] == 1)
    for i in range(5):
        c = d.ctl("conversation", "start", f"a.leg={a['leg']}",
                  "b.codec=pcma")
        b = Phone(leg(c, "b"))
        said(b, 0xd5, 0xb, 0, 3, 8)
        assert len(heard(phone, 3)) == 3
        said(phone, 0xff, 0xa, 1 + 3 * i, 3, 0)
        assert {header(x)["pt"] for x in heard(b, 3)} == {8}
        d.ctl("conversation", "stop", str(c["conversation"]))
        assert "conversation" not in d.ctl("leg", "query", str(a["leg"]))
        assert "no leg" in d.ctl("leg", "query", str(c["b"]["leg"]), code=1)
    assert d.ctl("leg", "close", str(a["leg"]))["packets"] == 16
    assert "no leg" in d.ctl("leg", "query", str(a["leg"]), code=1)
    until(lambda: d.ctl("stats"),
          lambda x: x["calls"] == 0 and x["interfaces"][0]["used"] == 0)


def test_what_is_told_later_counts(d):
    """A leg without a codec, and a new address while it talks."""
    old, new = Phone(9), Phone(9)
    b = d.ctl("leg", "open")
    assert b["codec"] is None
    told = d.ctl("leg", "change", str(b["leg"]), "codec=pcma",
                 f"address={address(old)}")
    assert told["codec"] == "pcma" and told["to"] == address(old)
    c = d.ctl("conversation", "start", "a.codec=pcmu", f"b.leg={b['leg']}")
    a = Phone(leg(c, "a"))
    said(a, 0xff, 1, 0, 10, 0)
    first = heard(old, 10)
    d.ctl("leg", "change", str(b["leg"]), f"address={address(new)}")
    said(a, 0xff, 1, 10, 10, 0)
    every = [header(x) for x in first + heard(new, 10)]
    assert [x["seq"] - every[0]["seq"] & 0xffff for x in every] == list(
        range(20))


def test_codecs_change_while_both_speak(d):
    """By the leg or by the conversation; costs are measured meanwhile."""
    c = d.ctl("conversation", "start", "a.codec=pcmu", "b.codec=pcma")
    a, b = Phone(leg(c, "a")), Phone(leg(c, "b"))
    said(b, 0xd5, 0xb, 0, 1, 8)
    said(a, 0xff, 0xa, 0, 1, 0)
    every = heard(b, 1)
    how = ["codec=amr", "codec=opus pt=111", "codec=g722", "codec=l16 pt=97",
           "codec=amr-wb pt=98 octet_align=yes", "codec=pcma"]
    for i, words in enumerate(how):
        pt = [96, 111, 9, 97, 98, 8][i]
        if i % 2:
            d.ctl("leg", "change", str(c["b"]["leg"]), *words.split())
        else:
            d.ctl("conversation", "change", str(c["conversation"]),
                  *("b." + w for w in words.split()))
        said(a, 0xff, 0xa, 1 + 5 * i, 5, 0)
        got = heard(b, 5)
        assert {header(x)["pt"] for x in got} == {pt}
        every += got
    every = [header(x) for x in every]
    assert [x["seq"] - every[0]["seq"] & 0xffff for x in every] == list(
        range(31))
    assert len({x["ssrc"] for x in every}) == 1
    assert all(0 < (y["ts"] - x["ts"]) & 0xffffffff < 2 ** 31
               for x, y in zip(every, every[1:]))


def test_a_party_may_send_what_else_it_said(d):
    a = d.ctl("leg", "open", "codec=pcmu",
              'also=[{"codec": "pcma"}, {"codec": "g722"}]')
    c = d.ctl("conversation", "start", f"a.leg={a['leg']}", "b.codec=l16",
              "b.pt=97")
    b = Phone(leg(c, "b"))
    said(b, 0, 0xb, 0, 1, 97)
    phone = Phone(port(a))
    for i, pt in enumerate([0, 8, 9, 0, 9, 8, 97]):
        said(phone, 0xd5, 0xa, 2 * i, 2, pt)
        if pt != 97:
            assert len(heard(b, 2)) == 2
    call = str(c["a"]["call"])
    until(lambda: d.ctl("call", call), lambda x: x["count"]["wrong_pt"] == 2)
    assert d.ctl("call", call)["count"]["packets_in"] == 12


@pytest.mark.parametrize("words, why", [
    (['a.also=[{"codec": "pcmx"}]'], ": a.also[0].codec: unknown"),
    (['a.also=[{"codec": "g722"}, {"codec": "amr", "pt": 9}]'],
     ": a.also[1].pt: 9 is another codec's"),
    (['a.also=[{"pt": 9}]'], ": a.also[0].codec: is missing"),
    (['a.also=[{"codec": "g722", "speed": 9}]'],
     ": a.also[0].speed: unknown member"),
    (['a.also=[{"codec": "g722", "pt": 128}]'], ": a.also[0].pt: 128 is not"),
    (['a.also={"codec": "g722"}'], ": a.also: must be a list"),
    (['a.also=[9]'], ": a.also[0].: must be an object"),
    (['a.also=' + json.dumps([{"codec": "amr", "pt": 96 + i}
                              for i in range(8)])],
     ": a.also: has more than 7 members"),
    (["a.codec=null", 'a.also=[{"codec": "g722"}]'], ": a.codec: is missing"),
    (['a.also=[{"codec": "g723_1"}]'], ": ptime: g723_1 comes in frames")])
def test_what_lists_refuse(d, words, why):
    first = [] if "a.codec=null" in words else ["a.codec=pcmu"]
    assert why in d.ctl("conversation", "start", *first, "b.codec=pcma",
                        *words, code=1)
    stats = d.ctl("stats")
    assert stats["calls"] == 0 and not stats["interfaces"][0]["used"]


def test_a_relay_keeps_its_codec(d):
    c = d.ctl("conversation", "start", "a.codec=pcmu", "b.codec=pcmu")
    assert "relay" in d.ctl("leg", "change", str(c["b"]["leg"]),
                            "codec=pcma", code=1)


@pytest.mark.parametrize("words, why", [
    (["open", "codec=pcmx"], ": codec: unknown 'pcmx'"),
    (["open", "pt=3"], ": codec: is missing: what is said"),
    (["open", "codec=pcmu", "mode=x"], ": mode: pcmu has no"),
    (["open", "learn=strict"], ": learn: strict hears address only"),
    (["open", "interface=nowhere"], ": interface: there is none called"),
    (["open", "address=[::1]:9"], ": address: this node has no IPv6"),
    (["open", "leg=3"], ": leg: unknown member"),
    (["change", "999", "learn=delayed"], "there is no leg 999"),
    (["query", "999"], "there is no leg 999"),
    (["close", "999"], "there is no leg 999")])
def test_what_is_refused(d, words, why):
    assert why in d.ctl("leg", *words, code=1)
    assert d.ctl("stats")["interfaces"][0]["used"] == 0


def test_what_a_leg_refuses(d):
    mute = d.ctl("leg", "open")["leg"]
    a = d.ctl("leg", "open", "codec=pcmu")["leg"]

    def refused(*words):
        return d.ctl("conversation", "start", *words, code=1)

    assert "a.leg: there is no leg 99" in refused("a.leg=99", "b.codec=pcma")
    assert f"b.leg: leg {mute} has no codec" in refused("a.codec=pcmu",
                                                        f"b.leg={mute}")
    assert f"a.codec: leg {a} has it" in refused(f"a.leg={a}", "a.pt=3",
                                                 "b.codec=pcma")
    assert f"a.learn: leg {a} has it" in refused(
        f"a.leg={a}", "a.learn=delayed", "b.codec=pcma")
    assert "b.leg: is a's" in refused(f"a.leg={a}", f"b.leg={a}")
    assert ": learn: strict" in d.ctl("leg", "change", str(a),
                                      "learn=strict", code=1)
    assert ": address: its leg is of the other" in d.ctl(
        "leg", "change", str(a), "address=[::1]:9", code=1)
    assert ": codec: is missing" in d.ctl("leg", "change", str(a), "dtx=yes",
                                          code=1)
    c = d.ctl("conversation", "start", f"a.leg={a}", "b.codec=pcma")
    busy = f"conversation {c['conversation']} has"
    assert f"b.leg: {busy}" in refused("a.codec=pcmu", f"b.leg={a}")
    assert busy in d.ctl("leg", "close", str(a), code=1)
    assert busy in d.ctl("leg", "close", str(c["b"]["leg"]), code=1)
    d.ctl("conversation", "stop", str(c["conversation"]))
    assert "no leg" in d.ctl("leg", "close", str(c["b"]["leg"]), code=1)
    d.ctl("leg", "close", str(a))
    d.ctl("leg", "close", str(mute))
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])


def opened(control, **params):
    return control.ask("leg.open", {"codec": "pcmu", **params}
                       )["result"]["leg"]


@pytest.fixture
def by_socket(daemon, tmp_path):
    path = tmp_path / "control"
    return started(daemon, "auto", "--drain-timeout", "0s",
                   "--control-socket", path), path


def test_legs_close_with_their_session(by_socket):
    """But those that nobody owns stay, and one that talks to the end of its
    conversation."""
    d, path = by_socket
    c = Control(path)
    mine, kept, talks = opened(c), opened(c, keep=True), opened(c)
    talk = c.ask("conversation.start", {
        "a": {"leg": talks}, "b": {"codec": "pcma"},
        "keep": True})["result"]["conversation"]
    c.ask("bye", {})
    until(lambda: d.ctl("stats"), lambda x: x["interfaces"][0]["used"] == 3)
    assert "no leg" in d.ctl("leg", "query", str(mine), code=1)
    assert d.ctl("leg", "query", str(kept))["packets"] == 0
    assert d.ctl("leg", "query", str(talks))["conversation"] == talk
    d.ctl("conversation", "stop", str(talk))
    assert "no leg" in d.ctl("leg", "query", str(talks), code=1)
    d.ctl("leg", "close", str(kept))
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])


def test_a_session_that_is_taken_over_brings_its_legs(by_socket):
    d, path = by_socket
    first = Control(path)
    secret = first.ask("hello", {})["result"]["session"]
    mine = opened(first)
    second = Control(path)
    assert "result" in second.ask("hello", {"resume": secret})
    first.socket.close()
    assert "result" in second.ask("leg.query", {"leg": mine})
    second.ask("bye", {})
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])
    assert "no leg" in d.ctl("leg", "query", str(mine), code=1)

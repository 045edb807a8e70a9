# SPDX-License-Identifier: Apache-2.0
"""Endpoints that are open before anybody talks: heard, changed, joined into
calls one after the other, and closed with their session."""
import json
import select
import time

import pytest

from conftest import PATIENCE
from control import Control
from packets import header
from test_two_way import address, d, heard, endpoint, said  # noqa: F401
from test_phone import Phone
from test_rtcp import pair
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
    """Before there is a call; then it is answered there at once."""
    a = d.ctl("endpoint", "open", "codec=pcmu")
    assert a["codec"] == "pcmu" and a["packets"] == 0
    early = Phone(port(a))
    said(early, 0xff, 0xa, 0, 5, 0)
    now = until(lambda: d.ctl("endpoint", "query", str(a["endpoint"])),
                lambda x: x["packets"] == 5)
    assert now["to"] == address(early)
    c = d.ctl("call", "start", f"a.endpoint={a['endpoint']}", "b.codec=pcma")
    assert c["a"]["endpoint"] == a["endpoint"] and c["a"]["rtp"] == a["rtp"]
    assert d.ctl("endpoint", "query", str(a["endpoint"]))["call"] == \
        c["call"]
    b = Phone(endpoint(c, "b"))
    said(b, 0xd5, 0xb, 0, 3, 8)
    assert {header(x)["pt"] for x in heard(early, 3)} == {0}
    d.ctl("call", "stop", str(c["call"]))
    d.ctl("endpoint", "close", str(a["endpoint"]))


def test_an_endpoint_goes_from_one_call_to_the_next(d):
    """Its port, its party and what was learned stay; the other one's endpoint ends
    with its call."""
    a = d.ctl("endpoint", "open", "codec=pcmu")
    phone = Phone(port(a))
    said(phone, 0xff, 0xa, 0, 1, 0)
    until(lambda: d.ctl("endpoint", "query", str(a["endpoint"])),
          lambda x: x["packets"] == 1)
    for i in range(5):
        c = d.ctl("call", "start", f"a.endpoint={a['endpoint']}",
                  "b.codec=pcma")
        b = Phone(endpoint(c, "b"))
        said(b, 0xd5, 0xb, 0, 3, 8)
        assert len(heard(phone, 3)) == 3
        said(phone, 0xff, 0xa, 1 + 3 * i, 3, 0)
        assert {header(x)["pt"] for x in heard(b, 3)} == {8}
        d.ctl("call", "stop", str(c["call"]))
        assert "call" not in d.ctl("endpoint", "query", str(a["endpoint"]))
        assert "no endpoint" in d.ctl("endpoint", "query", str(c["b"]["endpoint"]), code=1)
    assert d.ctl("endpoint", "close", str(a["endpoint"]))["packets"] == 16
    assert "no endpoint" in d.ctl("endpoint", "query", str(a["endpoint"]), code=1)
    until(lambda: d.ctl("stats"),
          lambda x: x["calls"] == 0 and x["interfaces"][0]["used"] == 0)


def test_what_is_told_later_counts(d):
    """An endpoint without a codec, and a new address while it talks."""
    old, new = Phone(9), Phone(9)
    b = d.ctl("endpoint", "open")
    assert b["codec"] is None
    told = d.ctl("endpoint", "change", str(b["endpoint"]), "codec=pcma",
                 f"address={address(old)}")
    assert told["codec"] == "pcma" and told["to"] == address(old)
    c = d.ctl("call", "start", "a.codec=pcmu", f"b.endpoint={b['endpoint']}")
    a = Phone(endpoint(c, "a"))
    said(a, 0xff, 1, 0, 10, 0)
    first = heard(old, 10)
    d.ctl("endpoint", "change", str(b["endpoint"]), f"address={address(new)}")
    said(a, 0xff, 1, 10, 10, 0)
    every = [header(x) for x in first + heard(new, 10)]
    assert [x["seq"] - every[0]["seq"] & 0xffff for x in every] == list(
        range(20))


def test_types_and_hold_are_told_later(d):
    """Of an endpoint that no call has yet, and of one that has."""
    a = d.ctl("endpoint", "open", "codec=pcmu", "hold=true")
    b = d.ctl("endpoint", "open", "codec=pcma", "events=96")
    assert a["hold"] and not b["hold"]
    told = d.ctl("endpoint", "change", str(a["endpoint"]), "events=101", "hold=false")
    assert not told["hold"]
    c = d.ctl("call", "start", f"a.endpoint={a['endpoint']}",
              f"b.endpoint={b['endpoint']}")
    phones = Phone(port(a)), Phone(port(b))
    digit = bytes([5, 0x8a, 0, 160])  # its end, which is sent three times
    said(phones[1], 0xd5, 0xb, 0, 1, 8)
    until(lambda: d.ctl("endpoint", "query", str(b["endpoint"])),
          lambda x: x["packets"] == 1)
    for i, words in enumerate(("", "events=102", "events=103")):
        if words:
            d.ctl("endpoint", "change", str(a["endpoint"]), words)
        phones[0].say(0xa, i, 160 * i, payload=digit, pt=101 + i)
        assert {header(x)["pt"] for x in heard(phones[1], 3)} == {96}
    held = d.ctl("call", "change", str(c["call"]),
                 "b.hold=true")
    assert held["b"]["hold"] and not held["a"]["hold"]
    said(phones[0], 0xff, 0xa, 4, 3, 0)
    until(lambda: d.ctl("stats"), lambda x: x["totals"]["on_hold"] == 3)


def test_a_hold_between_codec_and_relay_is_no_loss(d):
    """Numbers go on where they were before the hold, though the relay that has
    begun meanwhile has sent nothing yet."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcma")
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0xd5, 0xb, 0, 1, 8)
    said(a, 0xff, 0xa, 0, 5, 0)
    every = heard(b, 5)
    change = ("call", "change", str(c["call"]))
    d.ctl(*change, "b.codec=pcmu", "b.hold=true")
    said(a, 0xff, 0xa, 5, 20, 0)
    until(lambda: d.ctl("stats"), lambda x: x["totals"]["on_hold"] == 20)
    d.ctl(*change, "b.hold=false")
    said(a, 0xff, 0xa, 25, 5, 0)
    every += heard(b, 5)
    assert d.ctl("stats")["totals"]["relayed"] == 25
    assert {b - a & 0xffff for a, b in zip(
        *([header(p)["seq"] for p in every][i:] for i in (0, 1)))} == {1}


def test_a_codec_gives_way_to_one_that_is_only_relayed(d):
    """What the transcoder cost is given back, and nobody looks for it."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcma")
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0xd5, 0xb, 0, 1, 8)
    said(a, 0xff, 0xa, 0, 5, 0)
    heard(b, 5)
    d.ctl("call", "change", str(c["call"]), *(
        f"{i}.{word}" for i in "ab" for word in ("codec=relayed", "pt=98",
                                                 "rate=8000")))
    said(a, 0x11, 0xa, 5, 5, 98)
    assert {header(x)["pt"] for x in heard(b, 5)} == {98}
    then = d.ctl("stats")["uptime_s"]  # the node looks each second
    until(lambda: d.ctl("stats"), lambda x: x["uptime_s"] > then + 3)


def test_codecs_change_while_both_speak(d):
    """By the endpoint or by the call; costs are measured meanwhile."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcma")
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    said(b, 0xd5, 0xb, 0, 1, 8)
    said(a, 0xff, 0xa, 0, 1, 0)
    every = heard(b, 1)
    how = ["codec=amr", "codec=opus pt=111", "codec=g722", "codec=l16 pt=97",
           "codec=amr-wb pt=98 octet_align=yes", "codec=pcma"]
    for i, words in enumerate(how):
        pt = [96, 111, 9, 97, 98, 8][i]
        if i % 2:
            d.ctl("endpoint", "change", str(c["b"]["endpoint"]), *words.split())
        else:
            d.ctl("call", "change", str(c["call"]),
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
    a = d.ctl("endpoint", "open", "codec=pcmu",
              'also=[{"codec": "pcma"}, {"codec": "g722"}]')
    c = d.ctl("call", "start", f"a.endpoint={a['endpoint']}", "b.codec=l16",
              "b.pt=97")
    b = Phone(endpoint(c, "b"))
    said(b, 0, 0xb, 0, 1, 97)
    phone = Phone(port(a))
    for i, pt in enumerate([0, 8, 9, 0, 9, 8, 97]):
        said(phone, 0xd5, 0xa, 2 * i, 2, pt)
        if pt != 97:
            assert len(heard(b, 2)) == 2
    call = str(c["a"]["stream"])
    until(lambda: d.ctl("stream", call), lambda x: x["count"]["wrong_pt"] == 2)
    assert d.ctl("stream", call)["count"]["packets_in"] == 12


@pytest.mark.parametrize("words, why", [
    (['a.also=[{"codec": "pcmx"}]'], ": a.also[0].codec: unknown"),
    (['a.also=[{"codec": "g722"}, {"codec": "amr", "pt": 9}]'],
     ": a.also[1].pt: 9 is another codec's"),
    (['a.also=[{"pt": 9}]'], ": a.also[0].codec: is missing"),
    (['a.also=[{"codec": "g722", "speed": 9}]'],
     ": a.also[0].speed: unknown member"),
    (['a.also=[{"codec": "g722", "pt": 128}]'],
     ": a.also[0].pt=128: needs a whole number from 0 to 127"),
    (['a.also={"codec": "g722"}'], ": a.also: must be a list"),
    (['a.also=[9]'], ": a.also[0].: must be an object"),
    (['a.also=' + json.dumps([{"codec": "amr", "pt": 96 + i}
                              for i in range(8)])],
     ": a.also: has more than 7 members"),
    (["a.codec=null", 'a.also=[{"codec": "g722"}]'], ": a.codec: is missing"),
    (['a.also=[{"codec": "g723_1"}]'], ": ptime: g723_1 comes in frames")])
def test_what_lists_refuse(d, words, why):
    first = [] if "a.codec=null" in words else ["a.codec=pcmu"]
    assert why in d.ctl("call", "start", *first, "b.codec=pcma",
                        *words, code=1)
    stats = d.ctl("stats")
    assert stats["calls"] == 0 and not stats["interfaces"][0]["used"]


class Line:
    """What a phone hears: every packet follows the one before."""

    def __init__(self, phone):
        self.phone, self.last = phone, None

    def hears(self, pt, n=1):
        for data in heard(self.phone, n):
            now = header(data)
            assert now["pt"] == pt
            if self.last:
                assert now["ssrc"] == self.last["ssrc"]
                assert now["seq"] - self.last["seq"] & 0xffff == 1
                assert now["ts"] - self.last["ts"] & 0xffffffff == 160
            self.last = now


def told(d, c):
    """Of the call, and of its two streams."""
    now = d.ctl("call", "query", str(c["call"]))
    return now, [d.ctl("stream", str(c[party]["stream"])) for party in "ab"]


def test_a_relay_turns_into_codecs_and_back(d):
    """As a re-INVITE does it, while packets flow: by the endpoint, then by the
    call. Numbers go on, and every packet counts once."""
    c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcmu")
    assert c["relay"] is True and d.ctl("stats")["relays"] == 2
    a, b = Phone(endpoint(c, "a")), Phone(endpoint(c, "b"))
    at_a, at_b = Line(a), Line(b)
    said(b, 0xff, 0xb, 0, 1, 0)  # B is known from now on; A is not
    said(a, 0xff, 0xa, 0, 1, 0)
    at_b.hears(0)
    done = relayed = 0
    for i in range(6):
        codec, pt, octet = [("pcma", 8, 0xd5), ("pcmu", 0, 0xff)][i % 2]
        if i < 2:
            d.ctl("endpoint", "change", str(c["b"]["endpoint"]), f"codec={codec}")
        else:
            d.ctl("call", "change", str(c["call"]),
                  f"b.codec={codec}")
        for k in range(1 + 10 * i, 11 + 10 * i):
            said(a, 0xff, 0xa, k, 1, 0)
            at_b.hears(pt)
            said(b, octet, 0xb, k, 1, pt)
            at_a.hears(0)
        done, relayed = done + 10 * (pt == 8), relayed + 10 * (pt == 0)
        now, calls = told(d, c)
        assert now["relay"] is (pt == 0)
        assert now["b"]["out_ssrc"] == at_b.last["ssrc"] == 0xa
        assert now["a"]["out_ssrc"] == at_a.last["ssrc"]
        assert d.ctl("stats")["relays"] == (2 if pt == 0 else 0)
        for call in calls:
            assert call["relay"] is (pt == 0)
            count = call["count"]
            # a call that is not at rest has one more
            assert count["done"] >= done and count["relayed"] > 0
            assert count["done"] + count["relayed"] == 1 + done + relayed
            assert count["packets_in"] == 1 + done + relayed
    # a call that sleeps costs nothing
    until(lambda: d.ctl("stats"), lambda x: x["measured_load"] == 0
          and x["load"] < 1e-5)
    d.ctl("call", "stop", str(c["call"]))
    stats = until(lambda: d.ctl("stats"), lambda x: x["calls"] == 0)
    total = stats["totals"]
    assert stats["rx"]["packets"] == total["packets_in"] + stats["rx"]["rtcp"]
    assert total["packets_in"] == total["done"] + total["relayed"] == 122
    assert total["packets_out"] + total["no_destination"] == 122


def test_lists(d):
    opened_endpoints = [d.ctl("endpoint", "open", "codec=pcmu")["endpoint"]
                   for _ in range(3)]
    talks = [d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcma")
             for _ in range(2)]
    endpoints = d.ctl("endpoint", "list")["endpoints"]
    every = opened_endpoints + [c[party]["endpoint"] for c in talks for party in "ab"]
    assert [x["endpoint"] for x in endpoints] == sorted(every)
    assert [x.get("call") for x in endpoints[:3]] == [None] * 3
    assert {x["codec"] for x in endpoints} == {"pcmu", "pcma"}
    now = d.ctl("call", "list")["calls"]
    assert [x["call"] for x in now] == [
        x["call"] for x in talks]
    assert now[0]["a"]["rtp"] == talks[0]["a"]["rtp"]
    page = d.ctl("raw", "endpoint.list", '{"after": %d, "limit": 2}' % endpoints[1]["endpoint"])
    assert [x["endpoint"] for x in page["endpoints"]] == [x["endpoint"] for x in endpoints[2:4]]
    assert page["more"] is True
    page = d.ctl("raw", "call.list",
                 '{"after": %d}' % talks[1]["call"])
    assert page == {"calls": [], "more": False}


def test_packets_do_not_go_round(d):
    """A party is at neither endpoint of its own call. It may be at one of
    another call: a chain."""
    a, b = (d.ctl("endpoint", "open", f"codec={codec}")
            for codec in ("pcmu", "pcma"))

    def refused(*words):
        return d.ctl(*words, code=1)

    round_ = "packets would go round"
    assert f"address: is that of endpoint {a['endpoint']}" in refused(
        "endpoint", "change", str(a["endpoint"]), f"address={a['rtp']}")
    rtcp = f"127.0.0.1:{port(a) + 1}"
    assert round_ in refused("endpoint", "change", str(a["endpoint"]),
                             f"address={rtcp}")
    d.ctl("endpoint", "change", str(a["endpoint"]), f"address={b['rtp']}")
    assert f"a.address: is that of endpoint {b['endpoint']}" in refused(
        "call", "start", f"a.endpoint={a['endpoint']}", f"b.endpoint={b['endpoint']}")
    assert d.ctl("stats")["calls"] == 0
    d.ctl("endpoint", "change", str(a["endpoint"]), "address=127.0.0.1:9")
    c = d.ctl("call", "start", f"a.endpoint={a['endpoint']}",
              f"b.endpoint={b['endpoint']}")
    number = str(c["call"])
    assert f"b.address: is that of endpoint {a['endpoint']}" in refused(
        "call", "change", number, f"b.address={a['rtp']}")
    assert round_ in refused("endpoint", "change", str(b["endpoint"]),
                             f"address={b['rtp']}")
    # PCMU to PCMA, and from there by another call to PCMU again
    far = Phone(9)
    chain = d.ctl("call", "start", "a.codec=pcma", "b.codec=pcmu",
                  f"b.address={address(far)}")
    d.ctl("call", "change", number,
          f"b.address={chain['a']['rtp']}")
    said(Phone(port(a)), 0xff, 0xa, 0, 3, 0)
    assert {header(x)["pt"] for x in heard(far, 3)} == {0}


@pytest.mark.parametrize("words, why", [
    (["open", "codec=pcmx"], ": codec: unknown 'pcmx'"),
    (["open", "pt=3"], ": codec: is missing: what is said"),
    (["open", "codec=pcmu", "mode=x"], ": mode: pcmu has no"),
    (["open", "learn=strict"], ": learn: strict hears address only"),
    (["open", "interface=nowhere"], ": interface: there is none called"),
    (["open", "address=[::1]:9"], ": address: this node has no IPv6"),
    (["open", "endpoint=3"], ": endpoint: unknown member"),
    (["change", "999", "learn=delayed"], "there is no endpoint 999"),
    (["query", "999"], "there is no endpoint 999"),
    (["close", "999"], "there is no endpoint 999")])
def test_what_is_refused(d, words, why):
    assert why in d.ctl("endpoint", *words, code=1)
    assert d.ctl("stats")["interfaces"][0]["used"] == 0


def test_what_a_endpoint_refuses(d):
    mute = d.ctl("endpoint", "open")["endpoint"]
    a = d.ctl("endpoint", "open", "codec=pcmu")["endpoint"]

    def refused(*words):
        return d.ctl("call", "start", *words, code=1)

    assert "a.endpoint: there is no endpoint 99" in refused("a.endpoint=99", "b.codec=pcma")
    assert f"b.endpoint: endpoint {mute} has no codec" in refused("a.codec=pcmu",
                                                        f"b.endpoint={mute}")
    assert f"a.codec: endpoint {a} has it" in refused(f"a.endpoint={a}", "a.pt=3",
                                                 "b.codec=pcma")
    assert f"a.learn: endpoint {a} has it" in refused(
        f"a.endpoint={a}", "a.learn=delayed", "b.codec=pcma")
    for word, where in (("rtcp=mux", "endpoint.open"), ("rtcp=port", "endpoint.open"),
                        ("events=101", "endpoint.change"),
                        ("hold=true", "endpoint.change"),
                        ("address=127.0.0.1:9", "endpoint.change")):
        why = refused(f"a.endpoint={a}", f"a.{word}", "b.codec=pcma")
        assert f"a.{word.split('=')[0]}: endpoint {a} has it (a.endpoint)" in why
        assert where in why
    assert "b.endpoint: is a's" in refused(f"a.endpoint={a}", f"b.endpoint={a}")
    assert ": learn: strict" in d.ctl("endpoint", "change", str(a),
                                      "learn=strict", code=1)
    assert ": address: its endpoint is of the other" in d.ctl(
        "endpoint", "change", str(a), "address=[::1]:9", code=1)
    assert ": codec: is missing" in d.ctl("endpoint", "change", str(a), "dtx=yes",
                                          code=1)
    c = d.ctl("call", "start", f"a.endpoint={a}", "b.codec=pcma")
    busy = f"call {c['call']} has"
    assert f"b.endpoint: {busy}" in refused("a.codec=pcmu", f"b.endpoint={a}")
    assert busy in d.ctl("endpoint", "close", str(a), code=1)
    assert busy in d.ctl("endpoint", "close", str(c["b"]["endpoint"]), code=1)
    d.ctl("call", "stop", str(c["call"]))
    assert "no endpoint" in d.ctl("endpoint", "close", str(c["b"]["endpoint"]), code=1)
    d.ctl("endpoint", "close", str(a))
    d.ctl("endpoint", "close", str(mute))
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])


def opened(control, **params):
    return control.ask("endpoint.open", {"codec": "pcmu", **params}
                       )["result"]["endpoint"]


@pytest.fixture
def by_socket(daemon, tmp_path):
    path = tmp_path / "control"
    return started(daemon, "auto", "--drain-timeout", "0s",
                   "--control-socket", path), path


def test_endpoints_close_with_their_session(by_socket):
    """But those that nobody owns stay, and one that talks to the end of its
    call."""
    d, path = by_socket
    c = Control(path)
    mine, kept, talks = opened(c), opened(c, keep=True), opened(c)
    talk = c.ask("call.start", {
        "a": {"endpoint": talks}, "b": {"codec": "pcma"},
        "keep": True})["result"]["call"]
    c.ask("bye", {})
    until(lambda: d.ctl("stats"), lambda x: x["interfaces"][0]["used"] == 3)
    assert "no endpoint" in d.ctl("endpoint", "query", str(mine), code=1)
    assert d.ctl("endpoint", "query", str(kept))["packets"] == 0
    assert d.ctl("endpoint", "query", str(talks))["call"] == talk
    d.ctl("call", "stop", str(talk))
    assert "no endpoint" in d.ctl("endpoint", "query", str(talks), code=1)
    d.ctl("endpoint", "close", str(kept))
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])


def test_a_session_that_is_taken_over_brings_its_endpoints(by_socket):
    d, path = by_socket
    first = Control(path)
    secret = first.ask("hello", {})["result"]["session"]
    mine = opened(first)
    second = Control(path)
    assert "result" in second.ask("hello", {"resume": secret})
    first.socket.close()
    assert "result" in second.ask("endpoint.query", {"endpoint": mine})
    second.ask("bye", {})
    until(lambda: d.ctl("stats"), lambda x: not x["interfaces"][0]["used"])
    assert "no endpoint" in d.ctl("endpoint", "query", str(mine), code=1)


def test_rtcp_goes_where_it_is_told(daemon):
    """At once, after a change, and no more after one that does not say it."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--rtcp-interval",
                "250ms")
    phone, (rtp, rtcp), other = Phone(9), pair(), Phone(9)
    here = address(phone)

    def reported(sock):
        sock.settimeout(PATIENCE)
        assert sock.recv(2048)[1] in (200, 201)

    a = d.ctl("endpoint", "open", "codec=pcmu", f"address={here}",
              f"rtcp_address={address(other)}")
    reported(other.sock)
    d.ctl("endpoint", "change", str(a["endpoint"]), f"address={here}",
          f"rtcp_address=127.0.0.1:{rtcp.getsockname()[1]}")
    reported(rtcp)
    while select.select([rtcp], [], [], 0)[0]:
        rtcp.recv(2048)
    d.ctl("endpoint", "change", str(a["endpoint"]),
          f"address=127.0.0.1:{rtp.getsockname()[1]}")
    reported(rtcp)  # one port above
    for words in (["endpoint", "change", str(a["endpoint"])], ["endpoint", "open"]):
        for said in ([], [f"address={here}"]):
            assert "rtcp_address: goes with address" in d.ctl(
                *words, *said, "rtcp_address=[::1]:9", code=1)

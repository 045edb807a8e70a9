# SPDX-License-Identifier: Apache-2.0
"""Media before the answer (early media, RFC 3960): what the other side sends
by the offer's codecs is passed on, and goes on behind the answer as one
stream."""
import json

import pytest

from ng_call import (  # noqa: F401
    AMR, AMR_FMTP, Call, Talker, all_is_gone, d, proxy, until)
from packets import header
from streams import ahead
from telephony import System
from test_rtcp import pair
from test_senders import started

N = 5
SIZES = {"PCMA": 160, "PCMU": 160, "G722": 160}


def says(phone, name, pt, n=N):
    """Packets of 20 ms."""
    for _ in range(n):
        payload = b"\xf0\x7c" if name == "AMR" else b"\x55" * SIZES[name]
        phone.say(phone.ssrc, phone.seq, 160 * phone.seq, payload=payload,
                  pt=pt)
        phone.seq += 1


def assert_one_stream(heads):
    """Numbers and times go on by one packet of 20 ms."""
    assert len({h["ssrc"] for h in heads}) == 1
    assert [ahead(a["seq"], b["seq"], 16) for a, b in zip(heads, heads[1:])] \
        == [1] * (len(heads) - 1)
    assert [ahead(a["ts"], b["ts"], 32) for a, b in zip(heads, heads[1:])] \
        == [160] * (len(heads) - 1)


def is_silent(phone):
    phone.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        phone.hears(1)


TO = {"mask": ["all"]}
PCMS = "8 PCMA/8000, 0 PCMU/8000"


@pytest.mark.parametrize("offered, codec, early, hears, answered, after", [
    # relayed, and relayed on; by the second codec, too
    (PCMS, {}, "PCMA/8000", 8, "PCMA/8000", 8),
    (PCMS, {}, "PCMU/8000", 0, "PCMU/8000", 0),
    (PCMS, {}, "PCMU/8000", 0, "PCMA/8000", 8),
    # of no use to the caller as it is
    ("8 PCMA/8000", {**TO, "transcode": ["G722"]}, "G722/8000", 8,
     "G722/8000", 8),
    ("0 PCMU/8000", {**TO, "transcode": [AMR]}, "AMR/8000", 0, "AMR/8000", 0),
    # one that was added, and then the answer has one of the caller's
    ("0 PCMU/8000", {"transcode": ["G722"]}, "PCMU/8000", 0, "G722/8000", 0),
    ("0 PCMU/8000", {"transcode": ["G722"]}, "G722/8000", 0, "PCMU/8000", 0),
    ("0 PCMU/8000", {"transcode": ["G722"]}, "G722/8000", 0, "G722/8000", 0),
])
def test_what_comes_before_the_answer_is_heard(d, proxy, offered, codec, early,
                                               hears, answered, after):
    call = Call(proxy, codec=codec)
    call.offer(offered)
    pt = {n: t for t, n in zip(call.offered[0].types, call.offered[0].names)}
    says(call.b, early.split("/")[0], pt[early])
    heads = [header(x) for x in call.a.hears(N)]
    assert {h["pt"] for h in heads} == {hears}
    fmtp = f" {AMR_FMTP}" if answered == "AMR/8000" else ""
    call.answer(f"{pt[answered]} {answered}{fmtp}")
    says(call.b, answered.split("/")[0], pt[answered])
    heads += [header(x) for x in call.a.hears(N)]
    assert {h["pt"] for h in heads[N:]} == {after}
    assert_one_stream(heads)
    line = call.answered[0]
    says(call.a, line.names[0].split("/")[0], line.types[0])
    assert {header(x)["pt"] for x in call.b.hears(N)} == {pt[answered]}
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()
    all_is_gone(d)


def test_it_goes_to_the_newest_offer(d, proxy):
    """The caller has moved, and has another codec, before anybody answered;
    the other side speaks all the while."""
    call = Call(proxy, codec={"transcode": ["G722"]})
    call.offer("0 PCMU/8000")
    says(call.b, "PCMU", 0)
    heads = [header(x) for x in call.a.hears(N)]
    old, call.a = call.a, Talker()
    call.offer("8 PCMA/8000")
    says(call.b, "PCMA", 8)
    heads += [header(x) for x in call.a.hears(N)]
    assert [h["pt"] for h in heads] == [0] * N + [8] * N
    assert_one_stream(heads)
    is_silent(old)
    call.delete()
    all_is_gone(d)


@pytest.mark.parametrize("mode, host", [("sendonly", None), ("inactive", None),
                                        ("sendrecv", "0.0.0.0")])
def test_who_wants_nothing_is_sent_nothing(d, proxy, mode, host):
    call = Call(proxy)
    call.a.host = host or call.a.host
    call.offer("8 PCMA/8000", lines=[f"a={mode}"])
    says(call.b, "PCMA", 8)
    until(lambda: d.ctl("stats")["totals"],
          lambda t: t["on_hold"] + t["no_destination"] == N)
    is_silent(call.a)
    call.delete()


def test_by_ipv6(daemon):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", "in/::1")
    call = Call(System(d.ready["ng"]), codec={**TO, "transcode": ["G722"]})
    for phone in (call.a, call.b):
        phone.sock.close()
        phone.sock, _ = pair("::1")
        phone.sock.settimeout(30)
        phone.host, phone.port = phone.sock.getsockname()[:2]
    call.offer("8 PCMA/8000")
    says(call.b, "G722", 9)
    heads = [header(x) for x in call.a.hears(N)]
    call.answer("9 G722/8000")
    says(call.b, "G722", 9)
    assert_one_stream(heads + [header(x) for x in call.a.hears(N)])
    call.delete()


def test_branches(d, proxy):
    """Before any is answered the newest one has the caller's ear; that of one
    that was answered is nobody else's."""
    call = Call(proxy, codec={**TO, "transcode": ["G722"]})
    branches = [Talker() for _ in "123"]
    for name, call.b in zip("12", branches):
        call.offer("8 PCMA/8000", via_branch=name)
    says(branches[1], "G722", 9)
    call.a.hears(N)
    call.b = branches[0]
    call.answer("9 G722/8000", via_branch="1")
    says(branches[0], "G722", 9)
    call.a.hears(N)
    call.b = branches[2]
    call.offer("8 PCMA/8000", via_branch="3")
    says(branches[2], "G722", 9)
    says(branches[0], "G722", 9)
    heads = [header(x) for x in call.a.hears(N)]
    assert_one_stream(heads)
    is_silent(call.a)
    call.proxy.ok("delete", call_id=call.id)
    all_is_gone(d)


def test_to_speak_is_not_to_answer(daemon):
    """Patience ends while the other side speaks: nobody has a call that is in
    no record."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-patience", "1s")
    call = Call(System(d.ready["ng"]))
    call.offer("8 PCMA/8000")

    def speaks():
        says(call.b, "PCMA", 8, 1)
        return call.proxy.ok("list")["calls"]
    until(speaks, lambda calls: not calls)
    all_is_gone(d)


def test_what_nobody_answered_was_no_call(daemon, tmp_path):
    """It is not counted as one, and leaves no record; an answered one begins
    with its answer."""
    records = tmp_path / "records"
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--records", str(records))
    proxy = System(d.ready["ng"])
    for codec in ({}, {**TO, "transcode": ["G722"]}):
        call = Call(proxy, codec=codec)
        call.offer("8 PCMA/8000")
        says(call.b, "PCMA" if not codec else "G722", 8 if not codec else 9)
        call.a.hears(N)
        assert d.ctl("stats")["calls_started"] == 0
        call.delete()
    all_is_gone(d)
    answered = Call(proxy)
    answered.offer("8 PCMA/8000")
    says(answered.b, "PCMA", 8)
    answered.a.hears(N)
    answered.answer("8 PCMA/8000")
    assert d.ctl("stats")["calls_started"] == 1
    answered.delete()
    record, = until(lambda: records.read_text().splitlines(), len)
    assert json.loads(record)["label"] == answered.id

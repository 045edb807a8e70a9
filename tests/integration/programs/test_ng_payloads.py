# SPDX-License-Identifier: Apache-2.0
"""What packets of a call hold, as each side has been told: digits, noise,
several codecs, modes and lengths of AMR."""
import struct
import time

import pytest

from conftest import PATIENCE
from ng_call import (  # noqa: F401
    AMR_FMTP, Call, HERE, TO_AMR, all_is_gone, d, proxy, until)
from packets import header
from telephony import System, sdp
from test_senders import started


def digits(packets):
    """(type, digit, whether it is its end, duration) of each."""
    told = [(header(x)["pt"], *struct.unpack("!BBH", x[12:]))
            for x in packets]
    return [(pt, digit, flags >> 7, duration)
            for pt, digit, flags, duration in told]


HELD = (20, 40, 60, 80, 100, 100, 100)  # ms, of a digit of 100


def assert_digit(says, hears, speech=None):
    """A digit of 100 ms is that to the other side. @says, @hears: (phone,
    payload type, clock)."""
    (phone, pt, clock), (other, told, its) = says, hears
    phone.presses(5, pt, clock, 100, speech)
    assert digits(other.hears(len(HELD))) == [
        (told, 5, n >= 4, its * ms // 1000) for n, ms in enumerate(HELD)]


def assert_digits(call, a, b, clocks=(8000, 8000)):
    """Each presses one, by its own payload type; the other one hears it once,
    by the type and at the clock that it knows."""
    phones, types = (call.a, call.b), (a, b)
    for i in range(2):
        phones[i].presses(5 + i, types[i], clocks[i])
        assert digits(phones[1 - i].hears(3)) == [
            (types[1 - i], 5 + i, 1, clocks[1 - i] // 50)] * 3


EVENTS = "telephone-event/8000"


def talk_transcoded(call, events="101", others="110"):
    """PCMA and AMR, each with its own number for events."""
    call.offer(f"8 PCMA/8000, {events} {EVENTS}")
    amr = call.offered[0].types[0]
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, {others} {EVENTS}")
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    return amr


def test_digits_have_the_number_that_each_knows(proxy):
    call = Call(proxy, codec=TO_AMR)
    talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.delete()


def test_digits_of_a_relay(d, proxy):
    call = Call(proxy)
    call.offer(f"8 PCMA/8000, 101 {EVENTS}")
    call.answer(f"8 PCMA/8000, 110 {EVENTS}")
    assert d.ctl("stats")["relays"] == 2
    assert_digits(call, 101, 110)
    call.delete()


def test_a_new_offer_numbers_digits_anew(proxy):
    call = Call(proxy, codec=TO_AMR)
    amr = talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.offer(f"8 PCMA/8000, 102 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, 111 {EVENTS}")
    assert_digits(call, 102, 111)
    call.delete()


def test_what_an_answer_lacks_is_not_sent(d, proxy):
    """Digits were agreed, and are not any more; and then they are again."""
    call = Call(proxy, codec=TO_AMR)
    amr = talk_transcoded(call)
    assert_digits(call, 101, 110)
    call.offer(f"8 PCMA/8000, 101 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}")
    assert call.answered[0].names == ["PCMA/8000"]
    call.a.presses(5, 101)
    until(lambda: d.ctl("stats")["totals"]["wrong_pt"], lambda n: n == 3)
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    call.offer(f"8 PCMA/8000, 101 {EVENTS}", known=True)
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}, 110 {EVENTS}")
    assert_digits(call, 101, 110)
    call.delete()


def test_digits_at_another_clock(proxy):
    """An event's length is counted by the clock of the speech (RFC 4733,
    2.1)."""
    call = Call(proxy, codec={
        "mask": ["PCMA"], "transcode": ["opus"]})
    call.offer(f"8 PCMA/8000, 101 {EVENTS}")
    offered, = call.offered
    assert offered.names == ["opus/48000/2", EVENTS, "telephone-event/48000"]
    opus, _, events = offered.types
    call.answer(f"{opus} opus/48000/2, {events} telephone-event/48000")
    assert call.answered[0].names == ["PCMA/8000", EVENTS]
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {opus}
    assert_digits(call, 101, events, (8000, 48000))
    call.delete()


OF_CLOCK = {8000: "PCMU/8000", 16000: "L16/16000", 48000: "opus/48000/2"}


def speech_of(rate):
    """A packet of it."""
    return 160 if rate == 8000 else 640 if rate == 16000 else 40


def clocks_of(line):
    """The numbers of its events, by clock."""
    return {int(name.split("/")[1]): pt for pt, name in zip(
        line.types, line.names) if name.startswith("telephone-event")}


def events_of(types):
    return "".join(f", {pt} telephone-event/{rate}"
                   for rate, pt in types.items())


@pytest.mark.parametrize("by_speech", [True, False])
@pytest.mark.parametrize("events", OF_CLOCK)
@pytest.mark.parametrize("codec", OF_CLOCK)
@pytest.mark.parametrize("other", OF_CLOCK)
def test_a_digit_is_as_long_at_any_clock(d, proxy, codec, other, events,
                                         by_speech):
    """That of the events' own rtpmap counts, whatever the speech has (RFC
    4733, 2.3.5), and whichever their timestamps have. The other side is
    offered them at the clock that they came with, and at that of its codec; it
    takes one of them, or all."""
    more = {} if other == codec else {
        "codec": {"mask": ["all"], "except": ["telephone-event"],
                  "transcode": [OF_CLOCK[other]]}}
    call = Call(proxy, **more)
    pt = 0 if codec == 8000 else 96
    offer = f"{pt} {OF_CLOCK[codec]}{events_of({events: 101})}"
    call.offer(offer)
    to = call.offered[0].types[0]
    offered = clocks_of(call.offered[0])
    assert set(offered) == {events, events if other == codec else other}
    ways = [{rate: n} for rate, n in offered.items()] + [offered]
    for n, takes in enumerate(ways):
        if n:
            call.offer(offer, known=True)
        call.answer(f"{to} {OF_CLOCK[other]}{events_of(takes)}")
        assert clocks_of(call.answered[0]) == {events: 101}
        assert d.ctl("stats")["relays"] == (2 if other == codec else 0)
        if not n:
            call.a.says(0x55, 2, pt, speech_of(codec))
            call.b.says(0x55, 2, to, speech_of(other))
            assert len(call.a.hears(2) + call.b.hears(2)) == 4
        best = other if other in takes else min(takes)
        assert_digit((call.a, 101, events), (call.b, takes[best], best),
                     codec if by_speech else None)
        for rate, told in takes.items():
            assert_digit((call.b, told, rate), (call.a, 101, events),
                         other if by_speech else max(offered))
    call.delete()


def test_a_relay_converts_events_that_only_one_side_has(d, proxy):
    """The other side takes the speech as it is, but knows events only as they
    were offered beside a codec that it does not use now."""
    call = Call(proxy, codec={"transcode": ["L16/16000"]})
    call.offer(f"0 PCMU/8000, 101 {EVENTS}")
    wide = clocks_of(call.offered[0])[16000]
    call.answer(f"0 PCMU/8000, {wide} telephone-event/16000")
    assert clocks_of(call.answered[0]) == {8000: 101}
    assert_passed(call.a, call.b, [(0, 0)])
    assert_passed(call.b, call.a, [(0, 0)])
    assert_digit((call.a, 101, 8000), (call.b, wide, 16000))
    assert_digit((call.b, wide, 16000), (call.a, 101, 8000))
    assert d.ctl("stats")["relays"] == 2
    call.delete()


def test_all_events_that_both_know_are_relayed(d, proxy):
    call = Call(proxy)
    types = ("96 opus/48000/2, 0 PCMU/8000, 101 telephone-event/8000, "
             "102 telephone-event/48000, 103 telephone-event/90000")
    call.offer(types)
    assert call.offered[0].types == [96, 0, 101, 102, 103]
    call.answer(types.replace("101", "111").replace("102", "112"))
    assert call.answered[0].types == [96, 0, 101, 102, 103]
    assert_passed(call.a, call.b, [(96, 96), (0, 0)])
    assert_passed(call.b, call.a, [(96, 96), (0, 0)])
    for a, b, rate in ((101, 111, 8000), (102, 112, 48000), (103, 103, 90000)):
        assert_digit((call.a, a, rate), (call.b, b, rate))
        assert_digit((call.b, b, rate), (call.a, a, rate))
    assert d.ctl("stats")["relays"] == 2
    call.delete()


def test_comfort_noise_goes_by_its_number(proxy):
    call = Call(proxy, codec={
        "mask": ["all"], "transcode": ["PCMU", "CN"]})
    call.offer("8 PCMA/8000, 13 CN/8000")
    assert call.offered[0].names == ["PCMU/8000", "CN/8000"]
    call.answer("0 PCMU/8000, 13 CN/8000")
    assert call.answered[0].types == [8, 13]
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.a.says(60, 1, 13, size=1)
    assert header(call.b.hears(1)[0])["pt"] == 13
    call.delete()


def assert_passed(says, hears, types):
    """Each of @types, (what it is sent as, what it is heard as), as it came.
    """
    for n, (pt, told) in enumerate(types):
        says.says(n + 1, 5, pt)
        heard = hears.hears(5)
        assert {header(x)["pt"] for x in heard} == {told}
        assert {x[12:] for x in heard} == {bytes([n + 1]) * 160}


AGREED = [
    ("8 PCMA/8000, 0 PCMU/8000", "8 PCMA/8000, 0 PCMU/8000"),
    ("8 PCMA/8000, 0 PCMU/8000, 9 G722/8000",
     "9 G722/8000, 0 PCMU/8000, 8 PCMA/8000"),
    # other numbers
    ("96 PCMA/8000, 0 PCMU/8000, 98 G722/8000",
     "97 PCMA/8000, 96 G722/8000, 100 PCMU/8000"),
    # other clocks
    ("96 opus/48000/2, 97 AMR-WB/16000, 0 PCMU/8000",
     "101 AMR-WB/16000, 102 opus/48000/2, 0 PCMU/8000"),
    # frames of other lengths
    ("0 PCMU/8000, 4 G723/8000", "0 PCMU/8000, 4 G723/8000"),
    # more than a call has codecs
    (", ".join(f"{110 + n} L16/{rate}" for n, rate in enumerate(
        (8000, 16000, 48000))) + ", 0 PCMU/8000, 8 PCMA/8000, 9 G722/8000, "
     "3 GSM/8000, 96 opus/48000/2, 97 AMR/8000, 98 AMR-WB/16000",) * 2,
]


def pairs(offer, answer):
    """(number of the first one, of the other one) of each codec."""
    of = [{name: int(pt) for pt, name in (one.split() for one in line.split(
        ", "))} for line in (offer, answer)]
    return [(of[0][name], of[1][name]) for name in of[1]]


@pytest.mark.parametrize("offer, answer", AGREED)
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_relay_passes_all_that_both_have_agreed_on(daemon, host, offer,
                                                     answer):
    """Who may send several codecs begins with any of them, and changes from
    one to another at will; and what neither has named is not passed on."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", f"here/{host}")
    types = pairs(offer, answer)
    for i, _ in enumerate(types):
        call = Call(System(d.ready["ng"]), host)
        call.offer(offer)
        call.answer(answer)
        assert sorted(call.answered[0].types) == sorted(a for a, _ in types)
        turns = types[i:] + types[:i] + types[i:]
        assert_passed(call.a, call.b, turns)
        assert_passed(call.b, call.a, [(b, a) for a, b in turns])
        stats = d.ctl("stats")
        assert stats["relays"] == 2 and stats["totals"]["wrong_pt"] == 4 * i
        for phone in (call.a, call.b):
            phone.says(0x33, 2, 77)
        until(lambda: d.ctl("stats")["totals"]["wrong_pt"],
              lambda n: n == 4 * i + 4)
        call.delete()
        until(lambda: d.ctl("stats")["calls"], lambda n: n == 0)


def test_a_new_offer_numbers_what_is_relayed_anew(d, proxy):
    """Codecs come, change their numbers, and go."""
    call = Call(proxy)
    for n, (offer, answer) in enumerate(AGREED[:3] + [
            ("8 PCMA/8000", "8 PCMA/8000")]):
        call.offer(offer, known=n > 0)
        call.answer(answer)
        types = pairs(offer, answer)
        assert_passed(call.a, call.b, types[::-1])
        assert_passed(call.b, call.a, [(b, a) for a, b in types])
        assert d.ctl("stats")["relays"] == 2
    call.delete()


ADDED = [("8 PCMA/8000", "PCMA", 160), ("9 G722/8000", "G722", 160),
         ("96 L16/16000", "L16/16000", 640)]


def heard_by_caller(call, said):
    """Types that the caller hears when the other side says @said, (number,
    octets of a packet) each."""
    heard = []
    for pt, size in said:
        call.b.says(0x55, 5, pt, size)
        heard += [header(x)["pt"] for x in call.a.hears(5)]
    return heard


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("spec, name, size", ADDED)
def test_nobody_is_sent_what_it_did_not_offer(d, proxy, spec, name, size,
                                              first):
    """The other side was offered more, takes it all, and sends it."""
    call = Call(proxy, codec={"transcode": [name]})
    pt = int(spec.split()[0])
    for known in (False, True):
        call.offer("0 PCMU/8000", known=known)
        assert call.offered[0].types == [0, pt]
        call.answer(f"0 PCMU/8000, {spec}")
        assert call.answered[0].types == [0]
        said = [(pt, size), (0, 160)] * 3
        assert heard_by_caller(call, said[0 if first else 1:]) == [0] * (
            5 * (6 if first else 5))
        assert_passed(call.a, call.b, [(0, 0)] * 2)
    stats = d.ctl("stats")
    assert stats["relays"] == 2 and stats["totals"]["wrong_pt"] == 0
    # it is one stream, whoever makes it
    call.offer("0 PCMU/8000", known=True)
    call.answer("0 PCMU/8000")
    assert heard_by_caller(call, [(0, 160)]) == [0] * 5
    assert_passed(call.a, call.b, [(0, 0)])
    call.delete()


def test_a_stream_that_is_relayed_and_transcoded_is_one(d, proxy):
    """One SSRC, no number left out; and of what both know every octet."""
    call = Call(proxy, codec={"transcode": ["PCMA"]})
    call.offer("0 PCMU/8000")
    call.answer("0 PCMU/8000, 8 PCMA/8000")
    heard = []
    for pt in (0, 8, 0, 8, 8, 0):
        for _ in range(10):
            call.b.says(0x55, 1, pt)
            heard += call.a.hears(1)
    heads = [header(x) for x in heard]
    assert {h["pt"] for h in heads} == {0}
    assert len({h["ssrc"] for h in heads}) == 1
    for a, b in zip(heads, heads[1:]):
        assert b["seq"] == (a["seq"] + 1) & 0xffff
        assert b["ts"] == (a["ts"] + 160) & 0xffffffff
    assert [x[12:] for x in heard[:10]] == [b"\x55" * 160] * 10
    assert d.ctl("stats")["totals"]["relayed"] >= 10

    time.sleep(2.2)  # two looks of the node at relays that need no codec
    call.b.says(0x55, 5, 8)
    assert len(call.a.hears(5)) == 5
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()


def test_a_new_offer_begins_and_ends_what_needs_a_codec(d, proxy):
    """Which of them is offered or answered more than both have, changes."""
    call = Call(proxy, codec={"transcode": ["PCMA"]})
    for n, (offer, answer, said) in enumerate([
            ("0 PCMU/8000", "0 PCMU/8000", (0,)),
            ("0 PCMU/8000", "0 PCMU/8000, 8 PCMA/8000", (8, 0)),
            ("0 PCMU/8000", "8 PCMA/8000", (8,)),
            ("0 PCMU/8000", "0 PCMU/8000, 8 PCMA/8000", (0, 8)),
            ("0 PCMU/8000", "8 PCMA/8000, 0 PCMU/8000", (0, 8)),
            ("0 PCMU/8000", "0 PCMU/8000", (0,)),
            ("0 PCMU/8000", "0 PCMU/8000, 8 PCMA/8000", (8, 0))]):
        if n == 6:
            time.sleep(2.2)  # so that the codec sleeps
        call.offer(offer, known=n > 0)
        call.answer(answer)
        assert heard_by_caller(call, [(pt, 160) for pt in said]) == [0] * (
            5 * len(said))
        call.a.says(0x55, 5, 0)
        assert {header(x)["pt"] for x in call.b.hears(5)} == {
            int(answer.split()[0])}
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()


def test_what_was_refused_but_is_accepted_is_heard(d, proxy):
    """The rules let the caller send PCMU, which the other side has not."""
    call = Call(proxy, codec={"accept": ["PCMU"]})
    call.offer("8 PCMA/8000, 0 PCMU/8000")
    call.answer("8 PCMA/8000")
    assert call.answered[0].types == [8, 0]
    for pt in (8, 0):
        call.a.says(0x33, 5, pt)
        assert {header(x)["pt"] for x in call.b.hears(5)} == {8}
    stats = d.ctl("stats")
    assert stats["totals"]["wrong_pt"] == 0 and stats["relays"] == 2
    call.delete()


NO_DATA = b"\xf0\xfc\x7c"  # two frames of AMR, octet-aligned


def heard_of_amr(call, pt, packets=4):
    """How long what the caller hears is, in ms of PCMA. No data is silence,
    which is filled: what came of that so far is not meant."""
    call.a.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        call.a.hears(1000)
    call.a.sock.settimeout(PATIENCE)
    for i in range(packets):
        call.b.say(call.b.ssrc, call.b.seq, 320 * call.b.seq,
                   payload=NO_DATA, pt=pt)
        call.b.seq += 1
    heard = call.a.hears(2 * packets if call.short else packets)
    assert {header(x)["pt"] for x in heard} == {8}
    return {(len(x) - 12) // 8 for x in heard}


@pytest.mark.parametrize("said", [
    ["a=maxptime:20"], ["a=ptime:40", "a=maxptime:20"]])
def test_packets_are_never_longer_than_who_hears_them_can_have(proxy, said):
    """One sends 40 ms; the other one has 20 ms at most, and later 40."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000", lines=said, ptime=40)
    amr = call.offered[0].types[0]
    spec = f"{amr} AMR/8000 {AMR_FMTP}"
    assert call.offered[0].value("ptime") == "40"
    call.answer(spec, lines=["a=ptime:40", "a=maxptime:20"])
    call.short = True
    assert heard_of_amr(call, amr) == {20}
    call.a.says(0xd5, 4, 8)
    assert {len(x) for x in call.b.hears(4)} == {12 + 2 + 31}  # one frame each
    call.offer("8 PCMA/8000", known=True, lines=["a=maxptime:40"], ptime=40)
    call.answer(spec, lines=["a=ptime:40"])
    call.short = False
    assert heard_of_amr(call, amr) == {40}
    call.offer("8 PCMA/8000", known=True, lines=said, ptime=40)
    call.answer(spec, lines=["a=ptime:40"])
    call.short = True
    assert heard_of_amr(call, amr) == {20}
    call.delete()


def test_each_has_modes_of_its_own_set(d, proxy):
    """The answer names another one than was offered, which it must not (RFC
    4867, 8.3.1): there is a codec between."""
    call = Call(proxy)
    call.offer("96 AMR/8000 mode-set=7;octet-align=1")
    call.answer("96 AMR/8000 mode-set=0;octet-align=1")
    assert call.answered[0].fmtp(96) == "mode-set=7;octet-align=1"
    assert d.ctl("stats")["relays"] == 0
    for says, hears, size in ((call.a, call.b, 12), (call.b, call.a, 31)):
        for i in range(3):
            says.say(says.ssrc, i, 160 * i, payload=b"\xf0\x7c", pt=96)
        assert {len(x) for x in hears.hears(3)} == {12 + 2 + size}
    call.delete()


def test_opus_is_answered_by_what_the_node_is(proxy):
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["PCMA"]})
    call.offer("111 opus/48000/2 stereo=1;sprop-stereo=1;useinbandfec=1;"
               "maxaveragebitrate=16000")
    call.answer("8 PCMA/8000")
    assert call.answered[0].names == ["opus/48000/2"]
    assert call.answered[0].fmtp(111) == "useinbandfec=1"
    call.b.says(0xd5, 5, 8)
    assert {header(x)["pt"] for x in call.a.hears(5)} == {111}
    call.delete()


def test_a_payload_that_is_not_known_is_left_out(proxy):
    call = Call(proxy)
    call.offer("96 AMR/8000 crc=1, 8 PCMA/8000")
    assert call.offered[0].names == ["PCMA/8000"]
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.delete()


@pytest.mark.parametrize("codec, names", [
    ({"mask": ["PCMU"], "transcode": ["NOSUCH"]}, ["PCMA/8000"]),
    ({"strip": ["all"], "except": ["PCMA"], "transcode": ["AMR/44100"]},
     ["PCMA/8000"]),
    ({"mask": ["all"], "transcode": ["NOSUCH", "G722"]}, ["G722/8000"]),
    ({"mask": ["all"], "transcode": ["G722", "telephone-event"]},
     ["G722/8000"])])
def test_a_rule_that_cannot_be_followed_is_named(proxy, codec, names):
    """And the others are followed: nothing is offered that was to be
    hidden."""
    call = Call(proxy, codec=codec)
    warning = call.offer("0 PCMU/8000, 8 PCMA/8000")["warning"]
    missing = {"NOSUCH", "AMR", "telephone-event"} & {
        one.split("/")[0] for one in codec["transcode"]}
    assert f"codec transcode {missing.pop()}: " in warning
    assert call.offered[0].names == names


@pytest.mark.parametrize("codec", [
    {"mask": ["all"], "transcode": ["NOSUCH"]},
    {"strip": ["PCMU", "PCMA"], "transcode": ["NOSUCH"]},
    {"strip": ["all"], "transcode": ["NOSUCH", "G722"]}])
def test_nothing_is_offered_in_place_of_what_cannot_be_made(proxy, codec):
    reply = proxy.ask("offer", call_id="x", from_tag="a", codec=codec,
                      sdp=sdp(4000, "0 PCMU/8000, 8 PCMA/8000"), **HERE)
    assert reply["result"] == "error" and "sdp" not in reply
    for text in reply["error-reason"], reply["warning"]:
        assert "codec transcode NOSUCH: this node has no such codec" in text


def test_to_hide_everything_is_not_done_and_said(proxy):
    for rule in "mask", "strip", "consume", "ignore":
        call = Call(proxy, codec={rule: ["all"]})
        warning = call.offer("0 PCMU/8000, 8 PCMA/8000")["warning"]
        assert f"codec {rule} all: it would leave nothing" in warning
        assert call.offered[0].names == ["PCMU/8000", "PCMA/8000"]


def test_what_is_ignored_is_offered_and_not_used(d, proxy):
    """The other side may have it; who offers speaks something else."""
    call = Call(proxy, codec={"ignore": ["PCMA"]})
    reply = call.offer(f"0 PCMU/8000, 8 PCMA/8000, 101 {EVENTS}")
    assert "warning" not in reply
    assert call.offered[0].types == [0, 8, 101]
    call.answer(f"8 PCMA/8000, 101 {EVENTS}")
    assert call.answered[0].types == [0, 101]
    call.a.says(0xff, 3, 0)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {8}
    call.b.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.a.hears(3)} == {0}
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()


def test_what_is_masked_is_made_again_by_its_number(proxy):
    """In the order of the list where all is masked."""
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["opus", "PCMU"]})
    call.offer("0 PCMU/8000, 8 PCMA/8000")
    assert call.offered[0].names == ["opus/48000/2", "PCMU/8000"]
    call = Call(proxy, codec={"mask": ["PCMA"], "transcode": ["PCMA"]})
    call.offer("96 AMR/8000, 8 PCMA/8000")
    assert call.offered[0].types == [96, 8]
    call.answer("8 PCMA/8000")
    assert call.answered[0].names == ["AMR/8000"]
    for i in range(3):
        call.a.say(7, i, 160 * i, payload=b"\xf7\xc0", pt=96)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {8}
    call.delete()


@pytest.mark.parametrize("codec, answer", [
    ("G722", "9 G722/8000 bitrate=64000"),
    ("AMR-WB", "{} AMR-WB/16000 mode-change-capability=2; octet-align=0"),
    ("opus", "{} opus/48000/2 useinbandfec=1; stereo=0")])
def test_what_was_answered_is_offered_once(proxy, codec, answer):
    """Whatever its answer says of it, and by the same number."""
    call = Call(proxy, codec={"transcode": [codec]})
    call.offer("8 PCMA/8000")
    first = call.offered[0].types
    call.answer(answer.format(first[1]))
    for _ in range(2):
        call.offer("8 PCMA/8000", known=True)
        assert call.offered[0].types == first
        call.answer(answer.format(first[1]))
    call.offer(answer.format(first[1]), by="b")  # and so is who offered first
    assert call.offered[0].types == [first[1], 8]
    call.answer("8 PCMA/8000", by="a")
    assert call.answered[0].types == [first[1]]
    call.delete()


def test_parameters_are_told_apart_however_they_are_written(d, proxy):
    """Blanks, case, order, and what an RFC has where nothing is said."""
    for offered, answered in (
            ("octet-align=1;mode-set=7", "mode-set=7 ; Octet-Align = 1"),
            ("octet-align=0; crc=0", "mode-change-period=1"),
            ("mode-set=0,2,7", "mode-set=7,2 ,0")):
        call = Call(proxy)
        call.offer(f"96 AMR/8000 {offered}")
        call.answer(f"97 AMR/8000 {answered}")
        assert d.ctl("stats")["relays"] == 2
        call.delete()
        all_is_gone(d)
    call = Call(proxy, codec={"strip": ["AMR/8000/1///octet-align=0"]})
    call.offer("96 AMR/8000, 97 AMR/8000 mode-set=7 ; octet-align = 1")
    assert call.offered[0].types == [97]


def assert_lengths(says, hears, octet, pt, lengths):
    """@says packets of the first of @lengths, 120 ms in all; the other one
    hears what it has asked for."""
    for _ in range(120 // lengths[0]):
        says.say(says.ssrc, says.seq, 8 * says.ms, pt=pt,
                 payload=bytes([octet]) * (8 * lengths[0]))
        says.seq += 1
        says.ms += lengths[0]  # each where the one before ends
    heard = hears.hears(120 // lengths[1])
    assert [len(x) - 12 for x in heard] == [8 * lengths[1]] * len(heard)


@pytest.mark.parametrize("codec", [{}, {"mask": ["all"],
                                        "transcode": ["PCMU"]}])
def test_each_is_sent_the_length_that_it_asked_for(d, proxy, codec):
    """And sends what the other one has asked for: then a relay will do."""
    call = Call(proxy, codec=codec)
    call.offer("8 PCMA/8000", lines=["a=ptime:40"])
    assert call.offered[0].value("ptime") == "40"
    pt = call.offered[0].types[0]
    call.answer(f"{pt} PCM{'UA'[pt == 8]}/8000", lines=["a=ptime:20"])
    assert call.answered[0].value("ptime") == "20"
    assert d.ctl("stats")["relays"] == (0 if codec else 2)
    assert_lengths(call.a, call.b, 0xd5, 8, (20, 20))
    assert_lengths(call.b, call.a, 0xd5, pt, (40, 40))
    if codec:  # a phone need not send what it was asked for
        assert_lengths(call.a, call.b, 0xd5, 8, (40, 20))
        assert_lengths(call.b, call.a, 0xd5, pt, (20, 40))
    call.delete()


@pytest.mark.parametrize("codec", [{}, {"mask": ["all"],
                                        "transcode": ["PCMU"]}])
def test_a_packet_time_is_that_of_the_last_offer_and_answer(d, proxy, codec):
    """Where they say nothing of it, it is as usual, whatever was said before."""
    call = Call(proxy)
    for ms in 40, 20, 60, None:
        said = [f"a=ptime:{ms}"] if ms else []
        call.offer("8 PCMA/8000", known=True, lines=said,
                   **({"codec": codec} if codec else {}))
        pt = call.offered[0].types[0]
        call.answer(f"{pt} PCM{'UA'[pt == 8]}/8000", lines=said)
        for one in d.ctl("list")["streams"]:
            one = d.ctl("stream", str(one["call"] if isinstance(one, dict)
                                    else one))
            assert one["relay"] == (not codec)
            assert one["ptime_ms"] == one["deadline_ms"] == (ms or 20)
    call.delete()


@pytest.mark.parametrize("key, side", [("ptime", "b"),
                                       ("ptime_reverse", "a")])
@pytest.mark.parametrize("offered, answered", [
    (None, None), (20, 20), (20, 40), (40, None), (None, 40)])
def test_the_proxy_wants_another_length_of_one_side(
        proxy, key, side, offered, answered):
    """That of the other one stays as it is, and so does what it is told."""
    said = {"a": offered or 20, "b": answered or 20, side: 30}
    call = Call(proxy)
    call.offer("8 PCMA/8000", **{key: 30},
               lines=[f"a=ptime:{offered}"] if offered else [])
    call.answer("8 PCMA/8000",
                lines=[f"a=ptime:{answered}"] if answered else [])
    told = (call.offered if side == "b" else call.answered)[0].value("ptime")
    assert told == "30"
    if side == "b":  # A goes on as it offered
        assert call.answered[0].value("ptime") == (
            str(offered) if offered else None)
    assert_lengths(call.a, call.b, 0xd5, 8, (20, said["b"]))
    assert_lengths(call.b, call.a, 0xd5, 8, (30, said["a"]))
    # an answer does not change it; nor is it for ever: then a relay will do,
    # which begins when the codec has sent all, and that may be behind a packet
    call.answer("8 PCMA/8000", **{key: 10})
    call.offer("8 PCMA/8000", known=True, lines=["a=ptime:20"])
    call.answer("8 PCMA/8000", lines=["a=ptime:20"])
    assert_lengths(call.a, call.b, 0xd5, 8, (20, 20))
    assert_lengths(call.b, call.a, 0xd5, 8, (20, 20))
    call.delete()


def assert_same(says, hears, pts, payload):
    """As it came, but for its type."""
    for _ in range(3):
        says.say(says.ssrc, says.seq, 320 * says.seq, pt=pts[0],
                 payload=payload)
        says.seq += 1
    assert [(header(x)["pt"], x[12:]) for x in hears.hears(3)] == [
        (pts[1], payload)] * 3


LACKED = ["EVS/16000 br=5.9-24.4", "iLBC/8000 mode=20",
          "G7221/16000 bitrate=32000", "L16/44100/2", "G729/8000 annexb=no"]


@pytest.mark.parametrize("codec", LACKED)
def test_what_only_the_parties_know_is_passed_on(d, proxy, codec):
    """Alone, by other numbers, and beside what the node knows, too, of which
    either may be first; and what else is asked of the line is done."""
    call = Call(proxy, codec={"transcode": ["AMR"]})
    reply = call.offer(f"97 {codec}", lines=["a=ptime:40"], ptime=30)
    assert "codec transcode AMR" in reply["warning"]
    assert call.offered[0].types == [97]
    assert call.offered[0].fmtp(97) == codec.partition(" ")[2]
    call.answer(f"101 {codec}", lines=["a=ptime:20"])
    assert call.answered[0].types == [97]
    assert d.ctl("stats")["relays"] == 2
    assert_same(call.a, call.b, (97, 101), b"\x01\x02\x03")
    assert_same(call.b, call.a, (101, 97), b"\xff" * 700)
    for answer in f"8 PCMA/8000, 97 {codec}", f"97 {codec}, 8 PCMA/8000":
        call.offer(f"97 {codec}, 8 PCMA/8000", known=True)
        call.answer(answer)
        assert set(call.answered[0].types) == {8, 97}
        for pt in 97, 8:
            assert_same(call.a, call.b, (pt, pt), b"\xd5" * 160)
            assert_same(call.b, call.a, (pt, pt), b"\xd5" * 160)
    assert d.ctl("stats")["relays"] == 2
    query = proxy.ok("query", call_id=call.id)
    assert query["totals"]["RTP"]["errors"] == 0
    call.delete()
    all_is_gone(d)


def test_from_what_is_known_to_what_is_not_and_back(d, proxy):
    """A call that was transcoded is passed on, and is transcoded again."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    for _ in range(2):
        call.offer("8 PCMA/8000, 97 EVS/16000", known=True)
        assert 0 in call.offered[0].types
        call.answer("0 PCMU/8000")
        assert call.answered[0].types == [8]
        call.a.says(0xd5, 5, 8)
        assert {header(x)["pt"] for x in call.b.hears(5)} == {0}
        call.b.says(0xff, 5, 0)
        assert {header(x)["pt"] for x in call.a.hears(5)} == {8}
        call.offer("8 PCMA/8000, 97 EVS/16000", known=True)
        call.answer("97 EVS/16000")
        assert call.answered[0].types == [97]
        assert d.ctl("stats")["relays"] == 2
        assert_same(call.a, call.b, (97, 97), b"\x01\x02\x03")
        assert_same(call.b, call.a, (97, 97), b"\x04\x05\x06")
    call.delete()
    all_is_gone(d)


def test_nothing_is_made_of_what_is_not_known(d, proxy):
    """An answer with it beside what goes through a codec leaves it out."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("97 EVS/16000, 8 PCMA/8000")
    call.answer("0 PCMU/8000, 97 EVS/16000")
    assert call.answered[0].types == [8]
    call.b.say(7, 0, 0, payload=b"\x01\x02", pt=97)
    until(lambda: d.ctl("stats")["totals"]["wrong_pt"], lambda n: n == 1)
    call.b.says(0xff, 3, 0)
    assert {header(x)["pt"] for x in call.a.hears(3)} == {8}
    call.delete()


def test_relayed_is_a_codec_of_calls(d):
    """By JSON-RPC, too, and of nothing else."""
    sides = ["a.codec=relayed", "a.pt=97", "b.codec=relayed", "b.pt=98"]
    c = d.ctl("call", "start", *sides, "a.rate=16000", "b.rate=16000")
    assert c["relay"] is True
    for words in ([*sides, "a.rate=16000"], [*sides, "relay=never"],
                  [*sides, "b.ptime=40ms"], [*sides[:2], "b.codec=pcma"]):
        assert "relayed: both parties" in d.ctl(
            "call", "start", *words, code=1)
    assert "a call of two streams" in d.ctl(
        "call", "start", "in.codec=relayed", "out.codec=relayed",
        "out.address=127.0.0.1:9", code=1)

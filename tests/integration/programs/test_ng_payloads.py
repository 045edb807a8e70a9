# SPDX-License-Identifier: Apache-2.0
"""What packets of a call hold, as each side has been told: digits, noise,
several codecs, modes and lengths of AMR."""
import struct

import pytest

from ng_call import AMR_FMTP, Call, TO_AMR, d, proxy, until  # noqa: F401
from packets import header


def digits(packets):
    """(type, digit, whether it is its end, duration) of each."""
    told = [(header(x)["pt"], *struct.unpack("!BBH", x[12:]))
            for x in packets]
    return [(pt, digit, flags >> 7, duration)
            for pt, digit, flags, duration in told]


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
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["opus"]})
    call.offer(f"8 PCMA/8000, 101 {EVENTS}")
    offered, = call.offered
    assert offered.names == ["opus/48000/2", "telephone-event/48000"]
    opus, events = offered.types
    call.answer(f"{opus} opus/48000/2, {events} telephone-event/48000")
    assert call.answered[0].names == ["PCMA/8000", EVENTS]
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {opus}
    assert_digits(call, 101, events, (8000, 48000))
    call.delete()


def test_comfort_noise_goes_by_its_number(proxy):
    call = Call(proxy, codec={"mask": ["all"], "transcode": ["PCMU"]})
    call.offer("8 PCMA/8000, 13 CN/8000")
    assert call.offered[0].names == ["PCMU/8000", "CN/8000"]
    call.answer("0 PCMU/8000, 13 CN/8000")
    assert call.answered[0].types == [8, 13]
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.a.says(60, 1, 13, size=1)
    assert header(call.b.hears(1)[0])["pt"] == 13
    call.delete()


def test_a_relay_passes_all_that_both_have_agreed_on(d, proxy):
    """Who may send two codecs, changes from one to the other at will."""
    call = Call(proxy)
    call.offer("8 PCMA/8000, 0 PCMU/8000")
    call.answer("8 PCMA/8000, 0 PCMU/8000")
    assert call.answered[0].types == [8, 0]
    for says, hears in ((call.a, call.b), (call.b, call.a)):
        for pt in (8, 0, 8):
            says.says(0x33, 5, pt)
            assert {header(x)["pt"] for x in hears.hears(5)} == {pt}
    stats = d.ctl("stats")
    assert stats["relays"] == 2 and stats["totals"]["wrong_pt"] == 0
    call.delete()


def test_an_answer_names_no_codec_that_a_relay_cannot_number(d, proxy):
    call = Call(proxy)
    call.offer("96 PCMA/8000, 0 PCMU/8000")
    call.answer("97 PCMA/8000, 0 PCMU/8000")
    assert call.answered[0].types == [96]
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0x33, 5, 96)
    assert {header(x)["pt"] for x in call.b.hears(5)} == {97}
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
    assert d.ctl("stats")["totals"]["wrong_pt"] == 0
    call.delete()


NO_DATA = b"\xf0\xfc\x7c"  # two frames of AMR, octet-aligned


def heard_of_amr(call, pt, packets=4):
    """How long what the caller hears is, in ms of PCMA."""
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

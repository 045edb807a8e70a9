# SPDX-License-Identifier: Apache-2.0
"""Digits of a call, each way at once: telephone events arrive, none is
lost or doubled, and none is heard in the speech."""
import itertools
import struct
import time
import wave

import numpy as np
import pytest

import gstreamer
from conftest import PATIENCE
from digits import CODECS, CODES, EVENT_PT, TICK_MS, Gateway, presses, \
    tones, with_tones
from listen import read_wav
from ng_call import Talker
from packets import header
from streams import Stream, assert_streams, write_pcap
from test_baresip import speeches
from test_two_way import endpoint
from test_senders import needed, started

LATER_MS = 400  # until all ends have been sent


def converse(d, a, b, *both):
    """A call of codecs @a and @b that takes events; it. @both: words
    for each party."""
    words = [f"{party}.{word}" for party in "ab" for word in both]
    words += [f"{party}.{key}={value}" for party, codec in zip("ab", (a, b))
             for key, value in (("codec", codec.name), ("pt", codec.pt),
                                ("events", EVENT_PT))]
    if b.name == "l16":
        words.append(f"b.rate={b.rate}")
    return d.ctl("call", "start", *words)


def sound(rate, ms):
    """Speech of a recording, and no tone in it."""
    pcm = np.repeat(read_wav(speeches()[0])[0], rate // 8000)
    assert tones(pcm, rate) == []
    return np.resize(pcm, rate * ms // 1000).astype(np.int16)


def gateway(codec, keys):
    pressed = presses(keys)
    ms = -(-(pressed[-1].begin + pressed[-1].ms + 100) // TICK_MS) * TICK_MS
    said = with_tones(sound(codec.rate, ms), codec.rate, pressed)
    assert tones(said, codec.rate) == list(keys)  # they can be heard
    return Gateway(codec, said, pressed), ms


def play(parties, ms):
    """Both talk at once, by the clock."""
    begin = time.monotonic()
    for at in range(0, ms, TICK_MS):
        time.sleep(max(0, begin + at / 1000 - time.monotonic()))
        for party in parties:
            party.tick(at)


def assert_digits(party, said):
    """@party has heard the keys that @said has pressed, once each, where and
    as long as they were; and no tone."""
    speech, first = party.speech()
    rate = party.codec.rate
    events = party.events()
    assert [packets[0][0] for packets in events.values()] == [
        p.key for p in said.pressed]
    for (ts, packets), p in zip(events.items(), said.pressed):
        assert ts - first & 0xffffffff == p.begin * rate // 1000
        assert {key for key, _, _, _ in packets} == {p.key}
        assert [marker for _, _, _, marker in packets] == [1] + [0] * (
            len(packets) - 1)
        assert [end for _, end, _, _ in packets] == [0] * (
            len(packets) - 3) + [1] * 3
        durations = [duration for _, _, duration, _ in packets]
        assert durations == sorted(durations)
        assert durations[-1] == p.ms * rate // 1000
    assert tones(speech, rate) == []
    assert speech.astype(float).std() > 100  # between them there is speech


def test_digits_of_40_to_400_ms_each_way(daemon, tmp_path):
    """Whose sender puts the tones into its speech, too."""
    d = started(daemon, "auto", "--drain-timeout", "0s")
    (a, ms), (b, _) = (gateway(CODECS[name], keys) for name, keys in (
        ("pcmu", CODES), ("l16", CODES[::-1])))
    c = converse(d, a.codec, b.codec)
    a.to, b.to = (("127.0.0.1", endpoint(c, party)) for party in "ab")
    d.ctl("call", "change", str(c["call"]),
          f"a.address=127.0.0.1:{a.port}", f"b.address=127.0.0.1:{b.port}")
    play((a, b), ms)
    time.sleep(LATER_MS / 1000)
    for party, other in (a, b), (b, a):
        party.listen()
        assert_digits(party, other)


SPOKEN = {8000: ("codec=pcmu", 160), 16000: ("codec=l16 rate=16000", 640),
          48000: ("codec=opus", 40)}
HELD = (20, 40, 60, 80, 100, 100, 100)  # ms, of a digit of 100


def held(packets):
    """(type, whether it is the end, duration) of each."""
    told = [(header(x)["pt"], *struct.unpack("!BBH", x[12:])) for x in packets]
    return [(pt, flags >> 7, duration) for pt, _, flags, duration in told]


@pytest.mark.parametrize("jitter", ["off", "fixed"])
@pytest.mark.parametrize("speech", itertools.product(SPOKEN, repeat=2))
def test_a_digit_is_as_long_at_any_clock(daemon, speech, jitter):
    """For every pair of clocks of events beside every pair of codecs."""
    d = started(daemon, "auto", "--drain-timeout", "0s")
    for clocks in itertools.product(SPOKEN, repeat=2):
        words = [f"{party}.{word}" for party, rate, clock in zip(
            "ab", speech, clocks) for word in (
                *SPOKEN[rate][0].split(), "pt=96", "events=101",
                f"events_clock={clock}", f"jitter={jitter}")]
        c = d.ctl("call", "start", *words)
        assert c["relay"] is (speech[0] == speech[1] and jitter == "off" and
                              clocks[0] == clocks[1])
        phones = Talker(), Talker()
        for phone, party, rate in zip(phones, "ab", speech):
            phone.to = "127.0.0.1", endpoint(c, party)
            phone.says(0x55, 1, 96, SPOKEN[rate][1])
        until_heard(d, c)
        for i, (phone, other) in enumerate((phones, phones[::-1])):
            phone.presses(5, 101, clocks[i], 100)
            heard = []
            while len(heard) < len(HELD):
                heard += [x for x in other.hears(1) if header(x)["pt"] == 101]
            assert held(heard) == [(101, n >= 4, clocks[1 - i] * ms // 1000)
                                   for n, ms in enumerate(HELD)]
        d.ctl("call", "stop", str(c["call"]))


def until_heard(d, c):
    """Until it is known where both are."""
    deadline = time.monotonic() + PATIENCE
    while any(d.ctl("stream", str(c[party]["stream"]))["count"]["packets_in"] < 1
              for party in "ab"):
        assert time.monotonic() < deadline


def test_clocks_of_events_that_nobody_has(daemon):
    d = started(daemon, "auto", "--drain-timeout", "0s")
    both = ("call", "start", "a.codec=pcmu", "b.codec=pcma")
    assert "events_clock: 9000 Hz" in d.ctl(
        *both, "a.events=101", "a.events_clock=9000", code=1)
    assert "goes with events" in d.ctl(*both, "b.events_clock=8000", code=1)
    assert d.ctl("stats")["calls"] == 0


def pressed_by(phones, codes):
    """Each presses its digits, all at once; until everybody has heard them, and
    nothing more in the time of another one."""
    for i in range(len(codes[0])):
        for phone, mine in zip(phones, codes):
            phone.press(mine[i], True)
        time.sleep(.25 + .01 * i)  # GStreamer's are of 250 ms at least
        for phone, mine in zip(phones, codes):
            phone.press(mine[i], False)
        time.sleep(.12)
    deadline = time.monotonic() + PATIENCE
    while any(len(phone.digits()) < len(codes[0]) for phone in phones):
        assert time.monotonic() < deadline, [p.digits() for p in phones]
        time.sleep(.05)
    time.sleep(LATER_MS / 1000)


def test_gstreamer_hears_what_gstreamer_presses(daemon):
    """One sends each end once, the other three times."""
    gstreamer.needed()
    d = started(daemon, "auto", "--drain-timeout", "0s")
    c = converse(d, CODECS["pcmu"], CODECS["l16"])
    phones = [gstreamer.GstPhone(codec, endpoint(c, party), ssrc, ends)
              for codec, party, ssrc, ends in (("pcmu", "a", 7, 1),
                                               ("l16", "b", 8, 3))]
    codes = [list(range(16)), list(range(15, -1, -1))]
    try:
        for phone in phones:
            phone.speak()
        deadline = time.monotonic() + PATIENCE
        while d.ctl("stream", str(c["b"]["stream"]))["count"]["packets_out"] < 10:
            assert time.monotonic() < deadline
        pressed_by(phones, codes)
        assert [phone.digits() for phone in phones] == codes[::-1]
    finally:
        for phone in phones:
            phone.end()

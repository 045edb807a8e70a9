# SPDX-License-Identifier: Apache-2.0
"""Two baresips, each with a codec of its own, talk through a call."""
import contextlib
import glob
import shutil
import time
import wave

import pytest

from baresip import CODECS, EVENT_PT, Agent
from conftest import PATIENCE
from listen import likeness
from streams import Stream, assert_streams
from test_senders import REFUSED, needed, started
from test_wire import Capture

PACKETS = 200  # of 20 ms, that each shall hear at least


def speeches():
    """Two recordings of 10 to 20 s."""
    found = []
    for path in sorted(glob.glob("/usr/share/asterisk/sounds/**/*.wav",
                                 recursive=True)):
        with wave.open(path) as w:
            if 10 < w.getnframes() / w.getframerate() < 20:
                found.append(path)
    if len(found) < 2:
        pytest.skip("no recordings: install asterisk-core-sounds-en-wav")
    return found[:2]


@pytest.fixture
def talk(daemon, tmp_path):
    """talk(codec of a, codec of b, words of the command): a daemon, a call, both agents."""
    needed("baresip", "sipp")
    agents = []

    def begin(*codecs, more=()):
        # a capture sees packets that leave together as one
        d = started(daemon, "auto", "--drain-timeout", "0s", "--send-each")
        words = [f"{party}.{key}={value}" for party, codec in zip("ab", codecs)
                 for key, value in (("codec", codec), ("pt", CODECS[codec][0]))]
        c = d.ctl("call", "start", *words, *more)
        for i, (party, codec, speech) in enumerate(zip("ab", codecs,
                                                       speeches())):
            agents.append(Agent(tmp_path / party, i, codec, speech,
                                int(c[party]["rtp"].rsplit(":", 1)[1])))
        return d, c, agents

    yield begin
    for agent in agents:
        agent.end()


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def count(d, c, party):
    """Of the stream from @party."""
    return d.ctl("stream", str(c[party]["stream"]))["count"]


def wait_in(d, c, party, packets):
    """Until so many more have come from @party."""
    before = count(d, c, party)["packets_in"]
    deadline = time.monotonic() + PATIENCE
    while count(d, c, party)["packets_in"] < before + packets:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for(d, c, packets):
    """Until so many more have left for each."""
    before = {party: count(d, c, party)["packets_out"] for party in "ab"}
    deadline = time.monotonic() + PATIENCE
    while any(count(d, c, party)["packets_out"] < before[party] + packets
              for party in "ab"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Wire:
    """What the node sends, captured where that is allowed."""

    def __init__(self, path):
        self.capture = None
        if shutil.which("tshark") and shutil.which("dumpcap"):
            with contextlib.suppress(pytest.skip.Exception):
                self.capture = Capture(path)

    def check(self, streams):
        if self.capture:
            self.capture.stop()
            assert_streams(self.capture.path, streams)


def assert_all_done(d, c, party):
    """Every packet of @party was transcoded and sent, but those before anybody
    knew where to; how many were sent."""
    n = count(d, c, party)
    done = n["done"] + n["relayed"]
    assert n["packets_in"] == done == n["packets_out"] + n["no_destination"], n
    assert [name for name in REFUSED if n[name]] == [], n
    return n["packets_out"]


@pytest.mark.parametrize("codecs", [("pcmu", "g722"), ("pcma", "opus"),
                                    ("gsm", "pcmu"), ("opus", "opus")],
                         ids="-".join)
def test_both_hear_each_other(talk, tmp_path, codecs):
    """Nobody was told where they are. baresip sends from another address than
    its SDP has."""
    wire = Wire(tmp_path / "wire.pcap")
    d, c, agents = talk(*codecs)
    told = [agent.dial() for agent in agents]
    wait_for(d, c, PACKETS)
    now = d.ctl("call", "query", str(c["call"]))
    for agent in agents:
        agent.hangup()
    assert [port_of(now[party]["to"]) for party in "ab"] == [
        port_of(address) for address in told]
    sent = {to: assert_all_done(d, c, party) for party, to in ("ab", "ba")}
    wire.check([Stream(port_of(now[party]["to"]), now[party]["pt"],
                       sent[party], 960 if codec == "opus" else 160,
                       now[party].get("out_ssrc"))
                for party, codec in zip("ab", codecs)])
    for agent, said in zip(agents, reversed(speeches())):
        assert likeness(agent.heard()[0], said) > .9


def test_an_offer_tells_the_address_and_a_hold_ends(talk):
    """Nobody has to learn it. Who holds sends nothing, hears the other, and is
    heard again when it resumes."""
    d, c, (a, b) = talk("pcmu", "pcma")
    told = {"a": a.dial(), "b": b.dial()}
    now = d.ctl("call", "change", str(c["call"]),
                *(f"{party}.address={told[party]}" for party in "ab"))
    assert {port_of(now[party]["to"]) for party in "ab"} == {
        port_of(address) for address in told.values()}
    wait_for(d, c, 50)
    a.offer("hold")
    wait_in(d, c, "b", 10)
    held = count(d, c, "a")["packets_in"]
    wait_in(d, c, "b", 40)
    assert count(d, c, "a")["packets_in"] == held
    a.offer("resume")
    wait_for(d, c, 100)
    assert a.offers() == [told["a"]] * 3
    for agent in a, b:
        agent.hangup()
    for party in "ab":
        n = count(d, c, party)
        assert n["packets_in"] == n["done"], n
        assert [name for name in REFUSED if n[name]] == [], n


def test_an_agent_that_starts_anew_is_heard_and_hears(talk):
    """Its machine was switched off in mid-call: another port, another SSRC, the
    same endpoint. Its new offer says so: without one it would be a stranger."""
    d, c, (a, b) = talk("pcmu", "g722")
    a.dial()
    b.dial()
    wait_for(d, c, 50)
    a.kill()
    a.begin()
    told = a.dial()
    d.ctl("call", "change", str(c["call"]),
          f"a.address={told}")
    wait_for(d, c, PACKETS)
    now = d.ctl("call", "query", str(c["call"]))
    assert port_of(now["a"]["to"]) == port_of(told)
    assert now["a"]["ssrc_changes"] == now["a"]["address_changes"] == 1
    for agent in a, b:
        agent.hangup()
    assert likeness(a.heard()[-1], speeches()[1]) > .9


@pytest.mark.parametrize("codecs", [("pcmu", "g722"), ("pcmu", "opus")],
                         ids="-".join)
def test_digits_are_heard_each_way_and_the_speech(talk, codecs):
    """Sixteen keys, in any order; baresip goes on to speak while one is
    pressed."""
    keys = "0123456789*#ABCD", "DCBA#*9876543210"
    d, c, agents = talk(*codecs, more=[f"{party}.events={EVENT_PT}"
                                       for party in "ab"])
    for agent in agents:
        agent.dial()
    wait_for(d, c, 10)
    for agent, mine in zip(agents, keys):
        agent.press(mine)
    heard = [agent.digits(len(keys[0])) for agent in agents]
    assert heard == list(reversed(keys))
    wait_for(d, c, 50)
    for agent in agents:
        agent.hangup()
        # nothing more was heard than that
        assert not any("DTMF" in event["type"] for event in agent.events)
    for party in "ab":
        n = count(d, c, party)
        assert [name for name in REFUSED if n[name]] == [], n

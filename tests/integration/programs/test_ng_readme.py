# SPDX-License-Identifier: Apache-2.0
"""The configuration of Kamailio in docs/ng.md, as it is written there but for
its ports: callers with PCMA and phones with AMR hear each other, and nobody
hears what was not transcoded."""
import re

import ng_rig
import pytest
from baresip import listens
from conftest import ROOT, free_port
from kamailio import HOST, Kamailio
from ng_rig import rig  # noqa: F401
from sipp import AMR, Caller, got, maybe, media, replied, sdp, taken
from telephony import System
from telephony import sdp as described
from test_ng_dialogs import (
    PHONE, RINGS, URI, answers, established, hangs_up, is_hung_up, offer,
    rings)


def example():
    block, = re.findall(r"^```kamailio\n(.*?)^```$",
                        (ROOT / "docs/ng.md").read_text(), re.M | re.S)
    return block


class Written(Kamailio):
    """One with that configuration."""

    def _configure(self, routes, params, more):
        text = example()
        for theirs, ours in (("udp:127.0.0.1:5060", f"udp:{HOST}:{self.port}"),
                             ("udp:127.0.0.1:22222",
                              params["rtpengine_sock"])):
            assert text.count(theirs) == 1
            text = text.replace(theirs, ours)
        (self.folder / "kamailio.cfg").write_text(text)

    def _answers(self):
        listens(HOST, self.port)


@pytest.fixture
def written(rig, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ng_rig, "Kamailio", Written)
    return rig


def plain_calls(written):
    said = written.file("said", "PCMA", 0)
    callee = written.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    written.calls([*established(c, said), *hangs_up(c, 2)])
    written.over()
    written.assert_phones([("PCMA", said)])
    written.assert_caller(["PCMA"])


def test_calls_go_as_it_is_written(written):
    written.begin()
    plain_calls(written)


def test_a_node_that_is_down_is_passed_over(written):
    written.begin(urls=[f"udp:127.0.0.1:{free_port()}", written.node().url])
    plain_calls(written)


def never_there(written):
    written.begin(urls=[f"udp:127.0.0.1:{free_port()}"], calls=1)


def gone(written):
    written.begin(calls=1)
    written.nodes.pop().d.stop()


def draining(written):
    """As long as a call goes on."""
    node = written.node("--drain-timeout", "1h")
    written.begin(calls=1)
    system = System(f"127.0.0.1:{node.ng}")
    call = {"call_id": "goes on", "from_tag": "a", "to_tag": "b"}
    system.ok("offer", **call, sdp=described(9))
    system.ok("answer", **call, sdp=described(9))
    node.d.ctl("drain")

    def end():
        system.ok("delete", call_id="goes on")
        system.close()
    written.at_end.callback(end)
    written.nodes.clear()


@pytest.mark.parametrize("unable", [never_there, gone, draining])
def test_a_call_that_no_node_takes_is_refused(written, unable):
    """With 503, before anybody is called."""
    unable(written)
    callee = written.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    written.calls([offer(c), maybe(100), got(503), c.refused(3)])
    written.sipps.pop("callee").end()
    written.over()
    assert not callee.messages("received")


def test_an_answer_that_the_node_refuses_is_no_answer(written):
    """Who called is told nothing of where the phone is, and hangs up; the node
    forgets the call."""
    written.begin(calls=1)
    callee = written.called([
        *RINGS, replied("200 OK", sdp(media(PHONE, AMR), media(0, AMR)),
                        first=True, again=True),
        taken("ACK", optional=True), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = written.calls([offer(c), rings(), got(200, rrs="true"),
                            c.within("ACK", 1), *hangs_up(c, 2)])
    written.over()
    assert "m=audio" not in caller.got_of("200")[0]
    assert not written.phones[0].heard


def test_a_call_that_is_not_answered_leaves_nothing(written):
    written.begin(calls=1)
    callee = written.called([*RINGS, replied("486 Busy", first=True,
                                             again=True), taken("ACK")])
    c = Caller(URI.format(callee.port))
    written.calls([offer(c), rings(), got(486), c.refused(3)])
    written.over()

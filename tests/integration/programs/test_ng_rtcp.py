# SPDX-License-Identifier: Apache-2.0
"""Where reports of a call go (RFC 5761)."""
import select

import pytest

from conftest import PATIENCE
from ng_call import Call, Talker
from telephony import System
from test_rtcp import pair
from test_senders import started


class Reporting(Talker):
    """One that has a socket for RTCP, too, at the next port."""

    def __init__(self):
        super().__init__()
        self.sock.close()
        self.sock, self.rtcp = pair()
        self.sock.settimeout(PATIENCE)
        self.port = self.sock.getsockname()[1]

    def reported(self):
        """Where the next report comes: at the port of RTP ("mux"), or at its
        own ("port"). What came before does not count."""
        for sock in (self.sock, self.rtcp):
            while select.select([sock], [], [], 0)[0]:
                sock.recv(2048)
        while True:
            ready = select.select([self.sock, self.rtcp], [], [], PATIENCE)[0]
            assert ready
            for sock in ready:
                if 192 <= sock.recv(2048)[1] <= 223:
                    return "mux" if sock is self.sock else "port"


@pytest.fixture
def reported(daemon):
    """A call of phones that want to be reported to."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--rtcp-interval", "250ms")
    call = Call(System(d.ready["ng"]))
    call.a, call.b = Reporting(), Reporting()
    return call


def settle_mux(call, flags, a, b, known=False):
    """What both are told of it; they have spoken."""
    mux = ["a=rtcp-mux"]
    call.offer("8 PCMA/8000", known=known, lines=mux if a else [],
               rtcp_mux=flags)
    call.answer("8 PCMA/8000", lines=mux if b else [])
    call.a.says(0x55, 3, 8)
    call.b.says(0x55, 3, 8)
    return [line.value("rtcp-mux") is not None
            for line in (call.answered[0], call.offered[0])]


@pytest.mark.parametrize("flags, a, b, told, at", [
    ([], True, False, [True, False], ["mux", "port"]),
    (["accept", "demux"], True, False, [True, False], ["mux", "port"]),
    (["offer"], False, True, [False, True], ["port", "mux"]),
    (["offer"], True, False, [True, True], ["mux", "port"]),
    (["require"], False, False, [False, True], ["port", "mux"]),
    (["reject"], True, False, [False, False], ["port", "port"]),
    (["reject", "offer"], True, True, [False, True], ["port", "mux"]),
])
def test_rtcp_is_where_each_side_has_agreed_to(reported, flags, a, b, told,
                                               at):
    assert settle_mux(reported, flags, a, b) == told
    assert [reported.a.reported(), reported.b.reported()] == at
    reported.delete()


def test_rtcp_moves_by_a_new_offer(reported):
    """From its own port to that of RTP, and back; the other side, which has
    agreed once, stays."""
    call = reported
    assert settle_mux(call, ["offer"], False, True) == [False, True]
    assert call.a.reported() == "port"
    assert settle_mux(call, [], True, True, known=True) == [True, True]
    assert [call.a.reported(), call.b.reported()] == ["mux", "mux"]
    assert settle_mux(call, ["demux"], False, False, known=True) == [False] * 2
    assert [call.a.reported(), call.b.reported()] == ["port", "port"]
    call.delete()


@pytest.mark.parametrize("flags, mux, attributes", [
    ({}, [], ["{1}", "{1}"]),
    ({}, ["a=rtcp-mux"], ["{1}", "{0}"]),
    ({}, ["a=rtcp-mux", "a=rtcp-mux-only"], ["{1}", None]),
    ({"rtcp_mux": ["offer"]}, ["a=rtcp-mux"], ["{1}", "{0}"]),
    ({"rtcp_mux": ["require"]}, [], ["{0}", "{1}"]),
    ({"rtcp_mux": ["reject"]}, ["a=rtcp-mux"], ["{1}", "{1}"]),
    ({"flags": ["no-rtcp-attribute"]}, ["a=rtcp-mux"], [None, None]),
    ({"flags": ["full rtcp attribute"]}, [],
     ["{1} IN IP{2} {3}", "{1} IN IP{2} {3}"]),
])
@pytest.mark.parametrize("family", ["IP4", "IP6"])
def test_where_rtcp_goes_is_always_told(daemon, family, flags, mux,
                                        attributes):
    """In the offer's and the answer's description, and in those of a new
    offer (RFC 3605); flags are those of either request."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", "in/127.0.0.1", "--interface",
                "in/::1")
    call = Call(System(d.ready["ng"]))
    host = {"IP4": "127.0.0.1", "IP6": "::1"}[family]
    call.a.host = call.b.host = host
    flags = {**flags, "flags": flags.get("flags", [])}
    for known in (False, True):
        call.offer("8 PCMA/8000", known=known, lines=mux, **flags)
        call.answer("8 PCMA/8000", flags=flags["flags"])
        for line, attribute in zip([call.offered[0], call.answered[0]],
                                   attributes):
            assert line.host == host
            assert line.value("rtcp") == (attribute and attribute.format(
                line.port, line.port + 1, family[2], host))
    call.delete()

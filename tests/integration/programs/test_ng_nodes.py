# SPDX-License-Identifier: Apache-2.0
"""Kamailio, and nodes of NG whose replies are lost, or that are full: calls go
on as if nothing had been."""
from ng_forwarder import Forwarder
from ng_rig import rig  # noqa: F401
from sipp import Caller, got, maybe, taken
from test_ng_dialogs import (
    RINGS, URI, answers, established, hangs_up, is_hung_up, offer)

# ports for one side of a call only
NO_ROOM = "--rtp-ports", "29998-29999"


def plain_calls(rig):  # noqa: F811
    """All calls at once, from their begin to their end."""
    said = rig.file("said", "PCMA", 0)
    callee = rig.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    rig.calls([*established(c, said), *hangs_up(c, 2)])
    rig.over()
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])


def test_the_first_reply_to_each_request_is_lost(rig):  # noqa: F811
    """Kamailio asks again; the node answers the same and does it once."""
    forwarder = Forwarder(rig.node().ng)
    rig.at_end.callback(forwarder.end)
    rig.begin(urls=[forwarder.url], wait_ms=200)
    plain_calls(rig)
    assert len(forwarder.asked) >= 3 * len(rig.phones)  # offer, answer, delete
    for cookie, times in forwarder.asked.items():
        assert times >= 2
        assert len(set(forwarder.replies[cookie])) == 1


def test_a_full_node_is_passed_over(rig):  # noqa: F811
    """It says "load limit", and the other of the set takes every call."""
    full, other = rig.node(*NO_ROOM), rig.node()
    rig.begin(calls=6)
    plain_calls(rig)
    assert full.d.ctl("stats")["calls_started"] == 0
    assert other.d.ctl("stats")["calls_started"] == len(rig.phones)


def test_where_all_are_full_a_call_is_refused(rig):  # noqa: F811
    """With 503, before anybody is called."""
    rig.node(*NO_ROOM)
    rig.begin(calls=1)
    c = Caller(URI.format(9))
    rig.calls([offer(c), maybe(100), got(503), c.refused(3)])
    rig.over()

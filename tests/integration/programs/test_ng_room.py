# SPDX-License-Identifier: Apache-2.0
"""How many calls a node takes, and for how long: limits, silence, a drain."""
import signal
import time

import pytest

from conftest import PATIENCE
from ng_call import AMR_FMTP, Call, HERE, TO_AMR, all_is_gone, until
from packets import header
from telephony import System, sdp
from test_senders import started


def test_a_branch_for_which_there_is_no_room_takes_nothing(daemon):
    """Another one talks, and goes on."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "4")
    call = Call(System(d.ready["ng"]))
    told = []
    for branch in ("one", "two"):
        call.offer("8 PCMA/8000", via_branch=branch)
        told.append(call.offered[0])
    call.b.told(told[0])
    call.answer("8 PCMA/8000", via_branch="one")
    other = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                  "out.address=127.0.0.1:9")
    second = {"call_id": call.id, "from_tag": "tag-a", "to_tag": "tag-c",
              "via_branch": "two", "sdp": sdp(9, "8 PCMA/8000")}
    reply = call.proxy.ask("answer", **second, **HERE)
    assert "--max-calls" in reply["error-reason"]
    call.a.says(0x55, 3, 8)
    call.b.hears(3)
    call.b.says(0x55, 3, 8)
    call.a.hears(3)
    d.ctl("call", "stop", str(other["call"]))
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 2)
    call.proxy.ok("answer", **second, **HERE)
    call.delete()
    all_is_gone(d)


def test_who_rings_for_long_is_not_silent(daemon):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-silence", "2s", "--ng-patience", "600s")
    call = Call(System(d.ready["ng"]))
    call.offer("8 PCMA/8000")
    time.sleep(2.5)
    call.answer("8 PCMA/8000")
    time.sleep(0.7)
    assert call.proxy.ok("list")["calls"] == [call.id]
    until(lambda: call.proxy.ok("list")["calls"], lambda c: not c)
    all_is_gone(d)


def test_load_limit(daemon):
    """What admission says is what the proxy hears, before anybody rings."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "4")
    proxy = System(d.ready["ng"])
    calls = [Call(proxy) for _ in range(2)]
    for call in calls:
        call.offer("8 PCMA/8000")
    request = {"call_id": "third", "from_tag": "a", "sdp": sdp(4000), **HERE}
    reply = proxy.ask("offer", **request, supports=["load limit"])
    assert reply["result"] == "load limit"
    assert "--max-calls" in reply["message"]
    assert proxy.ask("offer", **request)["result"] == "error"
    calls[0].delete()
    assert proxy.ask("offer", **request)["result"] == "ok"


def test_a_host_has_a_share_of_the_lines(daemon):
    """No legs are opened for more; another host has its own."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-lines", "3", "--ng-host-lines", "2")
    proxy = System(d.ready["ng"])
    calls = [Call(proxy) for _ in range(2)]
    for call in calls:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
    request = {"call_id": "third", "from_tag": "a", "sdp": sdp(4000),
               "supports": ["load limit"], **HERE}
    reply = proxy.ask("offer", **request)
    assert reply["result"] == "load limit"
    assert "2 media lines (--ng-host-lines 2)" in reply["message"]
    assert d.ctl("stats")["interfaces"][0]["used"] == 4
    calls[0].offer("8 PCMA/8000", known=True)  # what it has it may use again
    other = System(d.ready["ng"], host="127.0.0.2")
    assert other.ask("offer", **request)["result"] == "ok"
    reply = other.ask("offer", **{**request, "call_id": "fourth"})
    assert "3 media lines (--ng-lines 3)" in reply["message"]
    for call in calls:
        call.delete()
    assert other.ok("delete", call_id="third")["result"] == "ok"
    all_is_gone(d)


def test_nobody_answers_and_nobody_speaks(daemon, tmp_path):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--ng-patience", "1s", "--ng-silence",
                "300ms")
    proxy = System(d.ready["ng"])
    Call(proxy).offer("8 PCMA/8000")
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    all_is_gone(d)
    until(lambda: proxy.ok("list")["calls"], lambda calls: not calls)
    told = proxy.ok("statistics")["statistics"]["totalstatistics"]
    assert told["offertimeoutsessions"] == 1
    assert told["timeoutsessions"] == 1
    d.stop()  # and all is written
    log = (tmp_path / "runner-0.log").read_text()
    assert log.count(" ng-silent call=") == 2


def test_a_drained_node_takes_no_new_calls(daemon):
    d = started(daemon, "auto", "--drain-timeout", "600s", "--ng",
                "127.0.0.1:0")
    proxy = System(d.ready["ng"])
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    d.ctl("drain")
    reply = proxy.ask("offer", call_id="new", from_tag="a", sdp=sdp(4000),
                      supports=["load limit"], **HERE)
    assert reply["result"] == "load limit" and "drain" in reply["message"]
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.offer("8 PCMA/8000", known=True)  # what goes on may change
    call.answer("8 PCMA/8000")
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def ringing(daemon, *options):
    """A daemon, and a call that was offered before its drain."""
    d = started(daemon, "auto", "--drain-timeout", "600s", "--ng",
                "127.0.0.1:0", *options)
    call = Call(System(d.ready["ng"]), codec=TO_AMR)
    call.offer("8 PCMA/8000")
    return d, call


@pytest.mark.parametrize("how", ["drain", "SIGTERM"])
def test_a_drain_waits_for_calls_that_ring(daemon, how):
    d, call = ringing(daemon)
    if how == "drain":
        d.ctl("drain")
    else:
        d.process.send_signal(signal.SIGTERM)
    time.sleep(1.2)  # it looks each second whether all is over
    amr = call.offered[0].types[0]
    call.answer(f"{amr} AMR/8000 {AMR_FMTP}")
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}
    time.sleep(1.2)
    assert d.process.poll() is None
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def test_a_drain_ends_when_the_caller_gives_up(daemon):
    d, call = ringing(daemon)
    d.ctl("drain")
    call.delete()
    assert d.process.wait(timeout=PATIENCE) == 0


def test_a_drain_has_the_patience_of_the_node(daemon):
    d, call = ringing(daemon, "--ng-patience", "1s")
    d.ctl("drain")
    assert d.process.wait(timeout=PATIENCE) == 0
    log = d.log
    log.seek(0)
    assert f'ng-silent call="{call.id}" answered=0' in log.read()

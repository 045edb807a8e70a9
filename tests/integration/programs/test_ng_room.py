# SPDX-License-Identifier: Apache-2.0
"""How many calls a node takes, and for how long: limits, silence, a drain."""
import signal
import time

import pytest

from conftest import PATIENCE
from ng_call import AMR_FMTP, Call, HERE, TO_AMR, all_is_gone, until
from packets import header
from telephony import System, lines, sdp
from test_senders import started


def test_a_branch_for_which_there_is_no_room_takes_nothing(daemon):
    """Another one talks, and goes on."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--max-calls", "2")
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
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 1)
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
                "127.0.0.1:0", "--max-calls", "2")
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
    """No endpoints are opened for more; another host has its own."""
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


def test_a_call_has_so_many_lines(daemon):
    """Those beyond that are refused, and the others go on."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0")
    proxy = System(d.ready["ng"])
    more = [f"m=audio {5000 + 2 * n} RTP/AVP 8" for n in range(15)]
    call = {"call_id": "many", "from_tag": "a", **HERE}
    video = "m=video 6000 RTP/AVP 99"
    reply = proxy.ok("offer", **call, sdp=sdp(4000, more=[video, *more[1:]]))
    assert [x.port > 0 for x in lines(reply["sdp"])] == [
        True, False, *[True] * 3, *[False] * 11]
    assert reply["warning"].count("--ng-call-lines 4") > 0
    assert d.ctl("stats")["interfaces"][0]["used"] == 2 * 4
    reply = proxy.ok("answer", **call, to_tag="b", sdp=sdp(
        4000, more=["m=video 0 RTP/AVP 99", *more[1:]]))
    assert sum(x.port > 0 for x in lines(reply["sdp"])) == 4
    proxy.ok("delete", call_id="many")
    all_is_gone(d)


def unanswered(proxy, n, lines_=1):
    """So many calls are offered, each with so many lines; the results."""
    text = sdp(4000, more=[f"m=audio {5000 + 2 * n} RTP/AVP 8"
                           for n in range(lines_ - 1)])
    return [proxy.ask("offer", call_id=f"rings {id(proxy)} {k}",
                      from_tag="a", sdp=text, supports=["load limit"],
                      **HERE)["result"] for k in range(n)]


@pytest.fixture
def small(daemon, tmp_path):
    """A node that has little room; .ages: what rings is old in 2 s then."""
    conf = tmp_path / "node.conf"
    conf.write_text("ng-patience = 600s\n")

    def start(*options):
        d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                    "127.0.0.1:0", "--config", str(conf), *options)

        def ages():
            conf.write_text("ng-patience = 32s\n")
            d.process.send_signal(signal.SIGHUP)
            d.logged(" config-read ")
        d.ages = ages
        return d
    return start


@pytest.mark.parametrize("option, lines_, kept", [
    # a line has two ports on each side
    (("--rtp-ports", "20000-20031"), 1, 8),
    (("--rtp-ports", "20000-20031"), 16, 2),
    (("--ng-lines", "6"), 1, 6),
    (("--ng-host-lines", "6"), 1, 6),
    (("--ng-host-offers", "4"), 1, 4),
    (("--max-calls", "6"), 1, 6),
])
def test_what_rings_for_long_makes_room(small, option, lines_, kept):
    """The node is full of calls that nobody answers: for a while. What was
    answered stays."""
    d = small(*option)
    proxy = System(d.ready["ng"])
    call = Call(proxy)
    answered = option[0] != "--rtp-ports"
    if answered:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
        kept -= option[0] != "--ng-host-offers"
    assert unanswered(proxy, 12, lines_) == [
        "ok"] * kept + ["load limit"] * (12 - kept)
    d.ages()
    until(lambda: proxy.ask("offer", call_id="new", from_tag="a",
                            sdp=sdp(4000), **HERE)["result"],
          lambda result: result == "ok")
    d.logged(f' ng-displaced call="rings {id(proxy)} 0" by="new" ')
    left = proxy.ok("list", limit=100)["calls"]
    assert "new" in left and len(left) <= kept + answered
    if answered:  # a call for a call; but ports come back a moment later
        assert len(left) == kept + 1
    if answered:
        call.a.says(0xd5, 3, 8)
        assert len(call.b.hears(3)) == 3
    for one in left:
        proxy.ok("delete", call_id=one)
    all_is_gone(d)


def test_who_rings_most_makes_room_for_others(small):
    d = small("--ng-lines", "8")
    few, many = (System(d.ready["ng"], host=f"127.0.0.{n}") for n in (2, 3))
    assert unanswered(few, 2) == ["ok"] * 2
    assert unanswered(many, 7) == ["ok"] * 6 + ["load limit"]
    d.ages()
    begun = time.monotonic()
    until(lambda: time.monotonic() - begun, lambda s: s > 2)  # all are old
    other = System(d.ready["ng"])
    until(lambda: other.ask("offer", call_id="new", from_tag="a",
                            sdp=sdp(4000), **HERE)["result"],
          lambda result: result == "ok")
    left = other.ok("list", limit=100)["calls"]
    assert sum(str(id(few)) in call for call in left) == 2
    assert sum(str(id(many)) in call for call in left) == 5
    for call in left:
        other.ok("delete", call_id=call)
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

# SPDX-License-Identifier: Apache-2.0
"""Calls as a telephone system sets them up: descriptions go through the node,
phones send to where these say, and hear each other."""
import json

import pytest

from conftest import PATIENCE
from ng_call import (  # noqa: F401
    Call, HERE, TO_AMR, Talker, all_is_gone, d, proxy, until)
from packets import header, packet
from telephony import System, lines, sdp
from test_senders import started


def test_pcma_meets_amr(d, proxy):
    """The caller has PCMA, the other side only AMR: both hear each other."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000, 101 telephone-event/8000 0-15")
    offered, = call.offered
    assert offered.names == ["AMR/8000", "telephone-event/8000"]
    amr, events = offered.types
    assert offered.fmtp(amr).replace(" ", "") == "mode-set=7;octet-align=1"
    assert offered.host == "127.0.0.1" and offered.port not in (
        call.a.port, 0)
    call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1, "
                f"{events} telephone-event/8000")
    answered, = call.answered
    assert answered.names == ["PCMA/8000", "telephone-event/8000"]
    assert answered.types == [8, 101]
    assert answered.port not in (offered.port, call.b.port)
    call.a.says(0xd5, 20, 8)
    heard = call.b.hears(20)
    assert {header(x)["pt"] for x in heard} == {amr}
    assert {len(x) for x in heard} == {12 + 2 + 31}  # 12.2 kbit/s
    # no data, 20 ms each: octet-aligned, CMR 15, frame type 15
    for i in range(20):
        call.b.say(7, i, 160 * i, payload=b"\xf0\x7c", pt=amr)
    heard = call.a.hears(20)
    assert {header(x)["pt"] for x in heard} == {8}
    assert {len(x) for x in heard} == {12 + 160}
    total = call.delete()["totals"]["RTP"]
    assert total["packets"] == 40 and total["errors"] == 0
    all_is_gone(d)


def test_what_both_speak_is_passed_on(d, proxy):
    """Least transcoding: no codec is used, payload types keep their
    numbers."""
    call = Call(proxy, codec={"transcode": ["AMR"]})
    call.offer("0 PCMU/8000, 8 PCMA/8000")
    assert call.offered[0].names == ["PCMU/8000", "PCMA/8000", "AMR/8000"]
    call.answer("8 PCMA/8000")
    assert call.answered[0].names == ["PCMA/8000"]
    call.a.says(0x11, 10, 8)
    assert [x[12:] for x in call.b.hears(10)] == [bytes([0x11]) * 160] * 10
    assert d.ctl("stats")["relays"] == 2
    call.delete()
    all_is_gone(d)


def test_a_repeated_answer_is_the_same(d, proxy):
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    amr = call.offered[0].types[0]
    first = call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1")
    calls = d.ctl("stats")["calls"]
    again = call.answer(f"{amr} AMR/8000 mode-set=7;octet-align=1")
    assert again == first and d.ctl("stats")["calls"] == calls == 1
    call.delete()


def test_a_cookie_that_comes_again_gets_the_same(d, proxy):
    message = proxy.message("same", {
        "command": "offer", "call-id": "x", "from-tag": "a",
        "sdp": sdp(4000), **HERE})
    first = proxy.hear_udp(message, "same")
    assert first["result"] == "ok"
    assert [proxy.hear_udp(message, "same") for _ in range(3)] == [first] * 3
    assert len(proxy.ok("list")["calls"]) == 1


def test_hold_and_back(d, proxy):
    """By the caller, by sendonly and back; then by the other side."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("0 PCMU/8000")
    ports = call.offered[0].port, call.answered[0].port
    call.a.says(0xd5, 5, 8)
    call.b.hears(5)
    call.offer("8 PCMA/8000", known=True, lines=["a=sendonly"])
    assert call.offered[0].mode == "sendonly"
    call.answer("0 PCMU/8000", lines=["a=recvonly"])
    assert call.answered[0].mode == "recvonly"
    assert (call.offered[0].port, call.answered[0].port) == ports
    call.a.says(0xd5, 5, 8)  # music
    call.b.hears(5)
    call.b.says(0xff, 5, 0)  # that nobody wants
    until(lambda: d.ctl("stats")["totals"]["on_hold"], lambda n: n == 5)
    call.offer("8 PCMA/8000", known=True)
    call.answer("0 PCMU/8000")
    call.b.says(0xff, 5, 0)
    heard = call.a.hears(5)
    assert {header(x)["pt"] for x in heard} == {8}
    call.a.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        call.a.hears(1)  # what was said on hold was not sent
    call.delete()
    all_is_gone(d)


def test_a_reoffer_of_the_other_side_keeps_what_was_spoken(d, proxy):
    """B offers its own codec again; A still gets one that it has."""
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    amr = call.offered[0].types[0]
    spec = f"{amr} AMR/8000 mode-set=7;octet-align=1"
    call.answer(spec)
    call.flags = HERE
    call.offer(spec, by="b")
    assert "PCMA/8000" in call.offered[0].names
    assert call.offered[0].types[call.offered[0].names.index("PCMA/8000")] == 8
    call.answer("8 PCMA/8000", by="a")
    assert call.answered[0].names == ["AMR/8000"]
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {amr}


@pytest.mark.parametrize("branch", [{}, {"via_branch": "its own"}])
def test_who_was_called_offers_without_saying_to_whom(d, proxy, branch):
    """The to-tag of an offer may be missing: it is the same dialog, with the
    same ports, and both are heard."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("0 PCMU/8000")
    ports = call.answered[0].port, call.offered[0].port
    text = {who: sdp(phone.port, formats) for who, phone, formats in (
        ("a", call.a, "8 PCMA/8000"), ("b", call.b, "0 PCMU/8000"))}
    for who, other, port in (("b", "a", ports[0]), ("a", "b", ports[1])):
        told = proxy.ok("offer", call_id=call.id, from_tag=f"tag-{who}",
                        sdp=text[who], codec={"transcode": ["PCMA", "PCMU"]},
                        **HERE, **(branch if who == "b" else {}))
        assert lines(told["sdp"])[0].port == port
        proxy.ok("answer", call_id=call.id, from_tag=f"tag-{who}",
                 to_tag=f"tag-{other}", sdp=text[other], **HERE)
    assert len(proxy.ok("query", call_id=call.id)["tags"]) == 2
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {0}
    call.b.says(0xff, 3, 0)
    assert {header(x)["pt"] for x in call.a.hears(3)} == {8}
    call.delete()
    all_is_gone(d)


def test_a_change_of_codec(d, proxy):
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.offer("8 PCMA/8000", known=True)
    call.answer("0 PCMU/8000")
    assert d.ctl("stats")["relays"] == 0
    call.a.says(0xd5, 3, 8)
    assert {header(x)["pt"] for x in call.b.hears(3)} == {0}


def test_a_party_that_moves(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    to, call.b = call.b.to, Talker()
    call.b.to = to
    call.offer("8 PCMA/8000", by="b")
    call.answer("8 PCMA/8000", by="a")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)


def test_forks_by_branch(d, proxy):
    """Two branches ring; both send early media by turns; one wins."""
    call = Call(proxy)
    call.offer("8 PCMA/8000", via_branch="one")
    first = call.offered[0]
    call.offer("8 PCMA/8000", via_branch="two")
    second = call.offered[0]
    assert first.port != second.port
    phones = {}
    for branch, told in (("one", first), ("two", second)):
        phone = phones[branch] = Talker()
        phone.told(told)
        reply = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                         to_tag=f"tag-{branch}", via_branch=branch,
                         sdp=sdp(phone.port), **HERE)
        call.a.told(lines(reply["sdp"])[0])
        phone.says(0xd5, 3, 8)
        call.a.hears(3)
        call.a.says(0xd5, 3, 8)
        phone.hears(3)
    # the first one answers once more: it has the caller again
    again = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                     to_tag="tag-one", via_branch="one",
                     sdp=sdp(phones["one"].port), **HERE)
    call.a.told(lines(again["sdp"])[0])
    call.a.says(0xd5, 3, 8)
    phones["one"].hears(3)
    proxy.ok("delete", call_id=call.id, from_tag="tag-a", to_tag="tag-two",
             via_branch="two")
    phones["one"].says(0xd5, 3, 8)
    call.a.hears(3)
    until(lambda: d.ctl("stats")["calls"], lambda n: n == 1)
    call.delete()
    all_is_gone(d)


def test_late_offer(d, proxy):
    """The offer is in the 200, the answer in the ACK: tags are the other way
    round."""
    call = Call(proxy)
    call.offer("8 PCMA/8000", by="b")
    call.answer("8 PCMA/8000", by="a")
    call.a.says(0xd5, 3, 8)
    call.b.hears(3)
    call.b.says(0xd5, 3, 8)
    call.a.hears(3)
    call.delete()
    all_is_gone(d)


@pytest.mark.parametrize("wish, host", [
    ({}, "192.0.2.1"),  # as towards who offers
    ({"direction": ["in", "out"]}, "198.51.100.1"),
    ({"direction": ["IN", "Out"]}, "198.51.100.1"),
    ({"address_family": "IP6"}, "2001:db8::1"),
    ({"direction": ["in", "out"], "address_family": "IP6"}, "2001:db8::1"),
    # one that there is not is the first
    ({"direction": ["in", "nowhere"]}, "192.0.2.1"),
    ({"direction": ["nowhere", "out"]}, "198.51.100.1"),
    ({"direction": ["out", "nowhere"]}, "192.0.2.1"),
    ({"direction": ["out"]}, "198.51.100.1"),
    ({"direction": "out"}, "192.0.2.1"),
    ({"rtpp_flags": "direction=in direction=out"}, "198.51.100.1"),
])
def test_interfaces(daemon, wish, host):
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--interface", "in/127.0.0.1!192.0.2.1",
                "--interface", "out/127.0.0.1!198.51.100.1", "--interface",
                "out/::1!2001:db8::1")
    call = Call(System(d.ready["ng"]), **wish)
    told = call.offer("8 PCMA/8000").get("warning", "")
    assert call.offered[0].host == host
    assert ("nowhere" in told) == ("nowhere" in wish.get("direction", ""))
    call.delete()


def test_cancel_before_an_answer(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    assert d.ctl("stats")["interfaces"][0]["used"] == 2
    call.delete()
    all_is_gone(d)


@pytest.mark.parametrize("offer, why", [
    ({"sdp": "rubbish"}, "sdp"),
    ({"sdp": sdp(4000).replace("RTP/AVP", "RTP/SAVP")}, "SRTP"),
    ({"transport_protocol": "RTP/SAVP"}, "RTP/SAVP"),
    ({"rtpp_flags": "codec=[mask=[all]"}, "brackets"),
    ({"to_tag": "a"}, "to-tag"),
])
def test_what_cannot_be_done_is_refused(d, proxy, offer, why):
    request = {"call_id": "x", "from_tag": "a", "sdp": sdp(4000), **HERE}
    reply = proxy.ask("offer", **{**request, **offer})
    assert reply["result"] == "error"
    assert why.lower() in reply["error-reason"].lower(), reply
    assert proxy.ok("list")["calls"] == []
    all_is_gone(d)


@pytest.mark.parametrize("encoding, request_", [
    ("bencode", {"command": b"\xff\xfe"}),
    ("json", {"command": "a" + "\u00e9" * 30}),  # is cut in a character
    ("json", {"command": "offer", "call-id": "x", "from-tag": "a",
              "sdp": sdp(4000), "codec": {"mask": ["\u00e9" * 70]}}),
])
def test_what_is_no_text_is_an_error(d, encoding, request_):
    """And quoting it harms nobody."""
    proxy = System(d.ready["ng"], encoding=encoding)
    reply = proxy.hear_udp(proxy.message("c", request_), "c")
    assert reply["result"] == "error" and reply["error-reason"]
    assert proxy.ask("ping")["result"] == "pong"


@pytest.mark.parametrize("key, value, told", [
    ("direction", [b"\xe9" * 9, b"\xe8"], "direction"),
    ("transport-protocol", b"\xe9" * 60, ""),
    ("flags", b"\xe9" * 60 + b" codec-x-\xe9=[\xe8]", "codec-x"),
    ("rtpp-flags", b"\xe9=\xe8 ICE=\xe9 \xe9", ""),
])
def test_what_is_no_text_and_no_matter_is_passed_over(d, key, value, told):
    proxy = System(d.ready["ng"], encoding="bencode")
    reply = proxy.hear_udp(proxy.message("c", {
        "command": "offer", "call-id": "x", "from-tag": "a",
        "sdp": sdp(4000), key: value}), "c")
    assert reply["result"] == "ok"
    assert told in str(reply.get("warning", ""))


SCRIPT = ("replace-origin replace-session-connection ICE=remove RTP/AVP "
          "codec-mask-all codec-transcode-AMR/8000/1/12200//mode-set--7;"
          "octet-align--1")


@pytest.mark.parametrize("key", ["rtpp-flags", "rtpp_flags", "rtpp flags",
                                 "flags", "Flags"])
def test_a_script_is_taken_as_it_is(d, key):
    """A proxy that does not read its flags itself hands them over, as
    Kamailio 6 does if it is told a branch: in bencode, behind what it has
    found out."""
    proxy = System(d.ready["ng"], encoding="bencode")
    phones = Talker(), Talker()

    def said(command, who, formats, **tags):
        reply = proxy.hear_udp(proxy.message(command, {
            "supports": ["load limit"], "sdp": sdp(phones[who].port, formats),
            "call-id": key, "via-branch": "z9hG4bK1", "from-tag": "a", **tags,
            "command": command, "sip-message-type": ("request", "reply")[who],
            key: SCRIPT + " via-branch=auto-next"}), command)
        assert reply["result"] == "ok" and "warning" not in reply, reply
        line, = lines(reply["sdp"])
        phones[not who].told(line)
        assert "IN IP4 127.0.0.1" in reply["sdp"]
        return line

    offered = said("offer", 0, "8 PCMA/8000")
    assert offered.names == ["AMR/8000"]
    amr, = offered.types
    assert said("answer", 1, f"{amr} AMR/8000 mode-set=7;octet-align=1",
                **{"to-tag": "b"}).names == ["PCMA/8000"]
    phones[0].says(0xd5, 5, 8)
    assert {header(x)["pt"] for x in phones[1].hears(5)} == {amr}
    reply = proxy.hear_udp(proxy.message("delete", {
        "call-id": key, "from-tag": "a", "to-tag": "b", "command": "delete",
        key: "to-tag"}), "delete")
    assert reply["result"] == "ok" and "warning" not in reply
    all_is_gone(d)


def test_tags_of_any_octets(d):
    proxy = System(d.ready["ng"], encoding="bencode")
    message = proxy.message("c", {
        "command": "offer", "call-id": b"\xe9", "from-tag": b"\xe8",
        "sdp": sdp(4000)})
    proxy.socket.send(message)
    assert b"2:ok" in proxy.socket.recv(65536)
    proxy.socket.send(proxy.message("q", {"command": "query",
                                          "call-id": b"\xe9"}))
    assert b"3:tag1:\xe8" in proxy.socket.recv(65536)


def test_a_delete_overtakes_an_offer_whose_cost_is_measured(d, proxy):
    """Then there is no call: who was called is not called back."""
    offer = proxy.message("offer", {
        "command": "offer", "call-id": "x", "from-tag": "a",
        "sdp": sdp(4000), "codec": TO_AMR, **HERE})
    proxy.socket.send(offer)
    proxy.socket.send(proxy.message("delete", {
        "command": "delete", "call-id": "x", "from-tag": "a"}))
    proxy.socket.settimeout(PATIENCE)
    answers = dict(proxy.read(proxy.socket.recv(65536)) for _ in range(2))
    assert answers["delete"]["result"] == "ok"
    assert "warning" not in answers["delete"]
    if answers["offer"]["result"] != "ok":  # else it was quick
        assert "deleted" in answers["offer"]["error-reason"]
    assert proxy.ok("list")["calls"] == []
    all_is_gone(d)


def test_the_branch_says_which_answer_it_is(d, proxy):
    """Even if both branches end at somebody with one tag."""
    call = Call(proxy)
    told, phones = {}, {}
    for branch in ("one", "two"):
        call.offer("8 PCMA/8000", via_branch=branch)
        told[branch] = call.offered[0]
    for branch in ("one", "two"):
        phone = phones[branch] = Talker()
        phone.told(told[branch])
        reply = proxy.ok("answer", call_id=call.id, from_tag="tag-a",
                         to_tag="tag-b", via_branch=branch,
                         sdp=sdp(phone.port), **HERE)
        call.a.told(lines(reply["sdp"])[0])
        call.a.says(0xd5, 3, 8)
        phone.hears(3)
    call.delete()
    all_is_gone(d)


def test_unknown_calls(d, proxy):
    assert "Unknown" in proxy.ask("query", call_id="x")["error-reason"]
    assert "warning" in proxy.ok("delete", call_id="x", from_tag="a")
    assert proxy.ask("delete", call_id="x", from_tag="a",
                     flags=["fatal"])["result"] == "error"
    reply = proxy.ask("answer", call_id="x", from_tag="a", to_tag="b",
                      sdp=sdp(4000))
    assert reply["result"] == "error"


def test_query_tells_what_is_known(d, proxy):
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.a.says(0xd5, 7, 8)
    call.b.hears(7)
    told = proxy.ok("query", call_id=call.id)
    assert set(told["tags"]) == {"tag-a", "tag-b"}
    a = told["tags"]["tag-a"]
    assert a["in dialogue with"] == "tag-b"
    stream = a["medias"][0]["streams"][0]
    assert stream["stats"]["packets"] == 7
    assert stream["endpoint"]["port"] == call.a.port
    assert stream["local port"] == call.answered[0].port
    assert "passthrough" in a["medias"][0]["flags"]
    numbers = proxy.ok("statistics")["statistics"]
    assert numbers["controlstatistics"]["offer"] == 1
    assert numbers["currentstatistics"]["sessionstotal"] == 1


def test_a_record_names_the_call(daemon, tmp_path):
    path = tmp_path / "records"
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng",
                "127.0.0.1:0", "--records", str(path))
    call = Call(System(d.ready["ng"]), codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("0 PCMU/8000")
    listed, = d.ctl("call", "list")["calls"]
    assert listed["label"] == call.id
    call.a.says(0xd5, 5, 8)
    call.b.hears(5)
    call.delete()
    all_is_gone(d)
    assert d.stop() == 0
    record = json.loads(path.read_text())
    assert (record["label"], record["from_tag"], record["to_tag"]) == (
        call.id, "tag-a", "tag-b")
    assert [s["count"]["packets_in"] for s in record["streams"]] == [5, 0]


def test_bencode_as_well(d):
    proxy = System(d.ready["ng"], encoding="bencode")
    call = Call(proxy, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    assert call.offered[0].names == ["AMR/8000"]
    call.delete()


def test_an_answer_to_an_offer_that_another_one_has_overtaken(d, proxy):
    """Both offer at once, and the later one counts: the answer to the earlier
    one is an error, and harms nobody."""
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    call.offer("0 PCMU/8000", known=True)
    call.offer("8 PCMA/8000", by="b")
    reply = proxy.ask("answer", call_id=call.id, from_tag="tag-a",
                      to_tag="tag-b", sdp=sdp(call.b.port), **HERE)
    assert reply["result"] == "error"
    assert "another offer" in reply["error-reason"], reply
    assert d.ctl("stats")["relays"] == 2
    call.a.says(0x33, 3, 8)
    assert [x[12:] for x in call.b.hears(3)] == [bytes([0x33]) * 160] * 3
    call.answer("8 PCMA/8000", by="a")
    call.b.says(0x44, 3, 8)
    assert [x[12:] for x in call.a.hears(3)] == [bytes([0x44]) * 160] * 3
    call.delete()


LEVEL = "1 urn:ietf:params:rtp-hdrext:ssrc-audio-level"


@pytest.mark.parametrize("codec, passed", [
    ({}, True), ({"mask": ["all"], "transcode": ["PCMU"]}, False)])
def test_header_extensions_are_the_parties_matter(proxy, codec, passed):
    """Offered and answered as they are, and passed on where speech is; who
    makes speech anew leaves them out, as anybody may (RFC 8285)."""
    call = Call(proxy, codec=codec)
    other = "a=extmap:2 urn:ietf:params:rtp-hdrext:toffset"
    call.offer("8 PCMA/8000", lines=[f"a=extmap:{LEVEL}", other])
    assert [a for a in call.offered[0].attributes if "extmap" in a] == [
        f"extmap:{LEVEL}", other[2:]]
    pt = call.offered[0].types[0]
    call.answer(f"{pt} {call.offered[0].names[0]}",
                lines=[f"a=extmap:{LEVEL}"])
    assert [a for a in call.answered[0].attributes if "extmap" in a] == [
        f"extmap:{LEVEL}"]
    extension = bytes.fromhex("bede0001" "10230000")
    for says, hears, pt in ((call.a, call.b, 8), (call.b, call.a, pt)):
        packet_ = packet(says.ssrc, 1, 160, payload=b"\x55" * 160, pt=pt)
        says.sock.sendto(bytes([packet_[0] | 0x10]) + packet_[1:12] +
                         extension + packet_[12:], says.to)
        heard, = hears.hears(1)
        assert (heard[12:20] == extension, heard[0] & 0x10 != 0) == (
            passed, passed)
        assert len(heard) == 12 + 160 + 8 * passed
    call.delete()


@pytest.mark.parametrize("key, value", [
    ("sdp_attr", {"audio": {"add": ["x"]}}), ("sdp_media_remove", ["video"]),
    ("alias_key", "x"), ("media_echo", "backwards")])
def test_what_is_not_done_is_warned_of(proxy, key, value):
    reply = Call(proxy).offer("8 PCMA/8000", **{key: value})
    assert reply["warning"] == f"{key.replace('_', '-')}: is not done here"

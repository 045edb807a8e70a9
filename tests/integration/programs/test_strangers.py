# SPDX-License-Identifier: Apache-2.0
"""Whom a call hears and where it sends, when strangers know all its ports: who
sprays them while a party says nothing, and who names a place that is none of
a party's."""
import socket
import time

import pytest

from ng import Proxy
from ng_call import Call, Talker, d, proxy, until  # noqa: F401
from telephony import sdp
from test_senders import started

CALLS = 20
LAW = "0 PCMU/8000"
SPOKEN = 1.2  # seconds after which a party leads, for sure
ABSENT = 5.5
SILENT = 1.2


class NattedCall(Call):
    """Its caller's description names a port at which it is not."""

    def __init__(self, proxy, natted, **flags):
        super().__init__(proxy, **flags)
        self.natted = natted
        self.other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.other.bind(("127.0.0.1", 0))

    def begin(self, **more):
        mine = self.a.port
        if self.natted:
            self.a.port = self.other.getsockname()[1]
        self.offer(LAW, **more)
        self.a.port = mine
        self.answer(LAW)
        return self

    def talks(self):
        self.a.says(1, 1, 0)
        self.b.says(2, 1, 0)


def talk(calls, seconds):
    """All of them, a packet every 20 ms."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for call in calls:
            call.talks()
        time.sleep(0.02)


def spray(strangers, calls, seconds):
    """Ports of both ends of all calls, by each stranger."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for stranger in strangers:
            seq = stranger.seq
            for to in {to for call in calls for to in (call.a.to, call.b.to)}:
                stranger.to, stranger.seq = to, seq
                stranger.says(0x7f, 1, 0)
        time.sleep(0.02)


def hush(phone):
    """What RTP it has heard so far. Its port may be the one where reports for
    another phone go, that phone's + 1."""
    phone.sock.setblocking(False)
    heard = []
    try:
        while True:
            packet = phone.sock.recv(2048)
            if not 192 <= packet[1] < 224:  # RFC 5761, 4
                heard.append(packet)
    except BlockingIOError:
        return heard


def test_who_sprays_while_a_party_is_silent_overhears_nobody(proxy, d):
    """Half of the callers are behind NAT. They say something, pause for longer
    than a silence and longer than an absence, and are heard again by their
    first packet. No stranger is sent anything, nor heard."""
    calls = [NattedCall(proxy, i % 2).begin() for i in range(CALLS)]
    strangers = [Talker() for _ in range(3)]
    talk(calls, SPOKEN)
    for pause in SILENT, ABSENT:
        spray(strangers, calls, pause)
        endpoints = endpoints_of(d)
        before = {endpoint: x["packets"] for endpoint, x in endpoints.items()}
        for call in calls:
            call.talks()
        until(lambda: endpoints_of(d), lambda now: all(
            now[endpoint]["packets"] > before[endpoint] for endpoint in before))
        for call in calls:
            for phone, octet in (call.b, 1), (call.a, 2):
                assert {p[12] for p in hush(phone)} <= {octet}
        assert not any(map(hush, strangers))
        talk(calls, 0.1)
    assert all(x["wrong_source"] for x in endpoints_of(d).values())


def endpoints_of(d):
    return {endpoint["endpoint"]: endpoint for endpoint in (
        d.ctl("endpoint", "query", str(one["endpoint"]))
        for one in d.ctl("endpoint", "list")["endpoints"])}


def test_asymmetric_is_heard_from_elsewhere_and_answered_as_it_says(proxy):
    """By each of its names; with strict-source only from there."""
    for flags, heard in (({"flags": ["asymmetric"]}, True),
                         ({"flags": ["endpoint-learning-off"]}, True),
                         ({"endpoint_learning": "off"}, True),
                         ({"flags": ["strict-source", "asymmetric"]}, False)):
        call = NattedCall(proxy, True).begin(**flags)
        for _ in range(10):
            call.b.says(2, 1, 0)
            assert call.other.recv(2048)[12:] == b"\2" * 160
            call.a.says(1, 1, 0)
            if heard:
                assert call.b.hears(1)[0][12:] == b"\1" * 160
        assert not hush(call.a)
        assert heard or not hush(call.b)
        call.delete()


def move(proxy, call, command, to):
    """A new offer or answer from there."""
    return proxy.ask(command, call_id=call.id, from_tag="tag-a",
                     to_tag="tag-b", sdp=sdp(to[1], LAW, host=to[0]))


def test_calls_that_are_told_each_others_ports_make_no_circle(proxy, d):
    """The last address that closes it is refused; those that only lead from
    one call through another are not, and are heard."""
    one, two = NattedCall(proxy, False), NattedCall(proxy, False)
    for call in one, two:
        call.begin()
    # one's callee is two: caller -> one -> two -> two's callee
    assert move(proxy, one, "offer", ("127.0.0.1", one.a.port))["result"] == "ok"
    assert move(proxy, one, "answer", two.a.to)["result"] == "ok"
    assert move(proxy, two, "offer", one.b.to)["result"] == "ok"
    assert move(proxy, two, "answer",
                ("127.0.0.1", two.b.port))["result"] == "ok"
    one.a.says(1, 5, 0)
    assert [p[12] for p in two.b.hears(5)] == [1] * 5
    two.b.says(2, 5, 0)
    assert [p[12] for p in one.a.hears(5)] == [2] * 5
    # and two's callee is one's caller
    assert move(proxy, two, "offer", one.b.to)["result"] == "ok"
    reply = move(proxy, two, "answer", one.a.to)
    assert reply["result"] == "error"
    assert "packets would go round" in reply["error-reason"]
    for call in one, two:
        call.talks()
    time.sleep(0.1)
    assert d.ctl("stats")["totals"]["packets_in"] < 100


class Mirror:
    """Another node, or NAT: what the party of one endpoint is sent goes on to
    another one, as if that endpoint's party had said it."""

    def __init__(self, pairs):
        self.phones = [(Talker(), Talker()) for _ in range(pairs)]
        for pair in self.phones:
            for phone in pair:
                phone.sock.setblocking(False)

    def turn(self, seconds):
        """Until nothing has come for that long."""
        last, passed = time.monotonic(), 0
        while time.monotonic() - last < seconds:
            for pair in self.phones:
                for at, on in pair, pair[::-1]:
                    for packet in hush(at):
                        last = time.monotonic()
                        passed += 1
                        assert passed < 100000
                        on.sock.sendto(packet, on.to)


@pytest.mark.parametrize("coded", [False, True])
def test_a_circle_through_others_ends(proxy, d, coded):
    """A relayed call, or two with codecs, between parties that are one program:
    by no address can that be seen."""
    mirror = Mirror(1 + coded)
    calls = [Call(proxy) for _ in mirror.phones]
    if coded:
        (calls[0].b, calls[1].a), (calls[1].b, calls[0].a) = mirror.phones
    else:
        (calls[0].a, calls[0].b), = mirror.phones
    for call, law, other in zip(calls, (LAW, "8 PCMA/8000"),
                                ("PCMA", "PCMU")):
        call.offer(law, **({"codec": {"mask": ["all"], "transcode": [other]}}
                           if coded else {}))
        call.answer(("8 PCMA/8000" if other == "PCMA" else LAW)
                    if coded else LAW)
    calls[0].a.says(1, 300, 0)
    mirror.turn(1.5)
    stats = d.ctl("stats")
    assert stats["relays"] == (0 if coded else 2)
    assert stats["totals"]["excess" if coded else "surplus"]


def refused(d, *words):
    assert "packets would go round" in d.ctl(*words, code=1)


def test_calls_of_the_shared_port_make_no_circle(daemon):
    """By SSRC: one that sends to itself, and three, of which the last one is
    refused. The first two may follow each other."""
    d = started(daemon, "auto", "--drain-timeout", "0s")
    port = d.ready["rtp"].rsplit(":", 1)[1]
    start = ("call", "start", "in.codec=pcmu", "out.codec=pcmu")
    to = f"out.address=127.0.0.1:{port}"
    refused(d, *start, "ssrc=5", "out.ssrc=5", to)
    d.ctl(*start, "ssrc=5", "out.ssrc=6", to)
    d.ctl(*start, "ssrc=6", "out.ssrc=7", to)
    refused(d, *start, "ssrc=7", "out.ssrc=5", to)
    d.ctl(*start, "ssrc=7", "out.ssrc=8", to)


@pytest.mark.parametrize("at, as_named", [
    ("127.0.0.1", ("127.0.0.1",)),
    ("0.0.0.0!127.0.0.9", ("127.0.0.1", "127.0.0.9", "127.0.0.77")),
    ("::1", ("[::1]",)), ("::!::1", ("[::1]",))])
def test_no_party_is_where_its_own_call_leads(daemon, at, as_named):
    """By JSON-RPC: another call's ports, its own port and open
    endpoints that are joined; where the node listens at any address, by each."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--interface", at)
    away = "192.0.2.1:9" if "." in at else "[2001:db8::1]:9"

    for host in as_named:
        one = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcmu",
                    f"a.address={away}", f"b.address={away}")
        port = {side: one[side]["rtp"].rsplit(":", 1)[1] for side in "ab"}
        two = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcmu",
                    f"a.address={host}:{port['b']}", f"b.address={away}")
        where = {side: two[side]["rtp"].rsplit(":", 1)[1] for side in "ab"}
        change = ("call", "change", str(one["call"]))
        refused(d, *change, f"b.address={host}:{port['a']}")
        # what comes from there goes by two's a to one's b
        refused(d, *change, f"a.address={host}:{where['b']}")
        d.ctl(*change, f"b.address={host}:{where['a']}")
        endpoint = d.ctl("endpoint", "open", "codec=pcmu", f"address={away}")
        call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcmu",
                     "port=own", f"out.address={host}:" +
                     endpoint["rtp"].rsplit(":", 1)[1])
        other = d.ctl("endpoint", "open", "codec=pcmu", "address=" + host + ":" +
                      call["rtp"]["address"].rsplit(":", 1)[1])
        refused(d, "call", "start", f"a.endpoint={endpoint['endpoint']}",
                f"b.endpoint={other['endpoint']}")
        d.ctl("call", "stop", str(two["call"]))
        d.ctl("call", "stop", str(one["call"]))


def control_ports(d):
    """Those of UDP by which it is driven."""
    return [d.ready["ng"].rsplit(":", 1)[1],
            d.where()[d.where().index("--udp-port") + 1]]


NEVER = ("224.0.0.1:5004", "239.1.2.3:5004", "255.255.255.255:5004",
         "240.0.0.1:5004", "169.254.169.254:80", "0.0.0.0:5004",
         "0.1.2.3:5004")
NEVER6 = ("[ff02::1]:5004", "[fe80::1]:5004", "[::]:5004",
          "[::ffff:224.0.0.1]:5004", "[::ffff:169.254.1.1]:5004")


def ways_to_name(address):
    """Each request of JSON-RPC in which somebody names it."""
    away = "[2001:db8::1]:9" if "[" in address else "192.0.2.1:9"
    both = ("call", "start", "a.codec=pcmu", "b.codec=pcma")
    return [
        ("call", "start", "in.codec=pcmu", "out.codec=pcma", "port=own",
         f"out.address={address}"),
        (*both, f"a.address={address}", f"b.address={away}"),
        (*both, f"b.address={address}", f"a.address={away}"),
        (*both, f"a.address={away}", f"b.address={away}",
         f"b.rtcp_address={address}"),
        ("endpoint", "open", f"address={address}"),
        ("endpoint", "change", "1", f"address={address}"),
        ("endpoint", "change", "1", f"address={away}", f"rtcp_address={address}"),
    ]


def is_refused(d, address, only_rtp=False):
    for words in ways_to_name(address):
        if only_rtp and "rtcp_address" in words[-1]:
            continue
        said = d.ctl(*words, code=1)
        assert "address" in said and (
            "--send-to" in said or "driven" in said or
            "no address that can be sent to" in said), (words, said)


def test_nobody_is_sent_to_who_is_no_party(daemon):
    """By JSON-RPC: multicast, broadcast, link-local, any address, and our own
    ports of control, also as that of RTCP above RTP; the port below is one for
    RTCP, and to those of TCP no datagram comes."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--ng", "0.0.0.0:0",
                "--ng-allow", "127.0.0.0/8", "--http", "127.0.0.1:0",
                "--interface", "127.0.0.1", "--interface", "six/::1")
    d.ctl("endpoint", "open", "address=192.0.2.1:9")
    for address in NEVER:
        is_refused(d, address)
    for port in control_ports(d):
        is_refused(d, f"127.0.0.1:{port}")
        below = f"127.0.0.1:{int(port) - 1}"
        is_refused(d, below, only_rtp=True)
        d.ctl("endpoint", "open", "address=127.0.0.1:9",
              f"rtcp_address={below}")
        d.ctl("endpoint", "open", f"address={below}",
              "rtcp_address=127.0.0.1:9")
    is_refused(d, f"127.0.0.77:{d.ready['ng'].rsplit(':', 1)[1]}")
    d.ctl("endpoint", "open", "address=[2001:db8::1]:9")
    for address in NEVER6:
        for words in ways_to_name(address)[:5]:
            d.ctl(*words, code=1)
    assert d.ctl("stats")["calls"] == 0
    for port in "9", d.ready["http"].rsplit(":", 1)[1]:  # others may be
        d.ctl("endpoint", "open", f"address=127.0.0.1:{port}")


def test_nobody_is_sent_to_who_is_no_party_by_ng(proxy, d):
    """An offer's c=, a=rtcp and received-from."""
    port = d.ready["ng"].rsplit(":", 1)[1]
    ask = {"from_tag": "tag-a"}
    for n, (host, at, more, line) in enumerate((
            ("224.0.0.1", 5004, {}, ()), ("169.254.1.1", 5004, {}, ()),
            ("255.255.255.255", 5004, {}, ()), ("127.0.0.1", port, {}, ()),
            ("127.0.0.1", 5004, {},
             (f"a=rtcp:{port} IN IP4 127.0.0.1",)),
            ("127.0.0.1", 5004, {"flags": ["SIP-source-address"],
                                 "received_from": ["IP4", "224.0.0.1"]},
             ()))):
        reply = proxy.ask("offer", call_id=f"no-{n}", **ask, **more,
                          sdp=sdp(at, LAW, host=host, lines=line))
        assert reply["result"] == "error", (host, at, more, line)
        assert ("--send-to" in reply["error-reason"] or
                "driven" in reply["error-reason"]), reply
    call = Call(proxy)
    call.offer(LAW)
    reply = proxy.ask("answer", call_id=call.id, from_tag="tag-a",
                      to_tag="tag-b", sdp=sdp(5004, LAW, host="224.0.0.1"))
    assert reply["result"] == "error"


def test_send_to_is_the_list_of_whom_may_be_sent_to(daemon):
    """What it names may be, also what may not be by itself; nothing else, and
    what comes from elsewhere is not learned."""
    d = started(daemon, "auto", "--drain-timeout", "0s", "--send-to",
                "127.0.0.8/29,239.0.0.0/8")
    endpoint = d.ctl("endpoint", "open", "codec=pcmu")
    d.ctl("endpoint", "open", "address=127.0.0.9:9")
    d.ctl("endpoint", "open", "address=239.1.1.1:9")
    for address in "127.0.0.1:9", "192.0.2.1:9", "224.0.0.1:9":
        is_refused(d, address)
    for host in "127.0.0.1", "127.0.0.9":
        phone = Talker()
        phone.sock.close()
        phone.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        phone.sock.bind((host, 0))
        phone.to = "127.0.0.1", int(endpoint["rtp"].rsplit(":", 1)[1])
        phone.says(1, 3, 0)
    now = until(lambda: d.ctl("endpoint", "query", str(endpoint["endpoint"])),
                lambda x: x["packets"] + x["wrong_source"] == 6)
    assert (now["packets"], now["wrong_source"]) == (3, 3)


def test_list_by_udp_is_one_small_datagram(proxy, d):
    """However many calls there are; by TCP it is what was asked for."""
    for n in range(40):
        proxy.ok("offer", call_id=f"{n:04}" * 20, from_tag="a",
                 sdp=sdp(5004 + n, LAW))
    told = proxy.ok("list", limit=1000)["calls"]
    assert 0 < len(told) < 20 and sum(map(len, told)) <= 1200
    tcp = Proxy(d.ready["ng"], "tcp")
    assert len(tcp.ask("list", limit=1000)["calls"]) == 40
    tcp.close()

# SPDX-License-Identifier: Apache-2.0
"""One whole call of SIPp through Kamailio to a node of NG, as tshark reads it:
SIP, NG, RTP and RTCP, and of no packet is there a complaint."""
import pytest

from ng_rig import SPURT, rig  # noqa: F401
from sipp import Caller, taken
from streams import ROW, WARNING
from test_ng_dialogs import (
    RINGS, URI, answers, established, hangs_up, is_hung_up, speaks)
from test_senders import needed
from test_wire import tshark

SPURTS = 2
PACKETS = SPURT * SPURTS
CODECS = {"8": 160, "96": 33}  # octets of 20 ms, by payload type
SR, RR, SDES, BYE, CNAME = "200", "201", "202", "203", "1"
FAULTS = ("invalid", "truncated_data", "str.invalid", "str.length.invalid",
          "int.invalid", "nest", "dict.key_invalid", "dict.value_invalid")


class Call:
    """What a capture has of one call whose SIP and NG is at @ports, the last of
    which is the node's."""

    def __init__(self, path, ports):
        told = tshark(path, show=f"sip && {self._any(ports)}",
                      fields=["sdp.media.port"])
        self.media = {int(port) for port in told if port}
        self.node = ports[-1]
        self.path = path.with_name("call.pcap")
        tshark(path, "-w", str(self.path), show=self._any(
            [*ports, *(p + i for p in self.media for i in (0, 1))]))

    @staticmethod
    def _any(ports):
        return "udp.port in {" + ",".join(map(str, ports)) + "}"

    def read(self, show, *fields):
        """The values of @fields of each packet that @show selects. SDP says
        which ports have RTP; of NG's nothing does."""
        return [line.split("\t") for line in tshark(
            self.path, "-d", f"udp.port=={self.node},rtpproxy", show=show,
            fields=fields)]


@pytest.fixture
def call(rig):  # noqa: F811
    """One that has gone as it should: both have heard each other."""
    needed("tshark")
    # what leaves together would be captured as one
    node = rig.node("--send-each", "--rtcp-interval", "500ms")
    rig.begin(spurts=SPURTS, calls=1)
    files = [rig.file(f"said{n}", "PCMA", n * SPURT) for n in range(SPURTS)]
    callee = rig.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([*established(c, files[0]), *speaks(files[1]),
                        *hangs_up(c, 2)])
    rig.over()
    rig.assert_phones([("PCMA", path) for path in files])
    rig.assert_caller(["PCMA"] * SPURTS)
    return Call(rig.capture.path, [rig.proxy.port, caller.port, callee.port,
                                   node.ng])


def assert_sip(call):
    """A dialogue from its INVITE to the 200 of its BYE, once before Kamailio
    and once behind. What was sent again counts once."""
    rows = call.read("sip && !(sip.resend == 1)", "sip.CSeq", "sip.Method",
                     "sip.Status-Code", "sip.Call-ID", "udp.srcport",
                     "udp.dstport")
    assert len({row[3] for row in rows}) == 1
    said = {}
    for cseq, method, status, _, *ports in rows:
        said.setdefault(tuple(sorted(ports)), []).append(
            (cseq, method or status))
    assert len(said) == 2
    for messages in said.values():
        assert [m for m in messages if m[1] != "100"] == [
            ("1 INVITE", "INVITE"), ("1 INVITE", "180"), ("1 INVITE", "200"),
            ("1 ACK", "ACK"), ("2 BYE", "BYE"), ("2 BYE", "200")]


def assert_ng(call):
    """Requests, each with its reply, in dictionaries without a fault."""
    asked, told = {}, {}
    for cookie, to, texts in call.read("rtpproxy", "rtpproxy.cookie",
                                       "udp.dstport", "bencode.str"):
        (asked if int(to) == call.node else told)[cookie] = texts.split(",")
    assert [texts[texts.index("command") + 1] for texts in asked.values()] == [
        "offer", "answer", "delete"]
    assert list(told) == list(asked)
    assert all(texts[:2] == ["result", "ok"] for texts in told.values())
    assert not call.read(" || ".join(f"bencode.{f}" for f in FAULTS),
                         "frame.number")


def assert_rtp(call):
    """A stream each way on either side of the node, between ports that SDP has
    told, and whole. (port from, port to): its SSRC, and payload type."""
    rows = [row for row in map(ROW.match, tshark(
        call.path, "-q", "-z", "rtp,streams")) if row]
    assert len(rows) == 4
    for row in rows:
        assert int(row["packets"]) == PACKETS, row[0]
        assert int(row["lost"]) == 0 and not row["problem"], row[0]
    streams = {}
    for source, to, ssrc, pt, payload in call.read(
            "rtp && !rtcp", "udp.srcport", "udp.dstport", "rtp.ssrc",
            "rtp.p_type", "rtp.payload"):
        assert len(payload) // 2 == CODECS[pt]
        key = int(source), int(to)
        assert streams.setdefault(key, (ssrc, pt)) == (ssrc, pt)
    assert sorted(pt for _, pt in streams.values()) == ["8", "8", "96", "96"]
    for source, to in streams:
        assert {source, to} <= call.media
        assert streams[source, to][1] == streams[to, source][1]
    return streams


def assert_reports(call, streams):
    """Compound packets, one port above RTP, of each endpoint of the node: reports of
    what it sends, with what it has heard, its one name, and at last its BYE."""
    said = {}
    for source, to, *values in call.read(
            "rtcp", "udp.srcport", "udp.dstport", "rtcp.pt",
            "rtcp.senderssrc", "rtcp.sender.packetcount",
            "rtcp.sender.octetcount", "rtcp.ssrc.identifier",
            "rtcp.ssrc.cum_nr", "rtcp.sdes.type", "rtcp.sdes.text",
            "rtcp.length_check"):
        said.setdefault((int(source) - 1, int(to) - 1), []).append(values)
    assert len(said) == 2
    names = set()
    for (source, to), packets in said.items():
        ssrc, pt = streams[source, to]
        heard = streams[to, source][0]
        for types, sender, _, _, about, lost, kind, name, sound in packets:
            assert types.split(",")[:2] in ([SR, SDES], [RR, SDES])
            assert sender == ssrc and kind.split(",")[0] == CNAME
            assert about.split(",")[0] in (heard, ssrc) and lost in ("", "0")
            assert sound in ("1", "True")
            names.add((source, name))
        assert [types.split(",")[2:] for types, *_ in packets] == [
            *[[]] * (len(packets) - 1), [BYE]]
        reports = [p for p in packets if p[0].startswith(SR)]
        assert any(p[4].split(",")[0] == heard for p in reports)
        assert reports[-1][2:4] == [str(PACKETS), str(PACKETS * CODECS[pt])]
    assert len(names) == len({name for _, name in names}) == 2


def test_a_whole_call_is_sound(call):
    assert_sip(call)
    assert_ng(call)
    assert_reports(call, assert_rtp(call))
    kinds = "sip || rtp || rtcp || rtpproxy"
    assert not call.read(f"!({kinds})", "frame.protocols")
    assert not call.read("_ws.malformed || _ws.expert.severity >= "
                         f"{WARNING}", "frame.number", "_ws.expert.message")

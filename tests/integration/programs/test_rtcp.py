# SPDX-License-Identifier: Apache-2.0
"""RTCP with GStreamer: it reads our reports, we read its, and tshark finds
nothing wrong in ours. Between it and the daemon is a relay of the test's, which
keeps what passes and loses some."""
import json
import re
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE
from test_senders import started
from test_wire import ERRORS, tshark

PACKETS = 300
LOST_OF = 10  # one of so many of what the daemon sends to A
SDES, BYE = "202", "203"


def pair(host="127.0.0.1"):
    """Sockets at an even port and the one above it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        rtp = socket.socket(family, socket.SOCK_DGRAM)
        rtcp = socket.socket(family, socket.SOCK_DGRAM)
        rtp.bind((host, 0))
        port = rtp.getsockname()[1]
        try:
            if port % 2 == 0:
                rtcp.bind((host, port + 1))
                return rtp, rtcp
        except OSError:
            pass
        rtp.close()
        rtcp.close()


def port_of(sock):
    return sock.getsockname()[1]


class Wire:
    """What a party's RTP and RTCP passes: .to_node and .to_party have (source
    port, destination port, time, data), all as if without the relay."""

    def __init__(self, lose):
        self.lose, self.rtp_out = lose, 0
        self.outer = pair()  # the daemon's peer
        self.port = port_of(self.outer[0])
        free = pair()        # where the party listens
        self.party = port_of(free[0])
        for sock in free:
            sock.close()
        self.endpoint, self.kept = 0, []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self, endpoint):
        self.endpoint = endpoint
        self.thread.start()

    def run(self):
        while not self.done.is_set():
            for sock in select.select(self.outer, [], [], 0.05)[0]:
                self.pass_on(sock)

    def pass_on(self, sock):
        data, (_, port) = sock.recvfrom(2048)
        rtcp = sock is self.outer[1]
        from_node = port == self.endpoint + rtcp
        to = (self.party if from_node else self.endpoint) + rtcp
        self.kept.append((port, port_of(sock) if from_node else to,
                          time.time(), data))
        if from_node and not rtcp:
            self.rtp_out += 1
            if self.lose and self.rtp_out % LOST_OF == 0:
                return
        sock.sendto(data, ("127.0.0.1", to))

    def end(self):
        self.done.set()
        self.thread.join()
        for sock in self.outer:
            sock.close()

    def rtcp_of_node(self):
        return [k for k in self.kept if k[0] == self.endpoint + 1]


def gstreamer(wire, pt, name, log):
    """It speaks and listens, with RTCP both ways, and logs what that says."""
    law = "mulaw" if pt == 0 else "alaw"
    pay = "rtppcmupay" if pt == 0 else "rtppcmapay"
    words = f"""gst-launch-1.0 -q rtpbin name=r autoremove=true
        audiotestsrc is-live=true num-buffers={PACKETS} samplesperbuffer=160 !
        audio/x-raw,rate=8000,channels=1 ! {law}enc !
        {pay} min-ptime=20000000 max-ptime=20000000 ! r.send_rtp_sink_0
        r.send_rtp_src_0 ! udpsink host=127.0.0.1 port={wire.port} sync=false
        r.send_rtcp_src_0 ! udpsink host=127.0.0.1 port={wire.port + 1}
        sync=false async=false
        udpsrc address=127.0.0.1 port={wire.party}
        caps=application/x-rtp,media=audio,clock-rate=8000,encoding-name={name},payload={pt}
        ! r.recv_rtp_sink_0 r. ! fakesink sync=false async=false
        udpsrc address=127.0.0.1 port={wire.party + 1} ! r.recv_rtcp_sink_0"""
    return subprocess.Popen(
        words.split(), stdout=subprocess.DEVNULL, stderr=log.open("w"),
        env={"GST_DEBUG": "rtpsource:5,rtpsession:5", "GST_DEBUG_NO_COLOR":
             "1", "PATH": "/usr/bin:/bin", "HOME": str(log.parent)})


def query(d, c):
    return d.ctl("call", "query", str(c["call"]))


def wait_for(state):
    deadline = time.monotonic() + PATIENCE
    while not state():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def all_told(d, c):
    """Both parties have spoken, reported, and said BYE."""
    now = query(d, c)
    return all(now[p]["rtcp"]["received"] == PACKETS and
               now[p]["rtcp"]["byes"] and now[p]["rtcp"]["far"]["round_trips"]
               for p in "ab")


class Talk:
    """A call of two GStreamers, to its end."""

    def __init__(self, daemon, folder):
        records = folder / "records"
        d = started(daemon, "auto", "--drain-timeout", "0s", "--rtcp-interval",
                    "300ms", "--records", records)
        self.wire = {"a": Wire(lose=True), "b": Wire(lose=False)}
        c = d.ctl("call", "start", "a.codec=pcmu", "b.codec=pcma",
                  *[f"{p}.address=127.0.0.1:{w.port}"
                    for p, w in self.wire.items()])
        for p, w in self.wire.items():
            w.begin(int(c[p]["rtp"].rsplit(":", 1)[1]))
        self.log = {p: folder / f"{p}.log" for p in "ab"}
        programs = [gstreamer(self.wire["a"], 0, "PCMU", self.log["a"]),
                    gstreamer(self.wire["b"], 8, "PCMA", self.log["b"])]
        try:
            wait_for(lambda: all_told(d, c))
        finally:
            for p in programs:
                p.terminate()
                p.wait()
        self.told, self.stats = query(d, c), d.ctl("stats")
        d.ctl("call", "stop", str(c["call"]))
        wait_for(lambda: records.read_text().endswith("\n"))
        for w in self.wire.values():
            wait_for(lambda w=w: w.rtcp_of_node()[-1][3].find(
                b"\x81\xcb\x00\x01") >= 0)
            w.end()
        self.records = {s["stream"]: s for s in json.loads(
            records.read_text())["streams"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rtcp")


@pytest.fixture(scope="module")
def talks():
    return {}


@pytest.fixture
def talk(daemon, folder, talks):
    """One for all tests: it takes seconds."""
    if not shutil.which("gst-launch-1.0"):
        pytest.skip("no gst-launch-1.0")
    if not talks:
        talks["one"] = Talk(daemon, folder)
    return talks["one"]


def test_we_read_what_it_reports(talk):
    for party, lossy in (("a", True), ("b", False)):
        rtcp = talk.told[party]["rtcp"]
        assert (rtcp["received"], rtcp["lost"]) == (PACKETS, 0)
        assert rtcp["packets_in"] >= 2 and rtcp["packets_out"] >= 2
        assert (rtcp["refused"], rtcp["foreign"], rtcp["unsent"]) == (0, 0, 0)
        assert rtcp["far"]["reports"] >= 1
        assert (rtcp["far"]["lost_mean"] > 0) == lossy
        assert 0 < rtcp["far"]["rtt_us"] < 1e6
    rx = talk.stats["rx"]
    assert rx["rtcp"] == rx["rtcp_heard"] > 0
    assert talk.stats["rtcp"]["reports"] == sum(
        talk.told[p]["rtcp"]["far"]["reports"] for p in "ab")


def test_the_records_have_it(talk):
    """A stream's record: what was heard of its speaker, and what its listener
    reported."""
    for party, other in ("ab", "ba"):
        rtcp = talk.records[talk.told[party]["stream"]]["rtcp"]
        assert rtcp["received"] == PACKETS
        assert rtcp["far"]["reports"] >= talk.told[other]["rtcp"]["far"][
            "reports"]
        assert (rtcp["far"]["lost_mean"] > 0) == (other == "a")


def test_it_reads_what_we_report(talk):
    """Sender's figures, reports on its own packets, round trips, CNAMEs."""
    for party in "ab":
        log = talk.log[party].read_text()
        ssrc = f"SSRC {talk.told[party]['out_ssrc']:08x}"
        assert re.search(f"got SR packet: {ssrc}, ", log)
        reports = re.findall(
            f"got RB packet: {ssrc}, FL *(-?\\d+), PL *(-?\\d+),", log)
        assert len(reports) >= 2
        assert set(reports) == {("0", "0")}  # nothing was lost on the way to us
        assert re.search(r"round trip [0-9a-f]{4}:(?!0000)", log)
        cnames = set(re.findall(r"type 1, len 16, data (\S+)", log))
        assert len(cnames) == 1


def write_pcap(path, packets):
    """As if captured."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 228))
        for source, to, at, data in packets:
            udp = struct.pack("!HHHH", source, to, 8 + len(data), 0) + data
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64,
                             17, 0, b"\x7f\0\0\1", b"\x7f\0\0\1") + udp
            out.write(struct.pack("<IIII", int(at), int(at % 1 * 1e6),
                                  len(ip), len(ip)) + ip)


def test_a_dissector_has_nothing_to_say_against_ours(talk, folder):
    if not shutil.which("tshark"):
        pytest.skip("no tshark")
    for party, wire in talk.wire.items():
        path = folder / f"{party}.pcap"
        ours = wire.rtcp_of_node()
        write_pcap(path, ours)
        options = ["-d", f"udp.port=={wire.port + 1},rtcp"]
        assert tshark(path, *options, show=ERRORS) == []
        rows = [line.split("\t") for line in tshark(
            path, *options, show="rtcp.length_check == 1",
            fields=("rtcp.pt", "rtcp.ssrc.identifier", "rtcp.senderssrc"))]
        assert len(rows) == len(ours)
        types = [r[0].split(",") for r in rows]
        assert {t[0] for t in types} <= {"200", "201"}
        assert all(SDES in t for t in types)
        assert [i for i, t in enumerate(types) if BYE in t] == [len(ours) - 1]
        assert {int(r[2], 0) for r in rows} == {talk.told[party]["out_ssrc"]}

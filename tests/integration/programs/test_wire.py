# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire, as a foreign dissector reads it.

dumpcap records loopback while a daemon serves calls; tshark then looks at
SCTP, RTP and AMR. Needs the right to capture (root, or a dumpcap with
CAP_NET_RAW), else the tests are skipped.
"""
import json
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import PATIENCE
from test_daemon import rtp

FRAMES = 50
SENTINEL = b"codec-runner: end of capture"


class Capture:
    """dumpcap on loopback; everything over UDP."""

    def __init__(self, path):
        self.path = path
        self.process = subprocess.Popen(
            ["dumpcap", "-q", "-P", "-B", "64", "-i", "lo", "-f", "udp", "-w",
             str(path)],
            stderr=subprocess.PIPE, text=True)
        said = ""
        while not said.startswith("File: "):  # it is said once it listens
            said = self.process.stderr.readline()
            if not said:
                self.process.wait()
                pytest.skip("cannot capture on loopback: needs root or a "
                            "dumpcap with CAP_NET_RAW")

    def stop(self):
        """Wait until everything sent so far is in the file."""
        end = time.monotonic() + PATIENCE
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            while SENTINEL not in self.path.read_bytes():
                assert time.monotonic() < end, "dumpcap writes nothing"
                s.sendto(SENTINEL, s.getsockname())
                select.select([], [], [], 0.05)
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


def tshark(path, *options, show="", fields=()):
    """Lines that tshark prints for the packets that @show selects."""
    words = ["tshark", "-n", "-r", str(path), *options, "-Y", show]
    if fields:
        words += ["-T", "fields"]
        for field in fields:
            words += ["-e", field]
    done = subprocess.run(words, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


CALLS = {
    "amr-octet-aligned": dict(
        words=["out.codec=amr", "out.mode=12.2", "out.octet_align=true"],
        version="RFC 3267 octet aligned", mode="Narrowband AMR",
        ft="amr.nb.toc.ft", types={"7"}),
    "amr-bandwidth-efficient": dict(
        words=["out.codec=amr", "out.mode=6.70"],
        version="RFC 3267 BW-efficient", mode="Narrowband AMR",
        ft="amr.nb.toc.ft", types={"3"}),
    "amr-with-dtx": dict(
        words=["out.codec=amr", "out.mode=12.2", "out.dtx=true"],
        version="RFC 3267 BW-efficient", mode="Narrowband AMR",
        ft="amr.nb.toc.ft", types={"7", "8"}),
    "amr-wb-octet-aligned": dict(
        words=["out.codec=amr-wb", "out.mode=12.65", "out.octet_align=true"],
        version="RFC 3267 octet aligned", mode="Wideband AMR",
        ft="amr.wb.toc.ft", types={"2"}),
    "amr-wb-bandwidth-efficient": dict(
        words=["out.codec=amr-wb", "out.mode=23.85"],
        version="RFC 3267 BW-efficient", mode="Wideband AMR",
        ft="amr.wb.toc.ft", types={"8"}),
}


def speech(name, i):
    """20 ms of PCMU: noise; with DTX only in the first quarter."""
    if "dtx" in name and i >= FRAMES // 4:
        return b"\xff" * 160
    return random.Random(i).randbytes(160)


def run_call(d, name, call):
    """A whole call; returns the port that its output went to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(PATIENCE)
        port = s.getsockname()[1]
        started = d.ctl("call", "start", "in.codec=pcmu", *call["words"],
                        f"out.address=127.0.0.1:{port}", "port=own")
        host, to = started["rtp"]["address"].split(":")
        for i in range(FRAMES):
            s.sendto(rtp(i, i * 160, started["rtp"]["ssrc"], speech(name, i)),
                     (host, int(to)))
            if "dtx" not in name:  # whose silence is not sent
                s.recv(2048)
        while d.ctl("stream", "query",
                    str(started["call"]))["count"]["done"] < FRAMES:
            pass
        d.ctl("call", "stop", str(started["call"]))
        return port


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The capture, the daemon's SCTP-over-UDP port, and each call's port."""
    from conftest import Daemon

    if not shutil.which("tshark") or not shutil.which("dumpcap"):
        pytest.skip("no tshark")
    folder = tmp_path_factory.mktemp("wire")
    capture = Capture(folder / "wire.pcap")
    # a capture on the sending host sees packets that leave together as one:
    # the kernel cuts them apart behind it
    d = Daemon("--send-each", "--ring", str(2 * FRAMES),
               log=folder / "runner.log")
    try:
        ports = {name: run_call(d, name, call) for name, call in CALLS.items()}
    finally:
        code = d.stop()
        capture.stop()
    assert code == 0
    return capture.path, d.udp, ports


ERRORS = "_ws.malformed || _ws.expert.severity >= 0x00800000"


def test_sctp_is_sound(recorded):
    path, udp, _ = recorded
    options = ["-d", f"udp.port=={udp},sctp", "-o", "sctp.checksum:CRC 32c"]
    mine = f"sctp && udp.port == {udp}"
    chunks = tshark(path, *options, show=mine, fields=["sctp.chunk_type"])
    kinds = set(re.findall(r"\d+", " ".join(chunks)))
    # INIT, INIT ACK, SACK, COOKIE ECHO and ACK, DATA, and the shutdown's three
    assert {"0", "1", "2", "3", "10", "11", "7", "8", "14"} <= kinds
    good = tshark(path, *options, show=mine + " && sctp.checksum.status == 1")
    assert len(good) == len(chunks)
    assert tshark(path, *options, show=f"{mine} && ({ERRORS})") == []


@pytest.mark.parametrize("name", CALLS)
def test_rtp_and_amr_are_sound(recorded, name):
    path, _, ports = recorded
    call = CALLS[name]
    options = ["-d", f"udp.port=={ports[name]},rtp", "-d", "rtp.pt==96,amr",
               "-o", f"amr.encoding.version:{call['version']}", "-o",
               f"amr.mode:{call['mode']}"]
    mine = f"udp.dstport == {ports[name]}"
    packets = tshark(path, *options, show=f"{mine} && rtp && amr",
                     fields=["rtp.seq", "rtp.timestamp", call["ft"]])
    assert len(packets) == len(tshark(path, show=mine))
    if "dtx" not in name:
        assert len(packets) == FRAMES
    assert {p.split("\t")[2] for p in packets} == call["types"]
    # every call is one talk spurt
    assert len(tshark(path, *options, show=f"{mine} && rtp.marker == 1")) == 1
    # nothing left over, nothing missing, padding zero, no reserved bits
    assert tshark(path, *options, show=f"{mine} && ({ERRORS})") == []
    assert tshark(path, *options, show=f"{mine} && (amr.superfluous_data || "
                  "amr.not_enough_data_for_frames || amr.padding_bits_not0 || "
                  "amr.spare_bit_not0 || amr.reserved.not_zero)") == []


def rtp_of(path, ports):
    """(source port, destination port, SSRC) of every RTP packet from and to
    these ports."""
    lines = tshark(path, show="udp", fields=("udp.srcport", "udp.dstport",
                                             "udp.payload"))
    packets = []
    for line in lines:
        source, target, payload = line.split("\t")
        data = bytes.fromhex(payload)
        if {int(source), int(target)} & ports and data[:1] == b"\x80":
            packets.append((int(source), int(target),
                            int.from_bytes(data[8:12], "big")))
    return packets


def port_of(address):
    return int(address.split(":")[1])


def test_every_call_has_ports_of_its_own_at_both_ends(daemon, campaign,
                                                      tmp_path):
    """codec-feeder --ports own: a call sends from one port to one port, and its
    answers take the same way back."""
    if not shutil.which("tshark") or not shutil.which("dumpcap"):
        pytest.skip("no tshark")
    capture = Capture(tmp_path / "wire.pcap")
    d = daemon("--send-each", "--ring", "256")
    path = campaign("duration: 600s\nports: own\nflows:\n  - count: 20\n"
                    "    in: {codec: pcmu}\n    out: {codec: pcma}\n")
    feeder = subprocess.Popen([d.programs / "codec-feeder", path, *d.where(),
                               "--json", "--quiet"], stdout=subprocess.PIPE,
                              text=True)
    calls = []
    while len([c for c in calls if c["count"]["packets_out"] > 5]) < 20:
        assert feeder.poll() is None
        calls = d.ctl("list")["streams"]
    feeder.send_signal(signal.SIGINT)
    result = json.loads(feeder.communicate(timeout=PATIENCE)[0])
    capture.stop()
    ways = {}
    for c in calls:
        ours, its = port_of(c["to"]), port_of(c["rtp"])
        ways[ours, its, c["ssrc"]] = ways[its, ours, c["out_ssrc"]] = 0
    ports = {way[0] for way in ways}
    assert len(ways) == len(ports) == 40
    for way in rtp_of(capture.path, ports):
        ways[way] += 1  # there are no others
    assert all(ways.values())
    # the capture may miss some, but none is in it twice
    assert sum(ways.values()) <= (result["feeder"]["packets_sent"] +
                                  result["feeder"]["packets_received"])

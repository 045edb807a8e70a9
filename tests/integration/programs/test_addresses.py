# SPDX-License-Identifier: Apache-2.0
"""Ports out of a range, several addresses, IPv4 and IPv6 at once, what peers
are told, the differentiated services field, and which addresses are ours."""
import os
import platform
import re
import resource
import socket
import struct
import subprocess
import sys
import time
import urllib.request

import pytest

from conftest import BUILD, PATIENCE, ROOT
from control import Control

NO_CAPACITY, INVALID = 1, -32602  # error codes
FRAMES = 20


def first_port():
    """Of a range that no other run of this test has: below those that the
    kernel gives of its own accord."""
    return 12000 + 100 * (os.getpid() % 200)


def udp(family, host):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(PATIENCE)
    try:
        s.bind((host, 0))
    except OSError as error:
        s.close()
        pytest.skip(f"no {host} here: {error}")
    return s


@pytest.fixture
def four():
    with udp(socket.AF_INET, "127.0.0.1") as s:
        yield s


@pytest.fixture
def six():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with udp(socket.AF_INET6, "::1") as s:
        yield s


@pytest.fixture
def serve(daemon, tmp_path):
    """Start a daemon; it, and a client of it."""

    def start(*options, **more):
        # nobody stops these calls
        d = daemon("--control-socket", tmp_path / "control",
                   "--drain-timeout", "0s", *options, **more)
        return d, Control(tmp_path / "control")

    return start


def parts(address):
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)


def rtp(ssrc, n):
    return struct.pack("!BBHII", 0x80, 0, n, 160 * n, ssrc) + bytes(160)


def transcode(sock, call, host=None):
    """Send frames to a call; what comes back for each, and from where."""
    at, port = parts(call["rtp"]["address"])
    heard = []
    for n in range(FRAMES):
        sock.sendto(rtp(call["rtp"]["ssrc"], n), (host or at, port))
        heard.append(sock.recvfrom(2048))
    return heard


def check_frames(heard, call):
    """All of them, in order, with the call's SSRC and payload type."""
    heads = [struct.unpack("!BBHII", data[:12]) for data, _ in heard]
    assert len(heads) == FRAMES
    assert all(h[1] & 0x7f == 8 and h[4] == call["out"]["ssrc"]
               for h in heads)
    assert [(h[2] - heads[0][2]) % 65536 for h in heads] == list(range(FRAMES))


def test_both_families_have_calls_at_once(serve, four, six):
    first = first_port()
    d, client = serve("--interface", "a/127.0.0.1", "--interface", "b/::1",
                      "--rtp-ports", f"{first}-{first + 99}")
    calls = [(s, client.start(s)["result"]) for s in (four, six) * 4]
    for sock, call in calls:
        host, port = parts(call["rtp"]["address"])
        assert host == sock.getsockname()[0]
        assert port % 2 == 0 and first <= port < first + 100
        heard = transcode(sock, call)
        check_frames(heard, call)
        assert {at[:2] for _, at in heard} == {(host, port)}
    ports = [call["rtp"]["address"] for _, call in calls]
    assert len(set(ports)) == len(ports)
    told = client.ask("stats", {})["result"]["interfaces"]
    assert [(i["name"], i["address"], i["ports"], i["used"], i["available"])
            for i in told] == [("a", "127.0.0.1", 50, 4, 46),
                               ("b", "::1", 50, 4, 46)]


def test_peers_are_told_the_advertised_address(serve, four):
    d, client = serve("--interface", "127.0.0.1!203.0.113.7")
    hello = client.ask("hello", {})["result"]
    assert hello["interfaces"] == [{"name": "default", "address": "127.0.0.1",
                                    "advertised": "203.0.113.7"}]
    call = client.start(four)["result"]
    assert parts(call["rtp"]["address"])[0] == "203.0.113.7"
    query = client.ask("stream.query", {"stream": call["call"]})["result"]
    assert query["rtp"] == call["rtp"]["address"]
    assert query["interface"] == "default"
    check_frames(transcode(four, call, "127.0.0.1"), call)
    # the shared port has an address of its own
    call = client.start(four, port="shared")["result"]
    assert call["rtp"]["address"] == d.ready["rtp"]
    assert d.ready["rtp"].startswith("127.0.0.1:")
    query = client.ask("stream.query", {"stream": call["call"]})["result"]
    assert "interface" not in query


def test_the_shared_port_may_be_everywhere_if_it_is_announced(serve, four):
    d, client = serve("--rtp", "0.0.0.0:0!127.0.0.1")
    assert d.ready["rtp"].startswith("127.0.0.1:")
    for port in "shared", "own":
        call = client.start(four, port=port)["result"]
        assert call["rtp"]["address"].startswith("127.0.0.1:")
        check_frames(transcode(four, call), call)


def test_the_shared_port_may_be_of_ipv6(serve, four, six):
    """Calls with ports of their own may be of the other family."""
    d, client = serve("--rtp", "[::1]:0", "--interface", "a/::1",
                      "--interface", "b/127.0.0.1")
    assert d.ready["rtp"].startswith("[::1]:")
    for sock, port in (six, "shared"), (six, "own"), (four, "own"):
        call = client.start(sock, port=port)["result"]
        assert parts(call["rtp"]["address"])[0] == sock.getsockname()[0]
        check_frames(transcode(sock, call), call)
    error = client.start(four, port="shared")["error"]
    assert "the shared port (--rtp) is IPv6 only" in error["message"]


def test_an_interface_is_chosen_by_name_or_family(serve, four, six):
    d, client = serve("--interface", "in/127.0.0.1!192.0.2.1", "--interface",
                      "out/127.0.0.1!198.51.100.1", "--interface", "out/::1")

    def host(sock, **more):
        return parts(client.start(sock, **more)["result"]["rtp"]["address"])[0]

    def why(sock, **more):
        error = client.start(sock, **more)["error"]
        assert error["code"] == INVALID
        return error["message"]

    assert host(four) == "192.0.2.1"
    assert host(four, interface="in") == "192.0.2.1"
    assert host(four, interface="out") == "198.51.100.1"
    assert host(six) == "::1"
    assert host(six, interface="out") == "::1"
    assert "interface in has no IPv6 address" in why(six, interface="in")
    assert "there are: in, out" in why(four, interface="lan")
    assert "goes with port" in why(four, interface="in", port="shared")
    # the shared port is IPv4's
    assert "the shared port (--rtp) is IPv4 only" in why(six, port="shared")


def metrics(d):
    at = f"http://{d.ready['http']}/metrics"
    with urllib.request.urlopen(at, timeout=PATIENCE) as page:
        lines = [line.rsplit(" ", 1) for line in page.read().decode().split(
            "\n") if line and line[0] != "#"]
    return {name: float(value) for name, value in lines}


def test_a_range_that_is_used_up_says_so(serve, four):
    first = first_port()
    text = f"{first}-{first + 5}"
    d, client = serve("--rtp-ports", text, "--http", "127.0.0.1:0")
    series = 'codec_runner_rtp_ports_%s{interface="default",' \
             'address="127.0.0.1"}'
    calls, error = client.start_until_refused(four)
    assert len(calls) == 3
    assert error["code"] == NO_CAPACITY
    assert f"--rtp-ports {text}: all 3 pairs are in use" in error["message"]
    found = metrics(d)
    assert found[series % "used"] == 3
    assert found[series % "available"] == 0
    assert found[series % "passed_over_total"] == 0
    client.stop(calls[1])
    assert metrics(d)[series % "available"] == 1
    again = client.start(four)["result"]
    assert again["rtp"]["address"] == calls[1]["rtp"]["address"]
    check_frames(transcode(four, again), again)


def test_ports_of_other_programs_are_passed_over(serve, four):
    first = first_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", first + 2))
        d, client = serve("--rtp-ports", f"{first}-{first + 5}")
        calls, error = client.start_until_refused(four)
        assert {parts(c["rtp"]["address"])[1] for c in calls} == \
            {first, first + 4}
        assert "all 3 pairs are in use (1 of them by other programs)" in \
            error["message"]


@pytest.mark.parametrize("port", ["shared", "own"])
@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_packets_carry_the_field(serve, four, port, io):
    d, client = serve("--tos", "EF", "--io", io)
    four.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    call = client.start(four, port=port)["result"]
    four.sendto(rtp(call["rtp"]["ssrc"], 0), parts(call["rtp"]["address"]))
    _, control, _, _ = four.recvmsg(2048, 256)
    assert [value[0] for level, kind, value in control
            if (level, kind) == (socket.IPPROTO_IP, socket.IP_TOS)] == [184]


def test_packets_of_ipv6_carry_it_too(serve, six):
    d, client = serve("--tos", "0x88", "--interface", "[::1]")
    six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    call = client.start(six)["result"]
    six.sendto(rtp(call["rtp"]["ssrc"], 0), parts(call["rtp"]["address"]))
    _, control, _, _ = six.recvmsg(2048, 256)
    assert [struct.unpack("i", value)[0] for level, kind, value in control
            if (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)] \
        == [0x88]


@pytest.mark.parametrize("options, code, why", [
    (["--rtp", "0.0.0.0:40000"], 2, "nobody can send to 0.0.0.0"),
    (["--rtp", "[::]:40000"], 2, "nobody can send to ::"),
    (["--rtp", "127.0.0.1:0!::1"], 2, "127.0.0.1 is IPv4, but ::1"),
    (["--interface", "a/0.0.0.0"], 2, "add the address to announce"),
    (["--interface", "a b/127.0.0.1"], 2, "the name before '/'"),
    (["--interface", "eth0"], 2, "numeric addresses"),
    (["--interface", "a/127.0.0.1", "--interface", "a/127.0.0.2"], 1,
     "give them different names"),
    (["--interface", "far/192.0.2.77"], 1, "interface far: UDP socket: bind"),
    (["--rtp-ports", "30001-30002"], 2, "no even port with the odd one"),
    (["--rtp-ports", "30000"], 2, "such as 30000-40000"),
    (["--tos", "46"], 2, "write 184"),
    (["--tos", "XF"], 2, "name of a DSCP")])
def test_what_cannot_be_is_refused_at_the_start(options, code, why, tmp_path):
    done = subprocess.run([BUILD / "codec-runner", "--sctp", "user", "--rtp",
                           "127.0.0.1:0", *options], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    assert why in done.stderr
    assert options[0] in done.stderr or code == 1


# --- whose addresses they are ---

NET = ["unshare", "-rn", "sh", "-c",
       "ip link set lo up && ip -b - <<'E' && "
       "echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind && exec \"$@\"\n"
       "addr add 10.0.0.1/24 dev lo\n"
       "link add out0 type veth peer name out1\n"
       "link set out0 up\n"
       "addr add 10.2.0.1/23 dev out0\n"
       "addr add 10.3.0.1/31 dev out0\n"
       "addr add 10.4.0.1 peer 10.4.0.77/24 dev out0\n"
       "addr add 2001:db8:7::1/64 dev out0\n" +
       "".join(f"addr add 10.1.0.{n}/32 dev lo\n" for n in range(1, 101)) +
       "E", "sh"]
OWN = ["10.0.0.1", "10.1.0.1", "10.1.0.100", "10.2.0.1", "10.3.0.1",
       "127.0.0.77", "[2001:db8:7::1]", "[::1]", "[::ffff:10.1.0.99]"]
OTHERS = ["10.1.0.101", "10.2.0.2", "10.3.0.0", "10.4.0.77", "192.0.2.1",
          "[2001:db8:7::2]"]
BROADCAST = ["10.0.0.255", "10.2.1.255", "127.255.255.255", "[::ffff:10.0.0.255]"]


def may_have_a_net():
    return subprocess.run([*NET, "true"], capture_output=True).returncode == 0


own_net = pytest.mark.skipif("not may_have_a_net()",
                             reason="needs a network of its own")


def in_net(d, *words):
    """Run ip in the daemon's network."""
    subprocess.run(["nsenter", "-t", str(d.process.pid), "-U", "-n",
                    "--preserve-credentials", "ip", *words], check=True)


@pytest.fixture
def netted(serve):
    """A daemon that listens at any address, with its own, some hundred."""
    def start(*options):
        return serve("--interface", "0.0.0.0!10.1.0.100", "--interface",
                     "six/::!2001:db8:7::1", "--ng", "[::]:22222",
                     "--ng-allow", "127.0.0.1", *options, launcher=NET)
    return start


def why_not(client, address):
    """Why nothing is sent there; None: it may be."""
    reply = client.ask("endpoint.open", {"address": address})
    if "error" not in reply:
        client.ask("endpoint.close", {"endpoint": reply["result"]["endpoint"]})
    return reply.get("error", {}).get("message")


def eventually(what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


@own_net
def test_ports_of_control_are_kept_from_at_each_own_address(netted):
    """However many there are, those that come later, too, and no longer than
    they are there."""
    d, client = netted("--send-to", "10.0.0.0/8,127.0.0.0/8,::1,2001:db8::/32,"
                       "192.0.2.0/24")

    def is_kept_from(host):
        said = {why_not(client, f"{host}:{port}") for port in (22222, 22221)}
        assert not said - {None} or "driven" in "".join(said), said
        return None not in said

    assert [host for host in OWN if not is_kept_from(host)] == []
    assert [host for host in OTHERS if is_kept_from(host)] == []
    in_net(d, "addr", "add", "10.1.0.101/32", "dev", "lo")
    eventually(lambda: is_kept_from("10.1.0.101"))
    in_net(d, "addr", "del", "10.1.0.101/32", "dev", "lo")
    eventually(lambda: not is_kept_from("10.1.0.101"))


@own_net
@pytest.mark.parametrize("options", [(), (
    "--send-to", "10.0.0.0/8,127.0.0.0/8")])
def test_nothing_is_sent_to_all_of_a_network(netted, options):
    """To its broadcast address, whatever --send-to says. Of other networks
    nobody knows it."""
    d, client = netted(*options)
    said = {address: why_not(client, f"{address}:9") for address in BROADCAST}
    assert not any("broadcast" not in (why or "") for why in said.values()), said
    assert not why_not(client, "10.0.0.254:9")
    for host in "10.2.0.1", "10.3.0.1", "10.4.0.77":  # a /31 has none
        assert not why_not(client, f"{host}:9")
    assert not why_not(client, "10.200.0.255:9")
    in_net(d, "addr", "add", "10.200.0.1/24", "dev", "out0")
    eventually(lambda: why_not(client, "10.200.0.255:9"))


@own_net
def test_others_addresses_that_could_be_bound_are_no_circle(netted):
    """ip_nonlocal_bind is set; the same at an address of ours is one."""
    d, client = netted()

    def opened(**more):
        return client.ask("endpoint.open", {"codec": "pcmu", **more})["result"]

    def joins(host):
        """Endpoints of which one sends to the other."""
        one = opened()
        port = one["rtp"].rsplit(":", 1)[1]
        two = opened(address=f"{host}:{port}")
        reply = client.ask("call.start", {"a": {"endpoint": one["endpoint"]},
                                                  "b": {"endpoint": two["endpoint"]}})
        if "result" in reply:
            return "joined"
        assert "go round" in reply["error"]["message"]
        return "refused"

    assert {joins(h) for h in OWN if h[:3] == "10."} == {"refused"}
    assert {joins(h) for h in OTHERS if "[" not in h} == {"joined"}


@own_net
def test_addresses_that_cannot_be_read_are_told_and_read_later(netted):
    d, client = netted()
    now = len(os.listdir(f"/proc/{d.process.pid}/fd"))
    limit = resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (now, limit[1]))
    in_net(d, "addr", "add", "10.1.0.101/32", "dev", "lo")
    d.logged("hosts-unread", "Too many open files")
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, limit)
    eventually(lambda: why_not(client, "10.1.0.101:22222"))


# Refuses sockets of AF_NETLINK, as RestrictAddressFamilies of a unit does.
NO_NETLINK = f"""
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 3, {platform.machine() == "aarch64" and 198
                                       or 41}),
        (0x20, 0, 0, 16), (0x15, 0, 1, 16), (0x06, 0, 0, 0x50000 | 97),
        (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *line) for line in code)
buf = ctypes.create_string_buffer(code)
prog = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buf))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, prog, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_who_may_not_know_its_addresses_does_not_start(tmp_path):
    done = subprocess.run([sys.executable, "-c", NO_NETLINK,
                           BUILD / "codec-runner", "--config", "none", "--rtp",
                           "127.0.0.1:0", "--control", "off",
                           "--control-socket", tmp_path / "c"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1, done.stderr
    assert "AF_NETLINK" in done.stderr
    unit = ROOT / "packaging/service/codec-runner.service"
    assert "AF_NETLINK" in re.search("^RestrictAddressFamilies=(.*)",
                                     unit.read_text(), re.M)[1].split()

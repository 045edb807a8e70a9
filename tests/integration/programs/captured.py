# SPDX-License-Identifier: Apache-2.0
"""RTP in a capture of loopback (dumpcap's, of pcap's format)."""
import struct

from packets import header, numbers  # noqa: F401


FILE, RECORD, ETHERNET = 24, 16, 14  # bytes of their headers


def datagrams(path):
    """(port from, port to, payload) of each, of IPv4."""
    data, at = path.read_bytes(), FILE
    while at < len(data):
        size, = struct.unpack_from("<I", data, at + 8)
        at += RECORD + size
        ip = data[at - size + ETHERNET:at]
        udp = ip[4 * (ip[0] & 15):]
        source, to, length = struct.unpack_from("!HHH", udp)
        yield source, to, udp[8:length]


def streams(path, ports, size):
    """The packets of RTP to @ports, each of @size bytes, by (port from, port
    to, SSRC). What the node sends in one go (UDP_SEGMENT) is captured as
    one."""
    found, ports = {}, set(ports)
    for source, to, data in datagrams(path):
        if to in ports:
            key = source, to, header(data)["ssrc"]
            found.setdefault(key, []).extend(
                data[i:i + size] for i in range(0, len(data), size))
    return found

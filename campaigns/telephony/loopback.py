# SPDX-License-Identifier: Apache-2.0
"""What the programs here share: ports of loopback, and patience."""
import pathlib
import socket

HOST = "127.0.0.1"
PATIENCE = 200  # seconds until a step counts as hung, sanitizers included


def free_port(kind=socket.SOCK_DGRAM):
    """A UDP port of 127.0.0.1 that nobody has at the moment."""
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def has_port(host, port):
    """Has somebody this UDP port?"""
    address = socket.inet_aton(host)[::-1].hex().upper() + f":{port:04X}"
    return address in pathlib.Path("/proc/net/udp").read_text()

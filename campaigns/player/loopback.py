# SPDX-License-Identifier: Apache-2.0
"""What programs of campaigns, tests and benchmarks share: ports of loopback,
and patience."""
import pathlib
import random
import socket

HOST = "127.0.0.1"
PATIENCE = 200  # seconds until a step counts as hung, sanitizers included


# below those that a kernel gives to who binds none (ip_local_port_range)
CHOSEN = range(10000, 32768)


def free_port(kind=socket.SOCK_DGRAM):
    """A UDP port of 127.0.0.1 that nobody has at the moment, and that nobody
    is given before it is bound."""
    while True:
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind((HOST, random.choice(CHOSEN)))
            except OSError:
                continue
            return s.getsockname()[1]


def has_port(host, port):
    """Has somebody this UDP port?"""
    address = socket.inet_aton(host)[::-1].hex().upper() + f":{port:04X}"
    return address in pathlib.Path("/proc/net/udp").read_text()

# SPDX-License-Identifier: Apache-2.0
"""A media proxy in place of codec-runner: Debian's rtpengine, started for each
run, or a proxy that listens for the NG protocol at an address.

Both classes have the interface of daemon.Daemon: start(), where(), command,
stop().
"""
import os
import re
import resource
import socket
import sys
import time

from daemon import Program
from loopback import free_port

RTPENGINE = "rtpengine"
LOWEST_PORT = 10000
PING, PONG = b"0 d7:command4:pinge", b"6:result4:pong"


def is_address(text):
    """Return whether text is ADDR:PORT, with numbers."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[0-9.]+):([0-9]{1,5})", text)
    return bool(match) and 0 < int(match[2]) < 65536


def first_ephemeral_port():
    """Return the lowest ephemeral port. The feeder's ports are ephemeral, and a
    proxy's are below them."""
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as f:
        return int(f.read().split()[0])


def answers(address, tries, is_up=lambda: True):
    """Return whether a proxy answers to an NG ping at (host, port), tried so
    often, while is_up(). A try takes 0.15 s at most."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.connect(address)
        s.settimeout(0.1)
        for _ in range(tries):
            try:
                s.send(PING)
                return PONG in s.recv(1000)
            except (ConnectionError, TimeoutError):
                if not is_up():
                    return False
                time.sleep(0.05)
    return False


class Foreign:
    """A proxy that another program has started; it listens at address."""
    command = []

    def __init__(self, address):
        self.address = address

    def start(self):
        host, port = self.address.rsplit(":", 1)
        try:
            answered = answers((host.strip("[]"), int(port)), 20)
        except OSError:  # no route, or no such address
            answered = False
        if not answered:
            print(f"campaigns/run: no answer to an NG ping from {self.address}",
                  file=sys.stderr)
        return answered

    def where(self):
        return ["--ng", self.address]

    def stop(self):
        pass


class Rtpengine(Program):
    """rtpengine on cpus with as many threads, without its kernel module."""

    patience = 10

    def __init__(self, folder, cpus):
        self.ng, self.cpus = free_port(), cpus
        self.errors = os.path.join(folder, "rtpengine.log")
        self.command = [
            RTPENGINE, "--foreground", "--log-stderr", "--log-level=4",
            "--config-file=none", "--table=-1", "--interface=127.0.0.1",
            f"--listen-ng=127.0.0.1:{self.ng}", f"--port-min={LOWEST_PORT}",
            f"--port-max={first_ephemeral_port() - 1}",
            f"--num-threads={len(cpus)}", "--delete-delay=0"]

    def prepare(self):
        os.sched_setaffinity(0, self.cpus)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def start(self):
        with open(self.errors, "wb") as log:
            try:
                self.launch(stdout=log, stderr=log)
            except FileNotFoundError:
                print("campaigns/run: no rtpengine: deps/install peer",
                      file=sys.stderr)
                return False
        return answers(("127.0.0.1", self.ng), 100,
                       lambda: self.process.poll() is None) or \
            self.failed("rtpengine did not start")

    def where(self):
        return ["--ng", f"127.0.0.1:{self.ng}", "--peer-name", RTPENGINE]

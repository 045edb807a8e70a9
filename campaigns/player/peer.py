# SPDX-License-Identifier: Apache-2.0
"""A media proxy in a codec-runner's place: Debian's rtpengine, started for each
run, or whatever listens for the NG protocol at an address.

They have what daemon.Daemon has: start(), where(), command, stop().
"""
import os
import re
import resource
import socket
import subprocess
import sys
import time

from daemon import free_port

RTPENGINE = "rtpengine"
LOWEST_PORT = 10000
PING, PONG = b"0 d7:command4:pinge", b"0 d6:result4:ponge"


def is_address(text):
    """ADDR:PORT, with numbers."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[0-9.]+):([0-9]{1,5})", text)
    return bool(match) and 0 < int(match[2]) < 65536


def first_given_out():
    """The lowest of the ports that the system gives out: below it a proxy finds
    its own, whatever the feeder has."""
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as f:
        return int(f.read().split()[0])


class Foreign:
    """Whoever listens at @address; it is there already."""
    command = []

    def __init__(self, address):
        self.address = address

    def start(self):
        return True

    def where(self):
        return ["--ng", self.address]

    def stop(self):
        pass


class Rtpengine:
    """rtpengine on @cpus with as many threads, without its kernel module."""

    def __init__(self, folder, cpus):
        self.ng, self.cpus = free_port(), cpus
        self.log = os.path.join(folder, "rtpengine.log")
        self.command = [
            RTPENGINE, "--foreground", "--log-stderr", "--log-level=4",
            "--config-file=none", "--table=-1", "--interface=127.0.0.1",
            f"--listen-ng=127.0.0.1:{self.ng}", f"--port-min={LOWEST_PORT}",
            f"--port-max={first_given_out() - 1}",
            f"--num-threads={len(cpus)}", "--delete-delay=0"]
        self.process = None

    def _prepare(self):
        os.sched_setaffinity(0, self.cpus)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def start(self):
        with open(self.log, "wb") as log:
            try:
                self.process = subprocess.Popen(
                    self.command, stdout=log, stderr=log,
                    preexec_fn=self._prepare, process_group=0)
            except FileNotFoundError:
                print("campaigns/run: no rtpengine: deps/install peer",
                      file=sys.stderr)
                return False
        if self._answers():
            return True
        self.stop()
        with open(self.log, encoding="utf-8", errors="replace") as f:
            sys.stderr.write(f.read())
        print("campaigns/run: rtpengine did not start", file=sys.stderr)
        return False

    def _answers(self):
        """Whether it answers before it ends, or 10 s are over."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", self.ng))
            s.settimeout(0.1)
            for _ in range(100):
                try:
                    s.send(PING)
                    return s.recv(100) == PONG
                except (ConnectionError, TimeoutError):
                    if self.process.poll() is not None:
                        return False
                    time.sleep(0.05)
        return False

    def where(self):
        return ["--ng", f"127.0.0.1:{self.ng}", "--peer-name", RTPENGINE]

    def stop(self):
        if not self.process:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

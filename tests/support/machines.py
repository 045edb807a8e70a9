# SPDX-License-Identifier: Apache-2.0
"""Machines of a test: network namespaces at a bridge of the test's own one,
which must have nothing but loopback."""
import json
import subprocess
import time

from loopback import PATIENCE

NET = "10.77.0"


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def why_not():
    """Why there can be no machines here; or None."""
    try:
        links = json.loads(run("ip", "-j", "link"))
        if any(link["ifname"] not in ("lo", "cr-bridge") for link in links):
            return "this network is not the test's own"
        run("unshare", "-n", "true")
        run("nsenter", "--version")
        if not any(link["ifname"] == "cr-bridge" for link in links):
            run("ip", "link", "add", "cr-bridge", "type", "bridge")
            run("ip", "addr", "add", f"{NET}.1/24", "dev", "cr-bridge")
            run("ip", "link", "set", "cr-bridge", "up")
    except (OSError, AssertionError) as e:
        return str(e)
    return None


class Machine:
    """One of them, number @number, until it is switched off."""

    def __init__(self, number):
        self.address, self.port = f"{NET}.{number}", f"cr-port{number}"
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sleep", "3600"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = self._other_network()
        run("ip", "link", "add", self.port, "type", "veth", "peer", "name",
            "eth0", "netns", own)
        run("ip", "link", "set", self.port, "master", "cr-bridge", "up")
        self.launcher = ("nsenter", "-t", own, "-n")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def _other_network(self):
        """The holder's process id, once it has a network of its own."""
        pid, end = str(self.holder.pid), time.monotonic() + PATIENCE
        ours = run("readlink", "/proc/self/ns/net")
        while run("readlink", f"/proc/{pid}/ns/net") == ours:
            assert time.monotonic() < end
            time.sleep(0.01)
        return pid

    def run(self, *words):
        return run(*self.launcher, *words)

    def have(self, address):
        """As keepalived does it: the others learn who has it."""
        self.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        run("ip", "neigh", "flush", "dev", "cr-bridge")

    def cut(self):
        """From the network."""
        run("ip", "link", "del", self.port)

    def off(self):
        self.holder.kill()
        self.holder.wait()

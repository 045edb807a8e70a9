# SPDX-License-Identifier: Apache-2.0
"""Nodes, each at an address of loopback of its own, and the Kamailio that has
them as a set in a table."""
import json
import shutil
import signal
import socket
import subprocess
import time

from kamailio import Kamailio
from loopback import HOST, PATIENCE, free_port

VERSION = "/usr/share/kamailio/dbtext/kamailio/version"
COLUMNS = ("id(int,auto) setid(int) url(string) weight(int) disabled(int) "
           "stamp(int) \n")


class Node:
    """The n-th; @options: more of codec-runner's."""

    def __init__(self, build, folder, n, options=()):
        self.build, self.n, self.name = build, n, f"node {n}"
        self.host, self.ng = f"127.0.1.{n}", free_port()
        self.url = f"udp:{HOST}:{self.ng}"
        self.control = folder / f"node-{n}.control"
        self.records_path = folder / f"node-{n}.records"
        self.log = open(folder / f"node-{n}.log", "w")
        self.process = subprocess.Popen(
            [build / "codec-runner", "--config", "none", "--rtp",
             f"{self.host}:0", "--control", f"{HOST}:{1024 + free_port() % 60000}",
             "--udp-port", str(free_port()), "--sctp", "user", "--control-socket",
             self.control, "--ng", f"{HOST}:{self.ng}", "--records",
             self.records_path, "--workers", "1", "--pin", "none", "--rx-cpu",
             "none", "--ring", "128", "--max-age", "none", *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        if not self.process.stdout.readline().startswith("ready"):
            self.end()
            raise RuntimeError(f"{self.name} does not start; see "
                               f"{self.log.name}")

    def ctl(self, *words):
        done = subprocess.run(
            [self.build / "codec-ctl", "--to", f"unix:{self.control}",
             "--json", *words], capture_output=True, text=True,
            timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{self.name}: codec-ctl {words[0]}: "
                               f"{done.stderr.strip()}")
        return json.loads(done.stdout)

    def empties(self):
        """The calls that are left, once there are none, or it has been waited
        long for: the proxy deletes a call after its BYE has been answered."""
        deadline = time.monotonic() + PATIENCE
        while ((calls := self.ctl("stats")["calls"]) and
               time.monotonic() < deadline):
            time.sleep(0.02)
        return calls

    def load_limits(self):
        """Offers that it has refused for want of room, or because it drains; by
        NG, as a proxy would ask."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(PATIENCE)
            s.sendto(b'1 {"command": "statistics"}', (HOST, self.ng))
            reply = json.loads(s.recv(65536).split(b" ", 1)[1])
        return reply["statistics"]["controlstatistics"]["load limit"]

    def records(self):
        """Of its calls that have ended. One that was killed may have left half
        a line."""
        if not self.records_path.exists():
            return []
        lines = self.records_path.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self):
        """Its exit code, once it has ended by itself."""
        return self.process.wait(timeout=PATIENCE)

    def end(self):
        """End it if it runs; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.returncode
        finally:
            self.process.stdout.close()
            self.log.close()


class Set:
    """The table of nodes that Kamailio reads, and Kamailio."""

    def __init__(self, folder, config, nodes):
        self.db = folder / "dbtext"
        self.db.mkdir(parents=True, exist_ok=True)
        shutil.copy(VERSION, self.db)
        self._write(nodes)
        text = config.read_text().replace("/etc/kamailio/dbtext", str(self.db))
        # no host goes here, and a node that is only late must not be left out
        text = text.replace('"rtpengine_tout_ms", 250',
                            '"rtpengine_tout_ms", 5000')
        self.proxy = Kamailio(folder / "kamailio", [], retries="", wait_ms="",
                              more=text.splitlines())
        self.port, self.end = self.proxy.port, self.proxy.end

    def _write(self, nodes):
        (self.db / "rtpengine").write_text(COLUMNS + "".join(
            "{}:0:{}:1:0:0\n".format(node.n, node.url.replace(":", "\\:"))
            for node in nodes))

    def change(self, nodes):
        """Until Kamailio has read the new table: it refuses to read it again
        within 10 s, and overlooks what was changed within a second."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._write(nodes)
            try:
                self.proxy.rpc("rtpengine.reload")
            except AssertionError:
                pass
            if nodes[-1].url in json.dumps(self.proxy.rpc("rtpengine.show",
                                                          "all")):
                return
            if time.monotonic() > deadline:
                raise RuntimeError("Kamailio does not take the new node")
            time.sleep(2)

# SPDX-License-Identifier: Apache-2.0
"""Media nodes of the NG protocol on two machines with one address that moves,
and a store of their calls on a third: codec-runner's, or rtpengine's."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from common.machine import BUILD, fail, pin
from rtpengine.daemon import bdecode, bencode

from machines import NET, Machine
from redis_store import RedisStore

HOST = f"{NET}.1"  # of the proxy and the phones
MOVES = f"{NET}.100"
NG = 2223
PATIENCE = 20  # s


def ng_ask(**keys):
    """The answer of the node that has the address now; None: none has it."""
    cookie = os.urandom(8).hex().encode() + b" "
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.bind((HOST, 0))
        try:
            s.connect((MOVES, NG))
            s.send(cookie + bencode(keys))
            return bdecode(s.recv(65536).removeprefix(cookie))[0]
        except OSError:
            return None


def calls_there():
    """How many calls it has; 0: there is none."""
    reply = ng_ask(command="statistics")
    return reply["statistics"]["currentstatistics"]["sessionstotal"] \
        if reply else 0


def until(done, what):
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            fail(f"no {what} within {PATIENCE} s")
        time.sleep(0.01)


class Store:
    """On a machine of its own."""

    def __init__(self, folder):
        self.machine = Machine(9)
        self.redis = RedisStore(
            folder, "--protected-mode", "no", "--notify-keyspace-events",
            "KEA", launcher=self.machine.launcher, host=self.machine.address)

    def stop(self):
        self.redis.stop()
        self.machine.off()


class MediaNode:
    """Number 1 or 2 of a pair. It runs from .start until .stop, or until its
    machine is .gone."""

    def __init__(self, folder, store, number):
        self.machine, self.number = Machine(1 + number), number
        self.folder, self.store = folder, store
        self.process, self.there = None, True

    def start(self):
        self.begin()
        self.logged(self.READY)

    def begin(self):
        """Without waiting."""
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*self.machine.launcher, *self.command()], stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, preexec_fn=pin(
                    *os.sched_getaffinity(0)))

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def logged(self, text):
        until(lambda: text in self.log() or self.process.poll() is not None,
              f"{text!r} in the log")
        if self.process.poll() is not None:
            fail(f"node {self.number} has ended: {self.log()}")

    def gone(self):
        """Its machine dies: nobody hears it any more; then its processes."""
        self.machine.cut()
        self.kill_all()
        self.there = False

    def kill_all(self):
        for pid in (*children(self.process.pid), self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.there and self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill_all()
        self.machine.off()


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


class CodecRunnerNode(MediaNode):
    """Supervised."""
    READY = "ready "

    def __init__(self, *words):
        super().__init__(*words)
        self.control = self.folder / "control"
        self.records = self.folder / "records"
        self.config = self.folder / "conf"
        options = {
            "rtp": f"{MOVES}:40000", "rtp-ports": "30000-39999",
            "ng": f"{MOVES}:{NG}", "ng-allow": f"{NET}.0/24",
            "ng-host-offers": 1000, "control": "127.0.0.1:5555",
            "sctp": "user", "control-socket": self.control,
            "records": self.records, "drain-timeout": "0s",
            "workers": 2, "pin": "none", "rx-cpu": "none",
            "no-admission": "yes",
            "replicate": self.store.redis.url(f"node{self.number}"),
            "standby-of": f"node{3 - self.number}"}
        self.config.write_text("".join(
            f"{name} = {value}\n" for name, value in options.items()))

    def command(self):
        return [BUILD / "codec-runner", "--supervise", "--config", self.config]

    def ctl(self, *words):
        return subprocess.run(
            [BUILD / "codec-ctl", "--to", f"unix:{self.control}", "--json",
             *words], capture_output=True, text=True, check=False,
            timeout=PATIENCE)

    def kill(self):
        """What restarts it is its supervisor."""
        os.kill(*children(self.process.pid), signal.SIGKILL)

    def upgrade(self):
        done = self.ctl("upgrade")
        if done.returncode:
            fail(f"codec-ctl upgrade: {done.stderr}")

    def is_copied(self, calls):
        until(lambda: json.loads(self.ctl("stats").stdout)["replicate"]
              ["calls"] >= calls, "copy of all calls")

    def takeover(self):
        until(lambda: self.ctl("takeover").returncode == 0, "takeover")

    def ended(self):
        """[(call-id, why it ended)] of its records."""
        records = map(json.loads, self.records.read_text().splitlines())
        return [(r["label"], r["reason"]) for r in records]


class RtpengineNode(MediaNode):
    """As it is packaged, without its kernel module; each node has a database
    of its own in the store, and watches the other's."""
    READY = "Startup complete"

    def __init__(self, *words):
        super().__init__(*words)
        # the address is not here, yet
        self.machine.run("sysctl", "-qw", "net.ipv4.ip_nonlocal_bind=1")

    def command(self):
        redis = self.store.redis
        return ["rtpengine", "--foreground", "--log-stderr", "--log-level=6",
                "--config-file=none", "--table=-1", f"--interface={MOVES}",
                f"--listen-ng={MOVES}:{NG}", "--port-min=30000",
                "--port-max=39999", "--num-threads=2", "--delete-delay=0",
                f"--redis={redis.host}:{redis.port}/{self.number}",
                f"--subscribe-keyspace={3 - self.number}"]

    def kill(self):
        """What restarts it is systemd: here, we."""
        self.kill_all()
        self.begin()

    def upgrade(self):
        """It has none: it is restarted."""
        self.process.terminate()
        self.process.wait()
        self.begin()

    def is_copied(self, calls):
        redis = self.store.redis

        def keys():
            with socket.create_connection((redis.host, redis.port)) as s:
                lines = s.makefile("rb")
                s.sendall(b"SELECT %d\r\nDBSIZE\r\n" % self.number)
                lines.readline()
                return int(re.search(rb"\d+", lines.readline())[0])
        until(lambda: keys() >= calls, "copy of all calls")

    def takeover(self):
        """It has the other's calls already."""


NODES = {"codec-runner": CodecRunnerNode, "rtpengine": RtpengineNode}

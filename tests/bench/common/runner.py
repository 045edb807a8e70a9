# SPDX-License-Identifier: Apache-2.0
"""codec-runner as a process, and its calls, by its Unix socket."""
import itertools
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile

from common.machine import BUILD, HOST, cpus, fail, free_port, pin

# Requests in a batch: a batch has at most 256 and 65,536 bytes.
BATCH = 100
TS_FIRST = 8000  # RTP timestamp of the first packet of bench-load's calls
PATIENCE = 60  # seconds for a reply: the first call's cost is measured


class Calls:
    """What is asked of every call. @codec: of the output."""
    INPUT = {"amr-wb": ("l16", 16000)}
    PTIME_MS = {"g723_1": 30}
    MODE = {"amr": "12.2", "amr-wb": "12.65", "g723_1": "6.3"}

    def __init__(self, codec, port, mode=None):
        self.codec, self.port = codec, port
        self.mode = mode or self.MODE.get(codec)
        self.said, self.rate = self.INPUT.get(codec, ("pcmu", 8000))
        self.ptime_ms = self.PTIME_MS.get(codec, 20)

    def name(self):
        return " ".join(filter(None, (self.said.upper(), "to",
                                      self.codec.upper(), self.mode)))

    def request(self, index, address):
        """Start the call whose answers go to @address."""
        out = {"codec": self.codec, "address": address, "ssrc": index + 1}
        if self.mode:
            out["mode"] = self.mode
        heard = {"codec": self.said, "ts_first": TS_FIRST}
        if self.said == "l16":
            heard["rate"] = self.rate
        return {"jsonrpc": "2.0", "id": index, "method": "call.start",
                "params": {"in": heard, "out": out, "port": self.port,
                           "ssrc": index + 1, "ptime_ms": self.ptime_ms}}

    def target(self, _, result):
        """A line for bench-load, of the reply for one of them."""
        return target(result)

    def load_options(self):
        """The same for bench-load."""
        return ["--codec", self.said, "--rate", str(self.rate), "--out-clock",
                str(self.rate), "--ptime", f"{self.ptime_ms}ms", "--expect",
                "pcma" if self.codec == "pcma" else "any"]


class Relays(Calls):
    """Calls whose parties speak the same, each with both at one
    address, so that what A sends comes back, by the port of B's endpoint. B has
    PCMA's payload type for it."""

    def __init__(self):
        super().__init__("pcmu", "own")

    def request(self, index, address):
        party = {"codec": "pcmu", "address": address, "learn": "immediate"}
        return {"jsonrpc": "2.0", "id": index, "method": "call.start",
                "params": {"a": party | {"ssrc": index + 1},
                           "b": party | {"pt": 8}}}

    def load_options(self):
        return ["--expect", "same"]

    def target(self, index, result):
        if not result["relay"]:
            fail("codec-runner does not relay")
        return f"{result['a']['rtp']} {index + 1} 0 {TS_FIRST}"


def target(result):
    """A line for bench-load, of the reply to call.start."""
    rtp = result["rtp"]
    return (f"{rtp['address']} {rtp['ssrc']} {rtp['pt']} "
            f"{result['out']['ts_base']}")


def batches(requests):
    """Lists of as many of @requests as fit a batch."""
    requests = iter(requests)
    while batch := list(itertools.islice(requests, BATCH)):
        yield batch


class Runner:
    """codec-runner with one worker on the last CPU. @whole: all of it is there,
    else the receiver is on the first CPU, where the load is, too. shared: the
    address of the port that calls share. @build: the folder of its program."""

    def __init__(self, whole, options=(), build=BUILD):
        rx, worker = cpus()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        path = self.folder / "control"
        self.control = self.lines = None
        self.process = subprocess.Popen(
            [build / "codec-runner", "--config", "none", "--rtp",
             f"{HOST}:0", "--control", f"{HOST}:{1024 + free_port() % 60000}",
             "--udp-port", str(free_port()), "--sctp", "user", "--control-socket", path,
             "--workers", "1", "--pin", str(worker), "--rx-cpu",
             str(worker if whole else rx), "--no-admission", "--log-level",
             "error", *options], stdout=subprocess.PIPE, text=True,
            preexec_fn=pin(*[] if whole else [rx], worker))
        try:
            ready = self.process.stdout.readline().split()
            if not ready:
                fail("codec-runner did not start")
            self.shared = ready[1].removeprefix("rtp=")
            self.connect()
        except BaseException:
            self.stop()
            raise

    def connect(self):
        """Again, where another process is the daemon by now."""
        if self.control:
            self.control.close()
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(str(self.folder / "control"))
        self.control.settimeout(PATIENCE)
        self.lines = self.control.makefile(encoding="utf-8")

    @property
    def pid(self):
        """Of the daemon, which may have a supervisor."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return int(children.split()[0]) if children else pid

    def replies(self, batch):
        """The replies to a batch, by id."""
        self.control.sendall(json.dumps(batch).encode() + b"\n")
        for message in map(json.loads, self.lines):
            if isinstance(message, list):  # else a notification
                return {reply["id"]: reply for reply in message}
        return fail("codec-runner has closed the connection")

    def ask(self, method, **params):
        """The result of one request."""
        reply = self.replies([{"jsonrpc": "2.0", "id": 0, "method": method,
                               "params": params}])[0]
        if "error" in reply:
            fail(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def where(self):
        """Options of other programs that speak to it."""
        return ["--to", f"unix:{self.folder / 'control'}"]

    def resident(self):
        """Memory of the process, bytes."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            kib = next(line.split()[1] for line in status
                       if line.startswith("VmRSS"))
        return int(kib) * 1024

    def start(self, calls, addresses):
        """Start a call to each of @addresses; the targets to send to."""
        targets = []
        requests = (calls.request(i, a) for i, a in enumerate(addresses))
        for batch in batches(requests):
            replies = self.replies(batch)
            for request in batch:
                reply = replies[request["id"]]
                if "error" in reply:
                    fail(f"call {request['id'] + 1} of {len(addresses)}: "
                         f"{reply['error']['message']}")
                targets.append(calls.target(request["id"], reply["result"]))
        return targets

    def bye(self):
        """End the calls, else they would be waited for."""
        if not self.lines:
            return  # not connected
        try:
            self.control.sendall(
                b'{"jsonrpc": "2.0", "id": 0, "method": "bye"}\n')
            for _ in self.lines:
                pass
        except OSError:
            pass  # not connected any more

    def stop(self):
        self.bye()
        if self.control:
            self.control.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon that speaks JSON-RPC by its Unix socket."""
import json
import socket

from conftest import PATIENCE


class Control:
    """A client by the daemon's Unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile()

    def hear(self):
        return json.loads(self.lines.readline())

    def send(self, method, params):
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 1,
                                        "method": method, "params": params}
                                       ).encode() + b"\n")

    def ask(self, method, params):
        """The reply: a result or an error."""
        self.send(method, params)
        return self.answer()

    def answer(self):
        """The next reply. News that come before it, as of congestion, are
        passed over."""
        while "method" in (reply := self.hear()):
            pass
        assert reply["id"] == 1
        return reply

    def start(self, sock, port="own", **more):
        host, number = sock.getsockname()[:2]
        at = f"[{host}]:{number}" if ":" in host else f"{host}:{number}"
        return self.ask("call.start", {
            "in": {"codec": "pcmu"}, "port": port, **more,
            "out": {"codec": "pcma", "address": at}})

    def start_until_refused(self, sock):
        """The calls, and why there are no more."""
        calls = []
        while "result" in (reply := self.start(sock)):
            calls.append(reply["result"])
        return calls, reply["error"]

    def stop(self, call):
        """And wait until it has gone."""
        assert "result" in self.ask("call.stop", {"call": call["call"]})
        told = self.hear()
        assert told["method"] == "stream.ended"
        assert told["params"]["call"] == call["call"]

# SPDX-License-Identifier: Apache-2.0
"""A daemon's control socket: JSON-RPC in lines (docs/protocol.md)."""
import json
import socket


class Refused(Exception):
    """The daemon says no; the text says why."""


class Gone(Exception):
    """The daemon has closed the connection."""


class Control:
    def __init__(self, path, patience=20):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.socket.connect(path)
        self.lines = self.socket.makefile(encoding="utf-8")
        self.asked = 0
        self.ask("hello", client="campaigns/run")

    def ask(self, method, **params):
        """The result. Refused, Gone."""
        self.asked += 1
        request = {"jsonrpc": "2.0", "id": self.asked, "method": method,
                   "params": params}
        try:
            self.socket.sendall(json.dumps(request).encode() + b"\n")
            for line in self.lines:
                reply = json.loads(line)
                if reply.get("id") != self.asked:
                    continue  # a notification
                if "error" in reply:
                    raise Refused(reply["error"]["message"])
                return reply["result"]
        except OSError as error:
            raise Gone(str(error)) from error
        raise Gone("it has closed the connection")

    def close(self):
        self.socket.close()

# SPDX-License-Identifier: Apache-2.0
"""A daemon's control socket: JSON-RPC in lines (docs/protocol.md)."""
import json
import socket


class Refused(Exception):
    """The daemon refuses a request; the text says why."""


class Gone(Exception):
    """The daemon has closed the connection."""


class Control:
    def __init__(self, path, timeout=20):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.lines = self.socket.makefile(encoding="utf-8")
        self.last_id = 0
        self.request("hello", client="campaigns/run")

    def request(self, method, **params):
        """Return the result. Raises Refused, Gone."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method,
                   "params": params}
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
            for line in self.lines:
                reply = json.loads(line)
                if reply.get("id") != self.last_id:
                    continue  # a notification
                if "error" in reply:
                    raise Refused(reply["error"]["message"])
                return reply["result"]
        except OSError as error:
            raise Gone(str(error)) from error
        raise Gone("it has closed the connection")

    def close(self):
        self.socket.close()

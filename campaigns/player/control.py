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
        return self.batch(method, [params])[0]

    def batch(self, method, every):
        """Return the results of a method with each of these params, asked at
        once. Raises Refused, Gone."""
        first, self.last_id = self.last_id + 1, self.last_id + len(every)
        message = [{"jsonrpc": "2.0", "id": first + i, "method": method,
                    "params": params} for i, params in enumerate(every)]
        try:
            self.socket.sendall(json.dumps(
                message if len(every) > 1 else message[0]).encode() + b"\n")
            for line in self.lines:
                replies = json.loads(line)
                if isinstance(replies, dict):
                    replies = [replies]
                if (replies[0].get("id") or 0) < first:
                    continue  # a notification
                for reply in replies:
                    if "error" in reply:
                        raise Refused(reply["error"]["message"])
                return [reply["result"] for reply in sorted(
                    replies, key=lambda reply: reply["id"])]
        except OSError as error:
            raise Gone(str(error)) from error
        raise Gone("it has closed the connection")

    def close(self):
        self.socket.close()

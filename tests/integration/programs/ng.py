# SPDX-License-Identifier: Apache-2.0
"""A proxy's side of the NG protocol: messages by UDP or TCP, in bencode or
JSON."""
import json
import socket

from conftest import PATIENCE

AGAIN = 1  # seconds after which a request is sent again, as proxies do


def bencode(value):
    if isinstance(value, dict):
        return b"d" + b"".join(bencode(k) + bencode(v)
                               for k, v in value.items()) + b"e"
    if isinstance(value, list):
        return b"l" + b"".join(bencode(v) for v in value) + b"e"
    if isinstance(value, int):
        return b"i%de" % value
    octets = value.encode(errors="surrogateescape") \
        if isinstance(value, str) else value
    return b"%d:%s" % (len(octets), octets)


def bdecode(text, at=0):
    """(value, what is behind it)."""
    first = text[at:at + 1]
    if first == b"i":
        end = text.index(b"e", at)
        return int(text[at + 1:end]), end + 1
    if first in (b"d", b"l"):
        items, at = [], at + 1
        while text[at:at + 1] != b"e":
            item, at = bdecode(text, at)
            items.append(item)
        if first == b"l":
            return items, at + 1
        return dict(zip(items[::2], items[1::2])), at + 1
    colon = text.index(b":", at)
    end = colon + 1 + int(text[at:colon])
    return text[colon + 1:end].decode(errors="surrogateescape"), end


class Proxy:
    """Asks a daemon. Cookies are its own."""

    def __init__(self, at, kind="udp", encoding="json", host="127.0.0.1"):
        name, port = at.rsplit(":", 1)
        self.kind, self.encoding, self.cookies = kind, encoding, 0
        self.to = (name.strip("[]"), int(port))
        self.socket = socket.socket(
            socket.AF_INET6 if ":" in self.to[0] else socket.AF_INET,
            socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
        if host:
            self.socket.bind((host, 0))
        self.socket.connect(self.to)

    def close(self):
        self.socket.close()

    def message(self, cookie, request):
        text = json.dumps(request).encode() if self.encoding == "json" \
            else bencode(request)
        return cookie.encode() + b" " + text

    def read(self, text):
        """(cookie, answer) of a whole message, or None."""
        cookie, _, text = text.partition(b" ")
        try:
            if self.encoding == "json":
                return cookie.decode(), json.loads(text)
            answer, end = bdecode(text)
            assert end == len(text)
            return cookie.decode(), answer
        except (ValueError, IndexError):
            return None

    def hear_udp(self, message, cookie):
        """A request that was sent twice has two replies: one may be left."""
        self.socket.settimeout(AGAIN)
        for _ in range(PATIENCE // AGAIN):
            self.socket.send(message)
            try:
                while True:
                    to, answer = self.read(self.socket.recv(65536))
                    if to == cookie:
                        return answer
            except TimeoutError:
                pass
        raise TimeoutError(message)

    def hear_tcp(self, message, cookie):
        self.socket.settimeout(PATIENCE)
        self.socket.sendall(message)
        text = b""
        while not (answer := self.read(text)):
            more = self.socket.recv(65536)
            assert more, text
            text += more
        assert answer[0] == cookie
        return answer[1]

    def ask(self, command, **more):
        self.cookies += 1
        cookie = f"{id(self)}_{self.cookies}"
        message = self.message(cookie, {"command": command, **more})
        hear = self.hear_udp if self.kind == "udp" else self.hear_tcp
        return hear(message, cookie)

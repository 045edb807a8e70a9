# SPDX-License-Identifier: Apache-2.0
"""A telephone system in small: it asks a node by the NG protocol, and writes
and reads session descriptions."""
import re

from ng import Proxy


class System(Proxy):
    """Keys are written with underscores."""

    def ask(self, command, **request):
        return super().ask(command, **{k.replace("_", "-"): v
                                       for k, v in request.items()})

    def ok(self, command, **request):
        body = self.ask(command, **request)
        assert body["result"] == "ok", body
        return body


def sdp(port, formats="8 PCMA/8000", host="127.0.0.1", lines=(), version=1,
        more=()):
    """A description of one audio line; @formats: "96 AMR/8000 mode-set=7, 8
    PCMA/8000"."""
    types, maps = [], []
    for one in formats.split(", "):
        pt, name, *fmtp = one.split(" ", 2)
        types.append(pt)
        maps.append(f"a=rtpmap:{pt} {name}")
        maps += [f"a=fmtp:{pt} {fmtp[0]}"] if fmtp else []
    host = f"IN IP{6 if ':' in host else 4} {host}"
    text = ["v=0", f"o=phone 1 {version} {host}", "s=-", f"c={host}", "t=0 0",
            f"m=audio {port} RTP/AVP {' '.join(types)}", *maps, *lines, *more]
    return "\r\n".join(text) + "\r\n"


class Line:
    """A media line of a description, read by a reader of ours."""

    def __init__(self, text):
        first, *attributes = text.split("\r\n")
        self.media, port, self.proto, *types = first.split()
        self.port = int(port.split("/")[0])
        self.types = [int(t) for t in types if t.isdigit()]
        self.attributes = [a[2:] for a in attributes if a.startswith("a=")]
        self.host = next((a.split()[-1] for a in attributes
                          if a.startswith("c=")), None)

    def value(self, name):
        for a in self.attributes:
            if a == name or a.startswith(name + ":"):
                return a.partition(":")[2]
        return None

    def name(self, pt):
        for a in self.attributes:
            if a.startswith(f"rtpmap:{pt} "):
                return a.split(" ", 1)[1]
        return {0: "PCMU/8000", 8: "PCMA/8000"}.get(pt)

    def fmtp(self, pt):
        for a in self.attributes:
            if a.startswith(f"fmtp:{pt} "):
                return a.split(" ", 1)[1]
        return ""

    @property
    def names(self):
        return [self.name(pt) for pt in self.types]

    @property
    def mode(self):
        modes = {"sendrecv", "sendonly", "recvonly", "inactive"}
        return next((a for a in self.attributes if a in modes), "sendrecv")


def lines(text):
    """The media lines of a description; a line without "c=" has the
    session's."""
    session, *media = re.split(r"(?m)^m=", text)
    host = re.search(r"(?m)^c=IN IP[46] (\S+)", session)
    read = [Line(m) for m in media]
    for line in read:
        line.host = line.host or (host and host.group(1))
    return read

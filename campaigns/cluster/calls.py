# SPDX-License-Identifier: Apache-2.0
"""A group of calls between two SIPps, with a phone of ours at either end: who
calls speaks PCMA, and who is called says AMR, a packet for each that it hears
and what it heard. SIPp's traces tell when, and by which node."""
import datetime
import re
import threading
import time
from dataclasses import dataclass

from loopback import PATIENCE
from phones import Answering, Phone, Phones
from sipp import (
    AMR, PCMA, Caller, Sipp, asked, got, maybe, media, pause, replied, sdp,
    taken)

PACE = 50  # packets a second
SLACK_MS = 1500  # until the last packets have come
BLOCK = re.compile(r"^-{20,} (.*)\nUDP message (sent|received)[^\n]*\n\n",
                   re.M)


class Speaker(Phone):
    """Who calls. It speaks when it has been answered."""

    def answered(self, to):
        self.to, self.begun = to, time.monotonic()

    def hear(self):
        data = self.sock.recv(2048)
        if not 192 <= data[1] <= 223:  # no RTCP
            self.heard.append(data)


class Echo(Answering):
    """Who is called."""

    def hear(self):
        super().hear()
        self.says += [d[12:] for d in self.heard[len(self.says):]]


@dataclass
class Call:
    """begun, answered: s, or None; refused: the status, or None; host: the
    node's; phone, far: at both ends, or None."""
    begun: float
    phone: Phone
    answered: float = None
    refused: str = None
    host: str = None
    far: Phone = None

    @property
    def set_up_ms(self):
        return 1e3 * (self.answered - self.begun)

    def lost(self):
        """Frames that did not reach the one called, and the caller."""
        far = self.far
        if not far:
            return self.phone.said, 0
        return (self.phone.said - len(far.heard),
                far.said - len(self.phone.heard))


def _found(pattern, text):
    match = re.search(pattern, text, re.M | re.I)
    return match[1] if match else None


class Trace:
    """What SIPp has sent and received so far, each message once."""

    def __init__(self, path):
        self.path, self.text, self.at = path, "", 0

    def new(self, whole=False):
        """(time, sent or received, text) of each message since, without the
        last one unless it is @whole."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as f:
            f.seek(self.at)
            data = f.read()
        self.at += len(data)
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        found = list(BLOCK.finditer(self.text))
        ends = [m.start() for m in found[1:]] + [len(self.text)]
        for m, end in list(zip(found, ends))[:None if whole else -1]:
            when = datetime.datetime.fromisoformat(m[1].strip()).timestamp()
            yield when, m[2], self.text[m.end():end]
        if found:
            self.text = "" if whole else self.text[found[-1].start():]


class Group:
    """So many calls of @seconds of speech, from now on."""

    def __init__(self, folder, name, proxy, said, calls, rate, seconds):
        self.name, self.count, self.calls = name, calls, {}
        said = said[:int(PACE * seconds)]
        self.near = [Speaker(said, 8) for _ in range(calls)]
        self.far = [Echo([]) for _ in range(calls)]
        self.phones = Phones(self.near + self.far)
        folder.mkdir(parents=True)
        self.callee = Sipp(folder, "callee", [
            asked("INVITE"), replied("180 Ringing", first=True),
            replied("200 OK", sdp(media("[field0]", AMR)), first=True,
                    again=True),
            taken("ACK"), taken("BYE"), replied("200 OK")], calls,
            words=["-inf", self._ports(folder / "callee.csv", self.far)])
        c = Caller(f"sip:callee@127.0.0.1:{self.callee.port}")
        self.caller = Sipp(folder, "caller", [
            c.invite(sdp(media("[field0]", PCMA))), maybe(100, 180, 183),
            got(200, rrs="true"), c.within("ACK", 1),
            pause(int(1000 * seconds) + SLACK_MS), c.within("BYE", 2),
            got(200)], calls, proxy.port, rate,
            words=["-inf", self._ports(folder / "caller.csv", self.near)])
        self.trace = Trace(folder / "caller.messages")
        self.far_trace = Trace(folder / "callee.messages")
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    @staticmethod
    def _ports(path, phones):
        path.write_text("SEQUENTIAL\n" + "".join(f"{p.port};\n"
                                                 for p in phones))
        return path

    def _watch(self):
        while not self.done.wait(0.005):
            self._read(False)
        self._read(True)

    def _read(self, whole):
        for when, way, text in self.trace.new(whole):
            self._note(when, way, text)

    def _note(self, when, way, text):
        name = _found(r"^Call-ID: *(\S+)", text)
        first = text.split("\n", 1)[0]
        if way == "sent" and first.startswith("INVITE"):
            port = int(_found(r"^m=audio (\d+)", text))
            self.calls.setdefault(name, Call(when, next(
                p for p in self.near if p.port == port)))
        elif _found(r"^CSeq: *\d+ (INVITE)", text) and way == "received":
            self._replied(self.calls[name], when, first.split()[1], text)

    @staticmethod
    def _replied(call, when, status, text):
        if status == "200" and not call.answered:
            call.host = _found(r"^c=IN IP4 (\S+)", text)
            call.answered = when
            call.phone.answered((call.host, int(_found(r"^m=audio (\d+)",
                                                       text))))
        elif status >= "300":
            call.refused = status

    def up(self):
        """Wait until all have been answered, or refused."""
        deadline = time.monotonic() + PATIENCE
        while (len(self.calls) < self.count or any(
                not c.answered and not c.refused
                for c in list(self.calls.values()))):
            if (time.monotonic() > deadline or
                    self.caller.process.poll() is not None):
                return
            time.sleep(0.01)

    def over(self):
        """Wait until all have ended."""
        try:
            self.caller.process.wait(timeout=PATIENCE)
        finally:
            self.end()

    def end(self):
        """Whatever goes on."""
        if self.done.is_set():
            return
        self.caller.end()
        time.sleep(0.2)  # the reply to the last BYE is on its way
        self.callee.end()
        self.done.set()
        self.thread.join()
        self.phones.end()
        port_of = {p.port: p for p in self.far}
        for _, way, text in self.far_trace.new(whole=True):
            port = _found(r"^m=audio (\d+)", text)
            call = self.calls.get(_found(r"^Call-ID: *(\S+)", text))
            if way == "sent" and port and call:
                call.far = port_of[int(port)]

# SPDX-License-Identifier: Apache-2.0
"""Calls of SIPp through Kamailio, whose parties speak and are heard by
bench-restart-load: PCMU, and AMR 12.2, PCMA or PCMU on the other side."""
import re
import time

from common.machine import fail
from common.parties import Parties
from sipcalls.media_nodes import HOST, MOVES, NG, PATIENCE

from kamailio import PLAIN, Kamailio, Routes, transcode
from sipp import (
    AMR, PCMA, PCMU, Caller, Sipp, asked, got, maybe, media, pause, replied,
    sdp, taken)

SETUP_S = 10  # besides the time that --rate takes
PORT = "[field0]"
# codec of the callees, by both names
KINDS = {
    "amr": ("amr", AMR, Routes(to_caller=transcode("PCMU"))),
    "pcma": ("pcma", PCMA, Routes(to_callee=transcode("PCMA"),
                                  to_caller=transcode("PCMU"))),
    "relay": ("pcmu", PCMU, Routes(to_callee=PLAIN, to_caller=PLAIN)),
}


def call_id(text):
    return re.search(r"^Call-ID:\s*(\S+)", text, re.M | re.I)[1]


def audio(text):
    """Where the party of a message's description is, "HOST:PORT"."""
    host = re.search(r"^c=IN IP4 (\S+)", text, re.M)[1]
    port = re.search(r"^m=audio (\d+)", text, re.M)[1]
    return f"{host}:{port}"


def audio_of(texts, first, method="INVITE"):
    """{call: "HOST:PORT"} of descriptions in these messages."""
    return {call_id(t): audio(t) for t in texts
            if t.startswith(first) and "m=audio" in t and
            re.search(rf"^CSeq: \d+ {method}", t, re.M)}


class SipCalls:
    """@count of them: set up as this is made, ended by their callers @hold_s
    after each has begun. @dump: [file for packets of the first ones], or []."""

    def __init__(self, at_end, folder, kind, count, rate, hold_s, dump):
        name, codec, routes = KINDS[kind]
        self.folder, self.count = folder, count
        self.parties = Parties(count, name, HOST, dump)
        at_end.callback(self.parties.stop)
        self.ports = [int(at.rsplit(":", 1)[1])
                      for at in self.parties.addresses]
        self.proxy = Kamailio(folder / "kamailio", [f"udp:{MOVES}:{NG}"],
                              routes, host=HOST)
        at_end.callback(self.proxy.end)
        self.callee = Sipp(folder, "callee", [
            asked("INVITE"), replied("180 Ringing", first=True), pause(300),
            replied("200 OK", sdp(media(PORT, codec)), first=True, again=True),
            taken("ACK"), taken("BYE"), replied("200 OK")], count,
            words=self._words("callee", self.ports[1::2], hold_s), host=HOST)
        at_end.callback(self.callee.end)
        c = Caller(f"sip:callee@{HOST}:{self.callee.port}")
        self.caller = Sipp(folder, "caller", [
            c.invite(sdp(media(PORT, PCMU))), maybe(100, 180, 183),
            got(200, rrs="true"), c.within("ACK", 1),
            pause(round(hold_s * 1000)), c.within("BYE", 2), got(200)], count,
            to=self.proxy.port, rate=rate, host=HOST,
            words=self._words("caller", self.ports[::2], hold_s))
        at_end.callback(self.caller.end)
        self._wait_until_answered(count / rate + SETUP_S)

    def _words(self, name, ports, hold_s):
        """Besides the ports, how long it may take."""
        path = self.folder / f"{name}.csv"
        path.write_text("SEQUENTIAL\n" + "".join(f"{p};\n" for p in ports))
        return ["-inf", path, "-timeout", f"{hold_s + PATIENCE:.0f}s"]

    def _wait_until_answered(self, seconds):
        end = time.monotonic() + seconds
        while len([t for t in self.callee.messages("received")
                   if t.startswith("ACK")]) < self.count:
            if time.monotonic() > end:
                fail(f"calls are not answered: {self.proxy.log()[-2000:]}")
            time.sleep(0.2)

    def speak(self):
        """From now on: each party to where it was told to send."""
        to = {}
        for sipp, own, others in (
                (self.caller, ("sent", "INVITE"), ("received", "SIP/2.0 200")),
                (self.callee, ("sent", "SIP/2.0 200"),
                 ("received", "INVITE"))):
            ours = audio_of(sipp.messages(own[0]), own[1])
            theirs = audio_of(sipp.messages(others[0]), others[1])
            to |= {int(at.rsplit(":", 1)[1]): theirs[call]
                   for call, at in ours.items()}
        self.parties.begin(to[port] for port in self.ports)

    def mark(self):
        """What has come since the last one; a call in which one party hears
        nothing is lost."""
        row = self.parties.mark()
        silent = row.pop("silent_parties")
        return {"calls_lost": len({n // 2 for n in silent}), **row}

    def end(self):
        """Until all BYEs were answered; how many were."""
        self.caller.process.wait()
        self.parties.stop()
        return len({call_id(t) for t in self.caller.messages("received")
                    if t.startswith("SIP/2.0 200") and
                    re.search(r"^CSeq: \d+ BYE", t, re.M)})

    def ids(self):
        return {call_id(t) for t in self.caller.messages("sent")}

# SPDX-License-Identifier: Apache-2.0
"""Calls of SIPp through Kamailio, whose parties speak and are heard by
bench-restart-load: PCMU to AMR 12.2 and back, or PCMU on both sides."""
import json
import re
import subprocess
import time

from common.machine import BUILD, cpus, fail, pin
from sipcalls.media_nodes import HOST, MOVES, NG

from kamailio import PLAIN, Kamailio, Routes, transcode
from libraries import amr_said
from sipp import (
    AMR, PCMU, Caller, Sipp, asked, got, maybe, media, pause, replied, sdp,
    taken)
from speech import law_encode, speech

FRAMES = 1500  # of speech, then again
SETUP_S = 10  # besides the time that --rate takes
PORT = "[field0]"
KINDS = {
    "transcoded": (AMR, Routes(to_caller=transcode("PCMU"))),
    "relayed": (PCMU, Routes(to_callee=PLAIN, to_caller=PLAIN)),
}


def speech_pcm():
    return speech(FRAMES)


class Lines:
    """bench-restart-load: a line of each party, callers first."""

    def __init__(self, count):
        self.process = subprocess.Popen(
            [BUILD / "bench-restart-load", str(count), str(cpus()[0]), HOST],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=pin(cpus()[0]))
        self.ports = [int(word.rsplit(":", 1)[1]) for word in
                      self.process.stdout.readline().split()[1:]]

    def begin(self, targets):
        self.process.stdin.write("".join(f"{t}\n" for t in targets))
        self.process.stdin.flush()

    def mark(self):
        """What has come since the last one."""
        self.process.stdin.write("mark\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


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
    after each has begun."""

    def __init__(self, at_end, folder, kind, count, rate, hold_s):
        (codec, routes), self.count = KINDS[kind], count
        self.kind, self.folder = kind, folder
        self.lines = Lines(2 * count)
        at_end.callback(self.lines.stop)
        self.proxy = Kamailio(folder / "kamailio", [f"udp:{MOVES}:{NG}"],
                              routes, host=HOST)
        at_end.callback(self.proxy.end)
        self.callee = Sipp(folder, "callee", [
            asked("INVITE"), replied("180 Ringing", first=True), pause(300),
            replied("200 OK", sdp(media(PORT, codec)), first=True, again=True),
            taken("ACK"), taken("BYE"), replied("200 OK")], count,
            words=self._ports("callee", self.lines.ports[count:]), host=HOST)
        at_end.callback(self.callee.end)
        c = Caller(f"sip:callee@{HOST}:{self.callee.port}")
        self.caller = Sipp(folder, "caller", [
            c.invite(sdp(media(PORT, PCMU))), maybe(100, 180, 183),
            got(200, rrs="true"), c.within("ACK", 1),
            pause(round(hold_s * 1000)), c.within("BYE", 2), got(200)], count,
            to=self.proxy.port, rate=rate, host=HOST,
            words=self._ports("caller", self.lines.ports[:count]))
        at_end.callback(self.caller.end)
        self._wait_until_answered(count / rate + SETUP_S)

    def _ports(self, name, ports):
        path = self.folder / f"{name}.csv"
        path.write_text("SEQUENTIAL\n" + "".join(f"{p};\n" for p in ports))
        return ["-inf", path]

    def _wait_until_answered(self, seconds):
        end = time.monotonic() + seconds
        while len([t for t in self.callee.messages("received")
                   if t.startswith("ACK")]) < self.count:
            if time.monotonic() > end:
                fail(f"calls are not answered: {self.proxy.log()[-2000:]}")
            time.sleep(0.2)

    def _targets(self):
        """Where each line has to send to, by their ports."""
        to = {}
        for sipp, own, others in (
                (self.caller, ("sent", "INVITE"), ("received", "SIP/2.0 200")),
                (self.callee, ("sent", "SIP/2.0 200"),
                 ("received", "INVITE"))):
            ours = audio_of(sipp.messages(own[0]), own[1])
            theirs = audio_of(sipp.messages(others[0]), others[1])
            to |= {int(at.rsplit(":", 1)[1]): theirs[call]
                   for call, at in ours.items()}
        return [to[port] for port in self.lines.ports]

    def speak(self, dump=None):
        """From now on. @dump: a file for what the first callee hears."""
        pcm = speech_pcm()
        said = self.folder / "said.pcmu", self.folder / "said.amr"
        said[0].write_bytes(law_encode("mulaw", pcm))
        said[1].write_bytes(b"".join(amr_said(pcm)))
        pcmu, amr = f"0 160 {said[0]}", f"96 33 {said[1]}"
        of_callee = amr if self.kind == "transcoded" else pcmu
        targets = self._targets()
        lines = [f"{to} {pcmu}" for to in targets[:self.count]]
        lines += [f"{to} {of_callee}" for to in targets[self.count:]]
        if dump:
            lines[self.count] += f" {dump}"
        self.lines.begin(lines)

    def mark(self):
        """What has come since the last one; a call in which one party hears
        nothing is lost."""
        row = self.lines.mark()
        silent = row.pop("silent_lines")
        del row["calls"]
        return {"calls_lost": len({n % self.count for n in silent}), **row}

    def end(self):
        """Until all BYEs were answered; how many were."""
        self.caller.process.wait()
        self.lines.stop()
        return len({call_id(t) for t in self.caller.messages("received")
                    if t.startswith("SIP/2.0 200") and
                    re.search(r"^CSeq: \d+ BYE", t, re.M)})

    def ids(self):
        return {call_id(t) for t in self.caller.messages("sent")}

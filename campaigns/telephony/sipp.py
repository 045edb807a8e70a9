# SPDX-License-Identifier: Apache-2.0
"""SIPp as a caller and as who is called, by scenarios that the tests put
together from messages."""
import re
import subprocess
import time

from loopback import HOST, PATIENCE, free_port, has_port

EMPTY = "Content-Length: 0\n\n"
SDP = """Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 {version} IN IP4 [media_ip]
s=-
c=IN IP4 [media_ip]
t=0 0
"""
AMR = ("96", ("rtpmap:96 AMR/8000", "fmtp:96 octet-align=1;mode-set=7"))
PCMA = ("8", ("rtpmap:8 PCMA/8000",))
PCMU = ("0", ("rtpmap:0 PCMU/8000",))
OWN_PORT = "[rtpstream_audio_port]"  # where SIPp sends from by rtp_stream


def media(port, codec, *more, kind="audio"):
    """A media line, and what belongs to it."""
    pt, attributes = codec
    return (f"m={kind} {port} RTP/AVP {pt}\n" +
            "".join(f"a={a}\n" for a in (*attributes, *more)))


def sdp(*lines, version=1):
    """A body of media lines."""
    return SDP.format(version=version) + "".join(lines)


def sent(text, more=""):
    return f"<send{more}><![CDATA[\n{text}]]></send>"


def _message(first, lines, body):
    return "\n".join((first, *lines, "Max-Forwards: 70")) + "\n" + body


def _via(method, cseq):
    return ("Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]",
            "Call-ID: [call_id]", f"CSeq: {cseq} {method}",
            "Contact: <sip:[local_ip]:[local_port]>")


class Caller:
    """Messages of the one that calls; @callee: a URI."""

    def __init__(self, callee):
        self.callee = callee

    def _sent(self, method, cseq, body, uri, to, routes=""):
        lines = [*_via(method, cseq), "From: <sip:caller@[local_ip]:"
                 "[local_port]>;tag=[pid]a[call_number]", to]
        if routes:
            lines.append(routes)
        retried = ' retrans="500"' if method != "ACK" else ""
        return sent(_message(f"{method} {uri} SIP/2.0", lines, body), retried)

    def invite(self, body):
        return self._sent("INVITE", 1, body, self.callee,
                          f"To: <{self.callee}>")

    def cancel(self, back):
        """Of the INVITE, which is so many steps before."""
        text = self._sent("CANCEL", 1, EMPTY, self.callee,
                          f"To: <{self.callee}>")
        return text.replace("[branch]", f"[branch-{back}]")

    def refused(self, back):
        """ACK of a final reply that is no success."""
        text = self._sent("ACK", 1, EMPTY, self.callee,
                          f"To: <{self.callee}>[peer_tag_param]")
        return text.replace("[branch]", f"[branch-{back}]")

    def within(self, method, cseq, body=EMPTY):
        """A request of the dialogue."""
        return self._sent(method, cseq, body, "[next_url]",
                          f"To: <{self.callee}>[peer_tag_param]", "[routes]")


TAG = ";tag=[pid]b[call_number]"


def asked(method, more=""):
    """Who is called gets a request, and keeps from whom."""
    return (f'<recv request="{method}" rrs="true"{more}><action>'
            '<ereg regexp=".*" search_in="hdr" header="From:" '
            'assign_to="from"/><ereg regexp=".*" search_in="hdr" '
            'header="To:" assign_to="to"/></action></recv>')


def replied(status, body=EMPTY, first=False, again=False):
    """A reply to the last request; @first: with a tag of its own; @again: until
    it is acknowledged."""
    return sent(f"SIP/2.0 {status}\n[last_Via:]\n[last_Record-Route:]\n"
                f"[last_From:]\n[last_To:]{TAG if first else ''}\n"
                "[last_Call-ID:]\n[last_CSeq:]\n"
                "Contact: <sip:[local_ip]:[local_port]>\n" + body,
                ' retrans="500"' if again else "")


def cancelled():
    """The last reply to the INVITE whose CANCEL has just come."""
    return sent(_message("SIP/2.0 487 Request Terminated", (
        "[last_Via:]", "From:[$from]", f"To:[$to]{TAG}", "Call-ID: [call_id]",
        "CSeq: 1 INVITE"), EMPTY), ' retrans="500"')


def turned(method, cseq, body=EMPTY):
    """A request of who was called, in the dialogue."""
    return sent(_message(
        f"{method} [next_url] SIP/2.0",
        (*_via(method, cseq), f"From:[$to]{TAG}", "To:[$from]", "[routes]"),
        body), "" if method == "ACK" else ' retrans="500"')


def got(status, **more):
    """A reply comes."""
    words = "".join(f' {k}="{v}"' for k, v in more.items())
    return f'<recv response="{status}"{words}/>'


def maybe(*statuses):
    return "".join(got(s, optional="true") for s in statuses)


def taken(method, optional=False):
    """@optional: what comes next may overtake it."""
    return (f'<recv request="{method}"' +
            ' optional="true"' * optional + "/>")


def plays(path, pt, name):
    """Once, as RTP of 20 ms. A file of octets as they are sent."""
    return (f'<nop><action><exec rtp_stream="{path},1,{pt},{name}/8000"/>'
            "</action></nop>")


def pause(ms):
    return f'<pause milliseconds="{ms}"/>'


KEPT = '<Reference variables="from,to"/>'  # or SIPp wants them to be used


def write(path, steps):
    text = "\n".join(steps)
    path.write_text('<?xml version="1.0" encoding="ISO-8859-1" ?>\n'
                    f'<scenario name="call">{text}'
                    f'{KEPT if "assign_to" in text else ""}</scenario>\n')
    return path


# a machine may be too busy to answer in the 15 s of SIPp's own bounds
FOR_EVER = [word for what in ("", "invite_", "non_invite_")
            for word in (f"-max_{what}retrans", "1000")]


class Sipp:
    """One that runs a scenario of @steps for @calls calls, at .port of @host;
    with @to it begins, at @rate calls a second."""

    def __init__(self, folder, name, steps, calls=1, to=None, rate=10,
                 words=(), port=None, host=HOST):
        self.port, self.name, self.folder = port or free_port(), name, folder
        self.host = host
        path = write(folder / f"{name}.xml", steps)
        where = [f"{host}:{to}", "-r", str(rate)] if to else []
        self.process = subprocess.Popen(
            ["sipp", "-sf", path, "-i", host, "-mi", host, "-p",
             str(self.port), "-m", str(calls), "-nostdin", "-timeout",
             f"{PATIENCE}s", "-timeout_error", *FOR_EVER,
             "-trace_err", "-error_file",
             self._file("errors"), "-trace_msg", "-message_file",
             self._file("messages"), *words, *where],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=folder)
        if not to:
            self._listens()

    def _listens(self):
        """Until it has its port."""
        deadline = time.monotonic() + PATIENCE
        while not has_port(self.host, self.port):
            if self.process.poll() is not None:
                self.over()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _file(self, what):
        return self.folder / f"{self.name}.{what}"

    def messages(self, way):
        """The texts that it has "sent" or "received", each once."""
        path = self._file("messages")
        parts = re.split(r"^-{20,}.*$", path.read_text(errors="replace"),
                         flags=re.M)
        texts = (part.split("\n\n", 1)[1] for part in parts
                 if f"message {way}" in part[:60])
        return list(dict.fromkeys(texts))

    def media(self, way):
        """The ports of the audio in these messages, each once."""
        found = {int(port) for text in self.messages(way)
                 for port in re.findall(r"^m=audio (\d+)", text, re.M)}
        return sorted(found - {0})

    def got_of(self, what):
        """What came in its first call: requests of this method, or replies to
        an INVITE of this status."""
        texts = self.messages("received")
        call = re.search(r"^Call-ID:.*$", texts[0], re.M | re.I)[0]
        return [t for t in texts if call in t and what in t.split("\n")[0] and
                (not what.isdigit() or re.search(r"^CSeq: \d+ INVITE", t,
                                                 re.M))]

    def over(self):
        """When all its calls have ended: did all go as the scenario has it?"""
        code = self.process.wait(timeout=PATIENCE)
        errors = self._file("errors")
        why = errors.read_text(errors="replace") if errors.exists() else ""
        assert code == 0, f"{self.name}: {code} {why[-3000:]}"

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

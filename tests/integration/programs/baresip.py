# SPDX-License-Identifier: Apache-2.0
"""baresip without a sound card: an agent that says a file, writes what it hears
to a file and takes orders by TCP. It calls SIPp, which answers with the port of
an endpoint, as a proxy would."""
import json
import pathlib
import re
import socket
import subprocess
import time

from conftest import PATIENCE, own_host
from loopback import has_port

MODULES = pathlib.Path("/usr/lib/baresip/modules")

# codec: (payload type, rtpmap of RFC 3551 or 7587, what baresip calls it)
CODECS = {
    "pcmu": (0, "PCMU/8000", "PCMU/8000/1"),
    "pcma": (8, "PCMA/8000", "PCMA/8000/1"),
    "gsm": (3, "GSM/8000", "GSM/8000/1"),
    "g722": (9, "G722/8000", "G722/16000/1"),
    "opus": (96, "opus/48000/2", "opus/48000/2"),
}
EVENT_PT = 101  # as baresip offers it

CONFIG = """poll_method epoll
sip_listen {host}:{sip}
net_interface {host}
audio_player aubridge,nobody
audio_alert aubridge,nobody
audio_source aufile,{speech}
ausrc_srate 8000
ausrc_channels 1
audio_buffer 20-160
audio_level no
jitter_buffer_delay 0-1
rtcp_mux no
module_path {modules}
module g711.so
module g722.so
module gsm.so
module opus.so
module sndfile.so
module aufile.so
module aubridge.so
module_tmp account.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen {host}:{control}
snd_path {heard}
opus_bitrate 24000
"""

UAS = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="endpoint">
<recv request="INVITE"/>
{first}
<recv request="ACK"/>
<label id="1"/>
<recv request="INVITE" optional="true" next="2"/>
<recv request="BYE" next="3"/>
<label id="2"/>
{again}
<recv request="ACK" next="1"/>
<label id="3"/>
{end}
</scenario>
"""
OK = """<send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]{tag}
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port]>
{body}]]></send>"""
SDP = """Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio {port} RTP/AVP {pt} 101
a=rtpmap:{pt} {rtpmap}
a=rtpmap:101 telephone-event/8000
a=ptime:20
"""
EMPTY = "Content-Length: 0\n\n"


def listens(host, port):
    """Wait until somebody has this UDP port."""
    deadline = time.monotonic() + PATIENCE
    while not has_port(host, port):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Agent:
    """A baresip of its own in @folder that says @speech, and the SIPp that it
    calls, whose answers name an endpoint's @port. @index: of the agents of a test,
    which share an address."""

    def __init__(self, folder, index, codec, speech, port):
        self.folder, self.host, self.index = folder, own_host(), index
        self.codec = codec
        (folder / "heard").mkdir(parents=True)
        self._configure(speech)
        self._answer(port)
        self.process = self.control = None
        self.begin()

    def _configure(self, speech):
        (self.folder / "config").write_text(CONFIG.format(
            host=self.host, sip=self._port("sip"), speech=speech,
            control=self._port("control"), heard=self.folder / "heard",
            modules=MODULES))
        (self.folder / "accounts").write_text(
            f"<sip:agent@{self.host}>;regint=0;"
            f"audio_codecs={CODECS[self.codec][2]}\n")
        (self.folder / "contacts").write_text("")

    def _port(self, use):
        # baresip takes the port behind sip, too
        return 5060 + 10 * self.index + {"sipp": 0, "sip": 2, "control": 4}[use]

    def _answer(self, port):
        pt, rtpmap, _ = CODECS[self.codec]
        sdp = SDP.format(port=port, pt=pt, rtpmap=rtpmap)
        path = self.folder / "endpoint.xml"
        path.write_text(UAS.format(
            first=OK.format(tag=";tag=[call_number]", body=sdp),
            again=OK.format(tag="", body=sdp),
            end=OK.format(tag="", body=EMPTY)))
        self.messages = self.folder / "messages.log"
        self.sipp = subprocess.Popen(
            ["sipp", "-sf", path, "-i", self.host, "-p",
             str(self._port("sipp")), "-nostdin", "-trace_msg",
             "-message_file", self.messages], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        listens(self.host, self._port("sipp"))

    def begin(self):
        """Start baresip."""
        self.process = subprocess.Popen(
            ["baresip", "-f", self.folder], stdin=subprocess.PIPE,
            stdout=open(self.folder / "baresip.log", "a"),
            stderr=subprocess.STDOUT)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.control = socket.create_connection(
                    (self.host, self._port("control")), timeout=PATIENCE)
                break
            except ConnectionRefusedError:
                assert self.process.poll() is None, self.log()
                assert time.monotonic() < deadline
                time.sleep(0.02)
        self.said, self.events = b"", []

    def log(self):
        return (self.folder / "baresip.log").read_text(errors="replace")

    def _hear(self):
        """The next message: a netstring of JSON."""
        while not (m := re.match(rb"(\d+):", self.said)) or len(
                self.said) <= m.end() + int(m[1]):
            data = self.control.recv(65536)
            assert data, self.log()
            self.said += data
        end = m.end() + int(m[1])
        message, self.said = self.said[m.end():end], self.said[end + 1:]
        return json.loads(message)

    def wait(self, event):
        """Until it has said so."""
        while event not in [e["type"] for e in self.events]:
            self._next()
        self.last = {"type": None}  # event
        while self.last["type"] != event:
            self.last = self.events.pop(0)

    def press(self, keys):
        """Telephone events, one after the other."""
        self.order("sndcode", keys)

    def digits(self, count):
        """So many keys that the other has pressed; each must have ended."""
        keys = ""
        while len(keys) < count:
            self.wait("CALL_DTMF_START")
            keys += self.last["param"]
            self.wait("CALL_DTMF_END")
        return keys

    def _next(self):
        """Put an event aside; a reply, if that came."""
        message = self._hear()
        if "response" in message:
            return message
        self.events.append(message)
        return None

    def _ask(self, command, params=""):
        message = json.dumps({"command": command, "params": params}).encode()
        self.control.sendall(b"%d:%s," % (len(message), message))
        while not (reply := self._next()):
            pass
        return reply

    def order(self, command, params=""):
        reply = self._ask(command, params)
        assert reply["ok"], reply

    def dial(self):
        """Call SIPp; the address at which this agent wants to be sent to."""
        self.order("dial", f"sip:endpoint@{self.host}:{self._port('sipp')}")
        self.wait("CALL_ESTABLISHED")
        self.call = self.last["id"]
        return self.offers()[-1]

    def offer(self, command):
        """Change the call by an offer of its own (hold, resume), until it is
        answered. baresip 1.1.0 resumes, and says that it cannot."""
        self.events.clear()
        self._ask(command, self.call)
        self.wait("CALL_REMOTE_SDP")

    def offers(self):
        """Where each offer of this agent wants speech to be sent."""
        found = re.findall(rf"c=IN IP4 {re.escape(self.host)}\s[^-]*?"
                           r"m=audio (\d+)", self.messages.read_text())
        return [f"{self.host}:{port}" for port in found]

    def hangup(self):
        self.order("hangup")
        self.order("quit")
        assert self.process.wait(timeout=PATIENCE) == 0, self.log()
        self.control.close()

    def heard(self):
        """The files that it has written, one for each call."""
        return sorted(self.folder.glob("heard/*-dec.wav"))

    def kill(self):
        """As when the power fails."""
        self.process.kill()
        self.process.wait()
        self.control.close()

    def end(self):
        """Nothing is left of it."""
        for process in self.process, self.sipp:
            if process.poll() is None:
                process.kill()
            process.wait()

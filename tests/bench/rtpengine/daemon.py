# SPDX-License-Identifier: Apache-2.0
"""rtpengine as a process, and its control: bencoded dictionaries over UDP."""
import socket
import subprocess
import time

from common.machine import HOST, cpus, fail, free_port, pin

# RTP and RTCP towards either side of a call.
PORTS_A_CALL = 4


def bencode(x):
    if isinstance(x, dict):
        return b"d%se" % b"".join(bencode(k) + bencode(x[k])
                                  for k in sorted(x))
    if isinstance(x, list):
        return b"l%se" % b"".join(map(bencode, x))
    x = x.encode()
    return b"%d:%s" % (len(x), x)


def bdecode(data, at=0):
    """The value at @at, and where the next one is."""
    kind = data[at:at + 1]
    if kind == b"i":
        end = data.index(b"e", at)
        return int(data[at + 1:end]), end + 1
    if kind not in b"ld":
        colon = data.index(b":", at)
        end = colon + 1 + int(data[at:colon])
        return data[colon + 1:end].decode(), end
    items, at = [], at + 1
    while data[at:at + 1] != b"e":
        item, at = bdecode(data, at)
        items.append(item)
    if kind == b"d":
        items = dict(zip(items[::2], items[1::2]))
    return items, at + 1


def sdp(port, payload_type, codec, fmtp=""):
    lines = ["v=0", f"o=- 1 1 IN IP4 {HOST}", "s=-", f"c=IN IP4 {HOST}",
             "t=0 0", f"m=audio {port} RTP/AVP {payload_type}",
             f"a=rtpmap:{payload_type} {codec}/8000"]
    if fmtp:
        lines.append(f"a=fmtp:{payload_type} {fmtp}")
    return "\r\n".join(lines) + "\r\n"


def media_line(text):
    """Port and first payload type of an SDP."""
    for line in text.splitlines():
        if line.startswith("m=audio "):
            words = line.split()
            return int(words[1]), int(words[3])
    return fail(f"no audio in the proxy's answer: {text}")


class Proxy:
    """rtpengine, all of it on one core."""

    def __init__(self, args, folder, calls):
        self.log = open(folder / "proxy.log", "w+")
        low, high = self.ports(calls)
        ng = free_port()
        self.process = subprocess.Popen(
            [args.rtpengine, "--foreground", "--log-stderr", "--log-level=4",
             "--config-file=none", "--table=-1", f"--interface={HOST}",
             f"--listen-ng={HOST}:{ng}", f"--port-min={low}",
             f"--port-max={high}", f"--num-threads={args.threads}",
             "--delete-delay=0"],
            stdout=self.log, stderr=self.log, preexec_fn=pin(cpus()[1]))
        self.ng = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ng.connect((HOST, ng))
        self.ng.settimeout(0.2)
        self.cookie = 0
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self.process.pid

    @staticmethod
    def ports(calls):
        """Room for @calls below the ports that the system gives out; the proxy
        passes over those in use."""
        with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
            ephemeral = int(f.read().split()[0])
        low = ephemeral - PORTS_A_CALL * calls - 2000
        if low < 1024:
            fail(f"{calls} calls need more ports than there are")
        return low, ephemeral - 1

    def wait(self):
        for _ in range(100):
            try:
                self.command(command="ping")
                return
            except (ConnectionError, TimeoutError):
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        self.log.seek(0)
        fail(f"rtpengine did not start: {self.log.read()}")

    def command(self, **keys):
        self.cookie += 1
        cookie = b"%d " % self.cookie
        keys = {k.replace("_", "-"): v for k, v in keys.items()}
        self.ng.send(cookie + bencode(keys))
        reply = b""
        while not reply.startswith(cookie):
            reply = self.ng.recv(65536)
        reply, _ = bdecode(reply[len(cookie):])
        if reply.get("result") not in ("ok", "pong"):
            fail(f"rtpengine refuses {keys['command']}: {reply}")
        return reply

    def call(self, index, send_port, receive_port):
        """Set a call up; where to send its PCMU, and where AMR comes from."""
        fmtp = "octet-align=1;mode-set=7"
        self.ng.settimeout(5)
        offer = self.command(
            command="offer", call_id=f"call-{index}", from_tag="a",
            sdp=sdp(send_port, 0, "PCMU"), ICE="remove",
            codec={"mask": ["PCMU"],
                   "transcode": [f"AMR/8000/1/12200//{fmtp}"]})
        source, payload_type = media_line(offer["sdp"])
        if "octet-align=1" not in offer["sdp"]:
            fail(f"rtpengine offers other AMR: {offer['sdp']}")
        answer = self.command(
            command="answer", call_id=f"call-{index}", from_tag="a",
            to_tag="b", ICE="remove",
            sdp=sdp(receive_port, payload_type, "AMR", fmtp))
        return media_line(answer["sdp"])[0], source

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.ng.close()
        self.log.close()

# SPDX-License-Identifier: Apache-2.0
"""What phones say: payloads of every codec, made by a node that nobody
attacks, and G.711's two laws."""
import math
import socket
import struct

from node import HOST, PATIENCE

FRAMES = 25  # packets of each codec
# input that an encoder is fed: all of them take 16-bit samples at these rates
WIDE = {"amr-wb": 16000, "g722": 16000}


def law_mu(octet):
    """The sample of an octet of G.711 mu-law (16 bits)."""
    octet = ~octet & 0xff
    value = (((octet & 0x0f) << 3) + 0x84) << (octet >> 4 & 7)
    return 0x84 - value if octet & 0x80 else value - 0x84


def law_a(octet):
    """The sample of an octet of G.711 A-law (16 bits)."""
    octet ^= 0x55
    value = (octet & 0x0f) << 4
    if (part := octet >> 4 & 7):
        value = value + 0x108 << part - 1
    else:
        value += 8
    return value if octet & 0x80 else -value


def speech(rate, number, ms=20):
    """A packet of L16: a voice-like tone that moves."""
    n = rate * ms // 1000
    return struct.pack(f"!{n}h", *(
        int(6000 * math.sin(0.02 * (number * n + i)) * math.sin(
            2.1 * math.sin(0.0007 * (number * n + i)))) for i in range(n)))


def octet_aligned(codec):
    return {"octet_align": True} if codec.startswith("amr") else {}


def packet(pt, seq, ts, ssrc, payload):
    return struct.pack("!BBHII", 0x80, pt, seq & 0xffff, ts & 0xffffffff,
                       ssrc) + payload


def recorded(node):
    """{codec: [payload]} of all that this node encodes and decodes; its name
    is a tuple with the rate for L16."""
    made = {}
    for codec in node.ask("codecs")["codecs"]:
        name = codec["name"]
        if not (codec["encodes"] and codec["decodes"]) or name == "spin":
            continue
        made[name] = record(node, codec)
    return made


def record(node, codec):
    name, rate = codec["name"], WIDE.get(codec["name"], 8000)
    ms = int(codec["frame_ms"]) if codec["frame_ms"] >= 20 else 20
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((HOST, 0))
        s.settimeout(PATIENCE)
        call = node.ask("call.start", **{
            "in": {"codec": "l16", "rate": rate, "pt": 97},
            "ptime_ms": ms, "out": {"codec": name, "address": "%s:%d" %
                                    s.getsockname(), **octet_aligned(name)}})
        host, port = call["rtp"]["address"].rsplit(":", 1)
        heard = []
        for n in range(FRAMES):
            s.sendto(packet(97, n, n * rate * ms // 1000, call["rtp"]["ssrc"],
                            speech(rate, n, ms)), (host, int(port)))
            heard.append(s.recv(4096)[12:])
        node.ask("call.stop", call=call["call"])
    return {"payloads": heard, "ms": ms, "clock": call["out"]["clock"]}

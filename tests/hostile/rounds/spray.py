# SPDX-License-Identifier: Apache-2.0
"""A sprayer of mutated RTP and RTCP: from foreign addresses and from the calls'
own, to shared ports and own ones, of every codec."""
import socket
import time
from dataclasses import dataclass

import accounts
import mutants
from good import name, target, udp
from node import HOST
from payloads import octet_aligned, packet

EVENTS, NOISE = 101, 13
FOREIGN = ("127.0.0.2", "127.9.8.7", "127.255.255.254")
BATCH = 200  # datagrams until the node is asked how far it is


@dataclass
class Victim:
    """Somewhere to send to, and as whom."""
    sock: socket.socket
    to: tuple
    rtcp: tuple
    pt: int
    ssrc: int
    step: int
    payloads: list
    seq: int = 0

    def rtp(self, rng):
        """The next packet that would be good."""
        self.seq += 1
        if rng.random() < 0.1:
            return packet(rng.choice((EVENTS, NOISE)), self.seq,
                          self.seq * self.step, self.ssrc, mutants.event(rng))
        return packet(self.pt, self.seq, self.seq * self.step, self.ssrc,
                      rng.choice(self.payloads))


def started(node, recorded):
    """A call of every codec at the shared port and one at its own, and a
    call for each with all that parties may have."""
    victims, calls = [], []
    for codec, of in recorded.items():
        for port in ("shared", "own", "talk"):
            sock = udp()
            victims.append((talk if port == "talk" else call)(
                node, codec, of, port, sock, calls))
    return victims, calls


def call(node, codec, of, port, sock, calls):
    more = {"events": EVENTS, "noise": NOISE} if port == "own" else {}
    told = node.ask("call.start", **{
        "in": {"codec": codec, **octet_aligned(codec), **more},
        "out": {"codec": "pcma", "address": name(sock), **more},
        "ptime_ms": of["ms"], "port": port,
        **({"rtcp": "mux"} if more else {})})
    calls.append(("call.stop", {"call": told["call"]}))
    rtp = told["rtp"]
    return Victim(sock, target(rtp["address"]), target(rtp["address"]),
                  rtp["pt"], rtp["ssrc"] or 4711,
                  told["out"]["in_clock"] * of["ms"] // 1000, of["payloads"])


def talk(node, codec, of, _, sock, calls):
    """RTCP on the port above, a jitter buffer, several codecs, silence filled."""
    party = {"codec": codec, **octet_aligned(codec), "pt": 111,
             "events": EVENTS, "noise": NOISE, "jitter": "adaptive",
             "rtcp": "port", "address": name(sock), "fill": "always"}
    if codec not in ("pcmu", "pcma"):
        party["also"] = [{"codec": "pcmu"}, {"codec": "pcma"}]
    told = node.ask("call.start", a=party, relay="never", b={
        "codec": "pcma", "address": name(sock), "events": EVENTS, "rtcp": "mux"})
    calls.append(("call.stop", {"call": told["call"]}))
    host, port = target(told["a"]["rtp"])
    return Victim(sock, (host, port), (host, port + 1), 111, 4711,
                  of["clock"] * of["ms"] // 1000, of["payloads"])


class Sprayer:
    """Sends for all @victims, and from elsewhere to @good's calls."""

    def __init__(self, scene, victims):
        self.scene, self.rng, self.victims = scene, scene.rng, victims
        self.foreign = []
        for host in (HOST, *FOREIGN):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((host, 0))
            self.foreign.append(sock)
        self.targets = victims + [
            Victim(None, of.to, of.to, of.pt, of.ssrc, of.step, of.payloads)
            for of in scene.good.calls]
        self.sent = {"rtp": 0, "rtcp": 0, "foreign": 0}

    def one(self):
        rng, to = self.rng, self.rng.choice(self.targets)
        own = to.sock and rng.random() < 0.7
        sock = to.sock if own else rng.choice(self.foreign)
        if rng.random() < 0.75:
            what, where, data = "rtp", to.to, mutants.mutated(rng, to.rtp(rng))
        else:
            what, data = "rtcp", mutants.mutated(rng, mutants.rtcp(
                rng, to.ssrc, rng.getrandbits(32)))
            where = rng.choice((to.rtcp, to.rtcp, to.to))
        sock.sendto(data, where)
        self.sent[what] += 1
        self.sent["foreign"] += not own
        self.scene.sent += 1

    def hear(self):
        """What victims are sent goes nowhere."""
        for victim in self.victims:
            try:
                while victim.sock.recv(4096, socket.MSG_DONTWAIT):
                    pass
            except BlockingIOError:
                pass

    def close(self):
        for sock in self.foreign + [v.sock for v in self.victims]:
            sock.close()


def attack(scene):
    """Half of the time no faster than the node reads, so that all is looked at;
    the other half as fast as it goes."""
    victims, calls = started(scene.node, scene.recorded)
    sprayer = Sprayer(scene, victims)
    begin = time.monotonic()
    try:
        while (spent := time.monotonic() - begin) < scene.seconds:
            for _ in range(BATCH):
                sprayer.one()
            sprayer.hear()
            if spent < scene.seconds / 2:
                accounts.settle_to(scene.node, scene.sent)
    finally:
        for method, params in calls:
            scene.node.reply(method, **params)
        sprayer.close()
    return sprayer.sent

# SPDX-License-Identifier: Apache-2.0
"""Twenty good calls, which a process of its own plays beside every attack: what
they send, what they hear, and what the node says of it, have to agree to the
packet."""
import contextlib
import multiprocessing
import selectors
import socket
import struct
import time
from dataclasses import dataclass, field

from node import HOST, PATIENCE, Control, Wrong, wait_for
from payloads import law_a, law_mu, octet_aligned, packet

CALLS = 20
BUFFER = 4 << 20
SO_RCVBUFFORCE = 33
TICK = 0.02
# (what it says, what it is sent, port); two parties of a relay have two calls
PLAN = [("pcmu", "pcma", "shared")] * 4 + [("pcmu", "pcma", "own")] * 4 + [
    ("pcma", "amr", "own"), ("amr", "pcmu", "own"), ("amr-wb", "pcma", "own"),
    ("pcmu", "amr-wb", "shared"), ("g722", "pcmu", "shared"),
    ("gsm", "pcma", "shared"), ("pcma", "gsm", "own"), ("opus", "pcmu", "own"),
    ("pcmu", "speex", "own"), ("pcma", "pcmu", "own"), "relay", None]
LAWS = {"pcmu": law_mu, "pcma": law_a}
# where a packet is counted that was the call's own and became no frame
NAMED = ("duplicates", "reordered", "seq_jumps", "late_in", "overflowed",
         "too_big")
MADE_UP = ("overwritten", "expired", "shed", "concealed", "malformed",
           "cancelled")


@dataclass
class Call:
    """One direction: @sock sends to @to, and @hears is where it comes out."""
    call: int
    said: str
    heard: str
    port: str
    sock: socket.socket
    hears: socket.socket
    to: tuple
    pt: int
    ssrc: int
    step: int
    payloads: list
    base: int = 0  # timestamp of what comes out for the first packet
    clock: int = 1  # ticks out for a packet
    sent: int = 0
    got: int = 0
    gaps: int = 0
    last: int = None
    faults: list = field(default_factory=list)

    def payload(self, n):
        return self.payloads[n % len(self.payloads)]

    def send(self):
        self.sock.sendto(packet(self.pt, self.sent, self.sent * self.step,
                                self.ssrc, self.payload(self.sent)), self.to)
        self.sent += 1

    def hear(self, data):
        """Numbers rise, and the content is that of its packet."""
        _, pt, seq, ts, _ = struct.unpack("!BBHII", data[:12])
        gap = seq - (seq - 1 if self.last is None else self.last) - 1 & 0xffff
        if gap < 0x8000:
            self.gaps += gap
        else:
            self.faults.append(f"number {self.last}, then {seq}")
        self.last = seq
        self.got += 1
        n, rest = divmod(ts - self.base & 0xffffffff, self.clock)
        if rest or n >= self.sent:
            self.faults.append(f"timestamp {ts} from {self.base}")
        elif not self.matches(data[12:], n):
            self.faults.append(f"packet {n} came out as {data[12:20].hex()}")

    def matches(self, out, n):
        said = self.payload(n)
        if self.port == "relay":
            return out == said
        if self.said in LAWS and self.heard in LAWS:
            # a law has 8 bits, of which the other may take another step
            a, b = LAWS[self.said](said[0]), LAWS[self.heard](out[0])
            return (out == out[:1] * len(said) and
                    abs(a - b) <= max(16, abs(a) // 16))
        return len(out) > 0


class Phone(socket.socket):
    """With the port above it, where RTCP is sent: that might be one of the
    node's own otherwise, and be counted there."""
    above = None

    def take_above(self):
        self.above = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.above.bind((HOST, self.getsockname()[1] + 1))

    def close(self):
        if self.above:
            self.above.close()
        super().close()


def udp():
    while True:
        s = phone()
        try:
            s.take_above()
            return s
        except (OSError, OverflowError):
            s.close()  # somebody has it, or there is none


def phone():
    s = Phone(socket.AF_INET, socket.SOCK_DGRAM)
    # as much as there may be while this machine is busy elsewhere
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    with contextlib.suppress(PermissionError):  # CAP_NET_ADMIN
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    s.bind((HOST, 0))
    return s


def name(sock):
    return "%s:%d" % sock.getsockname()


def target(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


class Good:
    """The calls, and the process that plays them."""

    def __init__(self, node, recorded):
        self.node, self.recorded = node, recorded
        self.calls = []
        for plan in PLAN:
            if plan == "relay":
                self.relay()
            elif plan:
                self.transcoded(*plan)
        self.pipe, inside = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=play, args=(self.calls, inside, self.pipe), daemon=True)
        self.process.start()
        inside.close()

    def said(self, codec):
        """(terms, payloads, ms) of what a phone says."""
        if codec in LAWS:
            return {"codec": codec}, [bytes([i]) * 160 for i in range(256)], 20
        of = self.recorded[codec]
        return ({"codec": codec, **octet_aligned(codec)}, of["payloads"],
                of["ms"])

    def transcoded(self, said, heard, port):
        sock = udp()
        terms, payloads, ms = self.said(said)
        call = self.node.ask("call.start", **{
            "in": {**terms, "source": name(sock), "ts_first": 0},
            "out": {"codec": heard, "address": name(sock),
                    **octet_aligned(heard)},
            "ptime_ms": ms, "port": port, "keep": True,
            "ssrc": 1000 + len(self.calls)})
        out, rtp = call["out"], call["rtp"]
        self.calls.append(Call(
            call["call"], said, heard, port, sock, sock,
            target(rtp["address"]), rtp["pt"], rtp["ssrc"],
            out["in_clock"] * ms // 1000, payloads, out["ts_base"],
            out["clock"] * ms // 1000))

    def relay(self):
        a, b = udp(), udp()
        party = {"codec": "pcmu", "learn": "strict"}
        talk = self.node.ask("call.start", keep=True,
                             a={**party, "address": name(a)},
                             b={**party, "address": name(b)})
        if not talk["relay"]:
            raise Wrong("no relay")
        for i, (one, sock, other) in enumerate((("a", a, b), ("b", b, a))):
            self.calls.append(Call(
                talk[one]["stream"], "pcmu", "pcmu", "relay", sock, other,
                target(talk[one]["rtp"]), 0, 2000 + i, 160,
                self.said("pcmu")[1], 0, 160))

    def tell(self, word):
        self.pipe.send(word)
        if not self.pipe.poll(PATIENCE):
            raise Wrong(f"the good calls do not answer to {word}")
        return self.pipe.recv()

    def sent(self):
        """Packets of all of them so far."""
        return sum(told[0] for told in self.tell("counts"))

    def flow(self, rounds=3):
        """Each hears so many packets more: they live."""
        before = [told[1] for told in self.tell("counts")]
        wait_for("good calls go on", lambda: all(
            now[1] >= got + rounds
            for now, got in zip(self.tell("counts"), before)))

    def count(self, of):
        return self.node.ask("stream.query", stream=of.call)["count"]

    def end(self):
        """Send no more, hear the last, and compare. {what: how many}"""
        told = self.tell("pause")
        lost = missed = 0
        for of, (of.sent, *_) in zip(self.calls, told):
            pass
        counts = [self.finished(of) for of in self.calls]

        def all_heard():
            now = self.tell("counts")
            return now if all(t[1] >= c["packets_out"] for t, c in
                              zip(now, counts)) else None

        for of, c, (sent, got, gaps, faults) in zip(
                self.calls, counts,
                wait_for("all that left is heard", all_heard)):
            if faults or gaps > c["missing"] + c["send_failed"]:
                raise Wrong(f"call {of.call} ({of.said}): {gaps} numbers are "
                            f"missing; {faults[:5]}; {c}")
            if got != c["packets_out"]:
                raise Wrong(f"{got} heard of {c['packets_out']}")
            lost += sent - c["packets_in"]
            missed += sum(c[n] for n in MADE_UP)
        return {"sent": sum(t[0] for t in told), "lost": lost,
                "given up": missed,
                "received": sum(c["packets_out"] for c in counts)}

    def finished(self, of):
        """The call's counts when it has done all that it has been sent."""
        def is_done():
            c = self.count(of)
            gone = sum(c[n] for n in NAMED) + c["packets_in"]
            frames = sum(c[n] for n in MADE_UP + ("done", "relayed"))
            drops = c["port_drops"] if of.port != "shared" else \
                self.node.ask("stats")["rx"]["socket_drops"]
            if of.sent - drops <= gone <= of.sent and \
                    frames == c["packets_in"] + c["synthesized"]:
                return c
            return None

        try:
            c = wait_for(f"call {of.call} has done all", is_done)
        except Wrong as e:
            raise Wrong(f"{e} of {of.sent}: {self.count(of)}") from None
        out = sum(c[n] for n in ("packets_out", "send_failed", "no_destination",
                                 "on_hold", "muted", "excess"))
        if out != c["done"] + c["relayed"] + c["concealed"]:
            raise Wrong(f"call {of.call}: {out} sent of {c['done']}: {c}")
        return c

    def hang_up(self):
        """End the calls: all of the node's that are left are somebody else's."""
        for of in self.calls:
            # the second stream of a call ends with the first
            self.node.reply("call.stop", call=of.call)

    def close(self):
        self.process.kill()
        self.process.join()
        for of in self.calls:
            of.sock.close()


def play(calls, pipe, other):
    """The process: sends for each call every 20 ms, and hears."""
    other.close()
    hears = {of.hears.fileno(): of for of in calls}
    sending, due = True, time.monotonic()
    with selectors.DefaultSelector() as s:
        for of in calls:
            of.hears.setblocking(False)
            s.register(of.hears, selectors.EVENT_READ)
        s.register(pipe, selectors.EVENT_READ)
        while True:
            for key, _ in s.select(max(0, due - time.monotonic())):
                if key.fileobj is not pipe:
                    drain(hears[key.fd])
                    continue
                try:
                    word = pipe.recv()
                except EOFError:
                    return
                sending = sending and word != "pause"
                pipe.send([(of.sent, of.got, of.gaps, of.faults) for of in calls])
            if (now := time.monotonic()) >= due:
                due = now + TICK
                for of in calls if sending else ():
                    of.send()


def drain(of):
    try:
        while True:
            of.hear(of.hears.recv(4096))
    except (BlockingIOError, ConnectionRefusedError):
        pass

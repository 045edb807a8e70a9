# SPDX-License-Identifier: Apache-2.0
"""Calls in real time: A's packets are late, out of order or lost on
their way, B's are not; and what has become of A's, as a trace tells it."""
import random
import selectors
import sys
import time
from dataclasses import dataclass, field

import numpy as np

from conftest import PATIENCE, ROOT
from lossy import Way

sys.path.insert(0, str(ROOT / "src" / "report"))
from codec_report import trace  # noqa: E402


def delays(count, most_ms, seed):
    """ms that each packet is under way. The first two come at once: their
    distance tells a buffer how long a packet is."""
    rng = random.Random(seed)
    return [rng.uniform(0, most_ms) * (n > 1) for n in range(count)]


@dataclass
class Talk:
    """A says @said, but those packets of it that are @lost, each up to @late_ms
    late; B says @answers meanwhile, and A hears @answered."""
    way: Way
    said: list
    lost: set
    late_ms: float
    answers: list
    answered: list = field(default_factory=list)

    def events(self, seed):
        """(ms, what to call then, with which packet)."""
        ms, way = self.way.a[1].ms, self.way
        late = delays(len(self.said), self.late_ms, seed)
        for n, payload in enumerate(self.said):
            if n not in self.lost:
                yield ms * n + late[n], way.send, n, payload
        for n, payload in enumerate(self.answers):
            yield ms * n, way.answer, n, payload

    def is_over(self):
        """Has all that A has sent come out, or been refused, and has B heard
        what came of it? There is a buffer, or all comes in order."""
        c = self.way.count()
        sent = len(self.said) - len(self.lost)
        return (c["packets_in"] + c["late_in"] + c["overflowed"] == sent and
                c["done"] == c["packets_in"] + c["synthesized"] and
                len(self.way.heard) >= c["packets_out"] and
                len(self.answered) == len(self.answers))


def listen(selector, until):
    """Take what comes until then."""
    while True:
        left = until - time.monotonic()
        for key, _ in selector.select(max(0, left)):
            key.data.append(key.fileobj.recv(4096))
        if left <= 0:
            return


def play(talks, seed):
    """All of them, one beginning a little after the other; to their ends."""
    apart = min(talk.way.a[1].ms for talk in talks) / len(talks)
    plan = sorted(((ms + i * apart, i, n, call, payload)
                   for i, talk in enumerate(talks)
                   for ms, call, n, payload in talk.events(f"{seed}-{i}")),
                  key=lambda event: event[:3])
    with selectors.DefaultSelector() as s:
        for talk in talks:
            s.register(talk.way.sock, selectors.EVENT_READ, talk.way.heard)
            s.register(talk.way.phone.sock, selectors.EVENT_READ,
                       talk.answered)
        begin = time.monotonic()
        for ms, _, n, call, payload in plan:
            listen(s, begin + ms / 1000)
            call(n, payload)
        for talk in talks:
            deadline = time.monotonic() + PATIENCE
            while not talk.is_over():
                assert time.monotonic() < deadline, talk.way.count()
                listen(s, time.monotonic() + 0.02)


def fates(path, talk):
    """What became of each packet of A, a character each, as bench-loss takes
    it: played (.), concealed (c), or neither (s)."""
    raw = path.read_bytes()
    head = np.frombuffer(raw, trace.HEADER, 1)[0]
    jobs = np.frombuffer(
        raw[trace.HEADER.itemsize + head["json_bytes"]:], trace.JOB_RECORD)
    mine = jobs[(jobs["kind"] == trace.JOB) &
                (jobs["task"] == talk.way.c["a"]["stream"])]
    fate = ["s"] * len(talk.said)
    frame_bytes = 2 * talk.way.b[1].samples
    for job in mine:
        n = int(job["rtp_ts"]) // talk.way.a[1].step
        if job["bytes_in"]:
            fate[n] = "."
        else:  # one, or several
            many = int(job["bytes_out"]) // frame_bytes
            fate[n:n + many] = "c" * len(fate[n:n + many])
    return "".join(fate)

# SPDX-License-Identifier: Apache-2.0
"""Between a foreign sender and a call, and at the call's other end: what was
said and what was heard, in the order in which it came."""
import contextlib
import os
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass

import pytest

from conftest import PATIENCE
from packets import header
from streams import ahead

SO_TIMESTAMPNS = 35  # of Linux; not in Python's socket
PTIME_NS, STEP_OUT = 20 * 10**6, 160  # of what is heard
BEGIN = 10  # packets
TRIES, ON_TIME_NS = 10, 100 * 10**6
NOT_TAKEN = ("duplicates", "reordered", "seq_jumps", "too_big", "wrong_source",
             "wrong_ssrc", "probation", "wrong_pt", "surplus")


@dataclass(frozen=True)
class Kept:
    at: int  # when the kernel had it, ns
    said: bool
    data: bytes


def taken(count):
    """How many packets the call has had, one way or the other."""
    return count["packets_in"] + sum(count[name] for name in NOT_TAKEN)


def _socket():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind(("127.0.0.1", 0))
    return s


class Middle:
    """The sender's port is .said, the listener's .heard."""

    def __init__(self, d):
        self.d = d
        self.inner, self.ear = _socket(), _socket()
        self.said, self.heard = (s.getsockname()[1]
                                 for s in (self.inner, self.ear))
        self.kept, self.done = [], threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self, *words):
        """A call, by words of the command."""
        c = self.d.ctl("call", "start", "port=own", *words,
                       f"out.address=127.0.0.1:{self.heard}")
        self._begin(c["call"], c["rtp"]["address"], c["out"]["ssrc"])

    def converse(self, *words):
        """A call: A is the sender, B the listener."""
        c = self.d.ctl("call", "start", "a.rtcp=off", "b.rtcp=off",
                       "relay=never", *words,
                       f"b.address=127.0.0.1:{self.heard}")
        self._begin(c["a"]["stream"], c["a"]["rtp"], c["b"]["out_ssrc"])

    def _begin(self, call, to, ssrc):
        self.call, self.ssrc = str(call), ssrc
        host, port = to.rsplit(":", 1)
        self.to = host, int(port)
        self.thread.start()

    def _run(self):
        while not self.done.is_set():
            for s in select.select([self.inner, self.ear], [], [], .05)[0]:
                self._keep(s)

    def _keep(self, s):
        data, beside, _, _ = s.recvmsg(2048, 64)
        seconds, ns = struct.unpack("qq", beside[0][2][:16])
        self.kept.append(Kept(seconds * 10**9 + ns, s is self.inner, data))
        if s is self.inner:
            s.sendto(data, self.to)

    def count(self):
        return self.d.ctl("stream", self.call)["count"]

    def end(self, *senders, beside=0):
        """When the senders have sent all, and @beside packets more to the call
        itself; the counters."""
        for sender in senders:
            assert sender.wait(timeout=PATIENCE) == 0
        deadline = time.monotonic() + PATIENCE
        while taken(self.count()) < len(self.packets(True)) + beside:
            assert time.monotonic() < deadline, self.count()
        count = self.d.ctl("call", "stop", self.call)["streams"][0]["count"]
        while len(self.packets(False)) < count["packets_out"]:
            assert time.monotonic() < deadline
            time.sleep(.01)
        self.done.set()
        self.thread.join()
        self.inner.close()
        self.ear.close()
        self.kept.sort(key=lambda k: k.at)  # of equal ones, as they came
        return count

    def packets(self, said):
        return [k.data for k in self.kept if k.said == said]

    def behind(self, step):
        """At each packet that was said: how far what was heard before it is
        behind it, by the timestamps, in packets. @step: what one adds to the
        timestamp of what is said."""
        first, found = {}, []
        last = 0
        for k in self.kept:
            ts = header(k.data)["ts"]
            at = ahead(first.setdefault(k.said, ts), ts, 32)
            if k.said:
                found.append(at / step - last)
            else:
                last = at / STEP_OUT + 1
        return found

    def late(self, step):
        """How much later than the earliest the latest packet of the sender was,
        ns; but for those with which it begins."""
        said = [(k.at, header(k.data)["ts"]) for k in self.kept if k.said]
        late = [at - ahead(said[0][1], ts, 32) * PTIME_NS // step
                for at, ts in said]
        return max(late[BEGIN:]) - min(late[BEGIN:])


def _schedule(threads, policy, priority):
    """Those of @threads for which it is done: some have ended, and it may not be
    allowed."""
    done = []
    for thread in threads:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.sched_setscheduler(thread, policy, os.sched_param(priority))
            done.append(thread)
    return done


def _threads(pids):
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):  # it has ended
            found += map(int, os.listdir(f"/proc/{pid}/task"))
    return found


@contextlib.contextmanager
def first(*pids):
    """These processes, and what they start meanwhile, have a CPU before all
    others of the machine, as far as that is allowed: what is not in time then
    is not so by their fault."""
    if not _schedule(_threads(pids), os.SCHED_RR, 1):
        yield
        return
    try:
        yield
    finally:
        _schedule(_threads(pids), os.SCHED_OTHER, 0)


def on_time(d, send, *words, step=160):
    """What a call of @words makes of what @send(port) says: a Middle, at its
    end, and the counters. Of several attempts the first in which neither the
    sender nor the node had to wait for a CPU: what is missing then was not
    sent."""
    for _ in range(TRIES):
        with first(d.process.pid, os.getpid()):
            middle = Middle(d)
            middle.start(*words)
            count = middle.end(send(middle.said))
        if max(middle.late(step), count["delay_max_ns"]) < ON_TIME_NS:
            return middle, count
    pytest.fail("this machine is too busy: the sender or the node was late by "
                f"{ON_TIME_NS // 10**6} ms in each of {TRIES} attempts")

# SPDX-License-Identifier: Apache-2.0
"""A SIP proxy's requests of the NG protocol, built beforehand, and their pace."""
import collections
import select
import socket
import statistics
import time

from common.machine import HOST, cpu_ns, fail
from rtpengine.daemon import bdecode, bencode, media_line, sdp

AMR = "AMR/8000/1/12200//mode-set--7;octet-align--1"
# Addresses that it asks from: a host may ask no more than 2000 times a second.
SOURCES = 4
PATIENCE = 5  # seconds for an answer
IDLE = 0.5  # seconds in which nobody asks
# Of the callers, who never speak; not among those that programs take, for a
# call to a port of its own is refused.
PORTS = range(2000, 20000, 2)


def request(kind, call, **keys):
    """As Kamailio says it, without the cookie."""
    keys = {key.replace("_", "-"): value for key, value in keys.items()}
    return bencode({"command": kind, "call-id": f"{call}@bench.invalid",
                    "supports": ["load limit"], "from-tag": f"a{call}",
                    **keys})


def described(kind, call, text, **keys):
    return request(kind, call, sdp=text, ICE="remove",
                   replace=["origin", "session-connection"],
                   received_from=["IP4", HOST], **keys)


def offer(call, index):
    """PCMA, of which the other side gets AMR."""
    return described("offer", call, sdp(PORTS[index % len(PORTS)], 8, "PCMA"),
                     codec={"mask": ["all"], "transcode": [AMR]})


def answer(call, index, payload_type):
    text = sdp(PORTS[-1 - index % len(PORTS)], payload_type, "AMR",
               "mode-set=7;octet-align=1")
    return described("answer", call, text, to_tag=f"b{call}")


def delete(call):
    return request("delete", call)


class Client:
    """Asks the program at NG port @port; at most @window requests wait for their
    answers at a time, as a proxy has so many processes. .errors: how often each
    reason was given. .seconds: those of the answers, by step."""

    def __init__(self, port, window):
        self.window, self.serial = window, 0
        self.poll, self.sockets = select.poll(), []
        for i in range(SOURCES):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((f"127.0.0.{i + 1}", 0))
            s.connect((HOST, port))
            s.setblocking(False)
            self.poll.register(s, select.POLLIN)
            self.sockets.append(s)
        self.by_fd = {s.fileno(): s for s in self.sockets}
        self.errors = collections.Counter()
        self.seconds = collections.defaultdict(list)

    def send(self, call, step, body):
        self.serial += 1
        cookie = b"c%d" % self.serial
        self.pending[cookie] = call, step, time.monotonic()
        self.sockets[call % SOURCES].send(cookie + b" " + body)

    def take(self, s):
        """The answer at @s: its call and the step that comes next, or nothing."""
        cookie, _, reply = s.recv(65536).partition(b" ")
        if cookie not in self.pending:
            return None
        call, step, sent = self.pending.pop(cookie)
        self.seconds[step].append(time.monotonic() - sent)
        if b"6:result2:ok" not in reply:
            told = bdecode(reply)[0]
            self.errors[told.get("error-reason") or told.get("message")
                        or told["result"]] += 1
            return None
        self.last = reply
        return call, step + 1

    def forget(self, now):
        """Requests whose answers do not come."""
        for cookie, (_, _, sent) in list(self.pending.items()):
            if now - sent <= PATIENCE:
                break
            del self.pending[cookie]
            self.errors["no answer"] += 1

    def run(self, chains, rate):
        """Begin @rate of @chains a second. Each is a call's requests; one is sent
        when the one before is answered. How many were answered to the end, and
        the seconds that it took."""
        self.pending = {}
        ready, begun, done = collections.deque(), 0, 0
        start = now = time.monotonic()
        while begun < len(chains) or ready or self.pending:
            while begun < len(chains) and now >= start + begun / rate:
                ready.append((begun, 0))
                begun += 1
            while ready and len(self.pending) < self.window:
                call, step = ready.popleft()
                self.send(call, step, chains[call][step])
            for fd, _ in self.poll.poll(self.pause(start, begun, rate,
                                                   len(chains))):
                following = self.take(self.by_fd[fd])
                if following and following[1] < len(chains[following[0]]):
                    ready.appendleft(following)
                elif following:
                    done += 1
            now = time.monotonic()
            self.forget(now)
        return done, now - start

    @staticmethod
    def pause(start, begun, rate, chains):
        """Milliseconds until there is something to begin."""
        if begun == chains:
            return 100
        return max(0, (start + begun / rate - time.monotonic()) * 1000)

    def alone(self, *chain):
        """The SDP in the last answer to one call's requests."""
        done, _ = self.run([chain], 1)
        if not done:
            fail(f"the first call is refused: {dict(self.errors)}")
        return bdecode(self.last)[0].get("sdp", "")

    def payload_type(self):
        """Of AMR, as the program offers it; a call to the end, so that each is
        known to do what it is measured for."""
        offered = self.alone(offer("first", 0))
        if "AMR/8000" not in offered or "mode-set=7" not in offered:
            fail(f"it offers other than AMR 12.2: {offered}")
        _, payload_type = media_line(offered)
        answered = self.alone(answer("first", 0, payload_type))
        if media_line(answered)[1] != 8:
            fail(f"it answers other than PCMA: {answered}")
        self.alone(delete("first"))
        return payload_type

    def latency(self, step):
        """p50 and p99 of the answers to requests of @step, ms."""
        values = sorted(self.seconds[step])
        if not values:
            return {"p50": None, "p99": None}
        return {"p50": statistics.median(values) * 1000,
                "p99": values[len(values) * 99 // 100] * 1000}

    def close(self):
        for s in self.sockets:
            s.close()


def idle(pid):
    """CPU time of the process in a second, as it is now, ns."""
    cpu, begun = cpu_ns(pid), time.monotonic()
    time.sleep(IDLE)
    return (cpu_ns(pid) - cpu) / (time.monotonic() - begun)


def costed(pid, client, chains, rate):
    """CPU time for each of @chains that was answered, us; and their number a
    second."""
    without = idle(pid)
    cpu = cpu_ns(pid)
    done, seconds = client.run(chains, rate)
    cpu = cpu_ns(pid) - cpu - without * seconds
    if not done:
        fail(f"nothing was answered: {dict(client.errors)}")
    return cpu / done / 1000, done / seconds


def chains_of(client, count):
    """The requests that set @count calls up, and those that delete them."""
    payload_type = client.payload_type()
    client.seconds.clear()
    return ([(offer(i, i), answer(i, i, payload_type)) for i in range(count)],
            [(delete(i),) for i in range(count)])

# SPDX-License-Identifier: Apache-2.0
"""A node that dies with its machine costs frames, not calls: they are copied to
a store, from which another node takes them, at the same ports. The store may be
away, slow, closed or mad: calls do not notice."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE, ROOT, free_port, own_host
from control import Control
from machines import NET, Machine, why_not
from ng_call import Call
from redis_store import SERVER, Ca, RedisStore
from telephony import System
from test_crash import Load, Phone, address, assert_talk
from test_ng_lines import TwoLines
from test_supervise import child, children, until

if not SERVER:
    pytest.skip("neither redis-server nor valkey-server is here",
                allow_module_level=True)


@pytest.fixture
def store(tmp_path):
    running = []

    def start(*words, **more):
        running.append(RedisStore(tmp_path, *words, **more))
        return running[-1]

    yield start
    for s in running:
        s.stop()


class Node:
    """A daemon whose calls have ports at @host, copied to the store at @url."""

    def __init__(self, daemon, path, name, url, host, *options, **more):
        self.name, self.phones = name, "127.0.0.1"
        self.path = path / f"{name}.control"
        self.records = path / f"{name}.records"
        self.d = daemon("--control-socket", str(self.path), "--replicate", url,
                        "--interface", "own/127.0.0.1", "--interface",
                        f"moves/{host}", "--records", str(self.records),
                        "--drain-timeout", "0s", *options, **more)
        self.control = Control(self.path)

    def start(self, **params):
        reply = self.control.ask("call.start", {"keep": True, **params})
        assert "result" in reply, reply
        return reply["result"]

    def one(self, ssrc, port="own"):
        """PCMU to AMR 12.2, at an address that moves; its phone."""
        phone = Phone(ssrc, host=self.phones)
        named = {"interface": "moves"} if port == "own" else {"ssrc": ssrc}
        call = self.start(port=port, **named, **{
            "in": {"codec": "pcmu"},
            "out": {"codec": "amr", "mode": "12.2", "address": phone.at}})
        phone.to = address(call["rtp"]["address"])
        phone.call = call["call"]
        return phone

    def two(self, ssrc, codec):
        """PCMU to @codec and back; the phones."""
        phones = (Phone(ssrc, host=self.phones),
                  Phone(ssrc + 1, 8 if codec == "pcma" else 0, self.phones))
        call = self.start(label=f"call {ssrc}",
                          a={"codec": "pcmu", "interface": "moves"},
                          b={"codec": codec, "interface": "moves"})
        for phone, party in zip(phones, "ab"):
            phone.to = address(call[party]["rtp"])
            phone.call = call["call"]
        return phones

    def many(self):
        """Phones of some calls of each kind."""
        phones = [self.one(1000 + i) for i in range(5)]
        for i in range(3):
            phones += self.two(2000 + 10 * i, "pcmu")  # a relay
            phones += self.two(3000 + 10 * i, "pcma")
        return phones

    def listed(self):
        return [c["call"] for c in
                self.control.ask("call.list", {"limit": 200})["result"]["calls"]]

    def replica(self):
        return self.control.ask("stats", {})["result"]["replicate"]

    def until(self, done):
        """Until @done of what stats says of the store."""
        end = time.monotonic() + PATIENCE
        while not done(self.replica()):
            assert time.monotonic() < end, self.replica()
            time.sleep(0.02)

    def die(self):
        self.d.process.send_signal(signal.SIGKILL)
        self.d.process.wait()
        self.d.process.stdout.close()
        self.d.log.close()

    def ended(self, count):
        """Records, once there are @count."""
        end = time.monotonic() + PATIENCE
        while len(lines := self.records.read_text().splitlines()) < count:
            assert time.monotonic() < end
            time.sleep(0.02)
        return [json.loads(line) for line in lines]


def ctl(node, *words, code=0):
    done = subprocess.run([node.d.programs / "codec-ctl", "--to",
                           f"unix:{node.path}", "--json", *words],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else json.loads(done.stdout)


def until_free(phones):
    """Until the ports of a process that was killed can be had: the kernel ends
    its io_uring a moment later. Another machine's are free."""
    end = time.monotonic() + PATIENCE
    for phone in phones:
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                with contextlib.suppress(OSError):
                    s.bind(phone.to)
                    break
            assert time.monotonic() < end
            time.sleep(0.005)


def child_of(n):
    """The daemon of a supervisor, once it is the only one."""
    until(lambda: len(children(n.d.process.pid)) == 1)
    return child(n.d.process.pid)


@pytest.fixture
def node(daemon, tmp_path):
    return lambda name, url, host, *options, **more: Node(
        daemon, tmp_path, name, url, host, *options, **more)


def test_the_calls_of_a_machine_that_died_go_on_at_another(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    own = b.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    phones = a.many()
    calls = a.listed()
    load = Load(phones)
    try:
        load.all_heard(50)
        a.until(lambda s: s["calls"] == len(calls))
        a.die()
        until_free(phones)
        taken = b.control.ask("takeover", {"node": "a"})["result"]
        load.all_heard(50)
    finally:
        load.stop()
    assert taken == {"node": "a", "calls": len(calls), "dropped": 0,
                     "alive": True}
    assert sorted(b.listed()) == sorted([own, *calls])
    lost = [p.assert_goes_on() for p in phones]
    print("frames lost of each call:", sorted(lost))
    # they are b's now, also in the store
    b.until(lambda s: s["calls"] == len(calls) + 1)
    assert len(redis.calls("b")) == len(calls) + 1
    assert redis.calls("a") == []
    for call in calls:
        b.control.ask("call.stop", {"call": call})
    assert {r["reason"] for r in b.ended(len(calls))} == {"stopped"}
    b.until(lambda s: s["calls"] == 1)
    assert b.replica()["calls_restored"] == len(calls)


@pytest.fixture
def machines():
    """Two, and why there are none."""
    if why := why_not():
        pytest.skip(f"no machines here: {why}")
    two = Machine(2), Machine(3)
    yield two
    for machine in two:
        machine.off()


def test_an_address_moves_to_another_machine(store, node, machines):
    """Also calls at the shared port. What keepalived would call, as
    docs/operate.md has it, calls codec-ctl."""
    host, (first, second) = f"{NET}.100", machines
    redis = store("--protected-mode", "no", host=f"{NET}.1")
    options = ["--rtp", f"{host}:40000", "--rtp-ports", "30000-30999"]
    first.have(host)
    a = node("a", redis.url("a"), host, *options, launcher=first.launcher)
    b = node("b", redis.url("b"), host, *options, "--standby-of", "a",
             launcher=second.launcher)
    a.phones = b.phones = f"{NET}.1"
    phones = a.many() + [a.one(5000 + i, "shared") for i in range(3)]
    calls = a.listed()
    load = Load(phones)
    try:
        load.all_heard(50)
        a.until(lambda s: s["calls"] == len(calls))
        first.cut()
        gone = time.monotonic()
        second.have(host)
        second.run("sh", "-c", f"until {b.d.programs}/codec-ctl --to "
                   f"unix:{b.path} takeover a; do sleep 0.2; done")
        load.all_heard(50)
    finally:
        load.stop()
    assert sorted(b.listed()) == sorted(calls)
    back = [min(t for t, *_ in p.heard if t > gone + 0.02) - gone
            for p in phones]
    lost = [p.assert_goes_on() for p in phones]
    print(f"media back after {max(back) * 1000:.0f} ms at most, frames lost "
          f"of each call: {sorted(lost)}")
    # a is there, and cut off: it says so, and has nothing to write
    a.until(lambda s: not s["up"])
    a.die()
    for call in calls:
        b.control.ask("call.stop", {"call": call})
    assert {r["reason"] for r in b.ended(len(calls))} == {"stopped"}


def assert_calls_go_on(a):
    """Calls begin, are heard, and end, while the store does what it does."""
    phones = [*a.two(7000, "pcmu"), *a.two(7100, "pcma")]
    load = Load(phones)
    try:
        load.all_heard(25)
    finally:
        load.stop()
    for phone in phones:
        phone.assert_goes_on()
    for call in {p.call for p in phones}:
        assert "result" in a.control.ask("call.stop", {"call": call})


def test_a_store_that_was_away_has_all_calls_again(store, node):
    redis = store()
    a = node("a", redis.url("a"), own_host())
    first = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.until(lambda s: s["calls"] == 1)
    redis.stop()
    a.until(lambda s: not s["up"])
    assert_calls_go_on(a)
    a.control.ask("call.stop", {"call": first})
    second = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.d.logged("replica-down")
    redis.start()
    a.until(lambda s: s["up"] and s["calls"] == 1)
    text, = redis.calls("a")
    assert json.loads(text)["past"]["call"] == second
    assert a.d.logged("replica-up").count("replica-down") <= 2


def test_a_node_that_finds_the_store_later_is_not_silent(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    for n in a, b:
        n.until(lambda s: s["up"])
    a.d.process.send_signal(signal.SIGSTOP)
    try:
        redis.stop()
        b.until(lambda s: not s["up"])
        redis.start()
        b.until(lambda s: s["up"])
        assert not b.replica()["silent"]
        assert "node-silent" not in b.d.logged("replica-down")
    finally:
        a.d.process.send_signal(signal.SIGCONT)
    a.until(lambda s: s["up"])


def test_two_nodes_of_one_name_say_so(store, node):
    redis = store()
    two = [node(name, redis.url("one"), own_host()) for name in "ab"]
    for n in two:
        n.d.logged("another node has this name")
    assert_calls_go_on(two[0])


def test_what_a_node_leaves_in_the_store_expires(store, node):
    redis = store()
    a = node("a", redis.url("a"), own_host())
    a.start(keep=False, a={"codec": "pcmu"}, b={"codec": "pcma"})
    a.until(lambda s: s["calls"] == 1)
    # who reads the store comes to no session by it
    text, = redis.calls("a")
    assert "session" not in json.loads(text)
    a.die()
    keys = redis.ask("KEYS", "codec-runner:*")
    assert len(keys) >= 3
    for key in keys:
        # -2: it has expired by now
        assert redis.ask("TTL", key) in {-2, *range(1, 3601)}, key


def test_calls_that_the_store_has_lost_are_written_again(store, node):
    redis = store()
    a = node("a", redis.url("a"), own_host())
    call = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.until(lambda s: s["calls"] == 1)
    redis.ask("FLUSHALL")
    a.d.logged("the store has lost our calls")
    a.until(lambda s: s["up"])
    text, = redis.calls("a")
    assert json.loads(text)["past"]["call"] == call


def test_the_rights_that_the_manual_lists_suffice(store, node):
    redis, host = store(), own_host()
    rights = re.search(r"user\s+of\s+the\s+store\s+needs\s+`(.*?)`\s+for\s+`(.*?)`",
                       (ROOT / "docs/operate.md").read_text(), re.S)
    redis.ask("ACL", "SETUSER", "runner", "on", ">secret", rights[2],
              *rights[1].split())
    a = node("a", redis.url("a", "runner:secret@"), host)
    b = node("b", redis.url("b", "runner:secret@"), host, "--standby-of", "a")
    phone = a.one(1000)
    a.until(lambda s: s["calls"] == 1)
    a.die()
    until_free([phone])
    assert b.control.ask("takeover", {})["result"]["calls"] == 1
    b.until(lambda s: s["calls"] == 1)
    b.control.ask("call.stop", {"call": phone.call})
    b.until(lambda s: s["up"] and s["calls"] == 0)


class Mad(threading.Thread):
    """A server that is no store: it answers what it was made with, and then
    listens, or closes."""

    def __init__(self, answer, closes=False):
        super().__init__(daemon=True)
        self.answer, self.closes = answer, closes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def _serve(self, s):
        with s, contextlib.suppress(OSError):
            while s.recv(65536):
                if self.answer:
                    s.sendall(self.answer)
                if self.closes:
                    return


@pytest.mark.parametrize("answer, closes, why", [
    (b"", False, "no answer in time"),
    (b"", True, "closed the connection"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "Protocol error"),
    (b"+OK\r\n:7\r\n", False, "nonsense"),
    (b"*2\r\n$1\r\n1\r\n$1\r\n2\r\n" * 3, False, "nonsense"),
    (b"+OK\r\n*2\r\n$1\r\n1\r\n$1\r\n2\r\n*1\r\n$3\r\n99999\r\n", False, ""),
    (b"+OK\r\n*2\r\n$10\r\n9999999999\r\n$1\r\n2\r\n", False, "no clock"),
    (b"+OK\r\n" + b"$100000000\r\n" + bytes(1 << 20), False, ""),
    (b"+OK\r\n*2147483647\r\n", False, "memory"),
    (b"-LOADING the dataset\r\n", False, "the store says: LOADING"),
], ids=["silent", "closes", "http", "number", "no-keys", "slot-beyond",
        "year-2286", "endless", "huge", "loading"])
def test_a_mad_or_slow_store_delays_nothing(node, answer, closes, why):
    mad = Mad(answer, closes)
    a = node("a", f"redis://127.0.0.1:{mad.port}", own_host())
    assert_calls_go_on(a)
    a.until(lambda s: s["failures"] >= 2)
    assert why in a.replica()["why"]
    start = time.monotonic()
    assert a.d.stop() == 0
    assert time.monotonic() - start < PATIENCE / 4


def test_a_password_lets_in(store, node):
    redis = store("--requirepass", "s@cret")
    a = node("a", redis.url("a", ":wrong@"), own_host())
    b = node("b", redis.url("b", ":s%40cret@"), own_host())
    b.until(lambda s: s["up"])
    a.until(lambda s: s["failures"])
    assert "WRONGPASS" in a.replica()["why"]
    assert "wrong" not in a.d.logged("replica-down").split("replica-down")[1]
    assert_calls_go_on(a)


def test_a_password_is_in_no_log(daemon, tmp_path):
    """Neither by a store without AUTH, which repeats it, nor by a new file."""
    mad = Mad(b"-ERR unknown command `AUTH`, with args beginning with: "
              b"`s3cret`, \r\n")
    conf, url = tmp_path / "conf", f"redis://:s3cret@127.0.0.1:{mad.port}"
    conf.write_text(f"replicate = {url}\n")
    d = daemon("--config", str(conf))
    d.logged("does not know AUTH")
    conf.write_text(f"replicate = {url}/1\n")
    d.process.send_signal(signal.SIGHUP)
    d.logged("name=replicate")
    assert "s3cret" not in d.logged("config-read")


def test_a_node_is_no_standby_of_itself(daemon):
    """It would take its calls from itself."""
    with pytest.raises(RuntimeError, match="this node itself"):
        daemon("--replicate", "redis://127.0.0.1?name=a", "--standby-of", "a")


def test_a_store_that_is_full_delays_nothing(store, node):
    redis = store("--maxmemory-policy", "noeviction")
    a = node("a", redis.url("a"), own_host())
    a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})
    a.until(lambda s: s["calls"] == 1)
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    assert_calls_go_on(a)
    a.until(lambda s: not s["up"])
    assert "OOM" in a.replica()["why"] or "EXECABORT" in a.replica()["why"]
    a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    a.until(lambda s: s["up"] and s["calls"] == 2)
    assert len(redis.calls("a")) == 2


def test_a_store_that_hangs_delays_nothing(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host, "--standby-of", "b")
    first = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.until(lambda s: s["calls"] == 1)
    redis.process.send_signal(signal.SIGSTOP)
    assert_calls_go_on(a)
    a.until(lambda s: not s["up"])
    assert "no answer in time" in a.replica()["why"]
    assert "no answer in time" in a.control.ask("takeover", {})["error"][
        "message"]
    a.control.ask("call.stop", {"call": first})
    second = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    redis.process.send_signal(signal.SIGCONT)
    a.until(lambda s: s["up"] and s["calls"] == 1)
    text, = redis.calls("a")
    assert json.loads(text)["past"]["call"] == second


class Between(threading.Thread):
    """Passes on to a store what it is asked, by @asks, and its answers, by
    @answer: functions of a socket and some bytes."""

    def __init__(self, redis, answer=socket.socket.sendall,
                 asks=socket.socket.sendall):
        super().__init__(daemon=True)
        self.redis, self.answer, self.asks = redis, answer, asks
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            s, _ = self.listener.accept()
            to = self.redis.connect()
            for pump in ((s, to, self.asks), (to, s, self.answer)):
                threading.Thread(target=self._pump, args=pump,
                                 daemon=True).start()

    @staticmethod
    def _pump(source, sink, send):
        with contextlib.suppress(OSError):
            while some := source.recv(65536):
                send(sink, some)
            sink.shutdown(socket.SHUT_WR)


def by_drops(s, some):
    for i in range(len(some)):
        time.sleep(0.02)
        s.sendall(some[i:i + 1])


def with_numbers(s, some):
    s.sendall(some.replace(b"+QUEUED", b":1"))


@pytest.mark.parametrize("answer, why", [(by_drops, "no answer in time"),
                                         (with_numbers, "nonsense")])
def test_a_store_that_answers_badly_is_given_up(store, node, answer, why):
    """It is no copy whose calls are many seconds old."""
    between = Between(store(), answer)
    a = node("a", f"redis://127.0.0.1:{between.port}", own_host())
    a.until(lambda s: s["failures"] >= 2)
    assert why in a.replica()["why"]
    assert not a.replica()["up"]
    assert_calls_go_on(a)


def test_what_a_dead_process_has_sent_comes_too_late(store, node):
    """Its transaction is on its way while a new process writes."""
    held, goes_on, refused = (threading.Event() for _ in range(3))

    def asks(s, some):
        if b"past" in some and not held.is_set():
            held.set()
            goes_on.wait(PATIENCE)
        s.sendall(some)

    def answer(s, some):
        if goes_on.is_set() and b"*-1\r\n" in some:
            refused.set()
        s.sendall(some)

    redis = store()
    between = Between(redis, answer, asks)
    a = node("a", f"redis://127.0.0.1:{between.port}", own_host(),
             "--node-name", "a", "--supervise")
    call = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    assert held.wait(PATIENCE)
    os.kill(child_of(a), signal.SIGKILL)
    a.d.logged("calls-restored calls=1 dropped=0")
    a.control = Control(a.path)
    a.until(lambda s: s["calls"] == 1)
    a.control.ask("call.stop", {"call": call})
    a.until(lambda s: s["calls"] == 0)
    goes_on.set()
    assert refused.wait(PATIENCE)
    assert redis.calls("a") == []


def test_a_store_by_tls_shows_who_it_is(store, node, tmp_path):
    ca, other = Ca(tmp_path, "ca"), Ca(tmp_path, "other")
    redis, host = store("--requirepass", "secret", ca=ca), own_host()
    url = redis.url("a", ":secret@")
    wrong = {
        "certificate": url.replace(str(ca.path), str(other.path)),
        "mismatch": url.replace("@127.0.0.1", "@localhost"),
        "cannot read": url + ".none",
        "WRONGPASS": redis.url("a", ":wrong@"),
    }
    for i, (why, at) in enumerate(wrong.items()):
        n = node(f"wrong{i}", at, host)
        n.until(lambda s: s["failures"])
        assert why in n.replica()["why"]
        n.d.logged("replica-down", why)
        assert not n.replica()["up"]
    a = node("a", url, host)
    b = node("b", redis.url("b", ":secret@"), host, "--standby-of", "a")
    phones = a.many()
    load = Load(phones)
    try:
        load.all_heard(25)
        a.until(lambda s: s["calls"] == len(a.listed()))
        calls = a.listed()
        a.die()
        until_free(phones)
        taken = b.control.ask("takeover", {})["result"]
        load.all_heard(25)
    finally:
        load.stop()
    assert (taken["calls"], taken["dropped"]) == (len(calls), 0)


def test_a_node_whose_calls_were_taken_over_writes_no_more_of_them(store, node):
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    phone = a.one(1000)
    a.until(lambda s: s["calls"] == 1)
    # a is there all the same, and has the port
    taken = b.control.ask("takeover", {})["result"]
    assert taken == {"node": "a", "calls": 0, "dropped": 1, "alive": True}
    b.d.logged("call-not-taken", "in use")
    assert b.replica()["calls_dropped"] == 1
    a.d.logged("replica-taken-over by=\"b\" calls=1")
    a.until(lambda s: s["taken_over"] == 1 and s["calls"] == 0)
    # later calls are copied, of which another node may take care again
    later = a.one(1001)
    a.until(lambda s: s["calls"] == 1)
    assert [json.loads(text)["past"]["call"] for text in redis.calls("a")] == [
        later.call]
    a.control.ask("call.stop", {"call": phone.call})
    a.until(lambda s: s["taken_over"] == 0)
    assert_calls_go_on(a)
    a.until(lambda s: s["calls"] == 1)
    a.die()
    until_free([later])
    b.until(lambda s: s["silent"])
    assert b.control.ask("takeover", {})["result"] == {
        "node": "a", "calls": 1, "dropped": 0, "alive": False}
    # its next run is another one
    a = node("a", redis.url("a"), host)
    b.until(lambda s: not s["silent"])
    third = a.one(1002)
    a.until(lambda s: s["calls"] == 1)
    assert third.call != later.call and b.listed() == [later.call]


def test_a_split_brain_outlives_a_crash(store, node):
    """Calls that another node has are not copied again, as a second takeover
    would take them a second time."""
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host, "--supervise")
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    call = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.until(lambda s: s["calls"] == 1)
    assert b.control.ask("takeover", {})["result"]["alive"]
    a.until(lambda s: s["taken_over"] == 1)
    os.kill(child_of(a), signal.SIGKILL)
    a.d.logged("calls-restored calls=1 dropped=0")
    a.control = Control(a.path)
    a.until(lambda s: s["up"] and s["taken_over"] == 1)
    later = a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    a.until(lambda s: s["calls"] == 1)
    text, = redis.calls("a")
    assert json.loads(text)["past"]["call"] == later
    assert sorted(a.listed()) == sorted([call, later])
    assert ctl(a, "upgrade")["calls"] == 2
    a.control = Control(a.path)
    assert sorted(a.listed()) == sorted([call, later])
    a.until(lambda s: s["up"] and (s["taken_over"], s["calls"]) == (1, 1))


def left_by(redis, name, run, text, slot="0"):
    """A call in the store, of a machine that has died."""
    redis.ask("SET", f"codec-runner:{name}:run", run)
    redis.ask("HSET", f"codec-runner:{name}:{run}:calls", slot, text)


def foreign_text(redis, n, call):
    """A text like that of the only call of @n, with the id @call."""
    n.start(a={"codec": "pcmu"}, b={"codec": "pcma"})
    n.until(lambda s: s["calls"] == 1)
    text, = redis.calls(n.name)
    other = json.loads(text)
    other["past"]["call"] = call
    return json.dumps(other)


def test_takeovers_one_after_the_other_leave_nothing(store, node):
    redis, host = store(), own_host()
    b = node("b", redis.url("b"), host, "--standby-of", "a",
             "--replicate-interval", "1s")
    phone = b.one(1000)
    b.until(lambda s: s["calls"] == 1)
    text, = redis.calls("b")
    b.control.ask("call.stop", {"call": phone.call})
    for run in "0123", "4567":
        until_free([phone])
        left_by(redis, "a", run, text)
        assert b.control.ask("takeover", {})["result"]["calls"] == 1
        b.control.ask("call.stop", {"call": phone.call})
    end = time.monotonic() + PATIENCE
    while left := redis.ask("KEYS", "codec-runner:a:*:calls"):
        assert time.monotonic() < end, left
        time.sleep(0.02)


def test_a_call_whose_port_was_in_use_is_taken_by_a_repeat(store, node):
    """And no other: one that has ended since does not begin again."""
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host)
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    phone, other = a.one(1000), a.one(1001)
    a.until(lambda s: s["calls"] == 2)
    a.die()
    until_free([phone, other])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(phone.to)
        assert b.control.ask("takeover", {})["result"]["dropped"] == 1
    b.control.ask("call.stop", {"call": other.call})
    until_free([other])
    taken = b.control.ask("takeover", {})["result"]
    assert (taken["calls"], taken["dropped"]) == (1, 0)
    assert b.listed() == [phone.call]
    b.until(lambda s: not redis.calls("a"))


def test_only_one_node_takes_calls(store, node):
    redis, host = store(), own_host()
    two = [node(name, redis.url(name), host, "--standby-of", "a")
           for name in "bc"]
    text = foreign_text(redis, two[0], 5)
    for run in range(5):
        left_by(redis, "a", f"0{run}", text)
        for n in two:
            n.control.send("takeover", {})
        said = [n.control.answer() for n in two]
        errors = [s["error"]["message"] for s in said if "error" in s]
        assert len(errors) == 1, said
        assert "has taken over the calls of node a already" in errors[0]
    # that is an answer of the store: it is up
    assert all(n.replica()["failures"] == 0 for n in two)


def test_what_cannot_be_taken_is_said(store, node):
    redis, host = store(), own_host()
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    c = node("c", redis.url("c"), host)
    b.until(lambda s: s["up"])

    def refused(n, **params):
        return n.control.ask("takeover", params)["error"]["message"]

    assert "knows nothing of a node a" in refused(b)
    assert "is --standby-of a" in refused(b, node="x")
    assert "--standby-of" in refused(c)
    # a call whose state is damaged is dropped alone
    redis.ask("SET", "codec-runner:a:run", "0123")
    own = b.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    b.until(lambda s: s["calls"] == 1)
    text, = redis.calls("b")
    other = json.loads(text)
    other["past"]["call"] = 5
    for slot, is_ in enumerate(["mad", "{}", text, json.dumps(other)]):
        redis.ask("HSET", redis.key("a", "calls"), str(slot), is_)
    redis.ask("HSET", redis.key("a", "records"), "3", "mad")
    taken = b.control.ask("takeover", {})["result"]
    assert taken["calls"] == 0 and taken["dropped"] == 4
    log = b.d.logged(f"its id {own} is in use here")
    assert log.count("call-not-taken") == 4
    assert b.listed() == [own]
    redis.stop()
    b.until(lambda s: not s["up"])
    assert "" != refused(b)


def test_a_takeover_that_is_repeated_leaves_calls_held(store, node):
    """What cannot be taken a second time is here: it outlives a crash."""
    redis, host = store(), own_host()
    b = node("b", redis.url("b"), host, "--standby-of", "a", "--supervise")
    call = b.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    b.until(lambda s: s["calls"] == 1)
    text, = redis.calls("b")
    redis.ask("SET", "codec-runner:a:run", "0123")
    redis.ask("HSET", redis.key("a", "calls"), "0", text)
    assert b.control.ask("takeover", {})["result"]["dropped"] == 1
    os.kill(child_of(b), signal.SIGKILL)
    b.d.logged("calls-restored calls=1 dropped=0")
    b.control = Control(b.path)
    assert b.listed() == [call]


def test_dialogs_and_endpoints_go_over_with_their_calls(store, node):
    redis, host = store(), own_host()
    at = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    a = node("a", redis.url("a"), host, "--ng", at[0])
    b = node("b", redis.url("b"), host, "--ng", at[1], "--standby-of", "a")
    # a dialog, and one that nobody has answered yet
    proxy = System(at[0])
    call, ringing = (Call(proxy, direction=["moves", "moves"])
                     for _ in range(2))
    for one in call, ringing:
        one.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    assert_talk(call)
    created = proxy.ok("query", call_id=call.id, from_tag="tag-a")["created"]
    # two endpoints that were opened before, one of them in a call
    opened = [a.control.ask("endpoint.open", {
        "codec": "pcmu", "interface": "moves"})["result"] for _ in range(2)]
    phones = Phone(1000), Phone(1001, 8)
    started = a.start(a={"endpoint": opened[0]["endpoint"]},
                      b={"codec": "pcma", "interface": "moves"})
    for phone, party in zip(phones, "ab"):
        phone.to = address(started[party]["rtp"])
    load = Load(phones)
    try:
        load.all_heard(25)
        had = a.replica()["batches"]
        a.until(lambda s: s["batches"] > had + 2)
        a.die()
        until_free([*phones, call.a, call.b])
        taken = b.control.ask("takeover", {})["result"]
        load.all_heard(25)
    finally:
        load.stop()
    # what comes before an answer is passed on, too
    assert (taken["calls"], taken["dropped"]) == (3, 0)
    for phone in phones:
        phone.assert_goes_on()
    # the proxy asks the other node now
    call.proxy = proxy = System(at[1])
    assert proxy.ok("query", call_id=call.id,
                    from_tag="tag-a")["created"] == created
    ringing.proxy = proxy
    ringing.answer("8 PCMA/8000")
    for one in call, ringing:
        assert_talk(one)
        one.delete()
    assert {r["reason"] for r in b.ended(2)} == {"stopped"}
    assert b.listed() == [started["call"]]
    for e in opened:
        assert b.control.ask("endpoint.query", {"endpoint": e["endpoint"]}
                             )["result"]["rtp"] == e["rtp"]
    assert "result" in b.control.ask("call.stop", {"call": started["call"]})
    for e in opened:
        assert "result" in b.control.ask("endpoint.close",
                                         {"endpoint": e["endpoint"]})
    b.until(lambda s: s["calls"] == 0)


def left_with_two_lines(store, node, *options):
    """A store, a standby with these @options, how to ask it as a proxy, and a
    dialog of two lines of a node that has died."""
    redis, host = store(), own_host()
    at = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    a = node("a", redis.url("a"), host, "--ng", at[0])
    b = node("b", redis.url("b"), host, "--ng", at[1], "--standby-of", "a",
             *options)
    call = TwoLines(System(at[0]))
    formats = "8 PCMA/8000", "0 PCMU/8000"
    call.offer(*formats, direction=["moves", "moves"])
    assert call.answered(*formats)["result"] == "ok"
    a.until(lambda s: s["calls"] == 7)  # with its endpoints and the dialog
    a.die()
    until_free([*call.a, *call.b])
    return redis, b, System(at[1]), call


def test_a_dialog_that_has_no_room_ends_all_of_its_calls(store, node):
    redis, b, proxy, call = left_with_two_lines(store, node,
                                                "--ng-host-lines", "1")
    taken = b.control.ask("takeover", {})["result"]
    assert (taken["calls"], taken["dropped"]) == (0, 2)
    assert b.replica()["calls_dropped"] == 2
    b.d.logged("dialog-not-restored", "--ng-host-lines 1")
    assert {r["reason"] for r in b.ended(2)} == {"stopped"}
    assert b.control.ask("endpoint.list", {})["result"]["endpoints"] == []
    assert proxy.ask("query", call_id=call.id)["result"] == "error"


def test_a_dialog_has_no_call_of_another_one(store, node):
    """The ids of its second line are in use at the standby."""
    redis, b, proxy, call = left_with_two_lines(store, node)
    own = b.start(a={"codec": "pcmu"}, b={"codec": "pcma"})["call"]
    ends = sorted(e["endpoint"] for e in b.control.ask("endpoint.list", {})[
        "result"]["endpoints"])
    key = redis.key("a", "calls")
    texts = {slot: json.loads(redis.ask("HGET", key, slot))
             for slot in redis.ask("HKEYS", key)}
    note = next(t["note"] for t in texts.values() if "note" in t)
    second = note["lines"][1]
    for text in texts.values():
        if text.get("past", {}).get("call") == second["call"]:
            text["past"]["call"] = own
    second["call"] = own
    for side, end in zip("ab", ends):
        note[side]["ends"][1]["id"] = end
    for slot, text in texts.items():
        redis.ask("HSET", key, slot, json.dumps(text))
    taken = b.control.ask("takeover", {})["result"]
    assert (taken["calls"], taken["dropped"]) == (1, 1)
    b.d.logged(f"its id {own} is in use here")
    proxy.ok("delete", call_id=call.id, from_tag="tag-a")
    assert [r["label"] for r in b.ended(1)] == [call.id]
    assert b.listed() == [own]


def test_a_note_takes_nothing_that_the_standby_has(store, node):
    """Whatever somebody has written into the store."""
    redis, host, at = store(), own_host(), f"127.0.0.1:{free_port()}"
    b = node("b", redis.url("b"), host, "--ng", at, "--standby-of", "a")
    call = Call(System(at), direction=["moves", "moves"])
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    opened = [b.control.ask("endpoint.open", {
        "codec": "pcma", "interface": "moves", "keep": True})["result"]
        for _ in range(2)]
    own = b.control.ask("call.start", {
        "keep": True, "a": {"endpoint": opened[0]["endpoint"]},
        "b": {"endpoint": opened[1]["endpoint"]}})["result"]["call"]
    b.until(lambda s: s["calls"] == 7)
    listed = b.listed()
    note = next(t for t in map(json.loads, redis.calls("b")) if "note" in t)
    for n, (name, ends) in enumerate([
            (call.id, None), ("other", None), ("other", opened)]):
        text = json.loads(json.dumps(note))
        text["note"].update({"call-id": name, "offer": "junk"})
        for side, end in zip("ab", ends or ()):
            text["note"][side]["ends"][0].update(id=end["endpoint"],
                                                 at=end["rtp"])
        if ends:
            text["note"]["lines"][0]["call"] = own
        redis.ask("SET", "codec-runner:a:run", f"{n}123")
        redis.ask("HSET", f"codec-runner:a:{n}123:calls", "0",
                  json.dumps(text))
        b.control.ask("takeover", {})
        b.d.logged("dialog-not-restored")
        assert b.listed() == listed
        assert len(b.control.ask("endpoint.list", {})[
            "result"]["endpoints"]) == 4
        assert_talk(call)
    call.delete()
    assert b.listed() == [own]


def test_a_node_ends_while_a_takeover_waits(node):
    mad = Mad(b"")
    b = node("b", f"redis://127.0.0.1:{mad.port}", own_host(), "--standby-of",
             "a")
    b.control.send("takeover", {})
    b.control.ask("stats", {})  # it has been read, and waits for a second
    assert b.d.stop() == 0

# SPDX-License-Identifier: Apache-2.0
"""codec-ctl upgrade: a new process takes over calls while they go on, and
nobody hears it. The senders have sockets of their own and know nothing of
it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest

from conftest import BUILD, PATIENCE, ROOT, free_port
from control import Control
from lossy import CODECS, Way, encoded, frames, l16, offline
from ng_call import Call
from telephony import System
from test_crash import Load, Rig, assert_sums, assert_talk
from test_supervise import children, until

sys.path.insert(0, str(ROOT / "src" / "report"))
from codec_report import quality  # noqa: E402

UPGRADES = 3
SPEECH_S = 4
PESQ_BOUND = 0.3


class Upgraded(Rig):
    def ctl(self, *words):
        return subprocess.run([BUILD / "codec-ctl", "--to", f"unix:{self.path}",
                               "--json", *map(str, words)], text=True,
                              capture_output=True, timeout=PATIENCE)

    def upgrade(self, *program):
        """How many calls moved; the connection is a new one then."""
        was = self.process()
        done = self.ctl("upgrade", *program)
        assert done.returncode == 0, done.stderr + self.logged()
        until(lambda: not pathlib.Path(f"/proc/{was}").exists())
        self.control = Control(self.path)
        self.control.ask("hello", {})
        assert self.process() != was
        return json.loads(done.stdout)["calls"]

    def refused(self, *program):
        """Why an upgrade failed; the same process goes on."""
        was = self.process()
        done = self.ctl("upgrade", *program)
        assert done.returncode != 0
        until(lambda: children(self.d.process.pid) == [was])
        return done.stderr

    def moves(self):
        """What the log says of the end of an upgrade."""
        return re.findall(r"(upgraded calls=.*|upgrade-failed .*|"
                          r"calls-restored .*)", self.logged())

    def logged(self):
        return pathlib.Path(self.d.log.name).read_text()[-3000:]

    def fill(self):
        """Twenty calls of each kind."""
        for i in range(8):
            self.one("own", 1000 + i)
        for i in range(4):
            self.one("shared", 2000 + i)
            self.two(3000 + 10 * i, "pcmu")  # a relay
            self.two(4000 + 10 * i, "pcma")


@pytest.fixture
def rig(daemon, tmp_path):
    return Upgraded(daemon, tmp_path)


def lost(rig):
    return sum(p.assert_goes_on() for p in rig.phones)


def test_nobody_hears_an_upgrade(rig):
    rig.fill()
    load = Load(rig.phones)
    try:
        load.all_heard(25)
        for _ in range(UPGRADES):
            assert rig.upgrade() == len(rig.calls)
            load.all_heard(25)
    finally:
        load.stop()
    assert lost(rig) == 0
    gaps = [b[0] - a[0] for p in rig.phones
            for a, b in zip(p.heard, p.heard[1:])]
    print(f"longest gap: {max(gaps) * 1000:.0f} ms")
    assert rig.listed() == rig.calls
    rig.stop_calls()
    records = rig.recorded(len(rig.calls))
    assert {r["reason"] for r in records} == {"stopped"}
    assert_sums(rig, records)
    assert rig.d.stop() == 0


def test_sessions_and_opened_endpoints_move_too(rig):
    session = rig.ask("hello")["session"]
    opened = [rig.ask("endpoint.open", codec=codec)["endpoint"]
              for codec in ("pcmu", "pcma", "pcmu")]
    rig.two(1000, "pcma", a={"endpoint": opened[0]},
            b={"endpoint": opened[1]}, keep=False)
    load = Load(rig.phones)
    try:
        load.all_heard(25)
        assert rig.upgrade() == 1
        assert rig.ask("hello", resume=session)["session"] == session
        load.all_heard(25)
    finally:
        load.stop()
    assert lost(rig) == 0
    assert [e["endpoint"] for e in
            rig.ask("endpoint.list")["endpoints"]] == opened
    # ids go on
    assert rig.ask("endpoint.open", codec="pcmu")["endpoint"] > max(opened)
    rig.stop_calls()


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("codec", ["amr", "opus"])
def test_a_codec_begins_anew_and_nothing_else_is_heard(daemon, tmp_path, codec,
                                                       side):
    """Sample by sample, what is heard is what codecs make without a network of
    which one begins anew there."""
    rig = Upgraded(daemon, tmp_path, "--ring", "128", "--no-admission")
    whole, _ = offline(codec, 0, SPEECH_S, tmp_path)
    here, l16_here = (codec, CODECS[codec]), l16(CODECS[codec])
    said = (frames(whole["source"], CODECS[codec]) if side == "encoder" else
            encoded(rig.d, codec, whole["source"]))
    way = Way(rig.d, *((l16_here, here) if side == "encoder" else
                       (here, l16_here)))
    seam = len(said) // 2
    for payload in said[:seam]:
        way.say(payload)
    assert rig.upgrade() == 1
    for payload in said[seam:]:
        way.say(payload)
    way.end()
    if side == "encoder":
        coded = [data[12:] for data in way.heard]
        way = Way(rig.d, here, l16_here)
        for payload in coded:
            way.say(payload)
        way.end()
    assert way.are_numbered()
    told = tmp_path / "told"
    told.write_text("." * seam + side[0])
    anew, _ = offline(codec, told, SPEECH_S, tmp_path)
    assert np.array_equal(way.pcm(len(said)), anew["concealed"])
    if pesq := quality.load_pesq():
        rate = CODECS[codec].rate
        without, with_it = (quality.score_pcm(pesq, rate, whole["source"], pcm)
                            for pcm in (whole["whole"], anew["concealed"]))
        print(f"MOS-LQO: {without:.3f} without, {with_it:.3f} with it")
        assert with_it > without - PESQ_BOUND


def copied(program, path, mode=0o755, change=None):
    data = pathlib.Path(program).read_bytes()
    path.write_bytes(change(data) if change else data)
    path.chmod(mode)
    return path


def test_what_cannot_take_over_is_refused_and_nothing_has_changed(rig,
                                                                  tmp_path):
    rig.fill()
    runner = BUILD / "codec-runner"
    other = copied(runner, tmp_path / "other",
                   # of its state memory; the compiler may have cut it
                   change=lambda d: re.sub(rb"nner \d\d\0", b"nner 99\0",
                                           d))
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        assert "no such file" in rig.refused("/no/such/program").lower()
        assert "whole path" in rig.refused("codec-runner")
        assert "no program" in rig.refused(tmp_path)
        writable = copied(runner, tmp_path / "writable", 0o757)
        assert "everybody can write it" in rig.refused(writable)
        for name in "true", "false":
            program = copied(f"/bin/{name}", tmp_path / name)
            assert "ended before it was ready" in rig.refused(program)
        assert "another version" in rig.refused(other)
        load.all_heard(10)
    finally:
        load.stop()
    assert lost(rig) == 0
    assert rig.listed() == rig.calls
    # and still it can
    assert rig.upgrade(runner) == len(rig.calls)


def test_nobody_upgrades_what_nobody_supervises(daemon, tmp_path):
    path = tmp_path / "alone"
    alone = daemon("--control-socket", path)
    done = subprocess.run([BUILD / "codec-ctl", "--to", f"unix:{path}",
                           "upgrade"], text=True, capture_output=True)
    assert done.returncode and "--supervise" in done.stderr
    # nor by SCTP
    assert "Unix socket" in alone.ctl("upgrade", code=1)


def test_a_node_that_drains_is_not_upgraded(rig):
    rig.one("own", 1000)
    assert rig.ctl("drain", "1h").returncode == 0
    assert "drains" in rig.refused()
    assert rig.ctl("drain", "cancel").returncode == 0
    assert rig.upgrade() == 1
    rig.stop_calls()


def test_of_two_upgrades_at_once_one_is_refused_or_comes_second(rig):
    rig.fill()
    load = Load(rig.phones)
    results = []
    try:
        load.all_heard(10)
        both = [threading.Thread(
            target=lambda: results.append(rig.ctl("upgrade")))
            for _ in range(2)]
        for t in both:
            t.start()
        for t in both:
            t.join()
        load.all_heard(10)
    finally:
        load.stop()
    assert 0 in [r.returncode for r in results]
    assert lost(rig) == 0


def kill_in_upgrade(rig, which, kill):
    """Start one, and let @kill(old, new) end a process; the calls go on by one
    that is there then. Whether codec-ctl says that it was done."""
    supervisor, old = rig.d.process.pid, rig.process()
    ctl = subprocess.Popen(
        [BUILD / "codec-ctl", "--to", f"unix:{rig.path}", "upgrade"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: set(children(supervisor)) - {old})
    (new,) = set(children(supervisor)) - {old}
    kill(old, new)
    try:
        os.kill(old if which == "old" else new, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended, as it should
    done = ctl.wait(PATIENCE) == 0
    until(lambda: len(children(supervisor)) == 1)
    rig.control = Control(rig.path)
    assert rig.listed() == rig.calls
    return done


def wait_until_it_waits(pid):
    """For the old process: its threads are there, and the first one sleeps."""
    def waits():
        tasks = pathlib.Path(f"/proc/{pid}/task")
        state = (tasks / str(pid) / "stat").read_text().rsplit(")", 1)[1]
        names = [(t / "comm").read_text().strip() for t in tasks.iterdir()]
        return "cr-rx" in names and state.split()[0] == "S"

    until(waits)
    time.sleep(.1)
    until(waits)


@pytest.mark.parametrize("which", ["old", "new"])
@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("delay", [0, .005, .015])
def test_whoever_is_killed_no_call_ends(rig, which, ready, delay):
    """While the new process starts; or from when it is ready and the old one,
    which has been stopped until then, begins to give calls away: that takes it
    some 20 ms."""
    rig.fill()
    load = Load(rig.phones)

    def kill(old, new):
        if ready:
            os.kill(old, signal.SIGSTOP)
            wait_until_it_waits(new)
            os.kill(old, signal.SIGCONT)
        time.sleep(delay)

    try:
        load.all_heard(10)
        done = kill_in_upgrade(rig, which, kill)
        load.all_heard(10)
    finally:
        load.stop()
    print(f"{which} killed, new {'ready' if ready else 'starting'}: "
          f"{'moved' if done else 'not moved'}, {lost(rig)} frames lost; "
          f"{rig.moves()}")
    rig.stop_calls()


def test_a_program_that_has_been_replaced_is_upgraded_by_sighup(tmp_path,
                                                                daemon):
    for name in "codec-runner", "codec-ctl":
        copied(BUILD / name, tmp_path / name)
    rig = Upgraded(lambda *o: daemon(*o, programs=tmp_path), tmp_path)
    rig.fill()
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        was = rig.process()
        rig.d.process.send_signal(signal.SIGHUP)  # the same file: as ever
        rig.d.logged("config-read")
        assert rig.process() == was
        os.replace(copied(tmp_path / "codec-runner", tmp_path / "new"),
                   tmp_path / "codec-runner")
        rig.d.process.send_signal(signal.SIGHUP)
        until(lambda: not pathlib.Path(f"/proc/{was}").exists())
        load.all_heard(10)
    finally:
        load.stop()
    assert lost(rig) == 0
    rig.control = Control(rig.path)
    rig.stop_calls()


def test_a_sighup_whose_upgrade_fails_reads_the_configuration(tmp_path,
                                                              daemon):
    for name in "codec-runner", "codec-ctl":
        copied(BUILD / name, tmp_path / name)
    rig = Upgraded(lambda *o: daemon(*o, programs=tmp_path), tmp_path)
    was = rig.process()
    os.replace(copied("/bin/false", tmp_path / "new"),
               tmp_path / "codec-runner")
    rig.d.process.send_signal(signal.SIGHUP)
    rig.d.logged("upgrade-failed", "config-read")
    assert rig.process() == was


def test_dialogs_of_a_telephone_system_move_too(daemon, tmp_path):
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    call = Call(System(at))
    call.offer("8 PCMA/8000")
    assert "calls ring" in rig.refused()
    call.answer("8 PCMA/8000")
    ports = call.a.to, call.b.to
    for _ in range(2):
        assert_talk(call)
        assert rig.upgrade() == 1
        assert_talk(call)
        call.offer("8 PCMA/8000", known=True)
        call.answer("8 PCMA/8000")
        assert (call.a.to, call.b.to) == ports
    call.delete()
    assert {r["reason"] for r in rig.recorded(1)} == {"stopped"}


def test_no_request_is_refused(daemon, tmp_path):
    ng, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", ng, "--http", http)
    proxy = System(ng)
    rig.fill()
    over = threading.Event()
    wrong, longest = [], {}

    def ask_again(name, ask):
        while not over.is_set():
            begun = time.monotonic()
            try:
                ask()
            except (OSError, AssertionError, ValueError) as e:
                wrong.append((name, repr(e)))
            longest[name] = max(longest.get(name, 0), time.monotonic() - begun)
            time.sleep(.002)

    def page():
        urllib.request.urlopen(f"http://{http}/healthz",
                               timeout=PATIENCE).read()

    asking = [threading.Thread(target=ask_again, args=each) for each in
              [("ng", lambda: proxy.ask("ping")), ("http", page)]]
    for thread in asking:
        thread.start()
    try:
        for _ in range(UPGRADES):
            assert rig.upgrade() == len(rig.calls)
    finally:
        over.set()
        for thread in asking:
            thread.join()
    print("longest:", {n: f"{t * 1000:.0f} ms" for n, t in longest.items()})
    assert not wrong
    rig.stop_calls()

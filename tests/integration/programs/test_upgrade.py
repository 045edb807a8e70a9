# SPDX-License-Identifier: Apache-2.0
"""codec-ctl upgrade: a new process takes over calls while they go on, and
nobody hears it. The senders have sockets of their own and know nothing of
it."""
import contextlib
import itertools
import json
import os
import pathlib
import re
import resource
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
from ng_call import HERE, Call
from test_ng_lines import TwoLines
from telephony import System, lines
from test_crash import Load, Rig, Unanswered, assert_sums, assert_talk
from test_supervise import children, until

sys.path.insert(0, str(ROOT / "src" / "report"))
from codec_report import quality  # noqa: E402

UPGRADES = 3
# of each kind of call
EACH = 1 if "TSAN_OPTIONS" in os.environ else 4
SPEECH_S = 4
PESQ_BOUND = 0.3
WARM = {"encoder": 1, "decoder": 10}  # frames


class Upgraded(Rig):
    def __init__(self, daemon, path, *options):
        # frames wait on a busy machine, and none is dropped
        super().__init__(daemon, path, "--ring", "256", *map(str, options))

    def ctl(self, *words):
        return subprocess.run([BUILD / "codec-ctl", "--to", f"unix:{self.path}",
                               "--json", *map(str, words)], text=True,
                              capture_output=True, timeout=PATIENCE)

    def upgrade(self, *program):
        """How many calls moved; the connection is a new one then."""
        was = self.process()
        for _ in range(3):
            done = self.ctl("upgrade", *program)
            if "does not let go" not in done.stderr:
                break  # else the machine was too busy: all is as it was
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

    def logged(self):
        return pathlib.Path(self.d.log.name).read_text()[-3000:]

    def fill(self):
        """Twenty calls of each kind, or what ThreadSanitizer can carry."""
        for i in range(2 * EACH):
            self.one("own", 1000 + i)
        for i in range(EACH):
            self.one("shared", 2000 + i)
            self.two(3000 + 10 * i, "pcmu")  # a relay
            self.two(4000 + 10 * i, "pcma")


@pytest.fixture
def rig(daemon, tmp_path):
    return Upgraded(daemon, tmp_path, "--upgrade-to", tmp_path / "other*")


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
    rig.hear_all()
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


def test_timestamps_go_on_where_silence_was_filled(rig):
    """A packet that overlaps the one before is sent on behind it, and all that
    follow, by as much. Encoders that look ahead begin like that."""
    rig.two(1000, "pcma", a={"codec": "pcmu", "noise": 13},
            b={"codec": "pcma", "noise": 13})
    for phone in rig.phones:
        phone.send()
        phone.ts -= 52
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        assert rig.upgrade() == 1
        load.all_heard(10)
        assert lost(rig) == 0
        rig.kill()
        load.all_heard(10)
    finally:
        load.stop()
    lost(rig)


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


def test_clients_of_the_unix_socket_keep_their_connections(rig):
    client = rig.control
    session = rig.ask("hello")["session"]
    rig.two(1000, "pcma", keep=False)
    half = Control(rig.path)
    half.socket.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"')
    rig.ask("stats")  # that has been read
    for _ in range(UPGRADES):
        assert rig.upgrade() == 1
        assert client.ask("hello", {})["result"]["session"] == session
        assert client.ask("call.list", {})["result"]["calls"]
    assert half.lines.readline() == ""  # it asks again
    client.send("call.stop", {"call": rig.calls[0]})
    heard = [client.hear() for _ in range(3)]
    assert sum("result" in h for h in heard) == 1
    assert sum(h.get("method") == "stream.ended" for h in heard) == 2


def test_what_codecs_cost_is_not_measured_again(rig):
    def measured():
        """How much dearer one codec is; what sending takes is in both."""
        for codec in "gsm", "pcma":
            call = rig.ask("call.start", port="own", **{
                "in": {"codec": "pcmu"},
                "out": {"codec": codec, "address": "127.0.0.1:9"}})
            rig.ask("call.stop", call=call["call"])
        us = {c["transcoding"]: c["measured_us"] for c in
              rig.ask("stats")["capacity"]["costs"]}
        return us["pcmu>gsm@20ms"] - us["pcmu>pcma@20ms"]

    before = measured()
    assert rig.upgrade() == 0
    assert measured() == pytest.approx(before, abs=2e-3)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("codec", ["amr", "opus"])
def test_a_codec_begins_anew_and_nothing_else_is_heard(daemon, tmp_path, codec,
                                                       side):
    """Sample by sample, what is heard is what codecs make without a network of
    which one begins anew there, run over some frames before."""
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
    anew, _ = offline(codec, told, SPEECH_S, tmp_path, warm=WARM[side])
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


def other_version(path):
    """Of the state memory; the compiler may have cut the name."""
    return copied(BUILD / "codec-runner", path, change=lambda d: re.sub(
        rb"nner \d\d\0", b"nner 99\0", d))


def test_what_cannot_take_over_is_refused_and_nothing_has_changed(rig,
                                                                  tmp_path):
    rig.fill()
    runner = BUILD / "codec-runner"
    other = other_version(tmp_path / "other")
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        assert "--upgrade-to" in rig.refused("/bin/true")
        assert "no such file" in rig.refused(tmp_path / "other-none").lower()
        assert "whole path" in rig.refused("codec-runner")
        (tmp_path / "other-folder").mkdir()
        assert "no program" in rig.refused(tmp_path / "other-folder")
        writable = copied(runner, tmp_path / "other-writable", 0o757)
        assert "everybody can write it" in rig.refused(writable)
        for name in "true", "false":
            program = copied(f"/bin/{name}", tmp_path / f"other-{name}")
            assert "ended before it was ready" in rig.refused(program)
        assert "another version" in rig.refused(other)
        load.all_heard(10)
    finally:
        load.stop()
    assert lost(rig) == 0
    assert rig.listed() == rig.calls
    # and still it can
    assert rig.upgrade(runner) == len(rig.calls)


def test_another_version_does_not_go_back_either(daemon, tmp_path):
    other_version(tmp_path / "codec-runner")
    runner = BUILD / "codec-runner"
    rig = Upgraded(lambda *o: daemon(*o, programs=tmp_path), tmp_path,
                   "--upgrade-to", runner)
    rig.two(1000, "pcma")
    assert "another version" in rig.refused(runner)
    assert rig.upgrade() == 1


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


class Step:
    """Where a hand-over stands still, by held_step.c."""

    def __init__(self, path, monkeypatch):
        if "HELD_STEP_LIBRARY" not in os.environ:
            pytest.skip("a sanitizer is to be loaded first")
        self.path, self.held = path / "step", path / "step.held"
        self.serial = itertools.count()
        monkeypatch.setenv("LD_PRELOAD", os.environ["HELD_STEP_LIBRARY"])
        monkeypatch.setenv("HELD_STEP", str(self.path))

    def set(self, when, number, message):
        new = self.path.with_suffix(".new")
        new.write_text(f"{next(self.serial)} {when} {number} {message}\n")
        os.replace(new, self.path)

    def goes_on(self):
        self.held.unlink(missing_ok=True)


@pytest.fixture
def step(tmp_path, monkeypatch):
    s = Step(tmp_path, monkeypatch)
    yield s
    s.goes_on()


def upgrade_until(rig, step, *where):
    """Start an upgrade that stands still @where. codec-ctl, the old process,
    and the new one, if it is there."""
    supervisor, old = rig.d.process.pid, rig.process()
    step.set(*where)
    ctl = subprocess.Popen(
        [BUILD / "codec-ctl", "--to", f"unix:{rig.path}", "upgrade"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(step.held.exists)
    return ctl, old, *set(children(supervisor)) - {old}


# Of a hand-over, which message of which kind: twenty slots ahead, then calls;
# those at the shared port come last.
ASKED, READY, AHEAD, TAKEN, ON = "*UPGRADE=/*", "ready", "slot *", "moved", "on *"
END, ALIVE, DONE, SERVES = "end", "alive", "UPGRADED=1", "READY=1"
CLIENT = "client *"
STEPS = [(1, ASKED), (1, READY), (1, AHEAD), (1, TAKEN), (12, AHEAD),
         (20, TAKEN), (1, ON), (21, TAKEN), (2, ON), (1, CLIENT), (1, END),
         (1, ALIVE), (1, DONE), (1, SERVES)]
FIRST_AT = STEPS.index((1, ON))


@pytest.mark.parametrize("number, message", STEPS)
def test_whoever_is_killed_at_a_step_no_call_ends(step, rig, number, message):
    rig.fill()
    load = Load(rig.phones)
    at, gone = STEPS.index((number, message)), STEPS.index((1, ALIVE))
    try:
        for when, which in itertools.product(("before", "after"),
                                             ("new", "old")):
            if (message, when, which) == (ASKED, "before", "new"):
                continue  # there is none
            load.all_heard(10)
            had = lost(rig)
            client = Control(rig.path)
            session = client.ask("hello", {})["result"]["session"]
            ctl, old, *new = upgrade_until(rig, step, when, number, message)
            if which == "new" and not new:
                new = until(lambda: set(children(rig.d.process.pid)) - {old})
            (killed,) = [old] if which == "old" else new
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(killed, signal.SIGKILL)
            step.goes_on()
            ctl.wait(PATIENCE)
            until(lambda: killed not in children(rig.d.process.pid))
            rig.wait_for_next(killed)  # or one that was about to end
            assert rig.listed() == rig.calls
            load.all_heard(10)
            print(f"{which} killed {when} {number} {message}: "
                  f"{lost(rig) - had} frames lost")
            # it may have said that it is alive, after "end"
            if which == "new" and (at <= gone if when == "before"
                                   else at < STEPS.index((1, END))):
                assert rig.process() == old  # which has taken all back
                assert client.ask("hello", {})["result"]["session"] == session
            if which == "new" and at + (when == "after") <= FIRST_AT:
                assert lost(rig) == had  # nothing was given
    finally:
        load.stop()
    lost(rig)
    rig.stop_calls()
    assert {r["reason"] for r in rig.recorded(len(rig.calls))} == {"stopped"}


def test_requests_are_answered_while_the_new_process_builds_calls(step, rig):
    def opened():
        return [rig.ask("endpoint.open", codec="pcmu")["endpoint"]
                for _ in range(2)]

    rig.fill()
    stay, go = opened(), opened()
    changed = rig.two(6000, "pcma")
    rig.one("shared", 6020)
    rig.phones.pop()  # the next one with its SSRC would hear it
    ended = rig.two(6010, "pcma")["call"], rig.calls[-2]
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        # all calls and endpoints of the first look, but two
        ctl, _, _ = upgrade_until(rig, step, "before", len(rig.calls) + 2,
                                  TAKEN)
        for call in ended:
            rig.ask("call.stop", call=call)
            rig.calls.remove(call)
            rig.parties.pop(call)
        rig.one("shared", 6020)
        rig.ask("stream.change", stream=changed["b"]["stream"], weight=77)
        rig.ask("endpoint.close", endpoint=go[0])
        rig.ask("endpoint.change", endpoint=go[1], codec="pcma")
        for ends in stay, opened():
            rig.two(7000 + 10 * ends[0], "pcmu", a={"endpoint": ends[0]},
                    b={"endpoint": ends[1]})
        load.stop()
        rig.phones = [p for parties in rig.parties.values() for p in parties]
        load = Load(rig.phones)
        load.all_heard(10)
        step.goes_on()
        assert ctl.wait(PATIENCE) == 0
        rig.control = Control(rig.path)
        load.all_heard(25)
    finally:
        load.stop()
    assert lost(rig) == 0
    assert rig.listed() == rig.calls
    assert [e["endpoint"] for e in rig.ask("endpoint.list")["endpoints"]
            if not e.get("call")] == go[1:]
    streams = rig.ask("call.query", call=changed["call"])["streams"]
    assert streams[1]["weight"] == 77
    rig.stop_calls()
    assert {r["reason"] for r in rig.recorded(
        len(rig.calls) + len(ended))} == {"stopped"}


def lives(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("number, message",
                         [(1, READY), (2, TAKEN), (1, ON), (1, ALIVE),
                          (1, DONE)])
def test_without_its_supervisor_one_of_both_goes_on(step, rig, number, message):
    rig.fill()
    load = Load(rig.phones)
    both = ()
    try:
        load.all_heard(10)
        ctl, *both = upgrade_until(rig, step, "before", number, message)
        rig.d.process.kill()
        rig.d.process.wait()
        step.goes_on()
        ctl.wait(PATIENCE)
        until(lambda: sum(map(lives, both)) == 1)
        load.all_heard(10)
        rig.control = Control(rig.path)
        assert rig.listed() == rig.calls
    finally:
        load.stop()
        for pid in filter(lives, both):
            os.kill(pid, signal.SIGTERM)
    until(lambda: not any(map(lives, both)))
    lost(rig)


def test_a_new_process_that_is_short_of_memory_or_descriptors_changes_nothing(
        rig):
    if "HELD_STEP_LIBRARY" not in os.environ:
        pytest.skip("a sanitizer takes memory of its own")
    supervisor, old = rig.d.process.pid, rig.process()
    rig.fill()
    load = Load(rig.phones)

    def limit(what, most, hard=None):
        now = resource.prlimit(supervisor, what)[1]
        resource.prlimit(supervisor, what, (most, hard or now))

    status = pathlib.Path(f"/proc/{old}/status").read_text()
    size = int(re.search(r"VmSize:\s+(\d+)", status)[1]) << 10
    try:
        load.all_heard(10)
        for most in size // 8, size // 2, size - (64 << 20):
            limit(resource.RLIMIT_AS, most)
            rig.refused()
        limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)
        load.all_heard(10)
        assert rig.upgrade() == len(rig.calls)
        had = len(os.listdir(f"/proc/{rig.process()}/fd"))
        for most in had - 5, had // 2, had // 4:  # and never back
            limit(resource.RLIMIT_NOFILE, most, most)
            rig.refused()
        load.all_heard(10)
    finally:
        load.stop()
    assert lost(rig) == 0
    assert rig.listed() == rig.calls


def test_the_scheduler_is_switched_meanwhile(rig):
    rig.fill()
    over, wrong, done = threading.Event(), [], []

    def switch():
        control = Control(rig.path)
        for name in itertools.cycle(["edf", "fifo"]):
            if over.is_set():
                return
            try:
                reply = control.ask("scheduler.set", {"scheduler": name})
                (done if "result" in reply else wrong).append(reply)
            except (OSError, json.JSONDecodeError):  # it was the old one's
                control = Control(rig.path)

    load, thread = Load(rig.phones), threading.Thread(target=switch)
    thread.start()
    try:
        for _ in range(UPGRADES):
            had = len(done)
            until(lambda: len(done) > had)
            assert rig.upgrade() == len(rig.calls)
        load.all_heard(10)
    finally:
        over.set()
        thread.join()
        load.stop()
    assert not wrong
    assert lost(rig) == 0


def test_the_scheduler_of_a_client_stays(daemon, tmp_path):
    options = tmp_path / "options"
    options.write_text("scheduler = fifo\n")
    rig = Upgraded(daemon, tmp_path, "--config", options)
    rig.ask("scheduler.set", scheduler="rr,quantum=3ms")
    for _ in range(2):
        rig.upgrade()
        assert rig.ask("stats")["scheduler"] == "rr,quantum=3ms"
    options.write_text("scheduler = edf\n")
    rig.upgrade()
    assert rig.ask("stats")["scheduler"].startswith("edf")


@pytest.mark.parametrize("calls, spin, ring", [(6, "5ms", 4), (1, "100ms", 16)])
def test_an_upgrade_under_overload_counts_each_frame_once(
        daemon, tmp_path, calls, spin, ring):
    """The one worker has half as much again to do as it can; or it has a call
    in hand when the upgrade gives up."""
    rig = Upgraded(daemon, tmp_path, "--ring", ring, "--no-admission")
    for i in range(calls):
        rig.one("own", 1000 + i, "spin", spin=spin)
    load = Load(rig.phones)
    try:
        load.all_heard(10)
        before = rig.process()
        done = rig.ctl("upgrade")
        # what waits is done first, which may take too long
        assert done.returncode == 0 or "let go" in done.stderr
        assert done.returncode or calls > 1
        until(lambda: (rig.process() == before) == (done.returncode != 0))
        rig.control = Control(rig.path)
        load.all_heard(10)
    finally:
        load.stop()
    counts = {}

    def all_counted():
        counts.update({call: rig.ask("call.query", call=call)["streams"][0]
                       ["count"] for call in rig.calls})
        return all(c["packets_in"] == c["done"] + c["overwritten"]
                   for c in counts.values())

    until(all_counted)
    for call, c in counts.items():
        (phone,) = rig.parties[call]
        phone.hear()
        assert c["packets_in"] == phone.sent()
        assert c["packets_out"] == c["done"] == len(phone.heard)
        phone.assert_goes_on()
    assert sum(c["overwritten"] for c in counts.values()) > 0
    rig.stop_calls()


@pytest.mark.parametrize("before, after", [(3, 3), (1, 3), (3, 1)])
def test_receivers_may_be_others(daemon, tmp_path, before, after):
    """What waits at the shared port is nobody else's then."""
    options = tmp_path / "options"
    options.write_text(f"max-age = none\nreceivers = {before}\n")
    rig = Upgraded(daemon, tmp_path, "--config", options)
    for i in range(3 * EACH):
        rig.one("shared", 5000 + i)
    rig.fill()
    load = Load(rig.phones)
    try:
        load.all_heard(25)
        options.write_text(f"max-age = none\nreceivers = {after}\n")
        assert rig.upgrade() == len(rig.calls)
        load.all_heard(25)
        assert lost(rig) == 0
        rig.kill()
        load.all_heard(25)
    finally:
        load.stop()
    lost(rig)
    assert rig.listed() == rig.calls
    assert len(rig.ask("stats")["receivers"]) == max(before, after)


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


@pytest.mark.parametrize("which", ["supervisor", "old"])
def test_a_sighup_during_an_upgrade_is_for_the_new_process(step, daemon,
                                                           tmp_path, which):
    """It has read the options by then."""
    options = tmp_path / "options"
    options.write_text("grace = 5s\n")
    rig = Upgraded(daemon, tmp_path, "--config", options)
    ctl, old, new = upgrade_until(rig, step, "before", 1, READY)
    options.write_text("grace = 7s\n")
    os.kill(old if which == "old" else rig.d.process.pid, signal.SIGHUP)
    for _ in range(2):  # of the loop that hears signals, too
        rig.ask("stats")
    step.goes_on()
    assert ctl.wait(PATIENCE) == 0
    rig.d.logged('option-changed name=grace from="5s" to="7s"')
    until(lambda: children(rig.d.process.pid) == [new])


def test_dialogs_of_a_telephone_system_move_too(daemon, tmp_path):
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    call = Call(System(at))
    call.offer("8 PCMA/8000")
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


def test_calls_that_ring_move_too(daemon, tmp_path):
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    calls = Unanswered(System(at, encoding="bencode"))
    for _ in range(2):
        assert rig.upgrade() == 4  # of one branch of the two
        calls.happened()
    assert {r["reason"] for r in rig.recorded(calls.answered())} == {"stopped"}


def test_a_dialog_begins_while_others_are_built(step, daemon, tmp_path):
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    proxy = System(at)
    *calls, rings, new = (Call(proxy) for _ in range(14))
    for call in calls:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
    # of the twelve dialogs, whose calls and endpoints come first, the fourth
    ctl, _, _ = upgrade_until(rig, step, "before", 3 * len(calls) + 4, TAKEN)
    rings.offer("8 PCMA/8000")
    new.offer("8 PCMA/8000")
    new.answer("8 PCMA/8000")
    step.goes_on()
    assert ctl.wait(PATIENCE) == 0, rig.logged()
    rings.answer("8 PCMA/8000")
    for call in *calls, rings, new:
        assert_talk(call)
        call.delete()
    assert {r["reason"] for r in rig.recorded(14)} == {"stopped"}


@pytest.mark.parametrize("built", [11, 12])
def test_dialogs_change_while_the_new_process_builds_calls(step, daemon,
                                                           tmp_path, built):
    """Three calls, each with two endpoints, and two of the one that rings: 11
    slots; or the first dialog, too."""
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    proxy = System(at)
    before, later, deleted, ringing, new, rings = (Call(proxy) for _ in range(6))
    for call in before, later, deleted:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
    ringing.offer("8 PCMA/8000")
    ctl, _, _ = upgrade_until(rig, step, "before", built, TAKEN)
    later.offer("0 PCMU/8000", known=True)
    later.answer("8 PCMA/8000")
    later.offer("8 PCMA/8000", known=True)
    later.answer("8 PCMA/8000")
    deleted.delete()
    new.offer("8 PCMA/8000")
    new.answer("8 PCMA/8000")
    ringing.answer("8 PCMA/8000")
    rings.offer("8 PCMA/8000")
    step.goes_on()
    assert ctl.wait(PATIENCE) == 0
    rings.answer("8 PCMA/8000")
    for call in before, later, ringing, new, rings:
        assert_talk(call)
        call.delete()
    assert {r["reason"] for r in rig.recorded(6)} == {"stopped"}


@pytest.mark.parametrize("was, now, carried", [(1, 2, 1), (2, 1, 2)])
def test_who_was_offered_lines_gets_these(daemon, tmp_path, was, now, carried):
    """The new process may carry more, or fewer, of an offer that comes."""
    at, conf = f"127.0.0.1:{free_port()}", tmp_path / "conf"
    conf.write_text(f"ng = {at}\nng-call-lines = {was}\n")
    rig = Upgraded(daemon, tmp_path, "--config", str(conf))
    call = TwoLines(System(at))
    formats = "8 PCMA/8000", "0 PCMU/8000"
    call.offer(*formats)
    conf.write_text(f"ng = {at}\nng-call-lines = {now}\n")
    assert rig.upgrade() == carried
    reply = call.answered(*formats)
    assert reply["result"] == "ok"
    assert [line.port != 0 for line in lines(reply["sdp"])] == [
        True, carried == 2]
    assert len(rig.ask("endpoint.list")["endpoints"]) == 2 * carried
    assert rig.ask("stats")["calls_started"] == carried


def test_descriptions_of_a_caller_with_branches_rise(daemon, tmp_path):
    """RFC 3264, 8: of one that was answered and of one that rings."""
    def version(reply):
        return int(re.search(r"^o=\S+ \S+ (\d+) ", reply["sdp"], re.M)[1])

    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    ours = {"replace": [*HERE["replace"], "sdp-version"]}
    call = Call(System(at), **ours)
    for branch in "one", "two":
        call.offer("8 PCMA/8000", via_branch=branch)
    told = version(call.answer("8 PCMA/8000", via_branch="one", **ours))
    call.offer("0 PCMU/8000", via_branch="two")  # its note is the newest
    for _ in range(2):
        assert rig.upgrade() == 1
        now = version(call.offer("8 PCMA/8000", by="b"))
        assert now > told
        told = now
        call.answer("8 PCMA/8000", by="a", **ours)


def test_an_offer_that_is_too_long_to_be_kept(daemon, tmp_path):
    at = f"127.0.0.1:{free_port()}"
    rig = Upgraded(daemon, tmp_path, "--ng", at)
    call = Call(System(at))
    call.offer("8 PCMA/8000", lines=[f"a=x-{i}:{'x' * 60}" for i in range(120)])
    assert "dialog-not-kept" in rig.refused()
    call.answer("8 PCMA/8000")  # that is kept
    assert rig.upgrade() == 1
    assert_talk(call)


def test_an_upgrade_that_would_end_a_dialog_is_refused(daemon, tmp_path):
    """By what the new process reads: a bound, or that there is no --ng."""
    at, conf = f"127.0.0.1:{free_port()}", tmp_path / "conf"
    conf.write_text(f"ng = {at}\n")
    rig = Upgraded(daemon, tmp_path, "--config", str(conf))
    proxy = System(at)
    calls = [Call(proxy) for _ in range(2)]
    for call in calls:
        call.offer("8 PCMA/8000")
        call.answer("8 PCMA/8000")
    for more, why in ("ng-lines = 1", "lines"), ("", "--ng"):
        conf.write_text(f"ng = {at}\n{more}\n" if more else "")
        assert why in rig.refused()
        for call in calls:
            assert_talk(call)
    conf.write_text(f"ng = {at}\n")
    assert rig.upgrade() == 2
    for call in calls:
        assert_talk(call)
        call.delete()
    assert {r["reason"] for r in rig.recorded(2)} == {"stopped"}


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

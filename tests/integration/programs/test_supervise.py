# SPDX-License-Identifier: Apache-2.0
"""codec-runner --supervise: daemons that die by a signal, or hang, come back,
with the descriptors that they gave. SUPERVISED: see supervised.c."""
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from conftest import BUILD, PATIENCE
from test_daemon import start_call
from test_manager import STATUS, manager  # noqa: F401

KILLS = 3
STORE_FDS_MAX = 64
MANY = 3000


def children(pid):
    return [int(word) for word in pathlib.Path(
        f"/proc/{pid}/task/{pid}/children").read_text().split()]


def child(pid):
    (one,) = children(pid)
    return one


def until(condition):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end
        time.sleep(.005)
    return result


# --- the real daemon ---


def test_a_killed_daemon_comes_back_under_its_addresses(daemon, sock, tmp_path):
    path = tmp_path / "control"
    d = daemon("--supervise", "--control-socket", path)
    was = set()
    for n in range(KILLS):
        start_call(d, sock)
        pid = child(d.process.pid)
        was.add(pid)
        os.kill(pid, signal.SIGKILL)
        # scripts wait for that line
        words = d.process.stdout.readline().split()
        assert words[0] == "ready" and f"socket={path}" in words
        done = subprocess.run([BUILD / "codec-ctl", "--to", f"unix:{path}",
                               "hello"], timeout=PATIENCE)
        assert done.returncode == 0
        log = d.logged(f"restarts={n + 1} ")
    assert child(d.process.pid) not in was
    assert len(was) == KILLS
    # at once, then later and later
    assert re.findall(r"daemon-died .* signal=9 .* restart-after=(\S+)",
                      log) == ["0.0", "0.1", "0.2"]
    assert d.stop() == 0
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in was)


def test_the_supervisor_is_small(daemon):
    d = daemon("--supervise")
    status = pathlib.Path(f"/proc/{d.process.pid}/status").read_text()
    assert "\nThreads:\t1\n" in status
    # what no other process shares: the libraries' own data; sanitizers have
    # shadows of their own
    assert os.environ.get("SANITIZED") or int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) < 16384


def test_exit_codes_are_passed_on(daemon, tmp_path):
    def run(*options):
        return subprocess.run([BUILD / "codec-runner", "--supervise",
                               "--config", "none", *options], text=True,
                              capture_output=True, timeout=PATIENCE)

    d = daemon("--supervise", "--control-socket", tmp_path / "control")
    done = run("--no-such")
    assert done.returncode == 2 and "unknown option" in done.stderr
    assert run("--supervise=maybe").returncode == 2
    assert "--supervise" in run("--help").stdout
    # another one at the same addresses
    done = run("--control", "off", "--rtp", d.ready["rtp"])
    assert done.returncode == 1 and d.ready["rtp"] in done.stderr
    done = run("--control", "off", "--rtp", "127.0.0.1:0", "--control-socket",
               tmp_path / "control")
    assert done.returncode == 1 and "control" in done.stderr
    assert d.ctl("stats")["calls"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_both_after_the_drain(daemon, sock, number):
    d = daemon("--supervise", "--drain-timeout", "1h")
    call = start_call(d, sock)
    pid = child(d.process.pid)
    d.process.send_signal(number)
    d.logged(f"signal number={number:d}")
    assert d.ctl("stats")["draining"]
    d.ctl("call", "stop", str(call["call"]))
    assert d.process.wait(PATIENCE) == 0
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_a_daemon_that_is_to_end_does_not_come_back(daemon, sock):
    d = daemon("--supervise", "--drain-timeout", "1h")
    start_call(d, sock)
    d.process.send_signal(signal.SIGTERM)
    d.logged("signal number=15")
    os.kill(child(d.process.pid), signal.SIGKILL)
    assert d.process.wait(PATIENCE) == 128 + signal.SIGKILL


def test_the_manager_sees_one_service(daemon, manager):
    d = daemon("--supervise")
    assert manager.hear() == "READY=1"
    assert STATUS.fullmatch(manager.hear())
    os.kill(child(d.process.pid), signal.SIGKILL)
    d.process.stdout.readline()
    assert manager.hear() == "STATUS=the daemon died by signal 9: restart 1"
    assert STATUS.fullmatch(manager.hear())  # and no second READY=1
    d.process.send_signal(signal.SIGHUP)
    message, before = manager.until("RELOADING=1")
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", message)
    assert all(STATUS.fullmatch(m) for m in before)
    assert manager.hear() == "READY=1"
    assert d.stop() == 0
    message, before = manager.until("STOPPING=1")
    assert "EXTEND_TIMEOUT_USEC=" in message
    assert all(STATUS.fullmatch(m) for m in before)


def test_a_daemon_that_hangs_is_killed_and_comes_back(daemon, manager,
                                                      monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "900000")
    d = daemon("--supervise")
    pid = child(d.process.pid)
    manager.until("READY=1")
    os.kill(pid, signal.SIGSTOP)
    _, before = manager.until("STATUS=the daemon died by signal")
    # the supervisor is well meanwhile
    assert before.count("WATCHDOG=1") >= 3
    assert d.process.stdout.readline().startswith("ready")
    d.logged("watchdog-missed", "restarts=1")
    assert child(d.process.pid) != pid


def test_others_cannot_speak_for_the_daemon(daemon, manager):
    d = daemon("--supervise")
    assert manager.hear() == "READY=1"
    address = pathlib.Path(f"/proc/{child(d.process.pid)}/environ") \
        .read_bytes().split(b"NOTIFY_SOCKET=@")[1].split(b"\0")[0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.connect(b"\0" + address)
        for message in (b"STOPPING=1", b"STATUS=foreign",
                        b"FDSTORE=1\nFDNAME=foreign+0.1"):
            socket.send_fds(s, [message], [s.fileno()])
    os.kill(child(d.process.pid), signal.SIGKILL)
    assert d.process.stdout.readline().startswith("ready")
    d.logged(" restarts=1 ")
    assert b"foreign" not in pathlib.Path(
        f"/proc/{child(d.process.pid)}/environ").read_bytes()
    _, before = manager.until("STATUS=the daemon died")
    assert all(STATUS.fullmatch(m) for m in before)


# --- descriptors, by a daemon that does as it is told ---


class Obedient:
    """supervised.c. held: what it was passed at its start."""

    def __init__(self, log, upgrade_to):
        self.log = log
        with open(log, "w") as f:
            self.process = subprocess.Popen(
                [os.environ["SUPERVISED"], upgrade_to], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=f, text=True)
        self.begun()

    def begun(self):
        words = self.process.stdout.readline().split()
        assert words and words[0] == "ready", self.log.read_text()
        self.pid = int(words[1])
        self.held = dict(word.split("=") for word in words[2:])
        return self.held

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)
        return self.begun()

    def upgrade(self, program=os.environ.get("SUPERVISED")):
        """What the next daemon says, or the supervisor of it."""
        self.process.stdin.write(f"upgrade {program}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert self.process.stdout.readline() == "done\n"
        return said.strip()

    def upgraded(self):
        self.process.stdin.write("upgraded\n")
        self.process.stdin.flush()
        return self.begun()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@pytest.fixture
def obedient(tmp_path):
    o = Obedient(tmp_path / "log", tmp_path / "at/program*")
    yield o
    o.process.stdin.close()
    if o.process.poll() is None:
        o.process.terminate()
        o.process.wait(PATIENCE)
    o.process.stdout.close()


def test_descriptors_come_back_in_their_order_until_removed(obedient):
    assert obedient.held == {}
    assert obedient.kill() == {}  # what starts once has started
    before = obedient.descriptors()
    obedient.say("put a one two three")
    obedient.say("put b four")
    assert obedient.kill() == {"a": "one,two,three", "b": "four"}
    obedient.say("put c five six")
    obedient.say("remove a")
    assert obedient.kill(signal.SIGABRT) == {"b": "four", "c": "five,six"}
    most = [str(n) for n in range(STORE_FDS_MAX)]
    obedient.say(f"put most {' '.join(most)}")
    assert obedient.kill()["most"] == ",".join(most)
    obedient.say("remove most")
    # in place of what was there
    obedient.say("put b seven eight")
    assert obedient.kill(signal.SIGABRT) == {"b": "seven,eight",
                                             "c": "five,six"}
    obedient.say("remove b")
    obedient.say("remove c")
    until(lambda: obedient.descriptors() == before)
    assert obedient.kill() == {}


def test_many_descriptors_come_back_each_time(obedient):
    """More than the usual soft limit, through a queue of ten."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 2 * MANY:
        pytest.skip(f"{hard} descriptors are all")
    obedient.say(f"many {MANY}")
    for _ in range(KILLS):
        held = obedient.kill()
        assert held == {f"m{n}": str(n) for n in range(MANY)}
        obedient.say("remove m7")
        obedient.say("put m7 7")  # the last one now


def test_what_no_daemon_can_start_with_is_dropped(obedient):
    obedient.say("put poison x")
    obedient.say("put other y")
    begun = time.monotonic()
    os.kill(obedient.pid, signal.SIGKILL)
    for _ in range(3):
        assert obedient.begun() == {"poison": "x", "other": "y"}
    assert obedient.begun() == {}
    assert time.monotonic() - begun >= .1 + .2 + .4
    log = obedient.log.read_text()
    assert re.findall(r"daemon-died .* restart-after=(\S+)", log) == \
        ["0.0", "0.1", "0.2", "0.4"]
    assert "store-dropped descriptors=2 tries=3" in log
    obedient.say("put other z")
    assert obedient.kill() == {"other": "z"}


def test_what_the_next_daemon_stores_counts_when_it_is_the_daemon(obedient):
    obedient.say("put a one")
    obedient.say("put b two")
    assert obedient.upgrade() == "ready"
    obedient.say("cancel")
    assert obedient.kill() == {"a": "one", "b": "two"}
    assert obedient.upgrade() == "ready"
    obedient.upgraded()
    until(lambda: len(children(obedient.process.pid)) == 1)
    assert obedient.kill() == {"a": "next", "b": "two", "n": "next"}


def test_a_signal_to_reload_reaches_the_daemon_that_stays(obedient):
    hang_up = lambda: obedient.process.send_signal(signal.SIGHUP)  # noqa: E731
    hang_up()
    heard = obedient.process.stdout.readline
    assert heard() == f"hangup {obedient.pid}\n"
    assert obedient.upgrade() == "ready"
    hang_up()
    obedient.upgraded()
    assert heard() == f"hangup {obedient.pid}\n"
    assert obedient.upgrade() == "ready"
    hang_up()
    obedient.process.stdin.write("cancel\n")
    obedient.process.stdin.flush()
    assert {heard(), heard()} == {"done\n", f"hangup {obedient.pid}\n"}
    assert obedient.upgrade() == "ready"
    hang_up()
    obedient.kill()  # the next one reads what there is
    obedient.say("put a one")


def test_a_daemon_cannot_have_any_program_started(obedient, tmp_path):
    own = os.environ["SUPERVISED"]
    program = tmp_path / "at" / "program-2"
    program.parent.mkdir()
    program.write_bytes(pathlib.Path(own).read_bytes())
    program.chmod(0o755)
    for other in ("/bin/true", f"{program.parent}/./program-2",
                  f"{program.parent}/program/../program-2",
                  f"{tmp_path}/../{tmp_path.name}/at/program-2",
                  f"{os.path.dirname(own)}/./{os.path.basename(own)}"):
        assert "is not started: only" in obedient.upgrade(other), other
    assert len(children(obedient.process.pid)) == 1
    assert obedient.upgrade(program) == "ready"
    obedient.upgraded()
    assert os.readlink(f"/proc/{obedient.pid}/exe") == str(program)


def test_a_program_is_looked_at_again_before_it_is_restarted(obedient,
                                                             tmp_path):
    at = tmp_path / "at"
    for folder, mode in ("good", 0o755), ("bad", 0o757):
        program = tmp_path / folder / "program"
        program.parent.mkdir()
        program.write_bytes(pathlib.Path(os.environ["SUPERVISED"]).read_bytes())
        program.chmod(mode)
    at.symlink_to("good")
    assert obedient.upgrade(at / "program") == "ready"
    obedient.upgraded()
    obedient.kill()
    at.unlink()
    at.symlink_to("bad")
    os.kill(obedient.pid, signal.SIGKILL)
    until(lambda: "not-restarted" in obedient.log.read_text())
    assert not children(obedient.process.pid)


def test_a_signal_ends_a_supervisor_that_waits_to_restart(obedient):
    for _ in range(5):
        obedient.kill()
    os.kill(obedient.pid, signal.SIGKILL)
    until(lambda: not children(obedient.process.pid))
    obedient.process.terminate()
    assert obedient.process.wait(PATIENCE) == 0


def test_an_exit_is_no_crash(obedient):
    obedient.say("put a one")
    obedient.process.stdin.write("exit 7\n")
    obedient.process.stdin.flush()
    assert obedient.process.wait(PATIENCE) == 7
    assert "daemon-died" not in obedient.log.read_text()

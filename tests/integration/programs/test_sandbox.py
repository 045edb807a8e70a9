# SPDX-License-Identifier: Apache-2.0
"""codec-runner without the rights that it does not need: the filter of system
calls in every thread, whatever it does; what is refused, and what ends it;
another user than root. OUTLAW is a scheduler that tries what none may; SANDBOX:
see test_io.py. The other tests of programs run with --sandbox strict, too."""
import errno
import grp
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request

import pytest

from conftest import BUILD, PATIENCE, free_port, real_time_is_allowed
from control import Control
from ng import Proxy
from test_convert import speech, wait_for
from test_daemon import rtp, start_call
from test_io import transcodes

OUTLAW = pathlib.Path(os.environ["OUTLAW"])
SANDBOX = os.environ["SANDBOX"]
NICE = 1 << 23  # CAP_SYS_NICE
EXECUTED = "#!/bin/sh\necho executed >\"$0.mark\"\n"


def status(pid, task="self"):
    """What the kernel says of a thread, by name."""
    path = f"/proc/{pid}/status" if task == "self" else f"/proc/{pid}/task/{task}/status"
    return dict(line.split(":\t", 1) for line in
                pathlib.Path(path).read_text().splitlines())


def threads(d):
    """That of every thread; those that end meanwhile are not asked."""
    found = []
    for task in os.listdir(f"/proc/{d.process.pid}/task"):
        try:
            found.append(status(d.process.pid, task))
        except (FileNotFoundError, ProcessLookupError):
            pass
    assert len(found) > 4
    return found


OWN_FILTERS = int(status("self").get("Seccomp_filters", 0))


def assert_filtered(d, filters=2):
    for thread in threads(d):
        said = thread["Name"], thread["NoNewPrivs"], thread["Seccomp"]
        assert said == (thread["Name"], "1", "2" if filters + OWN_FILTERS else "0")
        assert int(thread["Seccomp_filters"]) == OWN_FILTERS + filters


def log_of(d):
    """What it said of its start."""
    return d.logged(" ready ")


# --- the filter ---

def test_every_thread_is_filtered_from_the_start(daemon):
    d = daemon("--sandbox", "on")
    assert_filtered(d)
    assert re.search(r"info +rights uid=\d+ gid=\d+ sandbox=on\n", log_of(d))


def test_it_is_the_default():
    said = subprocess.run([BUILD / "codec-runner", "--config", "none",
                           "--dump-config"], capture_output=True, text=True)
    assert "sandbox = on\n" in said.stdout


def test_off_filters_nothing_but_gives_no_privileges(daemon):
    d = daemon("--sandbox", "off")
    assert_filtered(d, 0)
    assert " sandbox=off\n" in log_of(d) and "no-sandbox" not in log_of(d)


def test_where_it_cannot_be_had_the_daemon_says_so_and_serves(daemon, sock):
    d = daemon("--sandbox", "on",
               launcher=(SANDBOX, "seccomp"))
    assert " sandbox=off\n" in log_of(d)
    assert re.search(r"warn +no-sandbox why=\"seccomp: .+\"\n", log_of(d))
    assert_filtered(d, 1)  # the launcher's
    transcodes(d, sock)


@pytest.fixture
def world(tmp_path):
    """Folders for all that a daemon may write or load."""
    for name in ("spool", "traces", "plugins"):
        (tmp_path / name).mkdir()
    shutil.copy(OUTLAW, tmp_path / "plugins")
    speech(tmp_path / "spool" / "in.wav", 2)
    return tmp_path


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_all_that_it_does_it_does_filtered(daemon, sock, world, io):
    """In one daemon, at which any other system call would end it."""
    web, ng = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_STREAM)
    d = daemon("--io", io, "--receivers", "2",
               "--control-socket", world / "control", "--http",
               f"127.0.0.1:{web}", "--ng", str(ng), "--spool", world / "spool",
               "--trace-dir", world / "traces", "--plugin-dir",
               world / "plugins", "--records", world / "records",
               "--log-file", world / "log")
    client = Control(world / "control")
    assert client.ask("trace.start", {"name": "t.bin"})["result"]
    call = start_call(d, sock, port="own")
    transcodes(d, sock)
    done = subprocess.run([BUILD / "codec-ctl", *d.where(), "convert", "in.wav",
                           "out.awb"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert d.ctl("scheduler", OUTLAW.name)["scheduler"] == "lifo"
    assert_filtered(d)
    transcodes(d, sock)
    for kind in ("udp", "tcp"):
        proxy = Proxy(f"127.0.0.1:{ng}", kind)
        assert proxy.ask("ping")["result"] == "pong"
        proxy.close()
    with urllib.request.urlopen(f"http://127.0.0.1:{web}/metrics") as page:
        assert b"codec_runner_calls" in page.read()
    (world / "records").rename(world / "records.1")
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "config-read" in (world / "log").read_text())
    d.ctl("call", "stop", str(call["call"]))
    assert client.ask("trace.stop", {})["result"]
    assert (world / "traces" / "t.bin").stat().st_size > 0
    assert_filtered(d)
    assert d.stop() == 0
    # one that has ended before may be freed, and written, after it
    ended = [json.loads(line)["call"] for line in
             (world / "records").read_text().splitlines()]
    assert ended.count(call["call"]) == 1


@pytest.mark.parametrize("scheduler", ["kernel:other", "kernel:nice",
                                       "kernel:fifo", "kernel:rr",
                                       "kernel:deadline"])
def test_threads_of_the_kernels_schedulers_are_filtered(daemon, sock,
                                                        scheduler):
    try:
        d = daemon("--scheduler", scheduler)
    except RuntimeError as e:
        pytest.skip(f"not here: {e}")
    call = start_call(d, sock)
    assert_filtered(d)
    host, port = call["rtp"]["address"].split(":")
    sock.sendto(rtp(0, 0, call["rtp"]["ssrc"], b"\xff" * 160),
                (host, int(port)))
    assert len(sock.recv(2048)) == 172
    d.ctl("call", "stop", str(call["call"]))


# --- what is refused ---

@pytest.fixture
def tries(tmp_path, monkeypatch):
    """The outlaw's file: what it tried, and how that ended."""
    path = tmp_path / "tries"
    monkeypatch.setenv("OUTLAW_TRIES", str(path))
    return path


def told(path):
    return {name: int(err) for name, err in
            (line.split() for line in path.read_text().splitlines())}


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_what_is_not_needed_is_refused_and_the_node_goes_on(daemon, sock,
                                                            tries, io):
    d = daemon("--sandbox", "on", "--io", io,
               "--plugin-dir", OUTLAW.parent)
    assert d.ctl("scheduler", OUTLAW.name)["scheduler"] == "lifo"
    said = told(tries)
    allowed = {n for n, err in said.items() if not err}
    assert allowed >= {"mmap-w", "udp", "tgkill-own"}
    assert allowed <= {"mmap-w", "udp", "tgkill-own", "io_uring"}
    if io == "epoll":
        assert said["io_uring"] == errno.EPERM
    assert said.pop("clone3") == errno.ENOSYS
    assert said.pop("tcgets2") == errno.ENOTTY  # asked, and it is none
    assert all(said[n] == errno.EPERM for n in said if n not in allowed
               and n != "io_uring")
    assert len(said) == 14
    transcodes(d, sock)
    assert d.stop() == 0


def test_without_the_filter_the_same_attempts_succeed(daemon, tries):
    """Else the last test would show nothing."""
    d = daemon("--sandbox", "off", "--plugin-dir", OUTLAW.parent)
    assert d.ctl("scheduler", OUTLAW.name)["scheduler"] == "lifo"
    said = told(tries)
    for name in ("mmap-wx", "mprotect-x", "fork", "tgkill-own"):
        assert said[name] == 0


def load_outlaw(daemon, control, sandbox):
    """How the process ends when it loads it."""
    d = daemon("--sandbox", sandbox, "--plugin-dir", OUTLAW.parent,
               "--control-socket", control)
    Control(control).send("scheduler.set", {"scheduler": OUTLAW.name})
    return d.process.wait(timeout=PATIENCE)


def executable(path):
    path.write_text(EXECUTED)
    path.chmod(0o755)
    return path.parent / (path.name + ".mark")


@pytest.mark.parametrize("sandbox, code, is_there", [
    ("on", -signal.SIGSYS, False), ("strict", -signal.SIGSYS, False),
    ("off", 0, True)])
def test_who_executes_a_program_ends_the_process_instead(daemon, tries, sandbox,
                                                         code, is_there):
    mark = executable(tries)
    assert load_outlaw(daemon, tries.parent / "control", sandbox) == code
    assert mark.exists() == is_there


def test_strict_ends_at_what_is_only_not_needed(daemon, tries):
    assert load_outlaw(daemon, tries.parent / "control",
                       "strict") == -signal.SIGSYS


# --- another user ---

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="not root")


@pytest.fixture
def folder():
    """One that nobody may write to, and look into."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="cr-"))
    who = pwd.getpwnam("nobody")
    os.chown(path, who.pw_uid, who.pw_gid)
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def capabilities(thread):
    return [int(thread[name], 16) for name in ("CapInh", "CapPrm", "CapEff",
                                               "CapAmb")]


def real_time_priorities(d):
    """Of the receiver, and of the threads that have the program's name: its
    workers are among them."""
    found = {"cr-rx": [], "codec-runner": []}
    for thread in threads(d):
        pid = int(thread["Pid"])
        if thread["Name"] in found and \
                os.sched_getscheduler(pid) == os.SCHED_FIFO:
            found[thread["Name"]].append(os.sched_getparam(pid).sched_priority)
    return found


@ROOT_ONLY
@pytest.mark.parametrize("options, kept", [
    ([], 0), (["--realtime"], NICE), (["--realtime-workers"], NICE),
    (["--scheduler", "kernel:fifo"], NICE)])
def test_root_becomes_another_user(daemon, sock, folder, options, kept):
    who = pwd.getpwnam("nobody")
    kept &= int(status("self")["CapPrm"], 16)
    if "kernel:fifo" in options and not real_time_is_allowed():
        pytest.skip("root may not have real-time priority here")
    d = daemon("--user", "nobody", "--control-socket",
               folder / "control", "--records", folder / "records",
               "--log-file", folder / "log", *options)
    transcodes(d, sock)
    groups = {str(who.pw_gid), *(str(g.gr_gid) for g in grp.getgrall()
                                 if who.pw_name in g.gr_mem)}
    for thread in threads(d):
        assert set(thread["Uid"].split()) == {str(who.pw_uid)}
        assert set(thread["Gid"].split()) == {str(who.pw_gid)}
        assert set(thread["Groups"].split()) == groups
        assert capabilities(thread) in ([0, kept, kept, 0], [0, 0, 0, 0])
    assert {os.stat(folder / n).st_uid for n in ("control", "records", "log")} \
        == {who.pw_uid}
    assert_filtered(d)
    if real_time_is_allowed() and "--scheduler" not in options:
        workers = [10] if "--realtime-workers" in options else []
        assert real_time_priorities(d) == {"cr-rx": [20],
                                           "codec-runner": workers}
    # what could be opened can be opened again
    (folder / "log").rename(folder / "log.1")
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: (folder / "log").exists())
    wait_for(lambda: "config-read" in (folder / "log").read_text())
    assert "not-reopened" not in (folder / "log").read_text()
    assert d.stop() == 0


@ROOT_ONLY
def test_root_that_stays_root_is_told(daemon, folder):
    assert re.search(r"warn +root why=.*--user", log_of(daemon()))
    d = daemon("--user", "nobody")
    assert " root why=" not in log_of(d)


@ROOT_ONLY
def test_a_file_of_options_that_only_root_may_read_is_told_of(daemon, folder):
    """Now, and not first when SIGHUP cannot read it."""
    path = folder / "options"
    path.write_text("ring = 9\n")
    path.chmod(0o600)
    d = daemon("--user", "nobody", "--config", path)
    d.logged(f" config-not-readable file={path} uid=",
             'error="Permission denied" why="SIGHUP cannot read it again"\n')
    d = daemon("--config", path)
    d.logged(" rights ", " ready ")
    assert "config-not-readable" not in log_of(d)


@ROOT_ONLY
def test_a_file_that_the_user_may_not_write_is_a_failed_start(tmp_path):
    done = subprocess.run([BUILD / "codec-runner", "--config", "none", "--user",
                           "nobody", "--log-file", "/etc/codec-runner.log"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "/etc/codec-runner.log" in done.stderr
    assert not os.path.exists("/etc/codec-runner.log")


@pytest.mark.parametrize("name, said", [
    ("nobody-knows-me", "there is no user 'nobody-knows-me'"),
    ("root", "'root' is root")])
def test_a_wrong_user_is_a_wrong_option(name, said):
    for more in ([], ["--check-config"]):
        done = subprocess.run([BUILD / "codec-runner", "--config", "none",
                               "--user", name, *more], capture_output=True,
                              text=True, timeout=PATIENCE)
        assert done.returncode == 2
        assert f"--user: {said}" in done.stderr


@ROOT_ONLY
def test_only_root_may_become_somebody_else():
    """Run by a user who may see the program, wherever that was built."""
    who = pwd.getpwnam("daemon")
    there = pathlib.Path(tempfile.mkdtemp(prefix="cr-"))
    there.chmod(0o755)
    shutil.copy(BUILD / "codec-runner", there)
    as_daemon = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [],
                 "capture_output": True, "text": True, "timeout": PATIENCE}
    line = [there / "codec-runner", "--config", "none", "--rtp", "127.0.0.1:0",
            "--control", "127.0.0.1:1"]
    done = subprocess.run([*line, "--user", "nobody"], **as_daemon)
    assert done.returncode == 1
    assert "only root can become 'nobody'" in done.stderr
    # whom it is already is nothing to become; no machine has that address
    done = subprocess.run([*line, "--user", "daemon", "--ng", "192.0.2.1:1",
                           "--ng-allow", "192.0.2.1"], **as_daemon)
    assert done.returncode == 1 and "--ng" in done.stderr
    shutil.rmtree(there)

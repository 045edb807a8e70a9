# SPDX-License-Identifier: Apache-2.0
"""The control protocol by a Unix socket, from a foreign language's side."""
import fcntl
import grp
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

from conftest import BUILD, PATIENCE, ROOT, Daemon
from control import Control


@pytest.fixture
def path():
    """Where a socket may be: short, and in a folder that all may look into."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cr-"))
    folder.chmod(0o755)
    yield folder / "control"
    shutil.rmtree(folder)


def run_ctl(path, *words):
    return subprocess.run([BUILD / "codec-ctl", "--to", f"unix:{path}", *words],
                          capture_output=True, text=True, timeout=PATIENCE)


def start_refused(path):
    """Why a daemon with this socket does not start."""
    done = subprocess.run(
        [BUILD / "codec-runner", "--rtp", "127.0.0.1:0", "--control",
         "127.0.0.1:5999", "--sctp", "user", "--udp-port", "9998", "--workers",
         "1", "--pin", "none", "--rx-cpu", "none", "--control-socket",
         str(path)],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (1, 2), done.stdout
    assert "ready" not in done.stdout
    return done.stderr


def test_the_documents_client_works(daemon, path, tmp_path):
    text = (ROOT / "docs" / "protocol.md").read_text()
    (code,) = re.findall(r"^## A client in Python$.*?^```python\n(.*?)^```",
                         text, re.M | re.S)
    assert len([s for s in code.splitlines() if s]) <= 15
    program = tmp_path / "client.py"
    program.write_text(code)
    d = daemon("--control-socket", str(path))
    done = subprocess.run(["/usr/bin/python3", "-S", "-E", program, path],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert re.fullmatch(r"codec-runner \d+\.\d+\.\d+", said[0])
    assert re.fullmatch(r"send RTP to 127\.0\.0\.1:\d+ with SSRC \d+", said[1])
    assert len(said) == 2
    assert d.ctl("list")["streams"] == []
    d.log.seek(0)
    log = d.log.read()
    assert re.search(r"peer-up.*peer=unix:pid=\d+,uid=%d " % os.getuid(), log)
    assert re.search(r"peer-gone.*peer=unix:.*reason=bye", log)


def test_who_may_only_read_the_folder_keeps_nobody_from_starting(daemon, path):
    """A local user locks it; nothing else than the socket is in it later."""
    lock = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    d = daemon("--control-socket", str(path))
    assert d.ready["socket"] == str(path)
    assert os.listdir(path.parent) == [path.name]
    os.close(lock)
    assert run_ctl(path, "stats").returncode == 0


def test_a_folder_that_cannot_be_written_to_is_named(path):
    """To a user who may only read it: nothing is locked, nothing is left."""
    if os.getuid():
        pytest.skip("not root: cannot start it as somebody else")
    done = subprocess.run(
        [BUILD / "codec-runner", "--config", "none", "--rtp", "127.0.0.1:0",
         "--control", "127.0.0.1:5999", "--sctp", "user", "--udp-port", "9998",
         "--workers", "1", "--pin", "none", "--rx-cpu", "none", "--user",
         "nobody", "--control-socket", str(path)],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert (f"{path}: cannot make {path}.codec-runner-start: "
            "Permission denied") in done.stderr
    assert os.listdir(path.parent) == []


def test_our_own_programs_take_it(daemon, path, campaign):
    d = daemon("--control-socket", str(path))
    assert d.ready["socket"] == str(path)
    hello = run_ctl(path, "--json", "hello")
    assert json.loads(hello.stdout)["transport"] == "unix"
    assert run_ctl(path, "call", "stop", "7").returncode == 1
    calls = campaign("seed: 1\nduration: 1s\nflows:\n  - name: some\n"
                     "    count: 2\n    in: {codec: pcmu}\n"
                     "    out: {codec: pcma}\n")
    fed = subprocess.run([BUILD / "codec-feeder", calls, "--to",
                          f"unix:{path}", "--quiet", "--json"],
                         capture_output=True, text=True, timeout=PATIENCE)
    assert fed.returncode == 0, fed.stderr
    assert json.loads(fed.stdout)


@pytest.mark.skipif(not shutil.which("socat"), reason="no socat")
def test_a_shell_pipe_gets_its_replies(daemon, path):
    d = daemon("--control-socket", str(path))
    asked = "".join('{"jsonrpc":"2.0","id":%d,"method":"codecs"}\n' % i
                    for i in range(50))
    done = subprocess.run(["socat", "-t", "30", "-", f"UNIX-CONNECT:{path}"],
                          input=asked, capture_output=True, text=True,
                          timeout=PATIENCE)
    replies = [json.loads(s) for s in done.stdout.splitlines()]
    assert [r["id"] for r in replies] == list(range(50))
    assert all(r["result"]["codecs"] for r in replies)
    # who had no calls and leaves without a bye is nothing to warn of
    assert run_ctl(path, "hello").returncode == 0
    d.log.seek(0)
    assert re.search(r" info +peer-gone .*reason=shutdown calls=0", d.log.read())


def test_its_mode_is_0660_and_it_goes_at_the_end(daemon, path):
    d = daemon("--control-socket", str(path))
    assert stat.filemode(path.lstat().st_mode) == "srw-rw----"
    assert d.stop() == 0
    assert not path.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be somebody else")
def test_others_may_not_connect(daemon, path):
    daemon("--control-socket", str(path))
    code = ("import socket, sys; "
            "socket.socket(socket.AF_UNIX).connect(sys.argv[1])")
    done = subprocess.run(["/usr/bin/python3", "-c", code, path], user=65534,
                          group=65534, extra_groups=[], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert "PermissionError" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be somebody else")
def test_who_may_not_connect_is_told_the_way_out(daemon, path):
    """The group of the socket, or of its folder where that is closed; of
    root's group nobody becomes a member."""
    path.parent.joinpath("in").mkdir()
    program = shutil.copy(BUILD / "codec-ctl", path.parent)
    path = path.parent / "in" / path.name
    daemon("--control-socket", str(path))

    def refused():
        done = subprocess.run([program, "--to", f"unix:{path}", "hello"],
                              user=65534, group=65534, extra_groups=[],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 3
        return done.stderr

    assert refused() == (f"codec-ctl: unix:{path}: {path}: Permission denied; "
                         "use sudo\n")
    join = ("members of the group daemon may: sudo usermod -aG daemon $USER "
            "and log in again, or use sudo\n")
    os.chown(path, -1, grp.getgrnam("daemon").gr_gid)
    assert refused().endswith(f": Permission denied; {join}")
    os.chown(path, -1, 0)
    os.chown(path.parent, -1, grp.getgrnam("daemon").gr_gid)
    path.parent.chmod(0o750)
    assert refused().endswith(f": Permission denied; {join}")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_folder_is_no_socket_for_members_either(daemon, path):
    """Who has forgotten the socket's name is not told to join a group."""
    program = shutil.copy(BUILD / "codec-ctl", path.parent)
    folder = path.parent / "in"
    folder.mkdir(mode=0o750)
    os.chown(folder, -1, grp.getgrnam("daemon").gr_gid)
    daemon("--control-socket", str(folder / path.name))
    done = subprocess.run([program, "--to", f"unix:{folder}", "hello"],
                          user=65534, group=65534, extra_groups=[],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert done.stderr.endswith(
        f"Permission denied; it is no socket, name one ({folder}/...)\n")


def test_a_killed_daemons_socket_is_replaced(daemon, path, tmp_path):
    first = Daemon("--control-socket", str(path), log=tmp_path / "first.log")
    first.process.kill()
    assert first.stop() == -signal.SIGKILL
    assert stat.S_ISSOCK(path.lstat().st_mode)
    assert "nothing listens at" in run_ctl(path, "list").stderr
    daemon("--control-socket", str(path))
    assert run_ctl(path, "list").returncode == 0


def test_a_living_daemons_socket_is_not_replaced(daemon, path):
    daemon("--control-socket", str(path))
    assert "another process listens there" in start_refused(path)
    assert run_ctl(path, "list").returncode == 0


def test_what_cannot_be_a_socket_is_refused(path):
    path.write_text("precious")
    assert "is not a socket" in start_refused(path)
    assert path.read_text() == "precious"
    assert "1 to 107 bytes" in start_refused("/tmp/" + 103 * "p")
    assert "No such file" in start_refused(path.parent / "none" / "control")


def test_ctl_says_what_is_wrong_with_the_way(path):
    missing = run_ctl(path, "list")
    assert missing.returncode == 3
    assert "there is no socket" in missing.stderr
    assert "--control-socket?" in missing.stderr
    longer = run_ctl(108 * "p", "list")
    assert longer.returncode == 2
    assert "may have 107 bytes" in longer.stderr


def test_events_come_between_replies(daemon, path, sock):
    daemon("--control-socket", str(path))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(str(path))
        lines = s.makefile()
        out = "127.0.0.1:%d" % sock.getsockname()[1]

        def say(i, method, params):
            s.sendall(json.dumps({"jsonrpc": "2.0", "id": i, "method": method,
                                  "params": params}).encode() + b"\n")

        say(0, "call.start", {"in": {"codec": "pcmu"},
                              "out": {"codec": "pcma", "address": out}})
        heard = [json.loads(lines.readline())]
        say(1, "call.stop", {"call": heard[0]["result"]["call"]})
        say(2, "codecs", {})
        heard += [json.loads(lines.readline()) for _ in range(3)]
    assert sorted(m["id"] for m in heard if "id" in m) == [0, 1, 2]
    (told,) = [m for m in heard if "method" in m]
    assert told["method"] == "stream.ended" and told["params"]["call"] == 1


def test_who_comes_while_the_node_ends_is_turned_away(daemon, path):
    """A client that does not read keeps control open for a second."""
    d = daemon("--control-socket", str(path))
    deaf = Control(path)
    for _ in range(100):
        deaf.send("codecs", {})
    assert "result" in deaf.hear()
    d.process.send_signal(signal.SIGTERM)
    d.logged("drain ")
    answered, why = 0, None
    while not why:
        try:
            late = Control(path)
            late.send("trace.stop", {})
            told = late.hear()
        except (OSError, json.JSONDecodeError):
            break  # it has ended
        if told["id"] is None:
            why = told["error"]["message"]
        else:
            answered += 1
    assert why or not answered
    assert why is None or "this node ends" in why
    assert d.process.wait(timeout=PATIENCE) == 0

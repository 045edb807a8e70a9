# SPDX-License-Identifier: Apache-2.0
"""docs/security.md, tried: what listens where without options, and limits that
no other test goes up to; the page has their numbers. Those of NG are in
test_ng.py and test_ng_room.py, of HTTP's connections and of the log in
test_limits.py, of clients that do not read in the tests of src/rpc."""
import contextlib
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from conftest import BUILD, PATIENCE, ROOT, free_port
from control import Control
from test_daemon import rtp, start_call
from test_http import ask

PAGE = (ROOT / "docs" / "security.md").read_text()


def numbers(what):
    """Those of the page's row about it, in order."""
    row, = re.findall(rf"^\| {re.escape(what)} \| ([^|]*) \|", PAGE, re.M)
    return [int(n.replace(",", "")) * (1024 if unit else 1)
            for n, unit in re.findall(r"(\d[\d,]*)( KiB)?", row)]


# --- what listens ---

def address(text):
    host, port = text.split(":")
    return (socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16))


def listening(pid):
    """(protocol, host, port) of the process's sockets that hear anybody."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
            inodes |= set(re.findall(r"^socket:\[(\d+)\]$", name))
    found = set()
    for kind in ("tcp", "udp", "raw", "tcp6", "udp6", "raw6"):
        path = pathlib.Path(f"/proc/{pid}/net/{kind}")
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        for line in lines:
            words = line.split()
            if words[9] in inodes:
                found.add((kind, *address(words[1])) if "6" not in kind
                          else (kind, words[1]))
    return found


def test_without_options_it_listens_to_loopback_at_the_first_rows(tmp_path):
    """In a network of its own, or where nobody else has these ports."""
    process = subprocess.Popen([BUILD / "codec-runner", "--config", "none",
                                "--sctp", "user"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    if not process.stdout.readline().startswith("ready"):
        why = process.communicate()[1]
        assert "in use" in why
        pytest.skip(why.splitlines()[-1])
    found = listening(process.pid)
    unix = pathlib.Path(f"/proc/{process.pid}/net/unix").read_text()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert found == {("udp", "127.0.0.1", 40000), ("udp", "127.0.0.1", 9899)}
    assert "| 127.0.0.1:40000 |" in PAGE and "port 9899" in PAGE
    assert "codec-runner" not in unix


def test_ports_of_calls_are_there_while_calls_are(daemon, sock):
    d = daemon()
    before = listening(d.process.pid)
    call = start_call(d, sock, port="own")
    host, port = call["rtp"]["address"].split(":")
    assert listening(d.process.pid) - before == {("udp", host, int(port))}
    d.ctl("call", "stop", str(call["call"]))
    while listening(d.process.pid) != before:
        pass


# --- speech ---

def test_strangers_and_large_datagrams_are_counted_and_not_heard(daemon, sock):
    d = daemon()
    most, = numbers("a datagram")
    call = start_call(d, sock)
    host, port = call["rtp"]["address"].split(":")
    ssrc = call["rtp"]["ssrc"]
    for other in (ssrc ^ 1, ssrc ^ 0x80000000):
        sock.sendto(rtp(0, 0, other, bytes(160)), (host, int(port)))
    sock.sendto(rtp(0, 0, ssrc, bytes(most + 1 - 12)), (host, int(port)))
    sock.sendto(rtp(1, 0, ssrc, bytes(160)), (host, int(port)))
    assert len(sock.recv(2048)) == 172
    rx = d.ctl("stats")["rx"]
    assert (rx["unknown_ssrc"], rx["oversized"], rx["packets"]) == (2, 1, 4)


# --- control ---

def test_a_client_more_than_there_may_be_is_refused(daemon, tmp_path):
    path = tmp_path / "control"
    daemon("--control-socket", path)
    most, _ = numbers("clients")  # and an eighth of the descriptors
    most = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 8)
    assert "| half of its transport's |" in PAGE  # they are all of one user
    most = (most + 1) // 2
    clients = [Control(path) for _ in range(most)]
    assert "result" in clients[-1].ask("hello", {})
    extra = Control(path)
    assert extra.hear()["error"]["code"] == 1
    assert extra.socket.recv(1) == b""
    clients.pop().socket.close()
    while True:  # the daemon sees that in its own time
        again = Control(path)
        with contextlib.suppress(BrokenPipeError):  # refused, and closed
            again.send("hello", {})
        if "result" in again.hear():
            break


def test_requests_have_a_size(daemon, tmp_path):
    daemon("--control-socket", tmp_path / "control")
    client = Control(tmp_path / "control")
    size, batch = numbers("a request, or a batch")
    text = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}'
    client.socket.sendall(text.ljust(size) + b"\n")
    assert "result" in client.hear()
    client.socket.sendall(text.ljust(size + 1) + b"\n")
    assert client.hear()["error"]["code"] == -32600
    one = b'{"jsonrpc":"2.0","id":1,"method":"no"}'
    client.socket.sendall(b"[" + b",".join([one] * batch) + b"]\n")
    assert len(client.hear()) == batch
    client.socket.sendall(b"[" + b",".join([one] * (batch + 1)) + b"]\n")
    assert client.hear()["error"]["code"] == -32600


# --- who may control ---

METHODS = re.findall(r"^### (\S+)$", re.search(
    r"^## Methods$.*?^## ", (ROOT / "docs" / "protocol-reference.md").read_text(),
    re.M | re.S).group(), re.M)

needs_root = pytest.mark.skipif(os.getuid() != 0,
                                reason="cannot become another user")


@pytest.fixture
def open_folder():
    """One that all may look into."""
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def ctl_as_nobody(d, program, *words):
    return subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
         program, *d.where(), "--json", *words],
        capture_output=True, text=True, timeout=PATIENCE, cwd="/")


@needs_root
def test_without_the_key_no_method_is_for_another_user(daemon, open_folder):
    """By SCTP, which tells nothing of who asks; and with it all are. The
    daemon is root's, and so is the key that it has made."""
    d = daemon()
    program = shutil.copy(BUILD / "codec-ctl", open_folder / "ctl")
    key = pathlib.Path(pwd.getpwuid(0).pw_dir, ".codec-runner/control.key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert {"hello", "call.start", "scheduler.set", "drain"} < set(METHODS)
    for method in METHODS:
        done = ctl_as_nobody(d, program, "raw", method, "{}")
        assert (done.returncode, done.stdout) == (
            (0, "{}\n") if method == "bye" else (1, "")), method
        assert method == "bye" or "needs the node's key" in done.stderr
    wrong = open_folder / "wrong"
    wrong.write_text("0" * 64 + "\n")
    done = ctl_as_nobody(d, program, "--key", wrong, "list")
    assert done.returncode == 1 and "it is not this node's" in done.stderr
    told = d.ctl("stats")["control"]["errors"]
    assert told["10"] == len(METHODS)  # all but bye, and the wrong key
    d.logged("hello without a key", "it has sent a wrong key")
    assert not d.ctl("hello")["draining"]
    known = open_folder / "known"
    known.write_text(key.read_text())
    os.chown(known, 65534, 65534)
    for method in METHODS:
        if method in ("drain", "bye"):
            continue
        done = ctl_as_nobody(d, program, "--key", known, "raw", method, "{}")
        assert "key" not in done.stderr, method
    assert ctl_as_nobody(d, program, "--key", known, "drain").returncode == 0
    assert d.stop() == 0


def test_control_off_leaves_the_unix_socket(daemon, tmp_path):
    d = daemon("--control", "off", "--control-socket", tmp_path / "control")
    assert (d.ready["control"], d.ready["sctp"]) == ("off", "off")
    assert {kind: port for kind, _, port in listening(d.process.pid)} == {
        "udp": int(d.ready["rtp"].split(":")[1])}
    client = Control(tmp_path / "control")
    assert client.ask("hello", {})["result"]["transport"] == "unix"


def test_control_off_alone_serves(daemon):
    assert daemon("--control", "off").ready["control"] == "off"


@pytest.mark.parametrize("mode, text, why", [
    (0o644, "k" * 32, "others can read or write the key"),
    (0o660, "k" * 32, "others can read or write the key"),
    (0o600, "k" * 15, "a key of 16 to 127 characters"),
    (0o600, "k" * 128, "a key of 16 to 127 characters"),
    (0o600, "", "a key of 16 to 127 characters")])
def test_a_key_that_others_may_know_is_refused(tmp_path, mode, text, why):
    key = tmp_path / "key"
    key.write_text(text + "\n")
    key.chmod(mode)
    done = subprocess.run([BUILD / "codec-runner", "--config", "none",
                           "--control-key", key], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 1 and not done.stdout
    assert f"--control-key: {key}: " in done.stderr and why in done.stderr


def test_a_key_that_is_not_there_is_made(daemon, tmp_path):
    key = tmp_path / "key"
    d = daemon("--control-key", key)
    assert key.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}\n", key.read_text())
    assert "not this node's" in d.ctl("list", code=1)  # this user's own
    assert d.ctl("--key", key, "list")["streams"] == []


# --- the web ---

def test_what_is_asked_of_the_web_has_a_size(daemon):
    d = daemon("--http", f"127.0.0.1:{free_port(socket.SOCK_STREAM)}",
               "--http-control")
    headers, body = numbers("headers; a body")
    json = {"Content_Type": "application/json", "X_Codec_Runner": "1"}
    assert ask(d, "/healthz", X_Long="x" * (headers - 1024))[0] == 200
    assert ask(d, "/healthz", X_Long="x" * headers)[0] == 431
    assert ask(d, "/scheduler", '{"scheduler":"fifo"}'.ljust(body),
               **json)[0] == 200
    assert ask(d, "/scheduler", '{"scheduler":"edf"}'.ljust(body + 1),
               **json)[0] == 413
    assert d.ctl("stats")["scheduler"].startswith("fifo")
    assert ask(d, "/healthz", Host="node.example")[0] == 403

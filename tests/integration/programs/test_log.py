# SPDX-License-Identifier: Apache-2.0
"""The log as programs read it: a JSON object a line, or entries of systemd's
journal with fields, by a journal that is a real one."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess

import pytest

from conftest import BUILD, PATIENCE
from control import Control
from ng import Proxy
from test_http import ask
from test_records import wait_for
from test_security import METHODS

JOURNAL = "/usr/lib/systemd/systemd-journald"
# A call's id, to be taken for something else.
FORGED = b'\xff\xc3\xb6 PRIORITY=0"}\n\x1b[31m \\'


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def say_nonsense(d):
    """An offer by NG that is refused, of a call with that id."""
    host, port = d.ready["ng"].rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"cookie d7:call-id%d:%s7:command5:offer8:from-tag1:a"
                 b"3:sdp4:nonee" % (len(FORGED), FORGED), (host, int(port)))


def test_each_line_is_an_object_whatever_peers_say(daemon, tmp_path, sock):
    path = tmp_path / "log"
    d = daemon("--log-format", "json", "--log-file", path, "--ng",
               "127.0.0.1:0", "--max-calls", "1", "--control-socket",
               tmp_path / "control", "--drain-timeout", "0s")
    client = Control(tmp_path / "control")
    client.ask("hello", {"client": 'x" event=y \n{"a":1}'})
    client.start(sock)
    client.start(sock)
    say_nonsense(d)
    wait_for(lambda: any(e["event"] == "ng-refused"
                         for e in lines_of(path)))
    told = {e["event"]: e for e in lines_of(path)}
    assert all(list(e)[:3] == ["time", "level", "event"]
               for e in told.values())
    assert told["ready"]["rtp"] == d.ready["rtp"]
    assert told["hello"]["client"] == 'x" event=y \n{"a":1}'
    assert told["admit-refused"]["level"] == "info"
    assert "--max-calls" in told["admit-refused"]["why"]
    assert told["ng-refused"]["call"] == \
        '\ufffdö PRIORITY=0"}\n\x1b[31m \\'
    assert isinstance(told["descriptors"]["limit"], int)


READS = {"hello", "call.query", "call.list", "call.export", "stream.top",
         "endpoint.query", "endpoint.list", "stream.query", "stream.list",
         "convert.query", "convert.list", "stats", "codecs", "schedulers",
         "bye"}


def audited(path, did):
    return [e for e in lines_of(path)
            if e["event"] == "audit" and e["did"] == did]


def test_each_method_that_changes_something_is_told_with_who(daemon, tmp_path,
                                                             sock):
    """Done or refused, by the socket (with the user) and by SCTP."""
    path, spool = tmp_path / "log", tmp_path / "spool"
    spool.mkdir()
    d = daemon("--log-format", "json", "--log-file", path, "--control-socket",
               tmp_path / "control", "--spool", spool)
    client = Control(tmp_path / "control")
    for method in METHODS:
        if method not in ("drain", "trace.stop"):
            client.ask(method, {"nothing": 1})
    client.ask("trace.stop", {})
    call = client.start(sock)["result"]["call"]
    client.stop({"call": call})
    client.ask("scheduler.set", {"scheduler": "fifo"})
    d.ctl("call", "stop", "77", code=1)
    (spool / "in.wav").write_text("nothing")
    client.ask("convert.start", {"in": "in.wav", "out": "out.wav",
                                 "codec": "pcmu"})
    client.ask("drain", {"limit": "0s"})
    assert d.stop() == 0
    told = [e for e in lines_of(path) if e["event"] == "audit"]
    assert {e["did"] for e in told} == set(METHODS) - READS
    user = f"unix:pid={os.getpid()},uid={os.getuid()}"
    assert {e["who"] for e in told if not e["who"].startswith("127.")} == {user}
    for method in set(METHODS) - READS - {"drain", "trace.stop"}:
        first = audited(path, method)[0]
        assert (first["what"], first["result"]) == ("nothing=1", "refused")
        assert "nothing" in first["why"] or "--" in first["why"], first
    done = audited(path, "call.start")[1]
    assert done["result"] == "done" and done["what"].endswith(f" call={call}")
    assert "in.codec=pcmu" in done["what"]
    assert "out.address=127.0.0.1:%d" % sock.getsockname()[1] in done["what"]
    assert audited(path, "call.stop")[1]["what"] == f"call={call}"
    other = audited(path, "call.stop")[2]
    assert other["who"].startswith("127.0.0.1:") and "77" in other["what"]
    assert audited(path, "scheduler.set")[1] | {"time": ""} == {
        "time": "", "level": "info", "event": "audit", "who": user,
        "did": "scheduler.set", "what": "scheduler=fifo", "result": "done"}
    assert audited(path, "drain")[0]["result"] == "done"


def test_a_flood_of_requests_does_not_hide_who_drains(daemon, tmp_path):
    """What is too much of one kind is counted in its next line."""
    path = tmp_path / "log"
    d = daemon("--log-format", "json", "--log-file", path, "--control-socket",
               tmp_path / "control")
    client = Control(tmp_path / "control")
    for _ in range(2000):
        client.ask("call.stop", {"call": 1})
        client.ask("drain", {"limit": "never"})
    client.ask("drain", {"limit": "0s"})
    assert d.stop() == 0
    drains = audited(path, "drain")
    assert {e["result"] for e in drains[:-1]} == {"refused"}
    assert drains[-1]["result"] == "done"
    stops = audited(path, "call.stop")
    assert len(stops) < 2000
    kept = len(stops) + sum(e.get("suppressed", 0) for e in stops)
    assert kept <= 2000


def test_those_of_the_web_and_of_ng_are_told(daemon, tmp_path):
    path = tmp_path / "log"
    d = daemon("--log-format", "json", "--log-file", path, "--log-level",
               "debug", "--ng", "127.0.0.1:0", "--http", "127.0.0.1:0",
               "--http-control")
    json_type = {"Content_Type": "application/json", "X_Codec_Runner": "1"}
    for name in ("fifo", "nosuch"):
        ask(d, "/scheduler", json.dumps({"scheduler": name}), **json_type)
    proxy = Proxy(d.ready["ng"])
    for command in ("ping", "offer", "answer", "delete", "query", "list",
                    "statistics"):
        proxy.ask(command, **{"call-id": "a call", "from-tag": "a",
                              "to-tag": "b", "sdp": "none"})
    assert d.stop() == 0
    web = audited(path, "POST /scheduler")
    assert [(e["what"], e["result"]) for e in web] == [("fifo", "done"),
                                                       ("nosuch", "refused")]
    assert all(e["who"].startswith("http:127.0.0.1:") for e in web)
    ng = [e for e in lines_of(path) if e.get("who", "").startswith("ng:")]
    assert [(e["did"], e["what"], e["result"], e["level"]) for e in ng] == [
        ("offer", "call=a call", "refused", "debug"),
        ("answer", "call=a call", "refused", "debug"),
        ("delete", "call=a call", "done", "debug")]
    host, port = proxy.socket.getsockname()
    assert {e["who"] for e in ng} == {f"ng:{host}:{port}"}
    proxy.close()


def test_a_sessions_secret_is_nowhere(daemon, tmp_path, sock):
    """Who knows it has the session's calls. The log names sessions by numbers,
    which show who has taken over whose."""
    log, control = tmp_path / "log", tmp_path / "control"
    d = daemon("--log-format", "json", "--log-level", "debug", "--log-file",
               log, "--records", tmp_path / "records", "--trace",
               tmp_path / "trace", "--control-socket", control, "--grace",
               "100ms", "--drain-timeout", "0s")
    first, second = Control(control), Control(control)
    secret = first.ask("hello", {"client": "first"})["result"]["session"]
    other = second.ask("hello", {"client": "second"})["result"]["session"]
    first.start(sock)
    said = [second.ask("hello", {"resume": secret})["result"].pop("session"),
            first.ask("call.start", {}),  # it has no session any more
            second.ask("hello", {"resume": other})]  # nor is there this one
    assert said.pop(0) == secret
    second.lines.close()
    second.socket.close()
    wait_for(lambda: any(e["event"] == "session-over" for e in lines_of(log)))
    said.append(first.ask("hello", {"resume": secret}))
    assert d.stop() == 0
    told = {e["event"]: e for e in lines_of(log)}
    taken = told["session-resumed"]
    assert (taken["session"], taken["instead"], taken["calls"]) == (1, 2, 1)
    assert all(taken[of].startswith("unix:pid=") for of in ("peer", "from"))
    assert told["session-over"]["session"] == 1
    assert {e["session"] for e in lines_of(log) if e["event"] == "hello"} == \
        {1, 2}
    kept = {p.name: p.read_bytes() for p in tmp_path.iterdir()
            if not p.is_socket()}
    assert {"log", "records", "trace"} <= set(kept)
    kept["replies"] = json.dumps(said).encode()
    for text in (secret, other):
        assert [n for n, b in kept.items() if text.encode() in b] == []


def test_others_cannot_read_the_log(daemon, tmp_path):
    """It has addresses of parties, as records have."""
    files = [tmp_path / "log", tmp_path / "records"]
    before = os.umask(0)
    try:
        d = daemon("--log-file", files[0], "--records", files[1])
        d.process.send_signal(signal.SIGHUP)
    finally:
        os.umask(before)
    wait_for(lambda: " reopened" in files[0].read_text())
    assert [stat.filemode(f.stat().st_mode) for f in files] == \
        ["-rw-r-----"] * 2


def test_a_file_that_was_moved_goes_on_as_json(daemon, tmp_path):
    path = tmp_path / "log"
    d = daemon("--log-format", "json", "--log-file", path)
    path.rename(tmp_path / "old")
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: path.exists() and any(e["event"] == "config-read"
                                           for e in lines_of(path)))
    assert lines_of(tmp_path / "old")[0]["event"] == "config"
    assert d.stop() == 0
    assert lines_of(path)[-1]["event"] == "exit"


def refused(*words, launcher=()):
    done = subprocess.run([*launcher, BUILD / "codec-runner", *words],
                          capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stderr


def test_a_file_is_not_the_journal(tmp_path):
    conf = tmp_path / "node.conf"
    conf.write_text(f"log-file = {tmp_path}/log\nlog-format = journal\n")
    code, why = refused("--config", conf, "--check-config")
    assert code == 2 and f"{conf}:2: --log-format: " in why


def may_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "run",
                           "/run"], capture_output=True).returncode == 0


own_run = pytest.mark.skipif(not may_mount(), reason="needs a /run of its own")


@own_run
def test_a_journal_that_is_not_there_is_told(tmp_path):
    code, why = refused("--config", "none", "--log-format", "journal", launcher=(
        "unshare", "--mount", "sh", "-c",
        'mount -t tmpfs run /run && exec "$@"', "sh"))
    assert code == 1 and "/run/systemd/journal/socket: there is no" in why


# A journal in a /run of its own, which leaves the machine's alone, and a
# command whose stderr goes there, as a service's does; stdout stays.
BESIDE_JOURNAL = f"""
set -e
mount -t tmpfs run /run
mkdir -p /run/log/journal /run/systemd/journal /run/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\nAudit=\\n' \\
    >/run/systemd/journald.conf.d/own.conf
{JOURNAL} >/dev/null 2>&1 &
journal=$!
echo $journal >"$1"
shift
until [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ]
do
    kill -0 $journal || exit 1
    sleep 0.05
done
exec systemd-cat -p info sh -c '
    export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)
    exec "$@" >&3' sh "$@" 3>&1
"""


class Journal:
    """What journalctl says of the entries beside a daemon."""

    def __init__(self, pid):
        self.pid = pid

    def entries(self, *matches):
        done = subprocess.run(
            ["nsenter", "--mount", f"--target={self.pid}", "journalctl",
             "--no-pager", "-q", "-o", "json", *matches], capture_output=True,
            text=True, timeout=PATIENCE)
        assert done.returncode in (0, 1), done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def journald(tmp_path):
    """The words that start a command beside a journal."""
    if not os.path.exists(JOURNAL) or not shutil.which("systemd-cat"):
        pytest.skip("no systemd here")
    if not pathlib.Path("/etc/machine-id").read_text().strip():
        pytest.skip("a journal needs to know which machine it is of")
    pid = tmp_path / "pid"
    yield "unshare", "--mount", "sh", "-c", BESIDE_JOURNAL, "sh", str(pid)
    if pid.exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid.read_text()), signal.SIGKILL)


@own_run
def test_the_journal_has_fields_to_search_by(daemon, journald, tmp_path, sock):
    d = daemon("--ng", "127.0.0.1:0", "--max-calls", "1", "--control-socket",
               tmp_path / "control", "--drain-timeout", "0s",
               launcher=journald)
    j = Journal(d.process.pid)
    client = Control(tmp_path / "control")
    client.start(sock)
    client.start(sock)
    say_nonsense(d)
    wait_for(lambda: j.entries("CR_EVENT=ng-refused"))
    ready, = j.entries("CR_EVENT=ready")
    assert ready["CR_RTP"] == d.ready["rtp"]
    assert ready["MESSAGE"].startswith(f"ready rtp={d.ready['rtp']} ")
    assert (ready["PRIORITY"], ready["SYSLOG_IDENTIFIER"],
            ready["_TRANSPORT"], ready["_PID"]) == (
        "6", "codec-runner", "journal", str(d.process.pid))
    assert "--max-calls" in j.entries("CR_EVENT=admit-refused")[0]["CR_WHY"]
    odd, = j.entries("-p", "info", "CR_EVENT=ng-refused")
    assert odd["CR_CALL"] == '\ufffdö PRIORITY=0"}??[31m \\'
    assert odd["PRIORITY"] == "6" and odd["CR_COMMAND"] == "offer"
    # nothing came by the stream beside, and nothing is there twice
    written = client.ask("stats", {})["result"]["log"]["written"]
    wait_for(lambda: len(j.entries("-t", "codec-runner")) == written)
    assert {e["_TRANSPORT"] for e in j.entries("-t", "codec-runner")} == \
        {"journal"}


@own_run
def test_text_stays_text_if_that_is_asked_for(daemon, journald):
    """As a stream, in which an entry is a line."""
    d = daemon("--log-format", "text", launcher=journald)
    j = Journal(d.process.pid)
    wait_for(lambda: j.entries("_TRANSPORT=stdout"))
    wait_for(lambda: any(" info  ready " in e["MESSAGE"]
                         for e in j.entries("_TRANSPORT=stdout")))
    assert not j.entries("CR_EVENT=ready")

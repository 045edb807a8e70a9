# SPDX-License-Identifier: Apache-2.0
"""A file of options: read, checked, shown; and read again by SIGHUP, which
changes what may change, tells what has to wait for a restart, and leaves all as
it is when something is wrong."""
import os
import re
import signal
import subprocess

import pytest

from conftest import BUILD, PATIENCE, ROOT
from control import Control
from ng_call import HERE, Call
from telephony import System, sdp
from test_http import ask
from test_records import wait_for

RUNNER = BUILD / "codec-runner"


def run(*words, code=0):
    """What it says, on stdout or, when it must fail, on stderr."""
    done = subprocess.run([RUNNER, *words], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    assert bool(done.stderr) == bool(code)
    return done.stderr if code else done.stdout


@pytest.fixture
def conf(tmp_path):
    """A file of options, to be written."""
    return tmp_path / "node.conf"


def values(dump):
    """name: its values, of a dump: defaults, too."""
    found = {}
    for line in dump.splitlines():
        option = re.fullmatch(r"#?([a-z-]+) = (.*)", line)
        if option:
            found.setdefault(option[1], []).append(option[2])
    return found


# --- start ---

def test_a_check_opens_nothing(daemon, conf):
    d = daemon()
    conf.write_text(f"rtp = {d.ready['rtp']}\nudp-port = {d.udp}\n"
                    f"control = 127.0.0.1:{d.sctp}\n"
                    f"records = {conf.parent}/records\n"
                    f"log-file = {conf.parent}/log\n")
    assert run("--config", conf, "--check-config") == f"{conf}: in order\n"
    assert sorted(p.name for p in conf.parent.iterdir()) == \
        ["node.conf", "runner-0.log"]


def test_all_that_is_wrong_is_told_with_its_line(conf):
    """Names, values and what they mean, at once."""
    conf.write_text("rtp = localhost\nrnig = 8\nring = 1\ninterface = eth0\n"
                    "interface = a/127.0.0.1\nscheduler = edff\n"
                    "workers = 64\npin = 0\ncodec = ./no-such-codec.so\n")
    told = run("--config", conf, "--check-config", "--tos=XF", code=2)
    lines = told.splitlines()
    assert lines[:2] == [
        f"codec-runner: {conf}:2: unknown option \"rnig\"; did you mean 'ring'?",
        f"codec-runner: {conf}:3: --ring=1: needs a whole number from 2 to 4096"]
    where = [re.match(r"codec-runner: (?:(\S+:\d+): )?--([a-z-]+): ", line)
             .groups("") for line in lines[2:-1]]
    assert sorted(where) == [
        ("", "tos"), (f"{conf}:1", "rtp"), (f"{conf}:4", "interface"),
        (f"{conf}:6", "scheduler"), (f"{conf}:7", "workers")]
    assert "did you mean 'edf'" in told and lines[-1].startswith("Try ")
    conf.write_text("codec = ./no-such-codec.so\n")
    assert f"{conf}:1: --codec: " in run("--config", conf, code=2)
    told = run("--config", conf, "--codec=./none.so", code=2)
    assert "codec-runner: --codec: " in told and "no-such" not in told


@pytest.mark.parametrize("text,told", [
    (b"ring = 9\r\npoll = yes\r\n", None),
    (b"\xef\xbb\xbfring = 9\npoll = yes", None),
    (b"ring = 9\npoll = \0yes\n", ":2: a NUL byte"),
    (b"ring = " + b"9" * (1 << 19), ":1: a line of 524295 bytes"),
    (b"\n" * (1 << 20) + b"a", ": has more than 1048576 bytes"),
    ("ring = 9\n".encode("utf-16"), ":1: this is UTF-16"),
    (b"ng = \x1b[2J\n", ":1: a control character (0x1b)"),
    (b"plugin-dir = /\xe9\n", ":1: octet 15 (0xe9) is not UTF-8")],
    ids=["crlf", "bom", "nul", "line", "file", "utf-16", "control",
         "latin-1"])
def test_any_file_is_read_or_refused(conf, text, told):
    conf.write_bytes(text)
    if told:
        assert f"{conf}{told}" in run("--config", conf, code=2)
    else:
        found = values(run("--config", conf, "--dump-config"))
        assert (found["ring"], found["poll"]) == (["9"], ["yes"])


def test_all_that_is_wrong_with_a_command_line_is_told():
    told = run("--config", "none", "--check-config", "--log-level=loud",
               "--bogus", "--ring=1", code=2)
    where = re.findall(r"^codec-runner: .*?--([a-z-]+)", told, re.MULTILINE)
    assert where == ["log-level", "bogus", "ring"]


@pytest.mark.parametrize("asked", [
    "--check-config", "--dump-config", "--example-config", "--schedulers",
    "--help"])
def test_what_cannot_be_printed_is_told(asked):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BUILD / "codec-runner", "--config", "none",
                               asked], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (
        1, "codec-runner: standard output: No space left on device\n")


def test_what_is_no_file_is_refused(conf):
    assert "is a directory" in run("--config", conf.parent, code=2)
    assert "No such file" in run("--config", conf, code=2)
    os.mkfifo(conf)
    assert "is a FIFO" in run("--config", conf, code=2)


@pytest.mark.parametrize("mode", [0o602, 0o606, 0o646, 0o666, 0o777])
def test_a_file_that_everybody_can_write_is_refused(conf, mode):
    conf.write_text("workers = 1\n")
    conf.chmod(mode)
    assert "everybody can write it" in run("--config", conf, code=2)
    conf.chmod(mode & 0o775)
    run("--config", conf, "--check-config")


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user's file")
def test_what_others_may_change_is_told_to_root(daemon, conf, tmp_path):
    """The file, by its owner or group, and the folder of policies."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    for path, owner, mode in ((conf, (65534, 0), 0o600),
                              (conf, (0, 65534), 0o660),
                              (plugins, (65534, 0), 0o755),
                              (plugins, (0, 65534), 0o775)):
        conf.write_text("workers = 1\n")
        os.chown(conf, 0, 0)
        conf.chmod(0o600)
        os.chown(plugins, 0, 0)
        plugins.chmod(0o755)
        os.chown(path, *owner)
        path.chmod(mode)
        d = daemon("--config", conf, "--plugin-dir", plugins)
        log = d.logged(" ready ")
        assert log.count(" writable-by-others ") == 1
        assert f' writable-by-others path="{path}" why="' in log
        assert d.stop() == 0


def test_none_is_no_file():
    assert run("--config", "none", "--check-config") == \
        "no file; command line: in order\n"


def test_a_dump_says_the_same(conf, tmp_path):
    conf.write_text("# a comment\nscheduler = rr,quantum=2ms\npoll = yes\n"
                    "interface = a/127.0.0.1\ninterface = b/127.0.0.2\n"
                    "max-age = 60ms\nno-admission = yes\n")
    told = run("--config", conf, "--dump-config", "--poll=no", "--ring", "16",
               "--records", " a file ")
    for part in (f"# {conf}:2\nscheduler = rr,quantum=2ms\n",
                 f"# {conf}:5\ninterface = b/127.0.0.2\n",
                 "# command line\npoll = no\n", "# command line\nring = 16\n",
                 "# command line\nrecords = \" a file \"\n",
                 "# default\n#max-calls = 100000\n", "# default\n#http = "):
        assert part in told
    again = tmp_path / "again.conf"
    again.write_text(told)
    second = run("--config", again, "--dump-config")
    assert values(second) == values(told)
    again.write_text(second)
    assert run("--config", again, "--dump-config") == second


def with_defaults(example):
    """An example whose options have the values that it calls defaults."""
    return re.sub(r"^#(?=[a-z-]+ = (?![^a-z\n]*[A-Z]))", "", example,
                  flags=re.MULTILINE)


def test_the_example_can_be_used(conf):
    """With its defaults, and where there is none without."""
    example = run("--config", conf, "--example-config")
    conf.write_text(example)
    defaults = values(run("--config", "none", "--dump-config"))
    assert values(run("--config", conf, "--dump-config")) == defaults
    used = with_defaults(example)
    for line in ("ring = 8", "poll = no", "scheduler = edf", "log-level = info"):
        assert f"\n{line}\n" in used
    assert "\n#http = " in used
    conf.write_text(used)
    assert values(run("--config", conf, "--dump-config")) == defaults


# --- SIGHUP ---

def test_the_documentation_lists_what_is_taken():
    """The page is the program's own; the operator's table says when, too."""
    page = run("--man-config").replace("\\-", "-")
    said = page.split(".SH READING AGAIN")[1].split(".PP\n")[2]
    names = sorted(said.strip().rstrip(".").split(",\n"))
    assert len(names) > 20
    text = (ROOT / "docs" / "operate.md").read_text()
    table = text.split("| option | holds for |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert sorted(n for row in rows for n in re.findall("`(.*?)`", row)) == names


@pytest.fixture
def node(daemon, conf, tmp_path):
    """A daemon with this file, and a client of it."""
    def start(text, *options):
        conf.write_text(text)
        d = daemon("--config", conf, "--control-socket", tmp_path / "control",
                   "--drain-timeout", "0s", *options)
        return d, Control(tmp_path / "control")
    return start


def log_of(d):
    with open(d.log.name) as f:
        return f.read()


def told(d, event):
    return [line for line in log_of(d).splitlines() if f" {event} " in line]


def read_again(d, conf, text):
    """Until the log says what has become of it."""
    conf.write_text(text)
    before = len(told(d, "config-read")), len(told(d, "config-refused"))
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: before != (len(told(d, "config-read")),
                                len(told(d, "config-refused"))))


def capacity(client):
    c = client.ask("hello", {})["result"]["capacity"]
    return c["max_calls"], c["admission"], c["bound"]


def scheduler(client):
    return client.ask("schedulers", {})["result"]["scheduler"]


def test_a_new_file_is_taken_while_calls_go_on(node, conf, sock):
    d, client = node("max-calls = 2\nmax-age = 50ms\n")
    assert capacity(client) == (2, True, .97)
    calls = [client.start(sock)["result"] for _ in range(2)]
    assert "error" in client.start(sock)
    read_again(d, conf, "max-calls = 3\nno-admission = yes\ncapacity = 50%\n"
               "scheduler = rr,quantum=3ms\nmax-age = none\nlog-level = debug\n")
    assert capacity(client) == (3, False, .5)
    assert scheduler(client) == "rr,quantum=3ms"
    calls.append(client.start(sock)["result"])
    assert "max" in client.start(sock)["error"]["message"]
    changes = [re.search(r'name=(\S+) from="(.*?)" to="(.*?)"', line).groups()
               for line in told(d, "option-changed")]
    assert sorted(changes) == [
        ("capacity", "97%", "50%"), ("log-level", "info", "debug"),
        ("max-age", "50ms", "none"), ("max-calls", "2", "3"),
        ("no-admission", "no", "yes"), ("scheduler", "edf", "rr,quantum=3ms")]
    assert told(d, "config-read")[-1].endswith("changed=6 needs-restart=0")
    # what the file does not say any more is the default again
    read_again(d, conf, "max-calls = 1\n")
    assert capacity(client) == (1, True, .97)
    assert scheduler(client).startswith("edf")
    assert client.ask("stats", {})["result"]["calls"] == 3
    for call in calls:
        client.stop(call)


def test_what_is_called_a_default_is_one(conf, tmp_path):
    """To say all defaults of the example changes nothing: --shed quiet was
    called one for long, and frames were given up by age. By hand, as the other
    daemons here are told how to shed."""
    conf.write_text("")
    example = with_defaults(run("--config", "none", "--example-config"))
    assert "\nshed = quiet\n" in example
    log = tmp_path / "log"
    with subprocess.Popen(
            [RUNNER, "--config", conf, "--rtp", "127.0.0.1:0", "--control",
             "off", "--control-socket", tmp_path / "control", "--log-file",
             log], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("ready ")
            conf.write_text(example)
            process.send_signal(signal.SIGHUP)
            wait_for(lambda: " config-" in log.read_text())
        finally:
            process.terminate()
    events = log.read_text()
    assert " option-changed " not in events and " needs-restart " not in events
    assert " changed=0 needs-restart=0\n" in events


def test_what_has_to_wait_is_told_until_it_is_as_it_was(node, conf):
    d, client = node("workers = 1\ntos = EF\n")
    read_again(d, conf, "tos = AF41\nhttp = 127.0.0.1:0\n")
    restart = [re.search(r'name=(\S+) now="(.*)" configured="(.*)"',
                         line).groups() for line in told(d, "needs-restart")]
    assert restart == [("tos", "EF", "AF41"), ("http", "", "127.0.0.1:0")]
    read_again(d, conf, "tos = AF41\nmax-calls = 7\n")
    assert told(d, "config-read")[-1].endswith("changed=1 needs-restart=1")
    read_again(d, conf, "tos = EF\nmax-calls = 7\n")
    assert told(d, "config-read")[-1].endswith("changed=0 needs-restart=0")


@pytest.mark.parametrize("wrong,why", [
    ("max-calls = 3\nrnig = 3\n", ":2: unknown option"),
    ("max-calls = 3\nmax-age = x\n", ":2: --max-age=x: needs auto, none, never or a time"),
    ("max-calls = 3\nscheduler = edf,x=1\n", ":2: --scheduler: "),
    ("max-calls = 3\ntos = x\n", ":2: --tos: "),
    ("max-calls = 3\nscheduler = kernel:fifo\n", "kernel")],
    ids=["name", "value", "scheduler", "restart", "kernel"])
def test_a_wrong_file_changes_nothing(node, conf, wrong, why):
    d, client = node("max-calls = 2\n", "--http", "127.0.0.1:0")

    def state():
        """And as /metrics has it."""
        s = client.ask("stats", {})["result"]["config"]
        page = ask(d, "/metrics")[1]
        for metric, member in (("accepted", "accepted"), ("reads_total", "read"),
                               ("refused_total", "refused"),
                               ("needs_restart", "needs_restart")):
            assert re.search(rf"^codec_runner_config_{metric} {s[member]:d}$",
                             page, re.MULTILINE)
        return s
    assert state() == {"file": str(conf), "accepted": True, "read": 0,
                       "refused": 0, "needs_restart": 0, "why": ""}
    read_again(d, conf, wrong)
    assert capacity(client)[0] == 2
    assert why in told(d, "config-wrong")[-1]
    assert not told(d, "config-read")
    now = state()
    assert (now["accepted"], now["read"], now["refused"]) == (False, 1, 1)
    assert why in now["why"]
    read_again(d, conf, "max-calls = 4\ntos = EF\n")
    assert capacity(client)[0] == 4
    assert state() == {"file": str(conf), "accepted": True, "read": 2,
                       "refused": 1, "needs_restart": 1, "why": ""}


def test_threads_of_the_kernel_keep_their_rules(node, conf):
    d, client = node("scheduler = kernel:other\n")
    read_again(d, conf, "scheduler = kernel:other\nmax-age = none\n"
               "max-calls = 3\n")
    assert "under kernel:other" in told(d, "config-wrong")[-1]
    assert capacity(client)[0] == 100000
    read_again(d, conf, "scheduler = kernel:other\nmax-calls = 3\n")
    assert capacity(client)[0] == 3


def test_a_file_that_has_gone_changes_nothing(node, conf):
    d, client = node("max-calls = 2\n")
    conf.unlink()
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: told(d, "config-refused"))
    assert "No such file" in told(d, "config-wrong")[0]
    assert capacity(client)[0] == 2


def test_the_command_line_stays(node, conf):
    d, client = node("max-calls = 2\n", "--max-calls", "5")
    assert capacity(client)[0] == 5
    read_again(d, conf, "max-calls = 3\n")
    assert capacity(client)[0] == 5
    assert told(d, "config-read")[-1].endswith("changed=0 needs-restart=0")


def test_what_a_client_has_set_stays_until_the_file_changes(node, conf):
    d, client = node("scheduler = fifo\n")
    client.ask("scheduler.set", {"scheduler": "rr"})
    read_again(d, conf, "scheduler = fifo\nmax-calls = 3\n")
    assert scheduler(client).startswith("rr")
    read_again(d, conf, "scheduler = edf\nmax-calls = 3\n")
    assert scheduler(client).startswith("edf")


def test_who_may_ask_by_ng_changes(node, conf):
    """And at an address that is not loopback somebody has to be named."""
    d, client = node("ng-allow = 127.0.0.1\n", "--ng", "0.0.0.0:0")
    read_again(d, conf, "ng-allow = 127.0.0.2\nng-lines = 7\n")
    assert told(d, "config-read")[-1].endswith("changed=2 needs-restart=0")
    read_again(d, conf, "ng-lines = 8\n")
    assert "ng-allow" in told(d, "config-wrong")[-1]


def test_calls_of_ng_go_by_the_new_times(node, conf):
    d, client = node("", "--ng", "127.0.0.1:0")
    proxy = System(d.ready["ng"])
    Call(proxy).offer("8 PCMA/8000")
    call = Call(proxy)
    call.offer("8 PCMA/8000")
    call.answer("8 PCMA/8000")
    read_again(d, conf, "ng-patience = 100ms\n")
    wait_for(lambda: proxy.ok("list")["calls"] == [call.id])
    read_again(d, conf, "ng-silence = 100ms\n")
    wait_for(lambda: not proxy.ok("list")["calls"])


def test_the_page_may_switch_and_then_may_not(node, conf):
    d, client = node("http-control = yes\n", "--http", "127.0.0.1:0")

    def switch(to):
        return ask(d, "/scheduler", f'{{"scheduler": "{to}"}}',
                   Content_Type="application/json",
                   X_Codec_Runner="1")[0]
    assert switch("fifo") == 200
    read_again(d, conf, "")
    assert switch("edf") == 403
    assert scheduler(client).startswith("fifo")


def test_an_end_is_not_disturbed(daemon, conf, sock, tmp_path):
    """Signals that come while calls end."""
    conf.write_text("max-calls = 9\n")
    d = daemon("--config", conf, "--control-socket", tmp_path / "control",
               "--drain-timeout", "0s", "--ng", "127.0.0.1:0", "--http",
               "127.0.0.1:0")
    client = Control(tmp_path / "control")
    for _ in range(9):
        client.start(sock, keep=True)
    d.process.send_signal(signal.SIGTERM)
    while d.process.poll() is None:
        d.process.send_signal(signal.SIGHUP)
    assert d.process.returncode == 0


def may_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "etc",
                           "/etc"], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="needs a file system of its own")
def test_the_file_in_etc_is_read_if_it_is_there(conf):
    """In an /etc of its own."""
    conf.write_text("ring = 9\n")
    where = re.search(r"Default: (\S+), if", " ".join(run("--help").split()))[1]

    def dump(before):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", "mount -t tmpfs etc /etc && "
             f"{before} exec {RUNNER} --dump-config"], capture_output=True,
            text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert "# default\n#ring = 8\n" in dump("")
    assert f"# {where}:1\nring = 9\n" in dump(f"cp {conf} {where} &&")


# What systemd does with these lines of the unit: one after the other, to the
# first that fails.
SYSTEMD = """
mount -t tmpfs etc /etc
trap 'echo told' HUP
MAINPID=$$
export MAINPID
run() { while read -r line; do sh -c "$line" || { echo failed; return; }; done; }
"""


@pytest.mark.skipif(not may_mount(), reason="needs a file system of its own")
@pytest.mark.parametrize("text,starts,reloads", [
    ("max-calls = 3\n", [], ["told"]),
    ("max-calls = 3\nrnig = 3\n", ["failed"], ["failed"])],
    ids=["right", "wrong"])
def test_the_unit_asks_first(conf, text, starts, reloads):
    """Neither a start nor a reload begins with options that are wrong."""
    conf.write_text(text)
    unit = (ROOT / "packaging/service/codec-runner.service").read_text()

    def does(kind):
        lines = re.findall(rf"^{kind}=(.*)$", unit, re.MULTILINE)
        assert lines
        script = SYSTEMD + f"cp '{conf}' /etc/codec-runner.conf\n" + \
            "run <<'E'\n" + "\n".join(lines).replace(
                "/usr/bin/codec-runner", str(RUNNER)) + "\nE\n"
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script],
                              stdout=subprocess.PIPE, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 0
        return [line for line in done.stdout.splitlines()
                if line in ("told", "failed")]
    assert does("ExecStartPre") == starts
    assert does("ExecReload") == reloads


def test_folders_ages_and_shares_are_taken(node, conf, sock, tmp_path):
    d, client = node("max-age = 50ms\n", "--ng", "127.0.0.1:0")
    call = client.start(sock)["result"]

    def trace():
        return client.ask("trace.start", {"name": "a.trace"})

    def age():
        return client.ask("stream.query", {"stream": call["call"]}
                          )["result"]["max_age_ms"]
    assert "--trace-dir" in trace()["error"]["message"] and age() == 50
    proxy = System(d.ready["ng"])
    Call(proxy).offer("8 PCMA/8000")
    read_again(d, conf, f"trace-dir = {tmp_path}\nmax-age = 70ms\n"
               "ng-host-lines = 1\n")
    assert age() == 70
    assert "result" in trace() and (tmp_path / "a.trace").exists()
    reply = proxy.ask("offer", call_id="b", from_tag="a", sdp=sdp(4000),
                      **HERE)
    assert "--ng-host-lines 1" in reply["error-reason"]
    client.stop(call)


def test_a_shorter_drain_is_taken(daemon, conf, sock, tmp_path):
    """A call that is kept would hold the daemon for a day."""
    conf.write_text("drain-timeout = 86400s\n")
    d = daemon("--config", conf, "--control-socket", tmp_path / "control")
    Control(tmp_path / "control").start(sock, keep=True)
    read_again(d, conf, "drain-timeout = 100ms\n")
    assert d.stop() == 0


@pytest.mark.skipif(b"__asan_init" in RUNNER.read_bytes(),
                    reason="it keeps what is freed")
def test_many_readings_take_no_memory(node, conf):
    """Texts of the last one alone are kept."""
    d, client = node("max-calls = 2\n")

    def resident():
        with open(f"/proc/{d.process.pid}/statm") as f:
            return int(f.read().split()[1])
    filler = "".join(f"# {'x' * 80}\n" for _ in range(10000))

    def round_(n):
        conf.write_text(f"max-calls = {n}\nlog-level = error\n{filler}")
        d.process.send_signal(signal.SIGHUP)
        wait_for(lambda: capacity(client)[0] == n)
    for n in range(3, 8):
        round_(n)
    before = resident()
    for n in range(8, 58):
        round_(n)
    assert resident() - before < 20 * len(filler) // os.sysconf("SC_PAGESIZE")

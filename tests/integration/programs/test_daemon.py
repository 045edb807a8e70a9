# SPDX-License-Identifier: Apache-2.0
"""codec-runner and codec-ctl: life, death, refusals, files."""
import fcntl
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess

import pytest

from conftest import BUILD, PATIENCE, free_port

PAGE = os.sysconf("SC_PAGESIZE")


def rtp(seq, ts, ssrc, payload, pt=0):
    return struct.pack("!BBHII", 0x80, pt, seq & 0xffff, ts & 0xffffffff,
                       ssrc) + payload


def start_call(d, sock, **more):
    words = {"in.codec": "pcmu", "out.codec": "pcma",
             "out.address": "127.0.0.1:%d" % sock.getsockname()[1]}
    words.update(more)
    return d.ctl("call", "start", *(f"{k}={v}" for k, v in words.items()))


def test_a_frame_comes_back_and_is_counted(daemon, sock):
    d = daemon()
    call = start_call(d, sock)
    host, port = call["rtp"]["address"].split(":")
    for i in range(10):
        sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                    (host, int(port)))
        packet = sock.recv(2048)
        assert len(packet) == 172
        _, pt, _, ts, ssrc = struct.unpack("!BBHII", packet[:12])
        assert (pt, ssrc) == (8, call["out"]["ssrc"])
        assert ts == (call["out"]["ts_base"] + i * 160) % 2**32
    assert d.ctl("stream", "query", str(call["call"]))["count"]["done"] == 10
    assert len(d.ctl("list")["streams"]) == 1
    assert d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]["packets_out"] == 10
    assert d.ctl("list")["streams"] == []


def cpus_of_threads(d):
    """Name and allowed CPUs of each of the daemon's threads."""
    tasks = pathlib.Path(f"/proc/{d.process.pid}/task")
    return [((t / "comm").read_text().strip(),
             os.sched_getaffinity(int(t.name))) for t in tasks.iterdir()]


def two_cpus():
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("one CPU: all threads share it")
    return cpus


def test_a_pinned_worker_has_its_cpu_to_itself(daemon, sock):
    cpus = two_cpus()
    pinned = max(cpus)
    # a receiver that is not pinned, and a CPU more than there are workers
    d = daemon(place=["--pin", f"{pinned},{min(cpus)}", "--rx-cpu", "none"])
    start_call(d, sock)  # by now all threads have started
    allowed = [a for _, a in cpus_of_threads(d)]
    others = [a for a in allowed if a != {pinned}]
    assert len(others) == len(allowed) - 1 > 1
    assert all(a == cpus - {pinned} for a in others)


@pytest.mark.parametrize("option", ["--pin", "--rx-cpu"])
def test_receiver_and_worker_leave_each_other_the_cpu_given(daemon, sock,
                                                            option):
    cpus = two_cpus()
    given = min(cpus) if option == "--pin" else max(cpus)
    d = daemon(place=[option, str(given)])
    start_call(d, sock)
    threads = cpus_of_threads(d)
    (receiver,) = (a for name, a in threads if name == "cr-rx")
    workers = [a for name, a in threads
               if name == "codec-runner" and len(a) == 1 and a != receiver]
    if option == "--pin":
        assert receiver == {min(cpus - {given})}
        assert workers == [{given}]
    else:
        assert receiver == {given}
        assert workers == [{min(cpus - {given})}]


def test_one_table_tells_which_cpu_does_what(daemon):
    cpus = sorted(two_cpus())
    d = daemon("--receivers", "2", place=["--pin", str(cpus[1])])
    places = d.ctl("stats")["places"]
    assert d.ctl("hello")["places"] == places
    assert [(p["role"], p["threads"], p["run_queue"]) for p in places] == [
        ("receiver", 2, -1), ("worker", 1, 0), ("control", 1, -1)]
    assert [p["cpus"] for p in places[:2]] == [str(c) for c in cpus[:2]]
    assert [p["cache"] >= 0 for p in places] == [True, True, False]
    threads = cpus_of_threads(d)
    assert [a for name, a in threads if name.startswith("cr-rx")] == [
        {cpus[0]}] * 2
    assert len(d.ctl("stats")["receivers"]) == 2


@pytest.mark.parametrize("words,reason", [
    (("in.codec=pcmuu",), "did you mean 'pcmu'"),
    (("out.mode=12.3",), "12.2"),
    (("out.address=nowhere",), "needs an address"),
    (("out.codec=g729",), "unknown 'g729'"),
    (("ptime=7",), "ptime"),
    (("deadlin=20ms",), "did you mean 'deadline'"),
    (("in.rate=44100",), "rate"),
])
def test_a_bad_call_is_refused_with_a_reason(daemon, sock, words, reason):
    d = daemon()
    defaults = ["in.codec=pcmu", "out.codec=amr",
                "out.address=127.0.0.1:%d" % sock.getsockname()[1]]
    keys = {w.split("=")[0] for w in words}
    given = [w for w in defaults if w.split("=")[0] not in keys] + list(words)
    assert reason in d.ctl("call", "start", *given, code=1)


@pytest.mark.parametrize("options, told", [
    (("--max-age", "auto"), [80, 90, 90, 200]),  # by the deadline
    (("--max-age", "60ms"), [60] * 4),
    ((), [None] * 4),  # in these tests
    (("--max-age", "0"), [None] * 4),
])
def test_a_call_tells_how_old_its_frames_may_get(daemon, sock, options, told):
    d = daemon(*options)
    calls = [start_call(d, sock), start_call(d, sock, ptime="60ms"),
             start_call(d, sock, **{"class": "best-effort"}),
             start_call(d, sock, deadline="200ms")]
    assert [d.ctl("stream", "query", str(c["call"])).get("max_age_ms")
            for c in calls] == told
    if "auto" not in options:
        return
    d.ctl("call", "change", str(calls[3]["call"]), "deadline=10ms")
    assert d.ctl("stream", "query",
                 str(calls[3]["call"]))["max_age_ms"] == 80


def test_calls_end_with_their_client_unless_kept(daemon, sock):
    d = daemon()
    kept = start_call(d, sock)
    # every codec-ctl is an association of its own
    call = start_call(d, sock, keep="no")
    for _ in range(200):
        if len(d.ctl("list")["streams"]) == 1:
            break
    refusal = d.ctl("stream", "query", str(call["call"]), code=1)
    assert "there is no stream" in refusal
    d.ctl("call", "stop", str(kept["call"]))


def test_it_tells_which_codec_kernels_work(daemon, tmp_path):
    d = daemon("--codec-kernels", "stock")
    assert d.ready["kernels"] == d.ctl("hello")["kernels"] == "stock"
    ready, = [line for line in d.logged(" ready ").splitlines()
              if " ready " in line]
    assert "kernels=stock" in ready.split()
    d = daemon()
    assert d.ready["kernels"] == d.ctl("hello")["kernels"]


def test_sigterm_drains_and_flushes_the_trace(daemon, sock, tmp_path):
    trace = tmp_path / "run.trace"
    d = daemon("--trace", str(trace), "--drain-timeout", "0")
    call = start_call(d, sock)
    host, port = call["rtp"]["address"].split(":")
    for i in range(5):
        sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                    (host, int(port)))
        sock.recv(2048)
    assert d.stop(signal.SIGTERM) == 0
    data = trace.read_bytes()
    assert data[:8] == b"CRTRACE1"
    size, json_bytes = struct.unpack("<II", data[8:16])
    records = data[24 + json_bytes:]
    assert len(records) % size == 0
    kinds = [records[i] for i in range(0, len(records), size)]
    assert kinds.count(1) == 5 and kinds.count(2) == 1


def test_a_draining_node_takes_no_call_but_lets_calls_finish(daemon, sock):
    d = daemon("--drain-timeout", "1h")
    call = start_call(d, sock)
    d.ctl("drain")
    refusal = d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                    "out.address=127.0.0.1:9", code=1)
    assert "draining" in refusal
    d.ctl("call", "stop", str(call["call"]))
    assert d.process.wait(timeout=PATIENCE) == 0


def test_a_drain_is_taken_back(daemon, sock):
    """Not one that a signal has begun: who sent it has been told of the end."""
    d = daemon("--drain-timeout", "1h")
    first = start_call(d, sock)
    d.ctl("drain", "2m")
    assert d.ctl("drain", "--undo") == {"draining": False, "calls": 1}
    assert d.ctl("drain", "cancel") == {"draining": False, "calls": 1}
    second = start_call(d, sock)
    d.ctl("call", "stop", str(first["call"]))
    assert "--undo goes with" in d.ctl("drain", "1h", "--undo", code=2)
    assert "--undo goes with" in d.ctl("stats", "--undo", code=2)
    d.process.send_signal(signal.SIGTERM)
    while not d.ctl("stats")["draining"]:
        pass
    assert "signal" in d.ctl("drain", "--undo", code=1)
    d.ctl("call", "stop", str(second["call"]))
    assert d.process.wait(timeout=PATIENCE) == 0


def test_the_scheduler_can_be_switched_and_tuned(daemon):
    d = daemon("--scheduler", "fifo")
    assert d.ctl("scheduler", "rr,quantum=2ms")["scheduler"] == "rr,quantum=2ms"
    assert d.ctl("tune", "quantum=5ms")["scheduler"] == "rr,quantum=5ms"
    assert "quantum" in d.ctl("tune", "quantom=5ms", code=1)
    assert "edf" in d.ctl("scheduler", "edff", code=1)
    assert d.ctl("stats")["scheduler"] == "rr,quantum=5ms"


@pytest.mark.parametrize("same", ["rtp", "udp-port", "http"])
def test_a_second_daemon_on_the_same_port_names_the_address(daemon, same):
    web = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    d = daemon("--http", web)
    taken = {"rtp": d.ready["rtp"], "udp-port": str(d.udp), "http": web}
    options = {"rtp": "127.0.0.1:0", "udp-port": str(free_port())}
    options[same] = taken[same]
    done = subprocess.run(
        [BUILD / "codec-runner", "--control", f"127.0.0.1:{d.sctp}", "--sctp",
         "user", *(w for o in options for w in (f"--{o}", options[o]))],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    name = f"127.0.0.1:{d.udp}" if same == "udp-port" else taken[same]
    assert f"{name}: Address already in use" in done.stderr \
        or f"{name} for SCTP: Address already in use" in done.stderr


@pytest.mark.parametrize("first", ["1", "3"])
@pytest.mark.parametrize("second", ["1", "3"])
def test_daemons_do_not_share_a_port(daemon, first, second):
    d = daemon("--receivers", first)
    done = subprocess.run(
        [BUILD / "codec-runner", "--rtp", d.ready["rtp"], "--control",
         f"127.0.0.1:{1024 + free_port() % 60000}", "--udp-port",
         str(free_port()), "--receivers", second],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "in use" in done.stderr


CPU = str(min(os.sched_getaffinity(0)))


@pytest.mark.parametrize("options,message", [
    (("--schedular", "fifo"), "did you mean '--scheduler'?"),
    (("--scheduler", "fif"), "fifo"),
    (("--workers", "0"), "workers"),
    (("--workers", "2", "--pin", CPU), "--workers: more than CPUs"),
    (("--receivers", "0"), "receivers"),
    (("--rx-cpu", CPU + ",255"), "--rx-cpu: this process may not use CPU 255"),
    (("--pin", CPU + ",255"), "--pin: this process may not use CPU 255"),
    (("--rx-cpu", "1,x"), "--rx-cpu: '1,x' is no list of CPUs"),
    (("--workers", "1", "--run-queues", "2"), "--run-queues: 2 workers"),
    (("--max-age", "5"), "max-age"),
    (("--rtp", "localhost"), "numeric address"),
    (("--run-queues", "some"), "partitioned"),
    (("--realtime-workers", "--scheduler", "kernel:other"),
     "--realtime-workers: with a scheduler of the kernel"),
])
def test_a_wrong_option_is_explained(options, message):
    done = subprocess.run([BUILD / "codec-runner", *options],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (1, 2)
    assert message in done.stderr


def test_a_trace_that_grows_too_large_is_told(daemon, sock, tmp_path):
    d = daemon("--trace-dir", str(tmp_path))
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
    calls = [start_call(d, sock) for _ in range(4)]
    d.ctl("trace", "start", "run.trace")
    for i in range(75):  # no call is sent more than 2 s at once
        for call in calls:
            host, port = call["rtp"]["address"].split(":")
            sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                        (host, int(port)))
            sock.recv(2048)
    totals = d.ctl("trace", "stop")
    assert totals["unwritten"] > 0
    assert totals["records"] + totals["unwritten"] == 304  # and the calls'
    assert "too large" in totals["error"]
    for call in calls:
        assert d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]["done"] == 75


def into_a_crowded_pipe(d, *words):
    """codec-ctl, and what got through: the pipe has room for less than a page,
    so whole ones are lost, and what comes behind them is not."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PAGE)
    os.write(write, b"\n")
    os.set_blocking(write, False)
    done = subprocess.run([BUILD / "codec-ctl", *d.where(), *words],
                          stdout=write, stderr=subprocess.PIPE, text=True,
                          timeout=PATIENCE)
    os.close(write)
    got = os.read(read, 2 * PAGE)
    os.close(read)
    return done, got[1:]


def test_output_that_is_lost_in_part_is_told(daemon, sock):
    d = daemon("--drain-timeout", "0s")
    for _ in range(60):
        start_call(d, sock, keep="true")
    for words in (["help", "call.start"], ["list"], ["--json", "list"],
                  ["--json", "top", "500ms", "--once"]):
        done, got = into_a_crowded_pipe(d, *words)
        assert got and done.returncode == 1, words
        assert "Input/output error" in done.stderr


def test_it_outlives_the_reader_of_its_log(tmp_path):
    udp, sctp = free_port(), 1024 + free_port() % 60000
    p = subprocess.Popen(
        [BUILD / "codec-runner", "--rtp", "127.0.0.1:0", "--control",
         f"127.0.0.1:{sctp}", "--udp-port", str(udp), "--sctp", "user",
         "--workers", "1", "--pin", "none", "--rx-cpu", "none"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert p.stdout.readline().startswith(b"ready")
        p.stdout.close()
        p.stderr.close()
        for _ in range(2):  # each is logged
            subprocess.run([BUILD / "codec-ctl", "--to", f"127.0.0.1:{sctp}",
                            "--udp-port", str(udp), "--sctp", "user", "hello"],
                           check=True, capture_output=True, timeout=PATIENCE)
        p.send_signal(signal.SIGTERM)
        assert p.wait(timeout=PATIENCE) == 0
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()

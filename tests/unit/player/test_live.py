# SPDX-License-Identifier: Apache-2.0
"""Playing, with scripts in place of codec-runner and codec-feeder that keep
what they were called with."""
import json
import os
import pathlib
import signal
import socket
import threading
from types import SimpleNamespace

import pytest

import environment
import rounds
from live import BROKEN, INTERRUPTED, WRONG, Broken, Player
from options import Options

RUNNER = """#!/bin/sh
echo "$@" >> "$0.calls"
grep Cpus_allowed_list /proc/self/status >> "$0.cpus"
[ ! -e "$0.broken" ] || { echo "no such scheduler" >&2; exit 2; }
echo ready
trap 'echo ended >> "$0.calls"; exit 0' TERM
while :; do sleep 0.02; done
"""
FEEDER = """#!/bin/sh
echo "$@" >> "$0.words"
case "$*" in
*"--print daemon"*) echo --workers=1; exit 0 ;;
*"--print campaign"*)
	echo '{"seed": 1, "conversions": 0, "expects": true, "flows": []}'
	exit 0 ;;
*"--print schedulers"*) echo fifo; echo rr,quantum=1ms
	[ ! -e "$0.more" ] || echo edf
	exit 0 ;;
*"--print counts"*)
	n=$(cat "$0.counts" | head -n 1)
	sed -i 1d "$0.counts"
	[ -z "$n" ] || { echo "talk=$n"; echo "more=$((n * 2))"; }
	exit 0 ;;
esac
echo "$@" >> "$0.calls"
code=$(cat "$0.code")
case $code in
crash) kill -SEGV $$ ;;
wait)
	trap 'echo told >> "$0.calls"; exit 130' TERM
	kill -TERM $PPID
	while :; do sleep 0.02; done ;;
esac
[ ! -e "$0.run" ] || while [ $# -gt 1 ]; do
	[ "$1" != --out ] || cp "$0.run" "$2/run.json"
	shift
done
exit "$code"
"""


@pytest.fixture
def stage(tmp_path):
    """stage(counts, code) -> a Player of the scripts."""
    def make(counts=(), code=0, **more):
        build = tmp_path / "build" / "release"
        build.mkdir(parents=True, exist_ok=True)
        for name, text in (("codec-runner", RUNNER), ("codec-feeder", FEEDER)):
            path = build / name
            path.write_text(text)
            path.chmod(0o755)
        (build / "codec-feeder.counts").write_text(
            "".join(f"{n}\n" for n in counts))
        (build / "codec-feeder.code").write_text(str(code))
        options = Options(campaign="x.yaml", out=str(tmp_path / "out"), **more)
        options.TOP = str(tmp_path)
        return Player(options)
    return make


def calls(player, name):
    with open(player.program(name) + ".calls", encoding="utf-8") as f:
        return f.read().splitlines()


def test_schedulers_are_the_campaign_s_or_the_user_s(stage):
    assert stage().specs == ["fifo", "rr,quantum=1ms"]
    assert stage(schedulers=["edf"]).specs == ["edf"]


def test_a_quick_look_is_at_the_first_two_schedulers(stage):
    pathlib.Path(stage().program("codec-feeder.more")).touch()
    assert stage().specs == ["fifo", "rr,quantum=1ms", "edf"]
    assert stage(quick=True).specs == ["fifo", "rr,quantum=1ms"]
    assert stage(quick=True, schedulers=["a", "b", "c"]).specs == \
        ["a", "b", "c"]


def test_the_user_s_options_are_in_every_question(stage):
    player = stage(feeder=["--codec", "./mine.so"])
    with open(player.program("codec-feeder") + ".words",
              encoding="utf-8") as f:
        asked = f.read().splitlines()
    assert asked == [f"x.yaml --print {what} --codec ./mine.so"
                     for what in ("daemon", "campaign", "schedulers")]


def test_loads_are_the_median_of_five_measurements(stage, tmp_path):
    player = stage(counts=(5, 90, 7, 6, 8, 1))
    player.size_loads()
    assert player.counts == {"talk": 7, "more": 14}
    assert calls(player, "codec-runner").count("ended") == 5
    assert os.listdir(tmp_path / "out") == []


def test_without_loads_one_look_is_enough(stage):
    player = stage()
    player.size_loads()
    assert player.counts == {}
    assert calls(player, "codec-runner").count("ended") == 1


def test_a_run_is_a_daemon_and_a_feeder_of_the_same_calls(stage, tmp_path):
    player = stage(counts=(10,) * 5, code=3, feeder=["--seed=5"],
                   runner=["--ring", "64"], dump=True)
    player.size_loads()
    folder = tmp_path / "out" / "fifo"
    assert player.play("fifo", str(folder), repetition=2) == 3
    daemon = [c for c in calls(player, "codec-runner") if "--trace" in c][0]
    assert "--scheduler fifo" in daemon
    assert daemon.endswith(f"--trace {folder}/trace.bin --workers=1 "
                           "--ring 64")
    feeder, = calls(player, "codec-feeder")
    assert feeder.startswith("x.yaml --to 127.0.0.1:")
    assert feeder.endswith(f"--out {folder} --frames --dump "
                           f"{folder}/dump "
                           "--count=talk=10 --count=more=20 --seed=5")
    with open(folder / "environment.json", encoding="utf-8") as f:
        told = json.load(f)
    assert (told["scheduler"], told["repetition"]) == ("fifo", 2)
    assert " ".join(told["codec_feeder"][1:]) == feeder
    assert " ".join(told["codec_runner"][1:]) == daemon


def test_a_share_of_the_load_is_a_share_of_all_calls(stage, tmp_path):
    player = stage(counts=(10,) * 5)
    player.size_loads()
    player.play("fifo", str(tmp_path / "a"), scale=.25)
    player.play("fifo", str(tmp_path / "b"), scale=.01)
    quarter, little = calls(player, "codec-feeder")
    assert quarter.endswith("--load-scale=25.000% --count=talk=2 "
                            "--count=more=5")
    assert little.endswith("--load-scale=1.000% --count=talk=1 "
                           "--count=more=1")


@pytest.fixture
def proxy():
    """The address of one that answers pings."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))

        def serve():
            while (got := s.recvfrom(1000))[0]:
                s.sendto(got[0].split()[0] + b" d6:result4:ponge", got[1])
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{s.getsockname()[1]}"
        s.sendto(b"", s.getsockname())
        thread.join()


def test_a_peer_gets_the_same_calls_after_the_schedulers(
        stage, tmp_path, proxy):
    """At ports of their own. It has no daemon, no trace and no options of
    codec-runner; and codec-runner is where the peer is."""
    player = stage(counts=(10,) * 5, peer=proxy,
                   feeder=["--seed=5"])
    assert player.specs == ["fifo", "rr,quantum=1ms", proxy]
    player.size_loads()
    folder = tmp_path / "out" / "peer"
    player.play("fifo", str(tmp_path / "out" / "fifo"))
    player.play(proxy, str(folder))
    own, peer = calls(player, "codec-feeder")
    assert " --ports own " in own
    assert peer == (f"x.yaml --ng {proxy} --ports own --cpu "
                    f"{player.cpu} --out {folder} --frames "
                    "--count=talk=10 --count=more=20 --seed=5")
    runs = [c for c in calls(player, "codec-runner") if c != "ended"]
    assert len(runs) == 6  # five measurements, and fifo
    cpus = ",".join(map(str, player.worker_cpus()))
    assert all(f"--pin {cpus} --rx-cpu {cpus}" in c for c in runs)
    with open(player.program("codec-runner") + ".cpus", encoding="utf-8") as f:
        assert {line.split()[1] for line in f} == {cpus}
    with open(folder / "environment.json", encoding="utf-8") as f:
        told = json.load(f)
    assert told["scheduler"] == proxy
    assert told["peer"] == [] and "codec_runner" not in told


def nobody():
    """An address at which nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def test_a_peer_that_is_not_there_is_missed_before_anything_is_played(
        stage, monkeypatch, capfd):
    monkeypatch.setattr("peer.time.sleep", lambda _: None)
    player, address = stage(), nobody()
    player.options.peer = address
    assert rounds.run(player.options, rounds.play_all) == BROKEN
    assert f"no answer to an NG ping from {address}" in capfd.readouterr().err
    assert not os.path.exists(player.program("codec-runner") + ".calls")
    assert not os.path.exists(player.program("codec-feeder") + ".calls")


def test_a_campaign_that_a_peer_cannot_have_is_a_wrong_command(stage, capfd):
    """Its feeder says why; nobody is called."""
    player = stage(peer="127.0.0.1:2223")
    path = player.program("codec-feeder")
    with open(path, encoding="utf-8") as f:
        script = f.read().replace(
            'case "$*" in\n', 'case "$*" in\n*"--ng "*"--print counts"*) '
            'echo "flow mobile: dtx cannot be asked for" >&2; exit 2 ;;\n')
    with open(path, "w", encoding="utf-8") as f:
        f.write(script)
    assert rounds.run(player.options, rounds.play_all) == WRONG
    assert "dtx cannot be asked for" in capfd.readouterr().err
    assert not os.path.exists(player.program("codec-runner") + ".calls")


def test_workers_have_the_cpus_behind_the_feeder_s(stage, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 5, 9})
    assert stage().worker_cpus() == [4]
    assert stage(runner=["--workers", "2"]).worker_cpus() == [4, 5]
    assert stage(runner=["-w3"]).worker_cpus() == [4, 5, 9]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert stage().worker_cpus() == [3]


def test_rtpengine_that_is_not_there_breaks_the_run(
        stage, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", str(tmp_path))
    player = stage(peer="rtpengine", schedulers=["fifo"])
    with pytest.raises(Broken):
        player.play("rtpengine", str(tmp_path / "out"))
    assert "no rtpengine: deps/install peer" in capfd.readouterr().err


def test_a_daemon_that_does_not_start_breaks_the_run(stage, tmp_path, capfd):
    player = stage()
    open(player.program("codec-runner") + ".broken", "w").close()
    with pytest.raises(Broken) as broken:
        player.play("moon", str(tmp_path / "out" / "moon"))
    assert broken.value.code == BROKEN
    told = capfd.readouterr().err
    assert "no such scheduler" in told
    assert "codec-runner did not start under moon" in told


def test_a_feeder_that_crashes_is_a_broken_run(stage, tmp_path, capfd):
    assert stage(code="crash").play("fifo", str(tmp_path / "out")) == BROKEN
    assert "codec-feeder was ended by SIGSEGV under fifo" in \
        capfd.readouterr().err


def test_a_broken_contract_is_a_broken_run(stage, tmp_path, capfd):
    """The daemon went on with fifo, and the feeder saw nothing of it."""
    player = stage()
    (tmp_path / "build" / "release" / "codec-feeder.run").write_text(
        '{"scheduler_fault": "policy=mine callback=pick what=x"}')
    assert player.play("mine", str(tmp_path / "out" / "mine")) == BROKEN
    said = capfd.readouterr().err
    assert "broke its contract, and fifo went on for it: policy=mine" in said
    assert "leave it out of --schedulers" in said


def test_sigterm_reaches_the_feeder_and_ends_the_campaign(stage):
    """The feeder sends it to us, and then waits to be told."""
    before = {n: signal.getsignal(n) for n in
              (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    player = stage(code="wait")
    try:
        assert rounds.run(player.options, rounds.play_all) == INTERRUPTED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    played, told = calls(player, "codec-feeder")
    assert "/out/fifo --frames" in played and told == "told"


def test_only_a_second_ctrl_c_is_passed_on(stage):
    player, passed = stage(), []
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        player.feeder = SimpleNamespace(terminate=lambda: passed.append(1))
        player.stop(number)
    assert len(passed) == 2


def test_a_signal_before_the_feeder_began_reaches_it(stage, tmp_path):
    player = stage(code="wait")
    player.stop(signal.SIGTERM)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert player.play("fifo", str(tmp_path / "out")) == INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def test_libraries_are_found_whatever_the_release_calls_them(
        tmp_path, monkeypatch):
    """dpkg-query's own patterns, on a database of another release."""
    packages = ("libavcodec61 7:7.1", "libevent-core-2.1-7t64 2.1.12",
                "libusrsctp2 0.9", "libavcodec-dev 7:7.1", "libc6 2.41")
    (tmp_path / "updates").mkdir()
    (tmp_path / "info").mkdir()
    (tmp_path / "info" / "format").write_text("1\n")
    (tmp_path / "status").write_text("".join(
        f"Package: {name}\nStatus: install ok installed\n"
        f"Architecture: all\nMaintainer: x\nDescription: x\n"
        f"Version: {version}\n\n"
        for name, version in (p.split() for p in packages)))
    monkeypatch.setenv("DPKG_ADMINDIR", str(tmp_path))
    assert environment.fixed(Options.TOP)["libraries"] == dict(
        p.split() for p in packages if "-dev" not in p)


def test_a_campaign_that_the_feeder_refuses_is_a_wrong_command(tmp_path):
    build = tmp_path / "build" / "release"
    build.mkdir(parents=True)
    (build / "codec-feeder").write_text("#!/bin/sh\nexit 2\n")
    (build / "codec-feeder").chmod(0o755)
    options = Options(campaign="x.yaml")
    options.TOP = str(tmp_path)
    with pytest.raises(Broken) as broken:
        Player(options)
    assert broken.value.code == WRONG


def test_the_environment_tells_machine_and_revision(tmp_path):
    environment.write(str(tmp_path), environment.fixed(Options.TOP), scale=1)
    with open(tmp_path / "environment.json", encoding="utf-8") as f:
        told = json.load(f)
    assert told["machine"]["kernel"] == os.uname().release
    assert told["machine"]["cpu"]["usable"] == sorted(os.sched_getaffinity(0))
    assert len(told["load_average"]) == 3 and told["scale"] == 1
    assert "modified" in told and "libraries" in told

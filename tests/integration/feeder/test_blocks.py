# SPDX-License-Identifier: Apache-2.0
"""Schedulers compared under live calls (campaigns/player/blocks.py), and the
feeder's option for it: how many calls speak. Counts, order and files only."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE
from test_feeder import FEEDER, PATIENT, simple

import blocks
import contrast
import rounds
from live import Player
from options import Options

BUILD = FEEDER.parent
CAMPAIGN = """\
seed: 3
duration: 9s
daemon: {admission: off, shed: quiet}
schedulers: [fifo, "rr,quantum=5ms"]
flows:
  - name: steady
    load: 2%
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
  - name: overload
    load: 1%
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
    start: {at: 4s}
    hold: {mean: 2s}
"""


class Speakers:
    """A feeder that is told how many speak."""

    def __init__(self, daemon, campaign, *options):
        self.daemon = daemon
        self.process = subprocess.Popen(
            [FEEDER, str(campaign), *daemon.where(), "--quiet", "--speakers",
             *map(str, options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(self, line):
        """The answer."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def totals(self):
        return self.daemon.ctl("stats")["totals"]

    def hear(self, more=5):
        """Until the daemon has so many more packets."""
        wanted = self.totals()["packets_in"] + more
        end = time.monotonic() + PATIENCE
        while self.totals()["packets_in"] < wanted:
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.02)

    def end(self):
        """The exit code, and what it says on stderr."""
        self.process.stdin.close()
        self.process.stdin = None
        _, result = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, result


def test_the_first_calls_speak_and_the_others_send_nothing(
        daemon, campaign, tmp_path):
    """A silent call has missed nothing: by the sequence numbers, no
    packet is missing."""
    d = daemon(*PATIENT)
    feeder = Speakers(d, campaign(simple(count=4)), "--duration", "1h",
                      "--out", tmp_path / "run")
    before = time.monotonic_ns()
    at, line = feeder.say("a=1").split(" ", 1)
    assert before < int(at) < time.monotonic_ns() and line == "a=1\n"
    feeder.hear()
    feeder.say("a=0")
    feeder.say("a=2")
    feeder.hear(50)  # more than the daemon may still have to read
    feeder.process.stdin.write("end\n")
    assert feeder.end()[0] == 0
    with open(tmp_path / "run" / "streams.csv", encoding="utf-8") as f:
        rows = sorted(csv.DictReader(f), key=lambda row: row["index"])
    assert [int(r["sent"]) > 0 for r in rows] == [True, True, False, False]
    for r in rows[2:]:
        assert int(r["withheld"]) > 0 and r["missed"] == "0"
    with open(tmp_path / "run" / "run.json", encoding="utf-8") as f:
        run = json.load(f)
    assert run["interrupted"] is False
    totals = run["daemon"]["stats"]["totals"]
    assert totals["missing"] == totals["seq_jumps"] == 0


def test_when_the_lines_end_it_goes_on(daemon, campaign):
    d = daemon(*PATIENT)
    feeder = Speakers(d, campaign(simple(count=2)), "--duration", "1h")
    feeder.say("a=2")
    feeder.process.stdin.close()
    feeder.hear()
    feeder.hear()
    feeder.process.stdin = None
    feeder.process.send_signal(signal.SIGTERM)
    feeder.process.communicate(timeout=PATIENCE)
    assert feeder.process.returncode == 130


def test_a_wrong_line_ends_the_run_and_is_named(daemon, campaign):
    feeder = Speakers(daemon(*PATIENT), campaign(simple(count=2)),
                      "--duration", "1h")
    feeder.say("a=2")
    feeder.say("b=1")
    code, result = feeder.end()
    assert code == 1
    assert "--speakers: line 2: no flow 'b'; " in result


def test_a_file_of_lines_is_refused(daemon, campaign, tmp_path):
    (tmp_path / "lines").write_text("a=1\n")
    with open(tmp_path / "lines", encoding="utf-8") as lines:
        done = subprocess.run(
            [FEEDER, campaign(simple(count=1)), *daemon(*PATIENT).where(),
             "--quiet", "--speakers"], stdin=lines, capture_output=True,
            text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "has to be a pipe" in done.stderr


def test_the_speech_of_the_first_calls_alone_is_kept(daemon, campaign,
                                                     tmp_path):
    daemon(*PATIENT).feed(campaign(simple(count=3)), "--dump", tmp_path / "d",
                          "--dump-calls", "1")
    assert sorted(os.listdir(tmp_path / "d")) == ["a-0.src.wav", "a-0.wav"]


@pytest.fixture
def player(tmp_path, monkeypatch):
    """A player of short blocks."""
    for name, value in (("ALL_ROUNDS", 0.1), ("SHORTEST", 0.3), ("FIRST_BLOCK", 0.1),
                        ("CALM", 0.2), ("OVERLOAD", 0.2), ("AFTER", 0.1)):
        monkeypatch.setattr(blocks, name, value)
    for name in ("CALM", "OVERLOAD", "AFTER", "PAUSE"):
        monkeypatch.setattr(contrast, name, 0.2)
    monkeypatch.setattr("live.programs", lambda _: str(BUILD))
    path = tmp_path / "small.yaml"
    path.write_text(CAMPAIGN)

    def make(**more):
        return Player(Options(campaign=str(path), out=str(tmp_path / "out"),
                              rounds=2, **more))
    return make


def played(player):
    folder = pathlib.Path(player.options.out) / "blocks"
    return folder, json.loads((folder / "blocks.json").read_text())


def test_two_schedulers_in_two_rounds_of_blocks(player, capfd):
    one = player()
    assert blocks.why_separate(one) is None
    assert blocks.play(one) == 0
    folder, result = played(one)
    assert result["target"] == pytest.approx(0.03) and result["workers"] == 1
    both = {"fifo", "rr,quantum=5ms"}
    kinds = [(b["kind"], b["round"]) for b in result["blocks"][::2]]
    assert kinds == [("steady", 0), ("steady", 1), ("steady", 2),
                     ("episode", 1)]
    for a, b in zip(result["blocks"][::2], result["blocks"][1::2]):
        assert {a["scheduler"], b["scheduler"]} == both
        assert a["calls"] == b["calls"]
        assert a["begin_ns"] < a["end_ns"] <= b["begin_ns"] < b["end_ns"]
    for key in ("jobs", "cpu_ns", "busy_ns", "arrived"):
        assert all(b[key] >= 0 for b in result["blocks"])
        assert sum(b[key] for b in result["blocks"]) > 0
    for b in result["blocks"]:
        assert set(b["calls"]) == {"steady", "overload"}
        if b["kind"] == "episode":
            since, until = b["overload_ns"]
            assert b["begin_ns"] < since < until < b["end_ns"]
        else:
            assert b["overload_ns"] is None
    with open(folder / "environment.json", encoding="utf-8") as f:
        assert set(json.load(f)["schedulers"]) == both
    assert (folder / "trace.bin").stat().st_size > 10000
    assert not (folder / "dump").exists()
    assert 'name=shed from="quiet" to="age"' in \
        (folder / "runner.log").read_text()
    capfd.readouterr()
    assert rounds.report(one, [str(folder)])
    heard = capfd.readouterr().out
    page = pathlib.Path(one.options.out, "report.html").read_text()
    assert page.count("<audio") == 2
    for kind in ("quiet", "age"):
        path = os.path.join(one.options.out, f"shed-{kind}.wav")
        assert f"{path}: " in heard and os.path.getsize(path) > 3000
        assert (folder / f"said-{kind}.wav").stat().st_size > 3000


def test_a_policy_is_compared_with_itself(player):
    one = player(schedulers=["fifo", "fifo#2"])
    assert blocks.play(one) == 0
    _, result = played(one)
    assert sum(b["scheduler"] == "fifo#2" for b in result["blocks"]) == 4
    log = pathlib.Path(one.options.out, "blocks", "runner.log").read_text()
    assert "now=fifo#2" not in log and log.count("now=fifo") >= 8


def test_a_broken_contract_is_a_broken_run(player, capfd):
    if b"broken contract: " in (BUILD / "codec-runner").read_bytes():
        pytest.skip("a debug build aborts")
    bad = f"{BUILD / 'tests/integration/node/libsaboteur.so'},after=20"
    one = player(schedulers=["fifo", bad])
    assert blocks.play(one) == 1
    _, result = played(one)
    assert list(result["broken"]) == [bad]
    assert sum(b["scheduler"] == "fifo" for b in result["blocks"]) == 4
    assert capfd.readouterr().out.count("it broke its contract") == 1


def test_results_are_kept_after_an_interruption(player, monkeypatch):
    one = player()
    whole = blocks.Blocks.steady_round

    def stop_then(self, number, order, length):
        if number == 2:
            one.stop(signal.SIGINT)
        whole(self, number, order, length)

    monkeypatch.setattr(blocks.Blocks, "steady_round", stop_then)
    assert blocks.play(one) == 130
    folder, result = played(one)
    assert [b["round"] for b in result["blocks"]] == [0, 0, 1, 1]
    assert (folder / "run.json").exists()
    assert (folder / "trace.bin").stat().st_size > 0
    assert not (folder / "dump").exists()


@pytest.mark.parametrize("who", ["codec-runner", "codec-feeder"])
def test_a_daemon_that_dies_is_reported_with_its_last_log_lines(player,
                                                                monkeypatch,
                                                                capfd, who):
    one = player()
    whole = blocks.Blocks.steady_round

    def kill_then(self, number, order, length):
        if number == 1:
            victim = one.daemon.process if who == "codec-runner" \
                else self.stage.feeder
            victim.kill()
            victim.wait()
        whole(self, number, order, length)

    monkeypatch.setattr(blocks.Blocks, "steady_round", kill_then)
    assert blocks.play(one) == 1
    result = capfd.readouterr().err
    assert f"campaigns/run: {who} " in result
    if who == "codec-runner":
        assert "scheduler" in result  # of its log
    _, left = played(one)
    assert [b["round"] for b in left["blocks"]] == [0, 0]

# SPDX-License-Identifier: Apache-2.0
"""Blocks under live calls: which campaigns, in which order, with how many
calls; on a stage that plays nothing."""
import io
import json
import re
import signal
from types import SimpleNamespace

import pytest

import blocks
import contrast
import rounds
from control import Gone, Refused
from daemon import Daemon
from names import folder_name, plain_name


def flow(name="steady", **more):
    return {"flow": name, "count": 0, "load": 0.75, "codecs": True,
            "like": False, "two_way": False, "poisson": False,
            "exponential": False, "at_s": 0, "hold_s": None, **more}


OVERLOAD = flow("overload", load=0.5, at_s=9, hold_s=4)


def player(tmp_path=None, specs=("fifo", "edf"), flows=None, **more):
    options = {"peer": None, "dump": False, "separate": False, "quick": False, "rounds": None, "runner": [],
               "feeder": [], "out": str(tmp_path), "name": "x"}
    told = {"seed": 7, "conversions": 0, "expects": False,
            "flows": flows or [flow(), OVERLOAD]}
    return SimpleNamespace(
        specs=list(specs), stopped=False, daemon_options=["--workers=1"],
        constant={}, daemon=SimpleNamespace(command=[], process=None),
        options=SimpleNamespace(**{**options, **{
            k: v for k, v in more.items() if k in options}}),
        campaign={**told, **{k: v for k, v in more.items() if k in told}},
        program=lambda _: "true")


def test_the_demo_is_played_in_blocks():
    assert blocks.why_separate(player()) is None
    steady, overload = blocks.campaign_flows(player().campaign)
    assert not steady.overload and overload.overload


@pytest.mark.parametrize("more,why", [
    ({"specs": ["edf"]}, "one scheduler"),
    ({"specs": ["edf", "kernel:nice"]}, "kernel:nice cannot be switched to"),
    ({"separate": True}, "--separate"), ({"peer": "rtpengine"}, "media proxy"), ({"dump": True}, "--dump"),
    ({"conversions": 3}, "converts files"), ({"expects": True}, "expects"),
    ({"specs": ["a/x.so", "b/y.so"]}, "several folders"),
    ({"flows": [flow(codecs=False)]}, "flow steady has no codecs"),
    ({"flows": [flow(two_way=True)]}, "is a two-way flow"),
    ({"flows": [flow(poisson=True)]}, "at random"),
    ({"flows": [flow(exponential=True, hold_s=3)]}, "at random"),
    ({"flows": [flow(like=True)]}, "like another"),
    ({"flows": [flow(hold_s=3)]}, "end before"),
    ({"flows": [flow(), flow("more", at_s=3)]}, "come later and stay"),
    ({"flows": [OVERLOAD]}, "all calls come later")])
def test_what_cannot_be_played_in_blocks_says_why(more, why):
    assert why in blocks.why_separate(player(**more))


def test_each_round_has_each_scheduler_once_in_an_order_of_the_seed():
    specs = ["a", "b", "c", "d", "e", "f"]
    drawn = blocks.orders(specs, 10, 7)
    assert len(drawn) == 10
    assert all(sorted(order) == specs for order in drawn)
    assert len({tuple(order) for order in drawn}) > 5
    assert drawn == blocks.orders(specs, 10, 7) != blocks.orders(specs, 10, 8)


def test_fewer_schedulers_have_more_rounds_in_the_same_time():
    assert [blocks.round_count("abcdefghij"[:n]) for n in (2, 3, 4, 6, 10)] \
        == [20, 14, 10, 10, 10]
    for n in (2, 3, 4, 6):
        specs = "abcdef"[:n]
        rounds = blocks.round_count(specs)
        assert n * rounds * blocks.block_length(specs, rounds) \
            == pytest.approx(blocks.ALL_ROUNDS)


def test_a_quick_look_has_as_few_rounds_as_are_compared(tmp_path):
    assert blocks.Blocks(player(tmp_path), "").rounds == 20
    assert blocks.Blocks(player(tmp_path, quick=True), "").rounds == 6


def test_many_blocks_are_short_and_few_are_long():
    assert blocks.block_length("abcde", 10) == 0.84
    assert blocks.block_length("abcdefghijklm", 10) == blocks.SHORTEST
    assert blocks.block_length("ab", 10) == blocks.LONGEST
    assert blocks.SHORTEST > 2 * blocks.WARM_UP


def block(scheduler, calls, ns, turned=20000):
    """A second of an overload in which a frame costs so much."""
    return {"scheduler": scheduler, "calls": {"a": calls}, "begin_ns": 0,
            "end_ns": 10**9, "jobs": turned, "cpu_ns": turned * ns,
            "busy_ns": 1.3 * turned * ns, "arrived": calls * 50}


def load(first=1000, target=1.25, workers=1):
    return blocks.Load({"a": first}, target, workers)


def test_calls_are_set_by_the_mean_cost_of_all_schedulers():
    one = load()
    one.learn(block("fifo", 1000, 22000))
    one.learn(block("rr", 1000, 18000))
    assert not one.correct()
    assert one.calls() == {"a": 1250}  # 1250 * 50 * 20 us = 125 %
    two = load(workers=2)
    two.learn(block("fifo", 1000, 40000))
    two.correct()
    assert two.calls() == {"a": 1250}


def test_a_machine_that_slows_down_gets_fewer_calls():
    one = load()
    for ns, wanted in ((20000, 1250), (25000, 1000), (50000, 500),
                       (20000, 1250)):
        for _ in range(blocks.RECENT):
            one.learn(block("fifo", one.calls()["a"], ns))
        one.correct()
        assert one.calls() == {"a": wanted}


def test_all_flows_are_scaled_alike_and_none_is_empty():
    one = blocks.Load({"steady": 600, "overload": 400, "few": 1}, 1.25, 1,
                      scale=0.25)
    assert one.calls() == {"steady": 150, "overload": 100, "few": 1}


def test_a_block_that_others_made_dear_does_not_count():
    one = load()
    for ns, wanted in ((30000, 833), (20000, 1250), (30000, 1250)):
        one.learn(block("fifo", one.calls()["a"], ns))
        one.correct()
        assert one.calls()["a"] == wanted


def test_there_are_never_more_calls_than_were_set_up():
    one = load()
    one.learn(block("fifo", 1000, 5000))
    assert one.correct()
    assert one.calls()["a"] <= one.prepared()["a"]


def test_counts_stay_what_the_campaign_says():
    one = load(target=None)
    one.learn(block("fifo", 1000, 5000))
    assert not one.correct()
    assert one.calls() == {"a": 1000} and one.prepared() == {"a": 1001}


def test_a_block_without_frames_tells_nothing():
    """Nor does one in which others had the CPU nearly all the time."""
    one = load()
    for jobs in (0, 4000):
        one.learn({**block("fifo", 1000, 20000), "jobs": jobs})
    assert not one.correct() and one.calls() == {"a": 1000}
    one.learn({**block("fifo", 1000, 20000), "jobs": 0, "arrived": 0})
    one.learn({**block("edf", 1000, 20000)})
    assert not one.correct() and one.calls() == {"a": 1250}


@pytest.mark.parametrize("wrong", [Gone("gone"), Refused("no")])
def test_a_daemon_that_says_no_breaks_off_with_a_message(
        tmp_path, monkeypatch, capsys, wrong):
    def fail(*_, **__):
        raise wrong
    one = player(tmp_path)
    monkeypatch.setattr(blocks, "Daemon", lambda *_, **__: SimpleNamespace(
        start=lambda: True, process=None))
    monkeypatch.setattr(blocks, "Control", fail)
    stage = blocks.Stage(one, str(tmp_path))
    with pytest.raises(blocks.Broken):
        stage.open()
    stage.control = SimpleNamespace(request=fail)
    with pytest.raises(blocks.Broken):
        stage.request("stats")
    assert str(wrong) in capsys.readouterr().err


def test_the_daemon_is_stopped_whatever_the_feeder_does(tmp_path):
    def fail(*_, **__):
        raise OSError
    one, stopped = player(tmp_path), []
    one.stop_daemon = lambda: stopped.append(True)
    stage = blocks.Stage(one, str(tmp_path))
    stage.feeder = SimpleNamespace(communicate=fail, poll=lambda: 0)
    with pytest.raises(OSError):
        stage.close()
    assert stopped


def test_a_daemon_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("daemon.Program.patience", 0.05)
    one = Daemon("true", "fifo", str(tmp_path), [])
    one.command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1;"
                   " done"]
    assert one.start()
    process = one.process
    one.stop()
    assert process.returncode == -9


class Stage:
    """A daemon whose frames cost so much under each scheduler, ns."""

    def __init__(self, costs, refused=(), replaced=()):
        self.costs, self.now, self.said = costs, 10**9, []
        self.scheduler, self.refused, self.replaced = "fifo", refused, replaced
        self.set, self.command, self.at_once = [], [], ()
        self.faults, self.fault = 0, ""
        self.between = {}  # {scheduler: between which calls it breaks}
        self.slept = False
        self.counters = {"cpu_ns": 0, "busy_ns": 0, "jobs": 0, "arrived": 0}

    def open(self):
        pass

    def count(self):
        return {"steady": 600, "overload": 400}

    def feed(self, flows, calls, duration, dump):
        self.fed = calls

    def begin(self, calls):
        self.calls = calls

    def close(self):
        self.closed = True

    def request(self, method, **params):
        if method == "scheduler.set":
            if params["scheduler"] in self.refused:
                raise Refused("no such scheduler")
            if self.between.get(self.scheduler) == "look and set":
                self.break_contract()
            self.scheduler, self.slept = params["scheduler"], False
            self.set.append(self.scheduler)
        return {"workers": [{}]}

    def speak(self, calls):
        self.calls = calls
        self.said.append((self.now, calls))
        return self.now

    def sleep(self, span):
        self.now += int(span * 1e9)
        self.slept = True
        frames = int(sum(self.calls.values()) * 50 * span)
        busy = min(frames * self.costs[self.scheduler], span * 1e9)
        self.counters["arrived"] += frames
        self.counters["jobs"] += busy // self.costs[self.scheduler]
        for key in ("cpu_ns", "busy_ns"):
            self.counters[key] += busy
        if self.scheduler in self.replaced:
            self.break_contract()

    def break_contract(self):
        self.fault = f"policy={self.scheduler} callback=pick what=x"
        self.faults += 1
        self.scheduler = "fifo"

    def read_counters(self):
        if self.scheduler in self.at_once:
            self.break_contract()
        found = {"at_ns": self.now, "scheduler": self.scheduler,
                 "faults": self.faults, "fault": self.fault, **self.counters}
        if self.between.get(self.scheduler) == "block and look" and \
                self.slept:
            self.break_contract()
        return found


@pytest.fixture
def play(tmp_path, monkeypatch):
    """play(player, stage): the exit code, and blocks.json."""
    monkeypatch.setattr(contrast, "wanted", lambda *_: False)

    def run(one, stage):
        monkeypatch.setattr(blocks, "Stage", lambda *_: stage)
        code = blocks.play(one)
        path = tmp_path / "blocks" / "blocks.json"
        return code, json.loads(path.read_text()) if path.exists() else None
    return run


def test_the_load_is_met_from_the_first_round_on(tmp_path, play, capsys):
    stage = Stage({"fifo": 30000, "edf": 20000})
    code, told = play(player(tmp_path, rounds=3), stage)
    assert code == 0 and told["target"] == 1.25
    steady = [b for b in told["blocks"] if b["kind"] == "steady"]
    assert [b["round"] for b in steady] == [0, 0, 1, 1, 2, 2, 3, 3]
    for b in steady[2:]:
        assert b["calls"] == {"steady": 600, "overload": 400}  # x 25 us
    for b in told["blocks"]:
        assert b["end_ns"] > b["begin_ns"]
    episodes = [b for b in told["blocks"] if b["kind"] == "episode"]
    assert [b["round"] for b in episodes] == [1, 1]
    for b in episodes:
        since, until = b["overload_ns"]
        assert since - b["begin_ns"] == blocks.CALM * 1e9
        assert until - since == blocks.OVERLOAD * 1e9
    calm = [c for _, c in stage.said if not c["overload"]]
    assert len(calm) == 2 * len(episodes)
    out = capsys.readouterr().out
    assert "order by seed 7" in out and "round 3 of 3" in out
    assert stage.closed


def test_a_scheduler_that_is_refused_is_left_out_loudly(tmp_path, play,
                                                        capsys):
    stage = Stage({"fifo": 20000, "edf": 20000, "moon": 1}, refused=("moon",))
    code, told = play(player(tmp_path, ("fifo", "moon", "edf"), rounds=2),
                      stage)
    assert code == 1
    assert {b["scheduler"] for b in told["blocks"]} == {"fifo", "edf"}
    assert "moon: refused: no such scheduler" in capsys.readouterr().out


def test_no_block_is_counted_under_a_name_that_has_lost_its_place(
        tmp_path, play, capsys):
    stage = Stage({"fifo": 20000, "bad": 20000}, replaced=("bad",))
    code, told = play(player(tmp_path, ("fifo", "bad"), rounds=2), stage)
    assert code == 1
    assert {b["scheduler"] for b in told["blocks"]} == {"fifo"}
    assert list(told["broken"]) == ["bad"]
    assert stage.set.count("bad") == 1
    assert "bad: it broke its contract" in capsys.readouterr().out


@pytest.mark.parametrize("bad", ["bad", "bad,x=1", "./bad.so"])
def test_what_breaks_its_contract_at_once_has_no_blocks(tmp_path, play, bad):
    """The daemon had fifo before its blocks, and has it again."""
    stage = Stage({"fifo": 20000})
    stage.at_once = ("bad", "bad,x=1", "bad.so")
    code, told = play(player(tmp_path, ("fifo", bad), rounds=2), stage)
    assert code == 1
    assert {b["scheduler"] for b in told["blocks"]} == {"fifo"}
    assert list(told["broken"]) == [bad]


@pytest.mark.parametrize("order", ["fifo,bad,edf", "bad"])
@pytest.mark.parametrize("when", ["block and look", "look and set"])
def test_a_contract_broken_between_two_blocks_is_a_broken_run(
        tmp_path, play, capsys, monkeypatch, when, order):
    """The next switch would hide it, and so would the end."""
    monkeypatch.setattr(blocks, "orders",
                        lambda *_: [order.split(",")] * 4)
    stage = Stage({"fifo": 20000, "bad": 20000, "edf": 20000})
    stage.between = {"bad": when}
    code, told = play(player(tmp_path, order.split(","), rounds=2), stage)
    assert code == 1 and list(told["broken"]) == ["bad"]
    assert stage.set.count("bad") <= 2
    played = [b["scheduler"] for b in told["blocks"]]
    for spec in order.split(","):
        assert played.count(spec) == (1 if spec == "bad" else 4)
    assert capsys.readouterr().out.count("bad: it broke its contract") == 1


def test_nothing_is_heard_where_no_scheduler_is_left(tmp_path, play,
                                                     monkeypatch):
    monkeypatch.setattr(contrast, "wanted", lambda *_: True)
    stage = Stage({"moon": 1, "fifo": 1}, refused=("moon", "sun"))
    assert play(player(tmp_path, ("moon", "sun"), rounds=2), stage)[0] == 1


def test_a_copy_has_its_own_column_and_no_name_of_its_own(tmp_path, play):
    stage = Stage({"fifo": 20000})
    _, told = play(player(tmp_path, ("fifo", "fifo#2"), rounds=2), stage)
    assert {b["scheduler"] for b in told["blocks"]} == {"fifo", "fifo#2"}
    assert set(stage.set) == {"fifo"}
    assert plain_name("rsdl,levels=3#12") == "rsdl,levels=3"
    assert folder_name("fifo#2") == "fifo_2"


def test_a_plug_in_is_named_as_its_folder_has_it(tmp_path, play):
    stage = Stage({"mine.so,x=1": 20000, "fifo": 20000})
    _, told = play(player(tmp_path, ("./here/mine.so,x=1", "fifo"), rounds=2),
                   stage)
    assert "./here/mine.so,x=1" in {b["scheduler"] for b in told["blocks"]}


def test_ctrl_c_before_the_first_block_leaves_nothing_to_report(tmp_path,
                                                                 play):
    stage = Stage({})

    def halt(*_):
        raise blocks.Halted
    stage.begin = halt
    assert play(player(tmp_path), stage) == (130, None)
    assert stage.closed


def test_progress_is_one_line_on_a_terminal_and_one_a_round_in_a_log():
    log, terminal = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    for out in (log, terminal):
        progress = blocks.Progress(out)
        for text, group in (("a", 1), ("b", 1), ("c", 2)):
            progress.show(text, group)
        progress.end()
    assert log.getvalue() == "a\nc\n"
    assert "\n" not in terminal.getvalue()


def test_a_report_of_blocks_is_of_their_folder(tmp_path, monkeypatch):
    one, reported = player(tmp_path), []

    def play_blocks(_):
        folder = tmp_path / "blocks"
        folder.mkdir()
        (folder / "blocks.json").write_text("{}")
        return 0
    monkeypatch.setattr(blocks, "play", play_blocks)
    monkeypatch.setattr(rounds, "report",
                        lambda _, folders, replay: reported.append(folders)
                        or replay.wait() == 0)
    assert rounds.play_all(one) == 0
    assert reported == [[str(tmp_path / "blocks")]]


# Each of the two waits until the other one has started, at most so long.
BESIDE = """#!/bin/sh
cd "$(dirname "$0")" && touch {name}.up
timeout 60 sh -c 'until [ -e {other}.up ]; do sleep 0.02; done' || exit 1
echo '{text}'
"""


def test_the_replay_and_the_report_run_side_by_side(tmp_path, capfd):
    """What the report says is the last that is said."""
    one = player(tmp_path)
    one.program = lambda name: str(tmp_path / name)
    part = '{"loss": 0.25, "p99_ns": 8e6}'
    for name, other, text in (
            ("codec-report", "codec-sim", "verdict"),
            ("codec-sim", "codec-report", '{"scheduler": "edf", "replay": '
             f'{{"live": {part}, "own": {part}, "all": null}}}}')):
        (tmp_path / name).write_text(
            BESIDE.format(name=name, other=other, text=text))
        (tmp_path / name).chmod(0o755)
    replay = rounds.start_replay(one, str(tmp_path / "blocks"))
    assert rounds.report(one, [str(tmp_path / "blocks")], replay)
    said = capfd.readouterr().out
    assert re.search(r"^edf +25.00 % +8.0 +25.00 % +8.0 +- +-$", said, re.M)
    assert said.endswith("\n== report\nverdict\n")
    assert json.loads((tmp_path / "replay.json").read_text())["replay"]


def test_without_a_second_opinion_none_is_left(tmp_path, capfd):
    (tmp_path / "replay.json").write_text("an earlier one's")
    one = player(tmp_path)
    assert rounds.report(one, [], rounds.start_replay(one, str(tmp_path)))
    assert "not played again" in capfd.readouterr().out
    assert not (tmp_path / "replay.json").exists()
    one.stopped = True
    assert rounds.start_replay(one, str(tmp_path)) is None


@pytest.mark.parametrize("accepted", [True, False])
def test_a_daemon_that_does_not_shed_by_age_has_no_contrast(
        tmp_path, monkeypatch, capsys, accepted):
    """Both recordings would be of the same kind."""
    states = [{"read": 0, "accepted": True}] * 3 + [
        {"read": 1, "accepted": accepted, "why": "line 1: no such option"}] * 2
    stage = SimpleNamespace(
        request=lambda _: {"config": states.pop(0)}, sleep=lambda _: None,
        configure=(tmp_path / "conf").write_text)
    one = player(tmp_path)
    one.daemon.process = SimpleNamespace(pid=7)
    hangups = []
    monkeypatch.setattr("os.kill", lambda *what: hangups.append(what))
    shed = SimpleNamespace(stage=stage, player=one)
    if accepted:
        contrast._shed(shed, "age")
    else:
        with pytest.raises(blocks.Broken):
            contrast._shed(shed, "age")
    assert ("line 1: no such option" in capsys.readouterr().err) != accepted
    assert hangups == [(7, signal.SIGHUP)]
    assert (tmp_path / "conf").read_text() == "shed = age\n"
    assert len(states) == 1  # asked until it had read the file


def test_a_daemon_that_does_not_read_its_configuration_ends_the_contrast(
        tmp_path, monkeypatch, capsys):
    asked = []

    def request(_):
        asked.append(True)
        assert len(asked) < 9, "it waits for ever"
        return {"config": {"read": 0, "accepted": True}}
    monkeypatch.setattr("os.kill", lambda *_: None)
    times = iter(range(0, 9000, contrast.TIMEOUT // 3))
    monkeypatch.setattr(contrast.time, "monotonic", lambda: next(times))
    one = player(tmp_path)
    one.daemon.process = SimpleNamespace(pid=7)
    with pytest.raises(blocks.Broken):
        contrast._shed(SimpleNamespace(player=one, stage=SimpleNamespace(
            request=request, sleep=lambda _: None,
            configure=lambda _: None)), "age")
    assert "has not read its configuration within 60 s" in \
        capsys.readouterr().err


def test_shedding_otherwise_than_by_default_has_no_contrast():
    one = player()
    assert contrast.wanted(one, True) and not contrast.wanted(one, False)
    one.daemon_options = ["--workers=1", "--shed=age"]
    assert not contrast.wanted(one, True)
    one = player(runner=["--shed", "pattern"])
    assert not contrast.wanted(one, True)

# SPDX-License-Identifier: Apache-2.0
"""Interleaved comparisons: what a block says, what is compared, what is
refused; and how often the verdict is right where the truth is known."""
import itertools
import json
import math
import os
import re
import sys

import numpy as np
import pytest
from conftest import MS, ROOT, EXPIRED, US, call, header, job, note, plain

from codec_report import ReportError, blocks, interleaved, paired

sys.path.insert(0, str(ROOT / "tests" / "bench"))
from common import comparison  # noqa: E402

S = 1000 * MS
COST = 180 * US  # and 20 us until the next pick, where one waits
CALLS = 125      # 50 frames a second of each: 125 % of 200 us


def block(number, scheduler, at, **more):
    return {"round": number, "scheduler": scheduler, "kind": "steady",
            "begin_ns": at, "end_ns": at + S, "overload_ns": None,
            "calls": {"talk": CALLS}, "cpu_ns": S, "busy_ns": S,
            "jobs": 5000, **more}


def parsed(found, **more):
    return json.dumps({"version": 1, "warm_up_s": 0.35, "target": 1.25,
                       "workers": 1, "blocks": found, **more}).encode()


def as_served(scheduler, row):
    return (row % CALLS,) * 2


def overloaded(order, cost=lambda scheduler: COST, calls=as_served, dear=0):
    """A trace of one worker that is never idle, a second for each of the order;
    every fifth frame is dropped when it is 100 ms old. Frames of a call in a
    row: four under rr, one under others; calls: whose row it is, and whose
    frame is dropped. Those of odd calls take dear ns more, of another codec.
    And its blocks."""
    records, found, now = [], [], 2 * S
    seq = [0] * CALLS
    for i, (number, scheduler) in enumerate(order):
        begin, end = (i + 2) * S, (i + 3) * S
        found.append(block(number, scheduler, begin))
        turn = 0
        if i == len(order) - 1:
            end += 150 * MS  # what came in the last block ends
        while now < end:
            c, lost = calls(scheduler, turn // (4 if scheduler == "rr" else 1))
            turn += 1
            takes = cost(scheduler) + (dear if c % 2 else 0)
            came, pick = now - 90 * MS, now + 20 * US
            if turn % 4 == 0:
                records.append(job(lost + 1, seq[lost], now - 100 * MS,
                                   outcome=EXPIRED, worker=0xFFFF, pick=now))
                seq[lost] += 1
            records.append(job(
                c + 1, seq[c], came, now + 20 * US + takes, pick=pick,
                release=now + 5 * US,  # behind the one before it of its call
                start=pick, end=pick + takes, codec_ns=takes, worker=0,
                deadline=came + 20 * MS))
            seq[c] += 1
            now += 20 * US + takes
    notes = [note(1, b["begin_ns"], text=b["scheduler"].split("#")[0])
             for b in found]
    return b"".join([header(live=True, workers=1),
                     *[call(c + 1, codec_out="g722" if dear and c % 2 else
                            "amr") for c in range(CALLS)], *records,
                     *notes]), found


def rounds(n, *schedulers):
    return [(r, s) for r in range(1, n + 1)
            for s in (schedulers if r % 2 else schedulers[::-1])]


@pytest.fixture
def played(write):
    """played(order) -> path of a run folder in blocks."""
    def make(order, change=lambda found: found, **more):
        trace, found = overloaded(order, **more)
        folder = os.path.dirname(write(trace, name="blocks/trace.bin"))
        write(parsed(change(found)), name="blocks/blocks.json")
        write(json.dumps({"campaign": {"path": "demo.yaml"}}).encode(),
              name="blocks/run.json")
        return folder
    return make


# ---- what a block says

def test_a_block_has_the_costs_and_demand_of_its_frames(played):
    from codec_report.run import load_run, sections
    run = load_run(played([(1, "fifo"), (1, "rr")]))
    sections(run)
    fifo, rr = run.blocks
    for b in (fifo, rr):
        v = b.values
        assert not b.flaw and v["cost_us"] == pytest.approx(200, rel=.01)
        assert v["codec_us"] == pytest.approx(180)
        # five frames come for four that are done
        assert v["demand"] == pytest.approx(1.25, rel=.02)
        assert v["floor"] == pytest.approx(.2, abs=.02)
        assert v["lost_share"] == pytest.approx(.2, abs=.01)
        assert abs(v["excess"]) < .02 and v["stolen"] == 0
        assert v["missed_share"] == 1
    assert fifo.values["same_call"] == 0
    assert rr.values["same_call"] == pytest.approx(.75, abs=.01)
    assert fifo.values["delay_p99_ms"] == pytest.approx(90.2, rel=.01)


def test_codec_pairs_count_as_they_arrive_not_as_they_are_served(played):
    """edf serves three of four from the cheap calls, and drops the dear ones:
    nothing costs less for that, in the codec or beside it."""
    def calls(scheduler, row):
        if scheduler == "edf":
            return 2 * (row % 60) + (row % 4 == 0), 2 * (row % 60) + 1
        return as_served(scheduler, row)
    from codec_report.run import load_run, sections
    run = load_run(played([(1, "edf"), (1, "rr")], calls=calls,
                          dear=100 * US))
    sections(run)
    edf, rr = (b.values for b in run.blocks)
    for v, odd in ((edf, .4), (rr, 62 / 125)):  # of the frames that arrive
        assert v["codec_us"] == pytest.approx(180 + 100 * odd, rel=.01)
        assert v["turn_us"] - v["codec_us"] == pytest.approx(20, abs=.1)
    assert rr["first_us"] == pytest.approx(rr["turn_us"], rel=.01)
    assert rr["later_us"] == pytest.approx(rr["first_us"], rel=.01)
    assert rr["later_codec_us"] == pytest.approx(rr["codec_us"], rel=.01)


def test_first_of_a_row_and_later_ones_are_of_the_same_codec_pairs(played):
    """Where none has both, neither is shown."""
    def calls(scheduler, row):  # the dear ones in rows, the others not
        if scheduler == "edf":
            return ((1, 2, 1, 1, 4)[row % 5],) * 2
        return as_served(scheduler, row)
    from codec_report.run import load_run, sections
    run = load_run(played([(1, "fifo"), (1, "edf"), (1, "rr")], calls=calls,
                          dear=100 * US))
    sections(run)
    fifo, edf, rr = (b.values for b in run.blocks)
    for name in "first_us", "later_us", "later_codec_us":
        assert fifo[name] is None and rr[name] > 0
    # alone, or at first, they are 200 us; those of even calls have no row
    assert edf["first_us"] == pytest.approx(300, rel=.01)
    assert edf["later_us"] == pytest.approx(300, rel=.01)


def test_time_of_other_programs_is_stolen_and_no_cost(played):
    def cost(_, n=itertools.count(1)):
        return 20 * MS if next(n) % 200 == 0 else COST  # of every 60 ms
    from codec_report.run import load_run, sections
    run = load_run(played([(1, "fifo"), (1, "rr")], cost=cost))
    sections(run)
    for b in run.blocks:
        assert b.flaw == "stolen"
        assert b.values["cost_us"] == pytest.approx(200, rel=.01)
        assert b.values["stolen"] == pytest.approx(1 / 3, rel=.1)
        assert b.values["floor"] == pytest.approx(.2, abs=.03)


def test_cpu_time_tells_of_theft_too(played):
    from codec_report.run import load_run, sections
    run = load_run(played([(1, "fifo"), (1, "rr")], lambda found: [
        {**found[0], "cpu_ns": S * 6 // 10}, found[1]]))
    sections(run)
    assert [b.flaw for b in run.blocks] == ["stolen", ""]
    assert run.blocks[0].values["stolen"] == pytest.approx(.4)


def test_a_block_in_which_the_scheduler_was_switched_is_left_out(write):
    """As a plug-in that breaks its contract is, by fifo."""
    from codec_report.run import load_run, sections
    trace, found = overloaded([(1, "fifo"), (1, "rr")])
    trace += note(1, found[1]["begin_ns"] + S // 2, text="fifo")
    folder = os.path.dirname(write(trace, name="blocks/trace.bin"))
    write(parsed(found), name="blocks/blocks.json")
    run = load_run(folder)
    assert [s.scheduler for s in sections(run)] == ["fifo"]
    assert [b.flaw for b in run.blocks] == ["", "switched"]


@pytest.mark.parametrize("change, message", [
    ({"version": 2}, "version 1"), ({"blocks": []}, "no blocks"),
    ({"warm_up_s": "x"}, "warm_up_s"), ({"target": 0}, "target"),
    ({"blocks": [block(1, "rr", 5, end_ns=5)]}, "block 1: ends before"),
    ({"blocks": [block(1, "rr", 5, kind="x")]}, "block 1: needs"),
    ({"blocks": [block(1, "rr", 5, kind="episode")]}, "overload_ns"),
    ({"blocks": [block(1, "rr", 5, cpu_ns="1")]}, "cpu_ns"),
    ({"blocks": [block(1, "rr", 5, calls=7)]}, "calls"),
    ({"blocks": [7]}, "no object")])
def test_a_wrong_file_is_refused(change, message):
    text = parsed(change.pop("blocks", [block(1, "rr", 5)]), **change)
    with pytest.raises(ReportError, match=message):
        blocks.parse(text, "blocks.json")


@pytest.mark.parametrize("after, recovered", [(900, 200), (400, None)])
def test_recovery_is_shown_of_five_slices(played, after, recovered):
    """Frames that come until 200 ms after the overload take 30 ms."""
    records, at = [], 2 * S
    over = at + 900 * MS
    for k in range((900 + after) // 2 + 1):
        came = at + k * 2 * MS
        takes = 30 * MS if over - 500 * MS <= came < over + 200 * MS else MS
        records.append(job(1, k, came, came + takes, pick=came + US,
                           release=came, start=came + US,
                           end=came + MS // 2, codec_ns=MS // 4, worker=0,
                           deadline=came + 20 * MS))
    one = block(1, "fifo", at, kind="episode", end_ns=over + after * MS,
                overload_ns=[over - 500 * MS, over])
    from codec_report.run import load_run, sections
    folder = played([(1, "fifo")], lambda _: [one])
    with open(os.path.join(folder, "trace.bin"), "wb") as f:
        f.write(b"".join([header(live=True, workers=1), call(1), *records,
                          note(1, at, text="fifo")]))
    run = load_run(folder)
    sections(run)
    b, = run.blocks
    assert b.values.get("recovery_ms") == recovered


# ---- statistics

def test_signs_are_all_tried():
    """By brute force; a round that one lacks is in none."""
    rng = np.random.default_rng(1)
    one, two = ({r: float(v) for r, v in enumerate(rng.normal(m, 1, 7))}
                for m in (0.0, 0.8))
    del two[3]
    d, = paired.differences({"m": {"a": one, "b": two}})
    apart = [one[r] - two[r] for r in one if r in two]
    most = 2.5 * np.median(np.abs(apart))
    apart = np.clip(apart, -most, most)
    sums = [abs(sum(s * v for s, v in zip(signs, apart)))
            for signs in itertools.product((1, -1), repeat=6)]
    assert d.rounds == 6 and d.mean == pytest.approx(np.mean(apart))
    assert d.p == pytest.approx(np.mean(
        [s >= abs(sum(apart)) - 1e-9 for s in sums]))
    assert d.low < d.mean < d.high


def test_correction_holds_for_all_together():
    """Four equal columns in four metrics: about one comparison in twenty says
    that any two of them differ. One that is another is found."""
    rng = np.random.default_rng(2)
    wrong = found = 0
    for _ in range(40):
        tables = {m: {c: dict(enumerate(rng.normal(0, 1, 10)))
                      for c in "abcd"} for m in "wxyz"}
        wrong += any(d.corrected <= .05
                     for d in paired.differences(tables))
        tables["w"]["a"] = {r: v + 5 for r, v in tables["w"]["a"].items()}
        found += all(d.sure for d in paired.differences(tables)
                     if d.metric == "w" and "a" in (d.first, d.second))
    assert wrong <= 6 and found >= 34


def test_rounds_and_columns_add_up():
    columns, of_rounds = paired.effects({
        "a": {1: 1.0, 2: 3.0, 3: 2.0}, "b": {1: 2.0, 2: 4.0}})
    assert columns["b"] - columns["a"] == pytest.approx(1)
    assert of_rounds[2] - of_rounds[1] == pytest.approx(2)


# ---- the verdict, on a machine that drifts and is disturbed

def test_a_scheduler_equals_itself_and_waste_is_found():
    """tests/bench/self-comparison does the same 200 times."""
    def rates(names, **more):
        return comparison.rates((comparison.verdict(comparison.drawn(
            seed, names, **more)) for seed in range(20)), *names)
    assert rates(["fifo", "fifo#2"]).get("equal", 0) >= 18
    waste = 1 + .05 * (comparison.CODEC_US + comparison.OWN_US) \
        / comparison.OWN_US
    assert rates(["fifo", "waste"], own={"waste": waste})["waste"] >= 17


SIX = ["fifo", "rr", "edf", "cfs", "bfs", "pd2"]
ROWS = {"rr": .8, "bfs": .8}
SHAKY = {"rr": 94.0, "bfs": 90.0}


def test_locality_is_a_cause_and_jitter_its_price():
    said = comparison.verdict(comparison.drawn(
        3, SIX, same=ROWS, jitter=SHAKY, drift=.01))
    text = plain(" ".join(said.sentences()))
    assert not said.refused()
    assert "bfs: a frame costs" in text and "less than under" in text
    assert "of its turns stay with the same call" in text
    assert "the price: " in text and "p99 jitter" in text
    best = said.as_dict()["choose_by"]
    assert best["lost_same_calls"] == ["bfs", "rr"] or \
        best["lost_same_calls"] == ["rr", "bfs"]
    assert sorted(best["jitter_p99_ms"]) == ["cfs", "edf", "fifo", "pd2"]
    assert said.as_dict()["choose"] == []


@pytest.mark.parametrize("stays,own,why", (
    (.25, .7, "as 25 % of its turns stay with the same call and by what fifo "
     "does between frames"),
    (.5, 1, "as 50 % of its turns stay with the same call"),
    (0, .6, "by what fifo does between frames")))
def test_all_causes_of_a_cost_are_named(stays, own, why):
    said = comparison.verdict(comparison.drawn(
        3, ["fifo", "rr"], same={"rr": stays}, own={"rr": own},
        bursts=(0, 0), drift=.01))
    text, = said.costs()
    assert plain(text).split(" than under fifo, ")[1].split(";")[0] in (
        why, why + ".")


def refused(found):
    said = comparison.verdict(found)
    assert said.as_dict()["choose"] == []
    text = plain(said.choose())
    assert text.startswith("Cannot be told from these runs: ")
    return text


def changed(found, change):
    for b in found:
        change(b)
    return found


TWO = ["fifo", "rr"]


def test_too_much_stolen_is_refused():
    assert "25 % of the time in 2" in refused(
        comparison.drawn(1, TWO, bursts=(1.0, 10.0)))


def test_too_few_rounds_are_refused():
    calm = {"bursts": (0, 0)}
    assert "five valid rounds" in refused(
        comparison.drawn(1, TWO, rounds=5, **calm))
    assert not comparison.verdict(
        comparison.drawn(1, TWO, rounds=6, **calm)).refused()

    def spoil(b):
        if b.scheduler == "rr" and b.round > 5:
            b.flaw = "sender behind"
    found = changed(comparison.drawn(1, TWO, **calm), spoil)
    assert "five valid rounds" in refused(found)
    assert "5 whose sender was behind" in plain(
        comparison.verdict(found).left_out())


def test_a_column_without_blocks_is_not_chosen_and_stops_no_other():
    def spoil(b):
        if b.scheduler == "rr":
            b.flaw = "switched"
    waste = 3.0
    said = comparison.verdict(changed(comparison.drawn(
        1, ["edf", "fifo", "rr"], own={"edf": waste}, bursts=(0, 0),
        drift=.005), spoil))
    assert said.as_dict()["choose"] == ["fifo"] and not said.refused()
    assert plain(said.left_out()) == (
        "Left out of 30 blocks: 10 in which the scheduler was switched. Not "
        "compared: rr.")


def test_one_column_is_not_said_to_be_left_out():
    found = comparison.drawn(1, ["fifo"], bursts=(0, 0))
    found[0].flaw = "stolen"
    assert plain(comparison.verdict(found).left_out()) == (
        "Left out of 10 blocks: 1 with more than 25 % stolen.")


def test_losses_that_nothing_explains_are_refused():
    def lose(b, idle=0.0):
        if b.round <= 2:
            b.values.update(excess=.03, idle=idle)
    found = comparison.drawn(1, TWO, bursts=(0, 0))
    assert "2 points more" in refused(changed(found, lose))
    # a scheduler that lets its workers rest does so itself
    assert not comparison.verdict(changed(
        found, lambda b: lose(b, .1))).refused()


def test_cpu_time_below_busy_time_is_refused():
    def rob(b):
        b.values["cpu_ns"] = .78 * b.values["busy_ns"]
    assert "78 % of their busy time" in refused(
        changed(comparison.drawn(1, TWO, bursts=(0, 0)), rob))


def test_unlike_demand_is_refused():
    def more(b):
        if b.scheduler == "rr":
            b.values["demand"] *= 1.42
    text = refused(changed(comparison.drawn(
        1, TWO, bursts=(0, 0), drift=0, noise=0), more))
    assert "demand differed by 4" in text

    def same(b):
        b.values["demand"] = 1.4
    assert not comparison.verdict(changed(comparison.drawn(
        1, TWO, bursts=(0, 0), same={"rr": .8}), same)).refused()


def test_a_cost_without_a_cause_is_refused():
    text = refused(comparison.drawn(1, TWO, codec={"rr": 1.1},
                                    bursts=(0, 0)))
    assert "more under rr than under fifo" in text
    assert "neither the scheduler's own time nor locality" in text


def test_episodes_are_compared():
    found = comparison.drawn(1, TWO, bursts=(0, 0))
    for r, name in itertools.product(range(1, 9), TWO):
        slow = name == "fifo"
        found.append(blocks.Block(
            r, name, blocks.EPISODE, 0, 1, 1300, "", {
                "episode_lost_share": .1 + .001 * (r % 3),
                "recovery_ms": 300.0 + 100 * (r % 2) if slow else 100.0}))
    said = comparison.verdict(found)
    assert said.results.differ("fifo", "rr", "recovery_ms") == 1
    assert said.results.differ("fifo", "rr", "episode_lost_share") == 0
    assert "Recovery 100 ms under rr" in plain(said.outcome())
    assert said.as_dict()["choose"] == ["rr"]


def test_a_wide_interval_may_lie_above_a_sure_difference():
    """Then the sentence says what the sure one is compared with."""
    three = [*TWO, "edf"]
    found = comparison.drawn(1, three, bursts=(0, 0))
    for r, name in itertools.product(range(1, 9), three):
        ms = {"rr": 100.0, "fifo": 150.0, "edf": 50.0 + 300 * (r % 2)}[name]
        found.append(blocks.Block(
            r, name, blocks.EPISODE, 0, 1, 1300, "",
            {"episode_lost_share": .1, "recovery_ms": ms + r % 3}))
    said = comparison.verdict(found)
    assert said.results.differ("fifo", "rr", "recovery_ms") == 1
    assert not said.results.differ("edf", "rr", "recovery_ms")
    assert "under fifo, more than under rr" in plain(said.outcome())


def test_episodes_of_few_rounds_are_in_the_table_alone():
    """Nobody knows whether they are alike."""
    found = comparison.drawn(1, TWO, bursts=(0, 0))
    for name, ms in zip(TWO, (400.0, 100.0)):
        found.append(blocks.Block(
            1, name, blocks.EPISODE, 0, 1, 1300, "",
            {"episode_lost_share": .1, "recovery_ms": ms}))
    said = comparison.verdict(found)
    text = plain(said.outcome())
    assert "loss " in text
    assert "ecovery" not in text and "episodes" not in text
    columns, rows = said.table()
    assert {c.values["recovery_ms"] for c in columns} == {400, 100}


# ---- what comes out

def test_a_run_in_blocks_has_a_column_for_each_scheduler(
        played, codec_report, tmp_path):
    folder = played(rounds(7, "fifo", "rr", "fifo#2"))
    result = codec_report("--json", folder)
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert [s["label"] for s in data["runs"][0]["schedulers"]] == \
        ["fifo", "rr", "fifo#2"]
    said, = data["verdict"]
    assert said["refused"] == "" and len(said["blocks"]) == 21
    assert {c["scheduler"]: c["blocks"] for c in said["columns"]} == \
        {"fifo": 7, "fifo#2": 7, "rr": 7}
    for c in said["columns"]:
        assert c["demand"] == pytest.approx(1.25, rel=.03)
        assert c["floor"] == pytest.approx(1 - 1 / c["demand"], abs=.01)
    assert "interleaved under the same calls: seven rounds" in said["head"]
    page = tmp_path / "r.html"
    result = codec_report("--html", str(page), "--plots",
                          str(tmp_path / "p"), folder)
    assert result.returncode == 0, result.stderr
    text = page.read_text()
    assert 'id="forest"' in text and 'id="timeline"' not in text
    assert "floor, 1 - 1/demand" in text
    assert (tmp_path / "p" / "forest.svg").exists()


def test_a_scheduler_that_broke_its_contract_is_marked(played, codec_report):
    """Nothing is chosen, and no column has its plain name."""
    folder = played(rounds(7, "fifo", "rr,x=1"))
    path = os.path.join(folder, "blocks.json")
    with open(path, encoding="utf-8") as f:
        kept = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**kept, "broken": {"rr,x=1": 3200 * MS}}, f)
    data = json.loads(codec_report("--json", folder).stdout)
    said, = data["verdict"]
    names = {c["scheduler"] for c in said["columns"]}
    assert len(names) == 2 and "fifo" in names and "rr" not in names
    mark, = names - {"fifo"}
    assert re.fullmatch(r"rr until it broke its contract at \d\.\d s", mark)
    assert said["choose"] == [] and f"there is {mark}" in said["refused"]
    assert [s["label"] for s in data["runs"][0]["schedulers"]] == [
        "fifo", mark]


def test_a_scheduler_that_broke_its_contract_at_once_is_named(
        played, codec_report):
    """It has no block, and so no column."""
    folder = played(rounds(7, "fifo", "rr"))
    path = os.path.join(folder, "blocks.json")
    with open(path, encoding="utf-8") as f:
        kept = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**kept, "broken": {"bad,x=1": 3200 * MS}}, f)
    said, = json.loads(codec_report("--json", folder).stdout)["verdict"]
    assert {c["scheduler"] for c in said["columns"]} == {"fifo", "rr"}
    assert "bad,x=1 broke its contract" in said["refused"]
    assert said["choose"] == []


def test_switches_without_blocks_make_a_column_for_each_scheduler(
        write, groups):
    trace, found = overloaded(rounds(3, "fifo", "rr"))
    got = groups(write(trace))
    assert {name for name, _ in got} == {"edf", "fifo", "rr"} or \
        {name for name, _ in got} == {"fifo", "rr"}
    (rr, ) = [g for (name, _), g in got.items() if name == "rr"]
    # between its stretches nobody waited for a frame
    assert rr["jitter_max_ms"] is None or rr["jitter_max_ms"] < 1000
    assert math.isclose(rr["busy_share"], .9, abs_tol=.05)


def test_refusals_come_with_the_measurements(played, codec_report):
    folder = played(rounds(2, "fifo", "rr"))
    result = codec_report(folder)
    assert result.returncode == 0, result.stderr
    assert "Cannot be told from these runs: two valid rounds" in \
        result.stdout.replace("\n", " ")
    assert "floor, 1 - 1/demand" in result.stdout


def test_decided_metrics_have_words():
    assert set(interleaved.WANTED) == \
        {interleaved.COST, *interleaved.DECIDE}
    assert set(interleaved.DECIDE) - {"missed_share"} <= \
        {metric.key for metric in interleaved.ROWS}


def test_a_page_of_blocks_without_results_has_a_title(
        played, codec_report, tmp_path):
    folder = played(rounds(2, "fifo", "rr"), lambda found: [
        {**b, "cpu_ns": S // 2} for b in found])
    page = tmp_path / "r.html"
    assert codec_report("--html", str(page), folder).returncode == 0
    assert "<h1>demo</h1>" in page.read_text()

# SPDX-License-Identifier: Apache-2.0
"""campaigns/scale in small: what its tables and its advice say."""
import csv
import json
import os
import pathlib
import subprocess

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
SCALE = ROOT / "campaigns" / "scale"

# Made up, so that every machine says the same: a lock that 16 CPUs can just
# share, and 4 easily.
OVERHEADS = {
    "lock": {"edf": {"alone": {"300": 100, "30000": 300},
                     "shared": {"300": 2000, "30000": 4000}}},
    "context_ns": 500, "migration_ns": 700,
}


# Frames of 20 us and packets of 4: five workers that work all the time need a
# receiver.
COSTS = {"lock": {"edf": {"alone": {"300": 100}, "shared": {"300": 200}}},
         "encode": {"mean_ns": 20000, "sd_ns": 2000, "kernels": "none"},
         "receiver": {"cost_ns": 4000, "wake_ns": 3000}}


def play(out, *args):
    return subprocess.run(
        ["/usr/bin/python3", "-B", SCALE / "run", "--build", BUILD, "--out",
         out, "--scheduler", "edf", *map(str, args)],
        capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    """A small run: its text, scale.json and folder."""
    folder = tmp_path_factory.mktemp("scale")
    given = folder / "given.json"
    given.write_text(json.dumps(OVERHEADS))
    done = play(folder, "--cpus", "4,16", "--loads", 90, "--duration",
                "100ms", "--overheads", given)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "scale.json").read_text()), folder


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """The same of receivers: its text, what scale.json has of them, folder."""
    folder = tmp_path_factory.mktemp("receivers")
    given = folder / "given.json"
    given.write_text(json.dumps({**OVERHEADS, **COSTS}))
    done = play(folder, "--cpus", "4,8", "--loads", 90, "--duration",
                "100ms", "--only", "receivers", "--overheads", given)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "scale.json").read_text())
    return done.stdout, found["receivers"], folder


def by_point(parsed):
    return {(r["cpus"], r["domain"]): r for r in parsed[1]["rows"]}


def test_every_size_of_queue_is_played(parsed):
    assert list(by_point(parsed)) == [(4, 1), (4, 4), (16, 1), (16, 4),
                                      (16, 8), (16, 16)]


def test_calls_move_only_where_they_can(parsed):
    rows = by_point(parsed)
    assert rows[16, 1]["migrations"] == rows[4, 1]["migrations"] == 0
    assert rows[16, 4]["migrations"] > 0
    assert rows[16, 16]["moved_share"] > rows[16, 4]["moved_share"]


def test_a_contended_lock_costs_more_on_more_cpus(parsed):
    rows = by_point(parsed)
    assert rows[16, 16]["overhead_share"] > 1.5 * rows[4, 4]["overhead_share"]
    assert rows[16, 1]["overhead_share"] == pytest.approx(
        rows[4, 1]["overhead_share"], rel=0.02)


def test_overheads_are_those_given(parsed):
    """300 calls: 2000 ns, 30000: 4000, in between by the logarithm; alone,
    the decision is no lock."""
    rows = by_point(parsed)
    alone, all16 = rows[16, 1], rows[16, 16]
    assert (alone["lock_ns"], all16["decision_ns"]) == (0, 0)
    assert 100 < alone["decision_ns"] < 130
    assert 3000 < all16["lock_ns"] < 3400
    assert (alone["context_ns"], alone["migration_ns"]) == (500, 700)


def test_the_load_is_that_of_the_campaign(parsed):
    """Two that encode in 66.7 us for each one that decodes in 15.1 us."""
    want_us = (2 * 66.7 + 15.1) / 3
    for r in parsed[1]["rows"]:
        assert r["calls"] == pytest.approx(
            0.90 * r["cpus"] * 20000 / want_us, rel=0.005)
        assert r["demand"] == pytest.approx(
            0.90 * (1 + r["overhead_share"] / (r["busy_share"] -
                                               r["overhead_share"])), rel=0.01)


def test_a_row_can_be_played_again(parsed):
    row = parsed[1]["rows"][-1]
    again = subprocess.run(row["command"], shell=True, capture_output=True,
                           text=True, timeout=PATIENCE, check=False)
    assert json.loads(again.stdout)["total"]["delay"]["p99_ns"] == \
        row["p99_ns"]


def test_advice_follows_the_rule(parsed):
    text, found, _ = parsed
    assert [(a["cpus"], a["load"]) for a in found["advice"]] == [(4, 90),
                                                                 (16, 90)]
    assert all(a["fits"] for a in found["advice"])
    for a in found["advice"]:
        row = by_point(parsed)[a["cpus"], a["domain"]]
        assert row["missed_share"] == 0 and row["demand"] < 1
    assert found["rule"] in text


def test_csv_and_picture_are_left(parsed):
    _, found, folder = parsed
    with open(folder / "scale.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(r["p99_ns"]) for r in rows] == [r["p99_ns"]
                                                for r in found["rows"]]
    assert (folder / "scale.png").read_bytes().startswith(b"\x89PNG")


def point(domain, p99, missed=0.0, demand=0.95):
    return {"scheduler": "edf", "cpus": 16, "load": 90, "domain": domain,
            "p99_ns": p99, "missed_share": missed, "demand": demand}


@pytest.mark.parametrize("rows, domain, fits", [
    ([point(1, 200), point(4, 100), point(16, 110)], 4, True),
    ([point(1, 104), point(4, 100), point(16, 101)], 1, True),  # equal
    ([point(1, 106), point(4, 100), point(16, 101)], 4, True),
    ([point(1, 50, 1e-6), point(4, 100), point(16, 120)], 4, True),  # misses
    ([point(1, 50, 0, 1.01), point(4, 100), point(16, 120)], 4, True),  # will
    ([point(1, 9, .3, 1.2), point(4, 9, .2, 1.1), point(16, 5, .2, 1.3)], 4,
     False),
])
def test_rule_of_the_advice(rows, domain, fits):
    code = ("import json, sys, tables; print(json.dumps(tables.advise("
            "json.load(sys.stdin))))")
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", code], cwd=SCALE,
                          input=json.dumps(rows), capture_output=True,
                          text=True, check=True)
    assert [(a["domain"], a["fits"]) for a in json.loads(done.stdout)] == [
        (domain, fits)]


def in_scale(code, given):
    """The output of @code for the JSON on its input, among scale's modules."""
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", code], cwd=SCALE,
                          input=json.dumps(given), capture_output=True,
                          text=True, check=True, timeout=PATIENCE)
    return json.loads(done.stdout)


def test_without_costs_of_receivers_they_are_left_out(parsed):
    assert "How many receivers: left out, the overheads given" in parsed[0]
    assert parsed[1]["receivers"] == {"rows": []}


@pytest.mark.parametrize("options, why", [
    (["--loads", 90, "--only", "queues"], "by --only"),
    (["--loads", 97, "--only", "receivers"], "they are for loads of")])
def test_receivers_are_simulated_on_request_only(tmp_path, options, why):
    done = play(tmp_path, "--overheads", SCALE / "receivers.json", "--cpus", 1,
                "--duration", "40ms", *options)
    assert done.returncode == 0, done.stderr
    assert f"How many receivers: left out, {why}" in done.stdout
    assert not (tmp_path / "receivers.csv").exists()


def test_workers_are_busy_for_the_load_overheads_included(received):
    _, found, _ = received
    assert {r["cpus"] for r in found["rows"]} == {4, 8}
    for r in found["rows"]:
        assert r["workers_busy"] == pytest.approx(0.9, abs=0.01)
        assert (r["cost_ns"], r["wake_ns"]) == (4000, 3000)


def test_receivers_are_enough_and_no_more(received):
    """With one receiver fewer, packets alone want more than there is, or p99
    is beyond the bound."""
    text, found, _ = received
    assert found["rule"] in text
    for a in found["advice"]:
        rows = {r["receivers"]: r for r in found["rows"]
                if r["cpus"] == a["cpus"]}
        demand = a["calls"] * 50 * 4000 / 1e9
        assert demand <= a["fewest"] <= a["enough"] <= a["cpus"]
        assert a["fewest"] - 1 < demand or a["fewest"] - 1 in rows
        assert rows[a["enough"]]["p99_ns"] <= 1.05 * rows[a["cpus"]]["p99_ns"]
        assert rows[a["enough"]]["lost_share"] == 0
        # what a packet costs shows where none has to wait
        assert 4000 <= rows[a["cpus"]]["p50_ns"] - rows[0]["p50_ns"] < 20000
        for n in set(rows) - {0}:
            assert rows[n]["work"] == pytest.approx(demand / n, rel=0.02)


def test_a_row_of_receivers_can_be_played_again(received):
    row = received[1]["rows"][-1]
    again = subprocess.run(row["command"], shell=True, capture_output=True,
                           text=True, timeout=PATIENCE, check=False)
    assert json.loads(again.stdout)["total"]["delay"]["p99_ns"] == \
        row["p99_ns"]


def test_csv_and_picture_of_receivers_are_left(received):
    _, found, folder = received
    with open(folder / "receivers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(r["p99_ns"]) for r in rows] == [r["p99_ns"]
                                                for r in found["rows"]]
    assert (folder / "receivers.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("least", [1, 2, 3, 7, 8, 9, 20, 21])
def test_the_fewest_that_fit_are_found(least):
    code = ("import json, sys, receivers; least = json.load(sys.stdin); "
            "print(json.dumps(receivers.fewest([2, 8, 9, 20], "
            "lambda n: n >= least)))")
    assert in_scale(code, least) == (least if least <= 20 else None)


def test_prices_come_from_two_runs():
    """2 us a packet, 5 us a wake-up."""
    runs = [{"packets": 1000, "wakes": 10, "cpu_ns": 2050 * 1000},
            {"packets": 2000, "wakes": 1800, "cpu_ns": 2 * 6500 * 1000}]
    code = ("import json, sys, receiving; "
            "print(json.dumps(receiving.prices(*json.load(sys.stdin))))")
    assert in_scale(code, runs) == pytest.approx([2000, 5000])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_receiver_is_measured():
    """Counts only: every packet that was sent is accounted for."""
    code = ("import json, pathlib, sys, receiving; receiving.SECONDS = 1; "
            "build = pathlib.Path(json.load(sys.stdin)); "
            "print(json.dumps([receiving.one_run(build, 1e6, *way) "
            "for way in receiving.WAYS]))")
    few, many = in_scale(code, str(BUILD))
    for run in few, many:
        assert run["calls"] == 10
        assert 0 < run["packets"] == run["sent"] <= 500
        assert run["cpu_ns"] > 0
    assert few["wakes"] > 0 and many["wakes"] > 0


@pytest.mark.parametrize("name, rows", [("epyc.json", 0),
                                        ("receivers.json", 1)])
def test_overheads_of_the_readme_can_be_played(tmp_path, name, rows):
    done = play(tmp_path, "--overheads", SCALE / name, "--cpus", 2, "--loads",
                70, "--duration", "40ms")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "overheads.json").read_text())
    assert kept["source"]["file"].endswith(name)
    found = json.loads((tmp_path / "scale.json").read_text())
    assert bool(found["receivers"]["rows"]) == bool(rows)


def test_wrong_files_and_loads_are_reported(tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    done = play(tmp_path, "--overheads", empty)
    assert done.returncode != 0 and "no overheads of edf" in done.stderr
    done = play(tmp_path, "--loads", "55")
    assert done.returncode == 2 and "load-55.yaml" in done.stderr

# SPDX-License-Identifier: Apache-2.0
"""A search for capacity whose runs break off."""
import json
import subprocess
import sys
import types

import pytest

import search
from live import BROKEN, Broken
from search import search_all

SHARE = search.Others.share  # before conftest.py takes its place
LIMITS = {"fifo": .3, "edf": .7}


class Machine:
    """Carries so much under each scheduler. Breaks off at the given trials;
    when @raises, as if the daemon did not start."""

    def __init__(self, out, breaks, raises=False):
        self.options = types.SimpleNamespace(out=str(out), p99=20, name="x",
                                             campaign="x.yaml")
        self.specs, self.counts, self.constant = list(LIMITS), {}, {}
        self.stopped, self.played, self.stops = False, 0, 0
        self.breaks, self.raises = breaks, raises

    def is_foreign(self, spec):
        return False

    def size_loads(self):
        pass

    def stop_daemon(self):
        self.stops += 1

    def play(self, spec, folder, scale):
        self.played += 1
        if self.played in self.breaks:
            if self.raises:
                raise Broken
            return BROKEN
        told = {"admitted": 9, "lost": int(scale > LIMITS[spec]), "missed": 0,
                "refused": 0, "delay": {"p99_ns": 5e6}}
        with open(f"{folder}/run.json", "w", encoding="utf-8") as f:
            json.dump({"total": told}, f)
        return 0


@pytest.fixture
def found(tmp_path, others):
    """Search; the exit code, and what capacity.json says of the schedulers."""
    def run(*breaks, **more):
        for spec in LIMITS:
            (tmp_path / spec / "search").mkdir(parents=True, exist_ok=True)
        machine = Machine(tmp_path, breaks, **more)
        code = search_all(machine)
        told = json.loads((tmp_path / "capacity.json").read_text())
        return code, {s["scheduler"]: s for s in told["schedulers"]}, machine

    return run


@pytest.mark.parametrize("raises", [False, True])
def test_a_trial_that_breaks_off_is_played_again(found, raises):
    _, as_ever, _ = found()
    code, told, machine = found(2, 5, 6, raises=raises)
    assert code == 0 and told == as_ever
    assert machine.stops == (3 if raises else 0)
    for spec, one in told.items():
        assert one["confirmed"]
        assert LIMITS[spec] / 1.05 <= one["scale"] <= LIMITS[spec]


def test_if_it_always_does_the_rest_is_kept(found, capsys):
    """fifo's search ends at its fourth trial; edf's is whole."""
    code, told, _ = found(4, 5, 6)
    assert code == BROKEN
    assert len(told["fifo"]["trials"]) == 3
    assert told["fifo"]["scale"] == .25 and not told["fifo"]["confirmed"]
    assert told["edf"]["confirmed"]
    table = capsys.readouterr().out.split("== largest load")[1]
    assert " >25.0%" in table and " >" not in table.split("edf")[1]


def test_a_trial_that_fails_beside_others_is_played_again(found, others):
    """1 fails, disturbed twice and then by itself; .5 fails by itself."""
    _, as_ever, quiet = found()
    others += [.3, .11, .1]
    code, told, machine = found()
    assert code == 0 and machine.played == quiet.played + 2
    assert [s["scale"] for s in told.values()] == \
        [s["scale"] for s in as_ever.values()]
    assert told["fifo"]["trials"][0]["others"] == .1
    assert not told["fifo"]["disturbed"]


def test_a_bound_that_others_have_set_is_marked(found, others, capsys):
    others += [.3] * 1000
    _, told, _ = found()
    assert told["fifo"]["confirmed"] and told["fifo"]["disturbed"] == .3
    table = capsys.readouterr().out.split("== largest load")[1]
    assert " >" in table and "30% of the CPU time" in table


def test_a_child_that_has_ended_is_our_own():
    busy, own = search.Others._now()
    subprocess.run([sys.executable, "-c", "import time\n"
                    "while time.process_time() < .5: pass"], check=True)
    busy_now, own_now = search.Others._now()
    assert own_now - own >= .5
    assert busy_now - busy >= own_now - own - .1  # the kernel counts in ticks


def test_the_rest_is_others(monkeypatch):
    monkeypatch.setattr(search.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(search.time, "monotonic", iter([0, 10]).__next__)
    monkeypatch.setattr(search.Others, "_now",
                        staticmethod(iter([(0, 0), (30, 20)]).__next__))
    assert SHARE(search.Others()) == .25

# SPDX-License-Identifier: Apache-2.0
"""A search for capacity whose runs break off."""
import json
import types

import pytest

from live import BROKEN, Broken
from search import search_all

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
def found(tmp_path):
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

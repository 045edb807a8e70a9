# SPDX-License-Identifier: Apache-2.0
"""tests/bench/pair: which runs count, in which order, and the ratio."""
import argparse

import pytest


@pytest.fixture
def pair(program):
    return program("pair")


@pytest.fixture
def build(tmp_path):
    def at(name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "codec-runner").touch()
        return str(tmp_path / name)
    return at


def test_ratio_is_of_runs_next_to_each_other(pair, result):
    found = pair.figures([[result(cpu_us=10), result(cpu_us=11)],
                          [result(cpu_us=20), result(cpu_us=18)],
                          [result(cpu_us=10), result(cpu_us=12)]])
    assert found["ratio"] == {"median": 1.1, "least": 0.9, "most": 1.2}
    assert [of["cpu_us"]["median"] for of in found["of_each"]] == [10, 12]


def test_a_pair_with_a_late_load_does_not_count(pair, result):
    found = pair.figures([[result(cpu_us=10, late_ms=4), result(cpu_us=40)],
                          [result(cpu_us=10, lost=3), result(cpu_us=20)]])
    assert (found["pairs"], found["thrown_away"]) == (1, 1)
    assert found["ratio"]["most"] == 2
    assert [of["lost"] for of in found["of_each"]] == [3, 0]


def test_no_pair_counts(pair, result):
    found = pair.figures([[result(late_ms=4), result()]])
    assert (found["pairs"], found["ratio"], found["of_each"]) == (0, None, [])
    pair.show({"calls": 1, "terms": "PCMU to AMR", "port": "own", "seconds": 2,
               "contenders": ["a", "b"]} | found)


def test_set_ups_are_compared_by_their_cpu_time(pair, capsys):
    found = pair.figures_of_setups([[100.0, 110.0], [200.0, 180.0]])
    assert found["ratio"] == {"median": 1.0, "least": 0.9, "most": 1.1}
    pair.show({"calls": 600, "seconds": 2, "contenders": ["before", "after"]}
              | found)
    assert [line.split()[-1] for line in
            capsys.readouterr().out.splitlines()[2:4]] == ["before", "after"]


def test_who_goes_first_changes(pair, result, build, monkeypatch):
    went = []
    monkeypatch.setattr(pair.Contender, "once", lambda self, args:
                        went.append(self.text) or result())
    before, after = build("before"), build("after") + " --ring 2"
    found = pair.measure(argparse.Namespace(
        contenders=[before, after], calls=9, codec="amr", port="shared",
        load="transcode", two=False, seconds=2, repeat=3))
    assert went == [before, after, after, before, before, after]
    assert found["pairs"] == 3


def test_a_contender_is_a_build_and_options(pair, build):
    one = pair.Contender(build("now") + " --ring 2 --scheduler 'edf'")
    assert one.options == ["--ring", "2", "--scheduler", "edf"]


@pytest.mark.parametrize("text", ["", "/nowhere", "/nowhere --ring 2"])
def test_a_build_that_is_not_there(pair, text):
    with pytest.raises(SystemExit, match="no codec-runner in it"):
        pair.Contender(text)


def test_a_quotation_that_does_not_end(pair):
    with pytest.raises(SystemExit, match="No closing quotation"):
        pair.Contender("build/release 'x")

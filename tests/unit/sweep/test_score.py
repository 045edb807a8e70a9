# SPDX-License-Identifier: Apache-2.0
"""Which frames of a simulated call are heard, and of which calls PESQ is."""
import numpy as np

from codec_sweep import cli, score

MS = 1_000_000
DONE, EXPIRED, SHED, CANCELLED = (score.OUTCOMES.index(name) for name in (
    "done", "expired", "shed", "cancelled"))


def jobs(*rows):
    """Of (task, seq, outcome, arrival, sent, buffered), as of a trace."""
    names = "task", "seq", "outcome", "arrival", "sent", "buffered"
    return {name: np.array([row[i] for row in rows], np.int64)
            for i, name in enumerate(names)}


def test_what_is_done_in_time_is_heard_and_nothing_else():
    some = jobs((1, 0, DONE, 0, 5 * MS, 0),
                (2, 0, DONE, 0, 5 * MS, 0),
                (1, 2, SHED, 40 * MS, 0, 0),
                (1, 1, EXPIRED, 20 * MS, 0, 0),
                # 3 was lost on the way, and no job
                (1, 5, DONE, 100 * MS, 501 * MS, 0),
                (1, 4, DONE, 80 * MS, 480 * MS, 0),
                (1, 6, DONE, 200 * MS, 580 * MS, 21 * MS),  # in its buffer
                (1, 8, CANCELLED, 160 * MS, 0, 0),
                (1, 7, DONE, 140 * MS, 150 * MS, 0))
    assert score.fates(some, 1) == ".ccc.cc.c"
    assert score.fates(some, 2) == "."
    assert score.fates(some, 3) == ""


def test_a_copy_of_a_frame_that_came_takes_nothing_away():
    some = jobs((1, 0, DONE, 0, 5 * MS, 0), (1, 0, EXPIRED, 0, 0, 0),
                (1, 1, DONE, 0, 5 * MS, 0))
    assert score.fates(some, 1) == ".."


def test_calls_are_chosen_evenly():
    assert score.evenly(list(range(10)), 4) == [0, 2, 5, 7]
    assert score.evenly([1, 2], 4) == [1, 2]


def test_numbers_are_of_all_and_of_each_flow():
    assert score.numbers([("a", 2.0), ("a", 4.0), ("b", None)]) == {
        "total.pesq": 3.0, "total.pesq_worst": 2.0, "total.pesq_calls": 2,
        "flows.a.pesq": 3.0, "flows.a.pesq_worst": 2.0,
        "flows.a.pesq_calls": 2,
        "flows.b.pesq": None, "flows.b.pesq_worst": None,
        "flows.b.pesq_calls": 0}


def test_the_command_knows_the_names():
    assert cli.PESQ == score.NAMES

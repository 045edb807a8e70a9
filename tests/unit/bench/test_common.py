# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of the wire have in common."""
import json
import socket

import pytest

from common.figures import largest, most_carried, spread, spread_text, verdict
from common.runner import Calls, Runner, batches, target
from common.wire import TRIES, in_time, sound, text, tried


def test_a_spread_is_median_least_and_most():
    assert spread([3, 1.004, 2], 2) == {"median": 2, "least": 1.0, "most": 3}
    assert spread_text(spread([1, 2, 4], 1)) == "2 (1 to 4)"


def test_nothing_measured_is_no_success():
    assert spread([], 2) is None
    assert verdict(None, 10) == "not measured"
    assert spread_text(None) == "none"


def test_the_median_is_judged_and_the_bar_itself_is_within():
    assert verdict({"median": 1.25}, 1.25) == "ok"
    assert verdict({"median": 1.251}, 1.25) == "missed"


@pytest.mark.parametrize("limit", [1, 7, 50, 99, 100])
def test_the_largest_load_is_found(limit):
    assert largest(0, 100, 1, lambda load: load <= limit) == limit


def test_the_largest_load_is_found_to_a_step():
    found = largest(0, 1000, 10, lambda load: load <= 777)
    assert 767 < found <= 777


@pytest.mark.parametrize("limit", [10, 11, 39, 40, 1234])
def test_the_most_carried_is_found_by_doubling(limit):
    tried = []
    found = most_carried(10, 5000, 50,
                         lambda load: tried.append(load) or load <= limit)
    assert limit * .97 <= found <= limit and len(tried) < 20
    assert most_carried(limit * 2, 5000, 50, lambda load: load <= limit) in (
        limit, limit - 1)
    assert most_carried(limit, 5000, 50, lambda load: False) is None


def test_no_load_at_all_is_carried():
    assert largest(1, 100, 1, lambda load: False) is None


def test_batches_fit_the_protocol_and_keep_the_order():
    calls = Calls("amr-wb", "own")
    requests = [calls.request(i, "127.0.0.1:60000") for i in range(1001)]
    sent = list(batches(iter(requests)))
    assert sum(sent, []) == requests
    assert all(0 < len(batch) <= 256 for batch in sent)
    assert all(len(json.dumps(batch)) < 65536 for batch in sent)


def test_a_call_is_asked_for_with_known_numbers():
    """The load begins with this RTP timestamp, and knows answers of a shared
    socket by their SSRC."""
    request = Calls("amr", "own").request(4, "127.0.0.1:7000")
    assert request["id"] == 4
    assert request["params"] == {
        "in": {"codec": "pcmu", "ts_first": 8000},
        "out": {"codec": "amr", "mode": "12.2", "ssrc": 5,
                "address": "127.0.0.1:7000"},
        "port": "own", "ssrc": 5, "ptime_ms": 20}


@pytest.mark.parametrize("codec, ptime, rate, expect", [
    ("pcma", "20ms", "8000", "pcma"), ("amr", "20ms", "8000", "any"),
    ("amr-wb", "20ms", "16000", "any"), ("g723_1", "30ms", "8000", "any")])
def test_the_load_has_what_the_call_has(codec, ptime, rate, expect):
    words = Calls(codec, "shared").load_options()
    options = dict(zip(words[::2], words[1::2]))
    assert (options["--ptime"], options["--rate"], options["--out-clock"],
            options["--expect"]) == (ptime, rate, rate, expect)


REPLY = {"call": 1, "rtp": {"address": "127.0.0.1:40000", "ssrc": 9, "pt": 0},
         "out": {"ssrc": 9, "pt": 96, "ts_base": 4294967295, "clock": 8000}}


def test_a_target_is_what_the_daemon_replied():
    assert target(REPLY) == "127.0.0.1:40000 9 0 4294967295"


class Answering(Runner):
    """A daemon that answers a batch in an order of its own, and refuses the call
    @refused."""

    def __init__(self, refused=None):
        self.refused = refused

    def replies(self, batch):
        return {r["id"]: {"error": {"message": "no more ports"}}
                if r["id"] == self.refused else
                {"result": {**REPLY, "rtp": {**REPLY["rtp"],
                                             "ssrc": r["params"]["ssrc"]}}}
                for r in reversed(batch)}


def test_targets_have_the_order_of_the_calls():
    targets = Answering().start(Calls("amr", "own"), ["127.0.0.1:1"] * 250)
    assert [int(t.split()[1]) for t in targets] == list(range(1, 251))


def test_a_refused_call_is_named():
    with pytest.raises(SystemExit, match="call 121 of 250: no more ports"):
        Answering(120).start(Calls("amr", "own"), ["127.0.0.1:1"] * 250)


def test_a_run_is_tried_until_it_is_good(result):
    runs = iter([result(late_ms=9), result(late_ms=8), result(late_ms=1)])
    assert tried("x", lambda: next(runs))["late"]["p99_ns"] == 1e6
    tries = []
    last = tried("x", lambda: tries.append(0) or result(lost=len(tries)),
                 lambda run: False)
    assert len(tries) == last["lost"] == TRIES


def test_a_late_load_and_troubles_are_told(result):
    run = result(late_ms=5)
    run["out_of_sequence"] = 3
    assert not sound(run)
    assert "3 out of sequence" in text(run) and "5.0 ms late" in text(run)
    assert "late" not in text(result())
    assert not sound(result(held_ms=120)) and sound(result(held_ms=80))
    assert in_time(result(held_ms=120)) and not in_time(run)
    assert "held for 12.0% of the time" in text(result(held_ms=120))


def test_a_runner_that_is_interrupted_before_it_can_be_read_is_left():
    control, daemon = socket.socketpair()
    with control, daemon:
        runner = Runner.__new__(Runner)
        runner.control, runner.lines = control, None
        runner.bye()

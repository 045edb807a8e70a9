# SPDX-License-Identifier: Apache-2.0
"""The client of tests/bench/ng before a program that answers as it is told; its
bars."""
import socket
import threading

import pytest

from rtpengine.daemon import bdecode, bencode
from sipproxy.client import SOURCES, Client, answer, delete, offer


@pytest.fixture
def ng(program):
    return program("ng")


class Answerer(threading.Thread):
    """Takes @count requests; refuses those of the call @refused."""

    def __init__(self, count, refused=None):
        super().__init__()
        self.count, self.refused, self.seen = count, refused, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(10)
        self.port = self.socket.getsockname()[1]

    def run(self):
        for _ in range(self.count):
            data, peer = self.socket.recvfrom(65536)
            cookie, _, body = data.partition(b" ")
            asked = bdecode(body)[0]
            self.seen.append((asked["call-id"], asked["command"], peer[0]))
            reply = {"result": "ok"}
            if asked["call-id"] == f"{self.refused}@bench.invalid":
                reply = {"result": "error", "error-reason": "no"}
            self.socket.sendto(cookie + b" " + bencode(reply), peer)
        self.socket.close()


def ran(chains, requests, window=4, refused=None):
    answerer = Answerer(requests, refused)
    answerer.start()
    client = Client(answerer.port, window)
    try:
        done, _ = client.run(chains, 100000)
    finally:
        client.close()
        answerer.join()
    return done, client, answerer.seen


def setups(count):
    return [(offer(i, i), answer(i, i, 96)) for i in range(count)]


def test_each_call_is_offered_answered_and_counted_once():
    done, client, seen = ran(setups(10), 20)
    assert done == 10 and not client.errors
    for i in range(10):
        of_call = [x for x in seen if x[0] == f"{i}@bench.invalid"]
        assert [x[1] for x in of_call] == ["offer", "answer"]
        assert {x[2] for x in of_call} == {f"127.0.0.{i % SOURCES + 1}"}
    assert [len(client.seconds[step]) for step in (0, 1)] == [10, 10]


def test_a_refused_offer_is_an_error_and_has_no_answer():
    done, client, seen = ran(setups(3), 5, refused=1)
    assert done == 2 and dict(client.errors) == {"no": 1}
    assert [x[1] for x in seen if x[0] == "1@bench.invalid"] == ["offer"]


def test_calls_are_deleted():
    done, _, seen = ran([(delete(i),) for i in range(5)], 5, window=1)
    assert done == 5
    assert [x[:2] for x in seen] == [(f"{i}@bench.invalid", "delete")
                                     for i in range(5)]


def run(cpu_us, errors=()):
    return {"setup_cpu_us": cpu_us, "delete_cpu_us": 100.0,
            "setups_a_second": 1000.0, "errors": dict(errors)}


def judged_of(ng, ours, theirs):
    runs = {"codec-runner": [ours], "rtpengine": [theirs]}
    result = {name: ng.of_one(of) for name, of in runs.items()}
    args = type("Args", (), {"rate": 1000})
    ng.bars(args, result, runs)
    return {key: figure["verdict"]
            for key, figure in result["codec-runner"].items()
            if isinstance(figure, dict) and "verdict" in figure}


def test_bars_are_that_of_time_and_the_other_program(ng):
    assert set(judged_of(ng, run(250), run(260)).values()) == {"ok"}
    assert judged_of(ng, run(301), run(400)) == {
        "setup_cpu_bar": "missed", "rate_bar": "ok", "errors_bar": "ok",
        "setup_to_rtpengine_bar": "ok"}
    assert judged_of(ng, run(250, {"no": 1}), run(200)) == {
        "setup_cpu_bar": "ok", "rate_bar": "ok", "errors_bar": "missed",
        "setup_to_rtpengine_bar": "missed"}

# SPDX-License-Identifier: Apache-2.0
"""codec-ctl upgrade of a node whose calls are copied to a store."""
import os
import signal

from control import Control
from conftest import own_host
from test_crash import Load
from test_failover import (child_of, ctl, node, store,  # noqa: F401, fixtures
                           until_free)
from test_supervise import children, until
from test_upgrade import step  # noqa: F401, a fixture


def test_after_an_upgrade_the_same_calls_are_in_the_store(store, node):
    """Under the same keys, by one process at a time; and a standby takes them
    right after it."""
    redis, host = store(), own_host()
    a = node("a", redis.url("a"), host, "--supervise")
    b = node("b", redis.url("b"), host, "--standby-of", "a")
    phones = a.many()
    calls = a.listed()
    load = Load(phones)
    try:
        load.all_heard(25)
        a.until(lambda s: s["calls"] == len(calls))
        run = redis.ask("GET", "codec-runner:a:run")
        was = child_of(a)
        assert ctl(a, "upgrade")["calls"] == len(calls)
        a.control = Control(a.path)
        a.until(lambda s: s["up"] and s["calls"] == len(calls))
        assert child_of(a) != was
        assert redis.ask("GET", "codec-runner:a:run") == run
        assert len(redis.calls("a")) == len(calls)
        # what is written now is written once
        with redis.heard() as heard:
            late = a.two(8000, "pcma")[0].call
            a.until(lambda s: s["calls"] == len(calls) + 1)
            a.control.ask("call.stop", {"call": late})
            a.until(lambda s: s["calls"] == len(calls))
        assert heard.count("HSET", f"codec-runner:a:{run}:calls") == 1
        assert heard.count("HDEL", f"codec-runner:a:{run}:calls") == 1
        ctl(a, "upgrade")
        daemon = child_of(a)
        a.die()  # the supervisor, which would start another one
        os.kill(daemon, signal.SIGKILL)
        until_free(phones)
        taken = b.control.ask("takeover", {})["result"]
        load.all_heard(50)
    finally:
        load.stop()
    assert (taken["calls"], taken["dropped"]) == (len(calls), 0)
    for phone in phones:
        phone.assert_goes_on()


def test_the_copy_goes_on_when_an_upgrade_has_failed(store, node, step):
    redis = store()
    a = node("a", redis.url("a"), own_host(), "--supervise")
    a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})
    a.until(lambda s: s["calls"] == 1)
    old = child_of(a)
    step.set("before", 1, "moved")
    a.control.send("upgrade", {})
    until(step.held.exists)
    (new,) = set(children(a.d.process.pid)) - {old}
    os.kill(new, signal.SIGKILL)
    step.goes_on()
    assert "has ended" in a.control.answer()["error"]["message"]
    assert child_of(a) == old
    a.start(a={"codec": "pcmu"}, b={"codec": "pcma"})
    a.until(lambda s: s["up"] and s["calls"] == 2)
    assert len(redis.calls("a")) == 2
    assert a.replica()["failures"] == 0

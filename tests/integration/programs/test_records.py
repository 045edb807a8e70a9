# SPDX-License-Identifier: Apache-2.0
"""One call's record at its end: what is in it, that all calls have one, and
that the file can be moved away. Each is checked by docs/records.schema.json."""
import datetime
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import jsonschema
import pytest

from conftest import BUILD, PATIENCE, ROOT
from control import Control
from ng_call import Call
from telephony import System, sdp

sys.path.insert(0, str(ROOT / "src" / "report"))
from codec_report import emodel  # noqa: E402

PTIME = 20  # ms
SCHEMA = jsonschema.Draft202012Validator(json.loads(
    (ROOT / "docs" / "records.schema.json").read_text()))


@pytest.fixture
def recorded(daemon, tmp_path):
    """A daemon that records, a client of it, and the file."""
    d = daemon("--control-socket", tmp_path / "control", "--records",
               tmp_path / "records", "--log-file", tmp_path / "log",
               "--drain-timeout", "0s")
    return d, Control(tmp_path / "control"), tmp_path / "records"


def lines(path, growing=False):
    """All of them, each complete; but for the last one of a file that is being
    written, or was until a crash."""
    *whole, rest = path.read_text().split("\n")
    assert growing or not rest
    return [json.loads(line) for line in whole]


def records(path, growing=False):
    """All that there are, as the schema has them."""
    found = lines(path, growing)
    for r in found:
        SCHEMA.validate(r)
    return found


def wait_for(ask):
    """Until it is true: what it says then."""
    deadline = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


def counts(client):
    return client.ask("stats", {})["result"]["records"]


def wait_for_records(client, n):
    wait_for(lambda: counts(client)["written"] >= n)


def send(sock, call, sequence, ssrc=None, no_listener=()):
    """Frames by their numbers, each after the answer to the last one."""
    host, port = call["rtp"]["address"].rsplit(":", 1)
    for n in sequence:
        sock.sendto(struct.pack("!BBHII", 0x80, call["rtp"]["pt"], n, 160 * n,
                                ssrc or call["rtp"]["ssrc"]) + bytes(160),
                    (host, int(port)))
        if n not in no_listener:
            sock.recv(2048)


def when(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00")


def test_a_record_says_what_the_call_was(recorded, sock):
    d, client, path = recorded
    before = datetime.datetime.now(datetime.timezone.utc)
    call = client.start(sock)["result"]
    send(sock, call, [n for n in range(100) if n not in (10, 50, 51, 90)])
    client.stop(call)
    wait_for_records(client, 1)
    after = datetime.datetime.now(datetime.timezone.utc)
    record, = records(path)
    assert (record["call"], record["type"], record["node"],
            record["reason"], record["by"]) == (
        call["call"], "end", socket.gethostname(), "stopped", "client")
    assert record["peer"].startswith("unix:pid=")
    assert len(record["streams"]) == 1 and "label" not in record
    r, = record["streams"]
    assert r["stream"] == call["call"]
    assert r["interface"] == "default" and r["ptime_ms"] == PTIME
    slack = datetime.timedelta(milliseconds=1)
    assert before - slack <= when(record["start"]) <= \
        when(record["end"]) <= after
    at = "127.0.0.1:%d" % sock.getsockname()[1]
    assert (r["in"]["codec"], r["in"]["pt"], r["in"]["ssrc"], r["in"]["rtp"]) \
        == ("pcmu", 0, call["rtp"]["ssrc"], call["rtp"]["address"])
    assert (r["out"]["codec"], r["out"]["pt"], r["out"]["ssrc"],
            r["out"]["to"]) == ("pcma", 8, call["out"]["ssrc"], at)
    assert (r["heard"]["source"], r["heard"]["expected"], r["heard"]["lost"]) \
        == (at, 100, 4)
    assert r["heard"]["ssrc"] == call["rtp"]["ssrc"]
    assert r["heard"]["jitter_us"] > 0
    assert (r["count"]["packets_in"], r["count"]["packets_out"],
            r["count"]["octets_in"], r["count"]["done"], r["lost"]) == \
        (96, 96, 96 * 160, 96, 0)
    delay = r["delay"]
    assert delay["count"] == 96
    assert 0 < delay["p50_us"] <= delay["p99_us"] <= delay["max_us"]
    check_quality(r, .04)


def check_quality(r, loss):
    """As codec-report has it."""
    assert r["quality"]["loss"] == pytest.approx(loss)
    assert r["quality"]["delay_ms"] == pytest.approx(
        PTIME + r["delay"]["p99_us"] / 1e3, abs=.51)
    want = emodel.rate(emodel.Rating(1, emodel.Description(
        r["in"]["codec"], r["in"]["mode"], r["out"]["codec"],
        r["out"]["mode"]), r["quality"]["delay_ms"], loss, 1.0, 100, 0), True)
    assert r["quality"]["r"] == pytest.approx(want.r, abs=.1)
    assert r["quality"]["mos"] == pytest.approx(want.mos, abs=.01)
    assert r["quality"]["wideband"] is False


def test_a_call_that_heard_nothing_has_a_record(recorded, sock):
    d, client, path = recorded
    call = client.start(sock, port="shared")["result"]
    client.stop(call)
    wait_for_records(client, 1)
    r, = records(path)[0]["streams"]
    assert r["heard"] == {"ssrc_changes": 0, "address_changes": 0,
                          "expected": 0, "lost": 0, "jitter_us": 0}
    assert r["quality"] is None and r["delay"]["count"] == 0
    assert "interface" not in r


def test_what_was_learned_is_in_the_record(recorded, sock):
    """The phone's own SSRC, then another one: gaps of both count."""
    d, client, path = recorded
    call = client.start(sock)["result"]
    send(sock, call, [n for n in range(20) if n != 7], ssrc=4711)
    # the first two of three that prove the new sender are not heard
    send(sock, call, [n for n in range(1000, 1020) if n not in (1010, 1011)],
         ssrc=4712, no_listener=(1000, 1001))
    client.stop(call)
    wait_for_records(client, 1)
    heard = records(path)[0]["streams"][0]["heard"]
    assert (heard["ssrc"], heard["ssrc_changes"]) == (4712, 1)
    assert heard["address_changes"] in (0, 1)  # the first one told it
    assert heard["expected"] == 20 + 20 - 2
    assert heard["lost"] == 1 + 2


def test_every_end_has_a_record(recorded, sock):
    """Calls that are stopped, whose client says bye, that are kept, and that
    the end of the daemon ends."""
    d, client, path = recorded
    stopped = [client.start(sock)["result"]["call"] for _ in range(20)]
    kept = [client.start(sock, keep=True)["result"]["call"] for _ in range(5)]
    for call in stopped:
        client.stop({"call": call})
    leaving = Control(path.parent / "control")
    gone = [leaving.start(sock)["result"]["call"] for _ in range(3)]
    leaving.ask("bye", {})
    wait_for_records(client, 23)
    assert d.stop() == 0
    found = {r["call"]: (r["reason"], r["by"]) for r in records(path)}
    assert found == {**dict.fromkeys(stopped, ("stopped", "client")),
                     **dict.fromkeys(gone, ("bye", "client")),
                     **dict.fromkeys(kept, ("drained", "node"))}
    assert len(records(path)) == 28
    assert len({r["id"] for r in records(path)}) == 28


def start_call(client, **options):
    return client.ask("call.start", {
        "a": {"codec": "pcmu"}, "b": {"codec": "pcma"}, **options})["result"]


def test_a_call_has_one(daemon, tmp_path):
    """Both ways in it, with its label, and the operator's name of the node."""
    d = daemon("--control-socket", tmp_path / "control", "--records",
               tmp_path / "records", "--node-name", "gw7", "--drain-timeout",
               "0s")
    client = Control(tmp_path / "control")
    c = start_call(client, label="a bill", keep=True)
    relayed = start_call(client, a={"codec": "pcma"}, keep=True)
    for one in (c, relayed):
        client.ask("call.stop", {"call": one["call"]})
    wait_for_records(client, 2)
    start_call(client, keep=True)
    assert d.stop() == 0
    found = {r["call"]: r for r in records(tmp_path / "records")}
    r = found[c["call"]]
    assert (r["node"], r["label"], r["reason"], r["by"]) == (
        "gw7", "a bill", "stopped", "client")
    assert re.fullmatch(rf"gw7-\d+-{r['call']}", r["id"])
    assert [(s["stream"], s["in"]["codec"], s["out"]["codec"], s["relay"])
            for s in r["streams"]] == [
        (c["a"]["stream"], "pcmu", "pcma", False),
        (c["b"]["stream"], "pcma", "pcmu", False)]
    r = found.pop(relayed["call"])
    assert [s["relay"] for s in r["streams"]] == [True, True]
    del found[c["call"]]
    r, = found.values()
    assert (r["reason"], r["by"]) == ("drained", "node") and "peer" not in r


def test_a_pair_is_told_though_the_other_one_has_gone(recorded, sock):
    d, client, path = recorded
    first = client.start(sock, **{"in": {"codec": "amr"}})["result"]
    second = client.ask("call.start", {
        "in": {"codec": "pcmu"}, "pair": first["call"], "out": {
            "codec": "amr", "address": "127.0.0.1:9"}})["result"]
    for call in (first, second):
        client.stop(call)
    wait_for_records(client, 2)
    assert {r["call"]: r["pair"] for r in records(path)} == {
        first["call"]: second["call"], second["call"]: first["call"]}


def ng_call(d, proxy, answer="0 PCMU/8000"):
    call = Call(proxy, codec={"transcode": ["PCMU"]})
    call.offer("8 PCMA/8000")
    call.answer(answer)
    return call


def test_calls_of_a_proxy_have_its_tags_and_why_they_ended(daemon, tmp_path):
    """One record a call: deleted, silent, refused by a new answer, and cut by a
    restart."""
    path = tmp_path / "records"
    conf = tmp_path / "node.conf"
    conf.write_text("")
    d = daemon("--config", conf, "--control-socket", tmp_path / "control",
               "--records", path, "--ng", "127.0.0.1:0", "--drain-timeout",
               "0s")
    client = Control(tmp_path / "control")
    proxy = System(d.ready["ng"])
    silent = ng_call(d, proxy)
    conf.write_text("ng-silence = 100ms\n")
    d.process.send_signal(signal.SIGHUP)
    wait_for_records(client, 1)
    conf.write_text("")
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: client.ask("stats", {})["result"]["config"]["read"] == 2)
    deleted, relayed = ng_call(d, proxy), ng_call(d, proxy, "8 PCMA/8000")
    for call in (deleted, relayed):
        call.delete()
    wait_for_records(client, 3)
    cut = [ng_call(d, proxy) for _ in range(3)]
    assert d.stop() == 0
    found = records(path)
    assert {r["label"]: (r["reason"], r["by"]) for r in found} == {
        silent.id: ("silent", "node"), deleted.id: ("stopped", "proxy"),
        relayed.id: ("stopped", "proxy"),
        **{call.id: ("drained", "node") for call in cut}}
    assert len(found) == 6
    for r in found:
        assert (r["from_tag"], r["to_tag"]) == ("tag-a", "tag-b")
        assert [s["in"]["codec"] for s in r["streams"]] == \
            (["pcma", "pcma"] if r["label"] == relayed.id else ["pcma", "pcmu"])
        assert ("peer" in r) == (r["by"] == "proxy")
        assert r["by"] != "proxy" or r["peer"].startswith("127.0.0.1:")


def test_lines_of_a_call_have_records_that_can_be_joined(daemon, tmp_path):
    path = tmp_path / "records"
    d = daemon("--records", path, "--ng", "127.0.0.1:0")
    proxy = System(d.ready["ng"])
    more = ["m=video 6000 RTP/AVP 96", "m=audio 6002 RTP/AVP 0"]
    names = {"call_id": "of two lines", "from_tag": "tag-a"}
    proxy.ok("offer", **names, sdp=sdp(6004, more=more))
    proxy.ok("answer", **names, to_tag="tag-b", sdp=sdp(6006, more=[
        "m=video 0 RTP/AVP 96", "m=audio 6008 RTP/AVP 0"]))
    proxy.ok("delete", **names)
    assert d.stop() == 0
    found = records(path)
    assert sorted((r["line"], r["label"], r["from_tag"], r["to_tag"])
                  for r in found) == [
        (line, "of two lines", "tag-a", "tag-b") for line in (1, 3)]
    assert len({r["id"] for r in found}) == 2


def test_what_rings_is_not_in_the_bill(daemon, tmp_path):
    """Media before the answer goes through, and the call begins with that."""
    path = tmp_path / "records"
    d = daemon("--control-socket", tmp_path / "control", "--records", path,
               "--ng", "127.0.0.1:0", "--drain-timeout", "0s")
    client = Control(tmp_path / "control")
    call = Call(System(d.ready["ng"]), codec={"transcode": ["PCMU"]})
    begun = time.monotonic()
    call.offer("8 PCMA/8000")
    while time.monotonic() < begun + 1:
        client.ask("stats", {})
    answered = time.monotonic()
    call.answer("0 PCMU/8000")
    call.delete()
    wait_for_records(client, 1)
    most = datetime.timedelta(seconds=time.monotonic() - answered)
    r, = records(path)
    assert datetime.timedelta(milliseconds=r["duration_ms"]) <= most
    assert when(r["end"]) - when(r["start"]) <= most + \
        datetime.timedelta(milliseconds=1)


def test_a_call_has_a_name_whatever_its_caller_calls_it(daemon, tmp_path):
    """What is not UTF-8 in a Call-ID or a tag does not hide whose call it was."""
    path = tmp_path / "records"
    d = daemon("--control-socket", tmp_path / "control", "--records", path,
               "--ng", "127.0.0.1:0")
    client = Control(tmp_path / "control")
    proxy = System(d.ready["ng"], encoding="bencode")
    names = {"call_id": "ö\udcffb\udcc3", "from_tag": "\udc80"}
    proxy.ok("offer", **names, sdp=sdp(9, "8 PCMA/8000"))
    proxy.ok("answer", **names, to_tag="b", sdp=sdp(9, "8 PCMA/8000"))
    c, = client.ask("call.list", {})["result"]["calls"]
    assert c["label"] == "ö?b?"
    proxy.ok("delete", **names)
    wait_for_records(client, 1)
    r, = records(path)
    assert (r["label"], r["from_tag"], r["to_tag"]) == ("ö?b?", "?", "b")


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, float) else []


def test_numbers_have_no_more_digits_than_they_mean(recorded, sock):
    """What is in a record, and in answers."""
    d, client, path = recorded
    call = client.start(sock)["result"]
    send(sock, call, [n for n in range(50) if n not in (7, 11, 23)])
    told = json.dumps([client.ask(m, {})["result"] for m in ("stats", "hello")])
    client.stop(call)
    wait_for_records(client, 1)
    text = path.read_text()
    assert not re.findall(r"\d\.\d{6,}", text)
    assert re.search(r'"duration_ms":\d+[,}]', text)
    assert re.search(r'"jitter_us":\d+[,}]', text)
    # what 15 digits say
    assert all(n == float(f"{n:.15g}") for n in numbers(json.loads(told)))


def test_a_crash_loses_no_call(daemon, tmp_path, sock):
    """With interim records each call has one within a second, and then every so
    often; the last one stands for the call if there is no other."""
    path = tmp_path / "records"
    d = daemon("--control-socket", tmp_path / "control", "--records", path,
               "--records-interim", "1s", "--ng", "127.0.0.1:0")
    client = Control(tmp_path / "control")
    calls = [client.start(sock, keep=True)["result"]["call"] for _ in range(38)]
    talk = start_call(client, label="talk", keep=True)
    by_ng = ng_call(d, System(d.ready["ng"]))
    stopped = calls.pop()
    client.ask("call.stop", {"call": stopped})

    def interims():
        per_call = {}
        for r in records(path, growing=True):
            per_call.setdefault(r["call"], []).append(r["type"])
        return per_call
    wait_for(lambda: len(interims()) == 40 and
             all(len(v) >= 3 for k, v in interims().items() if k != stopped))
    d.process.kill()
    d.process.wait()
    last = {r["id"]: r for r in records(path, growing=True)}
    assert len(last) == 40
    for r in last.values():
        if r["call"] == stopped:
            assert r["type"] == "end" and r["reason"] == "stopped"
            continue
        assert r["type"] == "interim" and r["duration_ms"] >= 1000
        assert "reason" not in r and "by" not in r
        assert all(s["heard"] is None for s in r["streams"])
    assert sorted(len(r["streams"]) for r in last.values()) == [1] * 38 + [2] * 2
    assert {r.get("label") for r in last.values()} == {None, "talk", by_ng.id}
    assert talk["call"] in [r.get("call") for r in last.values()]


def test_interim_records_begin_and_end_with_a_new_file_of_options(
        daemon, tmp_path, sock):
    path, conf = tmp_path / "records", tmp_path / "node.conf"
    conf.write_text("")
    d = daemon("--config", conf, "--control-socket", tmp_path / "control",
               "--records", path, "--drain-timeout", "0s")
    client = Control(tmp_path / "control")
    call = client.start(sock)["result"]
    conf.write_text("records-interim = 1s\n")
    d.process.send_signal(signal.SIGHUP)
    wait_for_records(client, 1)
    conf.write_text("")
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: client.ask("stats", {})["result"]["config"]["read"] == 2)
    client.stop(call)
    assert d.stop() == 0
    assert [r["type"] for r in records(path)][-1] == "end"


@pytest.mark.parametrize("options,why", [
    (["--records-interim", "10ms"], "--records-interim=10ms: needs 0, or a time with its unit (ns, us, ms, s) from 1s"),
    (["--node-name", "a b"], "--node-name: must be 1 to 64 printable"),
    (["--node-name", "a" * 65], "--node-name: must be 1 to 64 printable")])
def test_what_cannot_be_is_told(options, why):
    done = subprocess.run([BUILD / "codec-runner", "--config", "none",
                           "--check-config", *options], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 2 and why in done.stderr


def test_files_are_opened_again(recorded, sock):
    d, client, path = recorded
    log = path.parent / "log"
    first = client.start(sock)["result"]
    client.stop(first)
    wait_for_records(client, 1)
    old, old_log = path.with_suffix(".1"), log.with_suffix(".1")
    path.rename(old)
    log.rename(old_log)
    d.process.send_signal(signal.SIGHUP)
    wait_for(lambda: counts(client)["reopened"] == 1)
    second = client.start(sock)["result"]
    client.stop(second)
    wait_for_records(client, 2)
    assert [r["call"] for r in records(old)] == [first["call"]]
    assert [r["call"] for r in records(path)] == [second["call"]]
    assert "ready" in old_log.read_text()
    wait_for(lambda: log.exists() and " reopened " in log.read_text())
    assert counts(client) == {"written": 2, "dropped": 0, "failed": 0,
                              "reopened": 1}


def test_what_cannot_be_opened_is_told_and_tried_again(daemon, tmp_path):
    """Nobody sends a second signal."""
    folder, away = tmp_path / "folder", tmp_path / "away"
    folder.mkdir()
    d = daemon("--control-socket", tmp_path / "control", "--records",
               folder / "records", "--log-file", folder / "log",
               "--log-format", "json")
    client = Control(tmp_path / "control")
    folder.rename(away)
    d.process.send_signal(signal.SIGHUP)

    def told(path, event):
        return [e for e in lines(path, growing=True) if e["event"] == event]

    wait_for(lambda: len(told(away / "log", "not-reopened")) == 2)
    wait_for(lambda: told(away / "log", "config-read"))
    why = [e["why"] for e in told(away / "log", "not-reopened")]
    assert sorted(w.partition(":")[0] for w in why) == [
        str(folder / "log"), str(folder / "records")]
    assert not told(away / "log", "reopened")
    assert counts(client)["reopened"] == 0
    folder.mkdir()
    wait_for(lambda: counts(client)["reopened"] == 1)
    wait_for((folder / "log").exists)
    assert d.stop() == 0
    # each once, whichever was first
    assert sorted(e["path"] for name in (away, folder)
                  for e in told(name / "log", "reopened")) == [
        str(folder / "log"), str(folder / "records")]
    assert len(told(away / "log", "not-reopened")) == 2
    assert told(folder / "log", "exit")


def test_a_hangup_without_files_ends_nothing(daemon, tmp_path, sock):
    d = daemon("--control-socket", tmp_path / "control", "--drain-timeout",
               "0s")
    client = Control(tmp_path / "control")
    assert client.ask("stats", {})["result"]["records"] is None
    d.process.send_signal(signal.SIGHUP)
    call = client.start(sock)["result"]
    send(sock, call, range(5))
    client.stop(call)


def test_a_file_that_cannot_be_is_refused_at_the_start(tmp_path):
    done = subprocess.run([BUILD / "codec-runner", "--sctp", "user", "--rtp",
                           "127.0.0.1:0", "--records", tmp_path / "no" / "r"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert f"{tmp_path}/no/r: cannot open" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_counted_and_calls_go_on(daemon, tmp_path, sock):
    d = daemon("--control-socket", tmp_path / "control", "--records",
               "/dev/full", "--drain-timeout", "0s")
    client = Control(tmp_path / "control")
    for _ in range(3):
        call = client.start(sock)["result"]
        send(sock, call, range(5))
        client.stop(call)
    wait_for(lambda: counts(client)["failed"] == 3)
    assert counts(client)["written"] == 0

# SPDX-License-Identifier: Apache-2.0
"""codec-feeder plays campaigns against media proxies by NG: codec-runner, and
rtpengine where it is installed. Every frame is counted, and is speech."""
import csv
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from conftest import BUILD, PATIENCE, ROOT
from listen import read_wav
from ng import Proxy, bdecode, bencode
from ng_node import Node
from test_senders import needed

sys.path.append(str(ROOT / "campaigns" / "player"))
from peer import Rtpengine  # noqa: E402

FRAMES = 199, 200  # of a call of 4 s that begins within the first 20 ms, with
# those that it missed while a busy machine set it up
CALLS = """
seed: 5
duration: 4s
ports: own
flows:
  - name: law
    count: 2
    in: {codec: pcmu}
    out: {codec: pcma}
  - name: mobile
    count: 2
    in: {codec: pcma}
    out: {codec: amr, mode: 12.2, octet-align: yes}
  - name: back
    count: 1
    in: {codec: amr, mode: 12.2}
    out: {codec: pcmu}
"""


class Own:
    """codec-runner, driven by NG."""
    holds = 0
    most_lost = 0

    def __init__(self, daemon):
        self.node = Node(daemon)
        self.where = ["--ng", f"127.0.0.1:{self.node.ng}"]

    def is_empty(self):
        return self.node.is_empty() == (0, 0, 0)

    def end(self):
        pass


class Debians:
    """rtpengine as campaigns/run starts it."""
    holds = 2 * 10  # of two calls
    most_lost = 50  # %: it drops what comes late, on a machine without time

    def __init__(self, folder):
        needed("rtpengine")
        self.engine = Rtpengine(str(folder), sorted(os.sched_getaffinity(0)))
        assert self.engine.start()
        self.where = self.engine.where()

    def is_empty(self):
        """It counts what is up once a second."""
        proxy = Proxy(self.where[1], encoding="bencode")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            told = proxy.ask("statistics")["statistics"]["currentstatistics"]
            if not told["sessionstotal"] and not told["transcodedmedia"]:
                break
            time.sleep(0.2)
        proxy.close()
        return not told["sessionstotal"] and not told["transcodedmedia"]

    def end(self):
        self.engine.stop()


@pytest.fixture(params=["codec-runner", "rtpengine"])
def other(request, daemon, tmp_path):
    """Whoever is called."""
    one = Own(daemon) if request.param == "codec-runner" else Debians(tmp_path)
    yield one
    one.end()


def feeder(*words):
    return [str(BUILD / "codec-feeder"), "--quiet", *map(str, words)]


def feed(*words, code=0):
    done = subprocess.run(feeder(*words), capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code in (1, 2) else json.loads(done.stdout)


def assert_whole(told, calls, most_lost=0):
    """All @calls began, and each frame that was sent came back once, but for
    at most @most_lost of a hundred."""
    assert (told["planned"], told["admitted"]) == (calls, calls)
    assert told["sent"] == told["expected"] == told["received"] + told["lost"]
    assert told["lost"] <= most_lost * told["sent"] / 100
    assert FRAMES[0] * calls <= told["sent"] + told["missed"] <= \
        FRAMES[1] * calls
    assert told["sent"] > 0
    assert not any(told[what] for what in (
        "duplicates", "unmatched", "refused"))
    assert told["reordered"] <= most_lost * told["sent"] / 100


def snr(said, heard):
    """dB."""
    noise = said - heard
    return 10 * np.log10(np.mean(said ** 2) / max(np.mean(noise ** 2), 1e-9))


def assert_the_same_words(folder, name, missed):
    """G.711 by both laws: what is heard is what was said but for rounding, so
    each frame is where it was; the first @missed ones were never sent."""
    said = read_wav(folder / f"{name}.src.wav")[0].astype(float)
    heard = read_wav(folder / f"{name}.wav")[0].astype(float)
    assert abs(len(said) - len(heard)) <= 160
    sent = slice(160 * missed, min(len(said), len(heard)))
    assert np.abs(said[sent]).max() > 1000  # there are words
    assert snr(said[sent], heard[sent]) > 25


def test_every_frame_comes_back_as_speech(other, campaign, tmp_path):
    """Calls in both directions of two codecs at once. What the other program
    alone could tell of itself is not there, rather than 0."""
    told = feed(campaign(CALLS), *other.where, "--json", "--out",
                tmp_path / "run", "--frames", "--dump", tmp_path / "dump")
    assert_whole(told["total"], 5, other.most_lost)
    for flow, calls in zip(told["flows"], (2, 2, 1)):
        assert_whole(flow, calls, other.most_lost)
    assert told["peer"]["ng"] == other.where[1]
    assert "daemon" not in told and told["scheduler"] is None
    wrong = {what: told["feeder"][what] for what in (
        "unknown_ssrc", "misdirected", "asymmetric", "foreign")}
    assert not any(wrong.values()), wrong
    with open(tmp_path / "run" / "streams.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 5
    for row in rows:
        assert {row[c] for c in row if c.startswith("daemon_")} == {""}
    of = {f"{row['flow']}-{row['index']}": row for row in rows}
    for name in "law-0", "law-1":
        if int(of[name]["lost"]) == 0:
            assert_the_same_words(tmp_path / "dump", name,
                                  int(of[name]["missed"]))
    # AMR 12.2, octet-aligned: RFC 4867's file has 32 octets a frame
    assert (tmp_path / "dump" / "mobile-0.amr").stat().st_size == \
        6 + 32 * int(of["mobile-0"]["received"])
    assert other.is_empty()


def test_what_the_network_loses_does_not_shift_the_rest(other, campaign):
    """Frames that are never sent are gaps: each other one still answers its
    own, so nothing counts as lost. rtpengine shows them in its sequence numbers
    alone; and when a call ends, it still waits for the last lost ones with some
    frames behind them."""
    told = feed(campaign(CALLS.replace(
        "out: {codec: pcma}",
        "out: {codec: pcma}\n    network: {loss: 20%, burst: 2}")),
        *other.where, "--json")
    law = told["flows"][0]
    assert law["withheld"] > 0
    assert not law["unmatched"] and not law["duplicates"]
    assert law["sent"] - law["received"] == law["lost"] <= other.holds
    assert other.is_empty()


def test_an_interrupted_campaign_leaves_no_calls(daemon, campaign):
    own = Own(daemon)
    process = subprocess.Popen(
        feeder(campaign(CALLS.replace("4s", "60s")), *own.where),
        stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while own.node.left()[0] < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert own.node.left()[0] == 5
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 130
    assert own.is_empty()


def test_a_full_node_refuses_and_the_rest_is_played(daemon, campaign):
    """Its limit is one call. That is no error of the run."""
    node = Node(daemon, "--max-calls", "1")
    told = feed(campaign(CALLS), "--ng", f"127.0.0.1:{node.ng}", "--json")
    assert (told["total"]["admitted"], told["total"]["refused"]) == (1, 4)
    assert told["total"]["sent"] == told["total"]["received"] > 0
    assert told["refusal"]
    assert node.is_empty() == (0, 0, 0)


def test_a_proxy_that_dies_is_said_to_be_gone(daemon, campaign):
    """At once, whatever the calls would last."""
    own = Own(daemon)
    process = subprocess.Popen(
        feeder(campaign(CALLS.replace("4s", "600s")), *own.where),
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while own.node.left()[0] < 5:
        time.sleep(0.05)
    own.node.d.stop(signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert f"the proxy at {own.where[1]} is gone: Connection refused" in said


SAYS = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\n"
        "t=0 0\r\nm=audio 9 RTP/AVP 0\r\n")


class Stub:
    """A proxy that answers each command with the same; .asked: what came."""

    def __init__(self, **answers):
        self.answers = {"ping": {"result": "pong"},
                        "delete": {"result": "ok"}, **answers}
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.at = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while (got := self.socket.recvfrom(65536))[0]:
            cookie, _, text = got[0].partition(b" ")
            self.asked.append(bdecode(text)[0])
            answer = self.answers[self.asked[-1]["command"]]
            self.socket.sendto(cookie + b" " + bencode(answer), got[1])

    def end(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


@pytest.mark.parametrize("answer,says", [
    ({"result": "ok", "sdp": SAYS},
     "offer (flow law): it settles on PCMU/8000 where PCMA/8000 is asked for"),
    ({"result": "ok"}, "offer (flow law): it has no sdp"),
    ({"result": "ok", "sdp": "hello"},
     "offer (flow law): its description is none"),
    ({"result": "error", "error-reason": "Parsing failed"},
     "offer (flow law): Parsing failed"),
])
def test_an_offer_that_fails_ends_the_run(campaign, answer, says):
    """What it holds of the call is deleted."""
    stub = Stub(offer=answer)
    said = feed(campaign(CALLS), "--ng", stub.at, code=1)
    stub.end()
    assert says in said
    first = next(a for a in stub.asked if a["command"] == "offer")
    assert first["codec"] == {"mask": ["all"], "transcode": ["PCMA/8000/1"]}
    assert first["call-id"] in [a["call-id"] for a in stub.asked
                                if a["command"] == "delete"]


class Late(Stub):
    """Answers offers when five calls are offered, all at once and only the
    first of them with an error; and loses the first delete of each call."""

    def serve(self):
        offers, lost = {}, set()
        while (got := self.socket.recvfrom(65536))[0]:
            cookie, _, text = got[0].partition(b" ")
            asked, answers = bdecode(text)[0], {}
            if asked["command"] == "offer":
                offers[asked["call-id"]] = cookie
                if len(offers) == 5:
                    answers = {c: {"result": "ok", "sdp": SAYS}
                               for c in offers.values()}
                    answers[next(iter(answers))] = {
                        "result": "error", "error-reason": "out of luck"}
            elif asked["command"] == "delete" and \
                    asked["call-id"] not in lost:
                lost.add(asked["call-id"])
            else:
                self.asked.append(asked)
                answers = {cookie: {"result": "pong"}}
            for one, answer in answers.items():
                self.socket.sendto(one + b" " + bencode(answer), got[1])
        self.offered = set(offers)


def test_a_run_that_breaks_off_deletes_all_that_was_offered(
        campaign, tmp_path):
    """Also the calls whose answers come when it is over already; and none of
    them counts as refused."""
    stub = Late()
    said = feed(campaign(CALLS), "--ng", stub.at, "--out", tmp_path, code=1)
    stub.end()
    assert "offer (flow law): out of luck" in said
    deleted = {a["call-id"] for a in stub.asked if a["command"] == "delete"}
    assert len(deleted) == 5 and deleted == stub.offered


def test_who_does_not_know_ping_is_no_proxy(campaign):
    stub = Stub(ping={"result": "error", "error-reason": "what?"})
    assert "ping is answered by error, not pong" in \
        feed(campaign(CALLS), "--ng", stub.at, code=1)
    stub.end()


REFUSED = [
    ({}, ["--trace", "x"], "--trace, by NG: a media proxy has none"),
    ({}, ["--ports", "shared"], "by NG, every call has ports of its own"),
    ({"mode: 12.2, octet": "mode: 12.2, dtx: yes, octet"}, [],
     "flow mobile: dtx cannot be asked for by NG (amr)"),
    ({"in: {codec: pcmu}\n    out:": "a: {codec: pcmu}\n    b:"}, [],
     "law is a two-way flow: by NG, flows with in and out are played"),
    ({"ports: own": "conversions: {count: 1, out: {codec: amr}}\nports: own"},
     ["--spool", "/tmp"], "conversions, by NG: a media proxy has none"),
    ({}, ["--ng", "localhost"], "--ng localhost: needs ADDR:PORT"),
]


@pytest.mark.parametrize("change,words,says", REFUSED)
def test_what_ng_has_not_is_refused_by_name(campaign, change, words, says):
    """Before anything is sent."""
    text = CALLS
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    assert says in feed(campaign(text), "--ng", "127.0.0.1:1", *words, code=2)


def test_a_load_needs_a_number_of_calls(daemon, campaign):
    """NG does not tell what a call takes."""
    text = campaign(CALLS.replace("count: 1", "load: 10%"))
    own = Own(daemon)
    assert "say how many calls flow back is (--count)" in \
        feed(text, *own.where, code=1)
    told = feed(text, *own.where, "--count", "back=1", "--json")
    assert_whole(told["total"], 5)

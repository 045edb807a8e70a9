# SPDX-License-Identifier: Apache-2.0
"""--import and --export: tables, captures and rt-app's workloads."""
import json
import shutil
import struct

import pytest

from codec_report import ReportError, exchange
from codec_report.trace import read_trace

TABLE = """\
task,arrival_ms,cost_us,deadline_ms,class,weight,importance
a,10,900,2,hard,,7
b,10.1,500,,soft,2048,
a,13,,2,hard,,
b,14.1,400,,soft,2048,
c,11,700,,best-effort,,
"""
WORK = """\
{ /* a comment */
  "tasks": {
    "t0": {"instance": 2, "loop": -1, "run": 1000, "delay": 500, // two
           "timer": {"ref": "unique", "period": 10000},
           "dl-runtime": 1200, "dl-period": 10000, "dl-deadline": 8000,},
    "t/1": {"run": 300, "run1": 200, "sleep": 1500, "priority": 5,
            "policy": "SCHED_OTHER", "cpus": [0, 1]},
    "hog": {"run": 10000, "policy": "SCHED_IDLE"},
    "none": {"instance": 0, "run": 1}
  },
  "global": {"duration": 2, "default_policy": "SCHED_DEADLINE",}
}
"""


@pytest.fixture
def put(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)
    return write


def test_a_table_becomes_a_trace(put, tmp_path):
    said = exchange.csv_to_trace(put("t.csv", TABLE), str(tmp_path / "run"))
    assert "5 jobs of 3 tasks" in said[0]
    trace = read_trace(str(tmp_path / "run" / "trace.bin"))
    assert trace.header["imported"] and not trace.warnings
    assert trace.tasks["cls"].tolist() == [0, 1, 2]
    assert trace.tasks["weight"].tolist() == [1024, 2048, 1024]
    # without a deadline it is the period: the distance of two arrivals
    assert trace.tasks["rel_deadline"].tolist()[:2] == [2000000, 4000000]
    jobs = trace.jobs
    assert jobs["task"].tolist() == [1, 1, 2, 2, 3]
    assert (jobs["arrival"] - jobs["arrival"].min()).tolist() == [
        0, 3000000, 100000, 4100000, 1000000]
    assert jobs["codec_ns"].tolist() == [900000, 0, 500000, 400000, 700000]
    assert (jobs["outcome"] == 0).tolist() == [True, False, True, True, True]
    assert jobs["importance"].tolist() == [7, 0, 0, 0, 0]


@pytest.mark.parametrize("text, why", [
    ("", "task is missing"),
    ("task,arrival,cost_us\n", "needs a unit"),
    ("task,arrival_s,cost_us\n", "no job"),
    ("task,arrival_s,cost_us\na,x,1\n", "t.csv:2: arrival is no number"),
    ("task,arrival_s,cost_us\na,1e30,1\n", "out of range"),
    ("task,arrival_s,cost_us\na,nan,1\n", "arrival is no number"),
    ("task,arrival_s,cost_us\na,,1\n", "task or arrival is missing"),
    ("task,arrival_s,cost_us,class\na,1,1,x\n", "class is none of"),
    ("task,arrival_s,cost_s\na,1,9\n", "a cost is none of"),
    ("task,arrival_s,cost_s,nice\na,1,1,99\n", "nice is none of -20 to 19"),
])
def test_a_table_that_says_too_little_is_refused(put, tmp_path, text, why):
    with pytest.raises(ReportError, match=why):
        exchange.csv_to_trace(put("t.csv", text), str(tmp_path / "run"))


def test_rtapp_there_and_back(put, tmp_path):
    pytest.importorskip("yaml")
    path, back = str(tmp_path / "w.yaml"), str(tmp_path / "back.json")
    exchange.rtapp_to_campaign(put("w.json", WORK), path)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert "name: t_1" in text and "none" not in text
    assert "cpus: 2" in text and "model: loop" in text
    exchange.campaign_to_rtapp(path, back)
    with open(back, encoding="utf-8") as f:
        work = json.load(f)
    cpus = {"cpus": [0, 1]}
    assert work["global"]["duration"] == 2
    assert work["tasks"] == {
        "t0": {"instance": 2, "loop": -1, "delay": 500,
               "policy": "SCHED_DEADLINE", "dl-runtime": 1000,
               "dl-period": 10000, "dl-deadline": 8000, "run": 1000,
               "timer": {"ref": "unique", "period": 10000}, **cpus},
        "t_1": {"instance": 1, "loop": -1, "policy": "SCHED_OTHER",
                "priority": 5, "run": 500, "sleep": 1500, **cpus},
        "hog": {"instance": 1, "loop": -1, "policy": "SCHED_IDLE",
                "run": 10000, **cpus}}
    exchange.rtapp_to_campaign(back, str(tmp_path / "again.yaml"))
    with open(tmp_path / "again.yaml", encoding="utf-8") as f:
        assert f.read().splitlines()[1:] == text.splitlines()[1:]


@pytest.mark.parametrize("task, why", [
    ({"run": 5, "lock": "m"}, "nothing like 'lock'"),
    ({"sleep": 5}, "runs for no time"),
    ({"run": "x"}, "run is no time"),
    ({"run": 5, "timer": 7}, "timer is no time"),
    ({"phases": {"a": {"run": 1}, "b": {"run": 2}}}, "2 phases"),
    ({"phases": [{"run": 1}]}, "phases is no object"),
    ({"phases": {"a": 1}}, "phase is no object"),
    ({"run": 5, "sleep": 5, "delay": "1ms"}, "delay is no number"),
    ({"run": 5, "sleep": 5, "instance": "2"}, "instance is no number"),
    ({"run": 5, "timer": {"period": 9}, "policy": "SCHED_DEADLINE",
      "dl-deadline": "8"}, "dl-deadline is no number"),
    ({"run": 5, "sleep": 5, "cpus": 1}, "cpus is no list"),
])
def test_tasks_that_no_campaign_can_describe_are_refused(put, tmp_path, task,
                                                         why):
    path = put("w.json", json.dumps({"tasks": {"t": task}}))
    with pytest.raises(ReportError, match=why):
        exchange.rtapp_to_campaign(path, str(tmp_path / "w.yaml"))


@pytest.mark.parametrize("common, why", [
    ([1], "global is no object"), ({"duration": "2"}, "duration is no number")])
def test_a_workload_with_wrong_types_is_refused(put, tmp_path, common, why):
    path = put("w.json", json.dumps({"tasks": {"t": {"run": 5}},
                                     "global": common}))
    with pytest.raises(ReportError, match=why):
        exchange.rtapp_to_campaign(path, str(tmp_path / "w.yaml"))


def test_a_packet_without_fields_is_of_type_0(monkeypatch):
    lines = [["1.0", "a", "", "1", "b", "", "2", "7"],
             ["1.02", "a", "", "1", "b", "", "2", "7"]]
    monkeypatch.setattr(exchange, "_dissect", lambda _: lines)
    assert [s[0] for s in exchange._streams("x.pcap")] == ["PCMU"]


def test_a_flow_that_rtapp_cannot_play_is_refused(put, tmp_path):
    pytest.importorskip("yaml")
    for flow, why in (("in: {codec: pcmu}, out: {codec: amr}", "has codecs"),
                      ("period: 1ms, cost: {mean: 1us, model: normal, sd: "
                       "1us}", "cost the same"),
                      ("period: 1ms, share: 5%, arrival: {model: poisson}",
                       "no arrivals like poisson")):
        path = put("c.yaml", f"duration: 1s\nflows:\n  - {{{flow}}}\n")
        with pytest.raises(ReportError, match=why):
            exchange.campaign_to_rtapp(path, str(tmp_path / "w.json"))


def packet(at, port, ssrc, seq, pt=0, ptime=20):
    """Of a capture of Ethernet: RTP of PCMU in UDP in IPv4."""
    size = 8 * ptime
    rtp = struct.pack("!BBHII", 0x80, pt, seq & 0xffff,
                      seq * size + 2**32 - 1600 & 0xffffffff, ssrc)
    rtp += b"\xff" * size
    udp = struct.pack("!HHHH", port, 40000, 8 + len(rtp), 0) + rtp
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0,
                     b"\x7f\0\0\x01", b"\x7f\0\0\x01") + udp
    frame = b"\0" * 12 + b"\x08\0" + ip
    return struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(frame),
                       len(frame)) + frame


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not there")
def test_a_capture_becomes_a_campaign(put, tmp_path):
    sent = []
    for k in range(100):  # the second stream is later and loses a tenth
        sent.append((100 + k * .02, 5000, 7, 65500 + k))
        if k % 10 != 5:
            sent.append((100.5 + k * .02, 5002, 8, k))
        sent.append((100 + k * .03, 5004, 9, k, 8, 30))
    for k in range(5):  # nobody knows what this is
        sent.append((101 + k * .02, 5006, 10, k, 97))
    path = put("c.pcap", struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0,
                                     65535, 1) +
               b"".join(packet(*p) for p in sorted(sent)))
    said = exchange.pcap_to_campaign(path, str(tmp_path / "c.yaml"))
    text = (tmp_path / "c.yaml").read_text()
    assert said[-1].endswith("3 calls")
    assert any("5 packets" in line for line in said[:-1])
    pcmu = text[text.index("name: pcmu-20ms"):]
    pcma = text[text.index("name: pcma-30ms"):text.index("name: pcmu")]
    assert "count: 2" in pcmu and "spread: 500000000ns" in pcmu
    assert "loss: 5.0000%" in pcmu and "mean: 2000000000ns" in pcmu
    assert "count: 1" in pcma and "loss" not in pcma
    assert "ptime: 30ms" in pcma and "start" not in pcma


def test_the_program_names_unreadable_files(codec_report, put, tmp_path):
    for words, why in ((["--import", "x.doc", "y"], "reads .csv"),
                       (["--export", "x.csv", "y"], "writes .json"),
                       (["--import", "x.csv", "y", "z"], "take one RUN"),
                       (["--import", "x.csv", "y"], "No such file")):
        done = codec_report(*words)
        assert done.returncode == 2 and why in done.stderr
    done = codec_report("--import", put("t.csv", TABLE), str(tmp_path / "r"))
    assert done.returncode == 0 and "5 jobs" in done.stdout

# SPDX-License-Identifier: Apache-2.0
"""The live view: metrics that Prometheus reads, a page that a browser draws,
and what neither strangers nor other sites may do."""
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import PATIENCE

CAMPAIGN = """
seed: 3
duration: 3s
flows:
  - name: a
    count: 4
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
"""


def ask(d, path, body=None, **headers):
    """(status, text) of a request; a body makes it a POST."""
    request = urllib.request.Request(
        f"http://{d.ready['http']}{path}",
        data=None if body is None else body.encode(),
        headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metrics(d):
    """{(name, labels as a sorted tuple): value} as the parser reads them."""
    status, text = ask(d, "/metrics")
    assert status == 200
    families = list(text_string_to_metric_families(text))
    names = [f.name for f in families]
    assert len(names) == len(set(names)), "a family is told twice"
    assert all(f.documentation for f in families)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value
            for f in families for s in f.samples}


def test_metrics_are_the_counts_of_stats(daemon, campaign):
    d = daemon("--http", "127.0.0.1:0", "--ring", "64")
    r = d.feed(campaign(CAMPAIGN))
    assert r["total"]["lost"] == 0
    m = metrics(d)
    done = r["total"]["sent"]
    assert m["codec_runner_frames_total", (("outcome", "done"),)] == done
    assert m["codec_runner_frames_total", (("outcome", "expired"),)] == 0
    assert m["codec_runner_calls_started_total", ()] == 4
    assert m["codec_runner_calls", ()] == 0
    assert m["codec_runner_worker_frames_total", (("worker", "0"),)] == done
    assert m["codec_runner_frame_delay_seconds_count", ()] == done
    assert m["codec_runner_frame_jitter_seconds_count", ()] == done - 4
    assert m["codec_runner_info", (("scheduler", "edf"),
                                   ("version", "0.1.0"))] == 1
    buckets = [v for (name, _), v in m.items()
               if name == "codec_runner_frame_delay_seconds_bucket"]
    assert buckets == sorted(buckets) and buckets[-1] == done
    stats = d.ctl("stats")
    total = m["codec_runner_frame_delay_seconds_sum", ()]
    assert total / done == pytest.approx(stats["delay"]["mean_ns"] / 1e9,
                                         abs=1.1e-9)


def test_promtool_finds_no_fault(daemon):
    """With all that there is to tell."""
    if not shutil.which("promtool"):
        pytest.skip("no promtool: deps/install test")
    d = daemon("--http", "127.0.0.1:0", "--ng", "127.0.0.1:0", "--rtp-ports",
               "20000-20099")
    done = subprocess.run(["promtool", "check", "metrics"], text=True,
                          input=ask(d, "/metrics")[1], timeout=PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_process_is_told_as_the_kernel_has_it(daemon, sock):
    d = daemon("--http", "127.0.0.1:0")
    before = metrics(d)
    calls = [d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
                   "keep=true", "port=own",
                   "out.address=127.0.0.1:%d" % sock.getsockname()[1])["call"]
             for _ in range(5)]
    now = metrics(d)
    pid = d.process.pid
    with open(f"/proc/{pid}/limits") as f:
        most = re.search(r"Max open files +(\d+)", f.read()).group(1)
    assert now["process_max_fds", ()] == float(most)
    # but for its connection
    assert abs(len(os.listdir(f"/proc/{pid}/fd")) -
               now["process_open_fds", ()]) <= 2
    assert now["process_open_fds", ()] >= before["process_open_fds", ()] + 5
    with open(f"/proc/{pid}/statm") as f:
        pages = [float(n) * os.sysconf("SC_PAGESIZE")
                 for n in f.read().split()[:2]]
    assert now["process_virtual_memory_bytes", ()] == pytest.approx(
        pages[0], rel=.5)
    assert now["process_resident_memory_bytes", ()] == pytest.approx(
        pages[1], rel=.5)
    assert now["process_start_time_seconds", ()] == \
        before["process_start_time_seconds", ()]
    assert now["process_cpu_seconds_total", ()] >= \
        before["process_cpu_seconds_total", ()] > 0
    for call in calls:
        d.ctl("call", "stop", str(call))


def test_calls_by_codec(daemon, sock):
    """What is received, and what is sent; both ways of a call."""
    d = daemon("--http", "127.0.0.1:0")
    to = "out.address=127.0.0.1:%d" % sock.getsockname()[1]
    d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma", "keep=true", to)
    talk = d.ctl("call", "start", "a.codec=pcmu", "b.codec=gsm",
                 "keep=true")
    relayed = d.ctl("call", "start", "a.codec=pcma", "b.codec=pcma",
                    "keep=true")

    def counts():
        stats = {c["codec"]: (c["from"], c["to"])
                 for c in d.ctl("stats")["codecs"]}
        m = metrics(d)
        assert stats == {c: tuple(m[f"codec_runner_streams_{way}",
                                    (("codec", c),)] for way in ("from", "to"))
                         for c in stats}
        return {c: n for c, n in stats.items() if n != (0, 0)}
    assert counts() == {"pcmu": (2, 1), "pcma": (2, 3), "gsm": (1, 1)}
    for c in (talk, relayed):
        d.ctl("call", "stop", str(c["call"]))
    while d.ctl("stats")["calls"] > 1:
        pass
    assert counts() == {"pcmu": (1, 0), "pcma": (0, 1)}


def test_no_series_is_about_one_call(daemon, sock):
    d = daemon("--http", "127.0.0.1:0")
    before = set(metrics(d))
    for _ in range(3):
        d.ctl("call", "start", "in.codec=pcmu", "out.codec=pcma",
              "out.address=127.0.0.1:%d" % sock.getsockname()[1])
    assert set(metrics(d)) == before


def test_health_and_readiness(daemon, sock):
    d = daemon("--http", "127.0.0.1:0", "--drain-timeout", "60s")
    assert ask(d, "/healthz") == (200, "ok\n")
    assert ask(d, "/readyz") == (200, "ok\n")
    call = d.ctl("call", "start", "keep=true", "in.codec=pcmu",
                 "out.codec=pcma",
                 "out.address=127.0.0.1:%d" % sock.getsockname()[1])
    for again in (["drain", "1h"], ["drain", "1m"]):
        assert metrics(d)["codec_runner_draining", ()] == 0
        d.ctl(*again)
        assert ask(d, "/healthz") == (200, "ok\n")
        assert ask(d, "/readyz") == (503, "draining\n")
        assert metrics(d)["codec_runner_draining", ()] == 1
        assert d.ctl("drain", "--undo")["draining"] is False
        assert ask(d, "/readyz") == (200, "ok\n")
    d.ctl("drain")
    assert ask(d, "/readyz") == (503, "draining\n")
    d.ctl("call", "stop", str(call["call"]))


def head_and_get(d, path, version):
    """The two answers, asked for at once: what stood between them would be taken
    for the second one's. (status and headers of the first, the second)"""
    with socket.create_connection(d.ready["http"].split(":"), PATIENCE) as s:
        s.sendall(f"HEAD {path} HTTP/{version}\r\nHost: localhost\r\n"
                  "Connection: keep-alive\r\n\r\n"
                  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                  "Connection: close\r\n\r\n".encode())
        told = s.makefile("rb").read().decode()
    head, rest = told.split("\r\n\r\n", 1)
    return head, rest


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_head_is_told_of_a_body_and_gets_none(daemon, version):
    d = daemon("--http", "127.0.0.1:0")
    for path in ("/healthz", "/readyz", "/state", "/", "/nothing",
                 "/scheduler"):
        head, rest = head_and_get(d, path, version)
        status, body = ask(d, path)
        assert int(head.split()[1]) == status
        length = re.search(r"Content-Length: (\d+)", head).group(1)
        # what /state says changes
        assert int(length) == len(body.encode()) or path == "/state"
        assert rest.startswith("HTTP/1.1 200 OK\r\n"), (path, rest)
        assert rest.endswith("\r\n\r\nok\n")


def test_the_scheduler_is_switched_with_leave_only(daemon):
    switch = '{"scheduler": "rr,quantum=3ms"}'
    json_type = {"Content_Type": "application/json", "X_Codec_Runner": "1"}
    shut = daemon("--http", "127.0.0.1:0")
    status, text = ask(shut, "/scheduler", switch, **json_type)
    assert status == 403 and "--http-control" in text
    d = daemon("--http", "127.0.0.1:0", "--http-control")
    assert ask(d, "/scheduler", switch)[0] == 415  # as a form would send it
    assert ask(d, "/scheduler", switch, **json_type) == \
        (200, '{"scheduler":"rr,quantum=3ms"}')
    assert d.ctl("schedulers")["scheduler"] == "rr,quantum=3ms"
    for body, status, says in [("", 400, "JSON object"),
                               ("[]", 400, "JSON object"),
                               ('{"scheduler": "edff"}', 409, "edf"),
                               ('{"scheduler": "/tmp/x.so"}', 409, "path")]:
        got, text = ask(d, "/scheduler", body, **json_type)
        assert got == status and says in json.loads(text)["error"]
    assert d.ctl("schedulers")["scheduler"] == "rr,quantum=3ms"


@pytest.mark.parametrize("headers, status", [
    ({}, 403), ({"X_Codec_Runner": "1"}, 200),
    ({"Origin": "http://{}"}, 200), ({"Origin": "https://{}"}, 200),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "http://evil.example", "X_Codec_Runner": "1"}, 403),
    ({"Origin": "http://evil.example/http://{}"}, 403),
    ({"Origin": "http://{}.evil.example"}, 403), ({"Origin": "{}"}, 403),
    ({"Origin": "null"}, 403), ({"Origin": ""}, 403)])
def test_no_other_site_switches_the_scheduler(daemon, headers, status):
    d = daemon("--http", "127.0.0.1:0", "--http-control")
    said = {name: value.format(d.ready["http"])
            for name, value in headers.items()}
    assert ask(d, "/scheduler", '{"scheduler": "fifo"}',
               Content_Type="application/json", **said)[0] == status
    now = d.ctl("schedulers")["scheduler"].split(",")[0]
    assert now == ("fifo" if status == 200 else "edf")


@pytest.mark.parametrize("path, headers, status", [
    ("/nothing", {}, 404), ("/metrics/", {}, 404), ("/../etc", {}, 404),
    ("/scheduler", {}, 405),
    ("/state", {"Host": "evil.example"}, 403),
    ("/state", {"Host": "127.0.0.1.evil.example:80"}, 403),
    ("/state", {"Host": "localhost:8080"}, 200),
    ("/state", {"Host": "[::1]:8080"}, 200),
])
def test_who_may_ask_for_what(daemon, path, headers, status):
    d = daemon("--http", "127.0.0.1:0", "--http-control")
    assert ask(d, path, **headers)[0] == status


def test_a_wrong_address_ends_the_start(daemon):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = "127.0.0.1:%d" % other.getsockname()[1]
        for address, says in [("here", "numeric address with a port"),
                              ("127.0.0.1", "numeric address with a port"),
                              (taken, f"{taken}: Address already in use")]:
            with pytest.raises(RuntimeError, match=says):
                daemon("--http", address)

# SPDX-License-Identifier: Apache-2.0
"""What packaging/watch asks for is what a node tells: the dashboard's and the
rules' series, and an alert by a real Prometheus that scrapes a node in
overload."""
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import PATIENCE, ROOT, free_port

WATCH = ROOT / "packaging" / "watch"
RULES = WATCH / "codec-runner.rules.yml"
DASHBOARD = json.loads((WATCH / "codec-runner.dashboard.json").read_text())
PANELS = [p for p in DASHBOARD["panels"] if p["type"] != "row"]
EXPRESSIONS = [t["expr"] for p in PANELS for t in p["targets"]]

# 30,000 frames a second: more than a core transcodes as soon as a frame takes
# longer than 33 us, which the encoder of the library as it is does anywhere.
OVERLOAD = """
seed: 5
duration: 60s
flows:
  - name: many
    count: 600
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
"""


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def series(d):
    """{(name, label): its values} of all that the node tells."""
    told = {}
    for family in text_string_to_metric_families(
            get(f"http://{d.ready['http']}/metrics")):
        for sample in family.samples:
            told.setdefault((sample.name, None), set())
            for label, value in sample.labels.items():
                told.setdefault((sample.name, label), set()).add(value)
    return told


def asked(expression):
    """(name, label, value) of each matcher; label and value None: of each
    name."""
    for name, labels in re.findall(r"\b(codec_runner_\w+)(?:\{([^}]*)\})?",
                                   expression):
        yield name, None, None
        for label, how, values in re.findall(r'(\w+)(=~?)"([^"]*)"', labels):
            if label not in ("job", "instance"):
                for value in values.split("|"):
                    yield name, label, value


def grouped(expression):
    """The labels that "by" and the like name, but for Prometheus's own."""
    for labels in re.findall(r"\b(?:by|without|ignoring) \(([^)]*)\)",
                             expression):
        yield from set(labels.replace(" ", "").split(",")) - {"instance"}


@pytest.fixture
def told(daemon):
    """By a node that has all that there is to tell."""
    low = 20000 + 2 * (free_port() % 10000)
    return series(daemon("--http", "127.0.0.1:0", "--rtp-ports",
                         f"{low}-{low + 99}", "--ng", "127.0.0.1:0",
                         "--replicate", "redis://127.0.0.1:1"))


def test_all_that_is_asked_for_is_told(told):
    rules = re.sub(r"#.*|- (record|alert): .*|instance:\w+:\w+", "",
                   RULES.read_text())
    labels = {label for _, label in told}
    found = 0
    for expression in [*EXPRESSIONS, *rules.splitlines()]:
        for name, label, value in asked(expression):
            assert (name, label) in told, expression
            assert label is None or value in told[name, label], expression
            found += 1
        assert set(grouped(expression)) <= labels, expression
    assert found > 100


def test_and_is_in_the_protocol_reference(told):
    page = (ROOT / "docs" / "protocol-reference.md").read_text()
    # the HTTP server and NG tell of themselves
    own = re.compile("codec_runner_(http|ng)_")
    names = {name for e in EXPRESSIONS for name, *_ in asked(e)
             if not own.match(name)}
    assert len(names) > 20
    for name in names:
        assert f"`{name}" in page or f"`{name.removesuffix('_bucket')}" in page


def test_panels_do_not_cover_each_other_and_say_what_they_show():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24 and not cells & taken
        taken |= cells
        assert panel["title"]
    ids = [p["id"] for p in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def need(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}: deps/install test")


def test_prometheus_understands_each_expression(tmp_path):
    need("promtool")
    rules = [{"record": f"panel:{n}", "expr":
              e.replace("$__rate_interval", "1m")}
             for n, e in enumerate(EXPRESSIONS)]
    path = tmp_path / "panels.yml"  # JSON is YAML
    path.write_text(json.dumps({"groups": [{"name": "p", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", path],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules)} rules found" in done.stdout


class Prometheus:
    """A real one, which scrapes once a second."""

    def __init__(self, target, folder):
        self.at = f"127.0.0.1:{free_port()}"
        text = RULES.read_text()
        # minutes would be seconds of a test: a few samples are enough here
        text = re.sub(r"\[[125]m\]", "[5s]", text)
        text = re.sub(r"for: \d+m", "for: 2s", text)
        (folder / "rules.yml").write_text(text)
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "codec-runner", "static_configs":
                                [{"targets": [target]}]}]}))
        self.log = open(folder / "prometheus.log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.at}"],
            stdout=self.log, stderr=subprocess.STDOUT)

    def ask(self, path):
        """Its answer, or None as long as it does not answer."""
        try:
            return json.loads(get(f"http://{self.at}/api/v1/{path}"))["data"]
        except (urllib.error.URLError, ConnectionError):
            assert self.process.poll() is None, "see prometheus.log"
            return None

    def samples(self, expression):
        """What an expression is now: [(labels, number)]."""
        answer = self.ask("query?query=" + urllib.parse.quote(expression))
        return [(r["metric"], float(r["value"][1]))
                for r in answer["result"]] if answer else []

    def firing(self):
        answer = self.ask("alerts")
        return {a["labels"]["alertname"]: a for a in
                (answer["alerts"] if answer else [])
                if a["state"] == "firing"}

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.log.close()


@pytest.fixture
def prometheus(tmp_path):
    need("prometheus")
    with contextlib.ExitStack() as stack:
        def start(target):
            p = Prometheus(target, tmp_path)
            stack.callback(p.stop)
            return p
        yield start


def shown(expression):
    """As a panel asks it, of all nodes."""
    for name, value in (("$__rate_interval", "5s"), ("$job", ".*"),
                        ("$instance", ".*")):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def until(what):
    for _ in range(10 * PATIENCE):
        if what():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def test_a_node_in_overload_raises_that_alert_and_no_other_of_its_kind(
        daemon, campaign, prometheus):
    """And every panel has something to show of it."""
    low = 20000 + 2 * (free_port() % 10000)
    d = daemon("--http", "127.0.0.1:0", "--no-admission",
               "--codec-kernels", "stock", "--drain-timeout", "0s",
               "--rtp-ports", f"{low}-{low + 99}", "--ng", "127.0.0.1:0")
    p = prometheus(d.ready["http"])
    until(lambda: p.samples("count_over_time(codec_runner_calls[1m]) >= 2"))
    assert p.firing() == {}
    feeder = subprocess.Popen(
        [d.programs / "codec-feeder", campaign(OVERLOAD), *d.where(),
         "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: "CodecRunnerOverload" in p.firing())
        alerts = p.firing()
        nothing = [e for e in EXPRESSIONS if not p.samples(shown(e))]
        rules = [r for group in p.ask("rules")["groups"]
                 for r in group["rules"]]
    finally:
        feeder.kill()
        feeder.wait()
    # nobody sends RTCP
    assert nothing == [e for e in EXPRESSIONS if "rtcp_reports_total" in e]
    assert len(rules) > 20 and {r["health"] for r in rules} == {"ok"}
    alert = alerts["CodecRunnerOverload"]
    where = d.ready["http"]
    assert alert["labels"] == {"alertname": "CodecRunnerOverload",
                               "instance": where, "job": "codec-runner",
                               "severity": "critical"}
    told = alert["annotations"]
    assert told["summary"] == f"{where} has more speech than CPU time"
    lost = re.fullmatch(r"([\d.]+)% of the frames are lost, and its workers "
                        r"are busy\.", told["description"])
    assert 1 < float(lost.group(1)) <= 100
    # a lack of CPU time is neither a lack of room nor a fault
    assert not {"CodecRunnerBuffersFull", "CodecRunnerWorkerStuck",
                "CodecRunnerWatchdog", "CodecRunnerSchedulerFault",
                "CodecRunnerLogLost", "CodecRunnerDown"} & set(alerts)

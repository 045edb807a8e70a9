# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of codec-sim."""
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

PATIENCE = 600  # seconds until a step counts as hung, sanitizers included

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
SIM, REPORT, FEEDER = (BUILD / name for name in
                       ("codec-sim", "codec-report", "codec-feeder"))
SABOTEUR = BUILD / "tests" / "integration" / "node" / "libsaboteur.so"
MS = 1000000
P = "period: 10ms, cost: {mean: 1ms}"  # a flow


def run(*args):
    return subprocess.run([SIM, *map(str, args)], capture_output=True,
                          text=True, timeout=PATIENCE)


@pytest.fixture
def campaign(tmp_path):
    """Write a campaign of flow lines, return its path."""
    def write(*flows, platform="{cpus: 1}", duration="1s", more=""):
        path = tmp_path / "c.yaml"
        path.write_text(f"seed: 3\nduration: {duration}\n"
                        f"platform: {platform}\n{more}flows:\n" +
                        "".join(f"  - {{{flow}}}\n" for flow in flows))
        return path
    return write


def result(*args):
    """run.json of one run and its exit code."""
    done = run(*args, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def folder(scheduler):
    """Of its run among several."""
    return re.sub(r"[^A-Za-z0-9=._-]", "_", scheduler.lstrip("./"))


def flows(output):
    return {f["flow"]: f for f in output["flows"]}


def curves(path):
    """How many points each curve has in a plot of campaigns/papers.py."""
    return [len(re.findall("[ML]", e.find(".//{*}path").get("d"))) for e in
            xml.etree.ElementTree.parse(path).iter()
            if e.get("id", "").startswith("curve")]

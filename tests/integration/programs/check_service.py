# SPDX-License-Identifier: Apache-2.0
"""Kamailio's calls through the node that the package's service runs: what
packaging/try plays in a Debian of its own. No test of a build."""
import json
import subprocess

from conftest import PATIENCE
from ng_node import Node
from ng_rig import rig  # noqa: F401
from test_ng_readme import test_calls_go_as_it_is_written as as_it_is_written

CONTROL = "unix:/run/codec-runner/control"
NG = 22222  # its "ng" in codec-runner.conf


class Serving(Node):
    """A node that somebody else has started."""

    def __init__(self):
        self.d = self
        self.url = f"udp:127.0.0.1:{NG}"

    @staticmethod
    def ctl(*words):
        return json.loads(subprocess.run(
            ["codec-ctl", "--to", CONTROL, "--json", *words], check=True,
            capture_output=True, text=True, timeout=PATIENCE).stdout)


def test_kamailio_calls_through_the_service(rig, monkeypatch):  # noqa: F811
    rig.nodes.append(Serving())
    before = rig.nodes[0].ctl("stats")
    as_it_is_written(rig, monkeypatch)
    stats = rig.nodes[0].ctl("stats")
    assert stats["totals"]["done"] > before["totals"]["done"]
    assert stats["lost"] == before["lost"]

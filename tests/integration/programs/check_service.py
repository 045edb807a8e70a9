# SPDX-License-Identifier: Apache-2.0
"""Kamailio's calls through the node that the package's service runs: what
packaging/try plays in a Debian of its own. No test of a build."""
import json
import subprocess

from conftest import PATIENCE
from ng_node import Node
from ng_rig import rig  # noqa: F401
from test_ng_readme import plain_calls, written  # noqa: F401

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


def test_kamailio_calls_through_the_service(written):  # noqa: F811
    node = Serving()
    written.nodes.append(node)
    before = node.ctl("stats")
    written.begin()
    plain_calls(written)
    stats = node.ctl("stats")
    assert stats["totals"]["done"] > before["totals"]["done"]
    assert stats["lost"] == before["lost"]

# SPDX-License-Identifier: Apache-2.0
"""codec-runner as a media node of the NG protocol, and what is left of calls
in it."""
import time

from conftest import PATIENCE, free_port
from test_senders import started


class Node:
    """A daemon that is driven by NG at .ng."""

    def __init__(self, daemon, *options):
        self.ng = free_port()
        # what a frame costs beside busy neighbours is no reason to refuse
        self.d = started(daemon, "auto", "--drain-timeout", "0s",
                         "--no-admission", "--ng", f"127.0.0.1:{self.ng}",
                         *options)
        self.url = f"udp:127.0.0.1:{self.ng}"

    def left(self):
        """Streams, endpoints and calls that it has now."""
        return (self.d.ctl("stats")["calls"],
                len(self.d.ctl("endpoint", "list")["endpoints"]),
                len(self.d.ctl("call", "list")["calls"]))

    def is_empty(self):
        """Soon nothing is left; what is left otherwise."""
        deadline = time.monotonic() + PATIENCE
        while any(left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

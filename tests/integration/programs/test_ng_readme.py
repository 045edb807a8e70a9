# SPDX-License-Identifier: Apache-2.0
"""The configuration of Kamailio in README.md, as it is written there but for
its ports: callers with PCMA and phones with AMR hear each other."""
import re

import ng_rig
from baresip import listens
from conftest import ROOT
from kamailio import HOST, Kamailio
from ng_rig import rig  # noqa: F401
from sipp import Caller, taken
from test_ng_dialogs import (
    RINGS, URI, answers, established, hangs_up, is_hung_up)


def example():
    block, = re.findall(r"^```kamailio\n(.*?)^```$",
                        (ROOT / "README.md").read_text(), re.M | re.S)
    return block


class Written(Kamailio):
    """One with that configuration."""

    def _configure(self, routes, params, more):
        text = example()
        for theirs, ours in (("udp:127.0.0.1:5060", f"udp:{HOST}:{self.port}"),
                             ("udp:127.0.0.1:22222",
                              params["rtpengine_sock"])):
            assert text.count(theirs) == 1
            text = text.replace(theirs, ours)
        (self.folder / "kamailio.cfg").write_text(text)

    def _answers(self):
        listens(HOST, self.port)


def test_calls_go_as_it_is_written(rig, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ng_rig, "Kamailio", Written)
    rig.begin()
    said = rig.file("said", "PCMA", 0)
    callee = rig.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    rig.calls([*established(c, said), *hangs_up(c, 2)])
    rig.over()
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])

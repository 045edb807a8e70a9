# SPDX-License-Identifier: Apache-2.0
"""A few calls at once between two SIPps by one Kamailio and one node of NG, an
AMR phone of ours behind each that is called, and what all of them heard."""
import contextlib
from collections import Counter

import numpy as np
import pytest

from captured import numbers, streams
from kamailio import Kamailio, Routes
from ng_node import Node
from ng_phones import (
    Answering, Phones, amr_heard, amr_said, law_decode, law_encode, speech)
from sipp import Sipp
from streams import Stream, ahead, assert_packets
from test_senders import needed
from test_wire import Capture

CALLS = 3
SPURT = 50  # packets of what is said at a time
LAWS = {"PCMA": ("alaw", 8), "PCMU": ("mulaw", 0)}


def assert_spurts(heads, types):
    """As many spurts as there are payload @types, numbered throughout. What
    timestamps are between two is SIPp's matter."""
    assert all(ahead(a[0], b[0], 16) == 1 for a, b in zip(heads, heads[1:]))
    for n, pt in enumerate(types):
        assert_packets(heads[SPURT * n:SPURT * (n + 1)], Stream(0, pt, SPURT))
    assert len(heads) == SPURT * len(types)


class Rig:
    """All of it, until .end. Phones of calls that are answered say so many
    packets as they hear."""

    def __init__(self, at_end, daemon, folder):
        needed("kamailio", "sipp", "dumpcap", "ffmpeg")
        self.at_end, self.folder = at_end, folder
        self.daemon, self.nodes, self.sipps = daemon, [], {}

    def node(self, *options):
        self.nodes.append(Node(self.daemon, *options))
        return self.nodes[-1]

    def begin(self, routes=Routes(), spurts=1, urls=(), calls=CALLS, **more):
        """Kamailio, with these ways or by the nodes there are."""
        urls = urls or [node.url for node in self.nodes or [self.node()]]
        self.says = [amr_said(speech(SPURT * spurts, 9 * n + 2))
                     for n in range(calls)]
        self.phones = [Answering(says) for says in self.says]
        self.at_end.callback(Phones(self.phones).end)
        self.proxy = Kamailio(self.folder / "kamailio", urls, routes, **more)
        self.at_end.callback(self.proxy.end)
        self.capture = Capture(self.folder / "all.pcap")
        self.at_end.callback(self.capture.process.kill)

    def file(self, name, law, skip):
        """Speech of a spurt to be played, in a law of LAWS."""
        path = self.folder / name
        path.write_bytes(law_encode(LAWS[law][0], speech(SPURT, skip)))
        return path

    def called(self, steps, name="callee", phones=None, **more):
        """A SIPp that is called; each call has the port of another phone."""
        phones = self.phones if phones is None else phones
        ports = self.folder / f"{name}.csv"
        ports.write_text("SEQUENTIAL\n" +
                         "".join(f"{p.port};\n" for p in phones))
        return self._sipp(name, steps, len(phones), words=["-inf", ports],
                          **more)

    def calls(self, steps, calls=None):
        """A SIPp that calls."""
        return self._sipp("caller", steps, calls or len(self.phones),
                          to=self.proxy.port)

    def _sipp(self, name, *words, **more):
        self.sipps[name] = Sipp(self.folder, name, *words, **more)
        self.at_end.callback(self.sipps[name].end)
        return self.sipps[name]

    def over(self):
        """All calls have gone as they should, and nothing is left of them."""
        for sipp in self.sipps.values():
            sipp.over()
        for node in self.nodes:
            assert node.is_empty() == (0, 0, 0)
        self.capture.stop()

    def assert_phones(self, said, phones=None):
        """Each phone has heard what was @said, (law, file): once, in order, as
        one stream of one encoder."""
        pcm = [law_decode(LAWS[law][0], path.read_bytes())
               for law, path in said]
        expected = amr_said(np.concatenate(pcm))
        for phone in self.phones if phones is None else phones:
            heads, senders = phone.numbers()
            assert len(senders) == 1 and len(heads) == len(expected)
            assert_spurts(heads, [96] * len(said))
            assert phone.payloads() == expected
            assert phone.said == len(expected)

    def assert_caller(self, laws, says=None):
        """The callers have heard each phone, by a spurt in each of @laws."""
        heard = list(streams(self.capture.path,
                             self.sipps["caller"].media("sent"),
                             12 + 160).values())
        voices = [self._voice(v, laws) for v in says or self.says]
        assert Counter(b"".join(p[12:] for p in packets)
                       for packets in heard) == Counter(voices)
        for packets in heard:
            assert_spurts([numbers(p) for p in packets],
                          [LAWS[law][1] for law in laws])

    @staticmethod
    def _voice(says, laws):
        pcm = amr_heard(says)
        part = len(pcm) // len(laws)
        return b"".join(law_encode(LAWS[law][0], pcm[part * n:part * (n + 1)])
                        for n, law in enumerate(laws))


@pytest.fixture
def rig(daemon, tmp_path):
    with contextlib.ExitStack() as at_end:
        yield Rig(at_end, daemon, tmp_path)

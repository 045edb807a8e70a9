# SPDX-License-Identifier: Apache-2.0
"""A round: an attack on a node, with the good calls beside it."""
import random
import shutil
import tempfile
import pathlib
from dataclasses import dataclass, field

import accounts
import payloads
from good import Good
from node import Node, Wrong, wait_for


@dataclass(frozen=True)
class Round:
    """An attack. @attack(scene) takes about scene.seconds and returns {what: how
    many}. @floods: the good calls' packets may be lost where the kernel drops
    them, and nowhere else. @options: of the node."""
    name: str
    attack: object
    floods: bool = False
    options: tuple = ()


@dataclass
class Scene:
    """What an attack has. It adds to @sent the datagrams that it has sent to
    ports for RTP and RTCP."""
    node: Node
    good: Good
    recorded: dict
    rng: random.Random
    seconds: float
    folder: pathlib.Path
    sent: int = 0
    told: dict = field(default_factory=dict)


_recorded = {}


def recorded():
    """Payloads of all codecs, made once."""
    if not _recorded:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
        node = Node(folder)
        try:
            _recorded.update(payloads.recorded(node))
            node.stop()
        finally:
            node.kill()
            shutil.rmtree(folder)
    return _recorded


def play(of, seed, seconds, shape):
    """Play a round; what it counted. Raises Wrong when something is."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"hostile-{of.name}-"))
    said = recorded()
    node = Node(folder, shape, of.options)
    good = None
    try:
        good = Good(node, said)
        good.flow()
        before = node.holds()
        scene = Scene(node, good, said, random.Random(seed), seconds, folder)
        counts = of.attack(scene)
        good.flow()
        counts["good"] = tally = good.end()
        if not of.floods and (tally["lost"] or tally["given up"]):
            raise Wrong(f"good calls lost packets: {tally}")
        good.hang_up()
        wait_for("no call is left", lambda: node.ask("stats")["calls"] == 0)
        stats = accounts.check(node, scene.sent + tally["sent"])
        counts["kernel"] = accounts.total(stats, accounts.NOT_READ)
        wait_for(f"it holds no more than {before}: {node.holds()}",
                 lambda: node.holds() <= before)
        node.stop()
        recorded_all(node, stats["calls_started"])
        return counts
    finally:
        node.kill()
        if good:
            good.close()
        shutil.rmtree(folder, ignore_errors=True)


def recorded_all(node, calls):
    """Every call has a line in the records."""
    lines = node.records.read_text().splitlines()
    if len(lines) != calls:
        raise Wrong(f"{len(lines)} records of {calls} calls")

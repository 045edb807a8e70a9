# SPDX-License-Identifier: Apache-2.0
"""A round: an attack on a node, with the good calls beside it."""
import random
import shutil
import tempfile
import pathlib
from dataclasses import dataclass

import accounts
import payloads
from good import Good
from node import Node, Wrong, wait_for
from seam import Seam
from stalls import Pipe


@dataclass(frozen=True)
class Round:
    """An attack. @attack(scene) takes about scene.seconds and returns {what: how
    many}. @floods: the good calls' packets may be lost where the kernel drops
    them, and nowhere else. @place(folder) makes where it writes to, and gives options; @clear(folder)
    undoes it. @pipes: names of pipes that somebody reads who stalls; the last
    is the records'. @seam: the node runs on one.
    @to_itself: who attacks may have it send to itself."""
    name: str
    attack: object
    floods: bool = False
    place: object = None
    clear: object = None
    pipes: tuple = ()
    seam: bool = False
    to_itself: bool = False


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
    seam: Seam = None
    pipes: tuple = ()
    sent: int = 0


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
    seam = Seam(folder / "seam") if of.seam else None
    pipes = tuple(Pipe(folder / name) for name in of.pipes)
    node = good = None
    try:
        node = Node(folder, shape, of.place(folder) if of.place else (),
                    seam.launcher() if seam else ())
        good = Good(node, said)
        good.flow()
        before = node.holds()
        scene = Scene(node, good, said, random.Random(seed), seconds, folder,
                      seam, pipes)
        counts = of.attack(scene)
        good.flow()
        counts["good"] = tally = good.end()
        if not of.floods and (tally["lost"] or tally["given up"]):
            raise Wrong(f"good calls lost packets: {tally}")
        good.hang_up()
        wait_for("no call is left", lambda: node.ask("stats")["calls"] == 0)
        stats = accounts.check(node, scene.sent + tally["sent"],
                               of.to_itself)
        counts["kernel"] = accounts.total(stats, accounts.NOT_READ)
        wait_for(f"it holds no more than {before}: {node.holds()}",
                 lambda: node.holds() <= before)
        node.stop()
        lines = [pipe.end() for pipe in pipes]
        if not lines:
            lines = [node.records.read_text().splitlines()]
        recorded_all(lines[-1], stats)
        return counts
    except Exception as error:
        if node and not node.lives():
            raise Wrong(f"it ended with {node.daemon.process.returncode}: "
                        f"{node.log()[-4000:]}") from error
        raise
    finally:
        if node:
            node.kill()
        if good:
            good.close()
        if of.clear:
            of.clear(folder)
        shutil.rmtree(folder, ignore_errors=True)


def recorded_all(lines, stats):
    """Every call is in a record, or it was counted why not."""
    missed = stats["records"]["dropped"] + stats["records"]["failed"]
    if len(lines) + missed != stats["calls_started"]:
        raise Wrong(f"{len(lines)} records, {missed} missed, of "
                    f"{stats['calls_started']} calls")

# SPDX-License-Identifier: Apache-2.0
"""The Nth allocation, thread, descriptor and system call fails, in whatever the
node does; one, or several in a row."""
import time

from node import Wrong, wait_for
from phases import PHASES, Asker, outcome

# of these a phase needs as many each time: until it needs no more
COUNTED = ("memory", "thread", "descriptor", "map", "file", "set")
# these belong to the calls, too, and never end
ENDLESS = ("send", "receive", "write", "ring", "wait")
MOST = 40  # of them
ROWS = (1, 1, 3, 50)  # how many fail in a row


class Cursor:
    """How far a phase has come with a kind."""

    def __init__(self, phase, kind):
        self.phase, self.kind, self.n = phase, kind, 0

    def attempt(self, asker, seam, row):
        """(what became of it, was there anything that failed)"""
        phase = PHASES[self.phase]
        what = phase.prepare(asker)
        seam.arm(self.kind, self.n, row)
        try:
            reply = phase.act(asker, what)
        finally:
            failed = seam.disarm()
        phase.undo(asker, what)
        self.n += 1
        if self.kind in ENDLESS:
            failed = failed and self.n < MOST
        elif not failed:
            self.n = 0  # from the beginning, with more in a row
        return outcome(reply), failed


def attack(scene):
    """All phases and kinds in turn, so far as there is time."""
    seam = scene.seam
    asker = Asker(scene.node)
    cursors = [Cursor(name, kind) for name in PHASES for kind in COUNTED + ENDLESS]
    scene.rng.shuffle(cursors)
    told = {"attempts": 0, "whole": 0}
    end = time.monotonic() + scene.seconds
    for row in ROWS:
        left = list(cursors)
        while left and time.monotonic() < end:
            for of in list(left):
                try:
                    became, failed = of.attempt(asker, seam, row)
                    told["attempts"] += 1
                    told[became] = told.get(became, 0) + 1
                    sound(scene, asker)
                except Exception as error:
                    raise Wrong(f"{of.phase}: {row} of {of.kind} after {of.n}, "
                                f"at {seam.where()}: {error}; "
                                f"{scene.node.log()[-3000:]}") from error
                if not failed:
                    left.remove(of)
                    told["whole"] += 1
                if time.monotonic() >= end:
                    break
    asker.close()
    return told


def sound(scene, asker):
    """It lives, and has the calls that it had."""
    if not scene.node.lives():
        raise Wrong(f"it has ended: {scene.node.daemon.process.poll()}")
    wait_for("the good calls are what is left", lambda: asker.result(
        "stats")["streams"] == len(scene.good.calls))

# SPDX-License-Identifier: Apache-2.0
"""The Nth allocation, thread, descriptor or system call fails while a node
starts, and while it drains. The good calls are another node's."""
import json
import re
import subprocess
import time

from faults import COUNTED
from node import FATAL, HOST, Node, Wrong
from seam import Seam

KINDS = COUNTED + ("write", "ring", "wait")


class Ended(Exception):
    """It did not start, and said why."""


def started(folder, seam, shape):
    """A node, or Ended."""
    try:
        return Node(folder, shape, launcher=seam.launcher(), met=False)
    except RuntimeError as error:  # of conftest.Daemon: there was no "ready"
        text = str(error)
        if found := FATAL.search(text):
            raise Wrong(f"{found[0]}: {text[-3000:]}") from error
        if not re.search(r"codec-runner: |what=|why=|error", text):
            raise Wrong(f"no reason: {text[-3000:]}") from error
        raise Ended(text) from error


def start(scene, seam, kind, n, told):
    """Was there anything that failed?"""
    seam.arm(kind, n)
    try:
        node = started(scene.folder / "other", seam, n)
    except Ended:
        told["refused"] += 1
        return seam.disarm()
    failed = seam.disarm()
    try:
        node.meet()
        node.stop()
        told["started"] += 1
    finally:
        node.kill()
    return failed


CODECS = ("gsm", "opus")


def recorded(folder, before, failed):
    """Records of a node that has drained: one of each call, if nothing has
    failed; whole ones in any case."""
    lines = (folder / "records").read_text().splitlines()[before:]
    for line in lines:
        json.loads(line)
    # one more is of meet()
    if len(lines) > len(CODECS) + 1 or not failed and len(lines) <= len(CODECS):
        raise Wrong(f"{len(lines)} records, {failed} failed")
    return len(lines)


def drain(scene, seam, kind, n, told):
    """Calls are up, and a trace."""
    folder = scene.folder / "other"
    records = folder / "records"
    before = len(records.read_text().splitlines()) if records.exists() else 0
    node = started(folder, seam, n)
    try:
        node.meet()
        for codec in CODECS:
            node.ask("call.start", **{
                "in": {"codec": "pcmu"}, "port": "own", "keep": True,
                "out": {"codec": codec, "address": f"{HOST}:9"}})
        node.ask("trace.start", name="t", overwrite=True)
        seam.arm(kind, n)
        node.stop()
        told["ended"] += 1
        told["records"] += recorded(folder, before, seam.disarm())
    finally:
        failed = seam.disarm()
        node.kill()
    return failed


def attack_with(one):
    """All kinds in turn, n going up until nothing fails or time is over."""
    def attack(scene):
        seam = Seam(scene.folder / "other-seam")
        (scene.folder / "other").mkdir()
        told = dict.fromkeys(("attempts", "refused", "started", "ended",
                              "records", "whole"), 0)
        left = {kind: scene.rng.randrange(3) for kind in KINDS}
        end = time.monotonic() + scene.seconds
        while left and time.monotonic() < end:
            for kind, n in list(left.items()):
                try:
                    failed = one(scene, seam, kind, n, told)
                except (Wrong, OSError, subprocess.TimeoutExpired) as error:
                    raise Wrong(f"{one.__name__}: {kind} after {n}, at "
                                f"{seam.where()}: {error}") from error
                told["attempts"] += 1
                # the first ones each by itself, later ones in longer steps
                left[kind] += 1 + int(n * scene.rng.uniform(0, 0.2))
                if not failed:
                    del left[kind]
                    told["whole"] += 1
                if time.monotonic() >= end:
                    break
        return told
    return attack

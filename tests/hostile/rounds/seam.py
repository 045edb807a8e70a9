# SPDX-License-Identifier: Apache-2.0
"""The seam between a program and the C library, as seam/seam.h lays it out: what
fails next, and how late it is."""
import mmap
import os
import struct

from node import BUILD

KINDS = ("memory", "thread", "descriptor", "send", "receive", "write", "map",
         "ring", "file", "set", "wait")
LIBRARY = BUILD / "tests" / "hostile" / "seam" / "libhostile_seam.so"
ARMED, LEFT, FAIL, FAILED, AHEAD = range(0, 40, 8)
CALLER = 40 + 8 * len(KINDS)
BYTES = CALLER + 8 + 128


class Seam:
    """Of the processes that are started with launcher()."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(BYTES))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), BYTES)

    def launcher(self):
        more = os.environ.get("ASAN_OPTIONS", "")
        return ("env", f"CR_SEAM={self.path}", f"LD_PRELOAD={LIBRARY}",
                # what a malloc() that may fail is not asked for
                f"ASAN_OPTIONS={more}:verify_asan_link_order=0")

    def put(self, at, value):
        struct.pack_into("=q", self.map, at, value)

    def get(self, at):
        return struct.unpack_from("=q", self.map, at)[0]

    def arm(self, kind, left, fail=1):
        """Let so many calls of @kind succeed, then so many fail."""
        self.put(LEFT, left)
        self.put(FAIL, fail)
        self.put(FAILED, 0)
        self.put(ARMED, 1 << KINDS.index(kind))

    def disarm(self):
        """How many have failed."""
        self.put(ARMED, 0)
        return self.get(FAILED)

    def where(self):
        """Who was told last that it failed: object and address."""
        name = self.map[CALLER + 8:].split(b"\0")[0].decode()
        return f"{name.rsplit('/', 1)[-1]}+{self.get(CALLER):#x}"

    def step(self, seconds):
        """The wall clock is so much ahead from now on."""
        self.put(AHEAD, int(seconds * 1e9))

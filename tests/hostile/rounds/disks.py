# SPDX-License-Identifier: Apache-2.0
"""The disk is full: log, records, traces and spool are on a small one, which is
filled and freed. What could not be written is counted."""
import ctypes
import os
import time
import wave

from node import Skip, Wrong, wait_for
from phases import Asker, no_conversion, terms

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
SIZE = "8m"


def may_mount():
    """A namespace of our own for what is mounted; False: not as this user."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(
        b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0


def place(folder):
    """Mount it below @folder. Options of a node that writes there."""
    if not may_mount():
        raise Skip("no file system may be mounted here")
    disk = folder / "disk"
    disk.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hostile", str(disk).encode(), b"tmpfs", 0,
                  f"size={SIZE}".encode()):
        raise OSError(ctypes.get_errno(), "mount")
    for name in ("traces", "spool"):
        (disk / name).mkdir()
    return ("--log-file", str(disk / "log"), "--records", str(disk / "records"),
            "--spool", str(disk / "spool"), "--trace-dir",
            str(disk / "traces"))


def clear(folder):
    """Whatever there is."""
    ctypes.CDLL(None).umount2(str(folder / "disk").encode(), 2)


def fill(disk):
    """Leave nothing."""
    with open(disk / "ballast", "ab", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def free(disk):
    """Make room: also of what the log has grown to."""
    os.unlink(disk / "ballast")
    os.truncate(disk / "log", 0)


def work(asker, told):
    """All that writes. How much of it could not."""
    for _ in range(10):
        call = asker.result("call.start", **terms(asker, "shared"))
        asker.result("call.stop", call=call["call"])
    name = f"t{next(asker.numbers) % 3}"
    reply = asker.reply("trace.start", name=name, overwrite=True)
    if "result" in reply:
        told["unwritten"] += asker.result("trace.stop")["unwritten"]
    else:
        told["no trace"] += 1
    reply = asker.reply("convert.start", **{"in": "in.wav", "out": "out.wav",
                                            "rate": 16000, "overwrite": True})
    told["no conversion"] += "error" in reply
    no_conversion(asker)


def attack(scene):
    disk, asker = scene.folder / "disk", Asker(scene.node)
    with wave.open(str(disk / "spool" / "in.wav"), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(bytes(32000))
    told = dict.fromkeys(("filled", "unwritten", "no trace", "no conversion"),
                         0)
    end = time.monotonic() + scene.seconds
    while time.monotonic() < end or not told["filled"]:
        work(asker, told)
        fill(disk)
        told["filled"] += 1
        work(asker, told)
        free(disk)
    stats = scene.node.ask("stats")
    told["records failed"] = stats["records"]["failed"]
    told["log failed"] = stats["log"]["failed"]
    told["conversions failed"] = stats["conversions"]["failed"]
    lines = (disk / "records").read_text().splitlines()
    if any(not line.endswith("}") for line in lines[:-1]):
        raise Wrong("a line that is not whole")
    work(asker, told)  # all is well again
    wait_for("records are written again", lambda: scene.node.ask("stats")[
        "records"]["written"] > stats["records"]["written"])
    asker.close()
    return told

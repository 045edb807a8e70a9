# SPDX-License-Identifier: Apache-2.0
"""The node that is attacked: several workers, run queues and receivers, and
all that it can serve."""
import collections
import contextlib
import pathlib
import re
import socket
import time

from conftest import BUILD, PATIENCE, Daemon, free_port  # noqa: F401
from control import Control

HOST = "127.0.0.1"
# workers, run queues, receivers, and how they receive
SHAPES = (("3", "partitioned", "2", "auto"), ("4", "2", "3", "epoll"),
          ("2", "global", "2", "auto"), ("4", "partitioned", "1", "epoll"))
# what a sanitizer, an assertion or the C library says before the end
FATAL = re.compile(r"Sanitizer:|runtime error:|invariant broken|stack smashing"
                   r"|double free|corrupted (size|top|double)|(malloc|free)\(\):"
                   r"|Aborted")
# what does not come by the log: a library that writes itself may be made to
# fill the disk, and waits for who reads
STRAY = re.compile(r"^(?!\d{4}-\d\d-\d\dT|==\d+==)..*", re.MULTILINE)


class Wrong(AssertionError):
    """Something that an attack must not do."""


class Skip(Exception):
    """This machine cannot do that."""


def wait_for(what, done):
    """Wait until @done() gives something, and return it."""
    end = time.monotonic() + PATIENCE
    while not (got := done()):
        if time.monotonic() > end:
            raise Wrong(f"in vain: {what}")
        time.sleep(0.02)
    return got


class Node:
    """A daemon. What busy machines delay is neither shed nor too old here. Not
    @met: nobody has connected yet."""

    def __init__(self, folder, shape=0, options=(), launcher=(), met=True):
        self.folder = folder
        self.path = folder / "control"
        self.records = folder / "records"
        self.ng, self.http = free_port(), free_port(socket.SOCK_STREAM)
        for name in ("spool", "traces"):
            (folder / name).mkdir(exist_ok=True)
        workers, queues, receivers, io = SHAPES[shape % len(SHAPES)]
        self.receivers = int(receivers)
        self.daemon = Daemon(
            "--workers", workers, "--run-queues", queues, "--receivers",
            receivers, "--io", io, "--max-age", "none", "--ring", "128",
            "--no-admission", "--drain-timeout", "0s", "--control-socket",
            str(self.path), "--ng", f"{HOST}:{self.ng}", "--http",
            f"{HOST}:{self.http}", "--records", str(self.records), "--spool",
            str(folder / "spool"), "--trace-dir", str(folder / "traces"),
            *options, log=folder / "log", launcher=launcher)
        if "--records" in options:
            self.records = pathlib.Path(options[options.index("--records") + 1])
        if "--ng" in options:
            self.ng = int(options[options.index("--ng") + 1].rsplit(":")[-1])
        self.pid = self.daemon.process.pid
        self.rtp = self.daemon.ready["rtp"]
        if met:
            self.meet()

    def meet(self):
        """Connect. A call comes and goes: threads that the first one makes are
        there then."""
        self.control = Control(self.path)
        call = self.ask("call.start", **{
            "in": {"codec": "pcmu"}, "out": {"codec": "pcma",
                                             "address": f"{HOST}:9"}})
        self.ask("call.stop", call=call["call"])

    def ask(self, method, **params):
        """The result of a request."""
        reply = self.reply(method, **params)
        if "result" not in reply:
            raise Wrong(f"{method}: {reply}")
        return reply["result"]

    def reply(self, method, **params):
        self.control.send(method, params)
        while "method" in (reply := self.control.hear()):
            pass  # a notification
        return reply

    def lives(self):
        return self.daemon.process.poll() is None

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def holds(self):
        """How many descriptors, and threads by their names."""
        proc = pathlib.Path(f"/proc/{self.pid}")
        held = collections.Counter(fd=len(list((proc / "fd").iterdir())))
        for task in (proc / "task").iterdir():
            with contextlib.suppress(OSError):  # it has ended
                held[(task / "comm").read_text().strip()] += 1
        return held

    def stop(self):
        """End it in order; nothing has complained."""
        code = self.daemon.stop()
        if code != 0:
            raise Wrong(f"exit code {code}: {self.log()[-3000:]}")
        if found := FATAL.search(self.log()):
            raise Wrong(f"{found[0]}: {self.log()[-3000:]}")
        if found := STRAY.search(self.log()):
            raise Wrong(f"on stderr: {found[0]}")

    def kill(self):
        if self.lives():
            self.daemon.process.kill()
            self.daemon.process.wait()

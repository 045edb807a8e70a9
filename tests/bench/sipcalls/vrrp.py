# SPDX-License-Identifier: Apache-2.0
"""keepalived on a machine of a test, with the configuration that
docs/operate.md shows; or what does the same by hand, once."""
import os
import re
import shutil
import signal
import subprocess

from common.machine import BUILD, ROOT, fail, pin
from sipcalls.media_nodes import MOVES, children, until

HELLO = ("/usr/bin/codec-ctl --to unix:/run/codec-runner/control "
         "--timeout 1s hello")
INSTALLED = shutil.which("keepalived", path=f"{os.environ['PATH']}:/usr/sbin")


def shown(begin):
    """The indented text of the page that begins with this line."""
    page = (ROOT / "docs" / "operate.md").read_text()
    found = re.search(rf"^    {re.escape(begin)}\n(?:    .*\n|\n(?=    ))*",
                      page, re.M)
    if not found:
        fail(f"docs/operate.md shows no {begin}")
    return re.sub("^    ", "", found[0], flags=re.M)


def replaced(text, words):
    for old, new in words.items():
        if old not in text:
            fail(f"docs/operate.md does not say {old}")
        text = text.replace(old, str(new))
    return text


class Keepalived:
    """Of a node, until .stop or .kill. @ours: codec-runner, which is watched
    and takes calls over."""

    def __init__(self, node, ours):
        self.node, folder = node, node.folder
        control = {"/run/codec-runner/control": folder / "control"}
        hello = replaced(HELLO, {"/usr/bin": BUILD, **control})
        script = folder / "takeover"
        script.write_text(replaced(shown("#!/bin/sh"), {
            "codec-ctl": BUILD / "codec-ctl", **control})
            if ours else "#!/bin/sh\n")
        script.chmod(0o755)
        config = folder / "keepalived.conf"
        config.write_text(replaced(shown("global_defs {"), {
            "script_user codec-runner": "script_user root",
            HELLO: hello if ours else "/bin/true", "192.0.2.100": MOVES,
            "priority 100": f"priority {110 - 10 * node.number}",
            "/usr/local/bin/codec-runner-takeover": script}))
        with open(folder / "keepalived.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*node.machine.launcher, INSTALLED, "-n", "-l", "-P", "-D",
                 "-f", config, "-p", folder / "keepalived.pid", "-r",
                 folder / "vrrp.pid"], stdout=log, stderr=log,
                preexec_fn=pin(*os.sched_getaffinity(0)))

    def has_address(self):
        until(lambda: MOVES in self.node.machine.run(
            "ip", "-o", "addr", "show", "dev", "eth0"), "address by keepalived")

    def moves(self):
        """By itself."""

    def kill(self):
        for pid in (*children(self.process.pid), self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


class ByHand:
    """The same, at the word of .moves."""

    def __init__(self, node, *_):
        self.node = node

    def has_address(self):
        self.node.machine.have(MOVES)

    def moves(self):
        self.has_address()
        self.node.takeover()

    def kill(self):
        pass

    stop = kill

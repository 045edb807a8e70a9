# SPDX-License-Identifier: Apache-2.0
"""One codec-runner on free ports of the loopback interface."""
import os
import subprocess
import sys

from loopback import free_port

PATIENCE = 60  # s until a daemon that shall end is killed


class Daemon:
    """Started by start(), which tells whether it runs; ended by stop()."""

    def __init__(self, program, scheduler, folder, options, cpus=None,
                 config="none"):
        """cpus: those of all its threads; None: it chooses. config: its
        file."""
        self.udp, self.sctp = free_port(), 1024 + free_port() % 60000
        self.scheduler = scheduler
        self.errors = os.path.join(folder, "runner.err")
        self.command = [
            program, "--config", config, "--rtp", "127.0.0.1:0",
            "--control", f"127.0.0.1:{self.sctp}", "--udp-port",
            str(self.udp), "--sctp", "user", "--scheduler", scheduler, "--log-file",
            os.path.join(folder, "runner.log"), *options]
        self.cpus, self.process = cpus, None

    def _prepare(self):
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)

    def start(self):
        with open(self.errors, "wb") as errors:
            # its own process group: Ctrl-C reaches the feeder first, then
            # we drain
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=errors,
                preexec_fn=self._prepare, process_group=0)
        if self.process.stdout.readline().startswith(b"ready"):
            return True
        self.stop()
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            sys.stderr.write(f.read())
        print("campaigns/run: codec-runner did not start under "
              f"{self.scheduler}", file=sys.stderr)
        return False

    def where(self):
        """codec-feeder's options that find it."""
        return ["--to", f"127.0.0.1:{self.sctp}", "--udp-port", str(self.udp),
                "--sctp", "user"]

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.stdout.close()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

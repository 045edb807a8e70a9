# SPDX-License-Identifier: Apache-2.0
"""Programs that serve a run; one codec-runner on free ports of the loopback
interface."""
import os
import subprocess
import sys

from loopback import free_port


class Program:
    """Started by start(), which returns whether it runs; ended by stop().
    command, errors (the file that gets its stderr): set by each class."""
    process = None
    patience = 60  # s until one that shall end is killed

    def prepare(self):
        """Called in the new process."""

    def launch(self, **streams):
        # its own process group: Ctrl-C reaches the feeder first, then
        # we drain
        self.process = subprocess.Popen(self.command, preexec_fn=self.prepare,
                                        process_group=0, **streams)

    def failed(self, text):
        """End it, and print why it does not run. Return False."""
        self.stop()
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            sys.stderr.write(f.read())
        print(f"campaigns/run: {text}", file=sys.stderr)
        return False

    def stop(self):
        if not self.process:
            return
        self.process.terminate()
        if self.process.stdout:
            self.process.stdout.close()
        try:
            self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class Daemon(Program):
    """codec-runner under a scheduler."""

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
        self.cpus = cpus

    def prepare(self):
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)

    def start(self):
        with open(self.errors, "wb") as errors:
            self.launch(stdout=subprocess.PIPE, stderr=errors)
        return self.process.stdout.readline().startswith(b"ready") or \
            self.failed(f"codec-runner did not start under {self.scheduler}")

    def where(self):
        """codec-feeder's options that find it."""
        return ["--to", f"127.0.0.1:{self.sctp}", "--udp-port", str(self.udp),
                "--sctp", "user"]

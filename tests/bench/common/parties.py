# SPDX-License-Identifier: Apache-2.0
"""bench-restart-load as a process."""
import json
import subprocess

from common.machine import BUILD, cpus, pin


class Parties:
    """Of each call a party with PCMU, then one with @codec. @host: the address
    of all; own: each has another one. @dump: [file for packets], or []."""

    def __init__(self, calls, codec, host, dump):
        self.process = subprocess.Popen(
            [BUILD / "bench-restart-load", str(calls), codec, str(cpus()[0]),
             host, *dump], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, preexec_fn=pin(cpus()[0]))
        self.addresses = self.process.stdout.readline().split()[1:]

    def begin(self, targets):
        self.process.stdin.write("".join(f"{t}\n" for t in targets))
        self.process.stdin.flush()

    def mark(self):
        """What has come since the last one."""
        self.process.stdin.write("mark\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        """How many packets each has sent."""
        self.process.stdin.close()
        sent = self.process.stdout.readline().split()[1:]
        self.process.wait()
        return list(map(int, sent))

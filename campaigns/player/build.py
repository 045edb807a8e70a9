# SPDX-License-Identifier: Apache-2.0
"""Installs what is missing and builds, in a clone of the source; quiet while all
goes well. Installed with the programs, campaigns take those."""
import os
import subprocess
import sys

from installation import is_clone, programs


def _log_tail(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-20:])


def build(top, *more):
    """Whether the programs are there in the end: in a clone build/release, up
    to date, and the packages of the sections more of deps/debian.txt."""
    if not is_clone(top):
        there = os.path.exists(os.path.join(programs(top), "codec-runner"))
        if not there:
            print("campaigns/run: there is no codec-runner on the PATH",
                  file=sys.stderr)
        return there
    install = os.path.join(top, "deps", "install")
    if subprocess.run([install, "build", "run", *more],
                      check=False).returncode:
        return False
    log = os.path.join(top, "build", "release.log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    print("building (log: build/release.log)", flush=True)
    with open(log, "w", encoding="utf-8") as f:
        for command in (["cmake", "--preset", "release"],
                        ["cmake", "--build", "--preset", "release"]):
            if subprocess.run(command, cwd=top, stdout=f, stderr=f,
                              check=False).returncode:
                f.flush()
                print(_log_tail(log) + "campaigns/run: the build failed; see "
                      + log, file=sys.stderr)
                return False
    return True

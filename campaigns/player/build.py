# SPDX-License-Identifier: Apache-2.0
"""Installs what is missing and builds, in a clone of the source; quiet while all
goes well. Installed with the programs, campaigns take those."""
import os
import subprocess
import sys

from installation import is_clone, programs

#: What campaigns start; the tests beside them take longer to build.
TARGETS = ("codec-runner", "codec-feeder", "codec-ctl", "codec-sim")


def _log_tail(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-20:])


def _make(top, log, *commands):
    """Run CMake's commands until one fails. Return whether none did."""
    for command in commands:
        if subprocess.run(["cmake", *command], cwd=top, stdout=log, stderr=log,
                          check=False).returncode:
            print(_log_tail(log.name) + "campaigns/run: the build failed; see "
                  + log.name, file=sys.stderr)
            return False
    return True


def build(top, *more, targets=TARGETS):
    """Whether the programs are there in the end: in a clone build/release, up
    to date, and the packages of the sections more of deps/debian.txt. Those that
    the build does not need are installed beside it."""
    if not is_clone(top):
        there = os.path.exists(os.path.join(programs(top), "codec-runner"))
        if not there:
            print("campaigns/run: there is no codec-runner on the PATH",
                  file=sys.stderr)
        return there
    install = os.path.join(top, "deps", "install")
    if subprocess.run([install, "build"], check=False).returncode:
        return False
    path = os.path.join(top, "build", "release.log")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    configure = ["--preset", "release"]
    with open(path, "w", encoding="utf-8") as log:
        with subprocess.Popen([install, "run", *more]) as packages:
            print("building (log: build/release.log)", flush=True)
            built = _make(top, log, configure, ["--build", *configure,
                                                "--target", *targets])
        # codec-report starts a Python that has numpy, which may be new
        return built and not packages.returncode and _make(top, log, configure)

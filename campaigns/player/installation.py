# SPDX-License-Identifier: Apache-2.0
"""Where things are: in a clone of the source, or installed with the programs."""
import os
import shutil


def is_clone(top):
    return os.path.exists(os.path.join(top, "CMakeLists.txt"))


def programs(top):
    """Their folder: build/release, or that of the codec-runner on the PATH."""
    built = os.path.join(top, "build", "release")
    found = shutil.which("codec-runner")
    if is_clone(top) or os.path.isdir(built) or not found:
        return built
    return os.path.dirname(os.path.realpath(found))


def out(top, name):
    """Where what a campaign leaves goes, if nobody says: what is installed is
    not written to."""
    return os.path.join(top if is_clone(top) else os.getcwd(), "out", name)


def report(top):
    """The folder of the package codec_report."""
    if is_clone(top):
        return os.path.join(top, "src", "report")
    return os.path.join(os.path.dirname(programs(top)), "share",
                        "codec-runner", "python")

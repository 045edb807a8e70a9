# SPDX-License-Identifier: Apache-2.0
"""What a run was played on and with: environment.json of its folder.

run.json and the trace's header tell campaign, seed, machine, kernel, versions
and scheduler; this file what they cannot know: the revision built, both
command lines, which repetition it was, how busy the machine was before, and
the versions of compiler and codec libraries.
"""
import json
import os
import platform
import subprocess
import time

# dpkg-query's patterns: the numbers differ between releases
LIBRARIES = ("libopencore-amrnb[0-9]*", "libopencore-amrwb[0-9]*",
             "libvo-amrwbenc[0-9]*", "libavcodec[0-9]*",
             "libavcodec-extra[0-9]*", "libusrsctp[0-9]*",
             "libevent-core-[0-9]*", "libc6")


def _output(*command, cwd=None):
    """What a command prints, "" when it cannot be had."""
    try:
        return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout.strip()
    except OSError:
        return ""


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def _libraries():
    """{package: version}, of those installed."""
    lines = _output("dpkg-query", "-W", "-f",
                    "${db:Status-Status} ${Package} ${Version}\n",
                    *LIBRARIES).splitlines()
    return dict(line.split(" ")[1:] for line in lines
                if line.startswith("installed "))


def cpu():
    """The processor, and what of it can be used."""
    model = [line.split(":", 1)[1].strip()
             for line in _read("/proc/cpuinfo").splitlines()
             if line.startswith("model name")]
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {"model": model[0] if model else "", "online": os.cpu_count(),
            "usable": sorted(os.sched_getaffinity(0)),
            "governor": _read(governor) or None}


def fixed(top):
    """What does not change between the runs of a campaign."""
    return {
        "revision": _output("git", "rev-parse", "HEAD", cwd=top) or None,
        "modified": bool(_output("git", "status", "--porcelain",
                                 "--untracked-files=no", cwd=top)),
        "machine": {"node": platform.node(), "arch": platform.machine(),
                    "kernel": platform.release(),
                    "version": platform.version(), "cpu": cpu()},
        "compiler": _output("cc", "--version").partition("\n")[0],
        "libraries": _libraries(),
    }


def write(folder, constant, **run):
    """Write folder/environment.json. constant: fixed(); run: of this run."""
    what = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "load_average": os.getloadavg(), **run, **constant}
    with open(os.path.join(folder, "environment.json"), "w",
              encoding="utf-8") as f:
        json.dump(what, f, indent=1)
        f.write("\n")

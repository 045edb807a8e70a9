# SPDX-License-Identifier: Apache-2.0
"""The least that any transcoder could do on this machine at this moment: a bare
reflector that computes for each packet as long as the codec does."""
import json
import subprocess

from common.machine import BUILD, cpus
from common.wire import Reflector, played

# The codec as the other side of a call: its PCM.
PCM = {"amr": "pcmu", "g723_1": "pcmu", "amr-wb": "l16"}
BEST_OF = 3  # runs of the raw loop
STATES, SECONDS = 200, 1


def raw(codec, mode, states, seconds, options=()):
    """bench-raw's result: the codec alone, ns per frame and calls per core."""
    out = subprocess.run(
        [BUILD / "bench-raw", "--codec", codec, "--mode", mode, "--states",
         str(states), "--seconds", f"{seconds}s", "--cpu", str(cpus()[1]),
         "--pcm", PCM[codec], *options], check=True, capture_output=True,
        text=True).stdout
    return json.loads(out)


def codec_ns(codec, mode):
    """What a frame costs the codec alone, at its best; 0 for those that cost
    next to nothing."""
    if codec not in PCM:
        return 0
    return round(min(raw(codec, mode, STATES, SECONDS)["ns_per_frame"]
                     for _ in range(BEST_OF)))


def through(calls, port, work_ns, options):
    """bench-load's result through the reflector that computes for @work_ns."""
    program = Reflector(calls if port == "own" else 0,
                        ["--work", f"{work_ns}ns"])
    return played(calls, program, lambda _: program.targets(calls), options)

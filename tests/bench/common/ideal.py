# SPDX-License-Identifier: Apache-2.0
"""The least that any transcoder could do on this machine at this moment: a bare
reflector that puts each packet through the codec."""
import json
import subprocess

from common.machine import BUILD, cpus
from common.wire import Reflector, played

# The codec as the other side of a call: its PCM.
PCM = {"amr": "pcmu", "g723_1": "pcmu", "amr-wb": "l16"}


def raw(codec, mode, states, seconds, options=()):
    """bench-raw's result: the codec alone, ns per frame and calls per core."""
    out = subprocess.run(
        [BUILD / "bench-raw", "--codec", codec, "--mode", mode, "--states",
         str(states), "--seconds", f"{seconds}s", "--cpu", str(cpus()[1]),
         "--pcm", PCM[codec], *options], check=True, capture_output=True,
        text=True).stdout
    return json.loads(out)


def coding(codec, mode, calls, options=()):
    """Options of bench-reflect: what it does with packets. None for codecs that
    cost next to nothing."""
    if codec not in PCM:
        return []
    return ["--codec", codec, "--mode", mode, "--pcm", PCM[codec], "--states",
            str(calls), *options]


def through(calls, port, work, options):
    """bench-load's result through the reflector; @work: of coding()."""
    program = Reflector(calls if port == "own" else 0, work)
    return played(calls, program, lambda _: program.targets(calls), options)

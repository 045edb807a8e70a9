# SPDX-License-Identifier: Apache-2.0
"""The list of rounds."""
import clocks
import disks
import ends
import faults
import liars
import signals
import spray
import stalls
from play import Round

ROUNDS = {of.name: of for of in (
    Round("spray", spray.attack, floods=True),
    Round("sctp", liars.by_sctp),
    Round("unix", liars.by_unix),
    Round("ng", liars.by_ng, to_itself=True),
    Round("http", liars.by_http),
    Round("stalls", stalls.attack, place=stalls.place,
          pipes=("log-pipe", "records-pipe")),
    Round("faults", faults.attack, seam=True),
    Round("start", ends.attack_with(ends.start)),
    Round("drain", ends.attack_with(ends.drain)),
    Round("stop", signals.stop_and_go, floods=True),
    Round("kill", signals.kill_and_start),
    Round("disk", disks.attack, place=disks.place, clear=disks.clear),
    Round("clock", clocks.attack, seam=True),
)}

# SPDX-License-Identifier: Apache-2.0
"""The wall clock is stepped, by seconds and by decades, while all goes on."""
import time

from phases import PHASES, Asker, outcome

YEAR = 365 * 86400
STEPS = (-50 * YEAR, -YEAR, -3600, -1, 0, 0.5, 1, 60, 86400, YEAR, 12 * YEAR,
         80 * YEAR)
BESIDE = ("call", "stop", "talk", "trace", "convert", "ng", "page", "connect")


def attack(scene):
    asker, told = Asker(scene.node), {"steps": 0}
    end = time.monotonic() + scene.seconds
    while time.monotonic() < end:
        scene.seam.step(scene.rng.choice(STEPS) * scene.rng.uniform(0.5, 1))
        told["steps"] += 1
        name = scene.rng.choice(BESIDE)
        phase = PHASES[name]
        what = phase.prepare(asker)
        became = outcome(phase.act(asker, what))
        phase.undo(asker, what)
        told[became] = told.get(became, 0) + 1
    scene.seam.step(0)
    asker.close()
    return told

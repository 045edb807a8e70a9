# SPDX-License-Identifier: Apache-2.0
"""The E-model in C against the one in Python: every mode of every codec with
every other, delays and losses. G107_TABLE names the program to ask."""
import itertools
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src" / "report"))

from codec_report import emodel, g107  # noqa: E402

TABLE = os.environ["G107_TABLE"]


def ask(lines):
    done = subprocess.run([TABLE], input="".join(f"{line}\n" for line in lines),
                          capture_output=True, text=True, check=True)
    return [None if line == "none" else [float(x) for x in line.split()]
            for line in done.stdout.splitlines()]


def modes():
    done = subprocess.run([TABLE, "modes"], capture_output=True, text=True,
                          check=True)
    return [tuple(line.split()) for line in done.stdout.splitlines()]


def expected(one, two, delay, loss, burst):
    r = emodel.rate(emodel.Rating(1, emodel.Description(*one, *two), delay,
                                  loss, burst, 100, 0), True)
    return None if r.mos is None else [r.r, r.mos, float(r.wide)]


def test_every_codec_with_every_other():
    cases = list(itertools.product(modes(), modes(), (25.0, 190.0),
                                   (0.0, 0.03), (1.0,)))
    found = ask(f"{a} {b} {c} {d} {delay} {loss} {burst}"
                for (a, b), (c, d), delay, loss, burst in cases)
    assert len(found) == len(cases)
    rated = 0
    for case, got in zip(cases, found):
        want = expected(*case)
        if want is None:
            assert got is None, case
        else:
            assert got == pytest.approx(want, abs=1e-6), case
            rated += 1
    assert rated > 100


@pytest.mark.parametrize("one, two", [
    (("pcmu", "64"), ("pcma", "64")), (("pcmu", "64"), ("amr", "12.2")),
    (("l16", "pcm"), ("amr-wb", "12.65"))])
def test_delays_losses_and_bursts(one, two):
    cases = list(itertools.product(
        [one], [two], (0.0, 1.0, 99.0, 101.0, 177.3, 400.0, 2000.0),
        (0.0, 0.001, 0.01, 0.1, 0.5, 1.0), (1.0, 2.5, 8.0)))
    found = ask(f"{a} {b} {c} {d} {delay} {loss} {burst}"
                for (a, b), (c, d), delay, loss, burst in cases)
    for case, got in zip(cases, found):
        assert got == pytest.approx(expected(*case), abs=1e-6), case


def test_the_published_point():
    r, mos, wide = ask(["pcmu 64 pcmu 64 0 0 1"])[0]
    assert (round(r, 1), round(mos, 2), wide) == (93.2, 4.41, 0)
    assert g107.mos(r) == pytest.approx(mos)

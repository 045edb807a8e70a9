# SPDX-License-Identifier: Apache-2.0
"""Repetitions of a run, and which differences noise could explain.

A folder without run files of its own, but with folders 1, 2, ... that are
runs, is one run that was repeated (campaigns/run --rounds). Its column shows
the median of each metric over the repetitions and, in brackets, the bootstrap
95 % interval of the median (2000 samples, fixed seed).

Only there the best of a row is marked: '*' when noise does not explain it, as
against each other column a two-sided permutation test of the difference of
means gives p <= 0.05. All ways to deal the values to the two columns are tried,
or 20000 at random (fixed seed) where there are more. Otherwise the best is marked '~'.
With three repetitions p is never below 0.1: four are needed to show anything.
Many rows are tested, so one in twenty '*' between equals is to be expected.

--csv has a line per repetition, --json both, figures show the first.
"""
import itertools
import math
import os

import numpy as np

from codec_report import bootstrap
from codec_report.metrics import METRICS
from codec_report.offered import KEYS

SIGNIFICANT = 0.05
DEALS = 20000


def _holds_run(folder, files):
    return any(os.path.exists(os.path.join(folder, name)) for name in files)


def runs_in(path, files):
    """The runs that a path means: of a folder that is neither a run nor one
    that was repeated those in it, by name; else the path itself.

    files: names of run files.
    """
    if not os.path.isdir(path) or _holds_run(path, files) \
            or folders(path, files):
        return [path]
    inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    return [folder for folder in inside if os.path.isdir(folder) and (
        _holds_run(folder, files) or folders(folder, files))] or [path]


def folders(path, files):
    """The repetitions in a folder, in order; [] when it is no such folder.

    files: names of run files.
    """
    if not os.path.isdir(path) or _holds_run(path, files):
        return []
    found = sorted((int(name), os.path.join(path, name))
                   for name in os.listdir(path)
                   if name.isascii() and name.isdigit())
    return [folder for _, folder in found if _holds_run(folder, files)]


def _deals(n, size):
    """Indexes of the values dealt to the first column, a row per deal."""
    if math.comb(n, size) <= DEALS:
        return np.array(list(itertools.combinations(range(n), size)))
    rng = np.random.default_rng(bootstrap.SEED)
    return rng.permuted(np.tile(np.arange(n), (DEALS, 1)), axis=1)[:, :size]


def p_value(one, two):
    """Of the difference of means, two-sided; 1.0 when there is nothing to
    deal. one, two: sequences of numbers."""
    pool = np.array([*one, *two], float)
    if not len(one) or not len(two):
        return 1.0
    deals = _deals(len(pool), len(one))
    first = pool[deals].sum(axis=1)
    means = first / len(one) - (pool.sum() - first) / len(two)
    seen = abs(float(np.mean(one)) - float(np.mean(two)))
    slack = 1e-9 * max(float(np.abs(pool).max()), 1e-300)
    return float((np.abs(means) >= seen - slack).mean())


def differ(one, two):
    """Whether noise does not explain the difference of two samples."""
    return p_value(one, two) <= SIGNIFICANT


def _combine_groups(label, groups):
    out = {"group": label, "samples": {}, "interval": {}}
    for metric in METRICS:
        bootstrap.add_median(out, metric.key, [
            g[metric.key] for g in groups if g[metric.key] is not None])
    return out


def _combine_phase(phases):
    """Medians of a phase of every repetition, and "samples"."""
    out = {**phases[0], "samples": {}}
    for key in KEYS:
        bootstrap.add_median(out, key, [p[key] for p in phases
                                        if p.get(key) is not None])
    return out


def _combine_sections(sections):
    labels = dict.fromkeys(g["group"] for s in sections for g in s["groups"])
    phases = [p for s in sections for p in s["phases"]]
    return {**sections[0], "phases": [
        _combine_phase([p for p in phases if p["phase"] == name])
        for name in dict.fromkeys(p["phase"] for p in phases)], "groups": [
        _combine_groups(label, [g for s in sections for g in s["groups"]
                                if g["group"] == label])
        for label in labels]}


def combine(name, reports):
    """One report of the repetitions' reports: medians, with "samples" and
    "interval" in each group, and the reports themselves in "repetitions"."""
    count = min(len(r["schedulers"]) for r in reports)
    notes = [f"medians of {len(reports)} repetitions, with the 95 % interval; "
             "*: best, beyond noise; ~: best, but noise could explain it; "
             "figures show the first"]
    noted = {}
    for r in reports:
        for note in r["notes"]:
            noted.setdefault(note, []).append(r["run"])
    notes += [note if len(runs) == len(reports)
              else f"{', '.join(runs)}: {note}"
              for note, runs in noted.items()]
    return {**reports[0], "run": name, "notes": notes,
            "schedulers": [_combine_sections([r["schedulers"][i]
                                              for r in reports])
                           for i in range(count)],
            "repetitions": reports}

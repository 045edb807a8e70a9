# SPDX-License-Identifier: Apache-2.0
"""Differences of columns that were measured in the same rounds.

Each difference is taken within a round, so drift from round to round is not in
it. Its interval is the bootstrap's, over rounds, 95 %. Its p is of a sign-flip
test (Fisher 1935): if two columns are equal, a round's difference has either
sign with the same probability. All ways to set the signs are tried, or 4096 at
random (fixed seed) if there are more. There are many pairs and metrics, so p is
corrected by Holm's step-down, with the largest statistic of the remaining
hypotheses in place of their number (Westfall and Young 1993). The same signs
are used for all, as they are of the same rounds. A round's difference counts
for at most 2.5 times the median of its pair's absolute differences, so that a
disturbed round neither decides nor hides the others. With Holm's own bound, the
105 hypotheses of six schedulers would need at least 13 rounds.
"""
from dataclasses import dataclass

import numpy as np

from codec_report import bootstrap

SIGNIFICANT = 0.05
EXACT = 12      # rounds, up to which all signs are tried
FLIPS = 4096
FAR = 2.5       # times the median
POLISH = 20     # iterations at most


@dataclass
class Difference:
    """Of two columns in a metric, first less second. rounds: that have both;
    p: as it is; corrected: over all that were tested together."""
    first: str
    second: str
    metric: str
    mean: float
    low: float
    high: float
    rounds: int
    p: float = 1.0
    corrected: float = 1.0

    @property
    def sure(self):
        """Return whether it is significant."""
        return self.corrected <= SIGNIFICANT and self.low * self.high > 0


def _signs(rounds):
    """Return a row of signs for each way that is tried; the first is all 1. Of
    two opposite ways one is enough."""
    if rounds <= EXACT:
        at = np.arange(1 << max(rounds - 1, 0))[:, None]
        return 1.0 - 2.0 * (at >> np.arange(rounds) & 1)
    rng = np.random.default_rng(bootstrap.SEED)
    out = rng.choice((-1.0, 1.0), (FLIPS, rounds))
    out[0] = 1.0
    return out


def _statistics(values, signs):
    """Return Student's |t| of each row of signs (rows) and column of values,
    NaN: not known in that round; as a normal deviate (Wallace 1959), so that
    those of fewer rounds count as much."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    n = known.sum(axis=0)
    mean = signs @ filled / n
    spread = np.square(filled).sum(axis=0) / n
    rest = np.maximum(spread - np.square(mean), 1e-12 * spread)
    ratio = np.square(mean) / np.where(spread > 0, rest, 1.0)  # t^2 / (n - 1)
    free = np.maximum(n - 1, 1)
    return (8 * free + 1) / (8 * free + 3) * np.sqrt(free * np.log1p(ratio))


def _step_down(found):
    """Return the corrected p of each column; found: |t|, first row observed."""
    order = np.argsort(-found[0], kind="stable")
    left = np.maximum.accumulate(found[:, order[::-1]], axis=1)[:, ::-1]
    p = (left >= found[0][order] * (1 - 1e-9)).mean(axis=0)
    out = np.empty(len(order))
    out[order] = np.maximum.accumulate(p)
    return out


def _limit(values):
    """Clip values to FAR times the median of their absolute values, which does
    not depend on their signs."""
    most = FAR * np.median(np.abs(values))
    return np.clip(values, -most, most) if most > 0 else values


def differences(tables, least=2):
    """Return [Difference] of every pair of columns in every metric, corrected
    together.

    tables: {metric: {column: {round: value}}}. least: rounds that a pair needs
    at least.
    """
    rounds = sorted({r for table in tables.values() for of in table.values()
                     for r in of})
    out, rows = [], []
    for metric, table in tables.items():
        names = list(table)
        for i, one in enumerate(names):
            for two in names[i + 1:]:
                both = [r for r in rounds if r in table[one]
                        and r in table[two]]
                if len(both) < max(least, 2):
                    continue
                apart = _limit(np.array([table[one][r] - table[two][r]
                                         for r in both]))
                out.append(Difference(
                    one, two, metric, float(np.mean(apart)),
                    *bootstrap.interval(apart), len(both)))
                row = np.full(len(rounds), np.nan)
                row[[rounds.index(r) for r in both]] = apart
                rows.append(row)
    if not rows:
        return []
    found = _statistics(np.array(rows).T, _signs(len(rounds)))
    alone = (found >= found[0] * (1 - 1e-9)).mean(axis=0)
    for one, p, corrected in zip(out, alone, _step_down(found)):
        one.p, one.corrected = float(p), float(corrected)
    return out


def effects(table):
    """Return ({column: effect}, {round: effect}) of value = column + round,
    by median polish (Tukey 1977); the columns' effects have the mean 0. table:
    {column: {round: value}}; values may be missing."""
    columns = {name: 0.0 for name, of in table.items() if of}
    rounds = dict.fromkeys(sorted({r for of in table.values() for r in of}),
                           0.0)
    for _ in range(POLISH if columns else 0):
        for r in rounds:
            rounds[r] = float(np.median([
                table[c][r] - columns[c] for c in columns if r in table[c]]))
        for c in columns:
            columns[c] = float(np.median([v - rounds[r] for r, v
                                          in table[c].items()]))
        middle = float(np.mean(list(columns.values())))
        columns = {c: v - middle for c, v in columns.items()}
        rounds = {r: v + middle for r, v in rounds.items()}
    return columns, rounds

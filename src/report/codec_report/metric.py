# SPDX-License-Identifier: Apache-2.0
"""A column of every output, and what all columns are computed with."""
from dataclasses import dataclass

import numpy as np

QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0))


@dataclass(frozen=True)
class Metric:
    """A column of every output. better: -1 less is better, 1 more, 0 neither.
    shown: how the table writes it: count, rate, ms, share, index, score."""
    key: str
    title: str
    shown: str
    better: int = 0
    optional: bool = False  # left out of the table when zero everywhere


def quantile_metrics(key, title):
    """The four columns of quantiles() of one quantity."""
    names = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
    return [Metric(f"{key}_{q}_ms", f"{title} {names[q]}, ms", "ms", -1)
            for q, _ in QUANTILES]


def median(values):
    """As float; None: there is no value."""
    return float(np.median(values)) if len(values) else None


def nearest_rank(values, shares):
    """The values at these shares (0..1, ascending order not needed) of a
    non-empty array: each is one that occurred."""
    n = len(values)
    at = [max(int(np.ceil(round(q * n, 6))), 1) - 1 for q in shares]
    part = np.partition(values, sorted(set(at)))
    return [float(part[k]) for k in at]


def quantiles(values, scale=1.0):
    """{"p50": ..., "p99", "p999", "max"} of an array by nearest rank, times
    scale; None each when it is empty."""
    if not len(values):
        return {name: None for name, _ in QUANTILES}
    found = nearest_rank(values, [q for _, q in QUANTILES])
    return {name: value * scale
            for (name, _), value in zip(QUANTILES, found)}

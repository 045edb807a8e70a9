# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals by the bootstrap (Efron 1979): percentiles of a
statistic over samples drawn with replacement. The seed is fixed, so that the
same data give the same interval."""
import numpy as np

from codec_report.metric import median

LEVEL = 0.95
RESAMPLES = 2000
SEED = 1
BLOCK = 1 << 22  # values drawn at once


def interval(values, statistic=np.mean):
    """(low, high) of the statistic, each a float; None for less than two
    values.

    values: array. statistic: called with a matrix and axis=1.
    """
    values = np.asarray(values, float)
    if len(values) < 2:
        return None
    rng = np.random.default_rng(SEED)
    rows = max(BLOCK // len(values), 1)
    found = [statistic(values[rng.integers(0, len(values),
                                           (min(rows, RESAMPLES - done),
                                            len(values)))], axis=1)
             for done in range(0, RESAMPLES, rows)]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(found), (tail, 1 - tail))
    return float(low), float(high)


def described(key, values):
    """{KEY_mean, KEY_min} of some values and, of more than one, KEY_mean_low and
    KEY_mean_high."""
    out = {f"{key}_mean": float(np.mean(values)),
           f"{key}_min": float(min(values))}
    low_high = interval(values)
    if low_high:
        out[f"{key}_mean_low"], out[f"{key}_mean_high"] = low_high
    return out


def add_median(out, key, known):
    """Put into out the median of the known values of repetitions, and into
    its "samples" and "interval" where that comes from."""
    out[key] = median(known)
    out["samples"][key] = known
    low_high = interval(known, np.median) if "interval" in out else None
    if low_high:
        out["interval"][key] = list(low_high)

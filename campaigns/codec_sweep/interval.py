# SPDX-License-Identifier: Apache-2.0
"""95 % intervals: of a mean over seeds by Student's t, of a share of task sets
by Wilson's score (Wilson 1927)."""
import math

LEVEL = 0.95
NORMAL = 1.959964  # of the normal distribution at LEVEL


def _within(angle, degrees):
    """P(|T| <= sqrt(degrees) * tan(angle)) of Student's t: Abramowitz and
    Stegun, 26.7.3 and 26.7.4."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if odd:
        return 2 / math.pi * (angle + sine * total)
    return sine * total


def quantile(degrees):
    """t such that a share LEVEL of Student's t with so many degrees of freedom
    is within -t and t."""
    low, high = 0.0, math.pi / 2
    for _ in range(100):
        middle = (low + high) / 2
        if _within(middle, degrees) < LEVEL:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def of_mean(values):
    """(mean, standard deviation, low, high) of a sample; what cannot be known
    of a single value is None."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None, None, None
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values)
                          / (n - 1))
    half = quantile(n - 1) * deviation / math.sqrt(n)
    return mean, deviation, mean - half, mean + half


def of_share(hits, n):
    """(share, low, high) of @hits in @n."""
    share, square = hits / n, NORMAL ** 2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = NORMAL / (1 + square / n) * math.sqrt(
        share * (1 - share) / n + square / (4 * n * n))
    # rounding may put an end on the wrong side of 0, 1 or the share itself
    return (share, max(0.0, min(share, middle - half)),
            min(1.0, max(share, middle + half)))

# SPDX-License-Identifier: Apache-2.0
"""Figures of repeated runs, and the search for the largest load."""
import statistics


def spread(values, digits):
    """None: there are none."""
    values = list(values)
    if not values:
        return None
    return {"median": round(statistics.median(values), digits),
            "least": round(min(values), digits),
            "most": round(max(values), digits)}


def spread_text(figure):
    if not figure:
        return "none"
    return f"{figure['median']} ({figure['least']} to {figure['most']})"


def verdict(figure, bar):
    """Is the median within @bar?"""
    if not figure:
        return "not measured"
    return "ok" if figure["median"] <= bar else "missed"


def judged(value, least=None, most=None):
    """@value against the bar that is given."""
    ok = value >= least if most is None else value <= most
    bar = least if most is None else most
    return {"bar": round(bar, 4), "verdict": "ok" if ok else "missed"}


def largest(low, high, step, carried):
    """The largest load from @low to @high that is @carried, to less than @step;
    None: not even the least that was tried. A larger one is carried only if a
    smaller one is."""
    best = None
    while high - low >= step:
        load = (low + high + 1) // 2
        if carried(load):
            best = low = load
        else:
            high = load - 1
    return best


def most_carried(first, most, share, carried):
    """The largest load that is @carried, to a @share-th of it: doubled from
    @first until it is not, or is above @most; below @first, to 1, if not even
    that is carried. None: nothing is."""
    load = first
    while load < most and carried(load):
        load *= 2
    low = load // 2 if load > first else 0
    return largest(low, load - 1, max(1, low // share), carried) or low or None

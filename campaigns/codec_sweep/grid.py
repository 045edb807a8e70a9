# SPDX-License-Identifier: Apache-2.0
"""The grid: parameters with their values, and the cells of their product."""
import itertools
import re
from dataclasses import dataclass
from decimal import Decimal

from codec_sweep import SweepError

MOST = 10000  # values of a parameter
NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)(%|ppm|ns|us|ms|s|min|m|h|/s|)")
RANGE = re.compile(r"(.+?)\.\.(.+):(.+)")
#: What codec-sim's JSON has: shares of 1, times in ns.
UNITS = {"": 1, "%": Decimal("0.01"), "ppm": Decimal("0.000001"), "/s": 1,
         "ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
         "m": 60 * 10**9, "h": 3600 * 10**9}


def number(text):
    """The number that a value is, in the units of codec-sim's JSON (shares of
    1, times in ns), or None: it is a word, or more than one number."""
    match = NUMBER.fullmatch(text)
    return float(Decimal(match[1]) * UNITS[match[2]]) if match else None


def _plain(value):
    """A Decimal without exponent and trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(text):
    """The values of "50%..120%:10%", both ends included, or None: it is no
    range. A range without a step, as -100ppm..100ppm, is a value."""
    match = RANGE.fullmatch(text)
    if not match:
        return None
    parts = [NUMBER.fullmatch(part) for part in match.groups()]
    if not all(parts):
        return None
    if len({part[2] for part in parts}) > 1:
        raise SweepError(f"{text}: one unit for all three, as in "
                         "50%..120%:10%")
    first, last, step = (Decimal(part[1]) for part in parts)
    if not step or (last - first) / step < 0:
        raise SweepError(f"{text}: steps of {match[3]} do not lead from "
                         f"{match[1]} to {match[2]}")
    count = int((last - first) / step) + 1
    if count > MOST:
        raise SweepError(f"{text}: {count} values; {MOST} at most")
    return [_plain(first + i * step) + parts[0][2] for i in range(count)]


def split(text):
    """The parts between commas, but for commas in brackets or quotes."""
    parts, depth, quote = [""], 0, None
    for c in text:
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "[{") - (c in "]}")
        if c == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def values(text):
    """The values of "A,B,C", of which each may be a range."""
    found = []
    for part in split(text):
        found += span(part) or [part]
    if len(set(found)) < len(found):
        raise SweepError(f"{text}: a value stands there twice")
    return found


def integers(text, what):
    """The numbers of "1..20", "1,2,5" or "1..5,9"."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise SweepError(f"{what}: {text!r} is no list of numbers, such "
                             "as 1..20 or 1,2,5")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    if len(set(found)) < len(found):
        raise SweepError(f"{what}: {text}: a number stands there twice")
    return found


@dataclass(frozen=True)
class Parameter:
    """A key of the campaign and the values it gets, as texts."""
    key: str
    values: tuple

    @property
    def numbers(self):
        """What the values are as numbers; None when one is none."""
        found = [number(value) for value in self.values]
        return None if None in found else found


def parameter(setting):
    """The Parameter of "KEY=VALUES"."""
    key, equals, text = setting.partition("=")
    if not key or not equals:
        raise SweepError(f"{setting!r}: needs KEY=VALUES, such as "
                         "flows.speech.load=50%..120%:10%")
    return Parameter(key, tuple(values(text)))


#: Keys of the grid itself: the words in place of --set.
OWN = {"seed": "--seeds", "schedulers": "--schedulers"}


def once(some, what):
    """SweepError when one stands there twice: its runs would be the same ones
    again, and the intervals too narrow."""
    seen = set()
    for one in some:
        if one in seen:
            raise SweepError(f"{what}: {one} stands there twice")
        seen.add(one)


def parameters(settings):
    """Of a list of "KEY=VALUES", or of a dict {KEY: values}."""
    if isinstance(settings, dict):
        found = [Parameter(key, tuple(str(v) for v in some))
                 if isinstance(some, (list, tuple, range))
                 else parameter(f"{key}={some}")
                 for key, some in settings.items()]
    else:
        found = [parameter(setting) for setting in settings]
    keys = [p.key for p in found]
    for key in keys:
        if keys.count(key) > 1:
            raise SweepError(f"{key} is given twice: its values go into one "
                             "list")
        if key in OWN:
            raise SweepError(f"{key} is no parameter: {OWN[key]} has it")
    return found


@dataclass(frozen=True)
class Cell:
    """One run: a value for each parameter, a scheduler, a seed."""
    settings: tuple  # of (key, value)
    scheduler: str
    seed: int
    plugin: str = ""  # the content of a scheduler that is a file: its hash

    @property
    def key(self):
        """What tells it from all others, for the files of a sweep."""
        return [[list(pair) for pair in self.settings], self.scheduler,
                self.seed] + [self.plugin] * bool(self.plugin)

    def __str__(self):
        return ", ".join([*(f"{k}={v}" for k, v in self.settings),
                          f"scheduler {self.scheduler}", f"seed {self.seed}"])


def cells(params, schedulers, seeds, plugins=None):
    """All of them: the last parameter, then schedulers, then seeds go
    fastest. plugins: {scheduler: hash} of those that are files."""
    for param in params:
        once(param.values, param.key)
    once(schedulers, "schedulers")
    once(seeds, "seeds")
    return [Cell(tuple(zip((p.key for p in params), point)), scheduler, seed,
                 (plugins or {}).get(scheduler, ""))
            for point in itertools.product(*(p.values for p in params))
            for scheduler in schedulers for seed in seeds]

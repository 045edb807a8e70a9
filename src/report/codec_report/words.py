# SPDX-License-Identifier: Apache-2.0
"""Numbers and names in the sentences of the verdict."""

import re

NBSP = "\u00a0"
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven",
          "eight", "nine", "ten", "eleven", "twelve")
MANY = 6  # names in a row that are still read
RATIOS = ((0.45, 0.55, "half as much as"), (0.3, 0.37, "a third as much as"),
          (0.22, 0.28, "a quarter as much as"))


def count(n):
    """A small number as a word."""
    return COUNTS[n] if n < len(COUNTS) else f"{n:,}"


def number(value):
    """Two that matter."""
    if value >= 9.95:
        return f"{value:,.0f}"
    text = f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share):
    """A share; what is not 0 or all does not look so."""
    value = 100 * share
    if 0 < value < 0.01:
        return "less than 0.01 %"
    if 99 < value < 100:
        return f"{min(int(value * 100) / 100, 99.99):.6g} %"
    return f"{number(value)} %"


def ms(value):
    """A time, given in ms."""
    return f"{number(value)} ms" if value >= 0.1 else \
        f"{number(value * 1e3)} us"


def score(value):
    """MOS."""
    return f"{value:.1f}"


def spread(values, show):
    """The least and the largest of values, or what both are."""
    low, high = show(min(values)), show(max(values))
    if low == high:
        return low
    unit = low.rpartition(" ")[2]
    if " " in low and high.endswith(f" {unit}"):
        low = low[:-len(unit) - 1]
    return f"{low} to {high}"


def listed(texts):
    """a, b and c."""
    texts = list(texts)
    return ", ".join(texts[:-1]) + " and " + texts[-1] \
        if len(texts) > 1 else "".join(texts)


def everyone(n):
    """All of n columns."""
    return "both" if n == 2 else f"all {count(n)}"


def names(some, everybody):
    """Labels of some of everybody, so that a reader knows who is meant."""
    if len(some) == len(everybody) > 1:
        return everyone(len(some))
    missing = [m.label for m in everybody if m not in some]
    if len(some) > 3 and len(missing) <= 2:
        return f"all but {listed(missing)}"
    labels = [m.label for m in some]
    if len(labels) > MANY:
        labels[MANY - 1:] = [f"{len(labels) - MANY + 1} others"]
    return listed(labels)


def choice(best, everybody):
    """The sentence that takes the best of everybody."""
    if len(best) == len(everybody):
        return "Either of the two will do here." if len(best) == 2 else \
            f"Any of the {count(len(best))} will do here."
    labels = [m.label for m in best]
    return "Choose " + ", ".join(labels[:-1]) + \
        (" or " if len(labels) > 1 else "") + labels[-1] + " here."


class Sentences:
    """What a comparison says: head(), load() and sentences(); choose() and
    doubt() are the last of these."""

    def lines(self):
        """All of it."""
        return [text for text in (self.head(), self.load(),
                                  *self.sentences()) if text]

    def with_choice(self, texts):
        """texts and the choice, without empty ones."""
        found = [*texts, " ".join(filter(None, (self.choose(), self.doubt())))]
        return [text for text in found if text]


def verb(some, plural):
    """lose, or loses."""
    if len(some) != 1:
        return plural
    return plural + ("es" if plural.endswith(("s", "sh")) else "s")


def ratio(one, two):
    """"half as much as", where it is about that; None."""
    for low, high, text in RATIOS:
        if two and low <= one / two <= high:
            return text
    return None


def together(text):
    """The text, so that no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(?:%|ms|us|s)(?!\w))", NBSP, text)

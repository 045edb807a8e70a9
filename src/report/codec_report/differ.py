# SPDX-License-Identifier: Apache-2.0
"""Which differences between columns are worth a word.

Two columns differ in a phase when the difference matters and noise does not
explain it. It matters from a tenth of the larger share on, and 0.1 % of the
frames; from 10 ms of delay on, which a listener may hear, and a quarter of it
(without speech: 1 ms); from 0.1 of MOS on. The test for noise:

four runs each, or more  the permutation test of "repetitions", p <= 0.05
two or three             all runs of one must be beyond all of the other, and
                         the calls must differ as below
one                      the interval of the difference, 95 %, over the calls:
                         of a share as the ratio of two sums over calls
                         (Cochran, Sampling Techniques, 6.3), not narrower than
                         with each frame as a call; of MOS, of means over
                         calls. It cannot predict another run

For a p99 delay, and for conversions, calls are no samples: below four runs it
is enough that the difference matters and that the runs do not overlap. In one
run each, a few late frames may cause it: play four before a delay decides.
"""
import numpy as np

from codec_report import repeats

TESTED = 4     # runs, from which on the permutation test can show anything
NORMAL = 1.96  # standard errors, of a 95 % interval
SHARES = {"lost_share": ("lost", "frames"), "missed_share": ("missed", "due")}
LEAST_SHARE, LEAST_PART = 0.001, 0.1
LEAST_MS, LEAST_MS_PART = {True: 10.0, False: 1.0}, 0.25
LEAST_MOS = 0.1


def matters(key, one, two, speech=True):
    """Whether a person would act on the difference of two values."""
    apart, larger = abs(one - two), max(abs(one), abs(two))
    slack = 1 + 1e-9
    if key in SHARES:
        return apart * slack >= max(LEAST_SHARE, LEAST_PART * larger)
    if key.endswith("_ms"):
        return apart * slack >= max(LEAST_MS[speech], LEAST_MS_PART * larger)
    if key.startswith("mos"):
        return apart * slack >= LEAST_MOS
    return apart * slack >= LEAST_PART * larger > 0


def _share(samples, key):
    """(share, its standard error) over the calls of all samples."""
    part, whole = (np.concatenate([getattr(s, name) for s in samples])
                   .astype(float) for name in SHARES[key])
    total = whole.sum()
    if not total:
        return 0.0, 0.0
    share = part.sum() / total
    n = max(len(whole), 2)
    over_calls = np.sqrt(np.square(part - share * whole).sum()
                         * n / (n - 1)) / total
    return share, max(over_calls, np.sqrt(share * (1 - share) / total))


def _mean(samples):
    scores = np.concatenate([s.scores for s in samples])
    if len(scores) < 2:
        return (float(scores.mean()) if len(scores) else 0.0), np.inf
    return float(scores.mean()), float(scores.std(ddof=1)
                                       / np.sqrt(len(scores)))


def _calls_differ(one, two, key):
    if key in SHARES:
        found = [_share(samples, key) for samples in (one, two)]
    elif key == "mos_mean":
        found = [_mean(samples) for samples in (one, two)]
    else:
        return True
    (a, error_a), (b, error_b) = found
    return abs(a - b) > NORMAL * np.hypot(error_a, error_b)


def runs_differ(key, first, second, speech=True):
    """Whether the values of two columns' runs differ, by the runs alone."""
    if not first or not second or not matters(
            key, float(np.median(first)), float(np.median(second)), speech):
        return False
    if min(len(first), len(second)) >= TESTED:
        return repeats.differ(first, second)
    return min(first) > max(second) or min(second) > max(first)


def differ(one, two, phase, key, speech=True):
    """Whether two contenders.Contender differ in a phase."""
    first, second = one.values(phase, key), two.values(phase, key)
    if not runs_differ(key, first, second, speech):
        return False
    if min(len(first), len(second)) >= TESTED:
        return True
    return _calls_differ([runs[phase] for runs in one.samples],
                         [runs[phase] for runs in two.samples], key)


def split(members, phase, key, speech=True):
    """(the best, those that differ from it), of those whose value is known;
    the best are alike. Less is better, but of MOS."""
    known = [m for m in members if m.value(phase, key) is not None]
    if not known:
        return [], []
    sign = -1 if key.startswith("mos") else 1
    best = min(known, key=lambda m: sign * m.value(phase, key))
    rest = [m for m in known if differ(best, m, phase, key, speech)]
    return [m for m in known if m not in rest], rest

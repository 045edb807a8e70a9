# SPDX-License-Identifier: Apache-2.0
"""The largest load that is carried: a search over what a trial says."""
from dataclasses import dataclass, field

PRECISE = 1.05  # highest that failed / highest that passed, when it is found
HIGHEST, LOWEST = 64.0, 1 / 64


@dataclass
class Found:
    """scale: of the campaign's load; None: not even the smallest is carried.
    confirmed: passed twice; if not, the search has not come to its end, and
    this is the largest that passed. trials: [(scale, result)] as they came."""
    scale: float = None
    confirmed: bool = False
    trials: list = field(default_factory=list)


class Search:
    """trial(scale) plays it once; its result is true when it was carried.

    Doubles or halves from 1 until one load passes and a larger one fails,
    halves the ratio between them until it is below precise, and plays the
    winner again. When that fails, it counts as failed and the search goes on
    below it.
    """

    def __init__(self, trial, precise=PRECISE):
        self.trial, self.precise = trial, precise
        self.found = Found()
        self.passed, self.failed = [], None

    def _try(self, scale):
        result = self.trial(scale)
        self.found.trials.append((scale, result))
        if not result:
            self.failed = scale
            self.passed = [p for p in self.passed if p < scale]
        elif scale not in self.passed:
            self.passed.append(scale)
        self.found.scale = max(self.passed, default=None)
        return result

    def _bracket(self):
        """Whether any load passes."""
        if not self.passed:
            scale = (self.failed or 2.0) / 2
            while scale >= LOWEST and not self._try(scale):
                scale /= 2
        while self.passed and not self.failed and \
                max(self.passed) * 2 <= HIGHEST:
            self._try(max(self.passed) * 2)
        return bool(self.passed)

    def run(self):
        """Found."""
        while self._bracket():
            best = max(self.passed)
            if self.failed and self.failed / best > self.precise:
                # loads are compared by their ratio
                self._try((best * self.failed) ** 0.5)
            elif self._try(best):
                self.found.confirmed = True
                break
        return self.found

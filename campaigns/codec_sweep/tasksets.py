# SPDX-License-Identifier: Apache-2.0
"""Random task sets, as Emberson, Stafford and Davis draw them ("Techniques for
the synthesis of multiprocessor tasksets", WATERS 2010): utilisations evenly
over all ways to share out their sum, periods log-uniform on a grid.

Only Python's own random numbers: the same seed gives the same sets everywhere.
"""
import math
import random
import sys
from dataclasses import dataclass

from codec_sweep import SweepError

MS = 1000000
MOST = 200  # tasks: flows that a campaign may have, and doubles that volumes fit
SHORTEST_DEADLINE = 1000  # ns: what a campaign takes
TRIES = 1000  # of UUniFast, until no task wants more than a CPU


def uunifast(rng, n, total):
    """n utilisations with sum total, evenly over all ways to share it out
    (Bini and Buttazzo 2005); drawn again while one is above 1
    (UUniFast-Discard, Davis and Burns 2009)."""
    for _ in range(TRIES):
        left, found = total, []
        for i in range(n - 1, 0, -1):
            rest = left * rng.random() ** (1 / i)
            found.append(left - rest)
            left = rest
        found.append(left)
        if max(found) <= 1:
            return found
    raise SweepError(f"uunifast: of {TRIES} draws of {n} tasks with a sum of "
                     f"{total:g} none had all of them <= 1; use "
                     "draw=randfixedsum")


def _chances(n, total):
    """Where the walk of randfixedsum() begins, and its table.

    All points of n values from 0 to 1 with the sum total are a slice through a
    cube. Stafford cuts it into simplices whose corners are points of wholes
    and one rest. chances[m - 2][k]: of the simplices of m dimensions with k
    wholes to come, the share by volume whose next corner has a whole in this
    dimension.
    """
    wholes = min(int(total), n - 1)
    low = [total - wholes + k for k in range(n)]
    high = [wholes + n - k - total for k in range(n)]
    volume, chances = [sys.float_info.max], []
    for m in range(2, n + 1):
        top = high[n - m:]
        none = [(volume[k] if k < m - 1 else 0.0) * low[k] / m
                for k in range(m)]
        one = [(volume[k - 1] if k else 0.0) * top[k] / m for k in range(m)]
        volume = [a + b for a, b in zip(none, one)]
        chances.append([b / v if v else float(low[k] >= top[k])
                        for k, (b, v) in enumerate(zip(one, volume))])
    return wholes, chances


def randfixedsum(rng, n, total):
    """n utilisations of 0 to 1 with sum total, evenly over all ways to share
    it out (Stafford 2006): a simplex is chosen corner by corner, a point in it
    on the way, and the values change places."""
    k, chances = _chances(n, total)
    found, left, base, scale = [], total, 0.0, 1.0
    for i in range(n - 1, 0, -1):
        whole = int(rng.random() <= chances[i - 1][k])
        shrink = rng.random() ** (1 / i)
        base += (1 - shrink) * scale * left / (i + 1)
        scale *= shrink
        found.append(base + scale * whole)
        left -= whole
        k -= whole
    found.append(base + scale * left)
    rng.shuffle(found)
    return found


DRAWS = {"randfixedsum": randfixedsum, "uunifast": uunifast}


@dataclass(frozen=True)
class Shape:
    """What sets to draw, and on what they are played. Times in ns;
    constrained: deadlines evenly from the cost to the period, else they are the
    period; partitioned: a run queue for each CPU."""
    n: int = 10
    cpus: int = 2
    shortest: int = 10 * MS
    longest: int = 1000 * MS
    grid: int = MS
    draw: str = "randfixedsum"
    constrained: bool = False
    partitioned: bool = False
    duration: int = 0  # played; 0: ten of the longest periods

    def check(self):
        """SweepError when no set is of this shape."""
        if not 1 <= self.n <= MOST:
            raise SweepError(f"n={self.n}: needs 1 to {MOST} tasks")
        if self.cpus < 1:
            raise SweepError(f"cpus={self.cpus}: needs at least 1")
        if self.draw not in DRAWS:
            raise SweepError(f"draw={self.draw}: known: {', '.join(DRAWS)}")
        if not 0 < self.grid <= self.shortest <= self.longest:
            raise SweepError("periods: needs grid <= shortest <= longest")

    @property
    def horizon(self):
        return self.duration or 10 * self.longest


@dataclass(frozen=True)
class Task:
    """Times in ns."""
    period: int
    cost: int
    deadline: int


def _period(rng, shape):
    """Log-uniform, rounded down to the grid: all grid steps up to one beyond
    the longest are there, so that the longest comes as often as it should."""
    low, high = math.log(shape.shortest), math.log(shape.longest + shape.grid)
    drawn = int(math.exp(rng.uniform(low, high)))
    period = drawn // shape.grid * shape.grid
    return min(max(period, shape.shortest), shape.longest)


def draw(shape, share, seed):
    """The tasks of a set that takes @share (0 to 1) of the CPUs; costs are
    rounded down, so that it never takes more. seed: text or number."""
    rng = random.Random(str(seed))
    total = share * shape.cpus
    if total > shape.n:
        raise SweepError(f"{shape.n} tasks cannot take {total:g} CPUs")
    tasks = []
    for part in DRAWS[shape.draw](rng, shape.n, total):
        period = _period(rng, shape)
        cost = max(1, int(part * period))
        deadline = rng.randint(cost, period) if shape.constrained else period
        tasks.append(Task(period, cost, max(deadline, SHORTEST_DEADLINE)))
    return tasks


def campaign(shape, tasks):
    """The set as a campaign for codec-sim: hard tasks that all begin together,
    jobs that can be interrupted, no overheads."""
    flows = "".join(
        f"  - {{name: t{i}, class: hard, count: 1, period: {t.period}ns, "
        f"deadline: {t.deadline}ns, cost: {{mean: {t.cost}ns}}}}\n"
        for i, t in enumerate(tasks, 1))
    return (f"duration: {shape.horizon}ns\n"
            f"platform: {{cpus: {shape.cpus}, preempt: full, run-queues: "
            f"{'partitioned' if shape.partitioned else 'global'}}}\n"
            f"daemon: {{admission: on}}\nflows:\n{flows}")

# SPDX-License-Identifier: Apache-2.0
"""Schedulability curves: of random task sets, the share that a scheduler's
admission test takes, beside the share that the simulator plays without a late
job. The second one is no proof: it looks at one release of all tasks together,
for a while. It shows how much a test leaves unused at most.
"""
from dataclasses import dataclass

from codec_sweep import SweepError, cell, grid, interval, tasksets
from codec_sweep.store import Store

#: Schedulers whose admission is a test of deadlines.
TESTED = ("edf", "edf-steal", "gfl", "edf-be", "llf", "dwa", "rm",
          "rm,test=hyperbolic", "rm,test=liu-layland", "pd2", "edf-hsb",
          "srpt", "cbs", "grub", "red")
#: Those whose run queues have one CPU.
ONE_CPU = ("edf-be", "rm,test=hyperbolic", "rm,test=liu-layland", "grub",
           "red")
#: Those that are for several run queues; with one they are edf.
SEVERAL = ("edf-steal",)


@dataclass(frozen=True)
class Asked:
    """The sets: of what shape, how many for each share, at which shares."""
    shape: tasksets.Shape
    sets: int
    shares: tuple  # texts
    seed: int

    def as_json(self):
        return {**vars(self.shape), "seed": self.seed}


@dataclass(frozen=True)
class SetCell:
    """One task set."""
    share: str
    number: int
    plugins: tuple = ()  # the contents of schedulers that are files: hashes

    @property
    def key(self):
        return [self.share, self.number, *self.plugins]

    def __str__(self):
        return f"util={self.share}, set {self.number}"


def _time(key, text):
    value = grid.number(text)
    if value is None or value <= 0 or not text.endswith("s"):
        raise SweepError(f"{key}={text}: needs a time, such as 20ms")
    return int(value)


def _whole(key, text):
    if not str(text).isascii() or not str(text).isdigit():
        raise SweepError(f"{key}={text}: needs a number")
    return int(text)


def _periods(text):
    first, dots, last = text.partition("..")
    shortest = _time("periods", first)
    return shortest, _time("periods", last) if dots else shortest


def _shares(text):
    found = tuple(grid.values(text))
    for share in found:
        value = grid.number(share)
        if value is None or not 0 < value <= 1:
            raise SweepError(f"util={share}: needs shares of the CPUs up to "
                             "100%, such as 5%..100%:5%")
    return found


def _choice(key, text, known):
    if text not in known:
        raise SweepError(f"{key}={text}: known: {', '.join(known)}")
    return text


def asked(words):
    """Of {key: text}: n, cpus, queues, sets, util, seed, periods, grid, draw,
    deadlines, duration."""
    words = {key: str(value) for key, value in words.items()}
    shortest, longest = _periods(words.pop("periods", "10ms..1000ms"))
    shape = tasksets.Shape(
        n=_whole("n", words.pop("n", 10)),
        cpus=_whole("cpus", words.pop("cpus", 2)),
        partitioned=_choice("queues", words.pop("queues", "global"),
                            ("global", "partitioned")) == "partitioned",
        shortest=shortest, longest=longest,
        grid=_time("grid", words.pop("grid", "1ms")),
        draw=_choice("draw", words.pop("draw", "randfixedsum"),
                     tasksets.DRAWS),
        constrained=_choice("deadlines", words.pop("deadlines", "implicit"),
                            ("implicit", "constrained")) == "constrained",
        duration=_time("duration", words.pop("duration"))
        if "duration" in words else 0)
    sets = _whole("sets", words.pop("sets", 100))
    shares = _shares(words.pop("util", "5%..100%:5%"))
    seed = _whole("seed", words.pop("seed", 1))
    if words:
        known = ("n, cpus, queues, sets, util, seed, periods, grid, draw, "
                 "deadlines, duration")
        raise SweepError(f"--tasksets {next(iter(words))}: known: {known}")
    shape.check()
    return Asked(shape, sets, shares, seed)


def tested(shape):
    """The schedulers with a test of deadlines for such run queues."""
    alone = shape.cpus == 1 or shape.partitioned
    several = shape.cpus > 1 and shape.partitioned
    return [name for name in TESTED if (alone or name not in ONE_CPU) and
            (several or name not in SEVERAL)]


def tasksets_sweep(told, schedulers=None, build=None, out=None):
    """The Sweep over task sets. Every scheduler gets the same ones."""
    from codec_sweep import api
    names = list(schedulers or tested(told.shape))
    grid.once(names, "schedulers")
    folder = api.programs(build)
    api.check_schedulers(folder, schedulers or [])
    command = [str(folder / "codec-sim"), "/dev/stdin", "--json", "--quiet",
               "--jobs", "1"]
    plugins = tuple(api.plugins(names).values())
    cells = [SetCell(share, k, plugins) for share in told.shares
             for k in range(1, told.sets + 1)]
    jobs = [{"command": command, "schedulers": names,
             "text": text_of(told, one)} for one in cells]
    identity = {"tasksets": told.as_json(), "schedulers": names,
                "codec-sim": api.fingerprint(folder / "codec-sim"),
                "grid": {"util": list(told.shares), "sets": told.sets}}
    return api.Sweep(cells, jobs, cell.run_set, Store(out, identity))


def text_of(told, one):
    """The campaign of one set."""
    return tasksets.campaign(told.shape, tasksets.draw(
        told.shape, grid.number(one.share),
        f"{told.seed}/{one.share}/{one.number}"))


def rows(swept):
    """A dict for each set that is done and scheduler."""
    return [{"share": grid.number(one.share), "set": one.number, **row}
            for one in swept.cells if one in swept.results
            for row in swept.results[one]["rows"]]


def points(table):
    """Over the sets: a dict for each scheduler and share, with the shares that
    were admitted and that met all deadlines, and their 95 % intervals by
    Wilson."""
    found = {}
    for row in table:
        found.setdefault((row["scheduler"], row["share"]), []).append(row)
    out = []
    for (scheduler, share), some in found.items():
        point = {"scheduler": scheduler, "share": share, "sets": len(some)}
        for name, hits in (
                ("admitted", sum(r["admitted"] for r in some)),
                ("met", sum(not r["missed"] for r in some))):
            point[name], point[f"{name}_low"], point[f"{name}_high"] = \
                interval.of_share(hits, len(some))
        out.append(point)
    return out


def broken(table):
    """The rows of sets that were admitted, and late all the same."""
    return [row for row in table if row["promised_missed"]]

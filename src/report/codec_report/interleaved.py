# SPDX-License-Identifier: Apache-2.0
"""The verdict on an interleaved comparison: columns of blocks of one run.

Blocks are in "blocks", intervals and tests in "paired". What is compared of
two columns, where both have a block of the round that is not left out:

cost     of a turn, by its logarithm
lost     of the same calls: the excess plus the floor at the demand that these
         calls have with the column's cost: the target (without one, the demand
         played) x the column's cost / the mean cost of the round. This counts
         the scheduler's effect on what a frame costs, not the machine's drift
worst call, missed deadlines, p99 delay, p99 jitter; of episodes: lost, and
         recovery. A metric with fewer than six rounds, such as those of
         campaigns/run's episodes, is in the table and is not compared

Two columns differ in a metric if the interval excludes 0, the corrected p is at
most 0.05, and the difference matters ("What differs"; jitter as delay, a cost
from 3 % on). p is corrected over all pairs: for the cost by itself, for all
other metrics together. A column is worse than another if it differs from it for
the worse in at least one metric, and for the better in none. The verdict
chooses all columns that are not worse than any other. If these differ, it names
the best ones for each metric.

A difference of cost has two known causes. One is the scheduler's time between
frames (the turn less the time in the codec). The other is locality: a frame
that is served right after one of its own call costs less, so a column's codec
time is lower by up to the share of such turns x their saving. No other cause of
a difference in the codec's time is known.

The verdict chooses nothing ("Cannot be told from these runs") if
 - more than 25 % was stolen in a quarter of the blocks;
 - the excess is above 2 points in a tenth of the remaining blocks, among
   columns whose workers were idle for at most 2 % of the time;
 - workers had a CPU for less than 80 % of their busy time;
and between two columns if
 - they have fewer than six rounds in common (a column that has fewer with every
   other one is not compared);
 - their demand differs by more than a tenth, at the same calls;
 - their cost differs by more than 3 %, and a known cause does not explain it.
"""
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from codec_report import blocks, bootstrap, differ, labels, paired, table, words
from codec_report.metric import Metric

ROUNDS = 6
STOLEN_BLOCKS = 0.25
EXCESS, EXCESS_BLOCKS, RESTED = 0.02, 0.10, 0.02
CPU_SHARE = 0.80
DEMAND_APART = 0.10
COST_APART = 0.03
SAME_CALL_APART = 0.05  # of the turns; less is no difference in locality
LATER = 0.05    # of a column's turns, at least, for their cost to be known

COST = "log_cost"
ROWS = (
    Metric("blocks", "blocks compared", "count"),
    Metric("demand", "demand", "share"),
    Metric("floor", "floor, 1 - 1/demand", "share"),
    Metric("lost_share", "lost", "share"),
    Metric("excess", "lost beyond the floor", "share"),
    Metric("lost_at_target", "lost at one demand", "share"),
    Metric("lost_same_calls", "lost of the same calls", "share"),
    Metric("call_loss_max", "worst call lost", "share"),
    Metric("in_time_share", "in time", "share"),
    Metric("delay_p99_ms", "delay p99, ms", "ms"),
    Metric("jitter_p99_ms", "jitter p99, ms", "ms"),
    Metric("episode_lost_share", "episodes: lost", "share"),
    Metric("recovery_ms", "episodes: recovery, ms", "ms"),
    Metric("cost_us", "cost of a turn, us", "rate"),
    Metric("cost_ratio", "  of what all cost", "share"),
    Metric("turn_us", "a turn took, us", "rate"),
    Metric("own_us", "  outside the codec, us", "rate"),
    Metric("same_call", "turns that stay with a call", "share"),
    Metric("first_us", "  first of a row, us", "rate"),
    Metric("later_us", "  later ones, us", "rate"),
    Metric("stolen", "stolen", "share"))

#: {metric: (its name in sentences, how its values are shown)}; these decide.
DECIDE = {
    "lost_same_calls": ("loss", words.percent),
    "missed_share": ("not in time", words.percent),
    "call_loss_max": ("worst call's loss", words.percent),
    "delay_p99_ms": ("p99 delay", words.ms),
    "jitter_p99_ms": ("p99 jitter", words.ms),
    "episode_lost_share": ("loss in episodes", words.percent),
    "recovery_ms": ("recovery", words.ms)}
WANTED = {
    COST: "what a frame costs",
    "lost_same_calls": "fewest losses", "missed_share": "frames in time",
    "call_loss_max": "the worst call", "delay_p99_ms": "delay",
    "jitter_p99_ms": "steady frames", "recovery_ms": "recovery",
    "episode_lost_share": "short overloads"}
EPISODES = ("episode_lost_share", "recovery_ms")
_LIKE = {"lost_same_calls": "lost_share", "call_loss_max": "lost_share",
         "episode_lost_share": "lost_share", "jitter_p99_ms": "delay_p99_ms",
         "recovery_ms": "delay_p99_ms"}


@dataclass(frozen=True)
class Member:
    """A column. label: the user's name for it; scheduler: sets the colour."""
    label: str
    scheduler: str


@dataclass
class Cost:
    """Why a column's turn costs more than another's, as shares of the latter:
    whole = own + locality + rest; own: between frames; rest: not known."""
    whole: float
    own: float
    locality: float

    @property
    def rest(self):
        return self.whole - self.own - self.locality


def _floor(demand):
    return max(0.0, 1 - 1 / demand)


class Results:
    """The metrics of each column. found: [blocks.Block]; target: demand, or
    None."""

    def __init__(self, found, target=None):
        self.every = found
        self.names = sorted({b.scheduler for b in found})
        # if no block can be compared, all are shown, and the verdict refuses
        self.valid = [b for b in found if not b.flaw] or [
            b for b in found if "excess" in b.values]
        self.steady = [b for b in self.valid if b.kind == blocks.STEADY]
        self._effects, in_round = paired.effects(self._of("cost_us", math.log))
        self.target = target or (float(np.median(
            [b.values["demand"] for b in self.steady]))
            if self.steady else None)
        for b in self.steady:
            v = b.values
            ratio = v["cost_us"] / math.exp(in_round[b.round])
            v["own_us"] = v["turn_us"] - v["codec_us"]
            v[COST], v["cost_ratio"] = math.log(ratio), ratio
            v["lost_at_target"] = max(
                0.0, _floor(self.target) + v["excess"])
            v["lost_same_calls"] = max(
                0.0, _floor(self.target * ratio) + v["excess"])
            if v["missed_share"] is not None:
                v["in_time_share"] = 1 - v["missed_share"]
        tables = {key: self._of(key) for key in DECIDE}
        self.differences = [
            *paired.differences({COST: self._of(COST)}, ROUNDS),
            *paired.differences({key: t for key, t in tables.items()
                                 if any(t.values())}, ROUNDS)]
        self._pairs = {(d.first, d.second, d.metric): d
                       for d in self.differences}

    def _of(self, key, scale=lambda v: v):
        """{column: {round: value}}, the mean where a round has several."""
        out = {name: {} for name in self.names}
        for b in self._measured(key):
            if b.values.get(key) is not None:
                out[b.scheduler].setdefault(b.round, []).append(
                    scale(b.values[key]))
        return {name: {r: float(np.mean(v)) for r, v in of.items()}
                for name, of in out.items()}

    def _measured(self, key):
        """Return the blocks that are compared in a metric."""
        kind = blocks.EPISODE if key in EPISODES else blocks.STEADY
        return [b for b in self.valid if b.kind == kind]

    def values(self, name, key):
        """Return a metric's values of a column's blocks that are compared."""
        return [b.values[key] for b in self._measured(key)
                if b.scheduler == name and b.values.get(key) is not None]

    def value(self, name, key):
        """Return the mean of values(); None: not known."""
        found = self.values(name, key)
        return float(np.mean(found)) if found else None

    def cost_ratio(self, one, two):
        """Return the cost of a turn under one / that under two."""
        return math.exp(self._effects.get(one, 0.0)
                        - self._effects.get(two, 0.0))

    def rounds(self, one, two):
        """Count the rounds with steady blocks of both that are compared."""
        found = [{b.round for b in self.steady if b.scheduler == name
                  and not b.flaw} for name in (one, two)]
        return len(found[0] & found[1])

    def difference(self, one, two, key):
        """Return one less two: (mean, low, high, sure); None: not compared."""
        d = self._pairs.get((one, two, key))
        if d:
            return d.mean, d.low, d.high, d.sure
        d = self._pairs.get((two, one, key))
        return (-d.mean, -d.high, -d.low, d.sure) if d else None

    def differ(self, one, two, key):
        """Return -1: one has significantly less, and it matters; 1: more; 0."""
        found = self.difference(one, two, key)
        if not found or not found[3]:
            return 0
        if key == COST:
            matters = abs(found[0]) >= math.log1p(COST_APART)
        else:
            matters = differ.matters(_LIKE.get(key, key),
                                     self.value(one, key),
                                     self.value(two, key))
        return (1 if found[0] > 0 else -1) if matters else 0

    def _saving(self):
        """Return the share of the codec time that a later frame of a row saves
        beside the first; 0: no column has rows."""
        known = [1 - b.values["later_codec_us"] / b.values["first_codec_us"]
                 for b in self.steady
                 if LATER <= b.values["same_call"] <= 1 - LATER
                 and b.values["later_codec_us"]
                 and b.values["first_codec_us"]]
        return max(float(np.median(known)), 0.0) if known else 0.0

    def cost(self, one, two):
        """Return the Cost of one against two."""
        own, codec, same = (
            [self.value(name, key) for name in (one, two)]
            for key in ("own_us", "codec_us", "same_call"))
        if None in own + codec + same:
            return Cost(0.0, 0.0, 0.0)
        share = codec[1] / (own[1] + codec[1])
        whole = self.cost_ratio(one, two) - 1
        # drift moves the codec and the rest alike: the other's codec is taken
        # at the pace of this one's rounds
        between = own[0] / (own[0] + codec[0]) * (1 + whole) - (1 - share)
        apart, saving = same[0] - same[1], self._saving()
        most = -apart * saving / (1 - same[1] * saving) * share \
            if abs(apart) >= SAME_CALL_APART else 0.0
        # the first of a row costs more than a frame of others: its call has
        # not run for longer
        locality = float(np.clip(whole - between, min(most, 0), max(most, 0)))
        return Cost(whole, between, locality)

    def worse(self, one, two):
        """Return whether one is worse than two in a metric, better in none."""
        found = [self.differ(one, two, key) for key in (COST, *DECIDE)]
        return 1 in found and -1 not in found


def _too_few(rounds):
    return (f"{words.count(rounds)} valid round{'s' * (rounds != 1)} of two "
            f"schedulers in common, {words.count(ROUNDS)} are needed. Play "
            "more rounds")


def refusals(results):
    """Return [why the verdict refuses, with what to do]."""
    r, out = results, []
    broke = [name for name in r.names if blocks.BROKE in name]
    if broke:
        out.append(f"there is {words.listed(broke)}. Mend the scheduler, or "
                   "leave it out of --schedulers, and play again")
    every = [b for b in r.every if b.kind == blocks.STEADY]
    stolen = [b for b in every if b.flaw == "stolen"]
    if every and len(stolen) >= STOLEN_BLOCKS * len(every):
        out.append(
            "something else had the CPU for more than "
            f"{words.percent(blocks.STOLEN)} of the time in {len(stolen)} of "
            f"{len(every)} blocks. Play again when the machine is idle")
        return out  # this explains that few rounds are left
    most = max((r.rounds(a, b) for a, b in
                itertools.combinations(r.names, 2)), default=0)
    if len(r.names) > 1 and most < ROUNDS:
        out.append(_too_few(most))
    odd = [b for b in r.steady if b.values["excess"] > EXCESS
           and b.values["idle"] <= RESTED]
    if r.steady and len(odd) >= EXCESS_BLOCKS * len(r.steady):
        out.append(f"{len(odd)} of {len(r.steady)} blocks lost 2 points more "
                   "than 1 - 1/demand while the workers never idled: some "
                   "of their work is not in the trace. See what else drops "
                   "frames (codec-ctl stats)")
    known = [b.values for b in r.steady
             if b.values["cpu_ns"] is not None and b.values["busy_ns"]]
    busy = sum(v["busy_ns"] for v in known)
    if busy and sum(v["cpu_ns"] for v in known) < CPU_SHARE * busy:
        had = sum(v["cpu_ns"] for v in known) / busy
        out.append(f"the workers had a CPU for {words.percent(had)} of their "
                   "busy time only. Give them one of their own (--pin)")
    return out


def unlike(results, one, two):
    """Return why two columns cannot be compared, with what to do; ""."""
    r = results
    cost = r.cost(one, two)
    a, b = r.value(one, "demand"), r.value(two, "demand")
    if r.rounds(one, two) < ROUNDS:
        return _too_few(r.rounds(one, two))
    strange = abs(cost.whole) > COST_APART and abs(cost.rest) > COST_APART \
        and r.differ(one, two, COST)
    # what the cost explains of the demand does not count
    rest = a / b / r.cost_ratio(one, two)
    whole = max(a, b) / min(a, b) - 1
    if min(whole, max(rest, 1 / rest) - 1) > DEMAND_APART:
        return (f"demand differed by {words.percent(whole)} at the same calls "
                f"({words.percent(a)} under {one}, {words.percent(b)} under "
                f"{two}). Play again when the machine is idle, or more rounds")
    if strange:
        low, high = sorted((one, two), key=lambda n: r.cost_ratio(n, two))
        more = r.cost_ratio(high, low) - 1
        return (f"a frame costs {words.percent(more)} more under {high} than "
                f"under {low}, and neither the scheduler's own time nor "
                "locality explains it. Look where the codec's time goes "
                "(perf), or play again")
    return ""


class Verdict(words.Sentences):
    """As verdict.Verdict, of a run in blocks. family: contenders.Family with
    campaign, cpus and facts."""

    def __init__(self, family, found, played):
        self.family = family
        names = list(dict.fromkeys(b.scheduler for b in found))
        short = dict(zip(names, labels.labels([
            labels.Known("", name.split(",")[0], name) for name in names])))
        self.results = Results([replace(b, scheduler=short[b.scheduler])
                                for b in found], played.target)
        schedulers = {short[name]: labels.scheduler_name(
            name.partition("#")[0]) for name in names}
        self.members = [Member(name, schedulers[name])
                        for name in self.results.names]
        self._refused = refusals(self.results)
        played_on = {b["scheduler"] for b in played.blocks if b["round"]}
        gone = [name for name in played.broken if name not in played_on]
        if gone:
            self._refused.insert(
                0, f"{words.listed(gone)} broke its contract before it had a "
                "block. Mend the scheduler, or leave it out of --schedulers, "
                "and play again")
        self._unlike = {}
        for one, two in itertools.combinations(self.results.names, 2):
            why = unlike(self.results, one, two)
            if why:
                self._unlike[frozenset((one, two))] = why

    def _absent(self):
        """Return members with too few blocks to be compared with any."""
        if self._refused or len(self.members) < 2:
            return []
        return [m for m in self.members if all(
            self.results.rounds(m.label, other.label) < ROUNDS
            for other in self.members if other is not m)]

    # ---- what was compared

    def head(self):
        """Return a sentence: campaign, machine, columns, and the design."""
        facts, cpus = self.family.facts, self.family.cpus
        on = f" on {facts['machine']}" if facts.get("machine") else ""
        kernels = facts.get("codec kernels")
        rounds = len({b.round for b in self.results.every})
        return (f"{self.family.campaign or 'Campaign not known'}: played live"
                f"{on}, {cpus} CPU{'s' * (cpus != '1')} for the workers"
                + (f", {kernels} codec kernels" if kernels else "")
                + f". {words.listed(m.label for m in self.members)}, "
                f"interleaved under the same calls: {words.count(rounds)} "
                f"round{'s' * (rounds != 1)} of blocks in random order.")

    def load(self):
        """Return a sentence: calls, and their demand under each column."""
        r = self.results
        calls = [b.calls for b in r.every if b.kind == blocks.STEADY]
        if not calls:
            return ""
        asked = self._by("demand", words.percent)
        return (f"Load: {words.spread(calls, lambda n: f'{n:,} calls')}"
                + (" for a demand, of the time that the workers had a CPU, of "
                   + asked if asked else "") + ".")

    def _by(self, key, show):
        """"131 % under fifo and edf, 106 % under rr", by what is alike."""
        known = [(self.results.value(m.label, key), m) for m in self.members]
        known = sorted((k for k in known if k[0] is not None),
                       key=lambda k: k[0])
        groups = []
        for value, m in known:
            if groups and value <= 1.05 * groups[-1][0][0]:
                groups[-1].append((value, m))
            else:
                groups.append([(value, m)])
        texts = []
        for group in groups:
            some = [m for _, m in group]
            text = words.spread([v for v, _ in group], show)
            texts.append(text if len(groups) == 1 else f"{text} under "
                         f"{words.names(some, self.members)}")
        return ", ".join(texts)

    # ---- what came out

    def _compared(self, key):
        """Return the members that were compared in a metric with another one; a
        single member, if its value is known."""
        r = self.results
        return [m for m in self.members if r.value(m.label, key) is not None
                and (len(self.members) == 1 or any(
                    r.difference(m.label, other.label, key)
                    for other in self.members if other is not m))]

    def _split(self, key, among=None):
        """Return (members with no member significantly below, the others)."""
        among = [m for m in among or self.members if m in self._compared(key)]
        if not among:
            return [], []
        among.sort(key=lambda m: self.results.value(m.label, key))
        best = among[0]
        rest = [m for m in among if self.results.differ(
            m.label, best.label, key) > 0]
        return [m for m in among if m not in rest], rest

    def _part(self, key):
        """"p99 jitter 17 ms under fifo, 94 ms under rr"; "": all alike. A member
        whose intervals are wide may lie above one that is surely worse than the
        best: the sentence names what that is compared with."""
        title, show = DECIDE[key]
        best, rest = self._split(key)
        if not rest:
            return ""

        def values(some):
            return [self.results.value(m.label, key) for m in some]

        def of(some):
            return words.spread(values(some), show)
        than = f", more than under {best[0].label}" \
            if min(values(rest)) <= max(values(best)) else ""
        others = "the others" if len(rest) > 2 else \
            words.names(rest, self.members)
        return (f"{title} {of(best)} under "
                f"{words.names(best, self.members)}, {of(rest)} under "
                f"{others}{than}")

    def outcome(self):
        """Return a sentence: metrics that differ, and those that do not."""
        parts, alike = [], []
        for key, (title, show) in DECIDE.items():
            found = [self.results.value(m.label, key)
                     for m in self._compared(key)]
            if not found:
                continue
            part = self._part(key)
            if part:
                parts.append(part)
            else:
                alike.append(f"{title} {words.spread(found, show)}")
        if not parts and not alike:
            return ""
        if not parts:
            return (f"{words.everyone(len(self.members))} equal "
                    f"({', '.join(alike)}).").capitalize() \
                if len(self.members) > 1 else f"{', '.join(alike)}."
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}." + (
            f" Alike: {', '.join(alike)}." if alike else "")

    def costs(self):
        """Return sentences on members whose frames cost less or more."""
        r = self.results
        best, rest = self._split(COST)
        if not rest:
            return []
        out = []
        middle = sorted(self.members, key=lambda m: r.cost_ratio(
            m.label, self.members[0].label))[len(self.members) // 2]
        if middle in best:
            middle = rest[0]
        for m in self.members:
            side = r.differ(m.label, middle.label, COST)
            if m is middle or not side:
                continue
            cost = r.cost(m.label, middle.label)
            mean, low, high, _ = r.difference(m.label, middle.label,
                                              COST)
            ends = sorted(abs(math.expm1(v)) for v in (low, high))
            text = (f"{m.label}: a frame costs "
                    f"{words.percent(abs(math.expm1(mean)))} "
                    f"({words.spread(ends, words.percent)}) "
                    f"{'more' if side > 0 else 'less'} than under "
                    f"{middle.label}{self._cause(m, middle, cost)}")
            out.append(text + self._price(m, middle) + ".")
        return out

    def _cause(self, one, two, cost):
        """What explains a quarter of the difference or more."""
        least, found = abs(cost.whole) / 4, []
        if cost.locality * cost.whole > 0 and abs(cost.locality) >= least:
            stays = self.results.value(
                (one if cost.whole < 0 else two).label, "same_call")
            whose = "its" if cost.whole < 0 else f"{two.label}'s"
            found.append(f"as {words.percent(stays)} of {whose} turns stay "
                         "with the same call")
        if cost.own * cost.whole > 0 and abs(cost.own) >= least:
            who = "it" if cost.whole > 0 else two.label
            found.append(f"by what {who} does between frames")
        return ", " + (" and ".join(found) or
                       "for a reason that is not known")

    def _price(self, one, two):
        """Return what is worse under one, which costs less, than under two."""
        r, found = self.results, []
        for key, (title, show) in DECIDE.items():
            if r.differ(one.label, two.label, COST) < 0 and \
                    r.differ(one.label, two.label, key) > 0:
                found.append(f"{title} {show(r.value(one.label, key))} "
                             f"against {show(r.value(two.label, key))}")
        return f"; the price: {', '.join(found)}" if found else ""

    def left_out(self):
        """Return a sentence on the blocks that are not compared."""
        flaws = {}
        for b in self.results.every:
            if b.flaw:
                flaws[b.flaw] = flaws.get(b.flaw, 0) + 1
        if not flaws:
            return ""
        why = words.listed(f"{n} {FLAW_TEXTS.get(flaw, flaw)}"
                           for flaw, n in flaws.items())
        absent = [m.label for m in self._absent()]
        more = f" Not compared: {words.listed(absent)}." if absent else ""
        return f"Left out of {len(self.results.every)} blocks: {why}.{more}"

    # ---- what to do

    def chosen(self):
        """Return the members that are not worse than any other; []: refused."""
        if self._refused or len(self.members) < 2:
            return []
        r, absent = self.results, self._absent()
        there = [m for m in self.members if m not in absent]
        left = [m for m in there if not any(
            r.worse(m.label, other.label) for other in there
            if other is not m and frozenset((m.label, other.label))
            not in self._unlike)]
        return left or there

    def _best_of(self, some):
        """Return {metric: best members}, of those that differ among some."""
        out = {}
        for key in (*DECIDE, COST):
            best, rest = self._split(key, list(some))
            if rest and (key != COST or "lost_same_calls" not in out):
                out[key] = best
        return out

    def refused(self):
        """Return why there is no choice; ""."""
        if self._refused:
            return "; ".join(self._refused)
        left = {m.label for m in self.chosen()}
        return next((why for pair, why in self._unlike.items()
                     if pair <= left), "")

    def choose(self):
        """Return a sentence: the choice; "" if there is one member only."""
        if len(self.members) < 2:
            return ""
        why = self.refused()
        if why:
            return f"Cannot be told from these runs: {why}."
        left = self.chosen()
        apart = self._best_of(left)
        if apart:
            groups = {}
            for key, best in apart.items():
                groups.setdefault(tuple(best), []).append(WANTED[key])
            return "Choose by what counts: " + "; ".join(
                f"{words.names(list(best), self.members)} for "
                f"{words.listed(wanted)}"
                for best, wanted in groups.items()) + "."
        return words.choice(left, self.members)

    def doubt(self):
        """Return a sentence on what counts as a difference."""
        if len(self.members) < 2 or self.refused():
            return ""
        return ("Told apart is what 95 % intervals of differences within "
                f"rounds say, of {len(self.results.differences)} corrected "
                "for their number.")

    def sentences(self):
        """Everything but head and load, in order."""
        shown = [] if self._refused else [self.outcome(), *self.costs()]
        return self.with_choice([*shown, self.left_out()])

    def table(self, intervals=True):
        """([table.Column], [Metric]): means over the blocks compared, with
        intervals over rounds."""
        made, r = [], self.results
        for m in self.members:
            values = {"interval": {}}
            for metric in ROWS[1:]:
                values[metric.key] = r.value(m.label, metric.key)
                found = bootstrap.interval(r.values(m.label, metric.key))
                if intervals and found:
                    values["interval"][metric.key] = list(found)
            values["blocks"] = sum(b.scheduler == m.label and not b.flaw
                                   for b in r.every)
            made.append(table.Column(m.label, m.label, values, m.scheduler))
        rows = [metric for metric in ROWS if any(
            c.values[metric.key] is not None for c in made)]
        return made, rows

    def as_dict(self):
        """For programs."""
        r = self.results
        left = [] if self.refused() else self.chosen()
        apart = self._best_of(left)
        columns, rows = self.table()
        return {
            "campaign": self.family.campaign, "head": self.head(),
            "load": self.load(), "sentences": self.sentences(),
            "choose": [] if apart else [m.label for m in left],
            "choose_by": {key: [m.label for m in best]
                          for key, best in apart.items()},
            "refused": self.refused(), "target": r.target,
            "columns": [{"scheduler": c.heading, **{
                metric.key: c.values[metric.key] for metric in rows},
                "interval": c.values["interval"]} for c in columns],
            "differences": [{
                "of": d.first, "less": d.second, "metric": d.metric,
                "mean": d.mean, "interval": [d.low, d.high],
                "rounds": d.rounds, "p": d.p, "p_corrected": d.corrected,
                "sure": d.sure,
                "matters": bool(r.differ(d.first, d.second, d.metric))}
                for d in r.differences],
            "blocks": [{"round": b.round, "scheduler": b.scheduler,
                        "kind": b.kind, "begin_ns": b.begin,
                        "end_ns": b.end, "calls": b.calls, "left_out": b.flaw, **b.values}
                       for b in r.every]}


FLAW_TEXTS = {"switched": "in which the scheduler was switched",
              "too few frames": "with too few frames",
              "stolen": "with more than 25 % stolen",
              "sender behind": "whose sender was behind"}

# SPDX-License-Identifier: Apache-2.0
"""The verdict: the campaign, the results phase by phase, and the scheduler to
choose.

By phase, columns are compared by the frames they lose; if none loses a frame,
by the deadlines they miss. "Equal" are columns that do not differ ("What
differs" below). The choice leaves out columns that starve single calls, if
others do not; of the rest it takes those that are equal to the best, by
losses, missed deadlines, delay and MOS, each first in the overload, then after
it, then before it; at last by the conversions. An unknown value, such as the
MOS of a codec without a model, does not count against a column. A column that
did not run in all phases is not chosen; with fewer than two that did, nothing
is. Runs with a sender that did not keep pace, with an early end, or with a
scheduler that broke its contract are left out; if a column has no other,
nothing is chosen. Nor is anything chosen if all columns of a live campaign
lose much at a load that leaves spare time: another program had the CPU then.
Nor if the demand, by the turns in each column's own trace, differs by more
than a tenth between live columns in a phase where one is above 100 %: separate
runs then had different loads, because the machine's speed drifts, other
programs had the CPU, or one column makes frames cheaper. Only an interleaved
comparison can separate these. Each column shows its own demand, and the loss
that it makes unavoidable, 1 - 1/demand.
"""
from itertools import chain, zip_longest

from codec_report import brief, contenders, differ, words
from codec_report.metric import median

TITLES = {"calm": "Calm", "overload": "Overload", "peak": "Peak",
          "after": "After", "all": "All the time"}
WEIGHT = ("overload", "peak", "all", "after", "calm")
CRITERIA = ("lost_share", "missed_share", "delay_p99_ms", "mos_mean")
TOLD = 3  # missed expectations in a line, or one of each column
SPARE = 0.9  # of the CPU time: no more is needed, and nothing has to be lost
MUCH = 0.2  # of the frames
APART = 0.1  # of the demand


class Verdict(words.Sentences):
    """Of a contenders.Family, in sentences."""

    def __init__(self, family):
        self.family = family
        self.members = family.members
        self.judged = [m for m in self.members if not m.broken] or self.members
        self.compared = [m for m in self.members if m.samples]
        self.speech = not family.synthetic
        self.noun = "calls" if self.speech else "tasks"
        lost, missed = ([m.value(p.name, key) for m in self.judged
                         for p in family.phases
                         if m.value(p.name, key) is not None]
                        for key in ("lost_share", "missed_share"))
        # what columns are compared by first
        self.lead = "lost_share" if any(lost) or not missed else "missed_share"

    # ---- what was compared

    def head(self):
        """Campaign, machine, columns."""
        family, facts = self.family, self.family.facts
        name = family.campaign or "Campaign not known"
        cpus = f"{family.cpus} CPU" + "s" * (family.cpus != "1")
        if family.live is False:
            where = f"simulated with {cpus}" if family.cpus else "simulated"
        else:
            machine = " on " + facts["machine"] if facts.get("machine") else ""
            where = "played" + (" live" if family.live else "") + machine
            where += f", {cpus} for the workers" if family.cpus else ""
        kernels = facts.get("codec kernels")
        where += f", {kernels} codec kernels" if kernels else ""
        runs = max((len(m.samples) for m in self.members), default=0)
        each = f", {words.count(runs)} runs each" if runs > 1 else ""
        if family.live and len(self.members) > 1:
            each += ", separate runs"
        return (f"{name}: {where}. "
                f"{words.listed(m.label for m in self.members)}{each}.")

    def load(self):
        """Calls and demand, phase by phase."""
        tasks, parts = self.noun, []
        for phase in self.family.phases:
            number = round(phase.calls)
            text = f"{number:,} {tasks[:-1] if number == 1 else tasks}"
            asked = [m.demand(phase.name) for m in self.judged]
            asked = [d for d in asked if d is not None] or \
                [phase.demand] * (phase.demand is not None)
            if asked:
                text += f" for {words.spread(asked, words.percent)} of the " \
                    "CPU time"
            if len(self.family.phases) > 1:
                text = f"{phase.name} {text}"
            if phase.name in ("overload", "peak") and \
                    len(self.family.phases) > 1:
                text += f" ({_times(phase.spans)})"
            parts.append(text)
        return f"Load: {'; '.join(parts)}." if parts else ""

    def expected(self):
        """What the campaign expects, where it does not hold."""
        listed = self.family.expected
        if not listed:
            return ""
        labels = {m.place[0]: m.label for m in self.members}
        by = {}  # of each column, as a set in order
        for place, x in listed:
            if x.get("met") is False and place in labels:
                of = f" of {x['flow']}" if x.get("flow") else ""
                by.setdefault(labels[place], {})[
                    f"{x.get('metric')} {x.get('expect')}{of} under "
                    f"{labels[place]} ({_worth(x)})"] = True
        missed = list(filter(None, chain(*zip_longest(*by.values()))))
        if not missed:
            return "The campaign's expectations hold."
        shown = max(TOLD, len(by))
        more = f" and {len(missed) - shown} more" \
            if len(missed) > shown else ""
        return ("The campaign expects what did not hold: "
                f"{'; '.join(missed[:shown])}{more}.")

    # ---- what came out

    def _facts(self, members, phase):
        """What all of the members have in common, or the ranges."""
        def values(key):
            return [v for v in (m.value(phase, key) for m in members)
                    if v is not None]

        out = []
        lost, missed = values("lost_share"), values("missed_share")
        if lost and (self.lead == "lost_share" or max(lost)):
            out.append(f"{words.spread(lost, words.percent)} lost"
                       if max(lost) else "0 lost")
        if missed and (self.lead == "missed_share"):
            out.append(f"{words.spread(missed, words.percent)} missed"
                       if max(missed) else "0 missed")
        elif missed and max(missed) >= 0.0005:
            out.append("in time " + words.spread([1 - m for m in missed],
                                                 words.percent))
        for key, title, show in (("delay_p99_ms", "p99", words.ms),
                                 ("mos_mean", "MOS", words.score)):
            if values(key):
                out.append(f"{title} {words.spread(values(key), show)}")
        return ", ".join(out)

    def _lead_part(self, known, phase):
        best, rest = differ.split(known, phase, self.lead, self.speech)
        if not rest:
            return ""
        lost = self.lead == "lost_share"
        verb = words.verb(best, "lose" if lost else "miss")

        def share(member):
            return words.percent(member.value(phase, self.lead))
        rest.sort(key=lambda m: m.value(phase, self.lead))
        base = next((m for m in rest if m.scheduler == "fifo"), rest[-1])
        values = [m.value(phase, self.lead) for m in best]
        who = words.names(best, known)
        if not max(values):
            text = f"{who} {verb} {'nothing' if lost else 'no deadline'}"
        else:
            text = f"{who} {verb} {words.spread(values, words.percent)} of " \
                f"the {'frames' if lost else 'deadlines'}"
        much = words.ratio(max(values), base.value(phase, self.lead)) \
            if max(values) else None
        text += f", {much} {base.label} ({share(base)})" if much else \
            f", {base.label} {share(base)}"
        others = [m for m in rest if m is not base]
        if len(others) > 2:
            values = [m.value(phase, self.lead) for m in others]
            return f"{text}, the others {words.spread(values, words.percent)}"
        return ", ".join([text, *(f"{m.label} {share(m)}" for m in others)])

    def _starving(self, known, phase):
        """Those that starve single calls; without losses, fail tasks."""
        key = "starved" if self.lead == "lost_share" else "failed"
        return [m for m in known if (m.value(phase, key) or 0) >= 1]

    def _starve_part(self, known, phase):
        found = self._starving(known, phase)
        if not found:
            return ""
        lost = self.lead == "lost_share"
        key = "call_loss_max" if lost else "call_missed_max"
        shares = [m.value(phase, key) for m in found]
        return (f"{words.names(found, known)} "
                f"{words.verb(found, 'starve' if lost else 'fail')} single "
                f"{self.noun} ({words.spread(shares, words.percent)})")

    def _range_part(self, known, phase, key, title, show, shown=lambda v: v):
        """"p99 is 3 ms under a, 40 to 60 ms under b and c". shown: of a value,
        what is printed."""
        best, rest = differ.split(known, phase, key, self.speech)
        if not rest:
            return ""

        def of(members):
            return words.spread([shown(m.value(phase, key)) for m in members],
                                show)
        others = "the others" if len(rest) > 2 and \
            len(best) + len(rest) == len(known) else words.names(rest, known)
        return (f"{title} {of(best)} under {words.names(best, known)}, "
                f"{of(rest)} under {others}")

    def phase(self, phase):
        """The sentence of a phase, by name; "" without a frame in it."""
        known = [m for m in self.judged if m.value(phase, "lost_share")
                 is not None]
        if not known:
            return ""
        title = TITLES[phase]
        facts = self._facts(known, phase)
        starving = self._starve_part(known, phase)
        if len(known) == 1:
            who = "" if len(self.judged) == 1 else f"{known[0].label} only, "
            return f"{title}: {who}{facts}" + \
                (f"; {starving}." if starving else ".")
        lead = self._lead_part(known, phase)
        parts = [lead, starving,
                 self.lead != "missed_share" and self._range_part(
                     known, phase, "missed_share", "in time",
                     words.percent, lambda missed: 1 - missed)
                 or self._range_part(known, phase, "delay_p99_ms", "p99 is",
                                     words.ms),
                 self._range_part(known, phase, "mos_mean", "MOS is",
                                  words.score)]
        if not any(parts):
            return f"{title}: {words.everyone(len(known))} equal ({facts})."
        if not lead:
            parts[0] = self._alike(known, phase)
        return f"{title}: {'; '.join(filter(None, parts))}."

    def _alike(self, known, phase):
        """How columns that differ otherwise lose, or miss, alike."""
        values = [m.value(phase, self.lead) for m in known
                  if m.value(phase, self.lead) is not None]
        lost = self.lead == "lost_share"
        if not values:
            return ""
        if not max(values):
            return f"{words.everyone(len(known))} " + \
                ("lose nothing" if lost else "miss no deadline")
        return (f"{words.everyone(len(known))} {'lose' if lost else 'miss'} "
                f"about as much ({words.spread(values, words.percent)})")

    def conversions(self):
        """What became of the files; "" without any."""
        known = [m for m in self.judged if _files(m, "conversions")
                 and _files(m, "conversions_done") is not None]
        if not known:
            return ""
        best, rest = _split_files(known, "conversions_done")
        if rest:
            text = f"{words.names(best, known)} " \
                f"{words.verb(best, 'finish')} {_finished(best)}, " + \
                words.listed(f"{m.label} {_finished([m])}" for m in rest)
        else:
            text = f"{_finished(known)} finished"
            if len(known) > 1:
                text += f" under {words.everyone(len(known))}"
        times = [m for m in known if _files(m, "turnaround_mean_ms")]
        best, rest = _split_files(times, "turnaround_mean_ms")

        def of(members):
            return words.spread([_files(m, "turnaround_mean_ms") / 1e3
                                 for m in members], lambda v: f"{v:.3g} s")
        if rest:
            text += f"; on average after {of(best)} under " \
                f"{words.names(best, known)}, {of(rest)} under " \
                f"{words.names(rest, known)}"
        elif times:
            text += f", on average after {of(times)}"
        return f"Conversions: {text}."

    def _silent(self):
        """Columns of which only the whole run is known."""
        silent = [m.label for m in self.members if not m.samples]
        return (f"Of {words.listed(silent)} no phase is known: neither a "
                "trace nor frames.bin.") if silent else ""

    # ---- what to do

    def chosen(self):
        """The members that are best; all, where nothing tells them apart."""
        phases = [p for p in WEIGHT
                  if any(p == q.name for q in self.family.phases)]
        left = self._there(phases)
        if len(left) < min(2, len(self.compared)):
            return []  # to be there is no merit
        fair = [m for m in left if not any(self._starving([m], p)
                                           for p in phases)]
        left = fair or left
        for key in CRITERIA:
            for phase in phases:
                worse = differ.split(left, phase, key, self.speech)[1]
                left = [m for m in left if m not in worse]
        for key in ("conversions_done", "turnaround_mean_ms"):
            known = [m for m in left if _files(m, key) is not None]
            worse = _split_files(known, key)[1]
            left = [m for m in left if m not in worse]
        return left

    def _there(self, phases):
        """The members that have frames in all of the phases."""
        return [m for m in self.compared
                if all(m.value(p, "lost_share") is not None for p in phases)]

    def choose(self):
        """Which one to take; "" when there is no choice."""
        if len(self.compared) < 2:
            return self._robbed_alone()
        flawed = self._flawed()
        if flawed and flawed == self._unlike():
            return (f"Cannot be told from these runs: {flawed}. These were "
                    "separate runs: switch under live calls if they can be "
                    "(campaigns/run does), or play them again on a machine "
                    "that is idle.")
        if flawed:
            again = "Mend the scheduler, and play it again." \
                if contenders.BROKE in flawed else \
                "Play it again on a machine that is idle."
            return f"Nothing to choose by: {flawed}. {again}"
        best = self.chosen()
        if not best:
            there = self._there([p.name for p in self.family.phases])
            who = f"Only {there[0].label}" if there else "No column"
            return f"{who} was there all the time: nothing to choose by."
        return words.choice(best, self.compared)

    def _flawed(self):
        """Why columns cannot be compared; "" when they can."""
        why = {}
        for m in self.compared:
            if not m.sound:
                why.setdefault(next(iter(m.flawed.values())), []).append(m)
        return "; ".join(f"{reason} under "
                         f"{words.names(some, self.compared)}"
                         for reason, some in why.items()) or self._robbed() \
            or self._unlike()

    def _unlike(self):
        """How the demand differed between live runs, where frames were lost;
        "" where it did not."""
        for p in self.family.phases if self.family.live else ():
            known = [(m.demand(p.name), m) for m in self.compared
                     if m.demand(p.name)]
            if len(known) < 2 or max(d for d, _ in known) <= 1:
                continue
            (low, least), (high, most) = (
                f(known, key=lambda pair: pair[0]) for f in (min, max))
            if high > (1 + APART) * low:
                return (f"demand differed by {words.percent(high / low - 1)}: "
                        f"{words.percent(low)} of the CPU time under "
                        f"{least.label}, {words.percent(high)} under "
                        f"{most.label}")
        return ""

    def _much_lost(self):
        """(shares lost, load) of a phase in which all lose much that need not
        lose anything; None: there is none."""
        for p in self.family.phases if self.family.live else ():
            lost = [m.value(p.name, "lost_share") for m in self.compared]
            if None not in lost and min(lost) >= MUCH and \
                    p.demand is not None and p.demand <= SPARE:
                return lost, p.demand
        return None

    def _robbed(self):
        found = self._much_lost()
        if not found:
            return ""
        lost, demand = found
        return ("something else had the CPU, for "
                f"{words.everyone(len(lost))} lose "
                f"{words.spread(lost, words.percent)} though the load was "
                f"{words.percent(demand)}")

    def _robbed_alone(self):
        """The same of the only column, whose scheduler may be the reason, too."""
        found = self._much_lost() if self.compared and \
            self.compared[0].sound else None
        if not found:
            return ""
        (lost,), demand = found
        return (f"{self.compared[0].label} loses {words.percent(lost)} though "
                f"the load was {words.percent(demand)}: something else had the "
                "CPU, or the scheduler left it idle.")

    def _left_out(self):
        """Runs that are not compared, of columns that have others."""
        out = [f"{words.count(len(m.every) - len(m.chosen))} of {m.label}"
               for m in self.compared if len(m.every) > len(m.chosen)]
        return (f"Left out are runs that tell too little: {words.listed(out)}."
                ) if out else ""

    def doubt(self):
        """What the number of runs can tell."""
        runs = min((len(m.samples) for m in self.compared), default=0)
        if len(self.compared) < 2 or self._flawed():
            return ""
        if runs >= differ.TESTED:
            return "Told apart is what noise does not explain (p <= 0.05)."
        if runs > 1:
            return (f"{words.count(runs).capitalize()} runs each are too few "
                    "to rule noise out: --rounds 4 can.")
        if self.family.live is False:
            return "One simulation each: other seeds may tell otherwise."
        return "One run each: what is noise, --rounds 4 can tell."

    def sentences(self):
        """Everything but head and load, in order."""
        return self.with_choice([
            *(self.phase(p.name) for p in self.family.phases),
            self.conversions(), self._silent(), self._left_out(),
            self.expected()])

    def table(self, intervals=True):
        """([table.Column], [Metric]) of the short table; intervals: of
        repetitions, shown beside the medians."""
        return brief.columns(self.family, self.lead, intervals)

    def as_dict(self):
        """For programs."""
        return {
            "campaign": self.family.campaign, "head": self.head(),
            "load": self.load(), "sentences": self.sentences(),
            "choose": [] if self._flawed() else
            [m.label for m in self.chosen()],
            "phases": [{"phase": p.name, "demand": p.demand,
                        "calls": p.calls, "spans_s": [
                            [None if abs(t) == float("inf") else t
                             for t in span] for span in p.spans]}
                       for p in self.family.phases]}


def _times(spans):
    """When, for people."""
    texts = []
    for begin, end in spans:
        if begin == float("-inf"):
            texts.append(f"until {end:.1f} s")
        elif end == float("inf"):
            texts.append(f"from {begin:.1f} s")
        else:
            texts.append(f"{begin:.1f} to {end:.1f} s")
    if len(texts) > 3:
        texts[2:] = [f"{len(texts) - 2} more times"]
    return words.listed(texts)


def _worth(item):
    """The value of an expectation."""
    value = item.get("value")
    if not isinstance(value, (int, float)):
        return "not known"
    return words.ms(value / 1e6) if item.get("unit") == "ns" else \
        words.percent(value / 1e6)


def _files(member, key):
    """Of conversions: the median over the runs, None: not known."""
    return median(member.files(key))


def _finished(members):
    """How many files, of how many."""
    return " of ".join(
        words.spread([_files(m, key) for m in members], lambda v: f"{v:g}")
        for key in ("conversions_done", "conversions"))


def _split_files(known, key):
    """As differ.split(), of conversions."""
    sign = 1 if key.endswith("_ms") else -1
    if not known:
        return [], []
    best = min(known, key=lambda m: sign * _files(m, key))
    rest = [m for m in known if differ.runs_differ(
        "conversions", m.files(key), best.files(key))]
    return [m for m in known if m not in rest], rest

# SPDX-License-Identifier: Apache-2.0
"""Interleaved comparisons whose outcome is known: as tables of blocks that are
drawn at random, or of blocks that codec-sim plays."""
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src" / "report"))

from codec_report import blocks, interleaved, run, trace  # noqa: E402
from codec_report.contenders import Family  # noqa: E402

TARGET, SECOND = 1.25, 10 ** 9
DRIFT = 0.33 / 180 ** 0.5  # a block of a second: a third in three minutes
NOISE = 0.01               # of a block's cost
CODEC_US, OWN_US = 16.5, 2.5
#: A worker that others disturb: a share of the blocks, and mean of what is
#: stolen of these.
BURSTS = 0.5, 0.10
CAMPAIGN = """\
seed: {seed}
duration: 1s
platform:
  cpus: 1
  overhead: {{decision: {own:.0f}ns, context: 1us}}
daemon: {{admission: off, max-age: 100ms}}
flows:
  - name: talk
    count: {calls}
    period: 20ms
    cost: {{model: lognormal, mean: {cost:.0f}ns, sd: {sd:.0f}ns, min: 10us}}
    deadline: 20ms
"""


class Machine:
    """Whose pace drifts, and from which others steal. rng: numpy's."""

    def __init__(self, rng, drift=DRIFT, noise=NOISE, bursts=BURSTS):
        self.rng, self.drift, self.noise = rng, drift, noise
        self.bursts, self.level = bursts, 0.0

    def pace(self):
        """What work costs in the next block, of what it did at first."""
        self.level += self.rng.normal(0, self.drift)
        return float(np.exp(self.level + self.rng.normal(0, self.noise)))

    def stolen(self):
        """Of the time of the next block."""
        often, mean = self.bursts
        if self.rng.random() >= often:
            return float(self.rng.uniform(0, 0.03))
        return float(min(self.rng.exponential(mean), 0.9))


def order(rng, schedulers, rounds):
    """[(round, scheduler)], in random order within rounds."""
    return [(r + 1, schedulers[i]) for r in range(rounds)
            for i in rng.permutation(len(schedulers))]


def drawn(seed, schedulers, rounds=10, own=None, codec=None, same=None,
          jitter=None, **machine):
    """[blocks.Block]. own, codec: {scheduler: what it takes between frames,
    and in the codec, of what others do}; same: {scheduler: turns that stay with
    a call}; jitter: {scheduler: ms}; machine: as for Machine."""
    rng = np.random.default_rng(seed)
    host, out = Machine(rng, **machine), []
    usual = CODEC_US + OWN_US
    for i, (number, name) in enumerate(order(rng, schedulers, rounds)):
        pace, stolen = host.pace(), host.stolen()
        stays = (same or {}).get(name, 0.0)
        first, later = 1.03 * CODEC_US, 0.84 * CODEC_US
        within = (stays * later + (1 - stays) * first if stays else CODEC_US) \
            * (codec or {}).get(name, 1.0) * pace
        cost = within + OWN_US * (own or {}).get(name, 1.0) * pace
        demand = TARGET * cost / usual / (1 - stolen)
        floor, excess = max(0.0, 1 - 1 / demand), rng.normal(0.001, 0.003)
        lost = max(0.0, floor + excess)
        out.append(blocks.Block(
            number, name, blocks.STEADY, i * SECOND, (i + 1) * SECOND, 1300,
            "stolen" if stolen > blocks.STOLEN else "", {
                "turns": 30000, "cost_us": cost, "turn_us": cost,
                "codec_us": within, "stolen": stolen,
                "cpu_ns": (1 - stolen) * SECOND, "busy_ns": SECOND,
                "demand": demand, "floor": floor, "idle": 0.003,
                "same_call": stays, "first_us": cost,
                "later_us": cost if stays else None,
                "first_codec_us": first, "later_codec_us":
                later if stays else None,
                "lost_share": lost, "excess": lost - floor,
                "call_loss_max": min(lost + abs(rng.normal(0.1, 0.03)), 1.0),
                "missed_share": min(lost + rng.uniform(0.6, 0.7), 1.0),
                "delay_p99_ms": 100 + rng.normal(0, 1.5),
                "jitter_p99_ms": (jitter or {}).get(name, 18.0)
                * float(np.exp(rng.normal(0, 0.1)))}))
    return out


def verdict(found):
    """interleaved.Verdict of blocks."""
    return interleaved.Verdict(Family("demo.yaml", "1", True), found,
                               SimpleNamespace(target=TARGET, blocks=[],
                                               broken={}))


def _play(program, folder, policy, **values):
    """trace.Trace of a second under a policy."""
    path = Path(folder) / "block.yaml"
    path.write_text(CAMPAIGN.format(**values), encoding="utf-8")
    subprocess.run([program, str(path), "-s", policy, "--out", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return trace.read_trace(str(Path(folder) / "trace.bin"))


def _joined(parts):
    """One trace of those of blocks, a second after each other."""
    jobs, tasks = {}, []
    for i, one in enumerate(parts):
        first = 10000 * i
        shift = (i + 1) * SECOND - int(one.jobs["arrival"].min())
        tasks.append(one.tasks.copy())
        tasks[-1]["task"] += first
        for name, column in one.jobs.items():
            if name == "task":
                column = column + np.uint32(first)
            elif name in ("arrival", "release", "pick", "start", "end",
                          "sent", "deadline"):
                column = np.where((column > 0) & (column < trace.NEVER),
                                  column + shift, column)
            jobs.setdefault(name, []).append(column)
    return trace.Trace("blocks", {"live": True, "workers": 1},
                       {n: np.concatenate(c) for n, c in jobs.items()},
                       np.concatenate(tasks), parts[0].notes[:0])


def simulated(program, seed, schedulers, rounds=10, codec=None, own=None):
    """run.Run of blocks that codec-sim has played, each a second with a cost of
    60 us that drifts. codec: {scheduler: cost, of what others have}; own:
    {scheduler: us between frames beside 0.6}. "fifo#2" is fifo."""
    rng = np.random.default_rng(seed)
    host, parts, items = Machine(rng), [], []
    with tempfile.TemporaryDirectory() as folder:
        for i, (number, name) in enumerate(order(rng, schedulers, rounds)):
            pace = host.pace()
            cost = 60000 * pace * (codec or {}).get(name, 1.0)
            between = (600 + 1000 * (own or {}).get(name, 0.0)) * pace
            parts.append(_play(
                program, folder, name.partition("#")[0],
                seed=int(rng.integers(1, 1 << 30)), own=between, cost=cost,
                sd=cost / 10, calls=round(TARGET * 20e6 / 61600)))
            begin = (i + 1) * SECOND
            items.append({"round": number, "scheduler": name,
                         "kind": blocks.STEADY, "begin_ns": begin,
                         "end_ns": begin + SECOND * 9 // 10,
                         "overload_ns": None,
                         "calls": {"talk": round(TARGET * 20e6 / 61600)},
                         "cpu_ns": SECOND, "busy_ns": SECOND})
    out = run.Run("blocks", _joined(parts), played=blocks.Played(
        SECOND * 35 // 100, TARGET, 1, items))
    run.sections(out)
    return out


def of_json(content):
    """[blocks.Block] of a verdict as codec-report --json has it."""
    own = "round", "scheduler", "kind", "begin_ns", "end_ns", "calls", \
        "left_out"
    return [blocks.Block(*(b[name] for name in own), {
        name: value for name, value in b.items() if name not in own})
            for b in content["blocks"]]


def cost(found_blocks, scheduler):
    """Median us of a turn, of the blocks that are not left out."""
    known = [b.values["cost_us"] for b in found_blocks
             if b.scheduler == scheduler and not b.flaw
             and b.kind == blocks.STEADY]
    return round(float(np.median(known)), 2) if known else None


def found(verdict, one, two):
    """Return a verdict on two columns: "equal", the label of the one that is
    worse or costs more, or "refused"."""
    r = verdict.results
    if verdict._refused or r.rounds(one, two) < interleaved.ROUNDS:
        return "refused"
    for key in (interleaved.COST, *interleaved.DECIDE):
        side = r.differ(one, two, key)
        if side:
            return one if side > 0 else two
    return "equal"


def rates(verdicts, one, two):
    """Return {outcome: how often}."""
    outcomes = sorted(found(v, one, two) for v in verdicts)
    return {outcome: len(list(same)) for outcome, same
            in itertools.groupby(outcomes)}

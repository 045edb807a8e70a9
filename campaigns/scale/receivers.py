# SPDX-License-Identifier: Apache-2.0
"""How many receivers, for how many workers, at which load.

Calls that encode AMR 12.2 with our kernels, as many as keep the workers busy
for 70 or 90 % of the time, overheads included. A row is a number of receivers,
or 0, which stands for receivers that take no time. Looked for are the fewest
that carry the calls, and the fewest with which packets hardly wait.
"""
import math
import shlex

import overheads
import tables
import texttable

LOADS = (70, 90)
SCHEDULER = "edf"
DOMAIN = 16  # CPUs of a run queue, by the advice for edf
DURATION = "500ms"  # 7 million packets on the largest machine
PERIOD_NS = 20_000_000
# p99 delays: of calls that are carried; and how much more than with a receiver
# for each worker is equal.
BOUND_NS = 1_000_000
EQUAL = 0.05
# Receivers are tried that packets keep busy for these shares of the time.
SHARES = (.95, .9, .85, .8, .7, .6, .5, .4, .3, .2)

RULE = (f"fewest: no frame late or lost and p99 up to {BOUND_NS / 1e6:g} ms. "
        f"Enough: p99 within {EQUAL:.0%} of that with a receiver for each "
        "worker, where a packet costs as much, but hardly waits.")

CAMPAIGN = """\
# AMR 12.2 with our kernels, {load} % of {cpus} workers. Written by
# campaigns/scale/run; the cost is of codec-runner --codecs.
seed: 1
duration: 1s
platform: {{cpus: {cpus}, run-queues: {queues}, preempt: frame}}
daemon: {{admission: off}}
flows:
  - name: encode
    count: {calls}
    in: {{codec: pcmu}}
    out: {{codec: amr, mode: 12.2}}
    network: {{jitter: 5ms}}
    cost: {{model: lognormal, mean: {mean}ns, sd: {sd}ns}}
"""

COLUMNS = ("cpus", "load", "receivers", "calls", "packets_per_s", "work",
           "busy", "longest", "wait_ns", "wait_max_ns", "p50_ns", "p99_ns",
           "max_ns", "late_share", "lost_share", "missed_share",
           "frame_ns", "workers_busy", "cost_ns", "wake_ns", "duration_ns", "seed")


class Machine:
    """Workers under a load, with any number of receivers. @simulate(command)
    returns codec-sim's report."""

    def __init__(self, args, cost, cpus, load, simulate):
        self.args, self.cost, self.simulate = args, cost, simulate
        self.cpus, self.load = cpus, load
        self.rows = {}
        self.calls = self.calls_at(cost["encode"]["mean_ns"])
        # overheads are part of the load: what they come to depends on it
        for _ in range(2):
            self.calls = self.calls_at(self.play(0)["frame_ns"])

    def calls_at(self, frame_ns):
        """Calls that are the load when a frame takes so long."""
        return max(1, round(self.cpus * self.load / 100 * PERIOD_NS /
                            frame_ns))

    def campaign(self):
        path = self.args.out / f"receivers-{self.cpus}-{self.load}.yaml"
        encode = self.cost["encode"]
        path.write_text(CAMPAIGN.format(
            load=self.load, cpus=self.cpus, calls=self.calls,
            queues=max(1, self.cpus // DOMAIN), mean=encode["mean_ns"],
            sd=encode["sd_ns"]))
        return path

    def command(self, receivers):
        domain = min(self.cpus, DOMAIN)
        return [str(word) for word in (
            self.args.build / "codec-sim", self.campaign(), "--json",
            "--quiet", "--jobs", "1", "--scheduler", SCHEDULER,
            "--duration", self.args.receivers_duration,
            *overheads.options(self.cost, SCHEDULER, domain,
                               self.calls * domain // self.cpus),
            *overheads.receiver_options(self.cost, receivers))]

    def play(self, receivers):
        command = self.command(receivers)
        return row(self, receivers, self.simulate(command), command)

    def with_receivers(self, receivers):
        """The row of so many; each is played once."""
        if receivers not in self.rows:
            self.rows[receivers] = self.play(receivers)
        return self.rows[receivers]

    def demand(self):
        """Receivers that packets alone would keep busy all the time."""
        return self.calls * self.cost["receiver"]["cost_ns"] / PERIOD_NS


def row(machine, receivers, told, command):
    total, found = told["total"], told.get("receivers", [])
    packets = sum(r["packets"] for r in found)
    frame_ns = sum(c["busy_ns"] for c in told["cpus"]) / max(1, total["done"])
    cost = machine.cost["receiver"]
    return {
        "cpus": machine.cpus, "load": machine.load, "receivers": receivers,
        "calls": total["planned"],
        "packets_per_s": machine.calls * 1e9 / PERIOD_NS,
        # what packets take of a receiver's time; with wake-ups
        "work": machine.demand() / max(1, receivers),
        "busy": max((r["busy"] for r in found), default=0),
        "longest": max((r["longest"] for r in found), default=0),
        "wait_ns": sum(r["wait_ns"] for r in found) / max(1, packets),
        "wait_max_ns": max((r["wait_max_ns"] for r in found), default=0),
        **{f"{key}_ns": total["delay"][f"{key}_ns"]
           for key in ("p50", "p99", "max")},
        "late_share": total["late_share"], "lost_share": total["loss"],
        "missed_share": total["missed_share"],
        # of a worker's time, overheads included; what calls make of it
        "frame_ns": frame_ns,
        "workers_busy": machine.calls * frame_ns / PERIOD_NS / machine.cpus,
        "cost_ns": cost["cost_ns"], "wake_ns": cost["wake_ns"],
        "duration_ns": told["duration_ns"], "seed": told["seed"],
        "seconds": told["seconds"], "command": shlex.join(command),
    }


def carries(r):
    return not r["missed_share"] and not r["lost_share"] and \
        r["p99_ns"] <= BOUND_NS


def fewest(grid, fits):
    """The smallest number that fits, found between two neighbours of @grid
    (rising); None: the last one does not."""
    below = 0
    for n in grid:
        if fits(n):
            break
        below = n
    else:
        return None
    while n - below > 1:
        middle = (n + below) // 2
        if fits(middle):
            n = middle
        else:
            below = middle
    return n


def grid_of(demand, most):
    """Numbers of receivers to try. Fewer than the first cannot carry it."""
    found = {math.floor(demand) + 1, most}
    found |= {math.ceil(demand / share) for share in SHARES}
    return sorted(n for n in found if n <= most)


def explore(machine):
    """The rows of a machine by number of receivers, and its line of advice."""
    free = machine.with_receivers(0)
    alone = machine.with_receivers(machine.cpus)
    grid = grid_of(machine.demand(), machine.cpus)

    def carried(n):
        return n >= grid[0] and carries(machine.with_receivers(n))

    def enough(n):
        return carried(n) and machine.with_receivers(n)["p99_ns"] <= \
            alone["p99_ns"] * (1 + EQUAL)

    least, good = fewest(grid, carried), fewest(grid, enough)
    advice = {"cpus": machine.cpus, "load": machine.load,
              "calls": free["calls"], "packets_per_s": free["packets_per_s"],
              "free_p99_ns": free["p99_ns"], "alone_p99_ns": alone["p99_ns"],
              "fewest": least, "enough": good}
    for n in grid:  # for the picture
        if n <= 4 * grid[0]:
            machine.with_receivers(n)
    return [machine.rows[n] for n in sorted(machine.rows)], advice


def us(ns):
    return f"{ns / 1e3:.0f}"


def show_rows(rows):
    """One machine at one load."""
    heads = ["receivers", "busy", "longest", "wait us", "max us", "p50 us",
             "p99 us", "max us", "lost"]
    return texttable.lines([heads] + [
        [str(r["receivers"] or "at no cost"), tables.percent(r["busy"]),
         str(r["longest"]), f"{r['wait_ns'] / 1e3:.1f}", us(r["wait_max_ns"]),
         us(r["p50_ns"]), us(r["p99_ns"]), us(r["max_ns"]),
         tables.percent(r["lost_share"])] for r in rows])


def show_advice(advice, rows):
    heads = ["workers", "load", "calls", "packets/s", "at no cost",
             "one a worker", "fewest", "enough"]
    by_point = {(r["cpus"], r["load"], r["receivers"]): r for r in rows}

    def told(a, n):
        if n is None:
            return "none"
        r = by_point[a["cpus"], a["load"], n]
        return f"{n} ({tables.percent(r['work'])}), p99 {us(r['p99_ns'])} us"

    return texttable.lines([heads] + [
        [str(a["cpus"]), f"{a['load']} %", str(a["calls"]),
         f"{a['packets_per_s']:.0f}", f"p99 {us(a['free_p99_ns'])} us",
         f"p99 {us(a['alone_p99_ns'])} us", told(a, a["fewest"]),
         told(a, a["enough"])] for a in advice])

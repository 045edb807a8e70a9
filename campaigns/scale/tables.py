# SPDX-License-Identifier: Apache-2.0
"""Results as tables, and the advice that follows from them."""
import csv
import io
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "player"))

import texttable  # noqa: E402

# p99 delays that differ by less are equal.
EQUAL = 0.05

RULE = (f"no frame late or lost and demand below 100 %, then the smallest "
        f"p99 delay; within {EQUAL:.0%} of it the smallest run queue. Where "
        "none is such: the least demand.")

COLUMNS = ("scheduler", "cpus", "load", "domain", "calls", "p50_ns", "p99_ns",
           "max_ns", "late_share", "lost_share", "missed_share",
           "overhead_share", "demand", "moved_share", "migrations", "lock_ns",
           "decision_ns", "context_ns", "migration_ns", "duration_ns", "seed")


def domain_name(domain, cpus):
    return {1: "1, partitioned", cpus: f"{cpus}, global"}.get(
        domain, str(domain))


def percent(share):
    """Never "0 %" of something that happened."""
    if 0 < share < 0.0001:
        return "<0.01 %"
    return f"{100 * share:.2f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def ms(ns):
    return f"{ns / 1e6:.2f}"


def show_rows(rows):
    """One machine under one scheduler: a line for each load and domain."""
    heads = ["load", "CPUs a queue", "calls", "p50 ms", "p99 ms", "max ms",
             "late", "lost", "overhead", "demand", "moved"]
    return texttable.lines([heads] + [
        [f"{r['load']} %", domain_name(r["domain"], r["cpus"]),
         str(r["calls"]), ms(r["p50_ns"]), ms(r["p99_ns"]), ms(r["max_ns"]),
         percent(r["late_share"]), percent(r["lost_share"]),
         percent(r["overhead_share"]), f"{100 * r['demand']:.1f} %",
         percent(r["moved_share"])]
        for r in rows])


def fits(row):
    """Every frame in time, and so it stays."""
    return row["missed_share"] == 0 and row["demand"] < 1


def result(row):
    """In short, what became of it."""
    if row["missed_share"]:
        return f"{percent(row['missed_share'])} missed"
    if row["demand"] >= 1:
        return f"demand {100 * row['demand']:.1f} %"
    return f"p99 {ms(row['p99_ns'])} ms"


def choose(rows):
    """Which domain size of one machine, load and scheduler, by RULE."""
    fit = [r for r in rows if fits(r)]
    if not fit:
        return min(rows, key=lambda r: (r["demand"], r["domain"]))
    best = min(r["p99_ns"] for r in fit)
    return min((r for r in fit if r["p99_ns"] <= best * (1 + EQUAL)),
               key=lambda r: r["domain"])


def groups(rows, *keys):
    """Rows that agree in @keys, in the order of their first."""
    found = {}
    for r in rows:
        found.setdefault(tuple(r[k] for k in keys), []).append(r)
    return found


def advise(rows):
    """A line of advice for each machine, load and scheduler: the choice, its
    result, and what the two ends, partitioned and global, came to."""
    advice = []
    for (scheduler, cpus, load), some in groups(rows, "scheduler", "cpus",
                                                "load").items():
        chosen = choose(some)
        advice.append({"scheduler": scheduler, "cpus": cpus, "load": load,
                       "domain": chosen["domain"], "fits": fits(chosen),
                       "result": result(chosen),
                       "partitioned": result(some[0]),
                       "global": result(some[-1])})
    return advice


def show_advice(advice):
    heads = ["use", "CPUs", "load", "CPUs a queue", "result", "partitioned",
             "global"]
    return texttable.lines([heads] + [
        [a["scheduler"], str(a["cpus"]), f"{a['load']} %",
         domain_name(a["domain"], a["cpus"]) if a["fits"] else
         f"none; {a['domain']} is best", a["result"], a["partitioned"],
         a["global"]] for a in advice])


def as_csv(rows, columns=COLUMNS):
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n",
                            extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()

# SPDX-License-Identifier: Apache-2.0
"""What a run has counted: as JSON, as a table, and as a page with a picture."""
import html
import json
import shlex
import sys

import matplotlib
import texttable

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A set of nodes</title>
<style>:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto;
padding: 1rem }} img {{ max-width: 100%; background: white }}</style></head>
<body><h1>A set of nodes: {verdict}</h1>
<p><code>{command}</code></p><pre>{text}</pre>
<img src="cluster.png" alt="Calls of each node by phase, and set-up times">
</body></html>
"""


def percentile(values, share):
    """The smallest value that so many are not above; None of none."""
    values = sorted(values)
    at = -(-share * len(values) // 100)
    return values[max(0, int(at) - 1)] if values else None


def row(run, phase):
    calls = phase.calls()
    gone = {n.host for n in run.nodes if n.n in phase.gone}
    setup = [c.set_up_ms for c in calls if c.answered]
    alive = [c.lost() for c in calls if c.answered and c.host not in gone]
    dead = [c for g in phase.groups[:1] for c in g.calls.values()
            if c.host in gone]
    return {
        "phase": phase.name, "calls": len(calls),
        "nodes": {n.name: run.on(n, calls) for n in run.nodes},
        "load_limits": sum(phase.limits.values()),
        "load_limits_of": phase.limits,
        "refused": sum(bool(c.refused) for c in calls),
        "set_up_p50_ms": percentile(setup, 50),
        "set_up_p99_ms": percentile(setup, 99),
        "set_up_max_ms": max(setup, default=None),
        "lost_to_callee": sum(a for a, _ in alive),
        "lost_to_caller": sum(b for _, b in alive),
        "sent": sum(c.phone.said for c in calls),
        "calls_gone": len(dead),
        "lost_with_them": sum(sum(c.lost()) for c in dead),
    }


def by_records(node):
    """What the node itself says of its calls."""
    found = node.records()
    streams = [s for r in found for s in r["streams"]]
    return {"calls": len(found),
            "packets_in": sum(s["count"]["packets_in"] for s in streams),
            "lost": sum((s["heard"] or {}).get("lost", 0) for s in streams),
            "overwritten": sum(s["count"]["overwritten"] for s in streams),
            "reasons": sorted({r["reason"] for r in found})}


def told(run):
    rows = [row(run, phase) for phase in run.phases if phase.groups]
    return {"command": shlex.join(sys.argv), "options": {
        "nodes": run.args.nodes, "calls": run.args.calls,
        "rate": run.args.rate, "seconds": run.args.seconds},
        "phases": rows, "checks": run.checks,
        "records": {n.name: by_records(n) for n in run.nodes}}


def ms(value):
    return "-" if value is None else f"{value:.1f}"


def text(found):
    names = list(found["records"])
    first = texttable.lines([
        ["phase", "calls", *names, "load limit", "refused", "p50 ms", "p99 ms",
         "max ms", "frames sent", "lost", "calls gone", "lost with them"],
        *([r["phase"], r["calls"], *(r["nodes"][n] for n in names),
          r["load_limits"], r["refused"], ms(r["set_up_p50_ms"]),
          ms(r["set_up_p99_ms"]), ms(r["set_up_max_ms"]), r["sent"],
          r["lost_to_callee"] + r["lost_to_caller"], r["calls_gone"],
          r["lost_with_them"]] for r in found["phases"])])
    second = texttable.lines([
        ["records of", "calls", "packets in", "lost", "overwritten",
         "ended"],
        *([n, r["calls"], r["packets_in"], r["lost"], r["overwritten"],
           ",".join(r["reasons"]) or "-"]
          for n, r in found["records"].items())])
    failed = [f"FAILED in {c['phase']}: {c['what']} ({c['seen']})"
              for c in found["checks"] if not c["holds"]]
    return "\n".join([
        *first, "", "ms: from INVITE to 200 at the caller. Frames: sent by the "
        "callers; lost on the way", "to the called or back.", "", *second, "",
        *failed, f"{len(found['checks']) - len(failed)} of "
        f"{len(found['checks'])} checks hold"]) + "\n"


def draw(run, found, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    phases = [r["phase"] for r in found["phases"]]
    below = [0] * len(phases)
    for name in found["records"]:
        values = [r["nodes"][name] for r in found["phases"]]
        left.bar(phases, values, bottom=below, label=name)
        below = [a + b for a, b in zip(below, values)]
    left.set_ylabel("calls")
    left.legend(fontsize="small")
    begin = min(c.begun for p in run.phases for c in p.calls())
    for phase in run.phases:
        calls = [c for c in phase.calls() if c.answered]
        if calls:
            right.plot([c.begun - begin for c in calls],
                       [c.set_up_ms for c in calls], ".", label=phase.name)
    right.set_ylim(bottom=0)
    right.set_xlabel("s")
    right.set_ylabel("set-up time, ms")
    right.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def write(run, out):
    """Leaves cluster.json, .txt, .png and report.html; the table."""
    found = told(run)
    shown = text(found)
    (out / "cluster.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "cluster.txt").write_text(shown)
    draw(run, found, out / "cluster.png")
    holds = all(c["holds"] for c in found["checks"])
    (out / "report.html").write_text(PAGE.format(
        verdict="all checks hold" if holds else "a check failed",
        command=html.escape(found["command"]), text=html.escape(shown)))
    return shown

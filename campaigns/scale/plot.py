# SPDX-License-Identifier: Apache-2.0
"""p99 delay over the size of a run queue, and over the work of receivers: a
panel for each load, a line for each machine and scheduler. What misses
deadlines, or will, is an open circle.
"""
import contextlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from receivers import carries  # noqa: E402
from tables import fits, groups  # noqa: E402

STYLES = ("-", "--", ":", "-.")
APART = 3.5  # percent, that numbers of receivers do not overlap


def draw_line(axes, rows, style, machine, label):
    """Markers shrink from machine to machine: none hides another."""
    colour = f"C{machine}"
    rows = sorted(rows, key=lambda r: r["domain"])
    x = [r["domain"] for r in rows]
    y = [r["p99_ns"] / 1e6 for r in rows]
    axes.plot(x, y, style, color=colour, label=label)
    for r, at, delay in zip(rows, x, y):
        axes.plot(at, delay, "o", color=colour, ms=max(3, 10 - 3 * machine),
                  mfc=colour if fits(r) else "white")


@contextlib.contextmanager
def panels(rows, path, width):
    """with panels(...) as [(load, its rows, axes)]: a panel for each load, so
    many inches wide; the figure is written when the block ends."""
    loads = groups(rows, "load")
    figure, row = plt.subplots(1, len(loads), sharey=True, squeeze=False,
                               figsize=(width * len(loads) + 1, 4.5))
    for axes in row[0]:
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
    yield [(load, some, axes) for axes, ((load,), some)
           in zip(row[0], loads.items())]
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def draw(rows, path):
    schedulers = list(groups(rows, "scheduler"))
    cpus = list(groups(rows, "cpus"))
    domains = sorted({r["domain"] for r in rows})
    with panels(rows, path, 4) as parts:
        for load, some, axes in parts:
            for (name, n), line in groups(some, "scheduler", "cpus").items():
                draw_line(axes, line, STYLES[schedulers.index((name,)) % 4],
                          cpus.index((n,)), f"{n} CPUs, {name}")
            axes.set_xscale("log", base=2)
            axes.set_xticks(domains, [str(d) for d in domains])
            axes.set_title(f"{load} % of the CPUs")
            axes.set_xlabel("CPUs of a run queue")
        parts[0][2].set_ylabel("p99 delay, ms (open: more calls than fit)")
        parts[-1][2].legend(fontsize="small")


def draw_machine(axes, rows, machine):
    """A machine's p99 with receivers, and without their cost as a dash."""
    colour = f"C{machine}"
    free = [r for r in rows if not r["receivers"]]
    rows = sorted((r for r in rows if r["receivers"]),
                  key=lambda r: r["work"])
    x = [100 * r["work"] for r in rows]
    y = [r["p99_ns"] / 1e3 for r in rows]
    axes.plot(x, y, "-", color=colour, label=f"{rows[0]['cpus']} workers")
    named = -APART
    for r, at, delay in zip(rows, x, y):
        axes.plot(at, delay, "o", color=colour, ms=max(3, 10 - 3 * machine),
                  mfc=colour if carries(r) else "white")
        if at < named + APART:
            continue
        named = at
        axes.annotate(str(r["receivers"]), (at, delay), fontsize="x-small",
                      color=colour, textcoords="offset points",
                      xytext=(0, 6 + 9 * machine), ha="center")
    for r in free:
        axes.axhline(r["p99_ns"] / 1e3, color=colour, ls=":", lw=1)


def draw_receivers(rows, path):
    cpus = list(groups(rows, "cpus"))
    with panels(rows, path, 5) as parts:
        for load, some, axes in parts:
            for (n,), machine in groups(some, "cpus").items():
                draw_machine(axes, machine, cpus.index((n,)))
            axes.margins(y=0.12)
            for axis in axes.yaxis.set_major_formatter, \
                    axes.yaxis.set_minor_formatter:
                axis("{x:g}")
            axes.set_title(f"workers busy for {load} % of the time")
            axes.set_xlabel("share of a receiver's time that packets take, %")
        parts[0][2].set_ylabel("p99 delay, us (dotted: receivers at no cost)")
        parts[0][2].legend(fontsize="small", loc="upper left",
                           title="numbers: receivers")

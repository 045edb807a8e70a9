# SPDX-License-Identifier: Apache-2.0
"""What the figures of papers share: codec-sim, the jobs of its traces, and
plots as SVG, in the style of codec-report. They need a release build, as
campaigns/run makes it, numpy and matplotlib."""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIM = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"),
                   "codec-sim")
sys.path.insert(0, str(ROOT / "src" / "report"))


def parser(text, out=None):
    """An ArgumentParser that begins with a program's docstring; out: its folder
    of out/ if --out does not say another one."""
    made = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    if out:
        made.add_argument("--out", type=pathlib.Path,
                          default=ROOT / "out" / out)
    return made


def require_sim(made):
    """End with the error of an ArgumentParser if there is no codec-sim."""
    if not SIM.exists():
        made.error(f"no {SIM}; campaigns/run builds it")


def simulate(campaign, *words):
    """Return what codec-sim prints; if it fails, it said why: exit as it did."""
    done = subprocess.run([SIM, campaign, *map(str, words)],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: an expectation was missed
        sys.exit(done.returncode)
    return done.stdout


def jobs_of(campaign, scheduler, folder, *words):
    """Simulate into a folder. Return the jobs of the trace, columns, and
    {stream: flow}."""
    from codec_report.trace import read_trace  # needs numpy
    folder.mkdir(parents=True, exist_ok=True)
    simulate(campaign, "-s", scheduler, "--quiet", "--out", folder, *words)
    with open(folder / "streams.csv", encoding="utf-8") as f:
        flow = {int(row["stream"]): row["flow"] for row in csv.DictReader(f)}
    return read_trace(folder / "trace.bin").jobs, flow


@dataclass
class Panel:
    """series: {name: [(x, y)]}; x, y: (from, to) of the axes; units: what is
    written at them."""
    title: str
    series: dict
    x: tuple
    y: tuple
    units: tuple = ("", "")


def plot(path, rows, size):
    """Write rows of panels, [[Panel]], as SVG. size: of a panel, inches."""
    from codec_report.figures import style
    names = list(dict.fromkeys(name for row in rows for panel in row
                               for name in panel.series))
    exact = {"path.simplify": False, "svg.hashsalt": path.stem}
    with style.figure(len(rows) * size[1] + 0.3, **exact) as fig:
        fig.set_figwidth(len(rows[0]) * size[0])
        grid = style.grid(fig, len(rows) * len(rows[0]), len(rows[0]))
        for axes, panel in zip(grid, sum(rows, [])):
            for name, points in panel.series.items():
                axes.plot(*zip(*points), linewidth=0.8, label=name,
                          color=style.colour(names.index(name)),
                          gid=f"curve {name}")
            if panel.y[0] < 0:
                axes.axhline(0, color=style.LIGHT["bad"], linewidth=0.8)
            axes.set(title=panel.title, xlim=panel.x, ylim=panel.y,
                     xlabel=panel.units[0], ylabel=panel.units[1])
        if len(names) > 1:
            found = {label: line for axes in grid for line, label
                     in zip(*axes.get_legend_handles_labels())}
            style.legend(fig, [found[name] for name in names], names)
    with style.settings(**exact):
        fig.savefig(path, metadata={"Date": None})

# SPDX-License-Identifier: Apache-2.0
"""What the figures of papers share: codec-sim, the jobs of its traces, and
plots as SVG. They need a release build, as campaigns/run makes it."""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIM = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"),
                   "codec-sim")
sys.path.insert(0, str(ROOT / "src" / "report"))

COLOURS = ("#036", "#c60", "#080", "#808")
GAP, LEFT, TOP = 60, 60, 30  # pixels: between panels, and at the edges


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
    {call: flow}."""
    from codec_report.trace import read_trace  # needs numpy
    folder.mkdir(parents=True, exist_ok=True)
    simulate(campaign, "-s", scheduler, "--quiet", "--out", folder, *words)
    with open(folder / "calls.csv", encoding="utf-8") as f:
        flow = {int(row["call"]): row["flow"] for row in csv.DictReader(f)}
    return read_trace(folder / "trace.bin").jobs, flow


@dataclass
class Panel:
    """series: {name: [(x, y)]}; x, y: (from, to) of the axes; forms: how the
    ends of x and of y are written, "": not at all."""
    title: str
    series: dict
    x: tuple
    y: tuple
    forms: tuple = ("{:g}", "{:.1f}")


def _text(x, y, text, end=False):
    at = f'x="{x:.1f}" y="{y:.1f}"' + ' class="end"' * end
    return f"<text {at}>{escape(text)}</text>"


def _draw(panel, corner, size, colours):
    (left, top), (width, height) = corner, size
    (x0, x1), (y0, y1) = panel.x, panel.y
    right, bottom = left + width, top + height

    def down(y):
        return top + height * (y1 - y) / (y1 - y0)
    out = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}"/>',
           _text(left, top - 6, panel.title)]
    if y0 < 0:
        out.append(f'<line x1="{left}" x2="{right}" y1="{down(0):.1f}" '
                   f'y2="{down(0):.1f}"/>' + _text(left - 4, down(0) + 4, "0",
                                                   True))
    for name, points in panel.series.items():
        at = " ".join(f"{left + width * (x - x0) / (x1 - x0):.1f},{down(y):.1f}"
                      for x, y in points)
        out.append(f'<polyline points="{at}" stroke="{colours[name]}"/>')
    across, up = panel.forms
    out += [_text(left, bottom + 14, across.format(x0)),
            _text(right, bottom + 14, across.format(x1), True),
            _text(left - 4, top + 9, up.format(y1), True),
            _text(left - 4, bottom, up.format(y0), True)]
    return "".join(out)


def plot(path, rows, size):
    """Write rows of panels, [[Panel]], as SVG. size: of a panel, pixels."""
    names = list(dict.fromkeys(name for row in rows for panel in row
                               for name in panel.series))
    colours = dict(zip(names, COLOURS))
    width = LEFT + max(map(len, rows)) * (size[0] + GAP)
    height = TOP + len(rows) * (size[1] + GAP) + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="11">'
           "<style>rect{fill:none;stroke:#888}line{stroke:#c00}"
           "polyline{fill:none;stroke-width:.8}.end{text-anchor:end}</style>"
           '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>']
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            out.append(_draw(panel, (LEFT + j * (size[0] + GAP),
                                     TOP + i * (size[1] + GAP)), size, colours))
    for i, name in enumerate(names if len(names) > 1 else ()):
        out.append(f'<g fill="{colours[name]}">'
                   + _text(LEFT + 110 * i, height - 6, name) + "</g>")
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")

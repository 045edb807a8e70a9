# SPDX-License-Identifier: Apache-2.0
"""Writing results: a table for people, CSV and JSON for programs."""
import csv
import io
import json
import textwrap

from codec_report import repeats
from codec_report.metrics import METRICS

BOLD, GREEN, RESET = "\033[1m", "\033[32m", "\033[0m"
NONE = "-"
HEADING = 26  # columns that a line of a heading takes


def show(metric, value):
    """A value as the table writes it."""
    if value is None:
        return NONE
    if metric.shown == "count":
        return f"{int(value)}"
    if metric.shown == "share":
        return f"{value * 100:.2f} %"
    if metric.shown == "ms":
        return f"{value:.3f}" if value < 100 else f"{value:.1f}"
    if metric.shown == "score":
        return f"{value:.2f}"
    return f"{value:.3f}" if metric.shown == "index" else f"{value:.1f}"


def best_of(metric, values):
    """Indexes of the best values; none when they do not differ."""
    known = [v for v in values if v is not None]
    if not metric.better or len(known) < 2 or len(set(known)) == 1:
        return set()
    best = max(known) if metric.better > 0 else min(known)
    return {i for i, v in enumerate(values) if v == best}


def mark_of(metric, columns, best):
    """What is put to the best values: "*", or "~" where noise could explain
    their difference to another one. Without repeated runs nobody knows: ""."""
    samples = [c.values.get("samples", {}).get(metric.key) for c in columns]
    chosen = [samples[i] for i in best]
    others = [s for i, s in enumerate(samples)
              if i not in best and columns[i].values.get(metric.key)
              is not None]
    if not any(chosen + others):
        return ""
    sure = all(one and two and repeats.differ(one, two)
               for one in chosen for two in others)
    return "*" if sure else "~"


def _show_cell(metric, column):
    text = show(metric, column.values.get(metric.key))
    low_high = column.values.get("interval", {}).get(metric.key)
    if not low_high or low_high[0] == low_high[1]:
        return text
    low, high = (show(metric, value).removesuffix(" %") for value in low_high)
    return f"{text} ({low}..{high})"


class Column:
    """One scheduler of one run in a comparison. heading: unlike any other's;
    scheduler: its name, which colours go by."""

    def __init__(self, run, heading, values, scheduler=""):
        self.run, self.heading, self.values = run, heading, values
        self.scheduler = scheduler or heading


def rows(columns, chosen=METRICS):
    """The rows of a comparison: (metric, [(value, as text, "*" or "~" when
    it is the best)]). chosen: the metrics that are looked at."""
    for metric in chosen:
        values = [c.values.get(metric.key) for c in columns]
        if all(v is None for v in values):
            continue
        if metric.optional and not any(values):
            continue
        best = best_of(metric, values)
        mark = mark_of(metric, columns, best)
        yield metric, [(c.values.get(metric.key), _show_cell(metric, c),
                        mark if i in best else "")
                       for i, c in enumerate(columns)]


def _cell(text, best, width, colour):
    padded = f"{text + (best or ' '):>{width}}"
    return f"{GREEN}{BOLD}{padded}{RESET}" if best == "*" and colour \
        else padded


def table(title, columns, width=80, colour=False, chosen=METRICS):
    """Lines of a comparison: metrics down, columns across, best marked '*'
    where runs were repeated.

    Columns that do not fit into width follow below, as a table of their own.
    """
    shown = [(metric.title, cells) for metric, cells in rows(columns, chosen)]
    left = max([len(name) for name, _ in shown] + [len(title)])
    heads = [textwrap.wrap(c.heading, HEADING, break_long_words=False)
             for c in columns]
    cell = max([len(text) for _, cells in shown for _, text, _ in cells]
               + [len(line) for head in heads for line in head]) + 3
    fit = max((width - left) // cell, 1)
    lines = []
    for begin in range(0, len(columns), fit):
        part = heads[begin:begin + fit]
        most = max(map(len, part))
        part = [[""] * (most - len(head)) + head for head in part]
        for i, head in enumerate(zip(*part), 1):
            lines.append(f"{title if i == most else '':<{left}}"
                         + "".join(f"{h + ' ':>{cell}}" for h in head))
            if colour:
                lines[-1] = f"{BOLD}{lines[-1]}{RESET}"
        for name, cells in shown:
            lines.append(f"{name:<{left}}"
                         + "".join(_cell(text, best, cell, colour)
                                   for _, text, best
                                   in cells[begin:begin + fit]))
        lines.append("")
    return [line.rstrip() for line in lines]


def as_csv(reports):
    """CSV: a line per run, scheduler and group; columns are the metrics. Of
    repeated runs every repetition has its lines."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "scheduler", "begin_s", "end_s", "group"]
                    + [metric.key for metric in METRICS])
    for report in (one for r in reports for one in r.get("repetitions", [r])):
        for section in report["schedulers"]:
            for group in section["groups"]:
                writer.writerow(
                    [report["run"], section["scheduler"], section["begin_s"],
                     section["end_s"], group["group"]]
                    + [group[metric.key] for metric in METRICS])
    return out.getvalue()


def as_json(reports, verdicts=()):
    """JSON: {"verdict": [...], "runs": [...]}, keys and units as in CSV, times
    in seconds. verdicts: one for each campaign."""
    return json.dumps({"verdict": list(verdicts), "runs": reports}, indent=2,
                      allow_nan=False) + "\n"

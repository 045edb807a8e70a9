# SPDX-License-Identifier: Apache-2.0
"""The short table: at most twelve rows of the phases of a Family."""
from codec_report import bootstrap, offered, table
from codec_report.metric import Metric

ROWS = 12
#: Of a run with phases: what is looked at in which.
PHASED = {
    "calm": ("lost_share", "delay_p99_ms", "mos_mean"),
    "high": ("demand", "floor", "lost_share", "call_loss_max",
             "in_time_share", "delay_p99_ms", "mos_mean"),
    "after": ("lost_share", "delay_p99_ms")}
#: Of a run that is one phase.
SINGLE = ("offered", "demand", "floor", "lost_share", "call_loss_max", "in_time_share",
          "delay_p50_ms", "delay_p99_ms", "delay_max_ms", "mos_mean",
          "mos_min")
#: In place of losses, where there are none.
MISSED = {"lost_share": "missed_share", "call_loss_max": "call_missed_max",
          "in_time_share": None}
FILES = (Metric("conversions_done", "conversions done", "count", 1),
         Metric("turnaround_mean_ms", "turnaround mean, ms", "ms", -1))
#: Of a column, by its own trace.
ASKED = (Metric("demand", "demand", "share"),
         Metric("floor", "1 - 1/demand", "share"))
_BY_KEY = {metric.key: metric for metric in (*offered.METRICS, *ASKED)}


def _chosen(family, lead):
    """[(phase, key)] of the rows."""
    out = []
    for phase in family.phases:
        name = "high" if phase.name in ("overload", "peak") else phase.name
        keys = SINGLE if len(family.phases) == 1 else PHASED[name]
        if lead == "missed_share":
            keys = [MISSED.get(key, key) for key in keys]
        out += [(phase.name, key) for key in keys if key]
    return out


def _asked(member, phase, key):
    """What frames asked for, or must lose by that; None: not known."""
    demand = member.demand(phase)
    if key == "demand" or demand is None:
        return demand
    return max(0.0, 1 - 1 / demand) if demand else 0.0


def _values(member, chosen):
    """{"PHASE.KEY": median}, with "samples" and "interval" of repetitions, as
    table.Column has them."""
    out = {"samples": {}, "interval": {}}
    for phase, key in chosen:
        name = f"{phase}.{key}"
        if key in ("demand", "floor"):
            out[name] = _asked(member, phase, key)
        else:
            bootstrap.add_median(out, name, member.values(phase, key))
    files = {"samples": out["samples"]}
    for metric in FILES:
        bootstrap.add_median(files, metric.key, member.files(metric.key))
    if len(member.samples) < 2:  # one run shows no spread
        out["samples"], out["interval"] = {}, {}
    return files | out


def columns(family, lead, intervals=True):
    """([table.Column], [Metric]) of the short table. lead: what the verdict
    compares by, "lost_share" or "missed_share"; intervals: of repetitions,
    shown beside the medians."""
    chosen = _chosen(family, lead)
    several = len(family.phases) > 1
    made = [table.Column(m.label, m.label, _values(m, chosen), m.scheduler)
            for m in family.members]
    for column in made if not intervals else ():
        column.values["interval"] = {}
    rows = []
    for phase, key in chosen:
        metric = _BY_KEY[key]
        title = metric.title.replace("call", "task") if family.synthetic \
            else metric.title
        rows.append(Metric(f"{phase}.{key}", f"{phase:<9}" * several + title,
                           metric.shown, metric.better))
    rows = [metric for metric in [*rows, *FILES]
            if any(c.values[metric.key] is not None for c in made)]
    return made, rows[:ROWS]

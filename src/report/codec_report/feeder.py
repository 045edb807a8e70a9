# SPDX-License-Identifier: Apache-2.0
"""The feeder's side of a run: what came back, per call, from calls.csv.

calls.csv has a header line and a line per call. Columns that are used, all
optional and in any order; others are ignored:

  call                       the daemon's number of the call
  flow                       its flow in the campaign
  codec_in, codec_out        as in the trace; used for calls it lacks
  sent, received, lost, late frames
  delay_p99_ms               send to receive (also _us and _ns)
"""
import math

from codec_report.metrics import FEEDER_COUNTS, FEEDER_METRICS

#: A column by its units: {suffix: factor to ms}.
TIMES = (("_ms", 1.0), ("_us", 1e-3), ("_ns", 1e-6))


def number(text):
    """A cell as a finite number, None when it is none."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def call_number(row):
    """The daemon's call number of a row, None when it has none."""
    text = row.get("call") or ""
    return int(text) if text.isascii() and text.isdigit() else None


def flows(rows):
    """{call number: flow} of the rows that have both."""
    return {call_number(row): row["flow"] for row in rows or []
            if row.get("flow") and call_number(row) is not None}


def _time_ms(row, name):
    for suffix, factor in TIMES:
        value = number(row.get(name + suffix))
        if value is not None:
            return value * factor
    return None


def _label(row, by, labels):
    call = call_number(row)
    if by == "flow":
        return row.get("flow") or "unknown flow"
    if call in labels:
        return labels[call]
    if by == "codec" and row.get("codec_in"):
        return f"{row['codec_in']} -> {row.get('codec_out', '')}"
    return "unknown"


def _sum(rows):
    out = dict.fromkeys((m.key for m in FEEDER_METRICS))
    for name in FEEDER_COUNTS:
        known = [n for n in (number(row.get(name)) for row in rows)
                 if n is not None]
        if known:
            out[f"feeder_{name}"] = int(sum(known))
    delays = sorted(d for d in (_time_ms(row, "delay_p99") for row in rows)
                    if d is not None)
    if delays:
        out["feeder_delay_p99_median_ms"] = delays[(len(delays) - 1) // 2]
        out["feeder_delay_p99_worst_ms"] = delays[-1]
    return out


def measure(rows, by, labels):
    """{label: {feeder_*: value}}, with "all" first when there are several.

    labels: {call number: label} as the trace has them.
    """
    groups = {}
    for row in rows:
        groups.setdefault(_label(row, by, labels), []).append(row)
    out = {"all": _sum(rows)} if len(groups) > 1 else {}
    out.update((label, _sum(groups[label])) for label in sorted(groups))
    return out

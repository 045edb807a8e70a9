# SPDX-License-Identifier: Apache-2.0
"""The feeder's side of a run: what came back, from streams.csv and run.json.

streams.csv has a header line and a line per stream. Columns that are used, all
optional and in any order; others are ignored:

  stream                     the daemon's number of the stream
  flow                       its flow in the campaign
  codec_in, mode_in, codec_out, mode_out as in the trace; used for streams it
                             lacks
  sent, received, lost, late frames
  withheld                   frames that the network model lost on the way to us
  delay_mean_ms, delay_p99_ms, delay_max_ms send to receive

"with p99 <= 10 ms" are the streams of which a frame came back and delay_p99_ms is
no more. A media proxy's runs (codec-feeder --ng) have this side only.

run.json has what streams.csv cannot give: quantiles over all frames, in "total"
and in "flows" (objects with "flow", and "delay" and "jitter" with "p99_ns", and
"delay" with "p50_ns"), and "loss", the share of the frames that did not come back.
They are shown for groups that are a flow, or the whole run; and "scheduler",
or "peer" with "name", for runs without a trace. "feeder" has "late_max_ns". "conversions" has "count", "done",
"turnaround_..._ns", "times_real_time" and "ids", the daemon's numbers of
them.
"""
import math

from codec_report import quality, recovery
from codec_report.emodel import Description
from codec_report.metrics import FEEDER_COUNTS, FEEDER_METRICS

#: The group of a run's conversions.
CONVERSIONS = "conversions"
WITHIN_MS = 10


def number(text):
    """A cell as a finite number, None when it is none."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def stream_number(row):
    """The daemon's stream number of a row, None when it has none."""
    text = row.get("stream") or ""
    return int(text) if text.isascii() and text.isdigit() else None


def flows(rows):
    """{stream number: flow} of the rows that have both."""
    return {stream_number(row): row["flow"] for row in rows or []
            if row.get("flow") and stream_number(row) is not None}


def withheld(rows):
    """{stream number: frames the network model lost} of the rows that say."""
    found = {stream_number(row): number(row.get("withheld"))
             for row in rows or []}
    return {stream: int(lost) for stream, lost in found.items()
            if stream is not None and lost and lost > 0}


def _label(row, by, labels):
    stream = stream_number(row)
    if by == "flow":
        return row.get("flow") or "unknown flow"
    if stream in labels:
        return labels[stream]
    if by == "codec" and row.get("codec_in"):
        return Description(*(row.get(name) for name in (
            "codec_in", "mode_in", "codec_out", "mode_out"))).label
    return "unknown"


def _known(rows, name):
    """The numbers of a column."""
    found = [number(row.get(name)) for row in rows]
    return [value for value in found if value is not None]


def _mean_delay(rows):
    """Over frames: the calls' means by what they received."""
    known = [(number(row.get("delay_mean_ms")), number(row.get("received")))
             for row in rows]
    known = [(mean, n) for mean, n in known if mean is not None and n]
    frames = sum(n for _, n in known)
    return sum(mean * n for mean, n in known) / frames if frames else None


def _within(rows):
    """How many calls have a p99 delay that nobody hears."""
    return sum(bool(number(row.get("received")))
               and (number(row.get("delay_p99_ms")) or 0) <= WITHIN_MS
               for row in rows)


def _sum(rows):
    out = dict.fromkeys(m.key for m in FEEDER_METRICS)
    out["feeder_streams"] = len(rows)
    if _known(rows, "delay_p99_ms"):
        out["feeder_streams_within"] = _within(rows)
    for name in FEEDER_COUNTS:
        known = _known(rows, name)
        if known:
            out[f"feeder_{name}"] = int(sum(known))
    out["feeder_delay_mean_ms"] = _mean_delay(rows)
    for key, name in (("p99_worst", "p99"), ("max", "max")):
        out[f"feeder_delay_{key}_ms"] = max(
            _known(rows, f"delay_{name}_ms"), default=None)
    return out | quality.measure(_known(rows, "pesq"))


def _tally(summary, rows, everything):
    """What run.json says about exactly these rows; {} when nothing."""
    if len(rows) == len(everything):
        tally = summary.get("total")
    else:
        names = {row.get("flow") for row in rows}
        whole = sum(row.get("flow") in names for row in everything)
        found = summary.get("flows")
        if len(names) > 1 or whole != len(rows) or \
                not isinstance(found, list):
            return {}
        tally = next((f for f in found if isinstance(f, dict)
                      and f.get("flow") in names), None)
    return tally if isinstance(tally, dict) else {}


def _quantiles(tally):
    out = {"feeder_loss": number(tally.get("loss"))}
    for name, quantile in (("delay", "p99"), ("delay", "p50"),
                           ("jitter", "p99")):
        if isinstance(tally.get(name), dict):
            value = number(tally[name].get(f"{quantile}_ns"))
            out[f"feeder_{name}_{quantile}_ms"] = value and value / 1e6
    return out


def _conversions(summary):
    value = (summary or {}).get("conversions")
    return value if isinstance(value, dict) else {}


def conversion_ids(summary):
    """The daemon's numbers of a run's conversions, a list."""
    ids = _conversions(summary).get("ids")
    return [n for n in ids if isinstance(n, int) and 0 < n < 1 << 32] \
        if isinstance(ids, list) else []


def _conversion_group(summary):
    value = _conversions(summary)
    out = {"conversions": number(value.get("count")),
           "conversions_done": number(value.get("done")),
           "times_real_time": number(value.get("times_real_time"))}
    for name in ("mean", "p50", "max"):
        ns = number(value.get(f"turnaround_{name}_ns"))
        out[f"turnaround_{name}_ms"] = ns / 1e6 if ns else None
    return out


def late_ms(summary):
    """How much behind the campaign's time the feeder sent a frame, at most;
    None when it does not say."""
    own = (summary or {}).get("feeder")
    late = number(own.get("late_max_ns")) if isinstance(own, dict) else None
    return None if late is None else late / 1e6


def peer_name(summary):
    """The media proxy that was called in codec-runner's place; None."""
    peer = (summary or {}).get("peer")
    return peer.get("name") if isinstance(peer, dict) else None


def measure(rows, summary, by, labels, frames=None):
    """{label: {feeder_*: value}}, with "all" first when there are several.

    summary: run.json. labels: {stream number: label} as the trace has them.
    frames: records of frames.bin, where there are any.
    """
    groups = {}
    for row in rows:
        groups.setdefault(_label(row, by, labels), []).append(row)
    parts = [("all", rows)] if len(groups) > 1 else []
    parts += sorted(groups.items())
    out = {label: _sum(part) | _quantiles(_tally(summary, part, rows))
           for label, part in parts}
    if frames is not None:
        for label, part in parts:
            out[label]["feeder_recovery_ms"] = recovery.measure(
                frames, [stream_number(row) or 0 for row in part])
    if _conversions(summary):
        out[CONVERSIONS] = _conversion_group(summary)
    return out

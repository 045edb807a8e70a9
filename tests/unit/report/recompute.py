#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of codec-report once more, from the raw trace and in plain
Python: one pass over the bytes, lists and dicts, sorted samples. Shares no
code with the package, and is slow.

  recompute.py TRACE    prints {group: {metric: value}} of a run under one
                        scheduler, groups by codec pair, as JSON
"""
import json
import math
import statistics
import struct
import sys

JOB = struct.Struct("<BBHIIHHqqqqqqqIIqI")
CALL = struct.Struct("<BBHIqq16s8s16s8sIIQ")
DONE, CANCELLED, BAD = 0, 4, 5
NAMES = ["done", "overwritten", "expired", "concealed", "cancelled", "bad",
         "send_failed", "unreceived", "unbuffered", "shed"]
NEVER = 2 ** 63 - 1


def read(path):
    """(workers, [call tuple], [job dict]) of a trace file."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"CRTRACE1"
    text = struct.unpack_from("<I", data, 12)[0]
    head = json.loads(data[24:24 + text])
    calls, jobs = [], []
    size = struct.unpack_from("<I", data, 8)[0]
    for at in range(24 + text, len(data) - size + 1, size):
        if data[at] == 2:
            calls.append(CALL.unpack_from(data, at))
        elif data[at] == 1:
            r = JOB.unpack_from(data, at)
            jobs.append(dict(zip(
                ("kind", "outcome", "worker", "task", "seq", "in", "out",
                 "arrival", "release", "pick", "start", "end", "sent",
                 "deadline", "ts", "codec", "away", "buffered"), r)))
    return head.get("workers"), calls, jobs


def rank(values, share):
    """Nearest rank, from a sorted copy."""
    values = sorted(values)
    return values[max(math.ceil(len(values) * share - 1e-9), 1) - 1]


def spread(out, key, values):
    for name, share in (("p50", .5), ("p99", .99), ("p999", .999),
                        ("max", 1)):
        out[f"{key}_{name}_ms"] = rank(values, share) / 1e6 if values else None


def jitters(frames, ptime):
    """Deviations of sending and of picking in one call's frames."""
    steps = [(b["ts"] - a["ts"]) % 2 ** 32 for a, b in zip(frames, frames[1:])
             if b["seq"] - a["seq"] == 1]
    step = min((s for s in steps if 0 < s < 2 ** 31), default=0)

    def pairs(stamp, chosen, adjacent):
        chosen = [f for f in frames if chosen(f)]
        for a, b in zip(chosen, chosen[1:]):
            n = b["seq"] - a["seq"]
            paused = step and (b["ts"] - a["ts"]) % 2 ** 32 > step * n
            if not paused and (n == 1 or not adjacent):
                yield abs(b[stamp] - a[stamp] - ptime)
    return (list(pairs("sent", lambda f: f["outcome"] == DONE and f["sent"],
                       True)),
            list(pairs("pick", lambda f: f["pick"] and (
                f["outcome"] == DONE or f["start"]), False)))


def behind(frames, ptime):
    """By how much later than the timestamps say each frame of a call came."""
    steps = [(b["ts"] - a["ts"]) % 2 ** 32 for a, b in zip(frames, frames[1:])
             if b["seq"] - a["seq"] == 1]
    step = min((s for s in steps if 0 < s < 2 ** 31), default=0)
    late = [f["arrival"] - (f["ts"] - frames[0]["ts"]) % 2 ** 32 * ptime
            // step for f in frames] if step else []
    return [value - min(late) for value in late]


def losses(calls):
    shares = []
    for frames in calls.values():
        lost = sum(f["outcome"] not in (DONE, CANCELLED, BAD) for f in frames)
        done = sum(f["outcome"] == DONE for f in frames)
        if lost + done:
            shares.append(lost / (lost + done))
    mean = sum(shares) / len(shares)
    ordered = sorted(shares)
    n = len(ordered)
    squares = sum(s * s for s in shares)
    return {"call_loss_min": ordered[0], "call_loss_max": ordered[-1],
            "call_loss_median": (ordered[(n - 1) // 2] + ordered[n // 2]) / 2,
            "call_loss_sd": math.sqrt(sum((s - mean) ** 2
                                          for s in shares) / n),
            "call_loss_jain": sum(shares) ** 2 / (n * squares)
            if squares else None}


def delay_parts(out, sent):
    parts = {"buffer": [], "queue": [], "codec": [], "send": [],
             "playout": []}
    for f in sent:
        parts["buffer"].append(f["release"] - f["arrival"])
        parts["queue"].append(f["start"] - f["release"] + f["away"])
        parts["codec"].append(f["end"] - f["start"] - f["away"])
        parts["send"].append(f["sent"] - f["end"])
        parts["playout"].append(f["buffered"])
    for name, values in parts.items():
        out[f"delay_{name}_mean_ms"] = sum(values) / len(values) / 1e6
        out[f"delay_{name}_p99_ms"] = rank(values, .99) / 1e6
    out["delay_mean_ms"] = sum(f["sent"] - f["arrival"] + f["buffered"]
                               for f in sent) / len(sent) / 1e6


def rating(ptime, frames, ie, bpl, ahead):
    """(R, frames, too late): G.107 with its defaults, written down from what
    they come to, at a play-out of 60 ms."""
    counted = [f for f in frames if f["outcome"] not in (CANCELLED, BAD)]
    delays = [f["sent"] - f["arrival"] for f in counted
              if f["outcome"] == DONE]
    fast = min(delays, default=0)
    gone = [f["outcome"] != DONE or f["sent"] - f["arrival"] > fast + 60e6
            for f in counted]
    p = sum(gone) / len(gone)
    everything = [f["outcome"] not in (CANCELLED, BAD) and (
        f["outcome"] != DONE or f["sent"] - f["arrival"] > fast + 60e6)
        for f in frames]
    runs = sum(b and not a for a, b in zip([False] + everything, everything))
    burst = min(max(sum(gone) / runs * (1 - p), 1), 8) if runs else 1
    t = (ptime + fast) / 1e6 + 60 + ahead
    echo = 94.7688 - 2.5 * (65 - 40 * math.log10((1 + t / 10) / (1 + t / 150))
                            - 14) - 80
    idte = echo / 2 + math.sqrt(echo ** 2 / 4 + 100) - 1
    listen = 94.7688 - 1228.5 / (2 * t + 1) ** .25
    idle = listen / 2 + math.sqrt(listen ** 2 / 4 + 169)
    x = math.log(t / 100, 2) if t > 100 else 0
    idd = 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6)
                + 2)
    r = 94.7688 - 1.41355 - idte - idle - idd - ie - (95 - ie) * 100 * p / (
        100 * p / burst + bpl)
    return max(r, 0), len(counted), sum(gone) - sum(
        f["outcome"] != DONE for f in counted)


#: Ie, Bpl and look-ahead, ms, of the pairs that the test uses.
PAIRS = {"pcmu -> amr/12.2": (5, 10, 5), "l16 -> g723_1/6.3": (15, 16.1, 7.5)}


def quality(out, calls, ptimes, pairs):
    found = [rating(ptimes[c], frames, *PAIRS[pairs[c]])
             for c, frames in calls.items()]
    mos = [max(1 + .035 * r + 7e-6 * r * (r - 60) * (100 - r), 1)
           for r, _, _ in found]
    ordered, n = sorted(mos), len(mos)
    out.update(r_mean=sum(r for r, _, _ in found) / n, mos_mean=sum(mos) / n,
               mos_min=ordered[0],
               mos_median=(ordered[(n - 1) // 2] + ordered[n // 2]) / 2,
               playout_loss_share=sum(late for _, _, late in found)
               / sum(n for _, n, _ in found))


def trimmed_us(values):
    """The mean of a list without a twentieth at each end."""
    cut = int(len(values) * .05)
    kept = sorted(values)[cut:len(values) - cut]
    return sum(kept) / len(kept) / 1e3 if kept else None


def mark_turns(jobs):
    """Give each job that was worked on "same", whether the worker's turn
    before was its call's, and "turn": from the end of that one, if the job
    waited by then, else from its pick, to its end, or until it is sent if the
    worker rests then."""
    workers = {}
    for job in jobs:
        if job["start"] and job["pick"] and job["worker"] != 0xFFFF:
            workers.setdefault(job["worker"], []).append(job)
    held = int(statistics.median(j["end"] - j["pick"] for mine in
                                 workers.values() for j in mine))
    for mine in workers.values():
        mine.sort(key=lambda j: j["pick"])
        for before, job in zip([None] + mine, mine):
            job["same"] = bool(before) and before["task"] == job["task"]
            job["waited"] = bool(before) and (
                job["arrival"] <= before["end"] <= job["pick"]
                and job["release"] <= before["end"] + held)
        for before, job, after in zip([None] + mine, mine, mine[1:] + [None]):
            ends = job["end"]
            if not after or not after["waited"]:
                ends = max(ends, min(job["sent"], after["pick"] if after
                                     else job["sent"]))
            job["turn"] = ends - (before["end"] if job["waited"]
                                  else job["pick"])


def rows(jobs):
    turns = [j for j in jobs if "same" in j]
    out = {"row_share": sum(j["same"] for j in turns) / len(turns)}
    for name, same in (("first", False), ("later", True)):
        mine = [j for j in turns
                if j["same"] == same and j["outcome"] == DONE]
        out[f"row_{name}_us"] = trimmed_us([j["codec"] for j in mine])
        out[f"row_{name}_turn_us"] = trimmed_us([j["turn"] for j in mine])
    return out


def measure(jobs, ptimes, workers, seconds, pairs):
    calls = {}
    for job in sorted(jobs, key=lambda j: (j["task"], j["seq"])):
        calls.setdefault(job["task"], []).append(job)
    out = {"tasks": len(calls), "jobs": len(jobs)}
    for code, name in enumerate(NAMES):
        out[f"drop_{name}" if code else name] = sum(
            j["outcome"] == code for j in jobs)
    out["lost"] = sum(j["outcome"] not in (DONE, CANCELLED, BAD)
                      for j in jobs)
    out["lost_per_s"] = out["lost"] / seconds
    sent = [j for j in jobs if j["outcome"] == DONE and j["sent"]]
    spread(out, "delay", [j["sent"] - j["arrival"] + j["buffered"]
                          for j in sent])
    delay_parts(out, sent)
    both = [jitters(frames, ptimes[c]) for c, frames in calls.items()]
    spread(out, "jitter", [d for one, _ in both for d in one])
    spread(out, "sched_jitter", [d for _, two in both for d in two])
    out["behind_p99_ms"] = rank(
        [value for c, frames in calls.items()
         for value in behind(frames, ptimes[c])], .99) / 1e6
    due = [j for j in jobs if j["outcome"] == DONE
           and 0 < j["deadline"] < NEVER]
    out["late_share"] = sum(j["sent"] > j["deadline"] for j in due) / len(due)
    owed = [j for j in jobs if 0 < j["deadline"] < NEVER
            and j["outcome"] not in (CANCELLED, BAD)]
    out["in_time_share"] = sum(j["outcome"] == DONE and j["sent"] <=
                               j["deadline"] for j in owed) / len(owed)
    out.update(losses(calls))
    worked = [j for j in jobs if j["start"] and j["worker"] != 0xFFFF]
    busy = sum(j["end"] - j["pick"] - j["away"] for j in worked)
    out["busy_share"] = busy / 1e9 / seconds / workers
    out["codec_share"] = sum(j["codec"] for j in jobs) / busy
    out.update(rows(jobs))
    if set(pairs.values()) <= set(PAIRS):
        quality(out, calls, ptimes, pairs)
    return out


def pair_of(c):
    codec_in, mode_in, codec_out, mode_out = (
        text.rstrip(b"\0").decode() for text in c[6:10])
    return " -> ".join("/".join(filter(None, side)) for side in (
        (codec_in, mode_in), (codec_out, mode_out)))


def recompute(path):
    workers, calls, jobs = read(path)
    ptimes = {c[3]: c[2] * 250000 for c in calls}
    pairs = {c[3]: pair_of(c) for c in calls}
    arrivals = [j["arrival"] for j in jobs]
    seconds = (max(arrivals) - min(arrivals)) / 1e9
    mark_turns(jobs)
    out = {"all": measure(jobs, ptimes, workers, seconds, pairs)}
    for pair in set(pairs.values()):
        members = {c: p for c, p in pairs.items() if p == pair}
        out[pair] = measure([j for j in jobs if j["task"] in members],
                            ptimes, workers, seconds, members)
    return out


if __name__ == "__main__":
    print(json.dumps(recompute(sys.argv[1]), indent=1))

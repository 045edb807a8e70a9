# SPDX-License-Identifier: Apache-2.0
"""Files of other programs as campaigns and traces, and back.

--import FILE RUN makes RUN of FILE; the end of FILE's name is its format.

.csv     a table of jobs, a line each, becomes a folder with a trace, which
         codec-sim --replay plays. The first line names the columns, in any
         order; times end in their unit: _ns, _us, _ms or _s.
           task       its name or number
           arrival    when the job came (arrival_ms)
           cost       CPU time that it took (cost_us); empty: not known, and
                      drawn from the others of its kind
           deadline   of the task, from a job's arrival (period)
           period     of the task (the median distance of its arrivals)
           class      hard, soft or best-effort (soft)
           weight, nice       of the task (1024, 0)
           importance         of the job, 1 to 255 (0: not known)
           codec_in, codec_out  the names of the task's codecs
.pcap, .pcapng  the streams of RTP in a capture become a campaign: a flow for
         each codec and packet time, with as many calls as there were streams,
         their start, length and loss. It needs tshark, which also reads payload
         types from SDP in the capture; streams that stay unknown, or are no
         speech, are left out and noted. A capture does not show the output of
         a call: it is AMR 12.2, or PCMU from AMR.
.json    a workload of rt-app becomes a campaign of flows without codecs: a
         task with run or runtime and a timer is a periodic flow, with sleep in
         place of the timer a closed one, without both a loop. SCHED_DEADLINE
         is hard, SCHED_IDLE and loops are best-effort, the others soft with
         the period as deadline. Features that a campaign lacks are refused.

--export FILE.json RUN writes the flows without codecs of the campaign RUN as
a workload of rt-app: hard ones under SCHED_DEADLINE, with a job's cost as
their runtime, soft ones under SCHED_OTHER with their niceness, best-effort
ones under SCHED_IDLE. It needs the Python package yaml (python3-yaml).
"""
import csv
import json
import os
import re
import shutil
import statistics
import subprocess

import numpy as np

from codec_report import ReportError, access, parse_json, write_file
from codec_report.trace import (CLASSES, HEADER, JOB, JOB_RECORD, MAGIC,
                                NEVER, NO_WORKER, OUTCOMES, TASK, TASK_RECORD)

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
TIMES = ("arrival", "cost", "deadline", "period")
EPOCH = 10**9  # where a trace begins: 0 is never
#: rtpmap's names, and ours: RFC 3551 and the codecs' own.
CODECS = {"PCMU": "pcmu", "PCMA": "pcma", "G723": "g723_1", "GSM": "gsm",
          "G722": "g722", "AMR": "amr", "AMR-WB": "amr-wb", "OPUS": "opus",
          "SPEEX": "speex", "G726-32": "g726-32"}
STATIC = {0: ("PCMU", 8000), 3: ("GSM", 8000), 4: ("G723", 8000),
          8: ("PCMA", 8000), 9: ("G722", 8000)}
CLOCKS = {"AMR-WB": 16000, "OPUS": 48000}


def _time(ns):
    return f"{max(round(ns), 1)}ns"


# --- CSV to a trace ---

def _columns(head, path):
    """Column number and factor of each name."""
    found = {}
    for i, title in enumerate(head):
        name, _, unit = title.strip().lower().rpartition("_")
        if name in TIMES and unit in UNITS:
            found[name] = i, UNITS[unit]
        else:
            found[title.strip().lower()] = i, None
    for name in TIMES:
        if name in found and found[name][1] is None:
            raise ReportError(f"{path}: column {name} needs a unit: {name}_us")
    for name in ("task", "arrival", "cost"):
        if name not in found:
            raise ReportError(f"{path}: column {name} is missing; it has "
                              f"{', '.join(head)}")
    return found


def _row(fields, columns, where):
    """A line as a dict; times in ns, None where nothing is said."""
    row = {}
    for name, (i, factor) in columns.items():
        text = fields[i].strip() if i < len(fields) else ""
        try:
            row[name] = None if not text else \
                round(float(text) * factor) if factor else text
        except (ValueError, OverflowError):
            raise ReportError(f"{where}: {name} is no number: {text!r}") \
                from None
        if factor and row[name] is not None and not 0 <= row[name] < 2**62:
            raise ReportError(f"{where}: {name} is out of range: {text!r}")
    if row["task"] is None or row["arrival"] is None:
        raise ReportError(f"{where}: task or arrival is missing")
    return row


def _integer(row, name, bounds, default, where):
    text = row.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"-?\d{1,9}", text) or \
            not bounds[0] <= int(text) <= bounds[1]:
        raise ReportError(f"{where}: {name} is none of {bounds[0]} to "
                          f"{bounds[1]}: {text!r}")
    return int(text)


def _read_csv(path):
    try:
        with access(path), open(path, encoding="utf-8", newline="") as f:
            lines = csv.reader(f)
            columns = _columns(next(lines, []), path)
            return [_row(fields, columns, f"{path}:{lines.line_num}")
                    for fields in lines if any(fields)]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: {error}") from None


def _period(rows):
    """Of the task: as given, or the median distance of its arrivals."""
    if rows[0].get("period"):
        return rows[0]["period"]
    at = sorted(row["arrival"] for row in rows)
    apart = [b - a for a, b in zip(at, at[1:]) if b > a]
    return round(statistics.median(apart)) if apart else 20 * 10**6


def _task_record(number, name, rows, path):
    row, where = rows[0], f"{path}: task {name}"
    cls = row.get("class") or "soft"
    if cls not in CLASSES:
        raise ReportError(f"{where}: class is none of {', '.join(CLASSES)}: "
                          f"{cls!r}")
    period = _period(rows)
    deadline = row.get("deadline") or period
    texts = [(row.get(key) or default).encode()[:15] for key, default in
             (("codec_in", "imported"), ("codec_out", "synthetic"))]
    return {"kind": TASK, "cls": CLASSES.index(cls), "task": number,
            "ptime": min(round(period / 250e3), 65535), "start": EPOCH,
            "rel_deadline": NEVER if cls == "best-effort" else deadline,
            "codec_in": texts[0], "codec_out": texts[1],
            "weight": _integer(row, "weight", (1, 100000), 1024, where),
            "nice": _integer(row, "nice", (-20, 19), 0, where)}


def _job_record(number, seq, row, path):
    at, cost = row["arrival"] + EPOCH, row["cost"]
    if cost is not None and not 0 < cost < 2**32:
        raise ReportError(f"{path}: task {row['task']}: a cost is none of "
                          f"1 ns to 4.2 s")
    done = cost is not None
    end = at + cost if done else 0
    importance = _integer(row, "importance", (0, 255), 0, path)
    return {"kind": JOB, "outcome": OUTCOMES.index(
                "done" if done else "cancelled"),
            "worker": 0 if done else NO_WORKER, "task": number, "seq": seq,
            "arrival": at,
            **dict.fromkeys(("release", "pick", "start"), at if done else 0),
            "end": end, "sent": end, "deadline": at + row["deadline"]
            if row.get("deadline") else 0, "rtp_ts": seq,
            "codec_ns": cost or 0, "importance": importance}


def _records(kind, rows):
    """The bytes of records of a kind; rows: dicts with the same members, others
    are 0."""
    out = np.zeros(len(rows), kind)
    for name in rows[0]:
        out[name] = [row[name] for row in rows]
    return out.tobytes()


def csv_to_trace(path, folder):
    """Make the folder with the trace of the jobs in the table at path."""
    tasks = {}
    for row in _read_csv(path):
        tasks.setdefault(row["task"], []).append(row)
    if not tasks:
        raise ReportError(f"{path}: no job in it")
    first = min(row["arrival"] for rows in tasks.values() for row in rows)
    head = json.dumps({"imported": True, "live": False, "options": "",
                       "program": "codec-report", "scheduler": "imported",
                       "workers": 1}).encode()
    head += b" " * (-len(head) % 8)
    parts = [np.array([(MAGIC, JOB_RECORD.itemsize, len(head), 0)],
                      HEADER).tobytes(), head]
    for number, (name, rows) in enumerate(tasks.items(), 1):
        rows.sort(key=lambda row: row["arrival"])
        for row in rows:
            row["arrival"] -= first
        parts.append(_records(TASK_RECORD, [
            _task_record(number, name, rows, path)]))
        parts.append(_records(JOB_RECORD, [
            _job_record(number, seq, row, path)
            for seq, row in enumerate(rows)]))
    with access(folder):
        os.makedirs(folder, exist_ok=True)
    write_file(os.path.join(folder, "trace.bin"), b"".join(parts))
    return [f"written: {folder}: {sum(map(len, tasks.values()))} jobs of "
            f"{len(tasks)} tasks; play them: codec-sim --replay {folder}"]


# --- a capture to a campaign ---

FIELDS = ("frame.time_epoch", "ip.src", "ipv6.src", "udp.srcport", "ip.dst",
          "ipv6.dst", "udp.dstport", "rtp.ssrc", "rtp.seq", "rtp.timestamp",
          "rtp.p_type", "_ws.col.Info")


def _dissect(path):
    """The fields of each RTP packet."""
    if not shutil.which("tshark"):
        raise ReportError("a capture is read by tshark, which is not there; "
                          "install it (Debian: tshark)")
    if not os.path.isfile(path):
        raise ReportError(f"{path}: no such file")
    run = subprocess.run(
        ["tshark", "-n", "-r", path, "--enable-heuristic", "rtp_udp", "-Y",
         "rtp.ssrc", "-T", "fields", "-E", "occurrence=f",
         *(word for name in FIELDS for word in ("-e", name))],
        capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    if run.returncode and not lines:
        raise ReportError(f"{path}: tshark: "
                          f"{run.stderr.strip().splitlines()[-1:]}")
    return [line.split("\t") for line in lines]


def _encoding(pt, info):
    """Name and clock of a payload type."""
    if pt in STATIC:
        return STATIC[pt]
    match = re.search(r"PT=([^,]+)", info)
    name = (match[1] if match else "").upper().split("/")[0]
    return name, CLOCKS.get(name, 8000)


def _unwrapped(values, bits):
    """Counters that began anew at 2^bits, from the first on."""
    half, whole, out = 1 << bits - 1, 1 << bits, []
    for v in values:
        last = out[-1] if out else v
        out.append(last + (v - last + half) % whole - half)
    return out


def _stream(packets):
    """(encoding, ptime in ms, start, end, lost, sent) of one."""
    times = [p[0] for p in packets]
    seqs = _unwrapped([p[1] for p in packets], 16)
    stamps = _unwrapped([p[2] for p in packets], 32)
    name, clock = packets[0][3]
    order = sorted(zip(seqs, stamps))
    steps = [b[1] - a[1] for a, b in zip(order, order[1:])
             if b[0] == a[0] + 1 and b[1] > a[1]]
    ptime = statistics.median(steps) * 1e3 / clock if steps else 20
    sent = max(seqs) - min(seqs) + 1
    return (name, round(ptime), times[0], times[-1],
            max(sent - len(set(seqs)), 0), sent)


def _streams(path):
    found = {}
    for p in _dissect(path):
        p += [""] * (len(FIELDS) - len(p))
        pt = int(p[10] or "0", 0)
        encoding = _encoding(pt, p[11])
        key = (p[1] or p[2], p[3], p[4] or p[5], p[6], p[7], encoding)
        found.setdefault(key, []).append(
            (float(p[0]), int(p[8] or "0", 0), int(p[9] or "0", 0), encoding))
    return [_stream(packets) for packets in found.values()]


def _capture_flow(codec, ptime, streams, begin):
    starts = [s[2] - begin for s in streams]
    hold = statistics.mean(s[3] - s[2] for s in streams) + ptime / 1e3
    spread = max(starts) - min(starts)
    lost, sent = (sum(s[i] for s in streams) for i in (4, 5))
    out = "codec: pcmu" if codec == "amr" else "codec: amr, mode: 12.2"
    lines = [f"  - name: {codec}-{ptime}ms",
             f"    count: {len(streams)}",
             f"    in: {{codec: {codec}}}",
             f"    out: {{{out}}}",
             f"    hold: {{mean: {_time(hold * 1e9)}}}"]
    start = [f"{key}: {_time(value * 1e9)}" for key, value in
             (("at", min(starts)), ("spread", spread)) if value > 0]
    if start:
        lines.append(f"    start: {{{', '.join(start)}}}")
    if codec in ("pcmu", "pcma"):
        lines.append(f"    ptime: {ptime}ms")
    if lost:
        lines.append(f"    network: {{loss: {100 * lost / sent:.4f}%}}")
    return lines


def pcap_to_campaign(path, target):
    """Write the campaign of the RTP streams in the capture at path."""
    streams, notes = _streams(path), []
    known = {}
    for s in streams:
        codec = CODECS.get(s[0])
        if codec and s[5] > 1:
            known.setdefault((codec, s[1]), []).append(s)
        else:
            notes.append(f"left out: a stream of {s[5]} packets of "
                         f"{s[0] or 'an unknown payload type'}")
    if not known:
        raise ReportError(f"{path}: no stream of RTP of a known codec" +
                          "".join(f"; {note}" for note in notes[:5]))
    kept = [s for group in known.values() for s in group]
    begin = min(s[2] for s in kept)
    length = max(s[3] for s in kept) - begin
    lines = [f"# The RTP streams of {os.path.basename(path)}.",
             "# What they are transcoded to is not in a capture: change out.",
             "seed: 1", f"duration: {_time(length * 1e9 + 20e6)}",
             "schedulers: [edf]", "flows:"]
    for (codec, ptime), group in sorted(known.items()):
        lines += _capture_flow(codec, ptime, group, begin)
    write_file(target, "\n".join(lines) + "\n")
    return notes + [f"written: {target}: {len(kept)} calls"]


# --- rt-app ---

def _members(pairs):
    """An object of JSON with its keys in order, doubled ones, too: rt-app's
    workloads name events again."""
    out = dict(pairs)
    out[None] = pairs
    return out


def _read_rtapp(path):
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: {error}") from None
    strings = r'"(?:\\.|[^"\\])*"'
    text = re.sub(rf"({strings})|/\*.*?\*/|//[^\n]*",
                  lambda m: m[1] or " ", text, flags=re.DOTALL)
    text = re.sub(rf"({strings})|,(?=\s*[}}\]])", lambda m: m[1] or "", text)
    work = parse_json(text, f"{path}: is", object_pairs_hook=_members)
    if not isinstance(work, dict) or not isinstance(work.get("tasks"), dict):
        raise ReportError(f"{path}: no workload of rt-app: it has no tasks")
    return work


KNOWN = {"instance", "loop", "delay", "policy", "priority", "dl-runtime",
         "dl-period", "dl-deadline", "deadline", "cpus", "phases", "period"}


def _events(task, where):
    """Sums of what a job does, in us: run, sleep, the timer's period."""
    if "phases" in task:
        if not isinstance(task["phases"], dict):
            raise ReportError(f"{where}: phases is no object")
        phases = [v for k, v in task["phases"][None]]
        if len(phases) != 1:
            raise ReportError(f"{where}: has {len(phases)} phases; a flow is "
                              "one that repeats")
        if not isinstance(phases[0], dict):
            raise ReportError(f"{where}: its phase is no object")
        task = {**task, **phases[0],
                None: task[None] + phases[0][None]}
    sums = {"run": 0, "sleep": 0, "timer": 0}
    for key, value in task[None]:
        kind = re.sub(r"\d+$", "", key)
        kind = "run" if kind == "runtime" else kind
        if kind == "timer":
            value = value.get("period") if isinstance(value, dict) else None
        if kind in sums:
            if not isinstance(value, (int, float)) or value < 0:
                raise ReportError(f"{where}: {key} is no time")
            sums[kind] += value
        elif key not in KNOWN:
            raise ReportError(f"{where}: a campaign has nothing like "
                              f"{key!r}")
    return task, sums


def _check_number(item, name, where):
    value = item.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or \
            not abs(value) < 2**62:
        raise ReportError(f"{where}: {name} is no number")


def _rtapp_flow(name, task, default, path):
    where = f"{path}: task {name}"
    task, sums = _events(task, where)
    for key in ("instance", "delay", "priority", "dl-deadline", "deadline"):
        _check_number(task, key, where)
    policy = task.get("policy", default)
    period = sums["timer"] or sums["sleep"] + sums["run"]
    lines = [f"  - name: {re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:31]}",
             f"    count: {int(task.get('instance', 1))}"]
    if not sums["run"]:
        raise ReportError(f"{where}: it runs for no time")
    if not sums["timer"] and not sums["sleep"]:
        return lines + ["    arrival: {model: loop}"]
    cls = "hard" if policy == "SCHED_DEADLINE" else \
        "best-effort" if policy == "SCHED_IDLE" else "soft"
    lines += [f"    period: {_time(period * 1e3)}",
              f"    cost: {{mean: {_time(sums['run'] * 1e3)}}}",
              f"    class: {cls}"]
    deadline = task.get("dl-deadline", task.get("deadline"))
    if cls == "hard" and deadline:
        lines.append(f"    deadline: {_time(deadline * 1e3)}")
    if cls == "soft" and policy == "SCHED_OTHER" and task.get("priority"):
        lines.append(f"    nice: {int(task['priority'])}")
    if not sums["timer"]:
        lines.append("    arrival: {model: closed}")
    if task.get("delay"):
        lines.append(f"    start: {{at: {_time(task['delay'] * 1e3)}}}")
    return lines


def rtapp_to_campaign(path, target):
    """Write the campaign of rt-app's workload at path."""
    work = _read_rtapp(path)
    common = work.get("global") or {}
    if not isinstance(common, dict):
        raise ReportError(f"{path}: global is no object")
    _check_number(common, "duration", f"{path}: global")
    default = common.get("default_policy", "SCHED_OTHER")
    seconds = common.get("duration", -1)
    tasks = [(name, task) for name, task in work["tasks"][None]
             if isinstance(task, dict) and task.get("instance", 1)]
    for name, task in tasks:
        cpus = task.get("cpus", [])
        if not isinstance(cpus, list) or not all(
                isinstance(cpu, int) for cpu in cpus):
            raise ReportError(f"{path}: task {name}: cpus is no list of "
                              "numbers")
    cpus = {cpu for _, task in tasks for cpu in task.get("cpus", [])}
    lines = [f"# The workload {os.path.basename(path)} of rt-app.",
             f"duration: {seconds if seconds > 0 else 10}s",
             f"platform: {{cpus: {len(cpus) or 1}, preempt: full}}", "flows:"]
    seen = {}
    for name, task in tasks:
        seen[name] = seen.get(name, 0) + 1
        unique = f"{name}-{seen[name]}" if seen[name] > 1 else name
        lines += _rtapp_flow(unique, task, default, path)
    write_file(target, "\n".join(lines) + "\n")
    return [f"written: {target}: {len(tasks)} flows; play it: codec-sim "
            f"{target}"]


def _load_yaml(path):
    try:
        import yaml  # only this needs it
    except ImportError:
        raise ReportError("a campaign is read by the Python package yaml, "
                          "which is not there; install it (Debian: "
                          "python3-yaml)") from None
    try:
        with open(path, encoding="utf-8") as f:
            campaign = yaml.safe_load(f)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ReportError(f"{path}: {error}") from None
    if not isinstance(campaign, dict) or \
            not isinstance(campaign.get("flows"), list):
        raise ReportError(f"{path}: no campaign: it has no flows")
    return campaign


def _us(text, where):
    """A campaign's time in us."""
    match = re.fullmatch(r"([\d.]+)\s*(ns|us|ms|s)", str(text))
    if not match:
        raise ReportError(f"{where} is no time: {text}")
    return max(round(float(match[1]) * UNITS[match[2]] / 1e3), 1)


def _cost_us(flow, period, where):
    if "share" in flow:
        return max(round(float(str(flow["share"]).rstrip("%")) * period /
                         100), 1)
    cost = flow.get("cost") or {}
    if cost.get("model", "constant") != "constant" or "mean" not in cost:
        raise ReportError(f"{where}: rt-app's jobs cost the same each time: "
                          "give cost: {mean: ...} or share")
    return _us(cost["mean"], f"{where}: cost")


def _rtapp_task(flow, where):
    if "in" in flow or "a" in flow:
        raise ReportError(f"{where}: has codecs, whose cost is not in the "
                          "file; rt-app takes flows with period and cost")
    model = (flow.get("arrival") or {}).get("model", "periodic")
    task = {"instance": int(flow.get("count", 1)), "loop": -1}
    start = (flow.get("start") or {}).get("at")
    if start:
        task["delay"] = _us(start, f"{where}: start")
    if model == "loop":
        return {**task, "policy": "SCHED_IDLE", "run": 10000}
    if model not in ("plan", "periodic", "closed"):
        raise ReportError(f"{where}: rt-app has no arrivals like {model}")
    period = _us(flow.get("period"), f"{where}: period")
    run = _cost_us(flow, period, where)
    cls = flow.get("class", "soft")
    task["policy"] = {"hard": "SCHED_DEADLINE", "soft": "SCHED_OTHER",
                      "best-effort": "SCHED_IDLE"}[cls]
    if cls == "hard":
        task.update({"dl-runtime": run, "dl-period": period, "dl-deadline":
                     _us(flow.get("deadline", flow["period"]), where)})
    elif flow.get("nice"):
        task["priority"] = int(flow["nice"])
    task["run"] = run
    if model == "closed":
        return {**task, "sleep": max(period - run, 1)}
    return {**task, "timer": {"ref": "unique", "period": period}}


def campaign_to_rtapp(path, target):
    """Write the campaign at path as rt-app's workload."""
    campaign = _load_yaml(path)
    tasks = {}
    cpus = int((campaign.get("platform") or {}).get("cpus", 1))
    for i, flow in enumerate(campaign["flows"], 1):
        name = str(flow.get("name", f"flow{i}"))
        tasks[name] = {**_rtapp_task(flow, f"{path}: flow {name}"),
                       "cpus": list(range(cpus))}
    seconds = _us(campaign.get("duration"), f"{path}: duration") / 1e6
    work = {"global": {"duration": max(round(seconds), 1),
                       "default_policy": "SCHED_OTHER",
                       "calibration": "CPU0"}, "tasks": tasks}
    write_file(target, json.dumps(work, indent=2) + "\n")
    return [f"written: {target}: {len(tasks)} tasks"]


def run(args):
    """What --import or --export asks for; the lines to be printed."""
    if len(args.runs) != 1:
        raise ReportError("--import and --export take one RUN: what to make, "
                          "or the campaign to write")
    source = args.import_from or args.export_to
    end = os.path.splitext(source)[1].lower()
    if args.export_to:
        if end != ".json":
            raise ReportError(f"{source}: --export writes .json (rt-app)")
        return campaign_to_rtapp(args.runs[0], source)
    readers = {".csv": csv_to_trace, ".pcap": pcap_to_campaign,
               ".pcapng": pcap_to_campaign, ".json": rtapp_to_campaign}
    if end not in readers:
        raise ReportError(f"{source}: --import reads {', '.join(readers)}")
    return readers[end](source, args.runs[0])

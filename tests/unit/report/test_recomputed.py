# SPDX-License-Identifier: Apache-2.0
"""Every number of a random trace, against recompute.py, which shares no code
with the package; and that a fault put into a trace shows."""
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import (BAD, CANCELLED, DONE, MS, OVERWRITTEN, EXPIRED, call,
                      header, record)

HERE = Path(__file__).parent
NEVER = 2 ** 63 - 1


def random_job(rng, number, seq, arrival, ts):
    outcome = rng.choices((DONE, OVERWRITTEN, EXPIRED, CANCELLED, BAD),
                          (90, 4, 3, 1, 2))[0]
    times = [arrival]
    for most in (3 * MS, 30 * MS, MS, 4 * MS, 2 * MS):
        times.append(times[-1] + rng.randrange(most))
    release, pick, start, end, sent = times[1:]
    away = rng.choice((0, 0, rng.randrange(end - start + 1)))
    if outcome not in (DONE, BAD):
        start = end = sent = away = 0
        pick = pick if outcome == EXPIRED else 0
    if outcome == BAD:
        sent = 0
    return record(
        outcome=outcome, task=number, seq=seq, arrival=arrival,
        release=release, pick=pick, start=start, end=end, sent=sent,
        worker=rng.randrange(2) if start else 0xFFFF, away=away,
        deadline=rng.choice((arrival + 20 * MS, NEVER)),
        rtp_ts=ts % 2 ** 32, codec_ns=(end - start - away) // 2)


def random_trace(rng):
    records = [call(n) for n in range(1, 9)]
    records += [call(n, 30, "l16", "g723_1", "6.3") for n in range(9, 12)]
    jobs = []
    for number in range(1, 12):
        ptime = 20 if number < 9 else 30
        at, ts = rng.randrange(1, 50 * MS), rng.randrange(2 ** 32)
        for seq in range(200):
            if rng.random() < .02:  # the talker pauses
                ts += 8 * 500
                at += 500 * MS
            jobs.append(random_job(rng, number, seq, at, ts))
            at += ptime * MS + rng.randrange(-MS, MS)
            ts += 8 * ptime
    rng.shuffle(jobs)
    return header(), *records, *jobs


def same(found, want):
    if want is None or found is None:
        return found is want
    return math.isclose(found, want, rel_tol=1e-4, abs_tol=1e-7)


def test_every_number_agrees_with_an_independent_computation(write,
                                                             codec_report):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    path = write(*random_trace(random.Random(seed)))
    again = json.loads(subprocess.run(
        [sys.executable, HERE / "recompute.py", path], check=True,
        capture_output=True, text=True).stdout)
    section = json.loads(codec_report("--json", path).stdout)[
        "runs"][0]["schedulers"][0]
    groups = {g["group"]: g for g in section["groups"]}
    assert set(groups) == set(again)
    for name, want in again.items():
        assert {k: (groups[name][k], v) for k, v in want.items()
                if not same(groups[name][k], v)} == {}
        left = {k for k, v in groups[name].items()
                if v is not None and k not in want} - {"group"}
        assert left == {"mos_mean_low", "mos_mean_high"}
        assert want["mos_min"] < groups[name]["mos_mean_low"] < \
            want["mos_mean"] < groups[name]["mos_mean_high"]


def test_a_fault_in_a_trace_shows(write, groups):
    """One call loses 30 frames in a row, one frame is 80 ms late."""
    def trace(fault):
        jobs = [record(outcome=DONE, task=n, seq=i, arrival=MS + 20 * MS * i,
                       release=MS + 20 * MS * i, pick=2 * MS + 20 * MS * i,
                       start=2 * MS + 20 * MS * i, end=3 * MS + 20 * MS * i,
                       sent=(83 if fault and (n, i) == (2, 50) else 3) * MS
                       + 20 * MS * i, deadline=NEVER, rtp_ts=160 * i)
                if not (fault and n == 1 and 30 <= i < 60) else
                record(outcome=EXPIRED, task=n, seq=i, worker=0xFFFF,
                       arrival=MS + 20 * MS * i, release=MS + 20 * MS * i,
                       pick=MS + 20 * MS * i, deadline=NEVER, rtp_ts=160 * i)
                for n in (1, 2) for i in range(100)]
        return groups(write(header(), call(1), call(2), *jobs))[
            "edf", "pcmu -> amr/12.2"]
    good, bad = trace(False), trace(True)
    assert (good["lost"], bad["lost"]) == (0, 30)
    assert bad["call_loss_jain"] == pytest.approx(.5)
    assert bad["delay_max_ms"] == good["delay_max_ms"] + 80
    assert bad["delay_send_mean_ms"] == pytest.approx(80 / 170)
    assert bad["playout_loss_share"] == pytest.approx(1 / 200)
    assert bad["mos_min"] < 1.5 < good["mos_min"]

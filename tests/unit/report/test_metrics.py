# SPDX-License-Identifier: Apache-2.0
"""Traces with known answers; the answers are worked out here, by hand or in
plain Python, never by the code under test."""
import json
import math
import os
import random

import pytest
from conftest import (BAD, CANCELLED, CONCEALED, DONE, MS, OVERWRITTEN,
                      SEND_FAILED, SHED, EXPIRED, UNBUFFERED, UNRECEIVED, call,
                      header, job, note)

AMR = "pcmu -> amr/12.2"


def frames(number, count, delay_ms=5, begin=MS):
    """count frames of a call, 20 ms apart, each sent delay_ms later."""
    return [job(number, i, begin + i * 20 * MS,
                begin + i * 20 * MS + delay_ms * MS) for i in range(count)]


def test_a_perfect_call_has_a_delay_and_no_jitter(write, groups):
    g = groups(write(header(), call(1), *frames(1, 51)))["edf", AMR]
    assert (g["tasks"], g["jobs"], g["done"], g["lost"]) == (1, 51, 51, 0)
    for q in ("p50", "p99", "p999", "max"):
        assert g[f"delay_{q}_ms"] == pytest.approx(5)
        assert g[f"jitter_{q}_ms"] == 0
        assert g[f"sched_jitter_{q}_ms"] == 0
    assert g["late_share"] == 0
    assert g["call_loss_max"] == 0
    assert g["call_loss_jain"] is None
    # 51 jobs of 1 ms in the 1 s between first and last arrival, 2 workers
    assert g["busy_share"] == pytest.approx(0.051 / 2)


def test_the_time_in_a_jitter_buffer_is_a_part_of_the_delay(
        write, groups, codec_report):
    """5 ms each in the machine, and 10, 20, 30 ms in the buffer by turns."""
    records = [job(1, i, MS + i * 20 * MS, 6 * MS + i * 20 * MS,
                   buffered=(10 + i % 3 * 10) * MS) for i in range(60)]
    path = write(header(), call(1), *records)
    g = groups(path)["edf", AMR]
    assert g["delay_p50_ms"] == pytest.approx(25)
    assert g["delay_max_ms"] == pytest.approx(35)
    assert g["delay_mean_ms"] == pytest.approx(25)
    assert g["delay_playout_mean_ms"] == pytest.approx(20)
    assert g["delay_playout_p99_ms"] == pytest.approx(30)
    # played evenly, and in time from then on
    assert g["jitter_max_ms"] == 0 and g["late_share"] == 0
    assert "delay in playout mean, ms" in codec_report("--all", path).stdout
    plain = codec_report("--all", write(header(), call(1),
                                        *frames(1, 51))).stdout
    assert "playout" not in plain


def test_every_outcome_is_counted_under_its_name(write, groups):
    outcomes = [DONE] * 4 + [OVERWRITTEN] * 3 + [EXPIRED] * 2 + [CONCEALED] \
        + [CANCELLED] * 5 + [BAD] * 6 + [SEND_FAILED] * 7 + [UNRECEIVED] * 8 \
        + [UNBUFFERED] * 9 + [SHED] * 10
    random.Random(1).shuffle(outcomes)
    records = [job(1, i, MS + i * 100 * MS, MS + i * 100 * MS + MS, o)
               for i, o in enumerate(outcomes)]
    g = groups(write(header(), call(1), *records))["edf", AMR]
    assert g["jobs"] == 55
    assert g["done"] == 4
    assert g["lost"] == 3 + 2 + 1 + 7 + 8 + 9 + 10
    assert [g[f"drop_{k}"] for k in (
        "overwritten", "expired", "concealed", "cancelled", "bad",
        "send_failed", "unreceived", "unbuffered", "shed")] == \
        [3, 2, 1, 5, 6, 7, 8, 9, 10]
    assert g["lost_per_s"] == pytest.approx(40 / 5.4)


def test_quantiles_are_nearest_rank(write, groups):
    rng = random.Random(2)
    delays = [rng.randrange(1, 50 * MS) for _ in range(2500)]
    records = [job(1, i, 10 * MS * i + MS, 10 * MS * i + MS + d)
               for i, d in enumerate(delays)]
    rng.shuffle(records)  # workers' rings mix in the file
    g = groups(write(header(), call(1), *records))["edf", AMR]
    delays.sort()
    for name, q in (("p50", .5), ("p99", .99), ("p999", .999), ("max", 1)):
        want = delays[math.ceil(len(delays) * q - 1e-9) - 1]
        assert g[f"delay_{name}_ms"] == pytest.approx(want / MS, abs=1e-9)
    late = sum(d > 20 * MS for d in delays)
    assert g["late_share"] == pytest.approx(late / 2500)


def test_jitter_is_between_frames_that_follow_each_other(write, groups):
    # sent at 5, 28 (3 late), 45 (so 3 early), frame 3 lost, 85, 105
    arrivals = [MS + 20 * MS * i for i in range(6)]
    sent = [5, 28, 45, None, 85, 105]
    records = [job(1, i, a, 0 if s is None else MS + s * MS,
                   EXPIRED if s is None else DONE)
               for i, (a, s) in enumerate(zip(arrivals, sent))]
    g = groups(write(header(), call(1), *records))["edf", AMR]
    # deviations 3, -3, (none across the loss), 0
    assert g["jitter_max_ms"] == pytest.approx(3)
    assert g["jitter_p50_ms"] == pytest.approx(3)
    # picks are 1 ms before: 3, -3, then 40 - 20 across the loss, 0
    assert g["sched_jitter_max_ms"] == pytest.approx(20)
    assert g["sched_jitter_p50_ms"] == pytest.approx(3)


def test_a_pause_of_the_talker_is_no_jitter(write, groups):
    records = []
    for i in range(20):
        pause = 400 if i >= 10 else 0  # 20 frames of silence, not sent
        at = MS + (20 * i + pause) * MS
        records.append(job(1, i, at, at + 2 * MS,
                           rtp_ts=(0xFFFFFF00 + 160 * i + 8 * pause)
                           % 2 ** 32))
    g = groups(write(header(), call(1), *records))["edf", AMR]
    assert g["jitter_max_ms"] == 0
    assert g["sched_jitter_max_ms"] == 0


def test_a_sender_that_does_not_keep_pace_is_reported(write, codec_report):
    """Of 500 frames the last 100 come 1 ms later each, after a pause that is
    none of it; the timestamp wraps."""
    def trace(slow):
        records = []
        for i in range(500):
            pause = 300 if i >= 50 else 0
            at = MS + (20 * i + pause + max(i - 399, 0) * slow) * MS
            records.append(job(1, i, at, at + 2 * MS, rtp_ts=(
                0xFFFFF000 + 160 * i + 8 * pause) % 2 ** 32))
        path = write(header(live=True), call(1), *records)
        run, = json.loads(codec_report("--json", path).stdout)["runs"]
        group, = run["schedulers"][0]["groups"]
        return group["behind_p99_ms"], run["notes"]
    assert trace(0) == (0, [])
    assert trace(1) == (95, [])
    behind, (output,) = trace(2)
    assert behind == 190
    assert "under edf frames arrived up to 190 ms (p99) behind" in output


@pytest.mark.parametrize("late_ms,output", [
    (100, []),
    (101, ["under edf frames arrived up to 980 ms (p99) behind their "
           "timestamps: the feeder sent them up to 101 ms late, and there was "
           "less load than planned"])])
def test_jitter_of_the_campaign_is_no_lateness_of_its_feeder(
        write, codec_report, late_ms, output):
    """Frame i of 100 comes 10 i ms late, which the network model may do."""
    path = write(header(live=True), call(1),
                 *[job(1, i, MS + 30 * i * MS, 2 * MS + 30 * i * MS)
                   for i in range(100)], name="r/trace.bin")
    write(json.dumps({"feeder": {"late_max_ns": late_ms * MS}}).encode(),
          name="r/run.json")
    run, = json.loads(codec_report(
        "--json", os.path.dirname(path)).stdout)["runs"]
    assert [n for n in run["notes"] if "behind" in n] == output


def test_simulated_tasks_have_no_pace(write, groups):
    """Their jobs come by an arrival model, which may be a burst."""
    records = [job(1, i, MS + i * i * MS, 2 * MS + i * i * MS)
               for i in range(50)]
    for live, known in ((True, True), (False, False)):
        g, = groups(write(header(live=live), call(1, codec_out="synthetic"),
                          *records)).values()
        assert (g["behind_p99_ms"] is not None) == known


def test_files_have_no_pace(write, groups):
    """Frames of files come as fast as they are done: of no duration."""
    records = [job(1, i, MS + i * i * MS, 2 * MS + i * i * MS)
               for i in range(50)]
    g, = groups(write(header(live=True), call(1, ptime_ms=0),
                      *records)).values()
    assert g["behind_p99_ms"] is None


def test_loss_spread_over_calls(write, groups):
    # losses of 10: 0, 1, 5; the fourth call has only cancelled frames
    records = []
    for number, lost in ((1, 0), (2, 1), (7, 5)):
        records += [job(number, i, MS + 20 * MS * i, MS + 20 * MS * i + MS,
                        OVERWRITTEN if i < lost else DONE)
                    for i in range(10)]
    records += [job(9, 0, MS, 0, CANCELLED)]
    calls = [call(n) for n in (1, 2, 7, 9)]
    g = groups(write(header(), *calls, *records))["edf", AMR]
    assert g["tasks"] == 4
    assert g["call_loss_min"] == 0
    assert g["call_loss_median"] == pytest.approx(0.1)
    assert g["call_loss_max"] == pytest.approx(0.5)
    mean = 0.2
    var = (mean ** 2 + (mean - .1) ** 2 + (mean - .5) ** 2) / 3
    assert g["call_loss_sd"] == pytest.approx(math.sqrt(var))
    assert g["call_loss_jain"] == pytest.approx(.6 ** 2 / (3 * (.01 + .25)))


def test_codecs_have_tables_of_their_own_and_one_for_all(write, groups):
    path = write(header(), call(1), call(2, 30, "l16", "g723_1", "6.3k"),
                 *frames(1, 11), *[job(2, i, MS + 30 * MS * i,
                                       MS + 30 * MS * i + 7 * MS, rtp_ts=0)
                                   for i in range(7)])
    g = groups(path)
    assert {k for _, k in g} == {"all", AMR, "l16 -> g723_1/6.3k"}
    assert g["edf", "all"]["jobs"] == 18
    assert g["edf", "all"]["jitter_max_ms"] == 0
    assert g["edf", "l16 -> g723_1/6.3k"]["jobs"] == 7
    assert g["edf", "l16 -> g723_1/6.3k"]["jitter_max_ms"] == 0
    assert g["edf", "l16 -> g723_1/6.3k"]["delay_p50_ms"] == pytest.approx(7)


def test_classes_and_calls_without_a_description(write, groups):
    path = write(header(), call(1, cls=0), call(2, cls=2), *frames(1, 3),
                 *frames(2, 4), *frames(3, 5))
    g = groups(path, "--by", "class")
    assert {k: m["jobs"] for (_, k), m in g.items()} == {
        "all": 12, "hard": 3, "best-effort": 4, "unknown": 5}
    assert g["edf", "unknown"]["jitter_p50_ms"] is None


def test_a_switch_of_the_scheduler_splits_the_run(write, groups):
    records = frames(1, 100)  # arrivals at 1 ms + 0, 20, ... 1980 ms
    path = write(header("fifo"), call(1), *records[:50],
                 note(1, MS + 1000 * MS, text="edf,x=1"), *records[50:])
    g = groups(path)
    assert g["fifo", AMR]["jobs"] == 50
    assert g["edf", AMR]["jobs"] == 50
    g = groups("--warm-up", "0.5", path)
    assert g["fifo", AMR]["jobs"] == 25
    assert g["edf", AMR]["jobs"] == 25


def test_tuning_shows_in_the_headings(write, codec_report):
    records = frames(1, 100)
    path = write(header("rr", options="rr,quantum=1ms"), call(1),
                 *records, note(1, MS + 999 * MS, text="rr,quantum=5ms"))
    heads = next(line.split() for line in codec_report(
        "--all", path).stdout.splitlines() if line.startswith("pcmu ->"))
    assert heads[-2:] == ["rr,quantum=1ms", "rr,quantum=5ms"]


def test_a_window_counts_from_the_first_arrival(write, groups):
    path = write(header(), call(1), *frames(1, 100, begin=77777 * MS))
    g = groups("--since", "200ms", "--until", "1s", path)["edf", AMR]
    assert g["jobs"] == 40
    assert g["busy_share"] == pytest.approx(.040 / .78 / 2)


def test_worker_busy_shares(write, codec_report):
    import json
    records = [job(1, i, MS + 10 * MS * i, MS + 10 * MS * i + 4 * MS,
                   start=MS + 10 * MS * i + 2 * MS, worker=i % 4 // 3,
                   codec_ns=1500000) for i in range(101)]
    path = write(header(), call(1), *records)
    result = json.loads(codec_report("--json", path).stdout)
    section = result["runs"][0]["schedulers"][0]
    assert section["workers"] == {"0": pytest.approx(76 * .002),
                                  "1": pytest.approx(25 * .002)}
    assert section["groups"][0]["busy_share"] == pytest.approx(.202 / 2)
    assert section["groups"][0]["codec_share"] == pytest.approx(.75)


def test_time_off_the_cpu_is_not_busy(write, groups):
    records = [job(1, i, MS + 10 * MS * i, MS + 10 * MS * i + 8 * MS,
                   start=MS + 10 * MS * i + 2 * MS, away=5 * MS)
               for i in range(101)]
    path = write(header(), call(1), *records)
    assert groups(path)["edf", AMR]["busy_share"] == \
        pytest.approx(.101 / 2)

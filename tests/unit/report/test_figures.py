# SPDX-License-Identifier: Apache-2.0
"""The data of figures, computed again frame by frame in plain Python; and
faults seeded into a trace, which have to show."""
import math
import random

import pytest
from conftest import (DONE, MS, OVERWRITTEN, EXPIRED, US, call, column, header,
                      job, note, plain, stall, starve, steady)


class Load:
    """A random run: what of each job is known, and its record."""

    def __init__(self, seed, calls=9, count=60, workers=2):
        rng = random.Random(seed)
        self.jobs = []
        free = [0] * workers
        due = sorted((MS + 20 * MS * i + rng.randrange(5 * MS), c, i)
                     for c in range(1, calls + 1) for i in range(count))
        for arrival, c, seq in due:
            worker = rng.randrange(workers)
            lost = rng.random() < 0.002 * c * c
            pick = max(arrival + rng.randrange(MS), free[worker])
            start = pick + rng.randrange(5 * US)
            end = start + rng.randrange(50 * US, 900 * US)
            if not lost:
                free[worker] = end + rng.randrange(20 * US)
            self.jobs.append(dict(
                task=c, seq=seq, arrival=arrival, worker=worker, pick=pick,
                start=0 if lost else start, end=0 if lost else end,
                sent=0 if lost else end + rng.randrange(MS),
                release=arrival + (pick - arrival) // 3,
                codec_ns=0 if lost else (end - start) * 9 // 10,
                outcome=EXPIRED if lost else DONE,
                deadline=arrival + MS))

    def parts(self):
        calls = {j["task"] for j in self.jobs}
        return [header(workers=2), *[call(c) for c in sorted(calls)],
                *[job(**j) for j in self.jobs]]

    def done(self):
        return [j for j in self.jobs if j["outcome"] == DONE]


def seeded():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    return Load(seed)


def test_jitter_counts_every_interval(frames):
    from codec_report.figures import jitter
    load = seeded()
    want = {}
    last = {}
    for j in sorted(load.done(), key=lambda j: (j["task"], j["seq"])):
        if j["task"] in last:
            before = last[j["task"]]
            slip = j["pick"] - before["pick"] - 20 * MS
            want[round(slip / 10000)] = want.get(round(slip / 10000), 0) + 1
        last[j["task"]] = j
    data = jitter.data(frames(*load.parts()))
    (values, counts), = data.series.values()
    assert dict(zip(values.tolist(), counts.tolist())) == want
    shown, edges, beyond = jitter.bins(values, counts, 100, (-5, 6))
    for i, n in enumerate(shown):
        low, high = edges[i], edges[i + 1]
        assert high - low == 100
        assert n == sum(k for v, k in want.items() if low <= v < high)
    assert beyond + shown.sum() == sum(want.values())


def test_jitter_of_one_scheduler_on_two_machines_is_one_panel(frames):
    from codec_report.figures import Column, jitter
    one = jitter.data(frames(*seeded().parts()))
    two = jitter.data(frames(*seeded().parts()))
    two.workers = 4
    panels = jitter._panels([Column("edf on 2 CPUs", "edf", one),
                             Column("edf on 4 CPUs", "edf", two),
                             Column("rr", "rr", one)])
    assert {title: [label for label, _, _ in series]
            for title, series in panels.items()} == {
                "edf": ["2 CPUs", "4 CPUs"], "rr": [""]}
    # two runs on as many CPUs are not told apart by that
    panels = jitter._panels([Column("edf (a)", "edf", one),
                             Column("edf (b)", "edf", one)])
    assert list(panels) == ["edf (a)", "edf (b)"]


def test_cpu_counts_are_in_the_order_of_numbers():
    from codec_report.figures import jitter
    labels = ["256 CPUs", "16 CPUs", "1 CPU", "2 CPUs"]
    assert sorted(labels, key=jitter._by_number) == [
        "1 CPU", "2 CPUs", "16 CPUs", "256 CPUs"]


def test_loss_sorts_the_calls(frames):
    from codec_report.figures import loss
    load = seeded()
    shares = {}
    for c in range(1, 10):
        mine = [j for j in load.jobs if j["task"] == c]
        shares[c] = sum(j["outcome"] != DONE for j in mine) / len(mine)
    data = loss.data(frames(*load.parts()))
    assert data.shares.tolist() == sorted(shares.values(), reverse=True)
    assert [shares[c] for c in data.calls.tolist()] == data.shares.tolist()


def test_thinning_keeps_both_ends_and_every_call_of_a_few():
    from codec_report.figures import loss
    assert loss.thin(30).tolist() == list(range(1, 31))
    ranks = loss.thin(100000)
    assert (ranks[0], ranks[-1]) == (1, 100000)
    assert len(ranks) <= loss.POINTS


def test_delay_is_nearest_rank_at_every_share(frames):
    from codec_report.figures import delays
    load = seeded()
    want = sorted(j["sent"] - j["arrival"] for j in load.done())
    data = delays.data(frames(*load.parts()))
    offered = len(load.jobs)  # what was lost is never sent
    assert len(want) < offered
    assert len(data.shares) > 20
    for share, shown in zip(data.shares, data.delays):
        rank = max(math.ceil(round(share * offered, 6)), 1)
        assert shown == want[rank - 1]
    assert data.sent == len(want) / offered
    assert data.shares[-1] <= data.sent
    assert data.last == want[math.ceil(len(want) * 0.9999) - 1]
    prompt = sum(j["sent"] <= j["deadline"] for j in load.done())
    assert data.in_time == pytest.approx(prompt / offered)
    assert 0 < prompt < len(want)
    assert data.deadline == MS


def test_the_time_line_adds_up(frames):
    from codec_report.figures import timeline
    load = seeded()
    data = timeline.data(frames(*load.parts()))
    first = min(j["arrival"] for j in load.jobs)
    for i in range(len(data.busy)):
        low, high = data.edges[i], data.edges[i + 1]
        busy = sum(max(0, min(high, (j["end"] - first) / 1e9)
                       - max(low, (j["pick"] - first) / 1e9))
                   for j in load.done())
        assert data.busy[i] == pytest.approx(busy / (high - low) / 2,
                                             abs=1e-6)
        last = i == len(data.busy) - 1
        lost = sum(low <= (j["arrival"] - first) / 1e9 < high
                   + (1e-9 if last else 0) for j in load.jobs
                   if j["outcome"] != DONE)
        assert data.lost[i] * (high - low) == pytest.approx(lost)
        middle = first + int((low + high) / 2 * 1e9)
        assert data.calls[i] == sum(
            min(a) <= middle <= max(a) + 20 * MS for a in
            ([j["arrival"] for j in load.jobs if j["task"] == c]
             for c in range(1, 10)))


def shaded(axes):
    """[(from, to)] of what is behind the lines, s."""
    spans = [patch.get_path().transformed(patch.get_patch_transform())
             .vertices[:, 0] for patch in axes.patches]
    return [(min(xs), max(xs)) for xs in spans]


@pytest.mark.parametrize("more,want", ((0, []), (12, [(4, 6)])))
def test_the_overload_is_shaded(write, codec_report, monkeypatch, tmp_path,
                                more, want):
    """12 calls of 1 ms in 20 for 10 s, and as many more from 4 s to 6 s."""
    from codec_report.figures import timeline
    drawn, draw = [], timeline.draw

    def drawing(columns):
        drawn.append(draw(columns))
        return drawn[-1]
    monkeypatch.setattr(timeline, "draw", drawing)
    due = sorted((MS + (1000 * first + 20 * i) * MS + 1500 * US * c, n + c, i)
                 for first, n, calls, count in ((0, 1, 12, 500),
                                                (4, 13, more, 100))
                 for c in range(calls) for i in range(count))
    codec_report("--plots", str(tmp_path / "plots"), write(
        header(workers=1), *[call(c) for c in range(1, 13 + more)],
        *[job(task=c, seq=i, arrival=at, pick=at, start=at, end=at + MS,
              sent=at + MS, codec_ns=MS, outcome=DONE, deadline=at + 20 * MS)
          for at, c, i in due]))
    chart, = drawn
    assert len(chart.axes) == 3
    for axes in chart.axes:
        assert shaded(axes) == [pytest.approx(span, abs=0.05)
                                for span in want]


def test_the_split_adds_up_to_the_delay(frames):
    from codec_report.figures import split
    load = seeded()
    source = frames(*load.parts())
    source.network = 123.0
    data = split.data(source)
    whole = sorted(j["sent"] - j["arrival"] for j in load.done())
    assert data.mean.pop("network") == 123.0
    assert sum(data.mean.values()) == pytest.approx(sum(whole) / len(whole))
    slow = whole[math.ceil(len(whole) * 0.99) - 1]
    slowest = [d for d in whole if d >= slow]
    assert sum(data.slowest.values()) == pytest.approx(
        sum(slowest) / len(slowest))
    assert data.mean["buffer"] == pytest.approx(
        sum(j["release"] - j["arrival"] for j in load.done()) / len(whole))
    assert data.mean["send"] == pytest.approx(
        sum(j["sent"] - j["end"] for j in load.done()) / len(whole))


def test_the_slowest_frames_have_their_own_time_on_the_network(frames):
    """Of 200 frames, each slower than the one before, the last two and that of
    the 99 % quantile took 5 ms there, the others 1 ms."""
    import numpy as np
    from codec_report.figures import split
    source = frames(header(), call(1), *[
        job(1, i, MS + 20 * MS * i, 4 * MS + i * US + 20 * MS * i)
        for i in range(200)])
    jobs = source.jobs
    jobs["feeder_sent"] = jobs["arrival"] - 400 * US
    jobs["feeder_received"] = jobs["sent"] + np.where(
        jobs["seq"] < 197, 600 * US, 4600 * US)
    source.network = 1.06 * MS
    data = split.data(source)
    assert data.mean["network"] == pytest.approx(1.06 * MS)
    assert data.slowest["network"] == pytest.approx(5 * MS)


@pytest.mark.parametrize("part", ["network", "buffer", "queue", "codec",
                                  "send", "playout"])
def test_the_sentence_says_where_most_of_the_time_goes(part):
    from types import SimpleNamespace
    from codec_report.figures import split
    mean = dict.fromkeys(split.PARTS, 1.0) | {part: 5e6}
    text = split.sentence([SimpleNamespace(
        label="edf", data=split.Data(mean, {}))])
    assert text.endswith(f"of it {split.WHERE[part]}.")


def test_overhead_is_the_rest_of_the_workers_time(frames):
    from codec_report.figures import overhead
    load = seeded()
    latencies, n = [], len(load.done())
    for worker in (0, 1):
        mine = sorted((j for j in load.done() if j["worker"] == worker),
                      key=lambda j: j["pick"])
        for before, j in zip(mine, mine[1:]):
            latencies.append(j["pick"] - max(before["end"], j["release"]))
    assert min(latencies) >= 0
    data = overhead.data(frames(*load.parts()))
    assert data.between == pytest.approx(sum(latencies) / n)
    assert data.latency["max"] == max(latencies)
    assert data.latency["p50"] == sorted(latencies)[
        math.ceil(len(latencies) / 2) - 1]
    assert data.codec == pytest.approx(
        sum(j["codec_ns"] for j in load.done()) / n)
    assert data.codec + data.beside == pytest.approx(
        sum(j["end"] - j["pick"] for j in load.done()) / n)


def test_a_frame_that_displaces_another_has_no_pick_latency(frames):
    from codec_report.figures import overhead
    parts = [header(), call(1), call(2),
             job(1, 0, MS, 11 * MS, pick=MS, start=MS, away=3 * MS),
             job(2, 0, 4 * MS, 7 * MS, pick=4 * MS, start=4 * MS),
             job(1, 1, 9 * MS, 13 * MS, pick=12 * MS, start=12 * MS)]
    data = overhead.data(frames(*parts))
    assert data.between == MS / 3  # 12 - 11, not 12 - 7


def test_the_gantt_chart_has_all_jobs_within_its_window(frames):
    from codec_report.figures import gantt
    load = seeded()
    source = frames(*load.parts())
    first = min(j["arrival"] for j in load.jobs)
    cut = load.done()[200]  # the window begins while it is worked on
    low = (cut["pick"] + cut["end"]) // 2
    high = low + 300 * MS
    source.window = ((low - first) / 1e9, (high - first) / 1e9)
    data = gantt.data(source)

    def touches(j):
        return j["arrival"] < high and max(j["pick"], j["sent"]) >= low
    inside = [j for j in load.jobs if touches(j)]
    assert cut in inside
    assert data.window == pytest.approx(source.window)
    assert data.frames == len(inside)
    assert data.lost == sum(j["outcome"] != DONE for j in inside)
    assert data.late == sum(j["sent"] > j["deadline"] for j in inside)
    assert data.tasks == sorted({j["task"] for j in inside})
    bars = sorted((data.tasks.index(j["task"]), (j["pick"] - first) / 1e9,
                   (j["end"] - first) / 1e9, j["worker"])
                  for j in inside if j["outcome"] == DONE)
    assert sorted(data.bars) == bars
    assert len(data.deadlines) == len(inside)
    assert sum(m for _, _, m in data.deadlines) == data.lost + data.late
    assert len(data.losses) == data.lost


def test_marks_on_top_of_each_other_are_drawn_once():
    from codec_report.figures import gantt
    marks = [(row, at / 1e6) for row in (0, 3) for at in range(-50, 1100)]
    kept = gantt.seen(marks, (0.0, 0.001))
    for row in (0, 3):
        mine = sorted(at for r, at in kept if r == row)
        assert gantt.GRAINS <= len(mine) <= gantt.GRAINS + 1
        assert 0 <= mine[0] and mine[-1] <= 0.001
        gaps = [b - a for a, b in zip([0, *mine], [*mine, 0.001])]
        assert max(gaps) < 2 * 0.001 / gantt.GRAINS


def test_a_starved_call_shows(frames):
    from codec_report.figures import gantt, loss, timeline
    bad, good = frames(*steady(spoil=starve)), frames(*steady())
    columns = [column("rr", loss.data(bad)), column("edf", loss.data(good))]
    assert columns[0].data.calls[0] == 17
    assert columns[0].data.shares[:2].tolist() == [0.5, 0]
    assert plain(loss.sentence(columns)) == (
        "Under rr call 17 lost 50 % of its frames while the median call lost "
        "0 %; no call lost a frame under edf.")
    chart = gantt.data(bad)
    assert 17 in chart.tasks and chart.worst == 17
    row = chart.tasks.index(17)
    assert chart.losses and {r for r, _ in chart.losses} == {row}
    assert "task 17 most" in gantt.sentence([column("rr", chart)])
    line = timeline.data(bad)
    assert line.lost.max() == pytest.approx(50, rel=0.6)
    assert line.lost[line.edges[1:] < 1].max() == 0


def test_a_stall_of_300_ms_shows(frames):
    from codec_report.figures import delays, gantt, jitter, timeline
    source = frames(*steady(spoil=stall))
    line = timeline.data(source)
    length, begin = line.stall
    assert 299 * MS < length <= 300 * MS + 500 * US
    assert begin == pytest.approx(1.0, abs=0.001)
    inside = (line.edges[:-1] > 1.01) & (line.edges[1:] < 1.29)
    assert inside.any() and line.busy[inside].max() == 0
    good = column("edf", timeline.data(frames(*steady())))
    said = plain(timeline.sentence([column("rr", line), good]))
    assert "no worker of rr had a frame for 300 ms" in said
    assert "from 1.00 s on" in said
    assert good.data.stall[0] < timeline.STALL
    slips = jitter.data(source)
    assert 270 * MS < slips.largest < 310 * MS
    assert "the largest slip is 300 ms" in plain(jitter.sentence(
        [column("rr", slips)]))
    assert delays.data(source).last > 270 * MS
    begin, end = gantt.data(source).window
    assert begin < 1.3 < end


def test_a_frame_pushed_out_is_lost_where_it_arrived(frames):
    from codec_report.figures import gantt
    parts = [header(), call(1)] + [
        job(1, i, MS + 20 * MS * i, MS + 20 * MS * i + MS) for i in range(9)
    ] + [job(1, 9, MS + 180 * MS, 0, OVERWRITTEN, worker=0xFFFF, pick=0)]
    data = gantt.data(frames(*parts))
    assert data.losses == [(0, pytest.approx(0.18))]


def test_a_switch_gives_each_scheduler_its_time(sections):
    from codec_report.figures import timeline
    parts = steady()
    first, second = sections(*parts, note(1, MS + 1000 * MS, text="fifo"))
    a, b = timeline.data(first.frames), timeline.data(second.frames)
    assert a.edges[-1] <= 1.0 <= b.edges[0] + 0.001
    assert b.edges[-1] == pytest.approx(1.98 + 0.0156, abs=0.001)


def test_where_nothing_goes_wrong_sentences_say_so(frames):
    from codec_report.figures import delays, gantt, loss, overhead
    source = frames(*[part for part in steady(spoil=lambda j: {
        **j, "pick": j["arrival"], "start": j["arrival"],
        "codec_ns": 200 * US})])
    source.window = 100.0, 101.0
    assert gantt.sentence([column("a", gantt.data(source))]) == \
        "No frame was there in the window asked for."
    source.window = None
    for module, words in (
            (loss, "No call lost a frame."),
            (delays, "all are in time."),
            (gantt, "No frame is lost or late; the charts are around"),
            (overhead, "No worker spends time outside codecs while")):
        columns = [column(name, module.data(source)) for name in "ab"]
        assert words in module.sentence(columns)


def test_random_records_never_break_a_figure(sections):
    from codec_report import figures
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(60):
        records = []
        for _ in range(30):
            record = bytearray(rng.randbytes(96))
            record[0] = rng.randrange(1, 4)
            record[1] %= 7
            records.append(bytes(record))
        for section in sections(header(), *records):
            reduced = figures.reduce(section.frames)
            for module in figures.FIGURES:
                assert module.sentence([column("x", reduced[module.NAME])])

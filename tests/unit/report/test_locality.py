# SPDX-License-Identifier: Apache-2.0
"""The costs of frames by the turns between, of traces made by hand."""
from conftest import MS, EXPIRED, US, call, header, job

ORDER = [1, 1, 1, 2, 1, 3, 3, 2]  # calls, in the order of a worker's turns
BETWEEN = [-1, 0, 0, -1, 1, -1, 0, 3]
FIRST, LATER = 17 * US, 14 * US


def row_jobs(order=ORDER, worker=0, begin=MS):
    """The turns of a worker that is never idle; all waited from begin on."""
    at, seq, last = begin, {}, None
    for c in order:
        codec = LATER if c == last else FIRST
        seq[c], last = seq.get(c, -1) + 1, c
        yield dict(task=c, seq=seq[c], arrival=begin, pick=at, start=at + US,
                   end=at + US + codec, sent=at + 2 * US + codec,
                   codec_ns=codec, worker=worker,
                   release=at if codec == LATER else begin)
        at += 3 * US + codec


def load(write, jobs):
    from codec_report.trace import read_trace
    path = write(header(), *[call(n) for n in range(1, 9)],
                 *[job(**j) for j in jobs])
    return read_trace(str(path)).jobs


def test_turns_between_are_counted_by_worker(write):
    from codec_report import locality
    one = list(row_jobs())
    two = [j | {"task": j["task"] % 3 + 1} for j in row_jobs(worker=1)]
    both = [j for pair in zip(two, one) for j in pair]
    jobs = locality.add_turns(load(write, both))
    assert jobs["between"][1::2].tolist() == BETWEEN
    assert jobs["between"][0::2].tolist() == BETWEEN


def test_the_first_of_a_row_and_later_ones(write):
    """The first turn of all begins with its pick, 2 us late, and the last one
    ends when its frame is sent, 1 us later than others."""
    from codec_report import locality
    assert locality.measure(load(write, row_jobs())) == {
        "row_share": 3 / 8, "row_first_us": 17, "row_later_us": 14,
        "row_first_turn_us": (18 + 3 * 20 + 21) / 5, "row_later_turn_us": 17}


def test_a_turn_begins_with_the_end_of_the_last_only_if_its_frame_waited(
         write):
    from codec_report import locality
    jobs = list(row_jobs())
    jobs[4]["arrival"] = jobs[4]["pick"]  # the worker was idle before
    jobs[6]["arrival"] = jobs[6]["pick"]
    found = locality.add_turns(load(write, jobs))
    assert found["turn"].tolist() == [
        n * US for n in (18, 17, 17, 21, 18, 21, 15, 21)]


def test_a_frame_that_was_not_worked_on_is_no_turn(write):
    from codec_report import locality
    jobs = list(row_jobs())
    lost = dict(task=7, seq=0, arrival=MS, outcome=EXPIRED, worker=0,
                pick=jobs[1]["pick"] - 100)
    found = locality.add_turns(load(write, [lost, *jobs]))
    assert found["between"].tolist() == [-2, *BETWEEN]
    assert found["turn"][0] == 0


def test_frames_without_a_turn_have_no_rows(write):
    from codec_report import locality
    assert set(locality.measure(load(write, [])).values()) == {None}


def test_the_report_has_them(write, groups):
    g = groups(write(header(), *[call(n) for n in (1, 2, 3)],
                     *[job(**j) for j in row_jobs()]))
    all_of = next(iter(g.values()))
    assert all_of["row_share"] == 3 / 8
    assert all_of["row_first_us"] == 17 and all_of["row_later_us"] == 14
    assert all_of["row_first_turn_us"] == 19.8


def test_blocks_have_the_same_turns(write):
    from codec_report import blocks, locality
    one = load(write, [*row_jobs(), *row_jobs(order=[4, 5, 4], worker=1)])
    found = locality.add_turns(dict(one))
    one.update(frame=one["arrival"] * 0, media_step=one["arrival"] * 0)
    turns = blocks.Measurer(one, one["task"] * 0, None).turns
    assert turns.took.tolist() == found["turn"][turns.at].tolist()
    assert turns.between.tolist() == found["between"][turns.at].tolist()

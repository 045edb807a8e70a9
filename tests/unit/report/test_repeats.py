# SPDX-License-Identifier: Apache-2.0
"""Repeated runs become medians, and differences are marked by what noise
could explain."""
import csv
import io
import itertools
import json
import statistics

import numpy as np
import pytest
from conftest import DONE, MS, EXPIRED, call, header, job

from codec_report import repeats

AMR = "pcmu -> amr/12.2"


def repeated(write, name, delays, lost):
    """OUT/name/1, 2, ...: of a delay in ms and a number of lost frames."""
    for i, (delay, gone) in enumerate(zip(delays, lost)):
        jobs = [job(1, k, MS + 20 * MS * k, MS + 20 * MS * k + delay * MS,
                    EXPIRED if k < gone else DONE) for k in range(10)]
        path = write(header(name), call(1), *jobs,
                     name=f"{name}/{i + 1}/trace.bin")
    return path.rsplit("/", 2)[0]


def test_the_permutation_test_counts_all_deals():
    """By brute force, over all splits of the pool."""
    rng = np.random.default_rng(2)
    for size in (2, 3, 4):
        one, two = rng.normal(0, 1, size), rng.normal(1, 1, 4)
        pool = [*one, *two]
        seen = abs(statistics.mean(one) - statistics.mean(two))
        hits = total = 0
        for chosen in itertools.combinations(range(len(pool)), size):
            rest = [v for i, v in enumerate(pool) if i not in chosen]
            d = abs(statistics.mean(pool[i] for i in chosen)
                    - statistics.mean(rest))
            hits, total = hits + (d >= seen - 1e-12), total + 1
        assert repeats.p_value(one, two) == pytest.approx(hits / total)
    assert repeats.p_value([1, 2, 3], [7, 8, 9]) == pytest.approx(.1)
    assert repeats.p_value([1, 2, 3, 4], [7, 8, 9, 10]) == \
        pytest.approx(2 / 70)
    assert repeats.p_value([1, 1], [1, 1]) == 1


def test_equal_distributions_rarely_differ():
    """Many samples of one distribution: about one in twenty is marked."""
    rng = np.random.default_rng(4)
    wrong = sum(repeats.differ(rng.normal(size=5), rng.normal(size=5))
                for _ in range(1000))
    assert 25 <= wrong <= 65
    assert repeats.differ(rng.normal(0, 1, 12), rng.normal(3, 1, 12))


def test_medians_and_intervals_of_repetitions(write, codec_report):
    folder = repeated(write, "edf", (3, 9, 4, 5, 6), (0, 0, 2, 1, 0))
    run, = json.loads(codec_report("--json", folder).stdout)["runs"]
    group, = run["schedulers"][0]["groups"]
    assert run["run"] == "edf" and len(run["repetitions"]) == 5
    assert group["delay_p50_ms"] == pytest.approx(5)
    assert group["samples"]["delay_p50_ms"] == pytest.approx([3, 9, 4, 5, 6])
    assert group["interval"]["delay_p50_ms"] == pytest.approx([3, 9])
    assert group["lost"] == 0 and group["samples"]["lost"] == [0, 0, 2, 1, 0]
    rows = list(csv.DictReader(io.StringIO(
        codec_report("--csv", folder).stdout)))
    assert [r["run"] for r in rows] == [f"edf/{i}" for i in range(1, 6)]
    assert [r["lost"] for r in rows] == ["0", "0", "2", "1", "0"]


def test_the_best_is_marked_only_beyond_noise(write, codec_report):
    edf = repeated(write, "edf", (3, 4, 3, 4), (0, 1, 0, 1))
    fifo = repeated(write, "fifo", (8, 9, 9, 8), (1, 0, 1, 1))
    result = codec_report("--all", edf, fifo)
    lines = {line[:20].strip(): line for line in result.stdout.splitlines()}
    assert "3.500 (3.000..4.000)*" in lines["delay p50, ms"]
    assert "0 (0..1)~" in lines["lost"]
    assert "medians of 4 repetitions" in result.stdout
    three = repeated(write, "rr", (1, 1, 1), (0, 0, 0))
    result = codec_report("--all", three, fifo)
    line = [x for x in result.stdout.splitlines()
            if x.startswith("delay p50")][-1]
    assert "~" not in line and "1.000*" in line  # 2 of 35 deals
    two = repeated(write, "llf", (1, 1), (0, 0))
    result = codec_report("--all", two, fifo)
    line = [x for x in result.stdout.splitlines()
            if x.startswith("delay p50")][-1]
    assert "1.000~" in line  # 1 of 15 deals


def test_a_folder_with_a_run_of_its_own_is_not_repeated(write, codec_report):
    folder = repeated(write, "edf", (3, 4), (0, 0))
    write(header("edf"), call(1), job(1, 0, MS, 2 * MS),
          name="edf/trace.bin")
    run, = json.loads(codec_report("--json", folder).stdout)["runs"]
    assert "repetitions" not in run
    assert run["schedulers"][0]["groups"][0]["jobs"] == 1

# SPDX-License-Identifier: Apache-2.0
"""The verdict on conversions, word by word."""
import json
import os

import pytest
from conftest import streams_csv, speech


def test_conversions_have_a_sentence_and_decide_last(write, codec_report):
    """Calls are served alike; of the files all are done under two, and
    sooner under one of these."""
    for name, done, seconds in (("cfs", 20, 12), ("fifo", 20, 19),
                                ("edf", 15, 30)):
        write(streams_csv(), name=f"{name}/streams.csv")
        write(json.dumps({
            "campaign": {"path": "mixed.yaml", "text": "x"},
            "conversions": {"count": 20, "done": done, "ids": [],
                            "turnaround_mean_ns": int(seconds * 1e9)}
        }).encode(), name=f"{name}/run.json")
        path = write(speech(name), name=f"{name}/trace.bin")
    said, = json.loads(codec_report("--json", os.path.dirname(
        os.path.dirname(path))).stdout)["verdict"]
    assert said["sentences"][3:] == [
        "Conversions: cfs and fifo finish 20 of 20, edf 15 of 20; on average "
        "after 12 s under cfs, 19 to 30 s under edf and fifo.",
        "Choose cfs here. One run each: what is noise, --rounds 4 can tell."]


@pytest.fixture
def converted(write, verdict):
    """converted({scheduler: files done in each run}) -> the sentence on
    conversions; runs of a scheduler in broken beyond the first broke off."""
    def make_files(done, broken=()):
        traces, result = {}, {}
        for name, counts in done.items():
            for i, count in enumerate(counts, 1):
                run = f"{name}/{i}"
                write(streams_csv(), name=f"{run}/streams.csv")
                traces[run] = speech(name)
                result[run] = {"interrupted": name in broken and i > 1,
                             "conversions": {"count": 20, "done": count,
                                             "ids": []}}
        found, = [text for text in verdict(traces, result)["sentences"]
                  if text.startswith("Conversions")]
        return found
    return make_files


def test_conversions_are_medians_of_the_runs_that_count(converted):
    assert converted({"fifo": (10, 20), "rr": (8, 8)}) == \
        "Conversions: fifo finishes 15 of 20, rr 8 of 20."


def test_conversions_of_runs_that_broke_off_do_not_count(converted):
    assert converted({"fifo": (20, 2, 2), "rr": (8, 8)}, ("fifo",)) == \
        "Conversions: fifo finishes 20 of 20, rr 8 of 20."


def test_conversions_that_noise_explains_are_alike(converted):
    assert converted({"fifo": (20, 10, 18, 12), "rr": (12, 14, 11, 13)}) == \
        "Conversions: 12.5 to 15 of 20 finished under both."

# SPDX-License-Identifier: Apache-2.0
"""Columns have distinct names, and no paths."""
import pytest

from codec_report.labels import Known, labels


@pytest.mark.parametrize("known,want", [
    ([("a", "edf"), ("b", "rr", "", "1"), ("c", "rr", "", "4"),
      ("d", "bfs", "", "2"), ("e", "bfs", "", "2")],
     ["edf", "rr on 1 CPU", "rr on 4 CPUs", "bfs (d)", "bfs (e)"]),
    ([("a", "rr", "rr,quantum=1ms,x=1"), ("b", "rr", "rr,quantum=5ms,x=1"),
      ("c", "edf", "edf,x=1")],
     ["rr,quantum=1ms", "rr,quantum=5ms", "edf"]),
    ([("a", "./x/mine.so", "./x/mine.so,boost=5"),
      ("b", "/tmp/mine.so", "/tmp/mine.so,boost=7"),
      ("c", "/tmp/yours.so", "/tmp/yours.so"),
      ("d", "/a/b/libx.so", "/a/b/libx.so,levels=3")],
     ["mine,boost=5", "mine,boost=7", "yours", "x"]),
    ([("a", "edf", "edf", "1", "light"), ("b", "edf", "edf", "1", "heavy")],
     ["edf, light", "edf, heavy"]),
    ([("a", "edf"), ("a", "edf"), ("a", "rr")],
     ["edf", "edf #2", "rr"]),
])
def test_labels_have_the_options_that_differ(known, want):
    assert labels([Known(*k) for k in known]) == want

# SPDX-License-Identifier: Apache-2.0
"""Conversions beside calls, through the real daemon: counts, files, exit codes.
"""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE

BUILD = pathlib.Path(os.environ.get(
    "CR_BUILD", pathlib.Path(__file__).resolve().parents[3] / "build/release"))
FEEDER = BUILD / "codec-feeder"
# two seconds of work and more
#: More than is done while the campaign lasts: 5 s with the slower kernels.
LONG = {"length": "600s", "out": "{codec: amr-wb, mode: 23.85}"}
SLOW = "--codec-kernels", "stock"


def mixed(count=3, length="2s", out="{codec: amr, mode: 12.2}", more="",
          duration="1s"):
    """One call and some conversions."""
    return (f"seed: 3\nduration: {duration}\nflows:\n  - count: 1\n"
            "    in: {codec: pcmu}\n    out: {codec: pcma}\n"
            f"conversions:\n  count: {count}\n  length: {length}\n"
            f"  out: {out}\n{more}")


def feed(d, path, *options):
    where = d.where() if d else []
    return subprocess.run([FEEDER, path, *where, "--quiet", *options],
                          capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def spool(tmp_path):
    path = tmp_path / "spool"
    path.mkdir()
    return path


def left(spool):
    """Endings of what is in the folder, temporary files included."""
    return sorted(path.suffix for path in spool.iterdir())


@pytest.mark.parametrize("out, ending, frame, rate", [
    ("{codec: amr, mode: 12.2}", ".amr", 32, 8000),
    ("{codec: amr-wb, mode: 23.85}", ".awb", 61, 16000)])
def test_all_are_converted_while_calls_lose_nothing(
        daemon, campaign, tmp_path, spool, out, ending, frame, rate):
    d = daemon("--spool", spool, "--ring", "256", "--trace",
               tmp_path / "trace.bin")
    path = campaign(mixed(length="1s", out=out, duration="3s", more=(
        "  expect: {finished: 100%, max-turnaround: <= 1h}\n")))
    r = d.feed(path, "--spool", spool, "--out", tmp_path)
    c = r["conversions"]
    assert (c["done"], c["count"]) == (3, 3)
    assert c["failed"] == c["unfinished"] == c["refused"] == 0
    assert c["frames"] == 3 * 50 and c["why"] is None
    assert len(set(c["ids"])) == 3
    assert 0 < c["turnaround_p50_ns"] <= c["turnaround_max_ns"]
    assert r["total"]["lost"] == 0
    assert [(x["metric"], x["met"]) for x in r["expectations"]] == [
        ("finished", True), ("max-turnaround", True)]
    assert left(spool) == 3 * [ending]
    magic = {8000: 6, 16000: 9}[rate]
    files = [f.read_bytes() for f in spool.iterdir()]
    assert [len(f) for f in files] == 3 * [magic + 50 * frame]
    assert len(set(files)) == 3  # each has speech of its own
    assert d.ctl("stats")["conversions"]["done"] == 3
    d.stop()
    report = json.loads(subprocess.run(
        [BUILD / "codec-report", "--json", tmp_path], capture_output=True,
        text=True, check=True, timeout=PATIENCE).stdout)
    group = {g["group"]: g for g in
             report["runs"][0]["schedulers"][0]["groups"]}["conversions"]
    assert group["tasks"] == group["conversions_done"] == 3
    assert group["jobs"] == group["done"] == 150


def test_conversions_not_done_by_the_end_are_cancelled(daemon, campaign,
                                                       spool):
    d = daemon(*SLOW, "--spool", spool)
    path = campaign(mixed(more="  expect: {finished: '> 0%'}\n", **LONG))
    done = feed(d, path, "--spool", spool)
    assert done.returncode == 3
    assert "conversions    0 of 3 done" in done.stdout
    assert "3 unfinished" in done.stdout
    assert left(spool) == []
    counts = d.ctl("stats")["conversions"]
    assert counts["cancelled"] == 3
    assert counts["running"] == counts["waiting"] == 0


def test_interrupted_it_cancels_them(daemon, campaign, spool, tmp_path):
    d = daemon(*SLOW, "--spool", spool, "--conversions", "1")
    path = campaign(mixed(count=5, duration="600s", **LONG))
    p = subprocess.Popen([FEEDER, path, *d.where(), "--spool", spool, "--out",
                          tmp_path / "run"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while d.ctl("stats")["conversions"]["running"] == 0:
        assert p.poll() is None, p.stderr.read()
        assert time.monotonic() < end, "hung"
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=PATIENCE)
    assert p.returncode == 130
    r = json.loads((tmp_path / "run" / "run.json").read_text())
    assert r["interrupted"] is True
    c = r["conversions"]
    assert c["done"] < 5 and c["unfinished"] == 5 - c["done"]
    assert left(spool) == c["done"] * [".awb"]
    assert d.ctl("stats")["conversions"]["cancelled"] == c["unfinished"]


def test_a_full_daemon_is_a_result(daemon, campaign, spool):
    d = daemon(*SLOW, "--spool", spool, "--max-conversions", "1",
               "--conversions", "1")
    path = campaign(mixed(count=4, **LONG))
    c = d.feed(path, "--spool", spool)["conversions"]
    assert c["refused"] == 3 and "--max-conversions" in c["why"]
    assert c["unfinished"] == 1
    assert left(spool) == []


def test_without_a_spool_it_says_which_side_has_none(daemon, campaign, spool,
                                                     tmp_path):
    path = campaign(mixed())
    done = feed(None, path)
    assert done.returncode == 2
    assert f"{path}:8: conversions need --spool DIR" in done.stderr
    done = feed(daemon(), path, "--spool", spool)
    assert done.returncode == 1
    assert "daemon was started without --spool" in done.stderr
    other = tmp_path / "other"
    other.mkdir()
    d = daemon("--spool", spool)
    done = feed(d, path, "--spool", other)
    assert done.returncode == 1
    assert "No such file or directory; is " in done.stderr
    assert left(spool) == left(other) == []
    done = feed(d, path, "--spool", tmp_path / "no")
    assert done.returncode == 1
    assert "--spool: " in done.stderr and "No such file" in done.stderr


def test_broken_recordings_are_named(daemon, campaign, spool, tmp_path):
    d = daemon("--spool", spool)
    (tmp_path / "bad.wav").write_bytes(b"RIFF nothing")
    for name, says in (("bad.wav", "bad.wav: "), ("none.wav", "none.wav")):
        path = campaign(mixed(more=f"  input: [{name}]\n"))
        done = feed(d, path, "--spool", spool)
        assert done.returncode == 1 and says in done.stderr, done.stderr
    assert left(spool) == []


def test_conversions_are_printed_for_other_programs(campaign):
    path = campaign(mixed(more="daemon: {convert-floor: 25}\n"))
    printed = feed(None, path, "--print", "campaign").stdout
    assert json.loads(printed)["conversions"] == 3
    result = feed(None, path, "--print", "daemon").stdout
    assert "--convert-floor=25\n" in result
    done = subprocess.run([BUILD / "codec-sim", path], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert f"{path}:8: conversions are a daemon's work" in done.stderr

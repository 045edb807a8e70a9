# SPDX-License-Identifier: Apache-2.0
"""Files as they come: cut, foreign, empty, random; and the three outputs."""
import csv
import io
import json
import os
import random
import struct
import subprocess

import pytest
from conftest import DONE, MS, ROOT, EXPIRED, call, header, job, note

AMR = "pcmu -> amr/12.2"


def small(lost=0, scheduler="edf"):
    return [header(scheduler), call(1)] + [
        job(1, i, MS + 20 * MS * i, MS + 20 * MS * i + MS,
            EXPIRED if i < lost else DONE) for i in range(10)]


def fails(result, *words):
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("codec-report: ")
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr


@pytest.mark.skipif("SAMPLE_TRACE" not in os.environ, reason="run by ctest")
def test_every_member_is_where_the_c_writer_puts_it(tmp_path):
    from codec_report.trace import read_trace
    path = str(tmp_path / "c.bin")
    subprocess.run([os.environ["SAMPLE_TRACE"], path], check=True)
    t = read_trace(path)
    assert t.header == {"scheduler": "edf", "workers": 4}
    assert {k: int(v[0]) for k, v in t.jobs.items()} == {
        "outcome": 0, "worker": 3, "task": 5, "seq": 17, "arrival": MS,
        "release": 2 * MS, "pick": 3 * MS, "start": 4 * MS, "end": 5 * MS, "sent": 6 * MS,
        "deadline": 7 * MS, "rtp_ts": 2 ** 32 - 1, "codec_ns": 900000,
        "away": 14, "buffered": 15, "importance": 16}
    begin = t.tasks[0]
    assert {name: begin[name] for name in begin.dtype.names
            if name != "reserved"} == {
        "kind": 2, "cls": 1, "ptime": 80, "task": 5, "start": 11,
        "rel_deadline": 12, "codec_in": b"pcmu", "mode_in": b"64k",
        "codec_out": b"amr", "mode_out": b"12.2", "weight": 13, "nice": -14,
        "cost_mean": 15, "cost_p99": 16}
    assert t.notes[0].item() == (3, 2, 4, 19, 21, b"drained")


def test_a_cut_last_record_is_noted_and_the_rest_counts(write, codec_report):
    whole = b"".join(small())
    result = codec_report("--json", write(whole[:-1]))
    run = json.loads(result.stdout)["runs"][0]
    assert run["schedulers"][0]["groups"][0]["jobs"] == 9
    assert any("cut short" in n for n in run["notes"])


def test_lost_records_are_noted(write, codec_report):
    result = codec_report(write(*small(), note(0, count=40), note(0, count=2)))
    assert "42 trace records were lost" in result.stdout


def test_foreign_files_are_refused(write, codec_report, tmp_path):
    fails(codec_report(write(b"RIFF" * 30)), "not a trace file")
    fails(codec_report(write(b"")), "not a trace file")
    fails(codec_report(write(header()[:30])), "ends inside its header")
    fails(codec_report(str(tmp_path / "none")), "No such file")
    fails(codec_report(str(tmp_path)), "no run")
    fails(codec_report(write(b"CRTRACE2" + header()[8:])),
          "a trace of another version (CRTRACE2); this one reads CRTRACE1")
    bad = struct.pack("<8sIIq", b"CRTRACE1", 96, 8, 0)
    fails(codec_report(write(bad + b"[1,2,3] ")), "no JSON object")
    fails(codec_report(write(bad + b"\xff" * 8)), "not JSON")
    for size in (88, 104):
        bad = struct.pack("<8sIIq", b"CRTRACE1", size, 8, 0)
        fails(codec_report(write(bad + b"{}      ")),
              f"records of {size} bytes")
    fails(codec_report(write(header(), call(1), bytes(96))), "record 1:")


def test_a_run_without_frames_is_reported_as_such(write, codec_report):
    for parts in ((header(),), (header(), call(1)), (header(), call(1)[:50])):
        result = codec_report(write(*parts))
        assert result.returncode == 0
        assert "no frame arrived" in result.stdout
        for form in ("--json", "--csv"):
            assert codec_report(form, write(*parts)).returncode == 0
    result = codec_report("--since", "1min", write(*small()))
    assert "no frame arrived" in result.stdout


def test_random_bytes_never_trace_back(write):
    """In this process: a traceback would be the test's failure."""
    from codec_report import ReportError
    from codec_report.cli import report
    from codec_report.run import load_run, sections
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    good = b"".join(small(3) + [note(1, 5, text="rr")])
    for _ in range(400):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 60)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[:rng.randrange(len(data) + 1)]
        try:
            run = load_run(write(bytes(data)))
            r = report(run, "codec", sections(run))
            json.dumps(r, allow_nan=False)
        except ReportError:
            pass
    for _ in range(200):  # records of random members but known kinds
        records = []
        for _ in range(30):
            record = bytearray(rng.randbytes(96))
            record[0] = rng.randrange(1, 4)
            record[1] %= 7
            records.append(bytes(record))
        run = load_run(write(header(), *records))
        r = report(run, "class", sections(run, "class"))
        json.dumps(r, allow_nan=False)


def test_a_folder_of_runs_means_all_of_them(write, codec_report):
    for name in ("b/trace.bin", "a/1/trace.bin", "a/2/trace.bin"):
        write(*small(scheduler=name[0]), name=f"out/{name}")
    write(b"", name="out/report.html")
    folder = write(b"", name="out/notes/x").rsplit("/", 2)[0]
    runs = json.loads(codec_report("--json", folder).stdout)["runs"]
    assert [(r["run"], len(r.get("repetitions", []))) for r in runs] == [
        ("a", 2), ("b", 0)]


def test_an_interrupted_report_ends_in_silence(monkeypatch, capsys):
    from codec_report import cli

    def interrupt(path):
        raise KeyboardInterrupt
    monkeypatch.setattr(cli, "load_run", interrupt)
    assert cli.main(["x"]) == 130
    assert capsys.readouterr() == ("", "")


def test_two_runs_side_by_side_have_no_stars(write, codec_report):
    """One run of each: nobody knows what noise is."""
    a = write(*small(1, "fifo"), name="a/trace.bin")
    b = write(*small(4, "edf"), name="b/trace.bin")
    result = codec_report("--all", os.path.dirname(a), os.path.dirname(b))
    lines = result.stdout.splitlines()
    head = next(line for line in lines if line.startswith(AMR))
    assert head.split() == [*AMR.split(), "fifo", "edf"]
    lost = [line.split() for line in lines if line.startswith("lost ")]
    assert lost == [["lost", "10.00", "%", "40.00", "%"], ["lost", "1", "4"],
                    ["lost", "per", "second", "5.6", "22.2"]]
    jobs = next(line for line in lines if line.startswith("jobs "))
    assert jobs.split() == ["jobs", "10", "10"]
    assert "\033" not in result.stdout and "*" not in result.stdout
    assert max(map(len, lines)) <= 80 or "note" in max(lines, key=len)
    assert "a, b: no streams.csv" in result.stdout


def test_every_metric_can_be_selected(write, codec_report):
    """Else ten rows and a closing line; and in the file."""
    path = write(*small(1, "fifo"))
    short = codec_report(path).stdout.splitlines()
    rows = [line for line in short if line.startswith(
        ("lost", "delay", "jitter", "workers", "call loss"))]
    assert 3 <= len(rows) <= 10
    assert short[-1] == "every number: --all; for programs: --json"
    whole = codec_report("--all", path).stdout
    assert "sched jitter p99.9, ms" in whole and "--all" not in whole
    file = f"{path}.json"
    assert f"written: {file}" in codec_report("--data", file, path).stdout
    with open(file, encoding="utf-8") as f:
        assert f.read() == codec_report("--json", path).stdout
    fails(codec_report("--data", "/nowhere/x", path), "/nowhere/x: No such")


def test_many_runs_stay_within_80_columns(write, codec_report):
    paths = [write(*small(i, f"policy{i}"), name=f"run{i}.bin")
             for i in range(9)]
    result = codec_report(*paths)
    assert max(map(len, result.stdout.splitlines())) <= 80
    for i in range(9):
        assert f"policy{i}" in result.stdout


def test_csv_and_json_agree(write, codec_report):
    path = write(*small(2))
    group = json.loads(codec_report("--json", path).stdout)[
        "runs"][0]["schedulers"][0]["groups"][0]
    rows = list(csv.DictReader(io.StringIO(codec_report("--csv",
                                                        path).stdout)))
    assert len(rows) == 1
    assert rows[0]["run"] == "t.bin"
    assert rows[0]["scheduler"] == "edf"
    for key, value in group.items():
        text = rows[0][key]
        if value is None:
            assert text == ""
        elif isinstance(value, str):
            assert text == value
        else:
            assert float(text) == value
    assert group["lost"] == 2


def test_the_program_reports_and_fails_as_main_does(write, program):
    result = program("--csv", write(*small(2)))
    assert (result.returncode, result.stderr) == (0, "")
    assert ",edf," in result.stdout
    fails(program(write(b"RIFF" * 30)), "not a trace file")
    assert program("--version").stdout.startswith("codec-report ")


def test_wrong_arguments_are_exit_code_2(write, codec_report):
    path = write(*small())
    assert codec_report().returncode == 2
    assert codec_report("--by", "moon", path).returncode == 2
    assert codec_report("--since", "x", path).returncode == 2
    fails(codec_report("--since", "5", "--until", "5", path), "--until")
    assert codec_report("--help").returncode == 0
    assert codec_report("--version").stdout.startswith("codec-report ")


def test_names_from_the_file_cannot_drive_the_terminal(write, codec_report):
    parts = small()
    parts[1] = call(1, codec_in="\033[31mx")
    assert "\033" not in codec_report(write(*parts)).stdout


def test_conversions_are_a_group_without_rhythm(write, codec_report):
    trace = write(*small(), call(7, codec_in="l16"), *(
        job(7, i, MS + i, MS + 3 * MS * i + MS) for i in range(4)),
        name="c/trace.bin")
    folder = os.path.dirname(trace)
    calls = b"stream,flow,sent\n1,talk,10\n"
    write(calls, name="c/streams.csv")

    def groups(conversions, *options):
        write(json.dumps({"conversions": conversions}).encode(),
              name="c/run.json")
        run = json.loads(codec_report("--json", *options, folder).stdout)
        return {g["group"]: g for g in
                run["runs"][0]["schedulers"][0]["groups"]}
    output = {"count": 3, "done": 2, "turnaround_mean_ns": 5000000,
            "turnaround_p50_ns": 4000000, "turnaround_max_ns": 6000000,
            "times_real_time": 12.5, "ids": [7]}
    for by in ("codec", "class", "flow"):
        g = groups(output, "--by", by)["conversions"]
        assert (g["tasks"], g["jobs"], g["done"]) == (1, 4, 4)
        assert g["sched_jitter_max_ms"] is None
        assert [g[k] for k in ("conversions", "conversions_done",
                               "turnaround_mean_ms", "turnaround_p50_ms",
                               "turnaround_max_ms", "times_real_time")] == [
            3, 2, 5, 4, 6, 12.5]
    for odd in (5, [], {"ids": 7}, {"ids": ["7", -1, None, 1 << 40]},
                {"count": "x", "ids": {}}):
        assert groups(odd)["l16 -> amr/12.2"]["jobs"] == 4


def test_the_feeder_numbers_join_the_trace(write, codec_report):
    trace = write(*small(2), name="r/trace.bin")
    write(json.dumps({
        "scheduler": "edf", "total": {"delay": {"p99_ns": 9000000}},
        "flows": [{"flow": "talk", "delay": {"p99_ns": 8000000},
                   "jitter": {"p99_ns": 1500000}}, {"flow": "x"}, 5],
    }).encode(), name="r/run.json")
    write(b"stream,flow,sent,received,lost,late,delay_p99_ms,extra\n"
          b"1,talk,10,8,2,1,7.5,x\n"
          b"9,talk,20,20,0,,2.5,y\n"
          b",other,30,29,1,0,9.5,z\n", name="r/streams.csv")
    run = json.loads(codec_report("--json", "--by", "flow",
                                  os.path.dirname(trace)).stdout)["runs"][0]
    groups = {g["group"]: g for g in run["schedulers"][0]["groups"]}
    assert list(groups) == ["all", "talk", "other"]

    def feeder(group):
        return [groups[group][f"feeder_{k}"] for k in (
            "sent", "received", "lost", "late", "delay_p99_ms",
            "delay_p99_worst_ms", "jitter_p99_ms")]
    assert groups["talk"]["jobs"] == 10
    assert feeder("talk") == [30, 28, 2, 1, 8, 7.5, 1.5]
    assert feeder("all") == [60, 57, 3, 1, 9, 9.5, None]
    assert feeder("other") == [30, 29, 1, 0, None, 9.5, None]
    text = codec_report("--all", os.path.dirname(trace)).stdout
    assert "feeder received" in text
    assert "note" not in text
    text = codec_report("--all", "--warm-up", "0.1", os.path.dirname(trace)).stdout
    assert "feeder received" not in text


def frames_file(frames):
    """frames.bin of (call, sent, received) in ms; received 0: never."""
    return struct.pack("<8sIIq", b"CRFRAME1", 24, 0, 0) + b"".join(
        struct.pack("<IIqq", call, i, sent * MS, received * MS)
        for i, (call, sent, received) in enumerate(frames))


def peer_run(write, frames=(), name="rtpengine", flows=("steady",) * 3):
    """The files of codec-feeder --ng: no trace, no scheduler."""
    counts = "5,5,0,10.0,", "5,4,1,10.1,", "5,0,5,0.0,"
    path = write(b"stream,flow,codec_in,codec_out,mode_in,mode_out,sent,received,"
                 b"lost,delay_p99_ms,daemon_done\n" + "".join(
                     f"{i},{flow},pcmu,amr,64,12.2,{text}\n"
                     for i, (flow, text)
                     in enumerate(zip(flows, counts), 1)).encode(),
                 name=f"{name}/streams.csv")
    write(json.dumps({
        "program": "codec-feeder", "scheduler": None,
        "peer": {"name": name, "ng": "127.0.0.1:2"},
        "total": {"loss": 0.4, "delay": {"p50_ns": 2000000,
                                         "p99_ns": 10100000}}}).encode(),
          name=f"{name}/run.json")
    write(frames_file(frames), name=f"{name}/frames.bin")
    return os.path.dirname(path)


def test_a_media_proxy_is_a_column_beside_schedulers(write, codec_report):
    """Of the feeder's side, in the same table; all else is absent, not 0."""
    trace = write(*small(2), name="edf/trace.bin")
    write(b"stream,flow,codec_in,codec_out,mode_in,mode_out,sent,received,"
          b"delay_p99_ms\n1,steady,pcmu,amr,,12.2,10,10,1.5\n",
          name="edf/streams.csv")
    proxy = peer_run(write)
    output = json.loads(codec_report("--json", os.path.dirname(trace),
                                   proxy).stdout)
    run = output["runs"][1]
    assert run["schedulers"][0]["scheduler"] == "rtpengine"
    group, = run["schedulers"][0]["groups"]
    assert group["group"] == "pcmu/64 -> amr/12.2"
    assert {k: group[f"feeder_{k}"] for k in (
        "streams", "streams_within", "loss", "delay_p50_ms", "delay_p99_ms",
        "recovery_ms")} == {
        "streams": 3, "streams_within": 1, "loss": 0.4, "delay_p50_ms": 2,
        "delay_p99_ms": 10.1, "recovery_ms": None}
    assert {v for k, v in group.items()
            if k != "group" and not k.startswith("feeder_")} == {None}
    assert run["notes"] == ["no trace.bin: nothing from inside rtpengine, and "
                            "no figures"]


def test_the_page_names_the_schedulers_of_its_figures(write, codec_report,
                                                      tmp_path):
    """"No call lost a frame" is not of the proxy, which lost some."""
    trace = write(*small(2), name="edf/trace.bin")
    page = tmp_path / "page.html"
    for more, says in ((), False), ((peer_run(write),), True):
        codec_report("--html", str(page), os.path.dirname(trace), *more)
        text = page.read_text(encoding="utf-8")
        assert "What to see" in text
        assert ("nothing in them is of rtpengine" in text) == says


@pytest.mark.parametrize("output,note", [
    ({"failure": "delete: Connection refused", "interrupted": False},
     "the run broke off: delete: Connection refused"),
    ({"failure": None, "interrupted": True}, "the run was interrupted"),
    ({"failure": None, "interrupted": False}, None),
])
def test_a_run_that_is_not_whole_says_so(write, codec_report, output, note):
    """Its counts are beside those of whole ones."""
    path = write(*small(2), name="edf/trace.bin")
    write(json.dumps(output).encode(), name="edf/run.json")
    run = json.loads(codec_report("--json",
                                  os.path.dirname(path)).stdout)["runs"][0]
    assert [n for n in run["notes"] if n.startswith("the run ")] == \
        ([note] if note else [])


@pytest.mark.parametrize("bad,recovery", [
    ((), 0),                          # it was not felt
    (range(1000, 1200), 0),           # only while it lasted
    (range(1000, 2300), 300),         # 300 ms longer
    ((*range(1000, 2300), 2550), 600),  # once more before half a second
    ((*range(1000, 2300), 3500), 300),  # and later: something else
    (range(1000, 5000), 2000),        # to the end of the run
])
def test_recovery_is_from_the_end_of_the_overload(
        write, codec_report, bad, recovery):
    """Call 1 lasts 4 s, call 2 from 1 s to 2 s. Frames come after 1 ms; bad
    ones after 11 ms, or never."""
    frames = [(1, at, at + 1) for at in range(1, 4012, 10)] + \
        [(2, at, at + 1) for at in range(1001, 2002, 10)]
    frames = [(call, at, (at + 11 if at % 20 < 10 else 0)
               if at // 10 * 10 in bad or at - 1 in bad else back)
              for call, at, back in frames]
    run = json.loads(codec_report(
        "--json", peer_run(write, frames)).stdout)["runs"][0]
    group, = run["schedulers"][0]["groups"]
    assert group["feeder_recovery_ms"] == recovery


def test_no_recovery_of_a_group_that_has_ended_before(write, codec_report):
    """Three flows: one for 4 s, one until 2 s, one until 1 s. Only the first
    is there when the last overload is over."""
    frames = [(call, at, at + 1) for call, end in ((1, 4000), (2, 2000),
                                                   (3, 1000))
              for at in range(1, end, 10)]
    run = json.loads(codec_report("--json", "--by", "flow", peer_run(
        write, frames, flows=("long", "short", "shorter"))).stdout)["runs"][0]
    assert {g["group"]: g["feeder_recovery_ms"]
            for g in run["schedulers"][0]["groups"]} == {
        "all": 0, "long": 0, "short": None, "shorter": None}


def test_no_recovery_where_no_call_ends_early(write, codec_report):
    frames = [(call, at, at + 1) for call in (1, 2)
              for at in range(1, 3000, 10)]
    run = json.loads(codec_report(
        "--json", peer_run(write, frames)).stdout)["runs"][0]
    assert run["schedulers"][0]["groups"][0]["feeder_recovery_ms"] is None


def test_a_run_without_a_trace_shows_the_feeder_side(write, codec_report):
    path = write(b"stream,codec_in,codec_out,sent,received,lost\n"
                 b"1,pcmu,amr,5,4,1\n2,pcmu,amr,5,5,0\nx,\xff,,nan,-\n",
                 name="r/streams.csv")
    write(b'{"scheduler": "rr,quantum=1ms"}', name="r/run.json")
    result = codec_report("--json", os.path.dirname(path))
    run = json.loads(result.stdout)["runs"][0]
    assert run["schedulers"][0]["scheduler"] == "rr"
    groups = {g["group"]: g for g in run["schedulers"][0]["groups"]}
    assert groups["pcmu -> amr"]["feeder_received"] == 9
    assert groups["pcmu -> amr"]["jobs"] is None
    assert "no trace.bin" in " ".join(run["notes"])
    write(b'{"scheduler": NaN}', name="r/run.json")
    fails(codec_report(os.path.dirname(path)), "run.json: not JSON")


@pytest.mark.skipif("CODEC_REPORT" not in os.environ, reason="run by ctest")
def test_the_man_page_in_docs_is_the_program_s(program):
    with open(ROOT / "docs" / "man" / "codec-report.1",
              encoding="utf-8") as f:
        # else: build/release/codec-report --man > docs/man/codec-report.1
        assert f.read() == program("--man").stdout


def frames_bin(offset, *records):
    return struct.pack("<8sIIq", b"CRFRAME1", 24, 0, offset) + b"".join(
        struct.pack("<IIqq", *r) for r in records)


def test_the_network_s_part_of_each_frame(write, codec_report):
    """From frames.bin: 1 ms there and 2 ms back, frame 9 with 5 ms more;
    frame 4 was not received, of frame 5 nothing is known."""
    trace = write(header(), call(1), *[
        job(1, i, MS + 20 * MS * i, 5 * MS + 20 * MS * i) for i in range(10)],
        name="r/trace.bin")
    folder = os.path.dirname(trace)

    def network(*parts):
        write(*parts, name="r/frames.bin")
        result = codec_report("--json", folder)
        assert result.returncode == 0, result.stderr
        group, = json.loads(result.stdout)["runs"][0]["schedulers"][0][
            "groups"]
        return [group[f"delay_network_{q}_ms"] for q in ("mean", "p99")]
    records = [(1, 160 * i, 20 * MS * i + 1,  # not 0: that is "never"
                0 if i == 4 else 7 * MS + 20 * MS * i + 1
                + (5 * MS if i == 9 else 0))
               for i in range(10) if i != 5]
    assert network(frames_bin(0, *records)) == pytest.approx([29 / 8, 8])
    # a feeder elsewhere, whose clock began three days earlier
    days = 3 * 86400 * 10 ** 9
    there = [(c, ts, s + days, r and r + days) for c, ts, s, r in records]
    assert network(frames_bin(-days, *there)) == pytest.approx([29 / 8, 8])
    assert network(frames_bin(0)) == [None, None]
    # a caller whose clock is fast: the timestamps of 20 ms, in 18 ms
    write(header(), call(1), *[
        job(1, i, MS + 18 * MS * i, 5 * MS + 18 * MS * i) for i in range(10)],
        name="r/trace.bin")
    fast = [(1, 160 * i, 18 * MS * i + 1, 7 * MS + 18 * MS * i + 1)
            for i in range(10)]
    assert network(frames_bin(0, *fast)) == pytest.approx([3, 3])
    write(b"CRFRAME2" * 9, name="r/frames.bin")
    fails(codec_report(folder), "does not begin with CRFRAME1")

# SPDX-License-Identifier: Apache-2.0
"""The verdict, word by word, of runs made for it."""
import json
import os
import re
import struct

import pytest
from conftest import (CALLS, MORE, MS, EXPIRED, call, streams_csv, header, job,
                      note, speech)


def lose(j):
    return {**j, "outcome": EXPIRED, "start": 0, "end": 0, "sent": 0,
            "codec_ns": 0, "worker": 0xFFFF}


def every(n, only=lambda j: j["high"]):
    """Of the overload's frames, one in n is lost, whosever it is."""
    return lambda j: lose(j) if only(j) and (j["seq"] + j["task"]) % n == 0 \
        else j


def starve(*calls):
    """In the overload these calls get one frame in ten."""
    return lambda j: lose(j) if j["high"] and j["task"] in calls and \
        j["seq"] % 10 else j


def late(ms, only=lambda j: j["high"]):
    def spoil(j):
        return {**j, **{name: j[name] + ms * MS for name in (
            "pick", "start", "end", "sent")}} if only(j) else j
    return spoil


def test_equal_columns_are_called_equal(verdict):
    said = verdict({name: speech(name) for name in ("fifo", "rr", "edf")})
    assert said["head"] == ("demo.yaml: played live on AMD EPYC, 1 CPU for "
                            "the workers. fifo, rr and edf, "
                            "separate runs.")
    assert said["load"] == (
        "Load: calm 10 calls for 80 % of the CPU time; overload 20 calls for "
        "160 % of the CPU time (2.0 to 4.0 s); after 10 calls for 80 % of "
        "the CPU time.")
    assert said["sentences"] == [
        "Calm: all three equal (0 missed, p99 3 ms, MOS 4.4).",
        "Overload: all three equal (0 missed, p99 3 ms, MOS 4.4).",
        "After: all three equal (0 missed, p99 3 ms, MOS 4.4).",
        "Any of the three will do here. One run each: what is noise, "
        "--rounds 4 can tell."]
    assert said["choose"] == ["fifo", "rr", "edf"]


def test_a_clear_winner_is_chosen(verdict):
    said = verdict({"fifo": speech("fifo", every(4)),
                    "rr": speech("rr", every(8)),
                    "bfs": speech("bfs", every(8)),
                    "pd2": speech("pd2", every(3))})
    assert said["sentences"] == [
        "Calm: all four equal (0 lost, p99 3 ms, MOS 4.4).",
        "Overload: rr and bfs lose 13 % of the frames, half as much as fifo "
        "(25 %), pd2 33 %; in time 87 % under rr and bfs, 67 to 75 % under "
        "fifo and pd2; MOS is 3.1 under rr and bfs, 1.9 to 2.2 under fifo "
        "and pd2.",
        "After: all four equal (0 lost, p99 3 ms, MOS 4.4).",
        "Choose rr or bfs here. One run each: what is noise, --rounds 4 can "
        "tell."]
    assert said["choose"] == ["rr", "bfs"]


def test_a_scheduler_that_starves_single_calls_is_not_chosen(verdict):
    """Though it loses the fewest frames."""
    said = verdict({"fifo": speech("fifo", every(4)),
                    "edf": speech("edf", starve(3)),
                    "pd2": speech("pd2", starve(3, 15, 16))})
    _, over, _, choice = said["sentences"]
    assert over.split("; ")[1] == "edf and pd2 starve single calls (90 %)"
    assert choice.startswith("Choose fifo here.")


def test_delay_decides_where_losses_do_not(verdict):
    said = verdict({"fifo": speech("fifo"), "rr": speech("rr", late(40)),
                    "edf": speech("edf", late(8))})
    assert said["sentences"][1] == (
        "Overload: fifo and edf miss no deadline, rr 100 %; p99 is 3 to 11 ms "
        "under fifo and edf, 43 ms under rr.")
    assert said["choose"] == ["fifo", "edf"]  # 8 ms are not heard


def test_after_an_overload_is_a_phase(verdict):
    def tail(j):
        return 200 <= j["seq"] < 230
    said = verdict({"fifo": speech("fifo"),
                    "pd2": speech("pd2", every(2, tail))})
    assert said["sentences"][2] == (
        "After: fifo loses nothing, pd2 15 %; in time 100 % under fifo, 85 % "
        "under pd2; MOS is 4.4 under fifo, 2.9 under pd2.")
    assert said["sentences"][0].startswith("Calm: both equal (0 lost")
    assert said["choose"] == ["fifo"]


def several(name, *spoils):
    return {f"{name}/{i}": speech(name, spoil)
            for i, spoil in enumerate(spoils, 1)}


def test_differences_within_noise_are_not_reported(verdict):
    """Both lose between a fourth and an eighth, now more, now less."""
    said = verdict(several("fifo", *map(every, (4, 8, 5, 7))) |
                   several("rr", *map(every, (8, 4, 7, 6))))
    assert said["head"].endswith("fifo and rr, four runs each, separate runs.")
    assert said["sentences"][1].startswith(
        "Overload: both equal (16 to 17 % lost, in time 83 to 84 %, ")
    assert said["sentences"][-1] == (
        "Either of the two will do here. Told apart is what noise does not "
        "explain (p <= 0.05).")


def test_differences_beyond_noise_are_reported(verdict):
    said = verdict(several("fifo", *map(every, (3, 4, 3, 4))) |
                   several("rr", *map(every, (8, 9, 10, 9))))
    assert said["sentences"][1].startswith(
        "Overload: rr loses 11 % of the frames, fifo 29 %; ")
    assert said["choose"] == ["rr"]


def test_two_repetitions_have_to_agree_and_are_called_too_few(verdict):
    said = verdict(several("fifo", *map(every, (3, 8))) |
                   several("rr", *map(every, (7, 9))))
    assert "both equal" in said["sentences"][1]
    said = verdict(several("fifo", *map(every, (3, 4))) |
                   several("rr", *map(every, (8, 9))))
    assert said["sentences"][1].startswith("Overload: rr loses 12 %")
    assert said["sentences"][-1] == (
        "Choose rr here. Two runs each are too few to rule noise out: "
        "--rounds 4 can.")


def tasks(scheduler, missed=lambda number, i: False):
    """20 tasks of the simulator, each every 20 ms, 0.8 ms: nothing is ever
    lost."""
    records = []
    for number in range(1, 21):
        for i in range(200):
            arrival = MS + 20 * MS * i + number * 100000
            end = arrival + (30 if missed(number, i) else 3) * MS
            records.append(job(number, i, arrival, end, start=end - 800000,
                               pick=end - 800000))
    return b"".join([
        header(scheduler, program="codec-sim", live=False, workers=1),
        *[call(n, codec_in="light", codec_out="synthetic", mode_out="")
          for n in range(1, 21)], *records])


def test_a_world_of_jobs_leads_with_missed_deadlines(verdict):
    said = verdict({
        "edf": tasks("edf"),
        "fifo": tasks("fifo", lambda number, i: (number + i) % 10 == 0),
        "rm": tasks("rm", lambda number, i: number == 7 and i % 4)})
    assert said["head"] == \
        "demo.yaml: simulated with 1 CPU. edf, fifo and rm."
    assert said["load"] == "Load: 20 tasks for 80 % of the CPU time."
    assert said["sentences"] == [
        # one task of twenty: another twenty may have none like it
        "Calm: edf and rm miss 0 to 3.8 % of the deadlines, fifo 10 %; rm "
        "fails single tasks (75 %); p99 is 3 ms under edf, 30 ms under fifo and rm.",
        "Choose edf here. One simulation each: other seeds may tell "
        "otherwise."]
    assert said["choose"] == ["edf"]


def frames_bin(delay, lost=lambda number, i: False):
    """The feeder's results of the same calls; delay: ms by number of frame."""
    records = []
    for number in range(1, CALLS + MORE + 1):
        begin, end = (0, 300) if number <= CALLS else (100, 200)
        for i in range(begin, end):
            sent = 5 * MS + 20 * MS * i + number * 100000
            back = 0 if lost(number, i) else sent + int(delay(i) * MS)
            records.append(struct.pack("<IIqq", number, i, sent, back))
    return struct.pack("<8sIIq", b"CRFRAME1", 24, 0, 0) + b"".join(records)


def proxy_beside_edf(write):
    """A media proxy loses one frame in four of the overload, and has every
    frame for 30 ms in it; edf's daemon has its trace, too."""
    result = {"campaign": {"path": "proxy.yaml", "text": "x"}, "seed": 7}
    for name, more, seen in (
            ("edf", {"scheduler": "edf"}, frames_bin(lambda i: 3.3)),
            ("proxy", {"peer": {"name": "rtpengine"}},
             frames_bin(lambda i: 30 if 100 <= i < 200 else 4,
                        lambda n, i: 100 <= i < 200 and (n + i) % 4 == 0))):
        write(seen, name=f"{name}/frames.bin")
        write(streams_csv(), name=f"{name}/streams.csv")
        path = write(json.dumps({**result, **more}).encode(),
                     name=f"{name}/run.json")
    write(speech("edf"), name="edf/trace.bin")
    return os.path.dirname(os.path.dirname(path))


def test_a_media_proxy_is_in_the_verdict(write, codec_report):
    """It has no trace: what the feeder saw counts, for both."""
    top = proxy_beside_edf(write)
    out = json.loads(codec_report("--json", f"{top}/proxy",
                                  f"{top}/edf").stdout)
    said, = out["verdict"]
    assert said["sentences"] == [
        "Calm: both equal (0 lost, p99 3.3 to 4 ms).",
        "Overload: edf loses nothing, rtpengine 25 %; in time 100 % under "
        "edf, 0 % under rtpengine.",
        "After: both equal (0 lost, p99 3.3 to 4 ms).",
        "Choose edf here. One run each: what is noise, --rounds 4 can tell."]
    proxy = out["runs"][0]["schedulers"][0]["phases"]
    assert [(p["phase"], p["offered"], p["lost"]) for p in proxy] == [
        ("calm", 1000, 0), ("overload", 2000, 500), ("after", 1000, 0)]


def test_in_time_is_of_all_frames_offered(write, codec_report):
    """Of 2000 frames of the overload 500 are lost and 500 late: 1000 are in
    time, half of them, not two thirds."""
    def spoil(j):
        if not j["high"]:
            return j
        turn = (j["seq"] + j["task"]) % 4
        return lose(j) if turn == 0 else late(30)(j) if turn == 1 else j
    path = write(speech("edf", spoil), name="one/trace.bin")
    run, = json.loads(codec_report("--json", path).stdout)["runs"]
    section, = run["schedulers"]
    calm, over, after = section["phases"]
    assert (over["offered"], over["lost"]) == (2000, 500)
    assert over["in_time_share"] == pytest.approx(1000 / 2000)
    assert over["missed_share"] == pytest.approx(1000 / 2000)
    assert calm["in_time_share"] == after["in_time_share"] == 1
    group, = section["groups"]
    assert group["in_time_share"] == pytest.approx(3000 / 4000)
    assert group["late_share"] == pytest.approx(500 / 3500)


def test_mos_is_of_a_phase(write, codec_report):
    """Never of several: where a run has phases, the whole has none."""
    path = write(speech("edf", every(3)), name="one/trace.bin")
    run, = json.loads(codec_report("--json", path).stdout)["runs"]
    section, = run["schedulers"]
    scores = [p["mos_mean"] for p in section["phases"]]
    assert scores[0] == scores[2] > 4 > scores[1]
    group, = section["groups"]
    assert group["mos_mean"] is None and group["r_mean"] is None
    only = json.loads(codec_report("--json", "--until", "1.9s",
                                   path).stdout)["runs"][0]
    group, = only["schedulers"][0]["groups"]
    assert group["mos_mean"] == pytest.approx(scores[0], abs=0.01)


def test_expectations_that_do_not_hold_are_reported(verdict):
    def expects(met, value):
        return {"expectations": [
            {"flow": None, "metric": "loss", "expect": "<= 1%", "unit": "ppm",
             "value": value, "met": met},
            {"flow": "x", "metric": "p99-delay", "expect": "<= 2ms",
             "unit": "ns", "value": 3000000, "met": met}]}
    traces = {"fifo": speech("fifo", every(4)), "rr": speech("rr")}
    said = verdict(traces, {"fifo": expects(False, 125000),
                            "rr": expects(True, 0)})
    assert said["sentences"][3] == (
        "The campaign expects what did not hold: loss <= 1% under fifo "
        "(12 %); p99-delay <= 2ms of x under fifo (3 ms).")
    said = verdict(traces, {"rr": expects(True, 0)})
    assert said["sentences"][3] == "The campaign's expectations hold."


def test_an_expectation_that_no_scheduler_meets_is_reported(verdict):
    many = {"expectations": [
        {"flow": f"f{i}", "metric": "loss", "expect": "<= 1%", "unit": "ppm",
         "value": 20000, "met": False} for i in range(4)]}
    said = verdict({"fifo": speech("fifo"), "rr": speech("rr")},
                   {"fifo": many, "rr": many})
    assert said["sentences"][3] == (
        "The campaign expects what did not hold: loss <= 1% of f0 under fifo "
        "(2 %); loss <= 1% of f0 under rr (2 %); loss <= 1% of f1 under fifo "
        "(2 %) and 5 more.")


def behind(j):
    """As from a sender that gets ever later: a second in six."""
    slow = j["seq"] * 20 * MS // 6
    return {**j, **{name: j[name] + slow for name in (
        "arrival", "pick", "start", "end", "sent")}}


def test_nothing_is_chosen_where_a_sender_did_not_keep_pace(verdict):
    """Such a run loses less because less was sent."""
    said = verdict({"fifo": speech("fifo", every(4)),
                    "rr": speech("rr", behind), "edf": speech("edf")})
    assert said["sentences"][-1] == (
        "Nothing to choose by: the sender did not keep pace under rr. Play "
        "it again on a machine that is idle.")
    assert said["choose"] == []
    said = verdict({"fifo": speech("fifo", every(4)), "rr": speech("rr")},
                   {"fifo": {"interrupted": True}})
    assert said["sentences"][-1].startswith(
        "Nothing to choose by: the run was not played to its end under fifo.")


FAULT = 4  # the code of a note


def test_a_broken_scheduler_takes_no_part_but_in_the_choice(verdict):
    """Its run ends before the overload, which the others have."""
    broken = speech("edf", late(50)) + note(FAULT, 1900 * MS, text="broken")
    fault = {"failure": "edf broke its contract", "scheduler_fault": "it did"}
    others = {"fifo": speech("fifo", every(4)), "rr": speech("rr", every(2))}
    said = verdict({"edf": broken, **others}, {"edf": fault})
    assert [p["phase"] for p in said["phases"]] == ["calm", "overload",
                                                    "after"]
    alone = verdict(others)
    assert said["sentences"][:-1] == alone["sentences"][:-1]
    assert said["load"] == alone["load"]
    assert said["sentences"][-1].startswith(
        "Nothing to choose by: a scheduler broke its contract under edf")


def test_nothing_is_chosen_where_something_else_had_the_cpu(verdict):
    """All lose much in the calm, which leaves a fifth of the time."""
    def everywhere(n):
        return every(n, lambda j: True)
    said = verdict({"fifo": speech("fifo", everywhere(2)),
                    "rr": speech("rr", everywhere(4))})
    assert said["sentences"][-1] == (
        "Nothing to choose by: something else had the CPU, for both lose 25 "
        "to 50 % though the load was 80 %. Play it again on a machine that "
        "is idle.")
    assert said["choose"] == []
    said = verdict({"fifo": speech("fifo", everywhere(2)),
                    "rr": speech("rr")})
    assert said["choose"] == ["rr"]
    said = verdict({"fifo": speech("fifo", everywhere(2), live=False),
                    "rr": speech("rr", everywhere(4), live=False)})
    assert said["choose"] == ["rr"]
    alone = verdict({"fifo": speech("fifo", everywhere(2))})
    assert alone["sentences"][-1] == (
        "fifo loses 50 % though the load was 80 %: something else had the "
        "CPU, or the scheduler left it idle.")


def test_a_flawed_repetition_is_left_out(verdict):
    sound = [every(n) for n in (8, 9, 8, 9)]
    said = verdict(several("fifo", *map(every, (3, 4, 3, 4))) |
                   several("rr", *sound, lambda j: behind(every(2)(j))))
    assert said["sentences"][-2] == (
        "Left out are runs that tell too little: one of rr.")
    assert said["sentences"][-1].startswith("Choose rr here.")
    assert "rr loses 12 % of the frames" in said["sentences"][1]


SWITCHED = 1  # the code of a note


def switched(trace, name, second):
    """The trace of a run whose scheduler was another from then on."""
    return trace + note(SWITCHED, MS + int(second * 1000) * MS, text=name)


def test_the_only_column_of_a_phase_is_not_chosen_for_it(verdict):
    """edf is not there in the end, and fifo not in the beginning; rr loses
    half of what it is sent."""
    said = verdict({"edf": switched(speech("edf"), "fifo", 3),
                    "rr": speech("rr", every(2))})
    assert said["choose"] == []
    assert said["sentences"][-1].startswith(
        "Only rr was there all the time: nothing to choose by.")
    said = verdict({"edf": switched(speech("edf"), "fifo", 3)})
    assert said["choose"] == []
    assert said["sentences"][-1].startswith("No column was there all the")


def test_a_switch_that_not_all_repetitions_had_is_no_column(verdict):
    for turn in (1, 2):  # the one that was switched
        traces = {f"edf/{i}": speech("edf") for i in (1, 2)}
        traces[f"edf/{turn}"] = switched(speech("edf"), "fifo", 3)
        said = verdict({**traces, "rr": speech("rr")})
        assert said["head"].endswith(
                " edf and rr, two runs each, separate runs.")


def test_unknown_values_are_not_worse(verdict):
    """Of GSM nobody knows what a loss does; one frame in 2000 is no reason
    to prefer the other."""
    gsm = (b"pcma".ljust(16, b"\0"), b"gsm".ljust(16, b"\0"))

    def one(j):
        return lose(j) if (j["task"], j["seq"]) == (3, 150) else j
    said = verdict({"rr": speech("rr").replace(*gsm),
                    "edf": speech("edf", one).replace(*gsm)})
    assert said["choose"] == ["rr", "edf"]


def test_a_window_makes_no_phases(verdict):
    """Nothing arrives before --since, in a time that is not looked at; nor
    does it in the warm-up after a switch."""
    def phases(trace, *window):
        said = verdict({"edf": trace}, more=window)
        return [(p["phase"], round(p["demand"], 1), round(p["calls"]))
                for p in said["phases"]]
    edf = speech("edf")
    calm, over = ("calm", .8, 10), ("overload", 1.6, 20)
    after = ("after", .8, 10)
    assert phases(edf) == [calm, over, after]
    assert phases(edf, "--since", "1s") == [calm, over, after]
    assert phases(edf, "--since", "1.28s") == [calm, over, after]
    assert phases(edf, "--since", "2.5s") == [over, after]
    assert phases(edf, "--since", "4.1s") == [calm]
    assert phases(edf, "--warm-up", "4.1s") == [calm]
    assert phases(edf, "--until", "1.9s") == [calm]
    assert phases(switched(edf, "rr", 2.6), "--warm-up", "0.6s") == \
        [calm, over, after]
    assert phases(switched(edf, "rr", 4.2), "--since", "4.1s", "--warm-up",
                  "1s") == [calm]


def test_campaigns_are_not_compared_with_each_other(write, codec_report):
    for name, text in (("a", "one"), ("b", "two")):
        path = write(speech("edf"), name=f"{name}/trace.bin")
        write(json.dumps({"campaign": {"path": f"{text}.yaml",
                                       "text": text}}).encode(),
              name=f"{name}/run.json")
    said = json.loads(codec_report("--json", os.path.dirname(
        os.path.dirname(path))).stdout)["verdict"]
    assert [v["campaign"] for v in said] == ["one.yaml", "two.yaml"]
    assert [v["choose"] for v in said] == [["edf, one"], ["edf, two"]]
    assert said[0]["sentences"] == [
        "Calm: 0 missed, p99 3 ms, MOS 4.4.",
        "Overload: 0 missed, p99 3 ms, MOS 4.4.",
        "After: 0 missed, p99 3 ms, MOS 4.4."]


def test_the_console_begins_with_it_and_ends_with_the_choice(
        write, codec_report):
    paths = [write(speech("fifo", every(4)), name="a/trace.bin"),
             write(speech("rr", every(8)), name="b/trace.bin")]
    lines = codec_report(*paths).stdout.splitlines()
    assert lines[0].startswith("Campaign not known: played live, 1 CPU")
    at = next(i for i, line in enumerate(lines) if line.startswith("Calm:"))
    assert "Overload: rr loses 13 %" in " ".join(lines[at:at + 4])
    table = [line for line in lines
             if re.match(r"(calm|overload|after) ", line)]
    assert 8 <= len(table) <= 12
    assert [line.split()[-4:] for line in table
            if line.startswith("overload lost")] == [["25.00", "%", "12.60",
                                                      "%"]]
    assert lines[-2:] == ["every number: --all; for programs: --json",
                          "Choose rr here."]

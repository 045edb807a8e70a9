# SPDX-License-Identifier: Apache-2.0
"""codec-sim end to end: exact schedules, equal traces, files."""
import csv
import json
import subprocess
import sys

import pytest

from conftest import BUILD, FEEDER, MS, P, REPORT, ROOT, flows, result, run

NO_ADMISSION = "daemon: {admission: off}\n"
LAB = ("name: per, count: 5, period: 10ms, cost: {mean: 300us}",
       "name: jit, count: 5, period: 20ms, network: {jitter: 7ms}, "
       "cost: {model: normal, mean: 1ms, sd: 200us}",
       "name: poi, count: 5, period: 30ms, arrival: {model: poisson}, "
       "cost: {model: exponential, mean: 1ms, max: 9ms}, ring: 4",
       "name: bur, count: 5, period: 40ms, arrival: {model: bursty, burst: 4},"
       " cost: {model: lognormal, mean: 1ms, sd: 1ms}",
       "name: env, count: 5, period: 50ms, arrival: {model: envelope, "
       "rate: 2%, depth: 3ms}, cost: {mean: 1ms}",
       "name: clo, period: 60ms, share: 30%, arrival: {model: closed}",
       "name: tlk, count: 5, period: 20ms, cost: {mean: 200us}, talk: "
       "{spurt: 200ms, pause: 300ms}, network: {jitter: 3ms, loss: 5%}, "
       "hold: {mean: 500ms, model: exponential}, start: {poisson: 20/s}",
       "name: loop, arrival: {model: loop}")


def test_one_call_is_served_in_its_cost(campaign):
    output, code = result(campaign("period: 10ms, cost: {mean: 3ms}"))
    flow = flows(output)["flow1"]
    assert code == 0
    assert (flow["jobs"], flow["done"], flow["missed"]) == (100, 100, 0)
    assert flow["delay"]["max_ns"] == 3 * MS
    assert output["cpus"][0]["busy_ns"] == 300 * MS
    assert output["kernels"] is None  # nothing was measured


def test_max_age_bounds_the_delay_where_a_campaign_says_so(campaign):
    """Half as much again as the CPU can do. auto is the daemon's default, but a
    campaign's is never: its ring alone bounds the delay."""
    flow = ("count: 75, period: 20ms, ring: 8, cost: {mean: 400us}",
            "name: long, count: 1, period: 20ms, deadline: 150ms, ring: 8, "
            "cost: {mean: 400us}")
    for scheduler in ("fifo", "rr", "edf"):
        output = {}
        for age in ("auto", "never", None):
            more = f", max-age: {age}" if age else ""
            path = campaign(*flow, duration="2s",
                            more=f"daemon: {{admission: off{more}}}\n")
            output[age] = flows(result(path, "-s", scheduler)[0])
        assert output[None] == output["never"]
        flow1, long = (output["auto"][name] for name in ("flow1", "long"))
        assert flow1["expired"] > 0 == output["never"]["flow1"]["expired"]
        assert 80 * MS - MS < flow1["delay"]["max_ns"] <= 80.4 * MS
        assert long["delay"]["max_ns"] <= 150.4 * MS
        assert output["never"]["flow1"]["delay"]["max_ns"] > 100 * MS


def test_the_last_job_due_at_the_end_counts(campaign):
    output, _ = result(campaign("period: 10ms, share: 100%",
                              more=NO_ADMISSION))
    flow = flows(output)["flow1"]
    assert (flow["due"], flow["missed"], flow["done"]) == (100, 0, 100)


def test_dhalls_set_misses_under_edf_and_not_under_llf(campaign):
    """Two light tasks with earlier deadlines, one heavy: two CPUs."""
    path = campaign("name: light, count: 2, period: 10ms, cost: {mean: 1ms}",
                    "name: heavy, period: 10500us, cost: {mean: 10ms}",
                    platform="{cpus: 2, preempt: full}", more=NO_ADMISSION)
    output, _ = result(path, "-s", "edf")
    assert flows(output)["heavy"]["missed"] > 0
    assert flows(output)["light"]["missed"] == 0


def test_preemption_decides_which_job_waits(campaign):
    path = campaign("name: long, period: 100ms, cost: {mean: 50ms}",
                    "name: short, period: 10ms, cost: {mean: 1ms}, "
                    "start: {at: 1ms}", duration="100ms",
                    more=NO_ADMISSION)
    output, _ = result(path, "--preempt", "frame")
    assert flows(output)["short"]["delay"]["max_ns"] == 50 * MS
    output, _ = result(path, "--preempt", "full")
    assert flows(output)["short"]["delay"]["max_ns"] == 1 * MS
    assert flows(output)["long"]["delay"]["max_ns"] == 56 * MS
    output, _ = result(path, "--preempt", "quantum", "--quantum", "4ms")
    # arrivals at 1, 11, ...: kicks at 4, 12, ... on the grid
    assert flows(output)["short"]["delay"]["max_ns"] == 4 * MS


def test_overheads_are_charged(campaign):
    path = campaign("count: 2, period: 10ms, cost: {mean: 1ms}")
    output, _ = result(path, "--overhead-decision", "10us",
                       "--overhead-context", "100us",
                       "--overhead-release", "1us")
    # 200 turns, each a decision, a switch and a release
    assert output["cpus"][0]["overhead_ns"] == 200 * 111000
    assert output["cpus"][0]["busy_ns"] == 200 * 1111000


def test_frames_in_a_row_cost_less(campaign):
    """125 % of the CPU by what a frame costs behind those of other calls: fifo
    never serves two of a call in a row, rr all that wait of it."""
    lost = {}
    for warm in ("", ", warm: 80%"):
        path = campaign(
            f"count: 250, period: 20ms, ring: 8, cost: {{mean: 100us{warm}}},"
            " start: {spread: 20ms}", duration="2s",
            more="daemon: {admission: off, max-age: 100ms}\n")
        for scheduler in ("fifo", "rr"):
            output = flows(result(path, "-s", scheduler)[0])["flow1"]
            lost[scheduler, warm] = output["loss"]
    assert lost["fifo", ""] == lost["fifo", ", warm: 80%"]
    assert lost["rr", ""] == pytest.approx(lost["fifo", ""], abs=0.02)
    # four of five turns stay with their call: 100 us become 84
    assert lost["rr", ", warm: 80%"] == pytest.approx(1 - 1 / (1.25 * .84),
                                                      abs=0.02)
    assert lost["fifo", ", warm: 80%"] > lost["rr", ", warm: 80%"] + 0.1


def test_one_call_alone_is_always_warm_but_for_its_first_frame(campaign):
    output, _ = result(campaign("period: 10ms, cost: {mean: 3ms, warm: 50%}"))
    assert output["cpus"][0]["busy_ns"] == (3 + 99 * 1.5) * MS


def test_a_half_life_needs_a_share(campaign):
    path = campaign("period: 10ms, cost: {mean: 3ms, half-life: 5}")
    assert "half-life needs warm" in run(path).stderr


def test_closed_goes_on_late_and_loop_takes_the_rest(campaign):
    """Under fifo the loop hogs the CPU; edf gives it what is left."""
    path = campaign("name: loop, arrival: {model: loop}",
                    "name: a, period: 100ms, share: 70%, "
                    "arrival: {model: closed}",
                    platform="{cpus: 1, preempt: full}")
    output, _ = result(path, "-s", "edf")
    assert flows(output)["a"]["missed"] == 0
    # a nanosecond more: what ends with the campaign still counts
    assert flows(output)["loop"]["service_ns"] == 300 * MS + 1
    over = campaign("name: a, period: 100ms, share: 125%, "
                    "arrival: {model: closed}", more=NO_ADMISSION)
    output, _ = result(over, "-s", "edf")
    flow = flows(output)["a"]
    # ends at 125, 250, ..., 1000, each 25 late; the next begins at once
    assert (flow["done"], flow["late"]) == (8, 8)
    assert flow["delay"]["max_ns"] == 125 * MS


def test_a_bounded_queue_drops_its_oldest(campaign):
    output, _ = result(campaign("period: 10ms, cost: {mean: 20ms}, ring: 3",
                              more=NO_ADMISSION))
    flow = flows(output)["flow1"]
    assert flow["jobs"] == 100
    # the job begun at 980 ends with the campaign
    assert flow["done"] == 50
    assert flow["overwritten"] + flow["left"] == 50


def test_calls_beyond_capacity_are_refused_with_the_reason(campaign):
    path = campaign("count: 10, period: 10ms, cost: {mean: 2ms}, "
                    "expect: {admitted: '>= 100%'}")
    output, code = result(path, "-s", "fifo")
    flow = flows(output)["flow1"]
    assert (flow["admitted"], flow["refused"], code) == (5, 5, 3)
    assert "need" in output["refusal"]


def test_load_is_turned_into_calls(campaign):
    output, _ = result(campaign("load: 50%, period: 10ms, cost: {mean: 1ms}",
                              platform="{cpus: 4}"))
    assert flows(output)["flow1"]["planned"] == 20


def test_expectations_decide_the_exit_code(campaign):
    path = campaign("period: 10ms, cost: {mean: 2ms}, "
                    "expect: {missed: <= 0%, max-delay: <= 2ms}")
    assert run(path).returncode == 0
    path = campaign("period: 10ms, cost: {mean: 2ms}, deadline: 1ms",
                    more=NO_ADMISSION + "expect: {missed: <= 99%}\n")
    done = run(path)
    assert done.returncode == 3
    assert "MISSED" in done.stdout and "c.yaml:5: missed" in done.stdout


def schedulers(baseline=False):
    """Names of those that are not live only, or of those that are."""
    text = subprocess.run([BUILD / "codec-runner", "--schedulers", "--json"],
                          capture_output=True, text=True, check=True).stdout
    return [policy["name"] for policy in json.loads(text)
            if policy.get("baseline", False) == baseline]


def test_the_kernels_schedulers_are_live_only(campaign):
    assert schedulers(baseline=True) == [
        "kernel:other", "kernel:nice", "kernel:fifo", "kernel:rr",
        "kernel:deadline"]
    done = run(campaign("count: 1, period: 20ms, cost: {mean: 1ms}"),
               "-s", "kernel:fifo")
    assert done.returncode == 2 and "runs live only" in done.stderr


@pytest.mark.parametrize("platform", [
    "{cpus: 1, preempt: full}", "{cpus: 3, preempt: full}",
    "{cpus: 4, preempt: quantum, quantum: 1ms, run-queues: partitioned}",
    "{cpus: 4, preempt: full, run-queues: 2, overhead: {decision: 100ns, "
    "context: 1us, migration: 3us, release: 50ns}}"])
def test_same_seed_same_trace_byte_for_byte(campaign, tmp_path, platform):
    """Every scheduler, in two orders, each a process of its own."""
    path = campaign(*LAB, platform=platform, duration="2s", more=NO_ADMISSION)
    names = schedulers()
    assert "edf" in names
    if "cpus: 1" not in platform and "partitioned" not in platform:
        for name in ("edf-be", "grub", "red", "wfq"):  # of one CPU only
            names.remove(name)
    for out, order in (("a", names), ("b", names[::-1])):
        args = [word for name in order for word in ("-s", name)]
        done = run(path, "--out", tmp_path / out, *args)
        assert done.returncode == 0, done.stderr
    seen = {}
    for name in names:
        a, b = ((tmp_path / out / name / "trace.bin").read_bytes()
                for out in "ab")
        assert a == b, name
        seen[a] = name
    if len(names) > 2:
        assert len(seen) > 2  # they differ from each other
    done = run(path, "--trace", tmp_path / "edf.bin", "-s", "edf")
    assert (tmp_path / "edf.bin").read_bytes() == \
        (tmp_path / "a" / "edf" / "trace.bin").read_bytes()
    run(path, "--trace", tmp_path / "s.bin", "-s", "edf", "--seed", 4)
    assert (tmp_path / "s.bin").read_bytes() != \
        (tmp_path / "edf.bin").read_bytes()


def test_arrivals_and_costs_do_not_depend_on_the_scheduler(campaign):
    """Everything ends before the campaign does, in any order."""
    flows_that_end = [flow.replace(", ring: 4", "") + ", hold: {mean: 2s}"
                      for flow in LAB[:5]]
    path = campaign(*flows_that_end, duration="4s", more=NO_ADMISSION)
    counts = set()
    for name in ("fifo", "rr", "edf"):
        output, _ = result(path, "-s", name)
        assert output["total"]["left"] == 0
        counts.add(tuple((f["jobs"], f["service_ns"])
                         for f in output["flows"]))
    assert len(counts) == 1


def test_it_and_the_feeder_play_the_same_packets(campaign, tmp_path):
    """With callers whose clocks drift, and calls that come and go."""
    path = campaign(
        "name: a, count: 9, in: {codec: pcmu}, out: {codec: amr}, cost: {mean:"
        " 10us}, drift: -10%..10%, network: {jitter: 3ms, loss: 2%, reorder: "
        "1%}, talk: {spurt: 300ms, pause: 200ms}, hold: {mean: 2s}, start: "
        "{spread: 2s, poisson: 50%..100%}", duration="4s", more=NO_ADMISSION)
    plan = subprocess.run([FEEDER, path, "--print-schedule"], text=True,
                          capture_output=True, check=True).stdout
    sent = sorted(float(line.split()[0]) for line in plan.splitlines()[:-1]
                  if not line.endswith(" lost"))
    assert len(sent) > 200
    assert run(path, "--trace", tmp_path / "t.bin").returncode == 0
    sys.path.insert(0, str(ROOT / "src" / "report"))
    from codec_report.trace import read_trace
    came = sorted(read_trace(tmp_path / "t.bin").jobs["arrival"].tolist())
    assert [at / 1e9 - 1 for at in came] == pytest.approx(sent, abs=1e-6)


def test_a_fast_clock_costs_as_much_as_it_is_ahead(campaign):
    """pd2 serves the agreed rate: of 55 frames a second 50, once eight wait,
    as in the daemon. fifo holds nothing back."""
    path = campaign("count: 1, in: {codec: pcmu}, out: {codec: amr}, cost: "
                    "{mean: 10us}, drift: 10%, hold: {mean: 15s}",
                    duration="20s")
    flow = flows(result(path, "-s", "pd2")[0])["flow1"]
    assert flow["jobs"] == 825
    assert flow["overwritten"] == 825 - 15 * 50 - 8
    assert flow["done"] == 15 * 50 + 8
    flow = flows(result(path, "-s", "fifo")[0])["flow1"]
    assert (flow["jobs"], flow["done"]) == (825, 825)


def test_codec_report_reads_run_folders(campaign, tmp_path):
    path = campaign("name: a, count: 3, period: 20ms, cost: {mean: 1ms}",
                    "name: b, count: 2, period: 40ms, cost: {mean: 2ms}, "
                    "class: best-effort", duration="2s",
                    platform="{cpus: 1, preempt: full}")
    assert run(path, "--out", tmp_path / "o").returncode == 0
    done = subprocess.run([REPORT, "--json", "--by", "flow", tmp_path / "o"],
                          capture_output=True, text=True, check=True)
    output = json.loads(done.stdout)["runs"][0]
    groups = {g["group"]: g for g in output["schedulers"][0]["groups"]}
    assert output["program"] == "codec-sim" and output["notes"] == []
    assert groups["a"]["done"] == 300 and groups["b"]["done"] == 100
    assert groups["all"]["lost"] == 0 and groups["a"]["late_share"] == 0
    assert groups["all"]["busy_share"] == pytest.approx(.25, abs=.01)
    assert groups["all"]["codec_share"] == pytest.approx(1)
    with open(tmp_path / "o" / "streams.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [row["flow"] for row in rows].count("a") == 3
    assert all(row["jobs"] == row["done"] for row in rows)
    stored = json.loads((tmp_path / "o" / "run.json").read_text())
    assert stored["program"] == "codec-sim" and stored["seed"] == 3


def test_a_trace_played_again_gives_the_same_schedule(campaign, tmp_path):
    """Arrivals and costs of a run, replayed: picks and ends are the same."""
    first, again = tmp_path / "first.bin", tmp_path / "again.bin"
    path = campaign(*LAB[:5], duration="2s", more=NO_ADMISSION)
    assert run(path, "--trace", first, "-s", "fifo").returncode == 0
    path = campaign("count: 25, period: 20ms, arrival: {model: trace, "
                    "file: first.bin}, cost: {model: trace, file: first.bin}",
                    duration="2s", more=NO_ADMISSION)
    assert run(path, "--trace", again, "-s", "fifo").returncode == 0
    a, b = turns(first), turns(again)
    assert len(a) > 1000
    assert a == b


def turns(path):
    """Of the frames done in a trace, in the order of picks: when each came, was
    picked and ended."""
    sys.path.insert(0, str(ROOT / "src" / "report"))
    from codec_report.trace import read_trace
    jobs = read_trace(path).jobs
    done = jobs["outcome"] == 0
    return sorted(zip(*(jobs[column][done].tolist()
                        for column in ("pick", "arrival", "end"))))


def test_in_a_replayed_overload_frames_keep_their_costs(campaign, tmp_path):
    """A third of the frames is dropped, and the same ones again."""
    first, again = tmp_path / "first.bin", tmp_path / "again.bin"
    flow = "count: 3, period: 10ms, ring: 1, "
    path = campaign(flow + "cost: {model: exponential, mean: 5ms}",
                    duration="3s", more=NO_ADMISSION)
    assert run(path, "--trace", first, "-s", "fifo").returncode == 0
    path = campaign(flow + "arrival: {model: trace, file: first.bin}, "
                    "cost: {model: trace, file: first.bin}",
                    duration="3s", more=NO_ADMISSION)
    assert run(path, "--trace", again, "-s", "fifo").returncode == 0
    a, b = set(turns(first)), set(turns(again))
    assert 400 < len(a) < 700
    assert a <= b
    assert len(b - a) <= 3  # what the end cut off had no cost to go by


def test_flows_with_codecs_are_measured(campaign):
    output, code = result(campaign(
        "count: 4, in: {codec: pcmu}, out: {codec: pcma}", duration="2s"),
        "--codec-kernels", "stock")
    flow = flows(output)["flow1"]
    # phases are spread: a call's last frame may lie beyond the end
    assert code == 0 and 396 <= flow["jobs"] <= 400
    assert flow["done"] + flow["left"] == flow["jobs"]
    assert flow["service_ns"] > 0
    assert output["kernels"] == "stock"


def test_one_task_on_256_cpus(campaign):
    for queues in ("global", "partitioned", "7"):
        output, code = result(campaign("period: 10ms, cost: {mean: 3ms}"),
                            "--cpus", 256, "--run-queues", queues)
        assert code == 0 and flows(output)["flow1"]["done"] == 100
        assert sum(c["busy_ns"] for c in output["cpus"]) == 300 * MS


def test_cost_above_the_period_is_refused_or_overload(campaign):
    path = campaign("period: 10ms, cost: {mean: 15ms}")
    output, _ = result(path)
    assert flows(output)["flow1"]["refused"] == 1
    path = campaign("period: 10ms, cost: {mean: 15ms}", more=NO_ADMISSION)
    output, _ = result(path)
    flow = flows(output)["flow1"]
    assert (flow["done"], flow["late"], flow["due"]) == (66, 66, 100)
    assert flow["missed"] == 100


def test_partitioned_means_a_run_queue_for_every_cpu_there_is(campaign):
    path = campaign(P, platform="{cpus: 1, run-queues: partitioned}")
    assert result(path)[0]["platform"]["run_queues"] == 1
    assert result(path, "--cpus", 3)[0]["platform"]["run_queues"] == 3


def test_a_quantum_longer_than_the_period_is_noted(campaign):
    done = run(campaign(P), "--preempt", "quantum", "--quantum", "1s")
    assert done.returncode == 0
    assert "quantum 1s is longer than the period of flow flow1" in done.stdout

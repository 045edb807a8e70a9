# SPDX-License-Identifier: Apache-2.0
"""codec-sim with receivers: when packets become jobs, what is dropped, and
what the results say of it. CR_SEED repeats a failure."""
import json
import os
import pathlib
import random
import struct
import subprocess
import time

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
SEED = int(os.environ.get("CR_SEED", time.time_ns() % 10**9))
US = 1000
MS = 1000 * US
JOB, UNRECEIVED = 1, 7
NEVER = 2**63 - 1


def run(path, *args):
    return subprocess.run([BUILD / "codec-sim", path, "-q", *map(str, args)],
                          capture_output=True, text=True, timeout=PATIENCE)


def parsed(path, *args):
    done = run(path, "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(tmp_path, *flows, receivers="", duration="1s", cpus=1,
          more="daemon: {admission: off}\n"):
    path = tmp_path / "c.yaml"
    if receivers:
        receivers = f", receivers: {{{receivers}}}"
    path.write_text(f"duration: {duration}\nplatform: {{cpus: {cpus}"
                    f"{receivers}}}\n{more}flows:\n" +
                    "".join(f"  - {{{flow}}}\n" for flow in flows))
    return path


def records(path):
    """The records of a trace, without its head."""
    data = path.read_bytes()
    size, head = struct.unpack_from("<II", data, 8)
    begin = 24 + head
    return [data[i:i + size] for i in range(begin, len(data), size)]


def jobs(path):
    """Of each job of a trace: call, arrival, release, outcome."""
    return [(struct.unpack_from("<I", r, 4)[0],
             *struct.unpack_from("<qq", r, 16), r[1])
            for r in records(path) if r[0] == JOB]


ONE = "period: 10ms, cost: {mean: 3ms}"


def test_a_frame_waits_for_its_receiver(tmp_path):
    """Waking up, taking the packet, the job itself: nothing else."""
    path = write(tmp_path, ONE, receivers="count: 1, cost: 2us, wake: 3us")
    run_ = parsed(path)
    assert run_["total"]["done"] == 100
    assert run_["total"]["delay"]["max_ns"] == 3 * MS + 5 * US
    assert run_["total"]["delay"]["mean_ns"] == 3 * MS + 5 * US
    assert run_["receivers"] == [{
        "packets": 100, "dropped": 0, "wakes": 100, "longest": 1,
        "busy_ns": 500 * US, "busy": pytest.approx(0.0005),
        "wait_ns": 300 * US, "wait_max_ns": 3 * US}]
    assert run_["platform"]["receivers"] == {
        "count": 1, "cost_ns": 2 * US, "wake_ns": 3 * US, "waiting": 20000}


def test_packets_of_one_receiver_wait_for_each_other(tmp_path):
    """Eight at once: on one receiver the last is done after eight costs, on
    four after two, on eight after one."""
    path = write(tmp_path, "count: 8, period: 10ms, cost: {mean: 1us}", cpus=8)
    for count, costs in ((1, 8), (3, 3), (4, 2), (8, 1), (9, 1)):
        found = parsed(path, "--receivers", count, "--receiver-cost", "100us",
                     "--run-queues", "partitioned")
        assert found["total"]["delay"]["max_ns"] == costs * 100 * US + US
        assert [r["packets"] for r in found["receivers"]] == [
            100 * len(range(i, 8, count)) for i in range(count)]


def test_the_deadline_counts_from_the_arrival(tmp_path):
    flow = "period: 10ms, deadline: 4ms, cost: {mean: 3ms}"
    path = write(tmp_path, flow, receivers="count: 1, cost: 1ms")
    assert parsed(path)["total"]["late"] == 0
    assert parsed(path, "--receiver-cost", "1001us")["total"]["late"] == 100


def test_packets_beyond_the_socket_s_room_are_lost_and_counted(tmp_path):
    """Ten at once, room for four."""
    path = write(tmp_path, "count: 10, period: 10ms, cost: {mean: 1us}",
                 receivers="count: 1, cost: 1us, waiting: 4")
    out = tmp_path / "out"
    assert run(path, "--out", out).returncode == 0
    total = json.loads((out / "run.json").read_text())
    receiver, total = total["receivers"][0], total["total"]
    assert (receiver["packets"], receiver["dropped"]) == (400, 600)
    assert receiver["longest"] == 4
    assert (total["jobs"], total["done"], total["unreceived"]) == \
        (1000, 400, 600)
    assert total["loss"] == total["missed_share"] == pytest.approx(0.6)
    outcomes = [j[3] for j in jobs(out / "trace.bin")]
    assert outcomes.count(UNRECEIVED) == 600
    lines = (out / "streams.csv").read_text().splitlines()
    dropped = [int(line.split(",")[-1]) for line in lines[1:]]
    assert lines[0].endswith(",unreceived") and sum(dropped) == 600
    reported = subprocess.run([BUILD / "codec-report", "--all", out],
                              capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout
    counts = dict(line.split() for line in reported.splitlines()
                  if len(line.split()) == 2)
    assert (counts["lost"], counts["unreceived"]) == ("600", "600")


def test_packets_not_received_by_the_end_are_left(tmp_path):
    """Nothing disappears: 5 calls of 2 jobs, a packet takes 8 ms of 20."""
    path = write(tmp_path, "count: 5, period: 10ms, cost: {mean: 1us}",
                 receivers="count: 1, cost: 8ms", duration="20ms")
    total = parsed(path)
    receiver, total = total["receivers"][0], total["total"]
    assert (total["jobs"], total["done"], total["left"]) == (10, 2, 8)
    assert receiver["packets"] == 10 and receiver["busy"] == 1
    assert total["missed"] == 9  # the first was in time


def test_receivers_at_no_cost_change_nothing(tmp_path):
    """But the results name them: of the trace, only its head."""
    path = write(tmp_path, *FLOWS, cpus=4)
    traces = []
    for count in (0, 1, 3):
        out = tmp_path / str(count)
        done = run(path, "--out", out, "--receivers", count,
                   "--run-queues", "2")
        assert done.returncode == 0, done.stderr
        found = json.loads((out / "run.json").read_text())
        assert ("receivers" in found) == bool(count)
        traces.append((records(out / "trace.bin"), found["total"],
                       (out / "streams.csv").read_text()))
    assert len(traces[0][0]) > 1000
    assert traces[1] == traces[0] and traces[2] == traces[0]


FLOWS = (
    "name: jit, count: 20, period: 20ms, network: {jitter: 7ms}, "
    "cost: {model: normal, mean: 1ms, sd: 200us}",
    "name: poi, count: 9, period: 30ms, arrival: {model: poisson}, "
    "cost: {model: exponential, mean: 1ms, max: 9ms}, ring: 4",
    "name: bur, count: 5, period: 40ms, arrival: {model: bursty, burst: 4},"
    " cost: {mean: 1ms}",
    "name: tlk, count: 30, period: 20ms, cost: {mean: 200us}, talk: "
    "{spurt: 200ms, pause: 300ms}, network: {jitter: 3ms, loss: 5%}, "
    "hold: {mean: 300ms, model: exponential}, start: {poisson: 60/s}")


def lindley(packets, cost, wake, most):
    """When a receiver has done with each of the @packets (arrivals, in order),
    NEVER where it is dropped."""
    taken, due = [], []
    for at in packets:
        asleep = not taken or at > taken[-1]
        if sum(t > at for t in taken[-most:]) == most:
            due.append(NEVER)
            continue
        taken.append((at + wake if asleep else taken[-1]) + cost)
        due.append(taken[-1])
    return due


@pytest.mark.parametrize("case", range(6))
def test_jobs_are_released_as_lindley_says(case, tmp_path):
    """From the arrivals in the trace, an oracle of its own computes when every
    packet has been received. On CPUs of their own, jobs start then."""
    r = random.Random(SEED + case)
    count, cost = r.randint(1, 5), r.randint(50, 400) * US
    wake, most = r.randint(0, 1) * 90 * US, r.choice([3, 20000])
    path = write(tmp_path, "count: 24, period: 20ms, cost: {mean: 1ns}, "
                 "network: {jitter: 15ms}, "
                 f"start: {{spread: {r.choice([1, 200])}ms}}", cpus=24,
                 receivers=f"count: {count}, cost: {cost}ns, "
                 f"wake: {wake}ns, waiting: {most}", duration="700ms")
    print(f"CR_SEED={SEED} case {case}:\n{path.read_text()}")
    trace = tmp_path / "t.bin"
    assert run(path, "--run-queues", "partitioned", "--trace",
               trace).returncode == 0
    found = [j for j in jobs(trace) if j[3] in (0, UNRECEIVED)]
    assert len(found) > 500
    for i in range(count):
        mine = sorted((at, call, release, outcome)
                      for call, at, release, outcome in found
                      if (call - 1) % count == i)
        due = lindley([at for at, *_ in mine], cost, wake, most)
        assert [NEVER if outcome else release
                for _, _, release, outcome in mine] == due


def test_a_call_that_leaves_stops_sending(tmp_path):
    """Packets that come when it has gone are not received for it."""
    path = write(tmp_path, FLOWS[3], receivers="count: 2, cost: 10us",
                 duration="3s")
    found = parsed(path)
    total = found["total"]
    assert sum(r["packets"] for r in found["receivers"]) == total["jobs"]
    assert total["jobs"] == total["done"] + total["left"] + \
        total["overwritten"] + total["expired"] + total["unreceived"]


def test_wrong_use_is_reported(tmp_path):
    path = write(tmp_path, ONE)
    done = run(path, "--receiver-cost", "1us")
    assert done.returncode == 2 and "--receivers N" in done.stderr
    done = run(path, "--receivers", "257")
    assert done.returncode == 2 and "--receivers" in done.stderr
    path = write(tmp_path, "period: 60ms, share: 30%, arrival: "
                 "{model: closed}", receivers="count: 1")
    done = run(path)
    assert done.returncode == 2 and "c.yaml:5: the jobs of flow flow1" in \
        done.stderr
    assert run(path, "--receivers", "0").returncode == 0

# SPDX-License-Identifier: Apache-2.0
"""What the daemon's receiver takes for a packet, and to wake up.

codec-runner on two CPUs: on one the receiver, on the other a worker that
encodes AMR 12.2 for half of the time. bench-load, beside the receiver, sends
PCMU, each call from a socket of its own (from one socket packets would travel
by the train, which hides their price). The receiver's CPU time is its own
account (rx of codec-ctl stats), not the load's. How often it woke up is the
kernel's.

Two runs, two unknowns:

    CPU time = packets * cost + wake-ups * wake

Once the receiver sleeps 4 ms between two looks, so that a wake-up brings many
packets, and once it does not.

Only measure() is used from outside.
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "player"))

from control import Control, Gone, Refused  # noqa: E402
from daemon import Daemon  # noqa: E402

# --rx-coalesce of the daemon and --tick of the load.
WAYS = (("4ms", "250us"), ("0s", "25us"))
LOAD = 0.5  # of the worker's time
SECONDS = 3
FRAME_NS = 20_000_000
BATCH = 100  # requests; the daemon takes 256
PATIENCE = 60  # seconds for a reply


def start_calls(control, addresses):
    """Start a call that answers to each; return where bench-load is to send."""
    params = [{"in": {"codec": "pcmu"}, "ssrc": ssrc,
               "out": {"codec": "amr", "mode": "12.2", "address": address}}
              for ssrc, address in enumerate(addresses, 1)]
    started = [result["rtp"] for first in range(0, len(params), BATCH)
               for result in control.batch("call.start",
                                           params[first:first + BATCH])]
    return "".join(f"{rtp['address']} {rtp['ssrc']} {rtp['pt']}\n"
                   for rtp in started)


def receiver(daemon, control):
    """Packets, CPU time and wake-ups of the receiver so far."""
    rx, wakes = control.request("stats")["rx"], 0
    for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in
                      (task / "status").read_text().splitlines()
                      if ":\t" in line)
        if status["Name"].startswith("cr-rx"):
            wakes += int(status["voluntary_ctxt_switches"])
    return rx["packets"], rx["cpu_ns"], wakes


def load(build, calls, tick, cpu):
    """bench-load, waiting for its targets, and the addresses of its calls."""
    process = subprocess.Popen(
        [build / "bench-load", "--calls", str(calls), "--cpu", str(cpu),
         "--tick", tick, "--warm", "0s", "--seconds", f"{SECONDS}s"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[1:]


def one_run(build, encode_ns, coalesce, tick):
    """What the receiver did in a run."""
    have = sorted(os.sched_getaffinity(0))
    calls = max(1, round(LOAD * FRAME_NS / encode_ns))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "control")
        daemon = Daemon(build / "codec-runner", "edf", folder, [
            "--control-socket", path, "--workers", "1", "--pin", str(have[-1]),
            "--rx-cpu", str(have[0]), "--rx-coalesce", coalesce,
            "--no-admission", "--log-level", "error"])
        if not daemon.start():
            raise RuntimeError("codec-runner did not start")
        sender, addresses = load(build, calls, tick, have[0])
        control = None
        try:
            control = Control(path, PATIENCE)
            targets = start_calls(control, addresses)
            before = receiver(daemon, control)
            told = json.loads(sender.communicate(targets)[0])
            after = receiver(daemon, control)
        except (Gone, Refused) as error:
            raise RuntimeError(error) from None
        finally:
            if control:
                with contextlib.suppress(Gone, Refused):
                    control.request("bye")  # its calls end, too
                control.close()
            sender.kill()
            sender.communicate()
            daemon.stop()
    packets, cpu, wakes = (b - a for a, b in zip(before, after))
    return {"coalesce": coalesce, "tick": tick, "calls": calls,
            "sent": told["sent"], "lost": told["lost"],
            "packets": packets, "cpu_ns": cpu, "wakes": wakes}


def prices(many, few):
    """Of a packet and of a wake-up, in ns; by a run each of WAYS."""
    wakes = [r["wakes"] / r["packets"] for r in (many, few)]
    each = [r["cpu_ns"] / r["packets"] for r in (many, few)]
    wake = (each[1] - each[0]) / (wakes[1] - wakes[0])
    return each[0] - wakes[0] * wake, wake


def measure(build, encode_ns, repeats):
    """The medians of @repeats times two runs, when encoding a frame takes
    @encode_ns: {"cost_ns", "wake_ns", "runs": [...]}."""
    if len(os.sched_getaffinity(0)) < 2:
        raise RuntimeError("a receiver needs two CPUs to be measured; use "
                           "--overheads FILE")
    rounds = [[one_run(build, encode_ns, *way) for way in WAYS]
              for _ in range(repeats)]
    found = {name: round(max(0, statistics.median(values)))
             for name, values in zip(("cost_ns", "wake_ns"),
                                     zip(*(prices(*r) for r in rounds)))}
    return {**found, "runs": [run for some in rounds for run in some]}

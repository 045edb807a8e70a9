# SPDX-License-Identifier: Apache-2.0
"""bench-load and bench-reflect as processes, and runs of the load."""
import argparse
import json
import os
import signal
import subprocess
import sys

from common.machine import BUILD, build, cpus, fail, pin, say
from common.runner import TS_FIRST

# A load this late has told more about itself than about what it measured.
LATE_BOUND_NS = 3_000_000
HELD_BOUND = 0.1  # of the time it had lost its CPU: it sent so much less
TRIES = 3  # of a run whose load was late, or that lost something
TROUBLES = ("refused", "duplicate", "reordered", "out_of_sequence", "strange",
            "wrong")


def parser(text, seconds, repeat):
    """A command line with what all benchmarks of the wire have."""
    p = argparse.ArgumentParser(description=text,
                                formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seconds", type=int, default=seconds, metavar="N",
                   help=f"length of each measurement (default: {seconds})")
    p.add_argument("--warm", type=int, default=1, metavar="N",
                   help="seconds of calls before it (default: 1)")
    p.add_argument("--repeat", type=int, default=repeat, metavar="N",
                   help=f"runs of each (default: {repeat})")
    p.add_argument("--phases", choices=("random", "even"), default="random",
                   help="when calls begin within a frame (default: random)")
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="of the phases and the speech (default: 1)")
    p.add_argument("--json", action="store_true",
                   help="one object on stdout")
    return p


def parsed(p):
    """The command line of @p; its numbers are sound."""
    args = p.parse_args()
    for name in ("seconds", "repeat"):
        if getattr(args, name) < 1:
            p.error(f"--{name}: at least 1")
    if min(args.warm, args.seed) < 0:
        p.error("--warm, --seed: at least 0")
    return args


def load_options(args):
    """What of it is bench-load's."""
    return ["--seconds", f"{args.seconds}s", "--warm", f"{args.warm}s",
            "--phases", args.phases, "--seed", str(args.seed)]


def run_main(measure, show, args):
    """Measure and tell the result. Ends as by Ctrl-C when it is told to: not
    without the programs that it has started."""
    build()
    os.sched_setaffinity(0, {cpus()[0]})
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        result = measure(args)
    except KeyboardInterrupt:
        sys.exit(130)
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


class Load:
    """bench-load on the first CPU."""

    def __init__(self, calls, watch, options=()):
        self.process = subprocess.Popen(
            [BUILD / "bench-load", "--calls", str(calls), "--watch",
             str(watch), *options], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, preexec_fn=pin(cpus()[0]))
        self.addresses = self.process.stdout.readline().split()[1:]
        if len(self.addresses) != calls:
            self.stop()
            fail("bench-load did not start")

    def run(self, targets):
        out, _ = self.process.communicate("".join(f"{t}\n" for t in targets))
        if self.process.returncode:
            fail("bench-load failed")
        return json.loads(out)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()


class Reflector:
    """bench-reflect on the last CPU. @sockets: 0 for one and recvmmsg(), else
    as many with io_uring."""

    def __init__(self, sockets, options=()):
        io = ["--io", "uring", "--sockets", str(sockets)] if sockets else []
        self.process = subprocess.Popen(
            [BUILD / "bench-reflect", *io, *options], stdout=subprocess.PIPE,
            text=True, preexec_fn=pin(cpus()[1]))
        self.ports = self.process.stdout.readline().split()[1:]
        if not self.ports:
            self.stop()
            fail("bench-reflect did not start")

    @property
    def pid(self):
        return self.process.pid

    def targets(self, calls):
        """A line of bench-load for each call."""
        return [f"{self.ports[i % len(self.ports)]} {i + 1} 0 {TS_FIRST}"
                for i in range(calls)]

    def stop(self):
        self.process.terminate()
        self.process.communicate()
        if self.process.returncode:
            fail("bench-reflect failed")


def played(calls, program, targets, options):
    """bench-load's result with @calls calls through @program (which it stops);
    @targets(addresses) sets the calls up."""
    try:
        load = Load(calls, program.pid, options)
        try:
            return load.run(targets(load.addresses))
        finally:
            load.stop()
    finally:
        program.stop()


def cpu_us(run):
    """CPU time of what was watched, for each packet that was sent."""
    return run["watched_cpu_ns"] / max(1, run["sent"]) / 1e3


def held(run):
    """How much of the time had the load lost its CPU?"""
    return run["held_ns"] / run["ns"]


def in_time(run):
    """Did the load keep its own times?"""
    return run["late"]["p99_ns"] <= LATE_BOUND_NS


def sound(run):
    """And did it send as much as it was to?"""
    return in_time(run) and held(run) <= HELD_BOUND


def text(run):
    """A run as a line for people."""
    delay = run["delay"]
    line = (f"{cpu_us(run):.2f} us of CPU a packet, lost {run['lost']} of "
            f"{run['sent']}, delay p50 "
            f"{delay['p50_ns'] / 1e6:.2f} p99 {delay['p99_ns'] / 1e6:.2f} ms")
    troubles = [f"{run[name]} {name}" for name in TROUBLES if run[name]]
    if troubles:
        line += "; " + ", ".join(troubles)
    if not sound(run):
        line += (f"; the load itself was {run['late']['p99_ns'] / 1e6:.1f} ms "
                 f"late, and held for {held(run):.1%} of the time")
    return line.replace("_", " ")


def tried(name, once, good=sound):
    """The first of some runs, @once() each, that is @good; else the last."""
    for _ in range(TRIES):
        run = once()
        say(f"  {name}: {text(run)}")
        if good(run):
            break
    return run

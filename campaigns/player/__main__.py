# SPDX-License-Identifier: Apache-2.0
"""campaigns/run [CAMPAIGN] [OPTION]...: installs what is missing, builds, plays a
campaign file (demo.yaml) under each of its schedulers, and ends with the verdict:
what came out, a short table, and which scheduler to choose. OUT/report.html has
figures and tables, OUT/report.json every number.

Schedulers take turns under live calls: one daemon, one feeder, and blocks of about
a second, in random order in each of ten rounds or more; then an episode of each
(calm, overload, calm; in the table, not compared), if the campaign has an overload.
Each round has as many calls as
take the share of the workers' time that the campaign asks for, by what a frame cost
in the rounds before. If the daemon sheds as it does by default, one call through
the overload can be heard: OUT/shed-quiet.wav, and OUT/shed-age.wav for the contrast.
Each has a score: PESQ, if this Python has the package pesq, else the E-model's.
Run folder: OUT/blocks.
What cannot be switched so is played in separate whole runs, one after another, each
with a daemon and a feeder of its own: the kernel's schedulers, a media proxy, files
to convert, two-way flows, calls that come and go at random, expectations. The
command says why.
A folder of campaigns is played by its own program (thesis, overload and cluster
live, scale simulated), or else simulated by campaigns/simulate (best).

  --schedulers A,B,C  in place of the campaign's (cluster has none to
                      compare); options of a scheduler follow
                      colons or commas: rr:quantum=2ms,
                      rsdl:levels=3:quantum=2ms, ./mine.so,age=5ms. Also
                      the kernel's: kernel:nice, kernel:deadline:overhead=7us,
                      and a plug-in's path: ./mine.so. fifo,fifo#2 compares one
                      with itself
  --out DIR           run folders go there (out/CAMPAIGN)
  --rounds N          N rounds of all schedulers, each in an order of its own
                      (20 of two schedulers, 14 of three, 10 of more; separate
                      runs: 1, and else into OUT/SCHEDULER/1 to N. The
                      table then shows medians with intervals, and what noise
                      could explain; codec-report --help, "repetitions", has
                      the rule; 4 tell the least of separate runs; blocks of
                      fewer than 6 rounds are not compared)
  --separate          play separate whole runs
  --find-capacity     search for the largest share of the campaign's load that
                      each scheduler carries without a lost frame and with a
                      p99 delay within --p99; within 5 %, confirmed by a second
                      run; OUT/capacity.json has every trial
  --p99 TIME          20ms
  --peer PROXY        play it to a media proxy, too, by the NG protocol:
                      rtpengine (Debian's, installed if need be), which runs
                      on the workers' CPUs with as many threads; or what
                      listens at ADDR:PORT. All calls then have ports of their
                      own, and all of codec-runner is on the workers' CPUs
  --dump              keep the speech, for codec-report --pesq
  --quick             a first look: the first two schedulers of the campaign, or
                      those of --schedulers, in six rounds, the fewest that are
                      compared; only large differences show. Of a folder with
                      its own program: its short form
  --feeder OPTION     passed to codec-feeder; may be repeated
  --runner OPTION     passed to codec-runner; may be repeated

Daemons are on loopback, with their receiver and the feeder on the first CPU and
the workers on the others; conversions read and write the
folder "spool" of its run folder. environment.json in it tells revision, command
lines, machine, libraries and how busy the machine was.

Exit code: 0, or 3 when an expectation of the campaign was missed, 1 when a run
broke off, or the daemon refused a scheduler, or replaced it because it broke its
contract, whatever was missed before, 2 for a wrong command line or campaign,
130 after Ctrl-C or SIGTERM. A run that broke off is the last one; what was
played until then is reported, as after Ctrl-C. In blocks, the others are played
on without a scheduler that was refused or replaced. A search plays a run that
broke off again, and goes on with the next scheduler. Simulating a folder is 0
whatever is missed, and so is a search.
"""
import os
import sys

import build
import peer
import rounds
import search
from installation import programs
from names import wrong_scheduler
from options import BENCHES, Options, Wrong, parse


def simulate(options):
    """Hand a folder over to its own program, or to campaigns/simulate."""
    names = [f"--scheduler={name}" for name in options.schedulers]
    where = ["--out", options.out]
    own = options.own_program()
    if own:
        quick = ["--quick"] if options.quick else []
        os.execv(own, [own, *quick, *names, *where])
    program = os.path.join(options.HERE, "simulate")
    os.execv(program, [program, options.campaign, *names, *where])


def check_schedulers(options):
    """Before any of them plays. Those of the campaign's file its reader has
    checked."""
    runner = os.path.join(programs(options.TOP), "codec-runner")
    for spec in options.schedulers:
        wrong = wrong_scheduler(runner, spec)
        if wrong:
            raise Wrong(wrong.replace("--scheduler:", "--schedulers:"))


def main(arguments):
    try:
        options = parse(arguments)
        if options is None:
            print(__doc__, end="")
            return 0
        options.check()
        more = ["peer"] if options.peer == peer.RTPENGINE else []
        if not build.build(Options.TOP, *more,
                           targets=[*build.TARGETS,
                                    *BENCHES.get(options.name, ())]):
            return 1
        check_schedulers(options)
    except Wrong as error:
        print(f"campaigns/run: {error}", file=sys.stderr)
        return 2
    if os.path.isdir(options.campaign):
        simulate(options)
    return rounds.run(options, search.search_all if options.find_capacity
                      else rounds.play_all)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

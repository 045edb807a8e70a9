# SPDX-License-Identifier: Apache-2.0
"""The program campaigns/sweep."""
import argparse
import difflib
import os
import signal
import sys
import time

from codec_sweep import SweepError, api, curves, grid, pool

DESCRIPTION = """\
Simulate a campaign over a grid of values, schedulers and seeds, and draw what
comes of it; or random task sets, under the admission tests of schedulers.

  campaigns/sweep two-codecs.yaml --set flows.wide.count=200..400:50 \\
      --schedulers fifo,edf --seeds 1..20
  campaigns/sweep --tasksets n=10 cpus=2 --schedulers edf,rm,pd2
"""

EPILOG = """\
A value of --set is a list A,B,C, of which each may be a range A..B:STEP, both
ends included. Several --set: each with each. With --set KEY=VALUE it is one
value. KEY is a place in the campaign, as of codec-sim --set.

Task sets: n tasks, all hard, on cpus CPUs; sets of them for each util (shares
of the CPUs, 5%..100%:5%), from seed (1). draw=randfixedsum (default) or
uunifast shares the utilisation out; queues=global (default) or partitioned, a
run queue for each CPU; periods (10ms..1000ms) are log-uniform on
a grid (1ms); deadlines=implicit (default) or constrained; each set is played
for duration (ten of the longest periods), interrupted at any moment, without
overheads. Schedulers: those whose admission is a test of deadlines.

Metrics: any number of codec-sim --json, as total.loss, flows.NAME.late_share,
flows.NAME.delay.p99_ns, cpus.migrations (of all CPUs). In short: loss, late,
missed, mean, p99, max, jitter are those of total.
  pesq, pesq_worst (total.pesq, flows.NAME.pesq, ...): mean and lowest PESQ
  (MOS-LQO) of --score calls of each run, evenly chosen. The trace says which
  frames came; bench-heard has the speech that codec-feeder would send
  transcoded without the others, and the listener's codec conceals them. What
  comes later than 400 ms is not heard; calls that last less than 4 s, or of
  which nothing is heard, have no score. Needs codecs, recorded speech
  (voice: turns, recordings, or none) at 8 or 16 kHz, and the Python package
  pesq: python3 -m pip install --target DIR pesq, then PYTHONPATH=DIR.

OUT gets
  sweep.csv     a line for each run: parameters (KEY, and KEY.number: shares of
                1, times in ns), scheduler, seed, every number of codec-sim's
                JSON. In Python: pandas.read_csv("OUT/sweep.csv")
  summary.csv   means over the seeds with 95 % intervals by Student's t
  METRIC.svg    and .png: the figures
  cells.jsonl   what --resume goes on with; sweep.json: what was asked for, of
                which codec-sim. Another campaign, codec-sim or grid does not
                replace it without --anew; --resume takes another grid
and with --tasksets
  sweep.csv     a line for each set and scheduler: admitted (1, 0), missed
                (late jobs), promised_missed (the same of admitted sets)
  summary.csv   shares of the sets with 95 % intervals by Wilson
  curves.svg    and .png

Ctrl-C keeps what is done, and says how to go on. On a Dask cluster (--dask) the
workers' machines need codec-sim and the campaign at the same paths; deps/install
dask installs what this takes here.

Exit code: 0; 1 when a cell could not be played, 2 for a wrong command line, 3
when a task set was admitted and late, 130 after Ctrl-C or SIGTERM.
"""

SHORT = {"loss": "total.loss", "late": "total.late_share",
         "missed": "total.missed_share", "mean": "total.delay.mean_ns",
         "p99": "total.delay.p99_ns", "max": "total.delay.max_ns",
         "jitter": "total.jitter.p99_ns",
         "pesq": "total.pesq", "pesq_worst": "total.pesq_worst"}
PESQ = ("pesq", "pesq_worst", "pesq_calls")  # score.NAMES: that needs numpy
SCORED = 20  # calls
DEFAULT_METRICS = ("loss", "missed", "p99")
NAMED = 5  # errors


def scheduler_list(text):
    """Commas part schedulers, colons their options, as of campaigns/run; an
    option after a comma belongs to the scheduler before it, as of codec-sim."""
    out = []
    for word in filter(None, text.split(",")):
        if out and "=" in word.split(":")[0]:
            out[-1] += f",{word}"
        else:
            out.append(word)
    return [name.replace(":", ",") for name in out]


def parser():
    p = argparse.ArgumentParser(
        prog="campaigns/sweep", description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False)
    p.add_argument("campaign", nargs="?", metavar="FILE",
                   help="a campaign, or the name of one of campaigns/")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUES",
                   help="what KEY is to be; may be repeated")
    p.add_argument("--tasksets", nargs="*", metavar="KEY=VALUE",
                   help="random task sets in place of a campaign")
    p.add_argument("--schedulers", type=scheduler_list, metavar="A,B,C",
                   help="in place of the campaign's; options follow colons: "
                   "rr:quantum=2ms")
    p.add_argument("--seeds", metavar="1..20", help="default: 1..5")
    p.add_argument("--metric", action="append", metavar="NAME",
                   help="what is drawn; may be repeated (default: loss, "
                   "missed, p99)")
    p.add_argument("--score", type=int, metavar="N",
                   help="calls of each run whose PESQ is computed (default: "
                   f"{SCORED} where a metric is pesq, else none)")
    p.add_argument("--duration", metavar="TIME",
                   help="in place of the campaign's")
    p.add_argument("--out", metavar="DIR",
                   help="default: out/CAMPAIGN-sweep, out/tasksets")
    p.add_argument("--resume", action="store_true",
                   help="go on with what is done in OUT")
    p.add_argument("--anew", action="store_true",
                   help="forget what is done in OUT, and delete what was "
                   "made of it")
    p.add_argument("--jobs", type=int, metavar="N",
                   help="simulations at a time (default: as many as CPUs)")
    p.add_argument("--dask", metavar="tcp://HOST:PORT",
                   help="have the workers of this Dask scheduler simulate")
    p.add_argument("--build", metavar="DIR",
                   help="the folder of codec-sim (default: $CR_BUILD, or "
                   "build/release, which is built if need be, or what is "
                   "installed)")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return p


def check(args):
    """SweepError for what does not go together."""
    if (args.campaign is None) == (args.tasksets is None):
        raise SweepError("needs a campaign file, or --tasksets")
    if args.tasksets is not None:
        for name in ("set", "seeds", "metric", "score", "duration"):
            if getattr(args, name):
                raise SweepError(f"--{name} is for campaigns, not for "
                                 "--tasksets")
    if args.schedulers == []:
        raise SweepError("--schedulers takes names such as fifo,edf")
    if args.jobs is not None and args.jobs < 1:
        raise SweepError("--jobs: needs at least 1")
    if args.jobs and args.dask:
        raise SweepError("--jobs is of this machine, not of --dask")
    if args.score is not None and args.score < 1:
        raise SweepError("--score: needs at least 1")
    if args.resume and args.anew:
        raise SweepError("--resume goes on, --anew forgets: one of them")


class Progress:
    """How far it is, on terminals."""

    def __init__(self, quiet):
        self.shown = not quiet and sys.stderr.isatty()
        self.begin, self.first, self.next = time.monotonic(), None, 0

    def __call__(self, done, of):
        now = time.monotonic()
        if self.first is None:
            self.first = done
        if not self.shown or (now < self.next and done < of):
            return
        self.next = now + 0.2
        text = f"{done} of {of} cells, {now - self.begin:.0f} s"
        if self.first < done < of:
            left = (now - self.begin) * (of - done) / (done - self.first)
            text += f", about {left:.0f} s more"
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def metric_of(name, known):
    """The full name of a metric of a run."""
    full = SHORT.get(name, name)
    if full in known:
        return full
    near = difflib.get_close_matches(name, [*SHORT, *known], 1)
    raise SweepError(f"--metric {name}: no run has it" +
                     (f"; did you mean {near[0]!r}?" if near else
                      f"; in short: {', '.join(SHORT)}.") +
                     " The runs are kept: the same command with --resume "
                     "and another --metric draws them")


def scored(args):
    """How many calls of each run get a PESQ; 0: nobody asks for it."""
    asked = any(name.rsplit(".", 1)[-1] in PESQ for name in args.metric or ())
    return args.score or (SCORED if asked else 0)


def say_failures(swept):
    for line in swept.failures.lines()[:NAMED]:
        print(f"campaigns/sweep: {line}", file=sys.stderr)
    more = len(swept.failures.lines()) - NAMED
    if more > 0:
        print(f"campaigns/sweep: {more} more kinds of errors",
              file=sys.stderr)


def play(swept, args):
    """Play it. False: interrupted, which has been said."""
    progress = Progress(args.quiet)
    before = swept.begin(args.resume, args.anew)
    if before:
        print(f"{before} of {len(swept.cells)} cells are done already",
              flush=True)
    try:
        swept.play(pool.make(args.jobs, args.dask), progress)
    except KeyboardInterrupt:
        progress.end()
        print(f"campaigns/sweep: stopped after {len(swept.results)} of "
              f"{len(swept.cells)} cells; they are kept in {args.out}. The "
              "same command with --resume goes on", file=sys.stderr)
        return False
    progress.end()
    say_failures(swept)
    return True


def ended(swept, whole):
    """The exit code."""
    swept.store.tell(swept.whole)
    if not whole:
        return 130
    return 1 if swept.failures else 0


def save_figure(swept, drawn, name):
    """OUT/NAME.svg and .png; the path without its end."""
    from codec_sweep import figures
    for end in ("svg", "png"):
        swept.store.output(f"{name}.{end}")
    return figures.save(drawn, swept.store.folder, name)


def draw_metric(swept, params, schedulers, points, name, metric):
    from codec_sweep import figures
    drawn, left = figures.of_metric(
        params, [p for p in points if p["metric"] == metric], metric,
        schedulers)
    path = save_figure(swept, drawn, name)
    print(f"figure: {path}.svg" +
          (f" ({left} more panels have no room; sweep.csv has them)"
           if left else ""))


def show_table(points, keys):
    """The means, a line each, in the units of the figures."""
    from codec_sweep import figures
    lines = [[*keys, "scheduler", "metric", "runs", "mean", "95 % interval"]]
    for p in points:
        factor, unit = figures.scale(p["metric"])
        mean, low, high = (f"{p[name] * factor:.6g}" if p[name] is not None
                           else None for name in ("mean", "low", "high"))
        lines.append([*(str(p[key]) for key in keys), p["scheduler"],
                      p["metric"] + unit, str(p["runs"]), mean,
                      f"{low} to {high}" if low else "-"])
    show(lines)


def show(lines):
    widths = [max(len(line[i]) for line in lines)
              for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(w) for text, w in zip(line, widths))
              .rstrip())


def sweep_campaign(args):
    params = grid.parameters(args.set)
    seeds = grid.integers(args.seeds or "1..5", "--seeds")
    swept = api.campaign_sweep(
        args.campaign, params, args.schedulers, seeds,
        ["--duration", args.duration] if args.duration else [], args.build,
        args.out, scored(args), not args.dask)
    whole = play(swept, args)
    table = api.rows(swept)
    swept.store.table("sweep.csv", table)
    if not whole or not table:
        return ended(swept, whole)
    code = ended(swept, whole)  # whatever is drawn of it
    known = list(dict.fromkeys(name for row in table for name in row))
    metrics = {name: metric_of(name, known)
               for name in args.metric or DEFAULT_METRICS}
    keys = [p.key for p in params]
    points = [point for metric in metrics.values()
              for point in api.points(table, keys, metric)]
    swept.store.table("summary.csv", points)
    show_table(points, keys)
    if any(r["measured"] for r in swept.results.values()):
        print("note: flows without cost: every cell has measured its own "
              "costs on the machine, with its noise; give the flows cost: "
              "{...} for runs that can be repeated")
    schedulers = list(dict.fromkeys(c.scheduler for c in swept.cells))
    for name, metric in metrics.items():
        draw_metric(swept, params, schedulers, points, name, metric)
    return code


def show_curves(points, schedulers):
    shares = list(dict.fromkeys(p["share"] for p in points))
    found = {(p["scheduler"], p["share"]): p for p in points}
    show([["admitted / without a late job, %",
           *(f"{100 * share:g} %" for share in shares)]] +
         [[name, *(f"{100 * found[name, share]['admitted']:.0f} / "
                   f"{100 * found[name, share]['met']:.0f}"
                   if (name, share) in found else "-" for share in shares)]
          for name in schedulers])


def show_broken(table, schedulers):
    """Whether tests kept their promises. True: all did."""
    broken = curves.broken(table)
    for name in schedulers:
        admitted = sum(r["admitted"] for r in table if r["scheduler"] == name)
        late = [r for r in broken if r["scheduler"] == name]
        print(f"{name}: {admitted} sets admitted, " +
              (f"{len(late)} of them had late jobs, the first: util="
               f"{late[0]['share']:g}, set {late[0]['set']}" if late
               else "none of them had a late job"))
    return not broken


def keep_broken(swept, told, table):
    """The first set of each scheduler that was admitted and late, to be played
    again."""
    from codec_sweep.grid import number
    first = {}
    for row in curves.broken(table):
        first.setdefault(row["scheduler"], row)
    for name, row in first.items():
        one = next(c for c in swept.cells if c.number == row["set"] and
                   number(c.share) == row["share"])
        path = swept.store.output(f"late-{name.replace(',', '_')}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(curves.text_of(told, one))
        print(f"set: {path}")


def sweep_tasksets(args):
    words = dict(grid_word(word) for word in args.tasksets)
    told = curves.asked(words)
    swept = curves.tasksets_sweep(told, args.schedulers, args.build, args.out)
    whole = play(swept, args)
    table = curves.rows(swept)
    swept.store.table("sweep.csv", table)
    if not whole or not table:
        return ended(swept, whole)
    points = curves.points(table)
    schedulers = list(dict.fromkeys(r["scheduler"] for r in table))
    swept.store.table("summary.csv", points)
    show_curves(points, schedulers)
    kept = show_broken(table, schedulers)
    keep_broken(swept, told, table)
    from codec_sweep import figures
    drawn, left = figures.of_tasksets(points, schedulers)
    path = save_figure(swept, drawn, "curves")
    print(f"figure: {path}.svg" + (f" ({left} more have no room)"
                                   if left else ""))
    return ended(swept, whole) or (0 if kept else 3)


def grid_word(word):
    key, equals, value = word.partition("=")
    if not equals:
        raise SweepError(f"--tasksets {word}: needs KEY=VALUE, such as n=10")
    return key, value


def default_out(args):
    if args.tasksets is not None:
        return api.installation.out(api.ROOT, "tasksets")
    name = os.path.basename(args.campaign).removesuffix(".yaml")
    return api.installation.out(api.ROOT, f"{name}-sweep")


def build(args):
    """Programs, as campaigns/run has them, unless they are named."""
    if args.build or os.environ.get("CR_BUILD"):
        return True
    import build as player
    return player.build(str(api.ROOT), *(["dask"] if args.dask else []),
                        targets=["codec-sim"] + (
                            ["bench-heard"] if scored(args) else []))


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def main(words=None):
    args = parser().parse_args(words)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        check(args)
        if not build(args):
            return 1
        args.out = os.path.abspath(args.out or default_out(args))
        code = sweep_campaign(args) if args.tasksets is None \
            else sweep_tasksets(args)
        print(f"folder: {args.out}")
        return code
    except SweepError as error:
        print(f"campaigns/sweep: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"campaigns/sweep: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130

# SPDX-License-Identifier: Apache-2.0
"""The program codec-report: arguments, and what is printed where."""
import argparse
import os
import re
import shutil
import sys
import textwrap

from codec_report import (ReportError, access, blocks, delay, differ, emodel,
                          exchange, feeder, heard, interleaved, labels,
                          listing, locality, man, metrics, paired, perfetto,
                          phases, pictures, quality, recovery, repeats, table,
                          verdict, words, write_file)
from codec_report.comparison import Comparison, report
from codec_report.figures import svg
from codec_report.run import (FILES, Window, base_name, load_run,
                              sections)

DESCRIPTION = """\
Compare schedulers by the traces of runs.

RUN is a trace file (of codec-runner or codec-sim) or a folder with trace.bin
and, from codec-feeder, run.json and streams.csv; missing parts are noted. A
folder of such folders means all of them. A verdict comes first: the campaign,
the results phase by phase, and the scheduler to choose; then a short table.
Every scheduler of every run has a column. A run with several schedulers has a
column for each, however often they were switched; a repeated run (a folder of
runs 1, 2, ...) has a column of medians, and the best of a row is marked.
"""

EXAMPLES = """\
codec-report out/fifo out/edf
    which of two runs was better, and a short table
codec-report --all out/fifo out/edf
    every number of them, a table for each codec pair
codec-report --all --warm-up 5 --by class trace.bin
    without the first five seconds, by service class
codec-report --csv out/demo > runs.csv
    one line per run, scheduler and codec pair, for a spreadsheet
codec-report --html report.html out/demo
    the same as one web page, with figures
codec-report --plots figures --format pdf --width 88mm out/demo
    the figures for a paper, in a column of it
codec-report --json out/edf | jq '.runs[0].schedulers[0].groups[0].lost'
    one number, for a script
codec-report --since 9 --until 9.5 --perfetto trace.json out/edf
    half a second to look at in ui.perfetto.dev
codec-report --jobs csv trace.bin > jobs.csv
    response time, lateness and tardiness of every frame
codec-report --import jobs.csv mine && codec-sim --replay mine -s edf,rm
    a table of arrivals and costs under two schedulers
codec-report --import calls.pcap calls.yaml
    a campaign of the calls in a capture
"""

EXITS = """\
0  all well
2  wrong arguments, or a run that cannot be read; the message says why
130  interrupted
"""

SECTIONS = [("examples", EXAMPLES), ("exit codes", EXITS)] + [
    (title, module.__doc__.split("\n\n", 1)[1]) for title, module in (
        ("verdict", verdict), ("phases", phases), ("what differs", differ),
        ("interleaved comparisons", interleaved), ("blocks", blocks),
        ("paired differences", paired),
        ("definitions", metrics), ("delay", delay), ("rows", locality),
        ("E-model", emodel),
        ("PESQ", quality), ("to hear", heard), ("recovery", recovery),
        ("lists", listing), ("exchange", exchange), ("perfetto", perfetto),
        ("repetitions", repeats), ("files", feeder))]
VERSION = os.environ.get("CR_VERSION", "(from source)")


class _Man(argparse.Action):
    """--man: print the man page, which is made of the parser's own texts."""

    def __call__(self, parser, namespace, values, option_string=None):
        shown = [a for a in parser._actions if a.help != argparse.SUPPRESS]
        print(man.page(parser, shown, "compare schedulers by the traces of "
                       "runs", VERSION, SECTIONS), end="")
        parser.exit()


def seconds(text):
    """Seconds: a number, or one with the unit ms, s or min."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min)?", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time such as 5, 1.5s or 200ms")
    return float(match[1]) * {"ms": 1e-3, "s": 1, "min": 60,
                              None: 1}[match[2]]


def formats(text):
    """Of svg.FORMATS."""
    found = tuple(text.split(","))
    if set(found) - set(svg.FORMATS):
        raise argparse.ArgumentTypeError(
            f"{text!r}: known: " + ", ".join(svg.FORMATS))
    return found


def width(text):
    """Inches."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(mm|cm|in)", text)
    inches = match and float(match[1]) / {"mm": 25.4, "cm": 2.54,
                                          "in": 1}[match[2]]
    if not inches or not 2 <= inches <= 40:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a width such as 88mm, from 51 mm to a metre")
    return inches


def time_window(text):
    """FROM..TO, in seconds."""
    begin, _, end = text.partition("..")
    if not end or seconds(begin) >= seconds(end):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a window such as 9.8s..9.86s")
    return seconds(begin), seconds(end)


def _parser():
    parser = argparse.ArgumentParser(
        prog="codec-report", description=DESCRIPTION,
        epilog="\n".join(f"{title}:\n{textwrap.indent(text, '  ')}"
                         for title, text in SECTIONS),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="trace file, run folder, or folder of run folders")
    parser.add_argument("--by", choices=("codec", "class", "flow"),
                        default="codec", help="the rows of a table: codec pairs "
                        "(the default), service classes, or flows of the "
                        "campaign (needs streams.csv)")
    parser.add_argument("--since", metavar="TIME", type=seconds, default=0.0,
                        help="leave out earlier arrivals, counted from the "
                        "first arrival of the run")
    parser.add_argument("--until", metavar="TIME", type=seconds,
                        default=float("inf"), help="leave out arrivals "
                        "from then on")
    parser.add_argument("--warm-up", metavar="TIME", type=seconds,
                        default=0.0, help="leave out this time after the start "
                        "and after each switch of the scheduler (default: 0)")
    parser.add_argument("--playout", metavar="TIME", type=seconds,
                        default=0.06, help="the listeners' play-out buffer, "
                        "for the E-model (default: 60ms)")
    parser.add_argument("--network", metavar="TIME", type=seconds,
                        default=0.0, help="one-way delay of the network, for "
                        "the E-model (default: 0)")
    parser.add_argument("--no-plc", action="store_true",
                        help="listeners to G.711 do not conceal losses")
    parser.add_argument("--pesq", action="store_true", help="score the speech "
                        "that codec-feeder --dump kept, by PESQ; needs the "
                        "Python package pesq")
    parser.add_argument("--all", action="store_true", help="print every "
                        "number, too, a table for each of --by")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true",
                      help="print one JSON object; shares are 0..1")
    form.add_argument("--csv", action="store_true",
                      help="print CSV, a line per run, scheduler and group")
    form.add_argument("--jobs", choices=("csv",), help="print the job table "
                      "of real-time tools, a line per frame")
    form.add_argument("--streams", choices=("csv",), help="print the "
                      "E-model's results, a line per stream")
    parser.add_argument("--data", metavar="FILE", help="write the output of "
                        "--json there")
    parser.add_argument("--html", metavar="FILE", help="write a web page with "
                        "figures and the tables there; needs matplotlib")
    parser.add_argument("--plots", metavar="DIR", help="write the figures "
                        "there, each as SVG and as PNG; needs matplotlib")
    parser.add_argument("--format", metavar="LIST", type=formats, help="of "
                        "--plots: " + ", ".join(svg.FORMATS) + "; a PDF has "
                        "embedded fonts (default: svg,png)")
    parser.add_argument("--width", metavar="WIDTH", type=width, help="of "
                        "--plots, as 88mm, a column of many papers: text has 8 "
                        "points there (default: a page's figures)")
    parser.add_argument("--labels", metavar="LABEL=TEXT;...", help="names of "
                        "columns in --plots, as "
                        "'rr,quantum=1ms=RR;fifo=FIFO'")
    parser.add_argument("--gantt", metavar="FROM..TO", type=time_window,
                        help="window of their chart of single frames, from "
                        "the first arrival, as 9.8s..9.86s (default: around "
                        "the worst moment of a campaign's first run)")
    parser.add_argument("--perfetto", metavar="FILE", help="write a trace for "
                        "ui.perfetto.dev there")
    parser.add_argument("--perfetto-frames", metavar="N", type=int,
                        default=perfetto.FRAMES_MAX, help="refuse to write "
                        f"more frames (default: {perfetto.FRAMES_MAX})")
    parser.add_argument("--import", metavar="FILE", dest="import_from",
                        help="make RUN of a table of jobs (.csv), a capture "
                        "of RTP (.pcap, .pcapng) or a workload of rt-app "
                        "(.json): see exchange")
    parser.add_argument("--export", metavar="FILE", dest="export_to",
                        help="write the campaign RUN as a workload of rt-app "
                        "(.json): see exchange")
    parser.add_argument("--version", action="version",
                        version=f"codec-report (codec-runner) {VERSION}")
    parser.add_argument("--man", action=_Man, nargs=0,
                        help=argparse.SUPPRESS)
    return parser


def _group_order(reports):
    """Labels as they first come; the sum over all first."""
    found = [group["group"] for r in reports for s in r["schedulers"]
             for group in s["groups"]]
    return sorted(dict.fromkeys(found), key=lambda label: label != "all")


def _columns(reports, label):
    return [table.Column(r["run"], s["label"], group,
                         labels.scheduler_name(s["scheduler"]))
            for r in reports for s in r["schedulers"]
            for group in s["groups"] if group["group"] == label]


def _notes(reports):
    """Each with the names of the runs that have it."""
    found = {}
    for r in reports:
        for note in r["notes"]:
            found.setdefault(note, []).append(r["run"])
    return [f"{', '.join(names)}: {note}" for note, names in found.items()]


def _print_table(title, columns, out, chosen=metrics.METRICS):
    # campaigns/run sets FORCE_COLOR: the terminal is behind its pipe
    terminal = out.isatty() or bool(os.environ.get("FORCE_COLOR"))
    colour = terminal and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((80, 24)).columns if terminal else 80
    lines = table.table(title, columns, width, colour, chosen)
    out.write("\n".join(lines) + "\n")


def _print_verdict(ranking, out):
    for line in ranking.lines():
        out.write(textwrap.fill(words.together(line), 79,
                                break_on_hyphens=False).replace(
                                    words.NBSP, " ") + "\n")
        if line == ranking.load():
            out.write("\n")
    out.write("\n")
    columns, chosen = ranking.table(False)
    _print_table("", columns, out, chosen)


def _print_heard(passages, out):
    if not passages:
        return
    out.write("to hear, one call through the same overload:\n")
    for p in passages:
        out.write(f"  {p.path}: {p.score()}\n")
        out.write(textwrap.fill(heard.KINDS[p.shed], 77, initial_indent="    ",
                                subsequent_indent="    ") + "\n")
    more = heard.hint(passages)
    out.write(textwrap.fill(more, 77, initial_indent="  ",
                            subsequent_indent="  ") + "\n" if more else "")
    out.write("\n")


def _print_text(reports, verdicts, passages, args, out):
    for ranking in verdicts:
        _print_verdict(ranking, out)
    _print_heard(passages, out)
    everything = args.all or not verdicts
    for label in _group_order(reports) if everything else ():
        _print_table(label, _columns(reports, label), out)
    for note in _notes(reports):
        out.write(f"note: {note}\n")
    for path in (args.html, args.plots, args.data):
        if path:
            out.write(f"written: {path}\n")
    if not everything:
        out.write("every number: --all; for programs: --json\n")
    choice = [ranking.choose() for ranking in verdicts if ranking.choose()]
    if len(choice) == 1:
        out.write(choice[0] + "\n")


def _title(reports, verdicts):
    names = dict.fromkeys(s["label"] for r in reports
                          for s in r["schedulers"])
    campaigns = dict.fromkeys(ranking.family.campaign.removesuffix(".yaml")
                              for ranking in verdicts
                              if ranking.family.campaign)
    return ": ".join(filter(None, (
        ", ".join(campaigns) or "Schedulers compared", ", ".join(names))))


def _draw(album, args, reports, verdicts, passages):
    """Write what --html and --plots ask for."""
    headings = [(r["run"], [s["label"] for s in r["schedulers"]])
                for r in reports]
    blocks_of = [ranking for ranking in verdicts
                 if isinstance(ranking, interleaved.Verdict)]
    if args.html:
        album.draw(headings, blocks_of)
        album.write(args.html, _title(reports, verdicts), verdicts,
                    [(label, _columns(reports, label))
                     for label in _group_order(reports)], _notes(reports),
                    passages)
    if args.plots:
        wanted = pictures.Print(
            args.format or svg.FORMATS[:2], args.width,
            [item for item in (args.labels or "").split(";") if item])
        if wanted.inches or wanted.labels or not args.html:  # else drawn
            album.draw(headings, blocks_of, wanted)
        album.save(args.plots, wanted)


def _run(args, out):
    if args.import_from or args.export_to:
        out.write("".join(f"{line}\n" for line in exchange.run(args)))
        out.flush()
        return
    if args.until <= args.since:
        raise ReportError("--until must be later than --since")
    if args.gantt and not (args.html or args.plots):
        raise ReportError("--gantt is for --html and --plots")
    if (args.format or args.width or args.labels) and not args.plots:
        raise ReportError("--format, --width and --labels are for --plots")
    window = Window(args.since, args.until, args.warm_up)
    assumed = emodel.Assumptions(args.playout * 1e3, args.network * 1e3,
                                 not args.no_plc)
    album = pictures.Album(args.gantt) if args.html or args.plots else None
    hears = not (args.csv or args.jobs or args.streams) or album or args.data
    comparison, names, named, passages = Comparison(), [], [], []
    for path in (run for named_run in args.runs
                 for run in repeats.runs_in(named_run, FILES)):
        repetitions = repeats.folders(path, FILES)
        names.append(base_name(path) if repetitions else None)
        for turn, one in enumerate(repetitions or [path]):
            run = load_run(one)
            if args.pesq:
                quality.add_scores(run, one)
            measured = sections(run, args.by, window, assumed)
            if repetitions:
                run.name = f"{base_name(path)}/{run.name}"
            found = heard.find(run, one, assumed) if hears else []
            passages += found
            summary = report(run, args.by, measured)
            if found:
                summary["heard"] = [p.as_dict() for p in found]
            named.append((summary, measured))
            family = comparison.add(run, summary, measured, turn,
                                    names[-1] or run.name)
            if album and turn == 0:
                album.add(run, measured, family)
    reports = comparison.finish(names)
    for r, name in zip(reports, labels.unique([r["run"] for r in reports],
                                              "#")):
        r["run"] = name
    named = [(summary["run"], measured) for summary, measured in named]
    _print_all(args, out, album, reports, comparison.verdicts, passages, named)
    out.flush()


def _print_all(args, out, album, reports, verdicts, passages, named):
    """Everything that was asked for."""
    if album:
        _draw(album, args, reports, verdicts, passages)
    if args.perfetto:
        with access(args.perfetto), open(args.perfetto, "w",
                                         encoding="utf-8") as f:
            perfetto.write(f, named, args.perfetto_frames)
    data = table.as_json(reports, [r.as_dict() for r in verdicts]) \
        if args.json or args.data else ""
    if args.data:
        write_file(args.data, data)
    if args.json:
        out.write(data)
    elif args.csv:
        out.write(table.as_csv(reports))
    elif args.jobs:
        listing.jobs(out, named)
    elif args.streams:
        listing.streams(out, named)
    else:
        _print_text(reports, verdicts, passages, args, out)


def main(argv=None):
    """Run codec-report; returns the exit code."""
    args = _parser().parse_args(argv)
    try:
        _run(args, sys.stdout)
    except ReportError as error:
        print(f"codec-report: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0

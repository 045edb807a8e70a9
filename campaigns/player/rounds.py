# SPDX-License-Identifier: Apache-2.0
"""Every scheduler in turn, as many rounds as asked for, and the report."""
import json
import os
import shutil
import signal
import subprocess
import sys

import blocks
from live import (BROKEN, INTERRUPTED, PLAYED, WRONG, Broken, Player,
                  remove_run)
from names import folder_name


def has_run(folder):
    """Something to report: a trace, or what the feeder saw of a peer, which
    writes none."""
    trace = os.path.join(folder, "trace.bin")
    if os.path.exists(trace):
        return os.path.getsize(trace) > 0
    return os.path.exists(os.path.join(folder, "run.json"))


def order(specs, rounds, seed):
    """[(scheduler, round)]: interleaved, so that what changes slowly on
    the machine meets all schedulers alike; in random order within a round, so
    that none always comes behind the same."""
    drawn = blocks.orders(specs, rounds, seed)
    return [(spec, turn + 1) for turn in range(rounds) for spec in drawn[turn]]


def run_folder(out, spec, turn, rounds):
    """OUT/SCHEDULER, or OUT/SCHEDULER/TURN."""
    folder = os.path.join(out, folder_name(spec))
    return folder if rounds == 1 else os.path.join(folder, str(turn))


def forget(out, specs):
    """Remove what would be taken for part of these runs: a run in the place
    of repetitions, the repetitions of an earlier time, and blocks."""
    remove_run(os.path.join(out, blocks.FOLDER))
    for spec in specs:
        folder = os.path.join(out, folder_name(spec))
        if not os.path.isdir(folder):
            continue
        remove_run(folder)
        for name in os.listdir(folder):
            if name.isascii() and name.isdigit():
                remove_run(os.path.join(folder, name))


def _as_here():
    """Return the environment in which codec-report prints into a pipe what it
    would print here."""
    if not sys.stdout.isatty():
        return None
    return {**os.environ, "FORCE_COLOR": "1",
            "COLUMNS": str(shutil.get_terminal_size().columns)}


def report(player, folders, replay=None):
    """Print the verdict, last, and write a web page and every number as JSON;
    replay: of start_replay(), which goes on meanwhile. Return whether
    codec-report could."""
    out = player.options.out
    print(f"\nmaking the report (run folders: {out})", flush=True)
    done = subprocess.run(
        [player.program("codec-report"),
         "--html", os.path.join(out, "report.html"),
         "--data", os.path.join(out, "report.json"), *folders],
        stdout=subprocess.PIPE, text=True, env=_as_here(), check=False)
    if replay:
        print_replay(player, replay)
    print(f"\n== report\n{done.stdout}", end="", flush=True)
    return not done.returncode


def _again(run):
    """A line of the second opinion: what codec-sim --replay says of a run."""
    replay = run["replay"]
    shown = [replay[key] for key in ("live", "own", "all")]
    return f"{run['scheduler']:<24}" + "".join(
        f"{100 * s['loss']:9.2f} %{s['p99_ns'] / 1e6:9.1f}" if s else
        f"{'-':>11}{'-':>9}" for s in shown)


def _replay_file(player):
    return os.path.join(player.options.out, "replay.json")


def start_replay(player, folder):
    """Start the second opinion: the arrivals and costs of the whole comparison
    under each scheduler, in virtual time. Return the process; None: stopped."""
    if player.stopped:
        return None
    # codec-sim says on stderr how far it is, and why it cannot
    with open(_replay_file(player), "w", encoding="utf-8") as f:
        return subprocess.Popen([player.program("codec-sim"), "--json",
                                 "--replay", folder], stdout=f)


def print_replay(player, replay):
    """Print the second opinion once it is there. Without one, the run is as
    good."""
    replay.wait()
    with open(_replay_file(player), encoding="utf-8") as f:
        text = f.read()
    if not text:
        os.remove(_replay_file(player))
        print("not played again", flush=True)
        return
    runs = json.loads(text)
    runs = runs if isinstance(runs, list) else [runs]
    print("\n== a second opinion: the same arrivals and costs in virtual time "
          "(codec-sim --replay)\n"
          f"{'lost, p99 ms':<24}{'live':>11}{'':>9}{'the same':>11}{'':>9}"
          f"{'all blocks':>11}", *map(_again, runs), sep="\n", flush=True)


def _title(player, spec, turn, rounds):
    of = f", {turn} of {rounds}" if rounds > 1 else ""
    return f"\n== {player.options.name} under {spec}{of}"


def play_all(player):
    """Play, in blocks or one after another, and report. The exit code."""
    why = blocks.why_separate(player)
    forget(player.options.out, player.specs)
    if why and player.options.quick:
        print(f"campaigns/run: no --quick: {why}", file=sys.stderr)
        return WRONG
    if why:
        if len(player.specs) > 1:
            print(f"separate runs, one after another: {why}", flush=True)
        return play_separately(player)
    code = blocks.play(player)
    folder = os.path.join(player.options.out, blocks.FOLDER)
    if os.path.exists(os.path.join(folder, "blocks.json")):
        if not report(player, [folder], start_replay(player, folder)):
            code = code or BROKEN
    return code


def play_separately(player):
    """Play, until a run breaks off, and report. The exit code: why it broke
    off, else whether an expectation was missed."""
    options = player.options
    worst, folders, rounds = 0, {}, options.rounds or 1
    if len(player.specs) > 1 or rounds > 1:
        player.size_loads()
    for spec, turn in order(player.specs, rounds, player.campaign["seed"]):
        if player.stopped:
            break
        folder = run_folder(options.out, spec, turn, rounds)
        print(_title(player, spec, turn, rounds), flush=True)
        try:
            code = player.play(spec, folder, repetition=turn)
        except Broken:
            code = BROKEN
        if has_run(folder):
            folders[run_folder(options.out, spec, turn, 1)] = True
        if code not in PLAYED:
            worst = code
            break
        worst = max(worst, code)
    if folders and not report(player, list(folders)) and worst in PLAYED:
        worst = BROKEN
    return worst


def run(options, work):
    """Get ready, work(player), clean up. The exit code."""
    player = None
    try:
        player = Player(options)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup(1)
                signal.signal(number, player.stop)
        player.check_peer()
        worst = work(player)
    except Broken as broken:
        worst = broken.code
    finally:
        if player:
            player.stop_daemon()
    return INTERRUPTED if player and player.stopped else worst

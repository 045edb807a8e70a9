# SPDX-License-Identifier: Apache-2.0
"""Something to hear: one call through the same overload twice, first as the
daemon is by default (--shed quiet: pauses and quiet frames are given up first),
then by age alone. The daemon reads that from its configuration file."""
import csv
import json
import os
import shutil
import signal
import sys
import time
import wave
from array import array

from live import Broken

CALM, OVERLOAD, AFTER = 0.3, 3.6, 0.3  # s; PESQ scores 4 s at least
PAUSE = 0.2  # s before each, that the one before is over
LENGTH = 2 * (CALM + OVERLOAD + AFTER + PAUSE)
TIMEOUT = 60  # s, until the daemon has read its configuration again
CALLS = 8  # that are kept, to choose one that speaks
SCHEDULER = "edf"  # codec-runner's default
KINDS = ("quiet", "age")


def wanted(player, has_overload):
    """Return whether there is an overload, and --shed is the default."""
    words = " ".join([*player.daemon_options, *player.options.runner])
    return has_overload and "--shed=" not in words and "--shed " not in words


def _folder(blocks):
    return os.path.join(blocks.folder, "dump")


def dump(blocks):
    """Return codec-feeder's options that keep the speech for keep()."""
    return ["--dump", _folder(blocks), f"--dump-calls={CALLS}"]


def _shed(blocks, kind):
    """Have the daemon shed by kind. Calls that are up can change to age only."""
    if kind == KINDS[0]:
        return
    stage = blocks.stage
    before = stage.request("stats")["config"]["read"]
    stage.configure(f"shed = {kind}\n")
    os.kill(blocks.player.daemon.process.pid, signal.SIGHUP)
    until = time.monotonic() + TIMEOUT
    while (config := stage.request("stats")["config"])["read"] == before:
        if time.monotonic() > until:
            print("\ncampaigns/run: codec-runner has not read its configuration "
                  f"within {TIMEOUT} s of SIGHUP", file=sys.stderr)
            raise Broken
        stage.sleep(0.01)
    if not config["accepted"]:  # else both files would be of the same kind
        print(f"\ncampaigns/run: codec-runner does not shed by {kind}: "
              f"{config['why']}", file=sys.stderr)
        raise Broken


def play(blocks):
    """Play the overload of each kind. Return {"scheduler": its name, kind:
    (begin, end)}, CLOCK_MONOTONIC, ns; None: the scheduler failed."""
    stage = blocks.stage
    spec = SCHEDULER if SCHEDULER in blocks.specs else blocks.specs[0]
    found = {"scheduler": spec}
    blocks.progress.show(f"to hear: one call through the overload under {spec},"
                         " shed quiet, then by age", "contrast")
    stage.speak(blocks.calls(overload=False))
    if not blocks.switch(spec):
        return None
    for kind in KINDS:
        _shed(blocks, kind)
        stage.sleep(PAUSE)
        begin = time.monotonic_ns()
        stage.sleep(CALM)
        stage.speak(blocks.calls())
        stage.sleep(OVERLOAD)
        stage.speak(blocks.calls(overload=False))
        stage.sleep(AFTER)
        found[kind] = begin, time.monotonic_ns()
    blocks.check_contract()
    return found if spec in blocks.specs else None


def _cut(path, begin, end):
    """Return the samples from begin to end, s, of a mono file of 16 bits, and
    its rate."""
    with wave.open(path) as f:
        rate = f.getframerate()
        f.setpos(min(max(int(begin * rate), 0), f.getnframes()))
        samples = array("h")
        samples.frombytes(f.readframes(int((end - begin) * rate)))
        return samples, rate


def _save(path, samples, rate):
    with wave.open(path, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(samples.tobytes())


def _begins(folder):
    """{call's name in the dump: (its number, CLOCK_MONOTONIC of its first
    sample, s)}."""
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        zero = json.load(f)["begin_realtime_ns"]
    zero += time.monotonic_ns() - time.time_ns()
    with open(os.path.join(folder, "streams.csv"), encoding="utf-8",
              newline="") as f:
        return {f"{row['flow']}-{row['index']}":
                (int(row["stream"]), zero / 1e9 + float(row["start_s"]))
                for row in csv.DictReader(f) if int(row["index"]) < CALLS}


def keep(blocks):
    """Cut both out of the dump, of the call that speaks loudest in both, for
    codec-report (codec_report/heard.py). The rest of the dump is not kept."""
    try:
        if blocks.recorded:
            _keep(blocks)
    except (OSError, KeyError, ValueError, wave.Error) as error:
        print(f"campaigns/run: no speech to hear: {error}", flush=True)
    finally:
        shutil.rmtree(_folder(blocks), ignore_errors=True)


def _keep(blocks):
    steady = {f.name for f in blocks.flows if not f.overload}
    times = {kind: blocks.recorded[kind] for kind in KINDS}
    best, chosen = -1, None
    for name, (stream, begin) in _begins(blocks.folder).items():
        path = os.path.join(_folder(blocks), name)
        received = path + ".heard.wav"
        if not os.path.exists(received):  # PCM needs no decoder
            received = path + ".wav"
        if name.rpartition("-")[0] not in steady or \
                not os.path.exists(received):
            continue
        spans = {kind: (a / 1e9 - begin, b / 1e9 - begin)
                 for kind, (a, b) in times.items()}
        said = [_cut(path + ".src.wav", *span)[0] for span in spans.values()]
        loud = min(sum(s * s for s in samples) / max(len(samples), 1)
                   for samples in said)
        if loud > best:
            best, chosen = loud, (stream, path + ".src.wav", received, spans)
    if not chosen:
        return
    stream, sent, received, spans = chosen
    for kind, span in spans.items():
        _save(os.path.join(blocks.player.options.out, f"shed-{kind}.wav"),
              *_cut(received, *span))
        _save(os.path.join(blocks.folder, f"said-{kind}.wav"),
              *_cut(sent, *span))
    with open(os.path.join(blocks.folder, "heard.json"), "w",
              encoding="utf-8") as f:
        json.dump({"stream": stream, **blocks.recorded}, f)

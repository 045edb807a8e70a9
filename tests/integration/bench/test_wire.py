# SPDX-License-Identifier: Apache-2.0
"""bench-load and bench-reflect: everything that is sent comes back, in order."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
PATIENCE = 600
CALLS, SECONDS = 20, 1
CODED = ("--codec", "amr", "--mode", "12.2")


class Reflector:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BUILD / "bench-reflect", *options], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().split()
        assert self.ready[0] == "ready"

    def stop(self):
        """End it; what it has counted."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=PATIENCE)
        if "Operation not permitted" in err or "not implemented" in err:
            pytest.skip(err)  # no io_uring here
        assert self.process.returncode == 0, err
        return json.loads(out)


class Load:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BUILD / "bench-load", "--calls", str(CALLS), "--seconds",
             f"{SECONDS}s", "--warm", "100ms", "--linger", "60s",
             *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().split()
        assert self.ready[0] == "ready" and len(self.ready) == CALLS + 1

    def run(self, targets):
        out, err = self.process.communicate("\n".join(targets) + "\n",
                                            timeout=PATIENCE)
        assert self.process.returncode == 0, err
        return json.loads(out)


def play(reflect, load):
    """Both programs' counts with these options."""
    reflector = Reflector(*reflect)
    try:
        ports = reflector.ready[1:] * CALLS
        heard = Load(*load).run(f"{ports[i]} {i + 1} 0 8000"
                                for i in range(CALLS))
    finally:
        reflected = reflector.stop()
    return heard, reflected


@pytest.mark.parametrize("layout", ["own", "shared"])
@pytest.mark.parametrize("reflect", [
    ("--io", "mmsg"), ("--io", "mmsg", "--wait", "4ms"),
    ("--io", "uring", "--sockets", str(CALLS)),
    ("--io", "uring", "--sockets", str(CALLS), "--wait", "4ms"),
    ("--io", "uring"), ("--io", "mmsg", *CODED),
    ("--io", "uring", "--sockets", str(CALLS), *CODED)], ids=" ".join)
def test_everything_comes_back_in_order(reflect, layout):
    heard, reflected = play(reflect, ("--expect", "same", "--layout", layout,
                                      "--phases", "random"))
    assert heard["sent"] > 0
    assert heard["sent"] == heard["received"]
    for trouble in ("lost", "refused", "duplicate", "reordered",
                    "out_of_sequence", "strange", "wrong"):
        assert heard[trouble] == 0, (trouble, heard)
    # those before the measurement, too
    assert reflected["in"] == reflected["out"] >= heard["sent"]
    assert 0 < heard["delay"]["p50_ns"] <= heard["delay"]["max_ns"]


@pytest.mark.parametrize("codec, octets", [
    ((*CODED, "--states", str(CALLS)), 31),
    (("--codec", "amr", "--mode", "12.2", "--direction", "decode"), 160)])
def test_every_packet_is_coded(codec, octets):
    """Whose packets are of the other side: PCMU, 160 octets."""
    _, reflected = play(codec, ("--expect", "same"))
    assert reflected["coded"] == octets * reflected["in"] > 0


def test_calls_that_hardly_speak():
    """A packet in 200 ms: six a call in all the 1.1 s, however late."""
    heard, reflected = play((), ("--every", "200ms", "--expect", "same"))
    assert 0 < heard["sent"] == heard["received"]
    assert reflected["in"] <= 6 * CALLS
    assert heard["strange"] == heard["wrong"] == 0


def test_a_wrong_payload_is_seen():
    """The reflector does not translate: nothing is the PCMA of what was said."""
    heard, _ = play((), ("--expect", "pcma"))
    assert heard["wrong"] == heard["received"] == heard["sent"]


def test_what_does_not_come_back_is_lost(sink):
    heard = Load("--linger", "10ms").run(
        f"127.0.0.1:{sink} {i + 1} 0" for i in range(CALLS))
    assert heard["sent"] > 0 == heard["received"]
    assert heard["lost"] == heard["sent"]


def test_a_target_is_checked():
    load = Load()
    _, err = load.process.communicate("127.0.0.1:9 1\n", timeout=PATIENCE)
    assert load.process.returncode == 1
    assert "target 1: not ADDR:PORT SSRC PT [BASE]" in err


def test_too_few_targets():
    load = Load()
    _, err = load.process.communicate("127.0.0.1:9 1 0\n", timeout=PATIENCE)
    assert load.process.returncode == 1
    assert f"1 targets for {CALLS} calls" in err

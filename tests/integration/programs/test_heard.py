# SPDX-License-Identifier: Apache-2.0
"""bench-heard, by which campaigns/sweep listens to simulated calls: what it
makes of calls that lose nothing is what they say and hear live."""
import subprocess
import wave

import pytest

from conftest import BUILD, PATIENCE

CAMPAIGN = """\
seed: 16
duration: 2s
ports: own
flows:
  - name: talk
    count: 3
    in: {codec: pcmu}
    out: {codec: amr, mode: 12.2}
    voice: {model: turns}
    start: {spread: 200ms}
  - name: said
    count: 2
    in: {codec: amr, mode: 12.2}
    out: {codec: pcma}
    voice: {model: recordings}
  - name: wide
    count: 2
    in: {codec: amr-wb}
    out: {codec: l16, rate: 16000}
"""
TRIES = 10
CALLS = [("talk", 0), ("talk", 1), ("talk", 2), ("said", 0), ("said", 1),
         ("wide", 0), ("wide", 1)]


def frames(path):
    """Of 20 ms, in a file."""
    with wave.open(str(path)) as f:
        return f.getnframes() * 50 // f.getframerate()


def played(d, campaign, dumps):
    """What came of the first of several plays in which each call was set up
    before its first packet was due, and its dump. Where codecs are new to the
    daemon, the set-up takes as long as measuring what they cost: on a busy
    machine, calls begin in the middle."""
    for attempt in range(TRIES):
        dump = dumps / str(attempt)
        total = d.feed(campaign, "--dump", str(dump))["total"]
        if not total["missed"]:
            return total, dump
    pytest.fail(f"calls began too late in each of {TRIES} plays: {total}")


def test_it_is_what_is_heard_live(daemon, tmp_path):
    """Bit for bit, of every codec and kind of voice."""
    campaign, dumps, made = (tmp_path / name for name in ("c.yaml", "live",
                                                          "synthesized"))
    campaign.write_text(CAMPAIGN)
    dumps.mkdir()
    made.mkdir()
    d = daemon("--no-admission", "--ring", "128")
    total, live = played(d, campaign, dumps)
    assert total["lost"] == 0 and total["sent"] > 600
    (tmp_path / "fates").write_text("".join(
        f"{flow} {i} {'.' * frames(live / f'{flow}-{i}.src.wav')}\n"
        for flow, i in CALLS))
    subprocess.run([BUILD / "bench-heard", campaign, "16", "2000000000",
                    tmp_path / "fates", made], check=True, timeout=PATIENCE)
    for flow, i in CALLS:
        name = f"{flow}-{i}"
        heard = live / f"{name}.heard.wav"
        if not heard.exists():  # PCM needs no decoder
            heard = live / f"{name}.wav"
        assert (made / f"{name}.src.wav").read_bytes() == \
            (live / f"{name}.src.wav").read_bytes()
        assert (made / f"{name}.heard.wav").read_bytes() == heard.read_bytes()

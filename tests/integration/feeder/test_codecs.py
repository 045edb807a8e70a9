# SPDX-License-Identifier: Apache-2.0
"""Campaigns with every codec: the feeder speaks it, the daemon transcodes it,
and every frame comes back; the simulator knows what it costs."""
import json
import subprocess

from conftest import PATIENCE
from test_feeder import BUILD, PATIENT

CODECS = """
seed: 1
duration: 3s
flows:
  - {name: g722, count: 1, in: {codec: g722}, out: {codec: amr-wb}}
  - {name: gsm, count: 1, in: {codec: gsm}, out: {codec: g722}}
  - {name: opus, count: 1, in: {codec: opus}, out: {codec: pcmu}}
  - name: full-band
    count: 1
    in: {codec: opus, rate: 48000, mode: 32}
    out: {codec: opus, complexity: 0, fec: 10}
  - {name: long, count: 1, ptime: 60ms, in: {codec: pcmu}, out: {codec: opus}}
  - {name: l16, count: 1, in: {codec: l16, rate: 48000}, out: {codec: gsm}}
  - {name: speex, count: 1, in: {codec: speex-wb, mode: 42.2}, out: {codec: g726-32}}
  - {name: g726, count: 1, ptime: 60ms, in: {codec: g726-32}, out: {codec: speex}}
"""

# frames that come back for each that is sent
FRAMES = {"g726": 3}


def test_every_frame_of_the_new_codecs_comes_back(daemon, campaign):
    d = daemon("--no-admission", *PATIENT)
    r = d.feed(campaign(CODECS))
    total = r["total"]
    assert total["admitted"] == 8 and total["refused"] == 0
    assert total["lost"] == total["unmatched"] == total["duplicates"] == 0
    assert len(r["flows"]) == 8
    for flow in r["flows"]:
        sent, received = flow["sent"], flow["received"]
        assert sent > 0, flow["flow"]
        assert received == FRAMES.get(flow["flow"], 1) * sent, flow["flow"]


def test_silence_is_not_sent_with_dtx(daemon, campaign):
    d = daemon("--no-admission", *PATIENT)
    r = d.feed(campaign("""
seed: 1
duration: 8s
flows:
  - {name: opus, count: 2, in: {codec: l16, rate: 16000}, out: {codec: opus, dtx: yes}}
  - {name: speex, count: 2, in: {codec: pcmu}, out: {codec: speex, dtx: yes}}
"""))
    assert r["total"]["lost"] == 0
    for flow in r["flows"]:
        assert 0 < flow["received"] < flow["sent"], flow["flow"]


def test_they_are_simulated_at_their_cost(campaign):
    done = subprocess.run([BUILD / "codec-sim", campaign(CODECS), "--json",
                           "--scheduler", "edf"], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    flows = json.loads(done.stdout)["flows"]
    assert all(flow["done"] == flow["jobs"] > 0 for flow in flows)


def test_unsupported_options_of_a_codec_are_refused(campaign):
    for side, said in (("{codec: gsm, rate: 16000}", "rate"),
                       ("{codec: g722, complexity: 3}", "complexity"),
                       ("{codec: opus, rate: 44100}", "48000"),
                       ("{codec: opus, fec: 101}", "fec")):
        path = campaign("seed: 1\nduration: 1s\nflows:\n  - {count: 1, in: "
                        f"{{codec: pcmu}}, out: {side}}}\n")
        done = subprocess.run([BUILD / "codec-sim", path],
                              capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 2 and said in done.stderr, done.stderr

# SPDX-License-Identifier: Apache-2.0
"""The E-model at its published points, and what calls get from it."""
import math

import numpy as np
import pytest
from conftest import DONE, EXPIRED, MS, SHED, call, header, job

from codec_report import bootstrap, emodel, g107


def test_the_default_call_is_93_2_and_4_41():
    r = g107.rating(0, 0)
    assert round(r, 1) == 93.2
    assert round(g107.mos(r), 2) == 4.41


def test_r_becomes_mos_as_in_annex_b():
    """Table B.1 of G.107: the limits of its five categories."""
    for r, mos in ((90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10),
                   (50, 2.58)):
        assert g107.mos(r) == pytest.approx(mos, abs=.01)
    assert (g107.mos(-5), g107.mos(0), g107.mos(100), g107.mos(120)) == \
        (1, 1, 4.5, 4.5)
    assert g107.wideband_mos(129) == 4.5


def test_delay_impairs_as_published():
    """Idd is 0 to 100 ms, then (7-28), worked out here by hand; Id as a whole
    is near the lines that Cole and Rosenbluth (2001) drew through it."""
    assert g107.absolute_delay(100) == 0
    assert g107.absolute_delay(150) == pytest.approx(0.164, abs=.001)
    assert g107.absolute_delay(177.3) == pytest.approx(1.172, abs=.001)
    assert g107.absolute_delay(300) == pytest.approx(14.761, abs=.001)
    for t in (0, 50, 100, 150, 177.3, 200, 300, 400):
        line = .024 * t + .11 * max(t - 177.3, 0)
        assert g107.delayed(t) == pytest.approx(line, abs=3.1 if t == 400
                                                else 1.1)
    delays = [g107.delayed(t) for t in range(0, 1000, 7)]
    assert delays == sorted(delays)


def test_loss_impairs_by_bpl_and_burst_ratio():
    assert g107.equipment(5, 10, 0) == 5
    # half of the way to 95 when the percentage is Bpl
    assert g107.equipment(5, 10, .10) == pytest.approx(50)
    assert g107.equipment(0, 4.3, .01) == pytest.approx(95 / 5.3)
    # bursts of twice the length: 0 + 95 * 10 / (5 + 10)
    assert g107.equipment(0, 10, .10, 2) == pytest.approx(950 / 15)
    grows = [g107.equipment(15, 16.1, p / 100) for p in range(100)]
    assert grows == sorted(grows) and grows[-1] < 95


def test_amr_at_12_2_and_what_pesq_says_of_it():
    """R and MOS by hand: Ie-eff is 5 + 90 Ppl / (Ppl + 10), no delay. The last
    column is what PESQ is known to give about; the E-model counts talking,
    PESQ listening, so they agree within half a point."""
    for percent, r, mos, pesq in ((0, 88.21, 4.29, 4.0), (1, 80.02, 4.02, 3.7),
                                  (3, 67.44, 3.47, 3.1), (5, 58.21, 3.01, 3.0),
                                  (10, 43.21, 2.22, 2.1)):
        ie = g107.equipment(5, 10, percent / 100)
        assert g107.rating(0, ie) == pytest.approx(r, abs=.01)
        found = g107.mos(g107.rating(0, ie))
        assert found == pytest.approx(mos, abs=.006)
        assert found == pytest.approx(pesq, abs=.5)


def test_burst_ratio_is_1_for_random_losses():
    rng = np.random.default_rng(3)
    lost = rng.random(200000) < .2
    runs = int((lost & ~np.concatenate(([False], lost[:-1]))).sum())
    assert emodel.burst_ratio(runs, int(lost.sum()), len(lost)) == \
        pytest.approx(1, abs=.02)
    # 3 runs of 4 in 100: 4 * .88
    assert emodel.burst_ratio(3, 12, 100) == pytest.approx(3.52)
    assert emodel.burst_ratio(0, 0, 100) == 1
    assert emodel.burst_ratio(1, 50, 100) == 8


def one(description, loss, delay=100.0, plc=True):
    return emodel.rate(
        emodel.Rating(1, emodel.Description(*description), delay, loss, 1.0,
                      100, 0), plc)


def test_codecs_have_published_values_or_none():
    g711 = ("pcmu", "64", "pcma", "64")
    assert one(g711, 0).r == pytest.approx(g107.rating(100, 0))
    assert one(g711, .01).r == pytest.approx(
        g107.rating(100, 95 / 26.1))
    assert one(g711, .01, plc=False).r == pytest.approx(
        g107.rating(100, 95 / 5.3))
    # look-ahead of both encoders, Ie of both
    assert one(("amr", "12.2", "g723_1", "6.3"), 0).r == pytest.approx(
        g107.rating(112.5, 20))
    assert one(("pcmu", "64", "amr", "7.40"), 0).r == pytest.approx(
        g107.rating(105, 10))
    assert one(("pcmu", "64", "amr", "7.40"), .01).mos is None
    assert one(("pcmu", "64", "amr", "4.75"), 0).mos is None
    wide = one(("l16", "pcm", "amr-wb", "12.65"), .02)
    assert wide.wide and wide.r == pytest.approx(
        129 - 20 - 75 * 2 / 6.3 - g107.absolute_delay(105))
    assert one(("pcmu", "64", "amr-wb", "12.65"), 0).mos is None
    assert one(("amr-wb", "15.85", "l16", "pcm"), .01).mos is None
    assert one(("", "", "", ""), 0).mos is None
    assert one(("pcmu", "64", "gsm", "13"), 0).r == pytest.approx(
        g107.rating(100, 20))
    assert one(("pcmu", "64", "gsm", "13"), .01).mos is None
    assert one(("l16", "pcm", "g722", "64"), 0).mos is None
    assert one(("g726-32", "32", "pcma", "64"), 0).r == pytest.approx(
        g107.rating(100, 7))
    assert one(("pcmu", "64", "g726-32", "32"), .01).mos is None
    assert one(("pcmu", "64", "opus", "24"), 0).mos is None
    assert one(("pcmu", "64", "speex", "8"), 0).mos is None


def test_the_interval_of_the_mean():
    rng = np.random.default_rng(5)
    values = rng.normal(3, .5, 400)
    low, high = bootstrap.interval(values)
    half = 1.96 * values.std() / math.sqrt(400)
    assert low == pytest.approx(values.mean() - half, abs=.01)
    assert high == pytest.approx(values.mean() + half, abs=.01)
    assert bootstrap.interval(values) == (low, high)
    assert bootstrap.interval([3.0]) is None
    assert bootstrap.interval([3.0, 3.0]) == (3, 3)


def frames(number, lost=(), late=()):
    return [job(number, i, MS + 20 * MS * i,
                20 * MS * i + (90 if i in late else 6) * MS,
                EXPIRED if i in lost else DONE) for i in range(100)]


def test_calls_are_rated_by_loss_delay_and_options(write, groups):
    def mos(*options):
        g = groups(*options, path)["edf", "pcmu -> amr/12.2"]
        return [g[f"mos_{k}"] for k in ("min", "median", "mean")]
    path = write(header(), call(1), call(2), call(3), *frames(1),
                 *frames(2, lost=range(0, 100, 20)),
                 *frames(3, late=range(10, 100, 10)))
    t = 20 + 5 + 5 + 60
    want = [g107.mos(g107.rating(t, g107.equipment(5, 10, p)))
            for p in (.09, .05, 0)]
    assert mos() == pytest.approx([want[0], want[1], sum(want) / 3])
    # a longer play-out loses nothing to it, but delays all
    want = [g107.mos(g107.rating(t + 40, g107.equipment(5, 10, p)))
            for p in (.05, 0, 0)]
    assert mos("--playout", "100ms") == pytest.approx(
        [want[0], want[1], sum(want) / 3])
    assert mos("--playout", "90ms", "--network", "10ms") == mos(
        "--playout", "100ms")


def test_losses_of_the_network_count(write, groups):
    path = write(header(), call(1), *frames(1), name="r/trace.bin")
    write(b"stream,sent,received,withheld,delay_mean_ms\n1,100,100,25,5.5\n",
          name="r/streams.csv")
    g = groups(path.rsplit("/", 1)[0])["edf", "pcmu -> amr/12.2"]
    assert g["r_mean"] == pytest.approx(
        g107.rating(90, g107.equipment(5, 10, .2)))
    assert g["delay_network_mean_ms"] == pytest.approx(.5)
    assert groups(path)["edf", "pcmu -> amr/12.2"]["r_mean"] > g["r_mean"]


def test_a_pause_that_was_shed_is_lost_but_no_loss_to_the_listener(write,
                                                                   groups):
    """As in the daemon's records: lost has it, MOS does not. Shed speech, and
    pauses that got too old, are loss."""
    def trace(name, level, outcome):
        return write(header(), call(1), *(
            job(1, i, MS + 20 * MS * i, *(
                [0, outcome] if i % 5 == 0 else [20 * MS * i + 6 * MS]),
                importance=level if i % 5 == 0 else 100)
            for i in range(100)), name=name)
    found = {name: groups(trace(f"{name}.bin", *how))["edf",
                                                      "pcmu -> amr/12.2"]
             for name, how in {"silence": (1, SHED), "quiet": (60, SHED),
                               "old": (60, EXPIRED), "speech": (80, SHED),
                               "unknown": (0, SHED)}.items()}
    assert {g["lost"] for g in found.values()} == {20}
    whole = g107.mos(g107.rating(20 + 5 + 5 + 60, 5))
    assert found["silence"]["mos_mean"] == found["quiet"]["mos_mean"] == \
        pytest.approx(whole)
    gone = g107.mos(g107.rating(20 + 5 + 5 + 60, g107.equipment(5, 10, .2)))
    for name in ("old", "speech", "unknown"):
        assert found[name]["mos_mean"] == pytest.approx(gone)

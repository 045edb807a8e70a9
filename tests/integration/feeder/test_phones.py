# SPDX-License-Identifier: Apache-2.0
"""Two-way calls of phones: the feeder plays both parties with their faults, and
accounts for every packet; what is missing is named.

Counts and content only; a daemon that drops nothing for lack of time.
"""
import subprocess

import pytest

from conftest import PATIENCE, rig

PATIENT = ("--ring", "256", "--max-age", "none")

# name: what party a does. Party b is a plain phone with another codec.
PHONES = {
    "plain": "codec: pcmu",
    "ssrc": "codec: pcmu, ssrc-change: {every: 700ms}",
    "ssrc-goes-on": "codec: amr, ssrc-change: {every: 900ms, "
                    "numbering: continue}",
    "nat": "codec: pcmu, address: learned, address-change: {at: 1s}",
    "re-invite": "codec: pcmu, address-change: {every: 1s, signalled: yes}",
    "lossy": "codec: amr, network: {loss: 5%, burst: 2, reorder: 4%, "
             "depth: 3, duplicate: 3%, jitter: 10ms}",
    "dialler": "codec: pcmu, dtmf: {digits: \"159D\", length: 40ms..200ms, "
               "at: 200ms}",
    "cn": "codec: pcmu, talk: {spurt: 400ms, pause: 400ms}, cn: {level: 50}",
    "dtx": "codec: amr, dtx: yes, talk: {spurt: 400ms, pause: 400ms}",
    "fast": "codec: pcmu, drift: 1%",
    "slow": "codec: pcmu, drift: -1%",
}


def phones(names, extra="", b="codec: pcma"):
    flows = "".join(f"  - name: {n}\n    count: 1\n    a: {{{PHONES[n]}{extra}}}\n"
                    f"    b: {{{b}}}\n" for n in names)
    return f"seed: 4\nduration: 3s\nflows:\n{flows}"


def sides(r, side="a"):
    return {c["flow"]: c[side] for c in r["two_way_calls"]}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """All phones at once, against one daemon."""
    folder = tmp_path_factory.mktemp("phones")
    path = folder / "phones.yaml"
    path.write_text(phones(PHONES))
    d = rig.Daemon(*PATIENT, log=folder / "log")
    try:
        yield d.feed(path)
    finally:
        assert d.stop() == 0


def sent(side):
    return sum(side["sent"][k] for k in ("sent_speech", "sent_events",
                                         "sent_noise"))


def test_every_packet_is_accounted_for(played):
    assert len(played["two_way_calls"]) == len(PHONES)
    for side in ("a", "b"):
        for name, s in sides(played, side).items():
            assert s["faults"] == [], name
            assert s["sent"]["failed"] == s["sent"]["missed"] == 0
            assert s["heard"]["packets"] == s["daemon"]["packets_out"], name
    total = played["total"]
    assert total["faults"] == total["duplicates"] == total["unmatched"] == 0
    assert 0 < total["delay"]["count"] <= total["received"]
    assert 0 < total["delay"]["p50_ns"] <= total["delay"]["p99_ns"]
    assert played["feeder"]["misdirected"] == 0
    assert played["feeder"]["asymmetric"] == 0
    assert played["feeder"]["unknown_ssrc"] == 0


def test_plain_phones_lose_nothing(played):
    a = sides(played)
    for name in ("plain", "re-invite", "fast", "slow"):
        s = a[name]
        assert s["heard"]["speech"] == sent(s) == s["daemon"]["done"] > 140
        assert s["heard"]["gaps"] == 0
    for name, s in sides(played, "b").items():
        if name != "nat":  # nobody knows where the other one is
            assert s["heard"]["speech"] == sent(s), name


def test_the_clocks_drift_as_the_campaign_says(played):
    a = sides(played)
    assert sent(a["fast"]) > sent(a["plain"]) > sent(a["slow"])


def test_ssrcs_and_addresses_change(played):
    a = sides(played)
    assert a["ssrc"]["party"]["ssrc_changes"] == 4
    assert a["ssrc-goes-on"]["party"]["ssrc_changes"] == 3
    # two packets of each newcomer prove it
    assert a["ssrc"]["daemon"]["probation"] == 8
    assert a["ssrc-goes-on"]["daemon"]["probation"] == 6
    assert a["re-invite"]["party"]["address_changes"] == 3 - 1
    assert a["re-invite"]["daemon"]["wrong_source"] == 0
    # it was silent at the old address before the new one was believed
    assert a["nat"]["party"]["address_changes"] >= 1
    assert 0 < a["nat"]["daemon"]["wrong_source"] < 100


def test_the_networks_faults_are_counted_on_both_sides(played):
    s = sides(played)["lossy"]
    assert s["sent"]["withheld"] > 0 and s["sent"]["held"] > 0
    assert s["daemon"]["duplicates"] == s["sent"]["copies"] > 0
    assert s["daemon"]["packets_in"] < 150


def test_digits_and_noise_are_sent_as_the_campaign_says(played):
    a = sides(played)
    assert a["dialler"]["digits_sent"] == a["dialler"]["digits_right"] == 4
    assert a["dialler"]["sent"]["sent_events"] > 4 * 4
    assert "".join(d["digit"] for d in a["dialler"]["heard"]["digits"]) == (
        "159D")
    assert all(d["ends"] == 3 for d in a["dialler"]["heard"]["digits"])
    assert a["cn"]["sent"]["sent_noise"] > 2
    assert a["cn"]["heard"]["noise"] == a["cn"]["daemon"]["cn_out"]
    assert a["cn"]["daemon"]["cn_in"] == a["cn"]["sent"]["sent_noise"]


def test_the_same_seed_sends_the_same(daemon, campaign, played):
    r = daemon(*PATIENT).feed(campaign(phones(PHONES)))
    for side in ("a", "b"):
        assert ({n: s["sent"] for n, s in sides(r, side).items()} ==
                {n: s["sent"] for n, s in sides(played, side).items()})


def test_a_party_that_drops_packets_is_found(daemon, campaign):
    """The fault is planted in the feeder itself: party b hears nine of ten."""
    path = campaign(phones(["plain"], b="codec: pcma, deaf: 10%"))
    d = daemon(*PATIENT)
    r = d.feed(path, code=3)
    s = sides(r)["plain"]
    missing = s["daemon"]["packets_out"] - s["heard"]["packets"]
    assert 0 < missing < 50
    assert (f"the daemon sent {s['daemon']['packets_out']} packets to the "
            f"other party, where {s['heard']['packets']} came: {missing} are "
            "missing") in s["faults"]
    assert sides(r, "b")["plain"]["faults"] == []
    done = subprocess.run([rig.BUILD / "codec-feeder", path, *d.where(), "-q"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert f"UNACCOUNTED {path}:4: plain-0, from a: the daemon sent " in (
        done.stdout)
    assert "faults in their balance" in done.stdout


def test_codecs_of_other_lengths_and_rates_talk(daemon, campaign):
    text = "seed: 2\nduration: 2s\nflows:\n"
    for i, (a, b) in enumerate((("g723_1", "amr"), ("amr-wb", "gsm"),
                                ("opus", "pcma"), ("l16", "g722"))):
        text += (f"  - name: f{i}\n    count: 1\n    a: {{codec: {a}}}\n"
                 f"    b: {{codec: {b}}}\n")
    r = daemon(*PATIENT).feed(campaign(text))
    assert r["total"]["faults"] == 0 and r["total"]["received"] > 300
    for side in ("a", "b"):
        for name, s in sides(r, side).items():
            assert s["daemon"]["done"] == sent(s) > 60, name


DIAL = """seed: 6
duration: 8s
flows:
"""
DIGITS = ('dtmf: {digits: "0123456789*#ABCD", length: 40ms..400ms, at: 200ms, '
          'interval: 60ms%s}')
FAULTS = ("network: {loss: 3%, reorder: 2%, duplicate: 2%}, "
          "jitter: {buffer: fixed, most: 60ms}")


def test_sixteen_digits_each_way_come_as_they_were(daemon, campaign):
    """Through codecs of other clocks, and through a network that loses some
    of their packets, but not all of any digit."""
    text = DIAL
    pairs = (("pcmu", "pcma", ""), ("pcma", "amr-wb", ""),
             ("opus", "amr", ""), ("pcmu", "amr", FAULTS))
    for i, (a, b, faults) in enumerate(pairs):
        more = f", {faults}" if faults else ""
        text += (f"  - name: f{i}\n    count: 1\n"
                 f"    a: {{codec: {a}, {DIGITS % ''}{more}}}\n"
                 f"    b: {{codec: {b}, {DIGITS % ', pt: 100'}{more}}}\n")
    r = daemon(*PATIENT).feed(campaign(text))
    for side in ("a", "b"):
        for name, s in sides(r, side).items():
            assert s["faults"] == [] and s["heard"]["in_digit"] == 0, name
            heard = "".join(d["digit"] for d in s["heard"]["digits"])
            assert s["digits_sent"] == s["digits_right"] == len(heard), name
            # a busy machine keeps the feeder from sending some
            assert heard == "0123456789*#ABCD" or s["sent"]["missed"], name
            assert sorted(heard, key="0123456789*#ABCD".index) == [*heard]
    assert sides(r)["f3"]["sent"]["withheld"] > 3


@pytest.mark.parametrize("buffer", ["fixed, most: 80ms", "adaptive"])
def test_a_jitter_buffer_sorts_and_conceals(daemon, campaign, buffer):
    text = phones(["lossy"], f", jitter: {{buffer: {buffer}}}")
    r = daemon(*PATIENT).feed(campaign(text))
    s = sides(r)["lossy"]
    assert s["faults"] == [] and s["heard"]["gaps"] == 0
    assert s["sent"]["held"] > 0 and s["sent"]["withheld"] > 0
    assert s["daemon"]["reordered"] == 0  # sorted in
    assert s["daemon"]["jitter_missed"] > 0
    if buffer != "adaptive":  # none was too late
        assert s["daemon"]["late_in"] == 0
        assert s["heard"]["speech"] > s["daemon"]["packets_in"]


SAME = """seed: 5
duration: 2s
flows:
  - name: same
    count: 2
    relay: %s
    a: {codec: pcmu, ssrc-change: {at: 1s}, network: {loss: 4%%, reorder: 4%%, duplicate: 4%%}}
    b: {codec: pcmu, address-change: {at: 1s, signalled: yes}}
"""


@pytest.mark.parametrize("relay", ["yes", "no"])
def test_relays_are_accounted_for_as_well(daemon, campaign, relay):
    r = daemon(*PATIENT).feed(campaign(SAME % relay))
    assert r["total"]["faults"] == 0
    for c in r["two_way_calls"]:
        assert c["relay"] == (relay == "yes")
        a, b = c["a"], c["b"]
        assert a["party"]["ssrc_changes"] == 1
        assert b["heard"]["speech"] == sent(b) > 90
        if c["relay"]:  # as it was sent, whatever that was
            assert a["daemon"]["relayed"] == a["heard"]["packets"]
            assert a["daemon"]["relayed"] + a["daemon"]["probation"] == sent(a)
            assert a["heard"]["repeated"] == a["sent"]["copies"] > 0
        else:
            assert a["daemon"]["duplicates"] == a["sent"]["copies"] > 0
            assert a["heard"]["repeated"] == 0


def test_refused_two_way_calls_are_counted(daemon, campaign):
    r = daemon("--max-calls", "1", *PATIENT).feed(
        campaign(phones(["plain", "fast"])))
    assert r["total"]["admitted"] == r["total"]["refused"] == 2
    assert len(r["two_way_calls"]) == 1

# SPDX-License-Identifier: Apache-2.0
"""codec-runner --plan: what it says of a mix follows from what it has measured."""
import json
import subprocess

import pytest

from conftest import BUILD, PATIENCE


def plan(mix, *options, code=0):
    for _ in range(5):
        done = subprocess.run(
            [BUILD / "codec-runner", "--config", "none", "--plan", mix,
             *options], capture_output=True, text=True, timeout=PATIENCE)
        if "is the machine busy" not in done.stderr:
            break
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def median(measured):
    assert 0 < measured["least"] <= measured["median"] <= measured["most"]
    return measured["median"]


@pytest.mark.parametrize("place", [("--pin", "0", "--rx-cpu", "0"),
                                   ("--pin", "0", "--rx-cpu", "1"),
                                   ("--pin", "none", "--rx-cpu", "none")])
def test_a_mix_is_what_its_parts_cost(place):
    told = json.loads(plan("pcma<->amr-wb, amr/12.2->pcmu:30%", "--json",
                           *place))
    both, one = told["kinds"]
    assert both["share"] == pytest.approx(0.7)
    assert one["share"] == pytest.approx(0.3)
    assert (both["packets_per_s"], one["packets_per_s"]) == (100, 50)
    # wide speech is encoded in the one, narrow speech decoded in the other
    assert both["codec_cpus"]["least"] > one["codec_cpus"]["most"]
    assert told["shared_cpus"] == {"1": 0, "0": 1}.get(place[3],
                                                       told["shared_cpus"])

    # no more calls than the best of every figure would have, nor fewer
    def calls(which):
        codec = sum(k["share"] * k["codec_cpus"][which] for k in told["kinds"])
        packets = sum(k["share"] * k["packets_per_s"] for k in told["kinds"])
        worker = codec + packets * told["worker_us_per_packet"][which] / 1e6
        receiver = packets * told["receiver_us_per_packet"][which] / 1e6
        alone = told["bound"] * told["workers"] / worker
        if told["shared_cpus"]:
            return min(alone, told["bound"] * told["shared_cpus"] /
                       (worker + receiver))
        return min(alone, told["receivers"] / receiver)

    assert calls("most") * 0.999 <= told["calls"]["least"]
    assert told["calls"]["most"] <= calls("least") * 1.001
    median(told["calls"])


def test_it_is_told_in_words():
    """Whatever network the parties are to be in."""
    told = plan("pcmu->pcma", "--send-to", "192.0.2.0/24")
    assert "pcmu->pcma" in told and "100 %" in told
    assert "This machine carries" in told and "in 5 rounds" in told


@pytest.mark.parametrize("mix, says", [
    ("pcma", "A<->B"), ("pcma<->am", "'amr'"), ("pcma->pcmu:30", '":30%"'),
    ("pcma->pcmu:0%", "above 0"), ("pcma->pcmu:30%", "30 %"),
    ("pcma->pcmu:70%,pcma->amr:40%", "110 %"), ("", "A<->B"),
    ("amr/99->pcmu", "12.2"), (",".join(["pcma->pcmu"] * 17), "16"),
])
def test_a_mix_that_cannot_be_is_refused(mix, says):
    told = plan(mix, code=2)
    assert "--plan" in told and says in told

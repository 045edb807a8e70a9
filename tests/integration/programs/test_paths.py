# SPDX-License-Identifier: Apache-2.0
"""One way through each program: a campaign is played live and in virtual time,
and one report has both."""
import json
import subprocess

from conftest import BUILD, PATIENCE

CAMPAIGN = """
seed: 1
duration: 2s
flows:
  - name: there
    count: 3
    in: {codec: pcmu}
    out: {codec: amr, mode: "12.2"}
  - name: back
    count: 2
    in: {codec: amr, mode: "12.2"}
    out: {codec: pcma}
"""


def run(program, *args):
    done = subprocess.run([BUILD / program, *map(str, args)], text=True,
                          capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_a_campaign_is_played_simulated_and_reported(daemon, campaign,
                                                     tmp_path):
    path, runs = campaign(CAMPAIGN), tmp_path / "runs"
    (runs / "live").mkdir(parents=True)
    d = daemon("--no-admission", "--ring", "256",
               "--trace-dir", runs / "live", "--scheduler", "edf")
    live = d.feed(path, "--out", runs / "live",
                  "--trace", "trace.bin")["total"]
    assert live["admitted"] == 5 and live["sent"] > 0
    assert live["received"] == live["sent"] and live["lost"] == 0
    assert d.ctl("stats")["totals"]["packets_out"] == live["sent"]
    d.stop()

    run("codec-sim", path, "--scheduler", "edf", "--out", runs / "simulated")
    page = tmp_path / "page.html"
    report = json.loads(run("codec-report", "--json", "--html", page, runs))
    assert [(r["run"], r["program"]) for r in report["runs"]] == \
        [("live", "codec-runner"), ("simulated", "codec-sim")]
    assert page.read_text().startswith("<!DOCTYPE html>")

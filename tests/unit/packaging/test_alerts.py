# SPDX-License-Identifier: Apache-2.0
"""The alert rules in packaging/watch, by promtool: each alert fires in a story
of its own, and none while a node is well. Each has a heading in
docs/operate.md that says what to do."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
WATCH = ROOT / "packaging" / "watch"
RULES = WATCH / "codec-runner.rules.yml"
ALERTS = re.findall(r"- alert: (\w+)\n((?: {8}.*\n)+)", RULES.read_text())

# A node that is well, in steps of 15 s: 100 calls, each 50 frames a second; its
# log says something, and admission refuses nobody.
WELL = {
    'up{job="codec-runner"}': "1+0x480",
    "codec_runner_uptime_seconds": "4000+15x480",
    "codec_runner_config_accepted": "1+0x480",
    "codec_runner_calls": "100+0x480",
    "codec_runner_calls_started_total": "0+15x480",
    "codec_runner_calls_refused_total": "0+0x480",
    "codec_runner_packets_received_total": "0+75000x480",
    "codec_runner_packets_sent_total": "0+75000x480",
    "codec_runner_packets_on_hold_total": "0+0x480",
    "codec_runner_packets_missing_total": "0+75x480",
    "codec_runner_packets_unsent_total": "0+0x480",
    'codec_runner_frames_total{outcome="concealed"}': "0+0x480",
    'codec_runner_frames_total{outcome="done"}': "0+75000x480",
    'codec_runner_frames_total{outcome="relayed"}': "0+0x480",
    'codec_runner_frames_total{outcome="overwritten"}': "0+0x480",
    'codec_runner_frames_total{outcome="expired"}': "0+0x480",
    'codec_runner_frames_total{outcome="shed"}': "0+7500x480",
    "codec_runner_frames_pause_total": "0+7500x480",
    "codec_runner_frames_late_total": "0+10x480",
    'codec_runner_frame_delay_seconds_bucket{le="0.01"}': "0+74990x480",
    'codec_runner_frame_delay_seconds_bucket{le="0.1"}': "0+74999x480",
    'codec_runner_frame_delay_seconds_bucket{le="+Inf"}': "0+75000x480",
    "codec_runner_rtcp_reported_loss_total": "0+0.01x480",
    "codec_runner_rtcp_reports_total": "0+300x480",
    'codec_runner_receiver_drops_total{receiver="0"}': "0+0x480",
    'codec_runner_receiver_cpu_seconds_total{receiver="0"}': "0+3x480",
    'codec_runner_worker_busy_seconds_total{worker="0"}': "0+9x480",
    "codec_runner_stuck_threads": "0+0x480",
    'codec_runner_watchdog_total{found="hung"}': "0+0x480",
    "codec_runner_scheduler_faults_total": "0+0x480",
    'codec_runner_log_lines_total{outcome="written"}': "0+1x480",
    'codec_runner_log_lines_total{outcome="dropped"}': "0+0x480",
    'codec_runner_log_lines_total{outcome="failed"}': "0+0x480",
    'codec_runner_log_lines_total{outcome="suppressed"}': "0+9x480",
    'codec_runner_control_peers_cut_total{why="crowded"}': "0+0x480",
    "codec_runner_load_ratio": "0.6+0x480",
    "codec_runner_load_bound_ratio": "0.97+0x480",
    'codec_runner_rtp_ports_available{address="192.0.2.7"}': "300+0x480",
    'codec_runner_rtp_ports_used{address="192.0.2.7"}': "200+0x480",
    "codec_runner_replica_up": "1+0x480",
    "codec_runner_replica_taken_over_calls": "0+0x480",
    "codec_runner_http_full_total": "0+0x480",
    "codec_runner_http_paused_total": "0+0x480",
    'codec_runner_ng_messages_total{outcome="limited"}': "0+0x480",
    'codec_runner_ng_messages_total{outcome="asked"}': "0+150x480",
    "codec_runner_ng_dropped_total": "0+0x480",
}

BUSY = {'codec_runner_worker_busy_seconds_total{worker="0"}': "0+14.9x480"}
# 10 % of the frames of speech
LOSES = {'codec_runner_frames_total{outcome="shed"}': "0+15833x480"}
PUSHES_OUT = {'codec_runner_frames_total{outcome="overwritten"}': "0+8333x480"}

# What is other than well, and the alert that has to tell.
STORIES = {
    "CodecRunnerDown": {'up{job="codec-runner"}': "1+0x8 0+0x100"},
    "CodecRunnerRestarted": {
        "codec_runner_uptime_seconds": "4000+15x20 1+15x100"},
    "CodecRunnerConfigRefused": {"codec_runner_config_accepted": "1+0x8 0+0x100"},
    "CodecRunnerReplicaDown": {"codec_runner_replica_up": "1+0x8 0+0x100"},
    "CodecRunnerReplicaTakenOver": {
        "codec_runner_replica_taken_over_calls": "0+0x8 3+0x100"},
    "CodecRunnerNoCalls": {"codec_runner_calls": "100+0x8 0+0x100"},
    "CodecRunnerNothingSent": {"codec_runner_packets_sent_total": "7+0x480"},
    "CodecRunnerCallsRefused": {
        "codec_runner_calls_refused_total": "0+1x480"},
    "CodecRunnerOverload": {**BUSY, **LOSES},
    "CodecRunnerBuffersFull": PUSHES_OUT,
    "CodecRunnerLate": {"codec_runner_frames_late_total": "0+1500x480"},
    "CodecRunnerDelay": {
        'codec_runner_frame_delay_seconds_bucket{le="0.01"}': "0+70000x480"},
    "CodecRunnerPacketsMissing": {
        "codec_runner_packets_missing_total": "0+2250x480"},
    "CodecRunnerFarLoss": {
        "codec_runner_rtcp_reported_loss_total": "0+30x480"},
    "CodecRunnerSocketDrops": {
        'codec_runner_receiver_drops_total{receiver="0"}': "0+1x480"},
    "CodecRunnerUnsent": {"codec_runner_packets_unsent_total": "0+1x480"},
    "CodecRunnerWorkerStuck": {"codec_runner_stuck_threads": "0+0x8 1+0x99"},
    "CodecRunnerWatchdog": {
        'codec_runner_watchdog_total{found="hung"}': "0+0x8 1+0x99"},
    "CodecRunnerSchedulerFault": {
        "codec_runner_scheduler_faults_total": "0+0x20 1+0x99"},
    "CodecRunnerLogLost": {
        'codec_runner_log_lines_total{outcome="dropped"}': "0+5x480"},
    "CodecRunnerClientsCut": {
        'codec_runner_control_peers_cut_total{why="crowded"}': "0+1x480"},
    "CodecRunnerNearCapacity": {"codec_runner_load_ratio": "0.9+0x480"},
    "CodecRunnerReceiverBusy": {
        'codec_runner_receiver_cpu_seconds_total{receiver="0"}': "0+14x480"},
    "CodecRunnerNearPorts": {
        'codec_runner_rtp_ports_available{address="192.0.2.7"}': "9+0x480"},
    "CodecRunnerHttpFull": {"codec_runner_http_full_total": "0+1x480"},
    "CodecRunnerNgLimited": {
        'codec_runner_ng_messages_total{outcome="limited"}': "0+9x480"},
}
# the moment: some are over by the tenth minute
MOMENTS = {"CodecRunnerRestarted": "6m", "CodecRunnerWatchdog": "5m",
           "CodecRunnerSchedulerFault": "8m"}


def story(name, other, fires, moment):
    """A test for promtool: exactly these alerts fire at the @moment."""
    series = {**WELL, **other}
    assert len(series) == len(WELL), "a story of what a well node lacks"
    return {
        "name": name, "interval": "15s",
        "input_series": [{"series": s, "values": v}
                         for s, v in series.items()],
        "promql_expr_test": [{
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": moment,
            "exp_samples": [{"labels": f'{{alertname="{f}"}}', "value": 1}
                            for f in fires]}]}


def promtool(*words, code=0):
    if not shutil.which("promtool"):
        pytest.skip("no promtool: deps/install test")
    done = subprocess.run(["promtool", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == code, done.stdout
    return done.stdout


def tell(tmp_path, stories, code=0):
    path = tmp_path / "stories.yml" # JSON is YAML
    path.write_text(json.dumps({"rule_files": [str(RULES)],
                                "evaluation_interval": "15s",
                                "tests": stories}))
    return promtool("test", "rules", path, code=code)


def test_prometheus_understands_the_rules():
    assert "SUCCESS" in promtool("check", "rules", RULES)


def test_and_the_example_beside_them_that_has_them():
    assert "SUCCESS: 1 rule files found" in promtool(
        "check", "config", WATCH / "prometheus.yml")


def test_nothing_fires_while_a_node_is_well(tmp_path):
    tell(tmp_path, [story("well", {}, [], m) for m in ("5m", "60m", "119m")])


def test_each_alert_fires_alone_in_its_story(tmp_path):
    assert set(STORIES) == {name for name, _ in ALERTS}
    tell(tmp_path, [story(name, other, [name], MOMENTS.get(name, "10m"))
                    for name, other in STORIES.items()])


def test_what_the_node_drops_is_not_missing_on_the_way(tmp_path):
    """A dropped frame leaves a gap between those that are transcoded; in the
    place of a concealed one something is sent."""
    dropped = {**BUSY, **LOSES,
               "codec_runner_packets_missing_total": "0+8408x480"}
    both = {**BUSY, 'codec_runner_frames_total{outcome="concealed"}':
            "0+8333x480", "codec_runner_packets_missing_total": "0+5000x480"}
    tell(tmp_path, [
        story("dropped", dropped, ["CodecRunnerOverload"], "10m"),
        story("concealed, and a lossy network", both,
              ["CodecRunnerOverload", "CodecRunnerPacketsMissing"], "10m")])


def test_a_node_that_never_lasts_long_is_told_of_all_the_time(tmp_path):
    """It is there whenever Prometheus asks, and never for 5 minutes."""
    loop = {"codec_runner_uptime_seconds": " ".join(["1+15x8"] * 54)}
    tell(tmp_path, [story("crash loop", loop, ["CodecRunnerRestarted"], m)
                    for m in ("10m", "35m", "119m")])


def test_but_not_one_that_is_new(tmp_path):
    new = {"codec_runner_uptime_seconds": "_x20 1+15x460"}
    again = {"codec_runner_uptime_seconds": "_x20 1+15x4 1+15x455"}
    tell(tmp_path, [story(name, uptime, [], m) for m in ("6m", "8m", "30m")
                    for name, uptime in (("new", new), ("again", again))])


def test_or_promtool_would_say_so(tmp_path):
    assert "FAILED" in tell(tmp_path, [story("none", {}, ["CodecRunnerDown"],
                                             "10m")], code=1)


@pytest.mark.parametrize("name,body", ALERTS)
def test_each_says_what_it_is_and_where_to_read_on(name, body):
    assert re.search(r"severity: (warning|critical)", body)
    assert re.search(r'summary: "\S.*"', body)
    assert re.search(r'description: "\S.*\."', body)
    page, heading = re.search(r"runbook: (\S+)#(\S+)", body).groups()
    assert heading == name.lower()
    text = (ROOT / page).read_text()
    assert len(re.findall(rf"^### {name}$", text, re.MULTILINE)) == 1

# SPDX-License-Identifier: Apache-2.0
"""The files in packaging/service, by the programs that read them: systemd's
unit, its user and its folders, and what logrotate makes of the logs."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVICE = ROOT / "packaging" / "service"
FOLDERS = {"run/codec-runner": 0o750, "var/log/codec-runner": 0o750,
           "var/lib/codec-runner": 0o750, "var/lib/codec-runner/spool": 0o770,
           "var/lib/codec-runner/traces": 0o750}


def run(*command):
    """The command's output, stderr with it; it must be there and succeed."""
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def unit(tmp_path):
    """The unit, of the program that was built."""
    text = (SERVICE / "codec-runner.service").read_text()
    path = tmp_path / "codec-runner.service"
    path.write_text(text.replace("/usr/bin/codec-runner",
                                 os.environ["RUNNER"]))
    return path


def test_systemd_understands_every_line_of_the_unit(unit):
    assert run("systemd-analyze", "verify", "--man=no", unit) == ""


def test_it_would_have_said_so(unit):
    unit.write_text(unit.read_text().replace("ProtectClock=", "ProtectCloc="))
    assert "ProtectCloc" in run("systemd-analyze", "verify", "--man=no", unit)


def test_however_often_a_start_fails_there_is_another_one():
    """A node whose address is not there yet fails within a second, so that the
    limit, five starts in ten seconds by default, would be met. So is one whose
    options are wrong: it comes back when they are mended."""
    text = (SERVICE / "codec-runner.service").read_text()
    unit, service = text.split("[Service]")
    assert "\nStartLimitIntervalSec=0\n" in unit
    assert "Restart=on-failure" in service.splitlines()
    assert "RestartPreventExitStatus" not in service


def test_the_unit_is_supervised():
    """Calls survive a crash, and a reload upgrades."""
    text = (SERVICE / "codec-runner.service").read_text()
    assert "\nExecStart=/usr/bin/codec-runner --supervise\n" in text


@pytest.mark.parametrize("result, seconds", [("exit-code", .9), ("signal", 0),
                                             ("success", 0)])
def test_only_a_failed_exit_delays_the_next_start(result, seconds):
    """Five failing starts a second would fill the journal; calls wait for the
    start after a crash."""
    text = (SERVICE / "codec-runner.service").read_text()
    assert "\nRestartSec=100ms\n" in text
    script = re.search("^ExecStopPost=/bin/sh -c '(.+)'$", text, re.M)[1]
    begun = time.monotonic()
    subprocess.run(["/bin/sh", "-c", script], check=True,
                   env={**os.environ, "SERVICE_RESULT": result})
    assert time.monotonic() - begun >= seconds


def test_it_may_do_little(unit):
    told = run("systemd-analyze", "security", "--offline=yes", "--threshold=25",
               "--no-pager", unit)
    assert float(re.search(r"exposure level for \S+: ([\d.]+)", told).group(1)) <= 2.5


def test_it_cannot_take_the_machine():
    """Memory, threads; and a core file would have speech in it."""
    lines = (SERVICE / "codec-runner.service").read_text().splitlines()
    for line in ("MemoryMax=80%", "TasksMax=2048", "LimitCORE=0"):
        assert line in lines


def test_but_what_it_offers_it_may_do():
    """Priorities, descriptors, io_uring, a filter of its own; and a manager is
    told."""
    lines = (SERVICE / "codec-runner.service").read_text().splitlines()
    for line in ("Type=notify", "AmbientCapabilities=CAP_SYS_NICE",
                 "CapabilityBoundingSet=CAP_SYS_NICE", "LimitRTPRIO=99",
                 "LimitNOFILE=1048576", "SystemCallFilter=@system-service",
                 "SystemCallFilter=seccomp"):
        assert line in lines
    assert not any(line.startswith("RestrictRealtime") for line in lines)
    sets = run("systemd-analyze", "syscall-filter", "@system-service")
    assert "@aio" in sets and "@resources" in sets
    assert "io_uring_enter" in run("systemd-analyze", "syscall-filter", "@aio")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes users in a folder")
def test_the_user_and_its_folders(tmp_path):
    (tmp_path / "etc").mkdir()
    run("systemd-sysusers", f"--root={tmp_path}",
        SERVICE / "codec-runner.sysusers")
    user, = [line.split(":") for line in
             (tmp_path / "etc/passwd").read_text().splitlines()
             if line.startswith("codec-runner:")]
    assert user[5] == "/var/lib/codec-runner"
    assert user[6].endswith("/nologin")
    run("systemd-tmpfiles", "--create", f"--root={tmp_path}",
        SERVICE / "codec-runner.tmpfiles")
    for name, mode in FOLDERS.items():
        is_there = (tmp_path / name).stat()
        assert is_there.st_mode & 0o7777 == mode, name
        assert (is_there.st_uid, is_there.st_gid) == (int(user[2]), int(user[3]))


def test_by_hand_it_is_installed_as_the_docs_say(tmp_path):
    """Where a bare Debian has no more than these folders."""
    etc = tmp_path / "etc"
    (etc / "systemd/system").mkdir(parents=True)
    docs = (ROOT / "docs/install.md").read_text()
    commands, = re.findall(r"^    cd /usr/local/\S+/examples\n"
                           r"((?:    .+\n)+?)    systemd-sysusers ", docs, re.M)
    commands = commands.replace("/etc/", f"{etc}/")
    run("sh", "-exc", f"cd '{ROOT}/packaging'\n{commands}")
    service = SERVICE / "codec-runner.service"
    assert {str(path.relative_to(etc)): path.read_text()
            for path in etc.rglob("*") if path.is_file()} == {
        "codec-runner.conf": (ROOT / "packaging/codec-runner.conf").read_text(),
        "logrotate.d/codec-runner":
            (SERVICE / "codec-runner.logrotate").read_text(),
        "systemd/system/codec-runner.service":
            service.read_text().replace("/usr/bin/", "/usr/local/bin/"),
        "sysusers.d/codec-runner.conf":
            (SERVICE / "codec-runner.sysusers").read_text(),
        "tmpfiles.d/codec-runner.conf":
            (SERVICE / "codec-runner.tmpfiles").read_text()}


def test_logs_are_moved_away_whole(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o750)
    rules = tmp_path / "rules"
    rules.write_text((SERVICE / "codec-runner.logrotate").read_text()
                     .replace("/var/log/codec-runner", str(logs)))
    rules.chmod(0o644)
    (logs / "runner.log").write_text("a line\n")
    (logs / "records.jsonl").write_text("{}\n")
    (logs / "empty.log").write_text("")
    (logs / "note.txt").write_text("mine\n")
    run("logrotate", "--force", "--state", tmp_path / "state", rules)
    assert sorted(p.name for p in logs.iterdir()) == [
        "empty.log", "note.txt", "records.jsonl.1", "runner.log.1"]
    assert (logs / "runner.log.1").read_text() == "a line\n"

# SPDX-License-Identifier: Apache-2.0
"""The real programs on loopback: start a daemon, drive it, look at the result.

CR_BUILD names the build directory (ctest sets it).
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

# so that what they find wrong is told with its values, as in a test's own file
pytest.register_assert_rewrite(
    *(path.stem for path in pathlib.Path(__file__).parent.glob("*.py")
      if path.stem != "conftest"))

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
sys.path += [str(ROOT / "campaigns" / "telephony"),
             str(ROOT / "campaigns" / "player"), str(ROOT / "tests/support")]

from loopback import PATIENCE, free_port  # noqa: E402,F401


def own_host():
    """An address of loopback that no other process uses: all its ports are
    free. A process id has 22 bits at most."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}"


def real_time_is_allowed():
    """Root may be refused, too: where its control group has no real time."""
    return subprocess.run(["chrt", "-f", "1", "true"], capture_output=True,
                          check=False).returncode == 0


class Installed:
    """The build, installed below a prefix: what somebody has who has no
    source."""

    def __init__(self, prefix):
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix",
                               prefix], capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        self.prefix = prefix
        self.programs = prefix / "bin"
        self.examples = prefix / "share/doc/codec-runner/examples"

    def environment(self):
        """For pkg-config, make and codec-runner on the PATH."""
        pc, = self.prefix.rglob("codec-runner.pc")
        return {"PATH": f"{self.programs}:{os.environ['PATH']}",
                "PKG_CONFIG_PATH": str(pc.parent)}

    def run(self, line, cwd):
        """Run a line of shell in @cwd; what it says on stdout."""
        done = subprocess.run(["sh", "-c", line], cwd=cwd, text=True,
                              env=self.environment(), capture_output=True,
                              timeout=PATIENCE)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


class Daemon:
    """A running codec-runner and the addresses it serves on."""

    def __init__(self, *options, log, programs=BUILD,
                 place=("--pin", "none", "--rx-cpu", "none"), launcher=()):
        self.programs = programs
        self.udp = free_port()
        self.sctp = 1024 + free_port() % 60000
        self.log = open(log, "w+")
        self.process = subprocess.Popen(
            [*launcher, programs / "codec-runner", "--config", "none", "--rtp",
             "127.0.0.1:0", "--control", f"127.0.0.1:{self.sctp}",
             "--udp-port", str(self.udp), "--sctp", "user", "--workers", "1",
             # what a busy machine delays is not to be given up; a file of
             # options may have an age
             "--shed", "age", *([] if "--config" in options else
                                ["--max-age", "none"]),
             # a system call that the filter does not know is an error
             "--sandbox", "strict", *place, *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        ready = self.process.stdout.readline().split()
        if not ready or ready[0] != "ready":
            self.log.seek(0)
            raise RuntimeError(f"no daemon: {ready} {self.log.read()}")
        self.ready = dict(word.split("=", 1) for word in ready[1:])

    def where(self):
        return ["--to", f"127.0.0.1:{self.sctp}", "--udp-port", str(self.udp),
                "--sctp", "user"]

    def ctl(self, *words, code=0):
        """Run codec-ctl; the result as JSON, or stderr when it must fail."""
        done = subprocess.run([self.programs / "codec-ctl", *self.where(),
                               "--json", *words], capture_output=True,
                              text=True, timeout=PATIENCE)
        assert done.returncode == code, done.stderr + done.stdout
        return json.loads(done.stdout) if code == 0 else done.stderr

    def feed(self, campaign, *options, code=0):
        """Run codec-feeder; its --json result."""
        done = subprocess.run([self.programs / "codec-feeder",
                               str(campaign), *self.where(), "--quiet", "--json", *options],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done.stderr + done.stdout
        return json.loads(done.stdout)

    def logged(self, *texts):
        """The log, once it has @texts: a thread of its own writes it."""
        end = time.monotonic() + PATIENCE
        while True:
            log = pathlib.Path(self.log.name).read_text()
            if all(text in log for text in texts):
                return log
            assert time.monotonic() < end, (texts, log[-2000:])
            time.sleep(0.01)

    def _print_where_it_hangs(self):
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # it ended, or may not be read
                print(*(task.joinpath(what).read_text().strip()
                        for what in ("comm", "wchan", "syscall")))
        print(pathlib.Path(self.log.name).read_text()[-4000:])

    def _send_until_taken(self, number):
        """ThreadSanitizer (GCC 12) loses one signal in some hundred, also of
        20 lines around libevent: send again what the log does not have."""
        self.process.send_signal(number)
        if "TSAN_OPTIONS" not in os.environ:
            return
        for n in range(1, PATIENCE * 20):
            log = pathlib.Path(self.log.name).read_text()
            if self.process.poll() is not None or \
                    f"signal number={number:d}" in log:
                return
            if n % 200 == 0:
                self.process.send_signal(number)
            time.sleep(.05)

    def stop(self, number=signal.SIGTERM):
        """End the daemon; its exit code."""
        if self.process.poll() is None:
            self._send_until_taken(number)
        try:
            return self.process.wait(timeout=PATIENCE)
        finally:
            if self.process.poll() is None:
                self._print_where_it_hangs()
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.log.close()


@pytest.fixture
def daemon(tmp_path):
    """Start daemons with options; all are drained and checked at the end."""
    running = []

    def start(*options, **more):
        d = Daemon(*options, log=tmp_path / f"runner-{len(running)}.log",
                   **more)
        running.append(d)
        return d

    yield start
    codes = [d.stop() for d in running if d.process.poll() is None]
    for d in running:
        if d.process.poll():  # 66: ThreadSanitizer has found something
            print(f"exit {d.process.poll()}:",
                  pathlib.Path(d.log.name).read_text()[-8000:])
    assert all(code == 0 for code in codes), codes


@pytest.fixture
def sock():
    """A UDP socket of 127.0.0.1 that never waits forever."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(PATIENCE)
        yield s


@pytest.fixture
def campaign(tmp_path):
    """Write a campaign file; returns its path."""

    def write(text, name="campaign.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write

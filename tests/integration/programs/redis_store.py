# SPDX-License-Identifier: Apache-2.0
"""A store of calls: a Redis or Valkey server of the test's own, on loopback."""
import contextlib
import shutil
import socket
import subprocess
import time

from conftest import PATIENCE, free_port

SERVER = shutil.which("redis-server") or shutil.which("valkey-server")


class Heard:
    def __init__(self):
        self.lines = []

    def count(self, command, key):
        """How often a key was written so."""
        return sum(f'"{command}" "{key}"' in line for line in self.lines)


class RedisStore:
    """The server; @words: more of its options. It forgets all when it ends."""

    def __init__(self, folder, *words, launcher=(), host="127.0.0.1"):
        self.folder, self.words, self.launcher = folder, words, launcher
        self.host, self.port = host, free_port()
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.launcher, SERVER, "--port", str(self.port), "--bind",
             self.host, "--dir", str(self.folder), "--save", "",
             "--appendonly", "no", *self.words],
            stdout=subprocess.DEVNULL)
        if not self.launcher:
            self._wait_until_there()

    def _wait_until_there(self):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection((self.host, self.port)).close()
                return
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.01)

    def url(self, name, login=""):
        return f"redis://{login}{self.host}:{self.port}/0?name={name}"

    def ask(self, *words):
        """A command's answer: a text, a number, a list, or None."""
        with socket.create_connection((self.host, self.port)) as s:
            s.settimeout(PATIENCE)
            text = f"*{len(words)}\r\n" + "".join(
                f"${len(w.encode())}\r\n{w}\r\n" for w in words)
            s.sendall(text.encode())
            return self._read(s.makefile("rb"))

    def _read(self, lines):
        kind, rest = (line := lines.readline())[:1], line[1:].strip()
        if kind == b"$":
            if int(rest) < 0:
                return None
            return lines.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self._read(lines) for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    @contextlib.contextmanager
    def heard(self):
        """All that it is asked meanwhile: a Heard."""
        with socket.create_connection((self.host, self.port)) as s:
            s.settimeout(PATIENCE)
            s.sendall(b"MONITOR\r\n")
            lines = s.makefile()
            assert lines.readline() == "+OK\r\n"
            heard = Heard()
            yield heard
            self.ask("ECHO", "the end of it")
            while "the end of it" not in (line := lines.readline()):
                heard.lines.append(line)

    def key(self, name, what):
        """Of the last run of a node."""
        run = self.ask("GET", f"codec-runner:{name}:run")
        return f"codec-runner:{name}:{run}:{what}"

    def calls(self, name):
        """Their texts."""
        return self.ask("HVALS", self.key(name, "calls"))

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

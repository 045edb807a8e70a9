# SPDX-License-Identifier: Apache-2.0
"""A store of calls: a Redis or Valkey server of the test's own, on loopback."""
import contextlib
import shutil
import socket
import ssl
import subprocess
import time

from loopback import PATIENCE, free_port

SERVER = shutil.which("redis-server") or shutil.which("valkey-server")


class Ca:
    """An authority whose certificates are for the names that a test asks for."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.path, self.key = self._make(name, "-subj", f"/CN={name}")

    def certificate(self, names):
        """The files of one, and of its key."""
        return self._make(f"{self.name}-server", "-subj", "/CN=store", "-addext",
                          f"subjectAltName={names}", "-CA", self.path, "-CAkey",
                          self.key)

    def _make(self, name, *words):
        paths = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-out", paths[0],
             "-keyout", paths[1], *words], check=True, capture_output=True)
        return paths


class Heard:
    def __init__(self):
        self.lines = []

    def count(self, command, key):
        """How often a key was written so."""
        return sum(f'"{command}" "{key}"' in line for line in self.lines)


class RedisStore:
    """The server; @words: more of its options; by TLS with a certificate of
    @ca, a Ca. It forgets all when it ends."""

    def __init__(self, folder, *words, launcher=(), host="127.0.0.1", ca=None):
        self.folder, self.words, self.launcher = folder, words, launcher
        self.ca = ca
        self.host, self.port = host, free_port()
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.launcher, SERVER, *self._listens(), "--bind", self.host,
             "--dir", str(self.folder), "--save", "",
             "--appendonly", "no", *self.words],
            stdout=subprocess.DEVNULL)
        self._wait_until_there()

    def _listens(self):
        if not self.ca:
            return ["--port", str(self.port)]
        certificate, key = self.ca.certificate(f"IP:{self.host}")
        return ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file",
                str(certificate), "--tls-key-file", str(key), "--tls-auth-clients",
                "no"]

    def connect(self):
        s = socket.create_connection((self.host, self.port))
        s.settimeout(PATIENCE)
        if not self.ca:
            return s
        context = ssl.create_default_context(cafile=self.ca.path)
        return context.wrap_socket(s, server_hostname=self.host)

    def _wait_until_there(self):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.01)

    def url(self, name, login=""):
        at = f"{login}{self.host}:{self.port}/0?name={name}"
        return f"rediss://{at}&ca={self.ca.path}" if self.ca else f"redis://{at}"

    def ask(self, *words):
        """A command's answer: a text, a number, a list, or None."""
        with self.connect() as s:
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
        with self.connect() as s:
            s.sendall(b"MONITOR\r\n")
            lines = s.makefile()
            assert lines.readline() == "+OK\n"
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

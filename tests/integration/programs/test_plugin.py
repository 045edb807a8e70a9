# SPDX-License-Identifier: Apache-2.0
"""A scheduler from outside the tree: built from the public headers and the
example alone, as schedulers/README.md says, loaded, and trusted with calls."""
import re
import shutil
import subprocess

import pytest

from conftest import PATIENCE, ROOT
from test_daemon import rtp, start_call

README = ROOT / "schedulers" / "README.md"
EXAMPLE = ROOT / "schedulers" / "examples" / "lifo.c"
FRAMES = 50


@pytest.fixture
def outside(tmp_path):
    """A folder with include/ and lifo.c, built there by the README's line."""
    there = tmp_path / "outside"
    shutil.copytree(ROOT / "include", there / "include")
    shutil.copy(EXAMPLE, there)
    line = re.search(r"^    (cc .*)$", README.read_text(), re.M).group(1)
    done = subprocess.run(line.split(), cwd=there, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return there


def flow(d, call, sock):
    """Frames of @call, one after the other: every one comes back."""
    host, port = call["rtp"]["address"].split(":")
    for i in range(FRAMES):
        sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                    (host, int(port)))
        sock.recv(2048)
    count = d.ctl("call", "stop", str(call["call"]))["count"]
    assert count["done"] == count["packets_out"] == FRAMES


def test_the_readme_shows_the_example_as_it_is():
    blocks = re.findall(r"```c\n(.*?)```", README.read_text(), re.S)
    assert len(blocks) >= 5
    for block in blocks:
        assert block in EXAMPLE.read_text()


def test_the_example_is_short():
    code = re.sub(r"/\*.*?\*/", "", EXAMPLE.read_text(), flags=re.S)
    assert len([x for x in code.splitlines() if x.strip()]) <= 60


def test_it_schedules_calls_from_the_start(daemon, sock, outside):
    d = daemon("--scheduler", str(outside / "lifo.so"))
    assert d.ctl("stats")["scheduler"] == "lifo"
    flow(d, start_call(d, sock), sock)
    assert d.ctl("stats")["scheduler_faults"] == {"count": 0, "last": ""}


def test_it_is_switched_to_from_the_plugin_folder(daemon, sock, outside):
    d = daemon("--plugin-dir", str(outside))
    call = start_call(d, sock)
    assert d.ctl("scheduler", "lifo.so")["scheduler"] == "lifo"
    flow(d, call, sock)
    assert d.ctl("stats")["scheduler"] == "lifo"

# SPDX-License-Identifier: Apache-2.0
"""A scheduler from outside the tree: built from what is installed and the
example alone, as schedulers/README.md says, loaded, and trusted with calls."""
import json
import re
import shutil

import pytest

from conftest import ROOT
from test_daemon import rtp, start_call

README = ROOT / "schedulers" / "README.md"
EXAMPLE = ROOT / "schedulers" / "examples" / "lifo.c"
TREES = ROOT / "tests" / "integration" / "programs" / "outside.c"
FRAMES = 50


@pytest.fixture
def outside(installed, tmp_path):
    """A folder with lifo.c and another scheduler, built there by the README's
    line."""
    there = tmp_path / "outside"
    there.mkdir()
    shutil.copy(installed.examples / "lifo.c", there)
    shutil.copy(TREES, there)
    line = re.search(r"^    (cc .*)$", README.read_text(), re.M).group(1)
    assert "lifo.c" in line
    for name in ("lifo", "outside"):
        installed.run(line.replace("lifo", name), there)
    return there


def flow(d, call, sock):
    """Frames of @call, one after the other: every one comes back."""
    host, port = call["rtp"]["address"].split(":")
    for i in range(FRAMES):
        sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], b"\xff" * 160),
                    (host, int(port)))
        sock.recv(2048)
    count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
    assert count["done"] == count["packets_out"] == FRAMES


def test_a_strict_compiler_says_nothing(installed, tmp_path):
    shutil.copy(installed.examples / "lifo.c", tmp_path)
    installed.run("cc -std=c11 -pedantic -Wall -Wextra -Wshadow -Wconversion "
                  "-Werror -O2 -shared -fPIC "
                  "$(pkg-config --cflags codec-runner) lifo.c -o lifo.so",
                  tmp_path)


def test_the_readme_shows_the_example_as_it_is():
    blocks = re.findall(r"```c\n(.*?)```", README.read_text(), re.S)
    assert len(blocks) >= 5
    for block in blocks:
        assert block in EXAMPLE.read_text()


def test_the_example_is_short():
    code = re.sub(r"/\*.*?\*/", "", EXAMPLE.read_text(), flags=re.S)
    assert len([x for x in code.splitlines() if x.strip()]) <= 60


@pytest.mark.parametrize("name", ["lifo", "outside"])
def test_it_schedules_calls_from_the_start(daemon, sock, installed, outside,
                                           name):
    d = daemon("--scheduler", str(outside / f"{name}.so"),
               programs=installed.programs)
    assert d.ctl("stats")["scheduler"] == name
    flow(d, start_call(d, sock), sock)
    assert d.ctl("stats")["scheduler_faults"] == {"count": 0, "last": ""}


@pytest.mark.parametrize("name", ["lifo", "outside"])
def test_it_schedules_simulated_calls(installed, outside, campaign, name):
    tasks = campaign("seed: 1\nduration: 1s\nflows:\n  - name: some\n"
                     "    count: 3\n    cost: {mean: 2ms}\n"
                     "    period: 20ms\n")
    told = json.loads(installed.run(
        f"codec-sim {tasks} --json --scheduler ./{name}.so", outside))
    assert told["scheduler"] == f"./{name}.so"
    assert told["total"]["done"] == told["total"]["jobs"] == 3 * 50


def test_it_is_listed_where_it_is_named(installed, outside):
    spoken = installed.run("codec-runner --config none -s ./lifo.so "
                           "--schedulers", outside)
    assert spoken.startswith("lifo                 last released first\n")
    listed = json.loads(installed.run("codec-runner --config none -s "
                                      "./lifo.so --schedulers --json", outside))
    assert listed[0]["help"] == "last released first"


def test_it_is_switched_to_from_the_plugin_folder(daemon, sock, installed,
                                                  outside):
    d = daemon("--plugin-dir", str(outside),
               programs=installed.programs)
    call = start_call(d, sock)
    assert d.ctl("scheduler", "lifo.so")["scheduler"] == "lifo"
    flow(d, call, sock)
    assert d.ctl("stats")["scheduler"] == "lifo"


@pytest.mark.parametrize("what, mode", [("lifo.so", 0o757), ("", 0o777)])
def test_what_others_can_write_is_not_loaded(daemon, installed, outside, what,
                                             mode):
    """Nor by control, nor at the start: it would run with the node's rights."""
    (outside / what).chmod(mode)
    d = daemon("--plugin-dir", str(outside), programs=installed.programs)
    assert "everybody can write it" in d.ctl("scheduler", "lifo.so", code=1)
    assert d.ctl("stats")["scheduler"].startswith("edf")
    with pytest.raises(RuntimeError, match="everybody can write it"):
        daemon("--scheduler", str(outside / "lifo.so"),
               programs=installed.programs)


def test_make_installs_it_where_the_daemon_may_look(daemon, sock, installed,
                                                    tmp_path):
    shutil.copytree(installed.examples, tmp_path / "examples")
    installed.run("make install", tmp_path / "examples")
    plugins = installed.run("pkg-config --variable=plugindir codec-runner",
                            tmp_path).strip()
    d = daemon("--plugin-dir", plugins,
               programs=installed.programs)
    assert d.ctl("scheduler", "lifo.so")["scheduler"] == "lifo"
    flow(d, start_call(d, sock), sock)

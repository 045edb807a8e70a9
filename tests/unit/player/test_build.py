# SPDX-License-Identifier: Apache-2.0
"""What is installed and built, with deps/install and CMake in name only."""
import pytest

import build

# Appends its arguments to the log; the packages of [run] come only when the build
# has ended, and it waits for them, at most so long.
INSTALL = """#!/bin/sh
echo "install $*" >>"$LOG"
[ "$1" != run ] || timeout 60 sh -c 'until grep -q "^cmake --build" "$LOG"
	do sleep 0.02; done' || exit 1
echo "installed $*" >>"$LOG"
[ "$1" != "$FAILS" ]
"""
CMAKE = """#!/bin/sh
echo "cmake $*" >>"$LOG"
echo "what went wrong"
[ "$1" != "$FAILS" ]
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """clone(fails) -> (whether it is built, the commands): the one of them whose
    first argument is fails does."""
    for name, text in (("deps/install", INSTALL), ("bin/cmake", CMAKE)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "CMakeLists.txt").touch()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))

    def make(fails=""):
        monkeypatch.setenv("FAILS", fails)
        built = build.build(str(tmp_path), "peer", targets=["codec-sim"])
        return built, (tmp_path / "log").read_text().splitlines()
    return make


def test_what_the_build_does_not_need_is_installed_beside_it(clone):
    built, commands = clone()
    assert built
    assert commands[:2] == ["install build", "installed build"]
    # it came while the build went on, and codec-report's Python is looked for then
    assert commands[-2:] == ["installed run peer", "cmake --preset release"]
    meanwhile = commands[2:-2]
    meanwhile.remove("install run peer")
    assert meanwhile == ["cmake --preset release",
                         "cmake --build --preset release --target codec-sim"]


@pytest.mark.parametrize("fails,last", [
    ("build", "installed build"), ("run", "installed run peer"),
    ("--build", "installed run peer")])
def test_nothing_is_built_if_a_part_of_it_fails(clone, capsys, fails, last):
    built, commands = clone(fails)
    assert not built and commands[-1] == last
    said = capsys.readouterr().err
    assert ("what went wrong" in said) == (fails == "--build")

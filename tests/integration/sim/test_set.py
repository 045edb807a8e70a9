# SPDX-License-Identifier: Apache-2.0
"""codec-sim --set, and the folders of several schedulers."""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CR_BUILD", ROOT / "build" / "release"))
TEXT = ("seed: 3\nduration: 1s\nplatform: {cpus: 1}\nflows:\n"
        "  - {name: speech, count: 2, period: 10ms, cost: {mean: 1ms}}\n")


@pytest.fixture
def sim(tmp_path):
    """Run codec-sim on TEXT, in a folder of its own."""
    (tmp_path / "c.yaml").write_text(TEXT)

    def run(*args):
        return subprocess.run([BUILD / "codec-sim", "c.yaml", *args],
                              cwd=tmp_path, capture_output=True, text=True,
                              timeout=PATIENCE)
    return run


def test_values_are_those_set_and_run_json_tells_them(sim):
    done = sim("--set", "flows.speech.count=5", "--set=platform.cpus=2",
               "--set", "duration=500ms", "--cpus", "3", "--json")
    result = json.loads(done.stdout)
    assert result["total"]["planned"] == 5
    assert result["duration_ns"] == 500000000
    assert result["platform"]["cpus"] == 3  # the option holds
    assert result["campaign"]["set"] == [
        "flows.speech.count=5", "platform.cpus=2", "duration=500ms"]
    assert result["campaign"]["text"] == TEXT


def test_the_same_as_a_file_that_says_so(sim, tmp_path):
    (tmp_path / "d.yaml").write_text(
        TEXT.replace("count: 2", "load: 45%").replace("cpus: 1", "cpus: 4"))
    set_so = sim("--set", "flows.speech.load=45%", "--set",
                 "flows.speech.count=", "--set", "platform.cpus=4", "--json")
    other = subprocess.run([BUILD / "codec-sim", "d.yaml", "--json"],
                           cwd=tmp_path, capture_output=True, text=True,
                           timeout=PATIENCE)
    one, two = (json.loads(done.stdout) for done in (set_so, other))
    assert one["total"]["jobs"] > 0
    for result in one, two:
        del result["campaign"], result["command"], result["seconds"]
    assert one == two


def test_errors_name_their_place(sim):
    done = sim("--set", "flows.speach.count=3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("codec-sim: --set flows.speach.count=3: flows: "
                           "there is no 'speach'; did you mean 'speech'?\n")
    done = sim("--set", "platform.cpus=9999")
    assert done.returncode == 2
    assert "--set platform.cpus=9999: platform: cpus=9999: " in done.stderr


def test_a_schedulers_folder_is_not_hidden(sim, tmp_path):
    source = ROOT / "schedulers" / "examples" / "lifo.c"
    for name in "lifo.so", "a_lifo.so":
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}",
                        source, "-o", tmp_path / name], check=True)
    (tmp_path / "a").mkdir()
    os.link(tmp_path / "lifo.so", tmp_path / "a" / "lifo.so")
    done = sim("-s", "rr,quantum=5ms", "-s", "./lifo.so", "-s",
               "../" + tmp_path.name + "/a/lifo.so", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "o")) == sorted([
        "rr_quantum=5ms", "lifo.so", f"{tmp_path.name}_a_lifo.so"])
    done = sim("-s", "./a/lifo.so", "-s", "./a_lifo.so", "--out", "p")
    assert done.returncode == 2 and not (tmp_path / "p").exists()
    assert "would share the folder a_lifo.so" in done.stderr

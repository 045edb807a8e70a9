# SPDX-License-Identifier: Apache-2.0
"""What "cmake --install" leaves: programs, pages, and all that a scheduler from
outside needs; and it refers to nothing outside."""
import json
import os
import re
import subprocess

import pytest

from conftest import BUILD, PATIENCE, ROOT, Installed
from test_daemon import start_call
from test_plugin import FRAMES, flow

PROGRAMS = ["codec-ctl", "codec-feeder", "codec-report", "codec-runner",
            "codec-sim"]
HEADERS = ["codec.h", "container.h", "error.h", "list.h", "option.h", "promise.h",
           "sched.h", "time.h", "trace.h", "tree.h"]


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def files(folder):
    return [p for p in folder.rglob("*") if p.is_file()]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE,
                          text=True, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_pages_headers_examples(installed):
    assert names(installed.programs) == PROGRAMS
    assert names(installed.prefix / "include" / "cr") == HEADERS
    assert names(installed.examples) == ["Makefile", "codec",
                                         "codec-runner.conf", "lifo.c", "service",
                                         "watch"]
    for name in PROGRAMS:
        page = installed.prefix / "share/man/man1" / f"{name}.1"
        assert page.read_text() == run(installed.programs / name, "--man")
    runner = installed.programs / "codec-runner"
    for path, option in (
            (installed.examples / "codec-runner.conf", "--example-config"),
            (installed.prefix / "share/man/man5/codec-runner.conf.5", "--man-config")):
        assert path.read_text() == run(runner, option)
    doc = installed.examples.parent
    for name in ("README.md", "LICENSE", "schedulers/README.md", "codecs/README.md",
                 "campaigns/README.md", "campaigns/demo.yaml"):
        assert (doc / name).read_bytes() == (ROOT / name).read_bytes()


def test_links_of_pages_lead_somewhere(installed):
    doc = installed.examples.parent
    links = {(page, link) for page in doc.rglob("*.md")
             for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())
             if ":" not in link}
    assert len(links) > 50
    dead = [f"{page.relative_to(doc)}: {link}" for page, link in links
            if not (page.parent / link).exists()]
    assert not dead, dead


def test_what_a_schedulers_page_tells_to_read_is_there(installed):
    """Each file that it names, but for what is of a clone only: tests."""
    doc = installed.examples.parent
    text = re.sub(r"```.*?```", "", (doc / "schedulers/README.md").read_text(),
                  flags=re.DOTALL)
    named = {name for name in re.findall(
        r"`((?:[\w-]+/)*(?:\w+\.(?:c|h|md)|CMakeLists\.txt))`", text)
        if not name.startswith("tests/")}
    assert named >= {"edf.c", "key_queue.h", "registry.c", "red.c", "promise.h",
                     "examples/lifo.c", "include/cr/sched.h", "list.h"}
    places = (doc / "schedulers", doc, installed.prefix,
              installed.prefix / "include" / "cr")
    missing = [name for name in named
               if not any((place / name).is_file() for place in places)]
    assert not missing, missing
    for path in (doc / "schedulers").glob("*.[ch]"):
        assert path.read_bytes() == (ROOT / "schedulers" / path.name).read_bytes()


CAMPAIGN = """
seed: 3
duration: 1s
daemon: {admission: off}
schedulers: [fifo]
flows:
  - {name: a, count: 1, in: {codec: pcmu}, out: {codec: pcma}, cost: {mean: 10us}}
"""


def test_campaigns_are_played_by_the_installed_programs(installed, tmp_path):
    """run and sweep, in a folder of the user's; nothing is left elsewhere."""
    campaigns = installed.examples.parent / "campaigns"
    (tmp_path / "a.yaml").write_text(CAMPAIGN)
    before = sorted(files(installed.prefix))
    env = {**os.environ, **installed.environment()}
    env.pop("CR_BUILD", None)
    for command in ("run", "sweep", "simulate"):
        assert os.access(campaigns / command, os.X_OK)
    run(campaigns / "run", "a.yaml", "--schedulers", "fifo,edf", cwd=tmp_path,
        env=env)
    assert {"blocks", "report.html"} <= set(names(tmp_path / "out/a"))
    run(campaigns / "sweep", "a.yaml", "--seeds", "1,2", cwd=tmp_path, env=env)
    assert "sweep.csv" in names(tmp_path / "out/a-sweep")
    (tmp_path / "f").mkdir()
    (tmp_path / "a.yaml").rename(tmp_path / "f" / "a.yaml")
    run(campaigns / "run", "f", cwd=tmp_path, env=env)
    assert "a.json" in names(tmp_path / "out/f")
    done = subprocess.run([campaigns / "run", "f/a.yaml", "--schedulers",
                           "edff"], cwd=tmp_path, env=env, text=True,
                          capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2 and "did you mean 'edf'" in done.stderr
    assert sorted(files(installed.prefix)) == before


def content(path, scratch):
    """The octets of a file, without what debuggers want."""
    data = path.read_bytes()
    if data.startswith(b"\x7fELF"):
        run("objcopy", "--strip-debug", path, scratch)
        data = scratch.read_bytes()
    return data


def test_nothing_names_the_source_or_the_build(installed, tmp_path):
    folders = [os.fsencode(ROOT), os.fsencode(BUILD)]
    launcher = (BUILD / "codec-report").read_bytes()
    assert folders[0] in launcher  # where nothing is installed it must
    everything = files(installed.prefix)
    assert len(everything) > 100
    for path in everything:
        data = content(path, tmp_path / "stripped")
        assert not any(f in data for f in folders), path


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_compiles_alone(installed, tmp_path, header):
    (tmp_path / "alone.c").write_text(f'#include "cr/{header}"\n'
                                      f'#include "cr/{header}"\n'
                                      "int alone;\n")
    installed.run("cc -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only "
                  "$(pkg-config --cflags codec-runner) alone.c", tmp_path)


def test_pkg_config_says_what_a_scheduler_needs(installed, tmp_path):
    def ask(what):
        return installed.run(f"pkg-config {what} codec-runner",
                             tmp_path).strip()
    header = (installed.prefix / "include" / "cr" / "sched.h").read_text()
    abi = re.search(r"#define CR_SCHED_ABI (\d+)u", header).group(1)
    version = run(installed.programs / "codec-runner", "--version").split()[-1]
    assert ask("--variable=sched_abi") == abi
    assert ask("--modversion") == version
    assert ask("--libs") == ""
    assert os.path.isdir(ask("--variable=plugindir"))


def test_the_report_reads_a_trace(daemon, sock, installed, tmp_path):
    trace = tmp_path / "trace.bin"
    d = daemon("--trace", str(trace), programs=installed.programs)
    flow(d, start_call(d, sock), sock)
    assert d.stop() == 0
    told = json.loads(run(installed.programs / "codec-report", "--json", trace,
                          cwd=tmp_path))
    section, = told["runs"][0]["schedulers"]
    assert section["groups"][0]["done"] == FRAMES


def test_the_simulator_plays_an_installed_campaign(installed, tmp_path):
    campaign = installed.examples.parent / "campaigns" / "best" / "exp1.yaml"
    out = run(installed.programs / "codec-sim", campaign, "--json",
              "--scheduler", "edf", cwd=tmp_path)
    assert json.loads(out)["scheduler"] == "edf"


def test_destdir_and_a_moved_tree(installed, tmp_path):
    run("cmake", "--install", BUILD, env={**os.environ,
                                          "DESTDIR": str(tmp_path / "stage")})
    sched, = (tmp_path / "stage").rglob("sched.h")
    moved = tmp_path / "moved"
    sched.parents[2].rename(moved)

    def inside(prefix):
        return sorted(p.relative_to(prefix) for p in files(prefix))
    assert not files(tmp_path / "stage")
    assert inside(moved) == inside(installed.prefix)
    there = Installed.__new__(Installed)
    there.prefix, there.programs = moved, moved / "bin"
    flags = there.run("pkg-config --cflags codec-runner", tmp_path)
    # libbsd may need another folder behind ours
    assert os.path.samefile(flags.split()[0][2:], moved / "include")
    assert "codec-report" in there.run("codec-report --version", tmp_path)

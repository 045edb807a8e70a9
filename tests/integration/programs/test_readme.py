# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/ say: the worked example runs as it is written, and
links lead somewhere."""
import re
import shutil
import subprocess
import wave

import pytest

from conftest import BUILD, PATIENCE, ROOT, free_port

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
         *sorted((ROOT / "docs").rglob("*.md"))]


def example():
    """The one shell block of README.md."""
    block, = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(),
                        re.M | re.S)
    return block


def programs_elsewhere(folder):
    """A build/release in @folder whose programs meet at free ports, so that
    nobody who uses the defaults is in the way."""
    sctp, udp = str(1024 + free_port() % 60000), str(free_port())
    place = folder / "build" / "release"
    place.mkdir(parents=True)
    options = {
        "codec-runner": ["--rtp", "127.0.0.1:0", "--control",
                         f"127.0.0.1:{sctp}", "--udp-port", udp, "--sctp",
                         "user", "--workers", "1", "--pin", "none", "--rx-cpu",
                         # what a busy machine delays is not to be given up
                         "none", "--max-age", "none"],
        "codec-ctl": ["--to", f"127.0.0.1:{sctp}", "--udp-port", udp, "--sctp",
                      "user"],
    }
    for name, more in options.items():
        program = place / name
        program.write_text("#!/bin/sh\nexec '%s' %s \"$@\"\n" %
                           (BUILD / name, " ".join(more)))
        program.chmod(0o755)


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")
def test_the_worked_example_runs_as_written(tmp_path):
    programs_elsewhere(tmp_path)
    done = subprocess.run(["bash", "-eu", "-c", example()], cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr
    count = {key: int(value) for key, value in re.findall(
        r"^count\.(\w+): +(\d+) \w+$", done.stdout, re.M)}
    # a busy machine gives frames up: those are not heard
    lost = sum(count[k] for k in ("overwritten", "expired", "shed",
                                  "concealed"))
    with wave.open(str(tmp_path / "heard.wav")) as w:
        heard = w.readframes(w.getnframes())
        assert w.getnframes() >= (3.9 - 0.02 * lost) * w.getframerate()
    assert len(set(heard)) > 100  # speech, not silence
    assert count["done"] + lost > 150
    assert count["malformed"] == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    text = page.read_text()
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for link in links:
        if "://" in link:
            continue
        name, _, title = link.partition("#")
        to = page.parent / name if name else page
        assert to.exists(), f"{page.name}: {link}"
        if title:
            titles = re.findall(r"^#+ +(.*)$", to.read_text(), re.M)
            assert title in map(anchor, titles), f"{page.name}: {link}"


def anchor(title):
    """The name that a heading has in a link."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")

# SPDX-License-Identifier: Apache-2.0
"""campaigns/cluster in small, and that the documentation shows the configuration
that it uses."""
import json
import subprocess

from conftest import BUILD, PATIENCE, ROOT
from test_senders import needed

CLUSTER = ROOT / "campaigns" / "cluster"


def run(*words):
    """Five phases, each of which waits for a state."""
    return subprocess.run([CLUSTER / "run", *words], capture_output=True,
                          text=True, timeout=5 * PATIENCE, check=False)


def test_the_documentation_has_its_configuration():
    text = (ROOT / "docs" / "operate.md").read_text()
    shown = "".join(f"    {line}\n" for line in
                    (CLUSTER / "nodes.cfg").read_text().splitlines())
    assert shown in text


def test_it_refuses_what_it_cannot_play():
    for words in (["--nodes", "2"], ["--calls", "3"], ["--rate", "0"]):
        done = run(*words)
        assert done.returncode == 2 and words[0] in done.stderr


def test_calls_by_three_nodes(tmp_path):
    """One is full, one drains, one is added, one is killed. A busy machine may
    lose frames, which is all that may fail."""
    needed("kamailio", "sipp")
    done = run("--quick", "--build", str(BUILD), "--out", str(tmp_path))
    assert done.returncode in (0, 3), done.stdout + done.stderr
    found = json.loads((tmp_path / "cluster.json").read_text())
    assert [p["phase"] for p in found["phases"]] == [
        "spread", "full", "drain", "add", "kill"]
    failed = [c for c in found["checks"] if not c["holds"]]
    assert all("no frame is lost" in str(c) for c in failed), done.stdout
    assert done.returncode == (3 if failed else 0)
    for phase in found["phases"]:
        assert sum(phase["nodes"].values()) == phase["calls"]
        assert phase["refused"] == 0
        assert bool(phase["calls_gone"]) == (phase["phase"] == "kill")
    for name in ("cluster.txt", "cluster.png", "report.html"):
        assert (tmp_path / name).stat().st_size

# SPDX-License-Identifier: Apache-2.0
"""docs/operations.md sends operators to counters that are there, and to
headings that are there."""
import re

from conftest import ROOT
from control import Control

TEXT = (ROOT / "docs" / "operations.md").read_text()
# What is told by stats and hello, of all that has a dot in its name.
GROUPS = ("capacity", "config", "control", "conversions", "delay", "log", "receivers",
          "records", "rx", "scheduler_faults", "totals", "watchdog")


def paths(result, before=""):
    """rx.packets, receivers[].cpu_ns, ..."""
    for key, value in result.items():
        many = isinstance(value, list)
        yield f"{before}{key}{'[]' if many else ''}"
        yield before + key
        for one in value if many else [value]:
            if isinstance(one, dict):
                yield from paths(one, f"{before}{key}{'[]' if many else ''}.")


def test_counters_that_are_named_are_told(daemon, tmp_path):
    (tmp_path / "spool").mkdir()
    daemon("--control-socket", tmp_path / "control", "--spool",
           tmp_path / "spool", "--records", tmp_path / "records")
    client = Control(tmp_path / "control")
    told = {path for method in ("stats", "hello")
            for path in paths(client.ask(method, {})["result"])}
    named = {name for name in re.findall(r"`([a-z_]+(?:\[\])?\.[a-z_]+)`", TEXT)
             if re.split(r"[\[.]", name)[0] in GROUPS}
    assert len(named) > 10
    assert named <= told, named - told


def test_links_lead_to_headings():
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-")
                for h in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)}
    links = set(re.findall(r"\]\(#([^)]*)\)", TEXT))
    assert len(links) > 20 and links <= headings, links - headings


def test_every_part_is_in_the_table_at_the_top():
    top = TEXT.split("\n## ", 1)[0]
    for heading in re.findall(r"^## (.*)$", TEXT, re.MULTILINE):
        assert f"[{heading}](#" in top, heading

# SPDX-License-Identifier: Apache-2.0
"""The counters that docs/install.md and docs/operate.md name exist."""
import re

from conftest import ROOT
from control import Control

TEXT = "".join((ROOT / "docs" / name).read_text()
               for name in ("install.md", "operate.md"))
# The objects in the results of stats and hello.
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


def test_named_counters_exist(daemon, tmp_path):
    (tmp_path / "spool").mkdir()
    daemon("--control-socket", tmp_path / "control", "--spool",
           tmp_path / "spool", "--records", tmp_path / "records")
    client = Control(tmp_path / "control")
    shown = {path for method in ("stats", "hello")
             for path in paths(client.ask(method, {})["result"])}
    named = {name for name in re.findall(r"`([a-z_]+(?:\[\])?\.[a-z_]+)`", TEXT)
             if re.split(r"[\[.]", name)[0] in GROUPS}
    assert len(named) > 10
    assert named <= shown, named - shown

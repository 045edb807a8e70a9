# SPDX-License-Identifier: Apache-2.0
"""tests/bench as its programs see it, and the programs as modules."""
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "tests" / "bench"
sys.path.insert(0, str(BENCH))


def load(name):
    """tests/bench/@name, which has no suffix, as a module."""
    loader = SourceFileLoader(f"bench_{name}", str(BENCH / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def program():
    return load


@pytest.fixture
def packet():
    return load("packet")


@pytest.fixture
def delay():
    return load("delay")


@pytest.fixture
def result():
    """What bench-load says of a run."""
    def of(cpu_us=5.0, sent=1000, lost=0, p99_ms=0.1, late_ms=0.1,
           held_ms=0):
        return {"calls": 50, "ns": 1_000_000_000, "sent": sent, "lost": lost, "received": sent - lost,
                "watched_cpu_ns": round(cpu_us * 1000 * sent),
                "refused": 0, "duplicate": 0, "reordered": 0,
                "out_of_sequence": 0, "strange": 0, "wrong": 0,
                "delay": {"p50_ns": p99_ms * 5e5, "p99_ns": p99_ms * 1e6,
                          "p999_ns": p99_ms * 2e6, "max_ns": p99_ms * 3e6},
                "late": {"p99_ns": late_ms * 1e6},
                "held_ns": held_ms * 1e6}
    return of

# SPDX-License-Identifier: Apache-2.0
"""A sweep on a Dask cluster of real processes, of which one is killed: the
same as that of this machine's pool, bit for bit."""
import os
import signal
import subprocess
import sys

import pytest

from conftest import PATIENCE

pytest.importorskip("distributed", reason="no distributed: deps/install dask")

GRID = ("--set", "flows.speech.load=50%..110%:20%", "--seeds", "1..6",
        "--duration", "2s")
CELLS = 4 * 2 * 6

# A scheduler that says where it is, and a worker that has codec_sweep not at
# hand: it gets the function from the client.
SCHEDULER = """
import asyncio, distributed
async def main():
    async with distributed.Scheduler(host="127.0.0.1", port=0,
                                     dashboard=False) as s:
        print(s.address, flush=True)
        await s.finished()
asyncio.run(main())
"""
WORKER = """
import asyncio, sys, distributed
async def main():
    async with distributed.Worker(sys.argv[1], host="127.0.0.1", nthreads=1,
                                  dashboard=False) as w:
        print(w.address, flush=True)
        await w.finished()
asyncio.run(main())
"""


@pytest.fixture
def process(tmp_path):
    """Start Python programs that print an address first: (process, address).
    All end with the test."""
    running = []
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def start(text, *args):
        p = subprocess.Popen([sys.executable, "-c", text, *args], cwd=tmp_path,
                             env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        running.append(p)
        return p, p.stdout.readline().strip()

    yield start
    for p in running:
        p.kill()
        p.wait()
        p.stdout.close()


def test_a_worker_is_killed_and_the_result_is_the_pools(run, campaign, process,
                                                        tmp_path):
    from codec_sweep import api, grid, pool
    from conftest import BUILD
    local = run(campaign, *GRID, "--out", "local")
    assert local.returncode == 0, local.stderr
    _, address = process(SCHEDULER)
    victim, _ = process(WORKER, address)
    process(WORKER, address)
    swept = api.campaign_sweep(
        campaign, grid.parameters(GRID[1:2]), None, range(1, 7),
        GRID[4:], BUILD, str(tmp_path / "cluster"))
    swept.begin()

    def kill_in_the_middle(done, _):
        if done == CELLS // 4:
            victim.send_signal(signal.SIGKILL)

    swept.play(pool.make(dask=address), kill_in_the_middle)
    assert victim.wait(timeout=PATIENCE) == -signal.SIGKILL
    assert swept.whole and not swept.failures
    swept.store.table("sweep.csv", api.rows(swept))
    assert (tmp_path / "cluster" / "sweep.csv").read_bytes() == \
        (tmp_path / "local" / "sweep.csv").read_bytes()


def test_the_command_runs_on_a_cluster(run, campaign, process, tmp_path):
    _, address = process(SCHEDULER)
    process(WORKER, address)
    done = run(campaign, "--seeds", "1,2", "--dask", address, "--out", "o")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "o/sweep.csv").read_text().splitlines()) == 1 + 4


def test_where_no_scheduler_is_it_says_so(run, campaign, monkeypatch):
    from codec_sweep import SweepError, pool
    monkeypatch.setattr(pool, "PATIENCE", "500ms")
    with pytest.raises(SweepError, match="no Dask scheduler at tcp://127.0.0.1"
                       ":1: "):
        next(pool.Dask("tcp://127.0.0.1:1").run(len, [()]))

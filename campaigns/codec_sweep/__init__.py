# SPDX-License-Identifier: Apache-2.0
"""Sweeps of the simulator: a campaign over a grid of values, or random task
sets under the admission tests. For programs and notebooks:

    from codec_sweep import sweep, summarise
    runs = sweep("two-codecs.yaml", ["flows.wide.count=200..400:50"],
                 schedulers=["fifo", "edf"], seeds=range(1, 11))
    summarise(runs, "total.loss")

    from codec_sweep import schedulability
    sets = schedulability(n=10, cpus=2, schedulers=["edf", "rm"])

Both give a pandas DataFrame, a row for each run or set. The command
campaigns/sweep does the same, with files and figures.

codec_sweep.api       these functions
codec_sweep.grid      parameters, ranges, cells
codec_sweep.cell      one cell: codec-sim, and what it told
codec_sweep.score     what is heard of a cell: PESQ
codec_sweep.pool      cells side by side: processes here, or a Dask cluster
codec_sweep.store     the folder of a sweep: what is done, and its tables
codec_sweep.interval  means and shares with their intervals
codec_sweep.tasksets  random task sets
codec_sweep.curves    task sets under admission tests
codec_sweep.figures   figures
codec_sweep.cli       the program campaigns/sweep
"""


class SweepError(Exception):
    """Something asked for that cannot be; the text says what, where and the
    way out."""


from codec_sweep.api import schedulability, summarise, sweep  # noqa: E402

__all__ = ["SweepError", "schedulability", "summarise", "sweep"]

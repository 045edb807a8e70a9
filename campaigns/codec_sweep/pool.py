# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side: as processes of this machine, or on a Dask cluster. Both
give (number of the job, its result) as each is done, in any order."""
import concurrent.futures
import inspect
import os
import threading

from codec_sweep import SweepError, cell

PATIENCE = "30s"  # until a Dask scheduler must have answered


class Local:
    """Processes here, so many at a time (None: as many as CPUs)."""

    def __init__(self, workers=None):
        self.workers = workers or len(os.sched_getaffinity(0))
        self.lock = threading.Lock()
        self.running, self.stopped = set(), False

    def _watch(self, process):
        with self.lock:
            self.running = {p for p in self.running if p.poll() is None}
            self.running.add(process)
            if self.stopped:
                process.kill()

    def _stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                process.kill()

    def run(self, function, jobs):
        """function: of codec_sweep.cell; jobs: its arguments. When the caller
        goes away, by Ctrl-C or else, what runs is ended."""
        self.stopped = False
        executor = concurrent.futures.ThreadPoolExecutor(self.workers)
        futures = {executor.submit(function, job, self._watch): i
                   for i, job in enumerate(jobs)}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            if futures:
                for future in futures:
                    future.cancel()
                self._stop()
            executor.shutdown()


def _typed_in(function):
    """A function of codec_sweep.cell as if a user had typed it in: such ones
    go to the cluster by value, so that it needs no codec_sweep."""
    names = {"__name__": "__main__"}
    exec(compile(inspect.getsource(cell), cell.__file__, "exec"), names)
    return names[function.__name__]


class Dask:
    """The workers of a Dask cluster, whose machines have codec-sim and the
    campaign at the same paths as this one. address: tcp://HOST:PORT."""

    def __init__(self, address):
        self.address = address

    def _client(self):
        try:
            from distributed import Client
        except ImportError as error:
            raise SweepError(f"--dask needs the Python package distributed: "
                             f"deps/install dask ({error})") from None
        try:
            return Client(self.address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise SweepError(f"no Dask scheduler at {self.address}: "
                             f"{error}") from None

    def run(self, function, jobs):
        """As Local.run(). What a lost worker had is given to another one."""
        with self._client() as client:
            from distributed import as_completed
            futures = client.map(_typed_in(function), jobs, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            try:
                for future in as_completed(futures):
                    i = numbers.pop(future.key)
                    error = future.exception()
                    yield i, {"error": repr(error)} if error \
                        else future.result()
                    future.release()
            finally:
                if numbers:
                    client.cancel(futures)


def make(workers=None, dask=None):
    """The pool that is asked for."""
    return Dask(dask) if dask else Local(workers)

# SPDX-License-Identifier: Apache-2.0
"""The folder of a sweep.

sweep.json   what is swept, and whether it is finished
cells.jsonl  a line for each cell that is done, as it is done: what --resume
             goes on with
sweep.csv    a line for each of them, in the order of the grid
"""
import csv
import json
import os

from codec_sweep import SweepError


def _write(path, text):
    """All of it or nothing, whatever happens."""
    beside = path + ".new"
    with open(beside, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(beside, path)


class Store:
    """folder: where; None: nothing is kept. identity: what makes cells
    comparable, as JSON: those of another one are not gone on with."""

    def __init__(self, folder, identity):
        self.folder, self.identity = folder, identity
        self.file = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def _told(self):
        try:
            with open(self.path("sweep.json"), encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            return None
        except ValueError:
            raise SweepError(f"{self.path('sweep.json')} is no JSON; --anew "
                             "starts anew") from None

    def tell(self, finished):
        """Write sweep.json."""
        if self.folder:
            _write(self.path("sweep.json"), json.dumps(
                {"finished": finished, **self.identity}, indent=1) + "\n")

    def _done(self):
        """(key, result) of each whole line; a torn one is cut off."""
        try:
            with open(self.path("cells.jsonl"), "rb+") as f:
                text = f.read()
                f.truncate(text.rfind(b"\n") + 1)
        except FileNotFoundError:
            return
        for line in text[:text.rfind(b"\n") + 1].splitlines():
            told = json.loads(line)
            yield told["cell"], told["result"]

    def _any(self):
        path = self.path("cells.jsonl")
        return os.path.exists(path) and os.path.getsize(path) > 0

    def _check(self, told, resume, anew):
        """Whether cells that are there are gone on with."""
        if anew or not told or not self._any() or \
                (told.get("finished") and not resume):
            return False
        if not resume:
            raise SweepError(f"{self.folder} has a sweep that is not "
                             "finished: --resume goes on with it, --anew "
                             "forgets it")
        other = [name for name, value in self.identity.items()
                 if name != "grid" and told.get(name) != value]
        if other:
            raise SweepError(f"{self.folder}: what is done there has another "
                             f"{', '.join(other)}; --anew forgets it")
        return True

    def open(self, resume=False, anew=False):
        """Begin, or go on. {key as JSON: result} of what is done."""
        if not self.folder:
            return {}
        os.makedirs(self.folder, exist_ok=True)
        going_on = self._check(self._told(), resume, anew)
        done = {json.dumps(key): result for key, result in self._done()} \
            if going_on else {}
        self.tell(False)
        self.file = open(self.path("cells.jsonl"), "a" if going_on else "w",
                         encoding="utf-8")
        return done

    def add(self, key, result):
        """Keep what came of a cell."""
        if self.file:
            self.file.write(json.dumps({"cell": key, "result": result}) + "\n")
            self.file.flush()

    def close(self):
        if self.file:
            self.file.close()
            self.file = None

    def table(self, name, rows):
        """Write rows, dicts, as a CSV file: floats exactly, None as nothing.
        Its columns are all that any row has."""
        columns = list(dict.fromkeys(c for row in rows for c in row))
        with open(self.path(name) + ".new", "w", newline="",
                  encoding="utf-8") as f:
            out = csv.DictWriter(f, columns, lineterminator="\n")
            out.writeheader()
            out.writerows(rows)
        os.replace(self.path(name) + ".new", self.path(name))

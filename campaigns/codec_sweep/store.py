# SPDX-License-Identifier: Apache-2.0
"""The folder of a sweep.

sweep.json   what is swept, whether it is finished, and the files that were
             made of it: a sweep that begins anew deletes them
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
    comparable, as JSON: those of another one are not gone on with. Its "grid"
    says which cells there are: --resume may ask for others."""

    def __init__(self, folder, identity):
        self.folder, self.identity = folder, identity
        self.file, self.finished, self.outputs = None, False, []

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
        self.finished = finished
        if self.folder:
            _write(self.path("sweep.json"), json.dumps(
                {"finished": finished, "outputs": self.outputs,
                 **self.identity}, indent=1) + "\n")

    def output(self, name):
        """The path of a file that will be made of the sweep."""
        if name not in self.outputs:
            self.outputs.append(name)
            self.tell(self.finished)
        return self.path(name)

    def _forget(self, outputs):
        """Delete what another sweep has made."""
        for name in outputs:
            try:
                os.remove(self.path(os.path.basename(name)))
            except FileNotFoundError:
                pass

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

    def _check(self, told, resume):
        """Whether cells that are there are gone on with."""
        if not told or not self._any():
            return False
        other = [name for name, value in self.identity.items()
                 if told.get(name) != value]
        if [name for name in other if name != "grid"]:
            raise SweepError(f"{self.folder}: what is done there has another "
                             f"{', '.join(other)}; --anew forgets it, --out "
                             "takes another folder")
        if resume:
            return True
        if other or not told.get("finished"):
            what = "of another grid" if other else "that is not finished"
            raise SweepError(f"{self.folder} has a sweep {what}: --resume "
                             "goes on with it, --anew forgets it")
        return False

    def open(self, resume=False, anew=False):
        """Begin, or go on. {key as JSON: result} of what is done."""
        if not self.folder:
            return {}
        os.makedirs(self.folder, exist_ok=True)
        told = None
        try:
            told = self._told()
        except SweepError:
            if not anew:
                raise
        going_on = not anew and self._check(told, resume)
        made = told.get("outputs", []) if told else []
        if going_on and told.get("grid") == self.identity["grid"]:
            self.outputs = made
        else:
            self._forget(made)
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
        path = self.output(name)
        with open(path + ".new", "w", newline="", encoding="utf-8") as f:
            out = csv.DictWriter(f, columns, lineterminator="\n")
            out.writeheader()
            out.writerows(rows)
        os.replace(path + ".new", path)

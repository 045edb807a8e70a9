# SPDX-License-Identifier: Apache-2.0
"""The example notebook runs from its first cell to its last."""
import pytest

from conftest import BUILD, PATIENCE, ROOT

nbformat = pytest.importorskip(
    "nbformat", reason="no nbformat: deps/install notebook")
nbclient = pytest.importorskip(
    "nbclient", reason="no nbclient: deps/install notebook")
pytest.importorskip("ipykernel",
                    reason="no ipykernel: deps/install notebook")
NOTEBOOK = ROOT / "campaigns" / "sweep.ipynb"


def test_the_example_notebook_runs(monkeypatch):
    monkeypatch.setenv("CR_BUILD", str(BUILD))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not c.outputs for c in book.cells if c.cell_type == "code")
    nbclient.NotebookClient(
        book, timeout=PATIENCE, kernel_name="python3",
        resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    code = [c for c in book.cells if c.cell_type == "code"]
    told = [output for c in code for output in c.outputs]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    assert sum("image/png" in o.get("data", {}) for o in told) == 2
    assert not any(o.output_type == "error" for o in told)

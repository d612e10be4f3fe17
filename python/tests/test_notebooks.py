"""The notebooks run from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    text = path.read_text(encoding="utf-8")
    if ("heart-disease" in text or "mnist-writers" in text) and "MOTET_DATA" not in os.environ:
        pytest.skip("MOTET_DATA does not name the data folder")
    if "import torch" in text:
        pytest.importorskip("torch")
    notebook = nbformat.reads(text, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "notebooks are kept without outputs"
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5

"""Saved models on new rows."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _motet
from ._cells import is_gap
from ._data import _columns

log = logging.getLogger("motet")


class Model:
    """A model out of a bundle, or out of a file that a run left: :func:`load` opens it."""

    def __init__(self, path: str | os.PathLike[str], client: str | None = None) -> None:
        self._held = _motet.Model(path, client)
        self.path = Path(path)
        """Where it was found."""

    @property
    def card(self) -> dict[str, Any] | None:
        """What a bundle says of itself: features, classes, how the model was chosen, what to expect of it."""
        folder = self.path if self.path.is_dir() else self.path.parent
        card = folder / "card.json"
        return json.loads(card.read_text(encoding="utf-8")) if card.is_file() else None

    def predict(self, rows: Any, *, any_client: bool = False, explain: bool = False) -> list[dict[str, Any]]:
        """What the model says of each row of a file, or of a data frame: one dictionary each.

        Rows that name another client than the model's are refused, unless ``any_client`` is set; ``explain`` says what each column
        contributes, for linear models.
        """
        if isinstance(rows, (str, os.PathLike)):
            return self._of_file(rows, any_client, explain)
        columns = {name: _listed(cells) for name, cells in _columns(rows)}
        lengths = {name: len(cells) for name, cells in columns.items()}
        if len(set(lengths.values())) > 1:
            raise _motet.InputError(f"columns must have as many cells each, and have {lengths}")
        lines = [json.dumps(dict(zip(columns, row)), default=str) for row in zip(*columns.values())]
        with tempfile.TemporaryDirectory() as folder:
            # The same way as from a file: what is deployed is what was tested.
            path = Path(folder) / "rows.jsonl"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return self._of_file(path, any_client, explain)

    def _of_file(self, path: str | os.PathLike[str], any_client: bool, explain: bool) -> list[dict[str, Any]]:
        text, said = self._held.predict(path, any_client, explain)
        for sentence in said:
            log.info("%s", sentence)
        return json.loads(text)  # type: ignore[no-any-return]


def load(path: str | os.PathLike[str], client: str | None = None) -> Model:
    """Opens a client's bundle (its folder or its file), or a file of models that a run left.

    ``client`` is whose personal model is wanted; the shared one by default, and a bundle's only model.
    """
    return Model(path, client)


def _listed(cells: Any) -> list[Any]:
    listed = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.to_list() if hasattr(cells, "to_list") else list(cells)
    plain = (cell.item() if hasattr(cell, "item") else cell for cell in listed)
    return [None if is_gap(cell) else cell for cell in plain]

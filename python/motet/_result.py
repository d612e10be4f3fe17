"""What an experiment left."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _motet

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: Pixels of the report in a notebook.
HEIGHT = 700


@dataclass(frozen=True)
class Models:
    """The models that a run ended with."""

    shared: npt.NDArray[Any]
    """The server's."""
    personal: Mapping[int, npt.NDArray[Any]]
    """Client → the one that it deploys."""


@dataclass(frozen=True)
class Run:
    """One run of an experiment."""

    number: int
    label: str
    method: str
    seed: int
    params: Mapping[str, Any]
    """The method's parameters, every default filled in."""
    final: Mapping[str, float]
    """The last row's metrics."""
    outcome: str
    """``finished``, ``stopped``, ``diverged`` or ``failed``."""
    digest: str
    """SHA-256 of the server's last state: equal runs have equal digests."""


class Result:
    """The records of an experiment: the same as its folder holds, as arrays.

    In a notebook, it shows itself as the report.
    """

    def __init__(self, records: _motet.Records) -> None:
        self._records = records

    @cached_property
    def rows(self) -> dict[str, npt.NDArray[Any]]:
        """One array for each column: every measured round of every run. ``run`` is a place in :attr:`runs`."""
        return self._records.rows()

    @cached_property
    def clients(self) -> dict[str, Any]:
        """One array for each column: every client at the end of every run."""
        columns = self._records.clients()
        columns["name"] = np.array(columns["name"], dtype=object)
        return columns

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was planned: ``manifest.json``."""
        return json.loads(self._records.json("manifest") or "{}")  # type: ignore[no-any-return]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came of it: ``summary.json``, with verdict, cautions and claims."""
        return json.loads(self._records.json("summary") or "{}")  # type: ignore[no-any-return]

    @cached_property
    def runs(self) -> list[Run]:
        """The runs, in their order."""
        runs = self.summary.get("runs", [])
        return [
            Run(
                number=number,
                label=run["label"],
                method=run["method"],
                seed=run["seed"],
                params=run["params"],
                final={name: float(value) for name, value in run["final"].items()},
                outcome=run["outcome"]["kind"],
                digest=run["digest"],
            )
            for number, run in enumerate(runs)
        ]

    @cached_property
    def models(self) -> dict[int, Models]:
        """Run → the models that it ended with, of runs that left any."""
        return {run: Models(shared, personal) for run, shared, personal in self._records.models()}

    @cached_property
    def merits(self) -> list[tuple[int, int, int, npt.NDArray[np.float32]]]:
        """(run, round, target, everybody's weight for the target) of methods that weigh clients."""
        return self._records.merits()

    @property
    def folder(self) -> Path | None:
        """Where the records are, if they were written."""
        return self._records.folder

    def jsonl(self, what: str = "rows") -> str:
        """``rows``, ``clients`` or ``events`` as the file in a folder has them, byte for byte."""
        _check(what, "rows", "clients", "events")
        return self._records.lines(what)

    def to_pandas(self, what: str = "rows") -> pandas.DataFrame:
        """Rows, or ``"clients"``, as a data frame, with each run's label, method and seed."""
        import pandas

        return pandas.DataFrame(self._labelled(what))

    def to_arrow(self, what: str = "rows") -> pyarrow.Table:
        """Rows, or ``"clients"``, as an Arrow table, with each run's label, method and seed."""
        import pyarrow

        return pyarrow.table({name: pyarrow.array(column) for name, column in self._labelled(what).items()})

    def render(self, folder: str | os.PathLike[str], output: str | None = None) -> list[Path]:
        """Writes ``report.html`` and its figures, or another output such as ``"csv"``, into a folder."""
        return self._records.render(folder, output)

    def _labelled(self, what: str) -> dict[str, Any]:
        _check(what, "rows", "clients")
        columns: dict[str, Any] = dict(self.rows if what == "rows" else self.clients)
        cards = self.manifest["runs"]
        of = columns["run"]
        named = {key: np.array([cards[run][key] for run in of]) for key in ("label", "method", "seed")}
        return {"run": columns.pop("run"), **named, **columns}

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        return self._records.table()

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            self.render(folder, "html")
            page = (Path(folder) / "report.html").read_text(encoding="utf-8")
        # A frame: the page's styles are for the page alone.
        return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'


def _check(what: str, *there: str) -> None:
    if what not in there:
        raise _motet.InputError(f"{what!r} is none of {', '.join(map(repr, there))}")


def read(folder: str | os.PathLike[str]) -> Result:
    """The records in a folder that ``motet run`` or :func:`run` wrote."""
    return Result(_motet.read(folder))

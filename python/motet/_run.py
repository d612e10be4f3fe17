"""Running experiments."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _motet
from ._buffers import Buffers
from ._data import Data
from ._objective import Client, Objective
from ._observers import Listener, Observers
from ._result import Result

#: An experiment: a file's path, TOML text, or a dictionary.
Experiment = str | os.PathLike[str] | Mapping[str, Any]


class Problem(Protocol):
    """Clients that belong together, such as ``motet.torch.problem`` gives."""

    @property
    def name(self) -> str:
        """What records call these clients."""

    @property
    def clients(self) -> Sequence[Client | Objective]:
        """One for each client."""

    @property
    def threads(self) -> int:
        """How many of them work at once."""


def run(
    experiment: Experiment,
    *,
    seeds: int | Iterable[int] | None = None,
    data: Data | Iterable[Data] = (),
    clients: Sequence[Client | Objective] | Problem | None = None,
    start: npt.ArrayLike | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    resume: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
    loggers: Iterable[Listener] = (),
    set: Mapping[str, Any] | None = None,
) -> Result:
    """Runs an experiment and gives what it left.

    ``experiment`` is a dictionary as an experiment file has it, TOML text, or the path of a file. In a dictionary, a method may be an
    object of :mod:`motet.methods` or of a class of one's own.

    Parameters
    ----------
    seeds
        Seeds of the runs, instead of those of the experiment.
    data
        Data that ``problem.source = {"kind": "given", "name": …}`` stands for. An experiment that names no source takes the first.
    clients
        A function for each client, where there are no examples: see :class:`Client`.
    start
        Where every run starts.
    out
        Folder for the records, as of ``motet run --out``. Without it, nothing is written.
    overwrite
        Replace the records of an earlier experiment in that folder.
    resume
        Go on with what was begun in that folder and not ended.
    threads
        How many threads to use: all cores by default, and one where clients are Python functions.
    progress
        Show a bar (with ``tqdm``, where it is installed). By default only where somebody looks: in a terminal or a notebook.
    loggers
        Objects that are told of every run and row, such as those of :mod:`motet.tracking`.
    set
        Key → value, put over the experiment: ``{"run.rounds": 50, "method[2].alpha": 0.3}``.

    Examples
    --------
    >>> import motet
    >>> text = '''
    ... problem = { source = { kind = "lrs", clients = 4, examples = 10, dim = 3 } }
    ... run = { rounds = 5 }
    ... method = [{ kind = "flix", alpha = { grid = [1.0, 0.5] } }]
    ... '''
    >>> result = motet.run(text, progress=False)
    >>> [run.label for run in result.runs]
    ['flix alpha=1.0', 'flix alpha=0.5']
    >>> motet.run(text, set={"run.rounds": -1})
    Traceback (most recent call last):
    motet.InputError: experiment: run.rounds: must be a whole number from 0, got -1
    """
    if threads is not None and threads < 1:
        raise _motet.InputError(f"threads = {threads}: must be at least 1")
    if resume and out is None:
        raise _motet.InputError("resume=True goes on in a folder: name it with out=")
    form, text = _written(experiment)
    name = "clients"
    listed_clients: list[Any] | None = None
    if clients is not None:
        problem = clients if hasattr(clients, "clients") else None
        if problem is None and not isinstance(clients, Iterable):
            raise TypeError(f"clients= takes a list with an objective for each client, got {type(clients).__name__}")
        name = getattr(problem, "name", name)
        listed_clients = list(problem.clients if problem is not None else clients)  # type: ignore[arg-type]
        # Python runs one thread at a time: more of them would only wait for each other.
        threads = threads or getattr(problem, "threads", 1)
    how = {
        "out": None if out is None else Path(out),
        "overwrite": overwrite,
        "resume": resume,
        "threads": threads,
        "set": _changes(seeds, set),
    }
    given = [data] if isinstance(data, Data) else list(data)
    for one in given:
        if not isinstance(one, Data):
            raise TypeError(f"data= takes motet.Data, got {type(data).__name__}: motet.Data(X, y, clients=…) or motet.Data.of_frame(…) makes it")
    # A problem whose clients keep something for themselves hears of the runs.
    buffers = getattr(clients, "buffers", None)
    kept = [buffers] if isinstance(buffers, Buffers) else []
    with Observers(progress, [*loggers, *kept]) as observers:
        gifts = {
            "data": [one._held for one in given],
            "clients": listed_clients,
            "name": name,
            "start": start,
            "observer": observers,
        }
        return Result(_motet.run(form, text, how, gifts))


def _changes(seeds: int | Iterable[int] | None, put: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """(key, value as JSON) of what is put over an experiment."""
    changes = [(key, _json(value, key)) for key, value in (put or {}).items()]
    if seeds is not None:
        try:
            listed = [operator.index(seed) for seed in (seeds if isinstance(seeds, Iterable) else [seeds])]
        except TypeError:
            raise TypeError(f"seeds = {seeds!r}: must be whole numbers") from None
        changes.append(("seeds", json.dumps(listed)))
    return changes


def _written(experiment: Experiment) -> tuple[str, str]:
    """Which form an experiment has, and its text."""
    if isinstance(experiment, Mapping):
        return "json", _json(experiment, "experiment")
    if not isinstance(experiment, (str, os.PathLike)):
        raise TypeError(f"an experiment is a dictionary, TOML text or the path of a file, got {type(experiment).__name__}")
    if isinstance(experiment, str) and not experiment.strip():
        raise _motet.InputError("the experiment is an empty text")
    # A file's name may have the sign as well.
    if isinstance(experiment, str) and ("\n" in experiment or ("=" in experiment and not os.path.exists(experiment))):
        return "toml", experiment
    return "file", os.fspath(experiment)


def _json(value: Any, what: str) -> str:
    """As JSON, which has finite numbers alone."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError as error:
        raise _motet.InputError(f"{what}: {error}") from None


def _plain(value: Any) -> Any:
    """What JSON has for a value that is none of its own: methods, numbers and arrays of NumPy, paths."""
    if isinstance(value, type):
        raise TypeError(f"an experiment has methods, and {value.__name__} is a class: write {value.__name__}(…)")
    table = getattr(value, "_table", None)
    if callable(table):
        return table()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"an experiment cannot have {value!r}: numbers, texts, lists, tables and methods are what it may have")

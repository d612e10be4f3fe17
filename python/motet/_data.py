"""Data of one's own: arrays, data frames, sparse matrices, datasets of PyTorch and Hugging Face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _motet
from ._cells import cells, is_gap

#: What rows are for, by the names that experiments have.
USAGES = {"train": 0, "validation": 1, "test": 2}


class Data:
    """Rows, a label for each, and whose each is.

    >>> import motet, numpy as np
    >>> rows = np.array([[0.1, 3.0], [0.9, 1.0], [0.3, 2.0], [0.8, 0.0]])
    >>> data = motet.Data(rows, ["calm", "storm", "calm", "storm"], clients=["east", "east", "west", "west"])
    >>> data
    <motet.Data "data": 4 rows of 2 features, 2 clients, 2 classes>

    ``X`` is a two-dimensional array or a sparse matrix of SciPy; in an array single precision stays single, and bytes are pixels from 0 to 1 and
    stay bytes. ``y`` are classes (words, whole numbers, truths) or numbers to predict; ``targets`` says which where that is not plain.
    ``usage`` says of each row what it is for: ``"train"``, ``"validation"`` or ``"test"``. Without ``clients``, the split of the
    experiment deals the rows.

    Nothing is copied where nobody can write to ``X`` any more and its rows lie one after another: arrays that are only read, such as
    ``numpy.load(file, mmap_mode="r")`` gives, and what had to be converted anyway. Other arrays are copied, so that the program may go
    on writing to its own. ``copy=False`` copies nothing, makes ``X`` read-only instead (through other arrays of the same memory nobody must
    write either), and is refused where rows do not lie one after another; ``copy=True`` always copies. Sparse matrices are copied into a form of their own, in
    double precision. If something is wrong, the error names the row.
    """

    _held: _motet.Data

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        clients: npt.ArrayLike | None = None,
        *,
        usage: Sequence[str] | None = None,
        targets: str = "auto",
        name: str = "data",
        copy: bool | None = None,
    ) -> None:
        features, lend = _features(X, copy)
        labels = _labels(y, targets)
        coded = None if clients is None else _coded(clients, "clients")
        self._held = _motet.Data.of_rows(name, features, labels, coded, _used(usage), lend)

    @classmethod
    def of_frame(
        cls,
        frame: Any,
        *,
        target: str,
        client: str | None = None,
        targets: str = "auto",
        categories: str | Iterable[str] = (),
        drop: str | Iterable[str] = (),
        standardise: bool = True,
        usage: Sequence[str] | None = None,
        name: str = "data",
    ) -> Data:
        """The columns of a data frame (pandas, polars), an Arrow table, or a dictionary of lists.

        Words become columns of 0 and 1; each client fills gaps and standardises with its own training rows, as with the source
        ``table``. ``categories`` are columns whose numbers are names, as those of a kind of category are anyway.

        >>> import motet
        >>> columns = {"ward": ["north", "south"] * 2, "age": [61.0, None, 48.0, 70.0], "ill": ["yes", "no", "no", "yes"]}
        >>> motet.Data.of_frame(columns, client="ward", target="ill").clients
        ['ward north', 'ward south']
        """
        named, left_out = list(_columns(frame)), _names(drop)
        unknown = next((name for name in left_out if name not in dict(named)), None)
        if unknown is not None:
            raise _motet.InputError(f"drop: there is no column {unknown!r}; there are {', '.join(repr(label) for label, _ in named)}")
        names = {client, *_names(categories)}
        columns: list[tuple[str, Any]] = []
        for label, given in named:
            if label in left_out:
                continue
            if label in dict(columns):
                raise _motet.InputError(f"there is more than one column {label!r}")
            try:
                columns.append((label, cells(given, names=label in names, exact=label == target and targets != "numbers")))
            except TypeError as error:
                raise _motet.InputError(f"column {label!r}: {error}; or leave it out with drop=") from None
        roles = {
            "client": client,
            "target": target,
            "targets": targets,
            "categories": _names(categories),
            "standardise": standardise,
        }
        return cls._of(_motet.Data.of_columns(name, columns, roles, _used(usage)))

    @classmethod
    def of_torch(
        cls,
        datasets: Sequence[Any] | Mapping[str, Any],
        *,
        usage: str | Sequence[str] | None = None,
        targets: str = "auto",
        name: str = "data",
    ) -> Data:
        """One ``torch.utils.data.Dataset`` of (features, label) for each client: a list, or client → dataset.

        The features of an example are laid out as one row. For modules of one's own, see ``motet.torch``.
        """
        named = datasets if isinstance(datasets, Mapping) else {str(k): dataset for k, dataset in enumerate(datasets)}
        rows, labels, clients = [], [], []
        for client, dataset in named.items():
            for k in range(len(dataset)):
                example, label = dataset[k]
                rows.append(np.asarray(example).reshape(-1))
                labels.append(np.asarray(label).item())
                clients.append(client)
        if not rows:
            raise _motet.InputError("the datasets have no examples")
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise _motet.InputError(f"examples have {min(widths)} to {max(widths)} numbers: all must have the same shape")
        each = [usage] * len(rows) if isinstance(usage, str) else usage
        return cls(np.stack(rows), labels, clients, usage=each, targets=targets, name=name, copy=False)

    @classmethod
    def of_huggingface(
        cls,
        dataset: Any,
        *,
        target: str,
        client: str | None = None,
        features: str | Iterable[str] | None = None,
        targets: str = "auto",
        name: str = "data",
    ) -> Data:
        """A Hugging Face ``datasets.Dataset`` with a column for the client.

        ``features`` is one column of images or vectors, or the names of several columns of numbers and words, which are taken as
        those of a data frame are; all other columns by default.
        """
        if isinstance(dataset, Mapping):
            raise _motet.InputError(f"there are several datasets: choose one of {', '.join(map(repr, dataset))}")
        if not hasattr(dataset, "__len__"):
            raise _motet.InputError("the dataset is a stream: load it whole, with streaming=False")
        if isinstance(features, str):
            # Without being told, it would give double precision as single.
            double = "float64" in str(dataset.features[features])
            table = dataset.with_format("numpy", **({"dtype": np.float64} if double else {}))
            stacked = np.stack([np.asarray(cell).reshape(-1) for cell in table[features][:]])
            clients = None if client is None else list(dataset[client])
            return cls(stacked, list(dataset[target]), clients, targets=targets, name=name, copy=False)
        table = dataset.data.table if hasattr(dataset, "data") else dataset
        wanted = list(features) if features is not None else [label for label in table.column_names if label not in (target, client)]
        keep = {*wanted, target, *([client] if client is not None else [])}
        columns = {label: dataset[label][:] for label in table.column_names if label in keep}
        return cls.of_frame(columns, target=target, client=client, targets=targets, name=name)

    @classmethod
    def _of(cls, held: _motet.Data) -> Data:
        made = cls.__new__(cls)
        made._held = held
        return made

    @property
    def name(self) -> str:
        """What records call the data."""
        return self._held.name

    @property
    def clients(self) -> list[str]:
        """What the clients are called, in the order of their numbers."""
        return self._held.clients

    @property
    def classes(self) -> list[str]:
        """What the classes are called, in the order of their numbers."""
        return self._held.classes

    @property
    def features(self) -> int:
        """How many numbers a row has for a model."""
        return self._held.features

    @property
    def sha256(self) -> str:
        """Of all values, labels and clients, as manifests have it."""
        return self._held.sha256

    def __len__(self) -> int:
        return self._held.rows

    def __repr__(self) -> str:
        classes = "" if self._held.class_count is None else f", {self._held.class_count} classes"
        clients = f", {len(self.clients)} clients" if self.clients else ""
        return f'<motet.Data "{self.name}": {len(self)} rows of {self.features} features{clients}{classes}>'


def _features(X: Any, copy: bool | None) -> tuple[Any, bool]:
    """Rows as they are taken: in one of the precisions there are, or sparse; and may they be read where they lie?"""
    _refuse_masks(X, "features")
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        _refuse_complex(rows)
        if not rows.has_canonical_format:
            # A copy: columns in order, none twice. What the caller has stays as it is.
            rows = rows.copy()
            rows.sum_duplicates()
        sparse = {
            "cols": int(rows.shape[1]),
            "starts": np.ascontiguousarray(rows.indptr, dtype=np.uint64),
            "columns": np.ascontiguousarray(rows.indices, dtype=np.uint32),
            "values": np.ascontiguousarray(rows.data, dtype=np.float64),
        }
        return sparse, False
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    try:
        rows = np.asarray(X)
    except ValueError as error:
        raise _motet.InputError(f"rows of features are a two-dimensional array: {error}") from None
    if rows.ndim != 2:
        raise _motet.InputError(f"rows of features are a two-dimensional array, got one of shape {rows.shape}")
    _refuse_complex(rows)
    if len(rows) > 0 == rows.shape[1]:
        raise _motet.InputError(f"rows have no features: the array is of shape {rows.shape}")
    ours = not isinstance(X, np.ndarray) and bool(rows.flags.owndata)
    if rows.dtype not in (np.float64, np.float32, np.uint8):
        try:
            rows, ours = rows.astype(np.float64), True
        except (TypeError, ValueError) as error:
            raise _motet.InputError(f"features must be numbers: {error}; words are for motet.Data.of_frame") from None
    if not rows.flags.c_contiguous:
        rows, ours = np.ascontiguousarray(rows), True
    if copy is False:
        if ours and isinstance(X, np.ndarray):
            raise _motet.InputError("copy=False: the numbers must be of single or double precision or bytes, one row after another")
        rows.setflags(write=False)
    return rows, ours or copy is False or (copy is None and _is_read_only(rows))


def _refuse_complex(rows: Any) -> None:
    if rows.dtype.kind == "c":
        raise _motet.InputError("features must be numbers of one part, and these are complex")


def _refuse_masks(values: Any, what: str) -> None:
    """A mask would be lost with the next array that is made."""
    if np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise _motet.InputError(f"{what}: row {row} is masked; fill masked values, leave such rows out, or give columns to motet.Data.of_frame, which has gaps")


def _is_read_only(array: Any) -> bool:
    """Can nobody write to its memory, by this array or by one that it is a part of?"""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    # What is below an array says itself whether it may be written to.
    try:
        return array is None or memoryview(array).readonly
    except TypeError:
        return False


def _labels(y: npt.ArrayLike, targets: str) -> Any:
    if targets not in ("auto", "classes", "numbers"):
        raise _motet.InputError(f'targets = {targets!r}: must be "auto", "classes" or "numbers"')
    _refuse_masks(y, "labels")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise _motet.InputError(f"labels are a one-dimensional array, got one of shape {labels.shape}")
    numbers = targets == "numbers" or (targets == "auto" and np.issubdtype(labels.dtype, np.floating))
    if numbers:
        try:
            return np.ascontiguousarray(labels, dtype=np.float64)
        except ValueError as error:
            raise _motet.InputError(f"labels must be numbers: {error}") from None
    return _coded(labels, "labels")


def _coded(values: npt.ArrayLike, what: str) -> dict[str, Any]:
    """A code for each row, and the name of each code: in order of value where all are numbers, else of letters."""
    _refuse_masks(values, what)
    array = np.asarray(values)
    if array.ndim != 1:
        raise _motet.InputError(f"{what} are a one-dimensional array, got one of shape {array.shape}")
    if array.dtype == object or np.issubdtype(array.dtype, np.floating):
        gap = next((row for row, value in enumerate(array.tolist()) if is_gap(value)), None)
        if gap is not None:
            raise _motet.InputError(f"{what}: row {gap} has none")
    if array.dtype == object:
        array = np.array([str(value) for value in array.tolist()])
    if array.dtype == bool:
        array = array.astype(np.int64)
    # Whole numbers as such are called 3 and not 3.0; those beyond what fits stay apart as they are.
    if np.issubdtype(array.dtype, np.floating) and np.all((array == np.floor(array)) & (np.abs(array) < 2.0**63)):
        array = array.astype(np.int64)
    different, codes = np.unique(array, return_inverse=True)
    names = [str(name) for name in different.tolist()]
    try:
        order = sorted(range(len(names)), key=lambda k: float(names[k]))
    except ValueError:
        order = list(range(len(names)))
    places = np.empty(len(names), dtype=np.uint32)
    places[order] = np.arange(len(names), dtype=np.uint32)
    return {"codes": np.ascontiguousarray(places[codes.reshape(-1)], dtype=np.uint32), "names": [names[k] for k in order]}


def _used(usage: Sequence[str] | None) -> npt.NDArray[np.uint8] | None:
    if usage is None:
        return None
    if isinstance(usage, str):
        raise _motet.InputError(f"usage = {usage!r}: must be a word for each row")
    unknown = set(usage) - set(USAGES)
    if unknown:
        raise _motet.InputError(f"usage {sorted(unknown)[0]!r}: must be train, validation or test")
    return np.array([USAGES[word] for word in usage], dtype=np.uint8)


def _columns(frame: Any) -> Iterable[tuple[str, Any]]:
    """(name, cells) of a data frame, an Arrow table or a dictionary."""
    if isinstance(frame, Mapping):
        return [(str(label), cells) for label, cells in frame.items()]
    if hasattr(frame, "iter_columns") and hasattr(frame, "columns"):
        return [(column.name, column) for column in frame.iter_columns()]
    if hasattr(frame, "collect_schema"):
        return _columns(frame.collect())  # a query of polars
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    if names is None:
        raise TypeError(f"a data frame, an Arrow table or a dictionary of columns is wanted, got {type(frame).__name__}")
    return [(str(label), frame[label]) for label in names]


def _names(names: str | Iterable[str]) -> list[str]:
    """One name or several."""
    return [names] if isinstance(names, str) else list(names)

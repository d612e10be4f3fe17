"""The cells of a column, whatever library it is of: numbers with a gap as NaN, or words with a gap as ``None``."""

from __future__ import annotations

import datetime
import decimal
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

#: Whole numbers up to this one are different in double precision.
EXACT = 2**53
#: What has one number. (Complex ones have two.)
NUMBERS = (int, float, decimal.Decimal, np.integer, np.floating, np.bool_)


def cells(column: Any, *, names: bool = False, exact: bool = False) -> Any:
    """The cells of a column. ``names`` says that its numbers are names, ``exact`` that they may be: different ones must not become one."""
    if isinstance(column, np.ma.MaskedArray):
        column = [None if masked else cell for cell, masked in zip(column.data, np.ma.getmaskarray(column))]
    if _is_categories(column):
        return _words(_listed(column))
    numbers = _numbers(column)
    if numbers is None:
        listed = [None if is_gap(cell) else cell for cell in _listed(column)]
        if not all(cell is None or isinstance(cell, NUMBERS) for cell in listed):
            return _words(listed)
        numbers = np.array([np.nan if cell is None else float(cell) for cell in listed], dtype=np.float64)
    if (names or exact) and bool(np.any(np.abs(numbers) >= EXACT)):
        listed = _listed(column)
        if any(isinstance(cell, (int, np.integer)) and abs(int(cell)) >= EXACT for cell in listed):
            if names:
                return _words(listed)
            raise TypeError(f"whole numbers of {EXACT} and beyond cannot be told apart: make words of them, or say targets=\"numbers\"")
    return numbers


def is_gap(cell: Any) -> bool:
    """Is there nothing in a cell?"""
    # NaN and pandas' own kinds of gaps are not equal to themselves, or say so by their type.
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NAType", "NaTType")


def _is_categories(column: Any) -> bool:
    """Are its values, also numbers, names for something?"""
    if hasattr(column, "to_pylist"):
        return str(column.type).startswith("dictionary")
    kind = getattr(column, "dtype", None)
    # Of pandas, polars, and pandas on Arrow.
    return type(kind).__name__ in ("CategoricalDtype", "Categorical", "Enum") or str(kind).startswith("dictionary")


def _numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """All at once, without an object of Python for each; none where they are not numbers, or nobody knows."""
    kind: Any = getattr(column, "dtype", None)
    if hasattr(column, "to_pylist"):
        types = importlib.import_module("pyarrow").types
        if any(is_kind(column.type) for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)):
            # Bits have no way to double precision but by whole numbers.
            column = column.cast("int8") if types.is_boolean(column.type) else column
            return np.ascontiguousarray(column.cast("float64", safe=False), dtype=np.float64)
    elif hasattr(kind, "is_numeric"):
        if kind.is_numeric() or str(kind) == "Boolean":
            return np.ascontiguousarray(column.cast(importlib.import_module("polars").Float64).to_numpy(), dtype=np.float64)
    elif isinstance(column, np.ndarray):
        if column.dtype.kind in "fiub":
            return np.ascontiguousarray(column, dtype=np.float64)
    elif getattr(kind, "kind", "") in tuple("fiub") and hasattr(column, "to_numpy"):
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    return None


def _listed(column: Any) -> list[Any]:
    """As objects of Python."""
    for name in ("to_pylist", "to_list"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _words(listed: list[Any]) -> list[str | None]:
    for cell in listed:
        if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
            raise TypeError("dates and times are neither numbers nor words: make numbers of them, such as days since the first")
        many = hasattr(cell, "__array__") or hasattr(cell, "__array_interface__") or isinstance(cell, (list, tuple, dict, set, complex))
        if many and not isinstance(cell, np.generic):
            raise TypeError("lists, arrays and pictures are neither numbers nor words: give them to motet.Data as rows of numbers")
    return [None if is_gap(cell) else str(cell) for cell in listed]

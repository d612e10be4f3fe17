"""Columns of every library: which are numbers, which are words, and that nothing is lost on the way."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

import motet
from motet._cells import EXACT, cells


def same(found: object, wanted: list[object]) -> bool:
    """Numbers as numbers, words as words."""
    if isinstance(found, np.ndarray):
        return found.dtype == np.float64 and np.array_equal(found, np.array(wanted, dtype=np.float64), equal_nan=True)
    return found == wanted


def test_numbers_of_every_library_are_numbers_and_their_gaps_nan() -> None:
    pandas, polars, arrow = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    whole, gaps = [3, 1, 2], [3, None, 2]
    for kind in ("int8", "uint16", "int64", "float32", "float64"):
        assert same(cells(pandas.Series(whole, dtype=kind)), whole) and same(cells(np.array(whole, dtype=kind)), whole)
    for kind in ("Int64", "UInt8", "Float32", "int64[pyarrow]", "double[pyarrow]"):
        assert same(cells(pandas.Series(gaps, dtype=kind)), [3, np.nan, 2])
    assert same(cells(pandas.Series([True, None, False], dtype="boolean")), [1, np.nan, 0])
    for kind in (polars.Int32, polars.UInt64, polars.Float32, polars.Decimal(10, 2)):
        assert same(cells(polars.Series("x", gaps).cast(kind)), [3, np.nan, 2])
    assert same(cells(polars.Series("x", [True, None, False])), [1, np.nan, 0])
    for kind in (arrow.int16(), arrow.uint64(), arrow.float32(), arrow.decimal128(30, 2)):
        for column in (arrow.array(gaps).cast(kind), arrow.chunked_array([arrow.array(gaps[:1]), arrow.array(gaps[1:], arrow.int64())]).cast(kind)):
            assert same(cells(column), [3, np.nan, 2])
    assert same(cells(arrow.array([True, None, False])), [1, np.nan, 0])
    assert same(cells([Decimal("1.5"), None, Decimal(2)]), [1.5, np.nan, 2])
    assert same(cells(pandas.Series([Decimal("1.5"), Decimal("NaN")], dtype=object)), [1.5, np.nan])


def test_numbers_are_not_made_one_by_one() -> None:
    """An object of Python for each of ten million cells would take seconds."""
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

    def forbidden(self: object) -> list[object]:
        raise AssertionError("cell by cell")

    class Watched(polars.Series):
        to_list = forbidden
        __iter__ = forbidden

    assert same(cells(Watched("x", [1, None])), [1, np.nan])
    column = arrow.array(np.arange(1_000_000))
    assert same(cells(column)[-2:], [999_998, 999_999])


def test_categories_are_words_also_where_they_are_numbers() -> None:
    pandas, polars, arrow = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    words = ["3", None, "10"]
    assert cells(pandas.Series([3, None, 10]).astype("Int64").astype("category")) == words
    assert cells(pandas.Series(["3", None, "10"], dtype="category")) == words
    assert cells(polars.Series("x", ["3", None, "10"], dtype=polars.Categorical)) == words
    assert cells(polars.Series("x", ["3", None, "10"], dtype=polars.Enum(["3", "10"]))) == words
    assert cells(arrow.array([3, None, 10]).dictionary_encode()) == words
    assert cells(pandas.Series(arrow.array([3, None, 10]).dictionary_encode(), dtype=pandas.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.int64())))) == words
    frame = pandas.DataFrame({"ward": ["n", "s"] * 4, "kind": pandas.Series([1, 2, 3, 1] * 2, dtype="category"), "ill": ["yes", "no", "no", "yes"] * 2})
    assert motet.Data.of_frame(frame, client="ward", target="ill").features == 3


def test_masked_cells_are_gaps() -> None:
    mask = [False, True, False]
    assert same(cells(np.ma.array([1, 2, 3], mask=mask)), [1, np.nan, 3])
    assert cells(np.ma.array(["a", "b", "c"], mask=mask)) == ["a", None, "c"]
    rows = np.ma.array(np.zeros((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])
    for given, said in [
        ((rows, ["a", "b", "a"], [0, 0, 0]), "features: row 1 is masked"),
        ((rows.data, np.ma.array([1, 2, 1], mask=mask), [0, 0, 0]), "labels: row 1 is masked"),
        ((rows.data, ["a", "b", "a"], np.ma.array([1, 2, 1], mask=mask)), "clients: row 1 is masked"),
    ]:
        with pytest.raises(motet.InputError, match=said):
            motet.Data(*given)
    assert len(motet.Data(np.ma.array(np.eye(3)), ["a", "b", "a"], [0, 0, 0])) == 3, "nothing is masked"


def test_large_whole_numbers_stay_apart() -> None:
    pandas, polars, arrow = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numbers = [EXACT + 1, EXACT + 2, EXACT, -EXACT - 1] * 2
    frame = {"id": numbers, "x": [1.0, 2.0, 3.0, 4.0] * 2, "ill": ["yes", "no"] * 4}
    for made in (frame, pandas.DataFrame(frame), polars.DataFrame(frame), arrow.table(frame), {**frame, "id": np.array(numbers)}):
        # What double precision cannot tell apart is no name of a client in any table.
        with pytest.raises(motet.InputError, match="column `id`: .* are one number and two names of clients"):
            motet.Data.of_frame(made, client="id", target="ill")
        assert motet.Data.of_frame(made, target="ill", categories="id").features == 5
        with pytest.raises(motet.InputError, match=f"column 'id': whole numbers of {EXACT} and beyond"):
            motet.Data.of_frame(made, target="id")
        assert len(motet.Data.of_frame(made, target="id", targets="numbers")) == 8
    far_apart = motet.Data.of_frame({**frame, "id": [EXACT + 2, EXACT + 4] * 4}, client="id", target="ill")
    assert far_apart.clients == [f"id {EXACT + 2}", f"id {EXACT + 4}"]
    small = motet.Data.of_frame({**frame, "id": [10, 9] * 4}, client="id", target="ill")
    assert small.clients == ["id 9", "id 10"]
    # As arrays too: floats beyond every whole number of 64 bits, and infinity.
    far = [1e19, 2e19, np.inf, 1e19]
    assert motet.Data(np.eye(4), ["a", "b"] * 2, far).clients == ["1e+19", "2e+19", "inf"]


def test_what_is_neither_number_nor_word_is_refused_by_its_column() -> None:
    class Picture:
        __array_interface__: dict[str, object] = {}

    frame = {"ward": ["n", "s"], "ill": ["yes", "no"]}
    for odd, said in [
        ([[1.0, 2.0], [3.0, 4.0]], "lists, arrays and pictures"),
        ([{"bytes": b""}, None], "lists, arrays and pictures"),
        ([Picture(), Picture()], "lists, arrays and pictures"),
        ([1j, 2j], "lists, arrays and pictures|complex"),
        ([datetime.date(2020, 1, 1), None], "dates and times"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"), "dates and times"),
    ]:
        with pytest.raises(motet.InputError, match=f"column 'odd': ({said})"):
            motet.Data.of_frame({**frame, "odd": odd}, client="ward", target="ill")


def test_complex_sparse_matrices_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(motet.InputError, match="these are complex"):
        motet.Data(sparse.csr_array(np.eye(3) * 1j), ["a", "b", "a"], [0, 0, 0])


def test_advice_on_data_takes_no_names_of_columns() -> None:
    data = motet.Data(np.eye(4), ["a", "b"] * 2, [0, 0, 1, 1])
    with pytest.raises(TypeError, match="target= names columns of a data frame"):
        motet.advise(data, target="ill")

"""Data of a program: every form gives the same numbers, and what is wrong is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import motet

DICE = np.random.default_rng(5)
X = DICE.normal(size=(60, 4))
Y = np.where(X[:, 0] - X[:, 1] + DICE.normal(size=60) / 3 > 0, "yes", "no")
WARD = np.array(["north", "south", "10", "9"])[DICE.integers(0, 4, size=60)]

EXPERIMENT = {
    "problem": {"model": {"kind": "logistic", "l2": 0.1, "intercept": True}, "holdout": {"test": 0.25}},
    "run": {"rounds": 12},
    "method": [motet.methods.Flix(alpha=0.5)],
}


def losses(data: motet.Data) -> np.ndarray:
    result = motet.run(EXPERIMENT, data=data, progress=False)
    assert "test.accuracy" in result.rows
    return result.rows["loss"]


def test_rows_lists_sparse_and_single_precision_agree() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = losses(motet.Data(rows, Y, WARD))
    assert dense[-1] < dense[0]
    np.testing.assert_array_equal(losses(motet.Data(rows.tolist(), Y.tolist(), WARD.tolist())), dense)
    np.testing.assert_array_equal(losses(motet.Data(np.asfortranarray(rows), Y, WARD)), dense)
    # Sums over the non-zeros alone have another order of additions.
    np.testing.assert_allclose(losses(motet.Data(sparse.csr_matrix(rows), Y, WARD)), dense, rtol=1e-12)
    np.testing.assert_allclose(losses(motet.Data(sparse.coo_array(rows), Y, WARD)), dense, rtol=1e-12)
    np.testing.assert_allclose(losses(motet.Data(rows.astype(np.float32), Y, WARD)), dense, rtol=1e-6)


def test_what_nobody_writes_to_is_read_where_it_lies(tmp_path: Path) -> None:
    wanted = losses(motet.Data(X, Y, WARD))
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    frozen, open_, locked = X.copy(), X.copy(), X.astype(np.float32)
    frozen.setflags(write=False)
    for rows, how, held in [
        (frozen, {}, True),
        (frozen, {"copy": True}, False),
        (frozen[:, :], {}, True),
        (open_, {}, False),
        (open_.view(), {}, False),
        (mapped, {}, True),
        (locked, {"copy": False}, True),
    ]:
        before = sys.getrefcount(rows)
        data = motet.Data(rows, Y, WARD, **how)
        assert (sys.getrefcount(rows) > before) == held
        if rows.dtype == np.float64:
            np.testing.assert_array_equal(losses(data), wanted)
        del data
        assert sys.getrefcount(rows) == before, "let go with the data"
    assert not locked.flags.writeable and open_.flags.writeable
    # A part of what may be written to is copied, and stays as it was.
    part = open_[:, :]
    part.setflags(write=False)
    data = motet.Data(part, Y, WARD)
    open_[:] = 0.0
    np.testing.assert_array_equal(losses(data), wanted)
    with pytest.raises(motet.InputError, match="one row after another"):
        motet.Data(np.asfortranarray(X), Y, WARD, copy=False)


def test_the_experiment_may_name_the_data() -> None:
    data = motet.Data(X, Y, WARD, name="patients")
    named = {**EXPERIMENT, "problem": {**EXPERIMENT["problem"], "source": {"kind": "given", "name": "patients"}}}
    result = motet.run(named, data=data, progress=False)
    inputs = result.manifest["inputs"]
    assert inputs[0]["name"] == "patients" and inputs[0]["sha256"] == data.sha256
    with pytest.raises(motet.InputError, match="patients"):
        motet.run(named, data=motet.Data(X, Y, WARD, name="others"), progress=False)


def test_frames_of_every_library_agree() -> None:
    pandas, polars, arrow = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    age = X[:, 0].copy()
    age[::7] = np.nan
    smokes = np.array(["yes", "no", "often"])[DICE.integers(0, 3, size=60)]
    columns = {"ward": WARD, "age": age, "dose": X[:, 1], "smokes": smokes, "ill": Y}
    plain = {name: [None if cell != cell else cell for cell in cells.tolist()] for name, cells in columns.items()}
    roles = {"client": "ward", "target": "ill"}
    frames = [plain, pandas.DataFrame(columns), polars.DataFrame(plain), arrow.table(plain)]
    first, *others = [motet.Data.of_frame(frame, **roles) for frame in frames]
    assert first.features == 5 and len(first.clients) == 4
    assert all(other.sha256 == first.sha256 for other in others)
    values = losses(first)
    assert values[-1] < values[0]
    fewer = motet.Data.of_frame(frames[1], **roles, drop=["smokes"])
    assert fewer.features == 2
    assert motet.Data.of_frame(frames[2].lazy(), **roles).sha256 == first.sha256
    dated = frames[1].assign(since=pandas.date_range("2020-01-01", periods=60))
    for other in (dated, polars.from_pandas(dated), arrow.Table.from_pandas(dated)):
        with pytest.raises(motet.InputError, match="column 'since': dates and times .* drop="):
            motet.Data.of_frame(other, **roles)
    assert motet.Data.of_frame(dated, **roles, drop="since").sha256 == first.sha256
    with pytest.raises(motet.InputError, match="more than one column 'dose'"):
        motet.Data.of_frame(pandas.concat([frames[1], frames[1][["dose"]]], axis=1), **roles)


def test_torch_datasets_and_numbers_to_predict() -> None:
    class Dataset:
        def __init__(self, rows: np.ndarray) -> None:
            self.rows = rows

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, k: int) -> tuple[np.ndarray, float]:
            return self.rows[k].reshape(2, 2), float(self.rows[k].sum())

    data = motet.Data.of_torch({"a": Dataset(X[:20]), "b": Dataset(X[20:])})
    assert data.clients == ["a", "b"] and data.features == 4 and data.classes == []
    result = motet.run(
        {"problem": {"model": {"kind": "ridge"}}, "run": {"rounds": 60}, "method": [motet.methods.Flix(alpha=1.0)]},
        data=data,
        progress=False,
    )
    np.testing.assert_allclose(result.models[0].shared, np.ones(4), atol=1e-3)


def test_classes_and_clients_are_in_natural_order() -> None:
    data = motet.Data(X, (X[:, 0] > 0) * 5 + 5, [10, 9] * 30)
    assert data.classes == ["5", "10"] and data.clients == ["9", "10"]
    assert motet.Data(X, Y, WARD).clients == ["10", "9", "north", "south"]
    assert repr(data) == '<motet.Data "data": 60 rows of 4 features, 2 clients, 2 classes>'


def test_usage_says_which_rows_are_tested() -> None:
    usage = ["test" if k % 3 == 0 else "train" for k in range(60)]
    result = motet.run({**EXPERIMENT, "problem": {"model": {"kind": "logistic", "l2": 0.1}}}, data=motet.Data(X, Y, WARD, usage=usage), progress=False)
    assert result.clients["tested"].sum() == 20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((X, Y[:-1], WARD), "59 labels"),
        ((X, Y, WARD[:-1]), "59 clients"),
        ((X[:, 0], Y, WARD), "two-dimensional"),
        ((np.where(np.arange(240).reshape(60, 4) == 41, np.inf, X), Y, WARD), "row 10"),
        ((X, np.where(np.arange(60) == 7, np.nan, 1.0), WARD), "row 7"),
        ((X, ["same"] * 60, WARD), "one class|1 class"),
        ((X, [None if k == 4 else "yes" for k in range(60)], WARD), "labels: row 4 has none"),
        ((X, Y, [None if k == 5 else "north" for k in range(60)]), "clients: row 5 has none"),
        ((X, Y, np.where(np.arange(60) == 6, np.nan, 1.0)), "clients: row 6 has none"),
        ((np.array([["a"] * 4] * 60), Y, WARD), "features must be numbers"),
        ((X[:0], Y[:0], WARD[:0]), "no rows|empty|are no"),
        ((X[:, :0], Y, WARD), "rows have no features"),
        ((X + 1j, Y, WARD), "these are complex"),
        (([[1.0, 2.0], [3.0]], ["a", "b"], ["n", "s"]), "two-dimensional array: "),
    ],
)
def test_wrong_data_are_refused_with_the_row(arguments: tuple[object, ...], said: str) -> None:
    with pytest.raises(motet.InputError, match=said):
        motet.Data(*arguments)  # type: ignore[arg-type]


def test_wrong_columns_are_refused_by_name() -> None:
    frame = {"ward": ["a", "b"], "age": [1.0, 2.0], "ill": ["yes", "no"]}
    with pytest.raises(motet.InputError, match="wards"):
        motet.Data.of_frame(frame, client="wards", target="ill")
    with pytest.raises(motet.InputError, match="age"):
        motet.Data.of_frame({**frame, "age": [1.0]}, client="ward", target="ill")
    with pytest.raises(motet.InputError, match="drop: there is no column 'agee'; there are 'ward', 'age', 'ill'"):
        motet.Data.of_frame(frame, client="ward", target="ill", drop=["agee"])
    more = {**frame, "dose": [0.0, 1.0]}
    assert motet.Data.of_frame(more, client="ward", target="ill", drop="dose").features == 1
    with pytest.raises(motet.InputError, match="usage = 'train': must be a word for each row"):
        motet.Data(X, Y, WARD, usage="train")
    with pytest.raises(motet.InputError, match='"classes"'):
        losses(motet.Data(X, (X[:, 0] > 0).astype(float), WARD))
    with pytest.raises(motet.InputError, match="usage 'tset'"):
        motet.Data(X, Y, WARD, usage=["tset"] * 60)


@pytest.mark.slow
def test_datasets_of_hugging_face_and_torch() -> None:
    datasets, torch = pytest.importorskip("datasets"), pytest.importorskip("torch")
    table = datasets.Dataset.from_dict(
        {
            "ward": WARD.tolist(),
            "age": X[:, 0].tolist(),
            "smokes": ["yes", "no", "no"] * 20,
            "ill": Y.tolist(),
            "pixels": X.tolist(),
        }
    )
    columns = motet.Data.of_huggingface(table, client="ward", target="ill", features=["age", "smokes"])
    same = motet.Data.of_frame({name: table[name][:] for name in ("ward", "age", "smokes", "ill")}, client="ward", target="ill")
    assert columns.features == 3 and columns.sha256 == same.sha256
    vectors = motet.Data.of_huggingface(table, client="ward", target="ill", features="pixels")
    assert len(vectors) == 60 and vectors.features == 4
    np.testing.assert_allclose(losses(vectors), losses(motet.Data(X, Y, WARD)), rtol=1e-5)
    with pytest.raises(motet.InputError, match="choose one of 'train'"):
        motet.Data.of_huggingface(datasets.DatasetDict({"train": table}), client="ward", target="ill")
    with pytest.raises(motet.InputError, match="is a stream"):
        motet.Data.of_huggingface(table.to_iterable_dataset(), client="ward", target="ill")
    parts = [torch.utils.data.TensorDataset(torch.randn(6, 2, 2), torch.arange(6) % 2) for _ in range(3)]
    torched = motet.Data.of_torch(parts)
    assert torched.features == 4 and torched.clients == ["0", "1", "2"] and torched.classes == ["0", "1"]

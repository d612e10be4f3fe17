"""Data of a program: every form gives the same numbers, and what is wrong is named."""

from __future__ import annotations

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
        ((np.array([["a"] * 4] * 60), Y, WARD), "features must be numbers"),
        ((X[:0], Y[:0], WARD[:0]), "no rows|empty|are no"),
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
    parts = [torch.utils.data.TensorDataset(torch.randn(6, 2, 2), torch.arange(6) % 2) for _ in range(3)]
    torched = motet.Data.of_torch(parts)
    assert torched.features == 4 and torched.clients == ["0", "1", "2"] and torched.classes == ["0", "1"]

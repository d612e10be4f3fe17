"""Advice and saved models: the same answers as the command line's."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import motet

DICE = np.random.default_rng(11)
ROWS = 120
FRAME = {
    "ward": [["north", "south", "west"][k % 3] for k in range(ROWS)],
    "age": DICE.normal(50, 10, size=ROWS).tolist(),
    "dose": [None if k % 10 == 0 else float(dose) for k, dose in enumerate(DICE.normal(size=ROWS))],
    "smokes": [["yes", "no"][k] for k in DICE.integers(0, 2, size=ROWS)],
}
FRAME["ill"] = ["yes" if age + 8 * DICE.normal() > 50 else "no" for age in FRAME["age"]]


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> tuple[motet.Advice, Path]:
    out = tmp_path_factory.mktemp("advice") / "out"
    return motet.advise(FRAME, client="ward", target="ill", splits=3, out=out), out


def test_advice_has_an_answer_for_each_client(advised: tuple[motet.Advice, Path]) -> None:
    advice, out = advised
    assert len(advice.clients) == 3 and advice.splits == 3
    assert {one.advice for one in advice.clients} <= {"join", "stay", "unclear"}
    assert "all together" in repr(advice) and "<table>" in advice._repr_html_()
    assert (out / "advice.html").is_file()


def test_bundles_predict_rows_of_frames_and_files_alike(advised: tuple[motet.Advice, Path], tmp_path: Path) -> None:
    _, out = advised
    bundle = next(path for path in sorted((out / "models").iterdir()) if "north" in path.name)
    model = motet.load(bundle)
    assert model.card is not None and model.card["target"] == "ill"
    new = {"age": [20.0, 80.0, 55.0], "dose": [0.1, None, -0.4], "smokes": ["yes", "no", "no"]}
    said = model.predict(new)
    file = tmp_path / "new.csv"
    file.write_text("age,dose,smokes\n20.0,0.1,yes\n80.0,,no\n55.0,-0.4,no\n")
    assert said == model.predict(file)
    done = subprocess.run([sys.executable, "-m", "motet", "predict", str(bundle), str(file)], capture_output=True, text=True, check=True)
    theirs = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [one["class"] for one in said] == [one["class"] for one in theirs]
    assert said[0]["class"] == "no" and said[1]["class"] == "yes"
    reasons = model.predict(new, explain=True)[0]["because"]["columns"]
    assert set(reasons) == {"age", "dose", "smokes"}
    with pytest.raises(motet.InputError, match="south"):
        model.predict({"ward": ["south"], **{name: cells[:1] for name, cells in new.items()}})
    with pytest.raises(motet.InputError, match="dose"):
        model.predict({"age": [1.0], "smokes": ["yes"]})
    with pytest.raises(motet.InputError, match="as many cells"):
        model.predict({**new, "age": [1.0]})


def test_gaps_of_every_library_are_gaps(advised: tuple[motet.Advice, Path]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    _, out = advised
    model = motet.load(next(iter(sorted((out / "models").iterdir()))))
    new = {"age": [20.0, 80.0], "dose": [0.1, None], "smokes": ["yes", "no"], "since": ["2020-01-01", "2021-01-01"]}
    said = model.predict(new)
    frame = pandas.DataFrame(new)
    for other in (frame, frame.convert_dtypes(), frame.assign(since=pandas.to_datetime(frame.since)), polars.DataFrame(new)):
        assert model.predict(other) == said
    assert model.predict({**new, "dose": np.array([0.1, np.nan], dtype=np.float32).astype(float)})[1] == said[1]


def test_models_of_a_run_are_loaded_by_client(tmp_path: Path) -> None:
    data = motet.Data.of_frame(FRAME, client="ward", target="ill")
    experiment = {
        "problem": {"model": {"kind": "logistic", "l2": 0.1, "intercept": True}},
        "run": {"rounds": 10},
        "method": [motet.methods.Flix(alpha=0.5)],
    }
    motet.run(experiment, data=data, out=tmp_path / "out", progress=False)
    (file,) = (tmp_path / "out" / "models").iterdir()
    row = {"age": [70.0], "dose": [0.0], "smokes": ["no"]}
    assert motet.load(file, client="west").predict(row)[0]["class"] == "yes"
    with pytest.raises(motet.InputError, match="nobody"):
        motet.load(file, client="nobody")


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(TypeError, match="client="):
        motet.advise(FRAME, target="ill")
    with pytest.raises(motet.InputError, match="splits = 0: must be at least 1"):
        motet.advise(FRAME, client="ward", target="ill", splits=0)
    with pytest.raises(TypeError, match="a data frame, an Arrow table or a dictionary of columns is wanted, got list"):
        motet.advise([1, 2], client="ward", target="ill")
    with pytest.raises(motet.InputError, match="minutes = -1"):
        motet.advise(FRAME, client="ward", target="ill", minutes=-1)
    with pytest.raises(motet.InputError, match="nowhere"):
        motet.load("nowhere")

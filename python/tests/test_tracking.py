"""What trackers read back is what the records hold."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import motet

EXPERIMENT = {
    "problem": {"source": {"kind": "lrs", "clients": 4, "examples": 20, "dim": 3}},
    "run": {"rounds": 6},
    "method": [motet.methods.Flix(alpha={"grid": [1.0, 0.5]})],
    "report": {"tensorboard": True},
}


@pytest.mark.slow
def test_tensorboard_reads_its_event_files(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result = motet.run(EXPERIMENT, out=tmp_path / "out", progress=False)
    folders = sorted((tmp_path / "out" / "tensorboard").iterdir())
    assert [folder.name for folder in folders] == ["0-flix-alpha=1.0-seed1", "1-flix-alpha=0.5-seed1"]
    for run, folder in enumerate(folders):
        events = reader.EventAccumulator(str(folder)).Reload()
        assert {"loss", "gap", "bits_up"} <= set(events.Tags()["scalars"])
        read = events.Scalars("loss")
        of = result.rows["run"] == run
        assert [event.step for event in read] == list(range(7))
        np.testing.assert_array_equal([event.value for event in read], result.rows["loss"][of].astype(np.float32))
        assert abs(read[0].wall_time - Path(folder).stat().st_mtime) < 60


def test_event_files_are_written_only_if_asked_for(tmp_path: Path) -> None:
    motet.run(EXPERIMENT, out=tmp_path / "with", progress=False)
    motet.run({**EXPERIMENT, "report": {}}, out=tmp_path / "without", progress=False)
    assert len(list((tmp_path / "with").rglob("events.out.tfevents.*"))) == 2
    assert not (tmp_path / "without" / "tensorboard").exists()


@pytest.mark.slow
def test_mlflow_keeps_runs_in_its_database(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    from motet.tracking import MLflow

    uri = f"sqlite:///{tmp_path}/runs.db"
    result = motet.run(EXPERIMENT, loggers=[MLflow("wards", uri)], progress=False)
    client = mlflow.MlflowClient(tracking_uri=uri)
    runs = client.search_runs([client.get_experiment_by_name("wards").experiment_id], order_by=["start_time"])
    assert [run.data.tags["motet.digest"] for run in runs] == [run.digest for run in result.runs]
    assert [run.info.status for run in runs] == ["FINISHED"] * 2 and runs[1].data.params["alpha"] == "0.5"
    history = client.get_metric_history(runs[0].info.run_id, "loss")
    assert all(abs(point.timestamp / 1000 - time.time()) < 600 for point in history), "times of day"
    np.testing.assert_array_equal([point.value for point in history], result.rows["loss"][result.rows["run"] == 0])


def test_weights_and_biases_is_told_through_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in with the functions that are called: the service itself needs an account."""
    import sys
    import types

    from motet.tracking import WandB

    said: list[tuple[str, object]] = []

    class Run:
        config = types.SimpleNamespace(update=lambda values: said.append(("config", values)))
        summary = types.SimpleNamespace(update=lambda values: said.append(("summary", values)))

        def log(self, values: dict[str, float], step: int) -> None:
            said.append(("log", (step, values["loss"])))

        def finish(self, exit_code: int = 0) -> None:
            said.append(("finish", exit_code))

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=lambda **how: said.append(("init", how["project"])) or Run()))

    class Fails:
        def begin(self, label: str, seed: int, rounds: int) -> None: ...
        def end(self, summary: object) -> None: ...
        def row(self, row: dict[str, object]) -> None:
            raise LookupError("no room")

    with pytest.raises(LookupError):
        motet.run(EXPERIMENT, loggers=[WandB("wards"), Fails()], progress=False)
    assert [word for word, _ in said] == ["init", "log", "finish"] and said.pop() == ("finish", 1), "the run is not left open"
    said.clear()
    result = motet.run(EXPERIMENT, loggers=[WandB("wards")], progress=False)
    assert [word for word, _ in said].count("init") == 2 and said[0] == ("init", "wards")
    assert [value for word, value in said if word == "log"][:7] == list(enumerate(result.rows["loss"][:7]))
    assert said[-1] == ("finish", 0)


def test_mlflow_is_told_how_a_run_ended_that_did_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in with the functions that are called."""
    import sys
    import types

    from motet.tracking import MLflow

    ended: list[str] = []
    moments: list[float] = []

    class Client:
        def __init__(self, tracking_uri: str | None) -> None: ...
        def get_experiment_by_name(self, name: str) -> object:
            return types.SimpleNamespace(experiment_id="1")

        def create_run(self, *_: object, **__: object) -> object:
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="7"))

        def log_batch(self, run: str, metrics: list[object]) -> None: ...
        def set_terminated(self, run: str, status: str) -> None:
            ended.append(status)

    entities = types.SimpleNamespace(Metric=lambda name, value, now, step: moments.append(now / 1000))
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(MlflowClient=Client))
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)

    class Fails:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def begin(self, label: str, seed: int, rounds: int) -> None: ...
        def end(self, summary: object) -> None: ...
        def row(self, row: dict[str, object]) -> None:
            raise self.error

        def close(self, error: BaseException | None) -> None:
            assert error is self.error
            raise OSError("what ended the runs is what the program hears of")

    for error in (KeyboardInterrupt(), LookupError("no room")):
        with pytest.raises(type(error)):
            motet.run(EXPERIMENT, loggers=[MLflow(), Fails(error)], progress=False)
    assert ended == ["KILLED", "FAILED"]
    assert moments and all(abs(moment - time.time()) < 600 for moment in moments), "times of day"

"""Runs in MLflow and Weights & Biases, through their public interfaces: ``motet.run(…, loggers=[MLflow("hospitals")])``.

Every run of an experiment becomes a run there: its rows as metrics by round, its parameters, digest and outcome at the end. Event files
for TensorBoard need no logger: ``[report] tensorboard = true``, or ``result.render(folder, "tensorboard")``.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

from ._motet import Stopped

__all__ = ["MLflow", "WandB"]


class MLflow:
    """Writes runs to an experiment of MLflow.

    ``uri`` is where MLflow keeps them, such as ``"sqlite:///runs.db"``; MLflow's own choice by default.
    """

    def __init__(self, experiment: str = "motet", uri: str | None = None) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=uri)
        found = self._client.get_experiment_by_name(experiment)
        self._experiment = self._client.create_experiment(experiment) if found is None else found.experiment_id
        self._run: str | None = None

    def begin(self, label: str, seed: int, rounds: int) -> None:
        tags = {"motet.label": label, "motet.seed": str(seed)}
        self._run = self._client.create_run(self._experiment, run_name=f"{label} seed {seed}", tags=tags).info.run_id

    def row(self, row: dict[str, Any]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(_name(name), value, now, row["round"]) for name, value in _numbers(row).items()]
        self._client.log_batch(self._run, metrics=metrics)

    def end(self, summary: dict[str, Any]) -> None:
        for name, value in {"method": summary["method"], "seed": summary["seed"], **summary["params"]}.items():
            self._client.log_param(self._run, name, value if isinstance(value, str) else json.dumps(value))
        for name in ("digest", "rounds"):
            self._client.set_tag(self._run, f"motet.{name}", summary[name])
        outcome = summary["outcome"]["kind"]
        self._client.set_tag(self._run, "motet.outcome", outcome)
        self._client.set_terminated(self._run, "FAILED" if outcome == "failed" else "FINISHED")
        self._run = None

    def close(self, error: BaseException | None) -> None:
        """Ends a run that was stopped, or whose program failed."""
        if self._run is not None:
            self._client.set_terminated(self._run, "KILLED" if isinstance(error, (KeyboardInterrupt, Stopped)) else "FAILED")
            self._run = None


class WandB:
    """Writes runs to a project of Weights & Biases; what else ``wandb.init`` takes may be given."""

    def __init__(self, project: str = "motet", **how: Any) -> None:
        import wandb

        self._wandb = wandb
        self._how = {"project": project, **how}
        self._run: Any = None

    def begin(self, label: str, seed: int, rounds: int) -> None:
        config = {"label": label, "seed": seed, "rounds": rounds}
        self._run = self._wandb.init(**{"name": f"{label} seed {seed}", "config": config, "reinit": "create_new", **self._how})

    def row(self, row: dict[str, Any]) -> None:
        self._run.log(_numbers(row), step=row["round"])

    def end(self, summary: dict[str, Any]) -> None:
        self._run.config.update({"method": summary["method"], "params": summary["params"]})
        outcome = summary["outcome"]["kind"]
        self._run.summary.update({"digest": summary["digest"], "outcome": outcome})
        self._run.finish(exit_code=1 if outcome == "failed" else 0)
        self._run = None

    def close(self, error: BaseException | None) -> None:
        """Ends a run that was stopped, or whose program failed."""
        if self._run is not None:
            self._run.finish(exit_code=1)
            self._run = None


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    """What was measured, and what it took. Records write NaN and infinities as words, and some trackers take only finite numbers."""
    found = {name: float(value) for name, value in row["metrics"].items()}
    found.update(bits_up=float(row["bits"]["up"]), gradients=float(row["gradients"]))
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _name(name: str) -> str:
    """MLflow takes letters, digits and a few signs."""
    return "".join(letter if letter.isalnum() or letter in "_-./ " else "_" for letter in name)

"""A program of a user, which nobody runs: `tools/python` checks its types strictly, against the wheel. What must be refused is marked."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import torch

import motet
import motet.sklearn
import motet.torch
from motet import methods

Point = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
Arrays = dict[str, npt.NDArray[Any]]


class Whole:
    dim = 3
    smoothness = 1.0

    def value(self, x: Point) -> float:
        return float(x @ x)

    def gradient(self, x: Point) -> Point:
        return 2 * x


class Sampled:
    dim = 3
    samples = 10

    def value(self, x: Point, rows: Rows | None) -> float:
        return float(x @ x)

    def gradient(self, x: Point, rows: Rows | None) -> tuple[Point, Point]:
        return x[:1], x[1:]


class Judge:
    examples = 3

    def metrics(self, x: Point) -> dict[str, float]:
        return {"loss": float(x @ x)}


class Heard:
    def begin(self, name: str, seed: int, rounds: int) -> None: ...
    def row(self, measured: dict[str, Any]) -> None: ...
    def end(self, summary: dict[str, Any]) -> None: ...


class Signs(motet.Method):
    name = "signs"
    replies = {"sign": None}

    def __init__(self, step: float = 0.1) -> None:
        self.step = step

    def round(self, server: Arrays, turn: motet.Turn) -> Generator[Arrays, list[tuple[int, Arrays]], None]:
        replies = yield {"x": server["x"]}
        server["x"] = server["x"] - self.step * np.sign(sum(reply["sign"] for _, reply in replies))

    def answer(self, me: Arrays, ask: Arrays, site: motet.Site) -> Arrays:
        return {"sign": np.sign(site.gradient(ask["x"]))}


experiment = {"run": {"rounds": 5}, "method": [methods.Flix(alpha=1.0), Signs(step=0.05), {"kind": "local"}]}
result = motet.run(experiment, clients=[Whole(), Whole()], seeds=range(3), loggers=[Heard()])
result = motet.run(experiment, clients=[Sampled(), motet.Client(Sampled(), test_judge=Judge())], start=np.zeros(3))

problem = motet.torch.problem(torch.nn.Identity, torch.nn.functional.mse_loss, [(torch.zeros(4), torch.zeros(4))], metrics=motet.torch.accuracy)
result = motet.run({"method": [methods.Fedavg(step=0.1, batch=10)]}, clients=problem)
weights = problem.state_dict(result.models[0].shared, client=2)["weight"]

frame: pandas.DataFrame = result.to_pandas()
loss: npt.NDArray[Any] = result.rows["loss"]
final: float = result.runs[-1].final["loss"]
labels: list[str] = [one.label for one in result]

data = motet.Data.of_frame(frame, target="label", client="seed")
result = motet.run(Path("wards.toml"), data=data, seeds=[1, 2], out=Path("out"), set={"run.rounds": 3})
result = motet.run("wards.toml", data=[data, motet.Data([[1.0], [2.0]], ["a", "b"], clients=["n", "s"])], seeds=1)

gain: float = motet.advise(frame, client="ward", target="ill").clients[0].gain
said: list[dict[str, Any]] = motet.load("advice/models/north").predict(frame)
estimator = motet.sklearn.PersonalisedClassifier(alpha="validation").fit([[0.0]], ["a"], groups=[1])
chances: npt.NDArray[np.float64] = estimator.predict_proba([[0.0]])

methods.Flix(alhpa=1.0)  # type: ignore[call-arg]
motet.run(experiment, clients=[Judge()])  # type: ignore[list-item]
motet.run(experiment, clients=Whole())  # type: ignore[arg-type]
motet.run(experiment, loggers=[print])  # type: ignore[list-item]
motet.run(experiment, rounds=3)  # type: ignore[call-arg]
result.runs[0].digset  # type: ignore[attr-defined]

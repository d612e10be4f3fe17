"""Any PyTorch module under every method.

>>> import torch, motet, motet.torch                                       # doctest: +SKIP
>>> problem = motet.torch.problem(                                         # doctest: +SKIP
...     lambda: torch.nn.Linear(784, 10), torch.nn.functional.cross_entropy, datasets,
...     test=held_out, metrics=motet.torch.accuracy)
>>> result = motet.run({                                                   # doctest: +SKIP
...     "run": {"rounds": 100},
...     "method": [motet.methods.Scafflix(alpha=0.5, step=0.1, p=0.2, batch=20)],
... }, clients=problem)
>>> problem.state_dict(result.models[0].personal[3], client=3)             # doctest: +SKIP

Methods see one flat vector of all parameters that are trained. Buffers, such as the statistics of batch norm, stay with their client
and are never sent. Whatever throws PyTorch's dice in training, such as dropout, gets them from the run, so that runs repeat; the program's own stay
as they were.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ._buffers import Buffers
from ._motet import InputError
from ._objective import Client
from ._result import Run
from ._trainer import Examples, Metrics, Trainer, Work
from ._worker import Process

__all__ = ["Problem", "accuracy", "problem"]


def accuracy(output: torch.Tensor, targets: torch.Tensor) -> dict[str, float]:
    """The share of examples whose largest output is their class."""
    return {"accuracy": float((output.argmax(1) == targets).double().mean())}


def problem(
    make_module: Callable[[], torch.nn.Module],
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    datasets: Sequence[Any],
    *,
    validation: Sequence[Any] | None = None,
    test: Sequence[Any] | None = None,
    metrics: Metrics | None = None,
    processes: int = 1,
    seed: int = 0,
    name: str = "torch",
) -> Problem:
    """The problem of training a module on every client's data: ``clients=`` of :func:`motet.run`.

    Parameters
    ----------
    make_module
        Makes the module, on the processor; its parameters, drawn with ``seed``, are where training starts.
    loss
        (output, targets) → the mean loss of a batch.
    datasets
        One for each client: a ``torch.utils.data.Dataset`` of (input, target), or a pair of tensors. They are held in memory.
    validation, test
        The same for choosing and for judging; ``None`` for clients without.
    metrics
        (output, targets) → metric → mean over the examples, such as :func:`accuracy`.
    processes
        How many processes work at once. With more than one, each has a module and the data of all clients; functions of a script or
        a notebook are sent to them with cloudpickle. They end with the problem: ``with motet.torch.problem(…, processes=2) as problem:``.
    """
    return Problem(Work(make_module, loss, metrics, _parts(datasets, validation, test), seed), processes, name)


class Problem:
    """Clients that train one module: what :func:`problem` gives.

    With several processes, use it in a ``with``, or close it: they end at the latest with the program.
    """

    def __init__(self, work: Work, processes: int, name: str) -> None:
        if processes < 1:
            raise InputError(f"processes = {processes}: must be at least 1")
        self.name = name
        self.threads = processes
        """As many clients work at once."""
        self._trainer = Trainer(work)
        self._lock = threading.Lock()
        self.start = self._trainer.start
        """Where training starts: all parameters, one after another."""
        self.buffers = Buffers(self._trainer.buffers)
        """What clients keep for themselves; :func:`motet.run` tells it of its runs."""
        self.clients = [self._client(client) for client in range(len(work.parts["train"]))]
        """One for each client."""
        self._workers: list[Process] = []
        self._free: queue.SimpleQueue[Process] = queue.SimpleQueue()
        if processes > 1:
            threads = max(1, torch.get_num_threads() // processes)
            there = Work(work.make_module, work.loss, work.metrics, work.parts, work.seed, threads)
            try:
                for _ in range(processes):
                    self._workers.append(Process(there, len(self.start), len(self.buffers.first), self.start.dtype))
            except BaseException:
                self.close()
                raise
            for worker in self._workers:
                self._free.put(worker)

    def module(self, x: npt.NDArray[Any], client: int | None = None, run: Run | None = None) -> torch.nn.Module:
        """A module of its own with these parameters: a shared model, or with the buffers of a client."""
        state = self.state_dict(x, client, run)
        with self._lock:
            module = self._trainer.make_module()
        module.load_state_dict(state)
        return module

    def state_dict(self, x: npt.NDArray[Any], client: int | None = None, run: Run | None = None) -> OrderedDict[str, torch.Tensor]:
        """Parameters by name, out of a model of a run. With a client, its buffers as they were when the run last measured it.

        Every run leaves buffers of its own: where several runs have used the problem, ``run=result.runs[1]`` says which one ``x`` is of.
        """
        kept = self.buffers.first if client is None else self.buffers.of(client, run)
        with self._lock:
            self._trainer.set(np.ascontiguousarray(x, dtype=self.start.dtype), kept)
            return OrderedDict((name, value.detach().clone()) for name, value in self._trainer.module.state_dict().items())

    def close(self) -> None:
        """Ends the processes, where there are any."""
        while self._workers:
            self._workers.pop().close()

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _client(self, client: int) -> Client:
        parts = self._trainer.work.parts

        def function(part: str) -> _Function | None:
            return None if parts[part][client] is None else _Function(self, part, client)

        def judge(part: str) -> _Judge | None:
            return None if parts[part][client] is None else _Judge(self, part, client)

        return Client(function("train"), function("validation"), judge("train"), judge("validation"), judge("test"))

    def _ask(self, what: str, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None, *words: Any) -> Any:
        """Here, one at a time; or in whichever process is free."""
        if not self._workers:
            with self._lock:
                if what == "value_gradient":
                    part, client, rows, noise = words
                    return self._trainer.value_gradient(part, client, x, rows, buffers, noise)
                if what == "value":
                    part, client, rows = words
                    return self._trainer.value(part, client, x, rows, buffers)
                part, client = words
                return self._trainer.metrics(part, client, x, buffers)
        worker = self._free.get()
        try:
            answer = worker.ask(what, x, buffers, *words)
        except BaseException:
            self._free.put(worker)
            raise
        if what == "value_gradient":
            # The gradient lies in the worker's memory, which the next call writes over: the worker is free when nobody has it any more.
            value, gradient = answer
            return value, _Borrowed.until_dropped(gradient, lambda: self._free.put(worker))
        self._free.put(worker)
        return answer


class _Function:
    """A client's function on some of its data."""

    def __init__(self, of: Problem, part: str, client: int) -> None:
        self._of, self._part, self._client = of, part, client
        self.start, self.buffers = of.start, of.buffers.first
        self.borrows = True
        self.samples = len(of._trainer.work.parts[part][client][1])  # type: ignore[index]

    def value(self, x: Any, rows: Any, buffers: Any, noise: Any) -> float:
        if rows is None and buffers is not None and self._part == "train":
            self._of.buffers.measured(self._client, buffers)
        return self._of._ask("value", x, buffers, self._part, self._client, rows)  # type: ignore[no-any-return]

    def gradient(self, x: Any, rows: Any, buffers: Any, noise: Any) -> Any:
        return self._of._ask("value_gradient", x, buffers, self._part, self._client, rows, noise)[1]

    def value_gradient(self, x: Any, rows: Any, buffers: Any, noise: Any) -> Any:
        return self._of._ask("value_gradient", x, buffers, self._part, self._client, rows, noise)


class _Borrowed(np.ndarray[Any, Any]):
    """An array that says when nobody has it any more."""

    _dropped: Callable[[], None] | None = None

    @classmethod
    def until_dropped(cls, array: npt.NDArray[Any], dropped: Callable[[], None]) -> _Borrowed:
        borrowed = array.view(cls)
        borrowed._dropped = dropped
        return borrowed

    def __del__(self) -> None:
        if self._dropped is not None:
            self._dropped()


class _Judge:
    """Judges a client's model on some of its data."""

    def __init__(self, of: Problem, part: str, client: int) -> None:
        self._of, self._part, self._client = of, part, client
        self.examples = len(of._trainer.work.parts[part][client][1])  # type: ignore[index]

    def metrics(self, x: Any, buffers: Any = None) -> dict[str, float]:
        return self._of._ask("metrics", x, buffers, self._part, self._client)  # type: ignore[no-any-return]


def _parts(
    datasets: Sequence[Any], validation: Sequence[Any] | None, test: Sequence[Any] | None
) -> dict[str, Sequence[Examples | None]]:
    train = [_examples(dataset, f"the data of client {client}") for client, dataset in enumerate(datasets)]
    if not train:
        raise InputError("there are no datasets: one is needed for each client")

    def held(what: str, given: Sequence[Any] | None) -> list[Examples | None]:
        if given is None:
            return [None] * len(train)
        if len(given) != len(train):
            raise InputError(f"{what} has {len(given)} datasets, and there are {len(train)} clients")
        return [None if one is None else _examples(one, f"{what} of client {client}") for client, one in enumerate(given)]

    return {"train": train, "validation": held("validation", validation), "test": held("test", test)}


def _examples(dataset: Any, what: str) -> Examples:
    """All examples of a dataset as two tensors."""
    if isinstance(dataset, (tuple, list)) and len(dataset) == 2 and all(hasattr(part, "__array__") for part in dataset):
        inputs, targets = (torch.as_tensor(part) for part in dataset)
    else:
        pairs = [dataset[k] for k in range(len(dataset))]
        if not pairs:
            raise InputError(f"{what} have no examples")
        inputs = torch.stack([torch.as_tensor(pair[0]) for pair in pairs])
        targets = torch.stack([torch.as_tensor(pair[1]) for pair in pairs])
    if len(inputs) != len(targets):
        raise InputError(f"{what} have {len(inputs)} inputs and {len(targets)} targets")
    if len(inputs) == 0:
        raise InputError(f"{what} have no examples")
    return inputs, targets

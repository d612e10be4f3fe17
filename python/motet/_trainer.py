"""A PyTorch module as a function of one flat vector: used by ``motet.torch`` here and in its worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

#: Examples that go through the module at once while measuring.
CHUNK = 1024

#: (module's output, targets) → metric → value, as a mean over the examples.
Metrics = Callable[[torch.Tensor, torch.Tensor], dict[str, float]]
#: One client's examples: inputs and targets, an example in each row.
Examples = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Work:
    """Everything that a process needs to answer for every client."""

    make_module: Callable[[], torch.nn.Module]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    metrics: Metrics | None
    parts: dict[str, Sequence[Examples | None]]
    """``train``, ``validation`` and ``test`` → the examples of each client."""
    seed: int
    threads: int | None = None
    """Of PyTorch within an operation; PyTorch's own choice by default."""


class Trainer:
    """One module whose parameters and buffers are parts of two long tensors."""

    def __init__(self, work: Work) -> None:
        if work.threads is not None:
            torch.set_num_threads(work.threads)
        torch.manual_seed(work.seed)
        self.work = work
        self.module = work.make_module()
        parameters = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        kinds = {parameter.dtype for parameter in parameters}
        if not parameters:
            raise TypeError("the module has no parameters to train")
        if len(kinds) > 1 or not kinds <= {torch.float32, torch.float64}:
            raise TypeError(f"parameters must all be of single or all of double precision, and are {sorted(map(str, kinds))}")
        self._x = torch.nn.utils.parameters_to_vector(parameters).detach().clone()
        self._g = torch.zeros_like(self._x)
        at = 0
        for parameter in parameters:
            end = at + parameter.numel()
            # One copy sets all parameters.
            parameter.data = self._x[at:end].view_as(parameter)
            at = end
        self._parameters = parameters
        self._buffers = [buffer for buffer in self.module.buffers() if buffer.numel() > 0]
        self._noisy = any("Dropout" in type(part).__name__ for part in self.module.modules())

    @property
    def start(self) -> npt.NDArray[Any]:
        """The parameters as they are now, one after another."""
        start: npt.NDArray[Any] = self._x.detach().numpy().copy()
        return start

    @property
    def buffers(self) -> npt.NDArray[Any]:
        """Batch-norm statistics and whatever else the module keeps for itself."""
        kept = [buffer.detach().to(torch.float64).reshape(-1) for buffer in self._buffers]
        return torch.cat(kept).numpy() if kept else np.zeros(0)

    def set(self, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None) -> None:
        """Makes the module the one of these numbers."""
        with torch.no_grad():
            self._x.copy_(torch.from_numpy(x))
            if buffers is not None:
                at = 0
                for buffer in self._buffers:
                    end = at + buffer.numel()
                    buffer.copy_(torch.from_numpy(buffers[at:end]).view(buffer.shape))
                    at = end

    def value(
        self, part: str, client: int, x: npt.NDArray[Any], rows: npt.NDArray[Any] | None, buffers: npt.NDArray[Any] | None
    ) -> float:
        """The mean loss, as in evaluation."""
        self.set(x, buffers)
        self.module.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for inputs, targets in self._chunks(part, client, rows):
                total += float(self.work.loss(self.module(inputs), targets)) * len(targets)
                count += len(targets)
        return total / count

    def value_gradient(
        self,
        part: str,
        client: int,
        x: npt.NDArray[Any],
        rows: npt.NDArray[Any] | None,
        buffers: npt.NDArray[Any] | None,
        noise: int | None,
    ) -> tuple[float, npt.NDArray[Any]]:
        """The mean loss and its gradient, which is overwritten by the next call. Training changes ``buffers`` in place."""
        self.set(x, buffers)
        for parameter in self._parameters:
            # PyTorch then hands its own memory over instead of adding to ours.
            parameter.grad = None
        if noise is None:
            return self._measured_gradient(part, client, rows)
        self.module.train()
        if self._noisy:
            torch.manual_seed(noise)
        inputs, targets = self._examples(part, client, rows)
        loss = self.work.loss(self.module(inputs), targets)
        loss.backward()
        if buffers is not None and len(buffers):
            buffers[:] = self.buffers
        return float(loss.detach()), self._gradient()

    def _measured_gradient(self, part: str, client: int, rows: npt.NDArray[Any] | None) -> tuple[float, npt.NDArray[Any]]:
        self.module.eval()
        count = len(self._held(part, client)[1]) if rows is None else len(rows)
        total = 0.0
        for inputs, targets in self._chunks(part, client, rows):
            share = self.work.loss(self.module(inputs), targets) * (len(targets) / count)
            share.backward()
            total += float(share.detach())
        return total, self._gradient()

    def _gradient(self) -> npt.NDArray[Any]:
        """All gradients in one piece; zeros of parameters that the loss does not depend on."""
        parts = [torch.zeros_like(one) if one.grad is None else one.grad for one in self._parameters]
        torch.cat([part.reshape(-1) for part in parts], out=self._g)
        gradient: npt.NDArray[Any] = self._g.numpy()
        return gradient

    def metrics(self, part: str, client: int, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None) -> dict[str, float]:
        """The loss and whatever else is measured, as means over the client's examples."""
        self.set(x, buffers)
        self.module.eval()
        totals: dict[str, float] = {}
        count = 0
        with torch.no_grad():
            for inputs, targets in self._chunks(part, client, None):
                output = self.module(inputs)
                found = {"loss": float(self.work.loss(output, targets))}
                if self.work.metrics is not None:
                    found.update(self.work.metrics(output, targets))
                for name, value in found.items():
                    totals[name] = totals.get(name, 0.0) + float(value) * len(targets)
                count += len(targets)
        return {name: total / count for name, total in totals.items()}

    def _held(self, part: str, client: int) -> Examples:
        held = self.work.parts[part][client]
        assert held is not None, "nobody asks for examples that are not there"
        return held

    def _examples(self, part: str, client: int, rows: npt.NDArray[Any] | None) -> Examples:
        inputs, targets = self._held(part, client)
        if rows is None:
            return inputs, targets
        at = torch.from_numpy(rows.astype(np.int64))
        return inputs.index_select(0, at), targets.index_select(0, at)

    def _chunks(self, part: str, client: int, rows: npt.NDArray[Any] | None) -> Any:
        inputs, targets = self._examples(part, client, rows)
        return zip(inputs.split(CHUNK), targets.split(CHUNK))

"""A PyTorch module as a function of one flat vector: used by ``motet.torch`` here and in its worker processes."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
#: A gradient as several arrays, one after another.
Pieces = tuple[npt.NDArray[Any], ...]


#: Of memory that was freed, so many bytes stay with the process.
KEPT = 256 << 20
#: Whatever is larger is asked of the system each time: the most that the C library takes here.
LARGE = 32 << 20


@functools.cache
def _keep_memory() -> None:
    """Asks the C library to keep what was freed. Vectors as long as a model come and go in every round; otherwise their memory goes back to
    the system each time and comes again page by page, which takes a tenth of the time of a gradient of McMahan's CNN."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None and not any(name.startswith("MALLOC_") for name in os.environ):
        # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h.
        mallopt(-1, KEPT)
        mallopt(-3, LARGE)


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
        _keep_memory()
        self.work = work
        self.module = self.make_module()
        parameters = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        kinds = {parameter.dtype for parameter in parameters}
        if not parameters:
            raise TypeError("the module has no parameters to train")
        elsewhere = {one.device for one in (*self.module.parameters(), *self.module.buffers()) if one.device.type != "cpu"}
        if elsewhere:
            raise TypeError(f"the module is on {', '.join(sorted(map(str, elsewhere)))}, and modules are trained on the processor: leave out .to(…)")
        if len(kinds) > 1 or not kinds <= {torch.float32, torch.float64}:
            raise TypeError(f"parameters must all be of single or all of double precision, and are {sorted(map(str, kinds))}")
        self._x = torch.nn.utils.parameters_to_vector(parameters).detach().clone()
        self._parameters = parameters
        self._stand_on(self._x)
        self._buffers = [buffer for buffer in self.module.buffers() if buffer.numel() > 0]
        # Embeddings with a largest norm shorten their parameters while they compute.
        self._writes: bool | None = True if any(getattr(part, "max_norm", None) for part in self.module.modules()) else None
        """Does the module write into its own parameters? Nobody knows before the first call."""
        with warnings.catch_warnings():
            # PyTorch says once that it does not know of memory that is only read: x is such memory.
            warnings.simplefilter("ignore")
            torch.from_numpy(np.frombuffer(b"read", np.uint8))

    def make_module(self) -> torch.nn.Module:
        """A new module, drawn with the seed of the work."""
        with self._dice(None):
            return self.work.make_module()

    @contextmanager
    def _dice(self, noise: int | None) -> Iterator[None]:
        """PyTorch's dice begin with ``noise`` for a while, or always alike where there is none. Nobody can tell which modules throw them: dropout
        is also a function and a part of other layers. The program's own dice stay as they were."""
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(self.work.seed if noise is None else noise)
        try:
            yield
        finally:
            torch.set_rng_state(before)

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
        """Makes the module the one of these numbers, which are copied."""
        with torch.no_grad():
            self._x.copy_(torch.from_numpy(x))
        self._set_buffers(buffers)

    @contextmanager
    def _borrowing(self, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None) -> Iterator[None]:
        """Makes the module the one of these numbers for a while: its parameters are parts of ``x`` itself, unless it writes into them."""
        self._set_buffers(buffers)
        if self._writes is not False:
            with torch.no_grad():
                self._x.copy_(torch.from_numpy(x))
            yield
            if self._writes is None:
                self._writes = not np.array_equal(self._x.numpy(), x, equal_nan=True)
            return
        before = sum(parameter._version for parameter in self._parameters)
        self._stand_on(torch.from_numpy(x))
        try:
            yield
            if sum(parameter._version for parameter in self._parameters) != before:
                raise RuntimeError("the module wrote into its parameters while it computed, which it had not done in its first call")
        finally:
            # Whoever lent the memory may use it again.
            self._stand_on(self._x)

    def _stand_on(self, x: torch.Tensor) -> None:
        at = 0
        for parameter in self._parameters:
            end = at + parameter.numel()
            parameter.data = x[at:end].view(parameter.shape)
            at = end

    def _set_buffers(self, buffers: npt.NDArray[Any] | None) -> None:
        with torch.no_grad():
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
        self.module.eval()
        total, count = 0.0, 0
        with self._dice(None), self._borrowing(x, buffers), torch.no_grad():
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
    ) -> tuple[float, Pieces]:
        """The mean loss and its gradient in pieces, one for each parameter. Training changes ``buffers`` in place."""
        for parameter in self._parameters:
            # PyTorch then hands its own memory over instead of adding to ours.
            parameter.grad = None
        with self._dice(noise), self._borrowing(x, buffers):
            if noise is None:
                return self._measured_gradient(part, client, rows)
            self.module.train()
            inputs, targets = self._examples(part, client, rows)
            loss = self.work.loss(self.module(inputs), targets)
            loss.backward()
            if buffers is not None and len(buffers):
                buffers[:] = self.buffers
            return float(loss.detach()), self._gradient()

    def _measured_gradient(self, part: str, client: int, rows: npt.NDArray[Any] | None) -> tuple[float, Pieces]:
        self.module.eval()
        count = len(self._held(part, client)[1]) if rows is None else len(rows)
        total = 0.0
        for inputs, targets in self._chunks(part, client, rows):
            share = self.work.loss(self.module(inputs), targets) * (len(targets) / count)
            share.backward()
            total += float(share.detach())
        return total, self._gradient()

    def _gradient(self) -> Pieces:
        """The gradients as PyTorch left them; zeros of parameters that the loss does not depend on."""
        parts = [torch.zeros_like(one) if one.grad is None else one.grad for one in self._parameters]
        return tuple(part.reshape(-1).numpy() for part in parts)

    def metrics(self, part: str, client: int, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None) -> dict[str, float]:
        """The loss and whatever else is measured, as means over the client's examples."""
        self.module.eval()
        totals: dict[str, float] = {}
        count = 0
        with self._dice(None), self._borrowing(x, buffers), torch.no_grad():
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

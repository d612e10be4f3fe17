"""What clients keep for themselves, such as the statistics of batch norm, as every run has left it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._motet import InputError
from ._result import Run

#: Of so many runs the buffers are held; those of earlier ones go.
HELD = 64


@dataclass
class _Left:
    """What a run has left."""

    label: str | None = None
    seed: int | None = None
    digest: str | None = None
    """None while it is under way."""
    of: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    """Client → its buffers when it was last measured."""


class Buffers:
    """Client and run → buffers. Is told of runs as a listener is."""

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self.first = first
        """Those that training starts with."""
        self._left = [_Left()]

    def begin(self, label: str, seed: int, rounds: int) -> None:
        """A run begins."""
        self._left = [*self._left[1 - HELD :], _Left(label, seed)]

    def end(self, summary: dict[str, Any]) -> None:
        """It has ended."""
        self._left[-1].digest = summary["digest"]

    def measured(self, client: int, buffers: npt.NDArray[Any]) -> None:
        """A client was measured with these."""
        self._left[-1].of[client] = buffers.copy()

    def of(self, client: int, run: Run | None) -> npt.NDArray[Any]:
        """Those of a client when a run last measured it; no run need be named where there was one alone."""
        if not len(self.first):
            return self.first
        left = [one for one in self._left if one.of]
        if run is not None:
            left = [one for one in left if (one.label, one.seed, one.digest) == (run.label, run.seed, run.digest)]
            if not left:
                raise InputError(f"{run.label} seed {run.seed} is none of the last {HELD} runs that measured clients of this problem")
        elif len(left) > 1:
            raise InputError(f"{len(left)} runs have used this problem, each with buffers of its own: say which one, such as run=result.runs[0]")
        return left[-1].of.get(client, self.first) if left else self.first

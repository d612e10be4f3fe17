"""Functions of one's own, one for each client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Objective(Protocol):
    """A client's function: any object with ``value`` and ``gradient``, and ``dim`` or ``start``.

    What else it has says more:

    - ``start``: where training starts. An array of single precision makes the model one of single precision.
    - ``smoothness``, ``convexity``: L and μ, which steps of theory need.
    - ``samples``: how many examples it averages over. ``value`` and ``gradient`` then take ``(x, rows)``, with ``rows`` an array
      of places, or ``None`` for all.
    - ``value_gradient``: both at once, where that is cheaper.
    - ``buffers``: numbers of its own that are never shared. All functions then take ``(x, rows, buffers, noise)``; training writes
      into ``buffers``. ``noise`` seeds dropout while training, and is ``None`` while measuring.
    - ``borrows``: true where ``x`` is only read. It is then the memory of the run itself, which cannot be written to, instead of a copy:
      faster where models are large.

    A gradient may also be a tuple of arrays that come one after another.

    >>> import motet, numpy as np
    >>> class Distance:
    ...     dim, smoothness, convexity = 1, 1.0, 1.0
    ...     def __init__(self, to):
    ...         self.to = to
    ...     def value(self, x):
    ...         return 0.5 * float((x - self.to) @ (x - self.to))
    ...     def gradient(self, x):
    ...         return x - self.to
    >>> result = motet.run(
    ...     {"run": {"rounds": 5}, "method": [motet.methods.Flix(alpha=1.0)]},
    ...     clients=[Distance(0.0), Distance(1.0), Distance(2.0)], progress=False)
    >>> float(result.models[0].shared[0])
    1.0
    """

    # What comes after x depends on what else the object has.
    def value(self, x: Any, /, *more: Any, **named: Any) -> float:
        """f(x)"""

    def gradient(self, x: Any, /, *more: Any, **named: Any) -> Any:
        """∇f(x): an array, or a tuple of arrays that come one after another."""


class Judge(Protocol):
    """Judges a model on some data."""

    examples: int
    """How many examples it judges by."""

    def metrics(self, x: Any, /, *buffers: Any, **named: Any) -> dict[str, float]:
        """Metric → value: ``{"loss": 0.3, "accuracy": 0.9}``. Takes ``(x, buffers)`` where the objective has buffers."""


@dataclass(frozen=True)
class Client:
    """A client's function, and what judges its model."""

    train: Any
    """An :class:`Objective`."""
    validation: Any = None
    """The same function on data held out for choosing."""
    train_judge: Judge | None = None
    validation_judge: Judge | None = None
    test_judge: Judge | None = None

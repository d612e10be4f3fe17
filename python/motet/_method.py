"""A method of one's own: its two halves as functions over named arrays."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from . import _motet
from ._run import _json

#: Name → array: what a side keeps, and what goes over the wire.
Arrays = dict[str, npt.NDArray[Any]]
#: What the server's half yields: arrays for everyone, or (clients, arrays).
Asks = Arrays | tuple[Sequence[int], Arrays]
#: What it is sent: (client, its reply) in the order asked.
Replies = list[tuple[int, Arrays]]


@dataclass(frozen=True)
class Turn:
    """A round as the server's half sees it."""

    index: int
    """Which round; the first is 1."""
    clients: int
    """How many clients there are."""
    dice: np.random.Generator
    """Dice of this round alone: the same on every machine and when a run goes on."""


class Method:
    """Derive from it, give it a ``name``, and experiments can have it as they have ours.

    The server's half is :meth:`round`: it yields what clients are asked, and gets their replies. The client's half is
    :meth:`answer`. All that changes is in the arrays of the two sides; what the constructor takes are the method's parameters. Dice,
    accounting, lost replies, checkpoints and measuring are as with every other method, and :meth:`examine` checks that it keeps what
    every method must keep.

    >>> import motet, numpy as np
    >>> class Signs(motet.Method):
    ...     '''Signs of gradients, by majority.'''
    ...     name = "signs"
    ...     replies = {"sign": None}
    ...     def __init__(self, step=0.1):
    ...         self.step = step
    ...     def round(self, server, turn):
    ...         replies = yield {"x": server["x"]}
    ...         votes = sum(reply["sign"] for _, reply in replies)
    ...         server["x"] = server["x"] - self.step * np.sign(votes)
    ...     def answer(self, me, ask, site):
    ...         return {"sign": np.sign(site.gradient(ask["x"]))}
    >>> result = motet.run({
    ...     "problem": {"source": {"kind": "lrs", "clients": 4, "examples": 20, "dim": 3}},
    ...     "run": {"rounds": 20},
    ...     "method": [Signs(step=0.05)],
    ... }, progress=False)
    >>> bool(result.rows["loss"][-1] < result.rows["loss"][0])
    True
    """

    name: ClassVar[str]
    """What experiments call it."""
    replies: ClassVar[dict[str, int | None]]
    """What a reply holds: name → how many numbers, ``None`` for as many as the model has. Other replies are breaches."""
    params: dict[str, Any]
    """What the constructor was given."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        for attribute in ("name", "replies"):
            if not hasattr(cls, attribute):
                raise TypeError(f"a method has a {attribute}, and {cls.__name__} has none")
        _motet.register(cls.name, cls)

    def __new__(cls, *args: Any, **params: Any) -> Method:
        made = super().__new__(cls)
        # Experiments keep the parameters and make the object again: in another process too.
        made.params = _by_name(cls, inspect.signature(cls.__init__).bind(made, *args, **params))
        return made

    def server(self, x: npt.NDArray[Any]) -> Arrays:
        """The server's arrays before the first round, of where training starts. ``x`` must be among them: the shared model."""
        return {"x": x}

    def client(self, site: _motet.Site) -> Arrays:
        """A client's arrays before it is first asked."""
        return {}

    def round(self, server: Arrays, turn: Turn) -> Generator[Asks, Replies, None]:
        """The server's half of a round: yields what clients are asked, gets the replies, changes ``server``."""
        raise NotImplementedError(f"{type(self).__name__} has no round")

    def answer(self, me: Arrays, ask: Arrays, site: _motet.Site) -> Arrays:
        """The client's half: its own arrays, which it may change, and what it is asked → its reply."""
        raise NotImplementedError(f"{type(self).__name__} has no answer")

    def deploy(self, me: Arrays, x: npt.NDArray[Any], site: _motet.Site) -> npt.NDArray[Any]:
        """The model that a client uses in the end; the shared one, if a class does not say otherwise."""
        return x

    def examine(self) -> None:
        """Checks on small problems that the method keeps what every method must: equal numbers on all fleets, lost and repeated
        messages, replies that are none, going on after every round, measuring that changes nothing. Raises what it does not."""
        _motet.examine(self.name, _json(self.params, self.name))

    # What Rust calls.

    @property
    def _deploys(self) -> bool:
        return type(self).deploy is not Method.deploy

    def _table(self) -> dict[str, Any]:
        return {"kind": "python", "name": self.name, "params": self.params, "label": self.name}

    def _server(self, x: npt.NDArray[Any]) -> Arrays:
        return self.server(x)

    def _client(self, site: _motet.Site) -> Arrays:
        return self.client(site)

    def _round(self, server: Arrays, index: int, clients: int, seed: int) -> Generator[Asks, Replies, None]:
        return self.round(server, Turn(index, clients, np.random.default_rng(seed)))

    def _answer(self, me: Arrays, ask: Arrays, site: _motet.Site) -> Arrays:
        return self.answer(me, ask, site)

    def _deploy(self, me: Arrays, x: npt.NDArray[Any], site: _motet.Site) -> npt.NDArray[Any]:
        return self.deploy(me, x, site)


def _by_name(cls: type[Method], bound: inspect.BoundArguments) -> dict[str, Any]:
    """What a constructor was given, by the names that it can be given by again."""
    named: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            raise TypeError(f"{cls.__name__} takes {name!r} without a name, and experiments keep parameters by their names: give it one")
        else:
            named[name] = value
    return named

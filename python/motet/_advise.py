"""Should they join?"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _motet
from ._data import Data


@dataclass(frozen=True)
class ClientAdvice:
    """The answer for one client."""

    client: str
    advice: str
    """``join``, ``stay`` or ``unclear``: the first two need an interval that excludes zero."""
    gain: float
    """By how much joining is better, in :attr:`metric`."""
    interval: tuple[float, float] | None
    """Of 95 %."""
    metric: str
    details: Mapping[str, Any]
    """Everything else that ``motet advise`` says of the client."""


@dataclass(frozen=True)
class Advice:
    """What was found."""

    clients: list[ClientAdvice]
    federation: Mapping[str, Any]
    """The same for all clients together."""
    splits: int
    """How many splits there was time for."""
    notes: list[str]
    experiment: str
    """The experiment as text, or its path where a folder was given: to be changed and run again."""

    def __repr__(self) -> str:
        lines = [f"{one.client}: {one.advice}, {one.gain:+.4f} {one.metric}" for one in self.clients]
        together = f"all together: {self.federation['advice']}, {self.federation['gain']:+.4f} ({self.splits} splits)"
        return "\n".join([*lines, together])

    def _repr_html_(self) -> str:
        cells = [
            [one.client, one.advice, f"{one.gain:+.4f}", "none" if one.interval is None else f"{one.interval[0]:+.4f} to {one.interval[1]:+.4f}"]
            for one in self.clients
        ]
        head = "".join(f"<th>{name}</th>" for name in ("client", "advice", "gain", "95 % interval"))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def advise(
    data: Any,
    *,
    client: str | None = None,
    target: str | None = None,
    minutes: float = 2.0,
    splits: int | None = None,
    threads: int | None = None,
    budget: int | None = None,
    drop: str | Iterable[str] = (),
    categories: str | Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> Advice:
    """Finds out who gains by joining.

    ``data`` is a data frame with a column for the client and one to predict, or a :class:`Data`. Own models, one model for all,
    mixtures and others are compared on repeated splits of the same rows until ``minutes`` are over; ``budget`` is how many bytes a
    client may send. With ``out``, the folder also gets a model for each client, which :func:`load` opens.
    """
    columns = {"client": client, "target": target, "drop": drop, "categories": categories}
    if isinstance(data, Data):
        named = next((name for name, given in columns.items() if given), None)
        if named is not None:
            raise TypeError(f"{named}= names columns of a data frame, and motet.Data has been made of them already: say it in motet.Data.of_frame")
    else:
        if client is None or target is None:
            raise TypeError("say which column names the client of a row, with client=, and which is predicted, with target=")
        data = Data.of_frame(data, client=client, target=target, drop=drop, categories=categories)
    for name, given, least in [("splits", splits, 1), ("threads", threads, 1), ("budget", budget, 0)]:
        if given is not None and given < least:
            raise _motet.InputError(f"{name} = {given}: must be at least {least}")
    limits = {
        "minutes": float(minutes),
        "splits": splits,
        "threads": threads,
        "budget": budget,
        "out": None if out is None else Path(out),
    }
    found = json.loads(_motet.advise(data._held, limits))
    clients = [
        ClientAdvice(
            client=one["client"],
            advice=one["advice"],
            gain=one["gain"],
            interval=None if one.get("interval") is None else (one["interval"][0], one["interval"][1]),
            metric=one["metric"],
            details=one,
        )
        for one in found["clients"]
    ]
    return Advice(clients, found["federation"], found["splits"], found["notes"], found["experiment"])

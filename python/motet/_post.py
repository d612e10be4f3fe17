"""Both ends of a federation that another system carries: letters as bytes. Knows nothing of Flower."""

from __future__ import annotations

import logging
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _motet
from ._data import Data
from ._run import _written

log = logging.getLogger("motet")

#: What a message holds: names and texts, numbers or bytes.
Words = dict[str, Any]

#: How often one letter may come back with an error before the run ends.
TRIES = 5
#: Seconds between two looks for new nodes.
LOOK = 2.0


class Grid(Protocol):
    """What carries messages to nodes."""

    def nodes(self) -> list[int]:
        """Who is there."""

    def send(self, node: int, words: Words) -> str:
        """Sends a message; gives a ticket for its reply."""

    def collect(self, tickets: list[str]) -> list[tuple[str, Words | None, str]]:
        """(ticket, reply, why there is none) of those that have ended, each once."""


@dataclass
class _Flight:
    """A letter under way."""

    of: tuple[str, int]
    """What it is for, and the number of the task."""
    node: int
    until: float


@dataclass
class _Ticket:
    """A message under way."""

    what: str
    """``node`` or ``client``, and which:"""
    who: int
    phase: str
    """What it was sent for. A reply that comes when that is over means nothing any more."""


class Post:
    """Finds out which node is which client, and carries letters until they are answered.

    A letter goes out again where nothing was heard for ``again`` seconds, where its node failed, and where another node has come
    forward as the same client: asking twice is harmless.
    """

    def __init__(self, grid: Grid, clients: int | None, again: float = 60.0, pause: float = 0.05) -> None:
        self._grid, self._again, self._pause = grid, again, pause
        self._clients = clients
        self._places: dict[int, int] = {}
        self._greeted: dict[int, float] = {}
        self._errors: dict[int, int] = {}
        self._tickets: dict[str, _Ticket] = {}
        self._flights: dict[int, _Flight] = {}
        self._looked = 0.0

    def gather(self) -> int:
        """Waits until every client is there; gives how many there are."""
        said = 0.0
        while self._clients is None or len(self._places) < self._clients:
            if not self._step("gathering", lambda client, words: None):
                time.sleep(self._pause)
            if time.monotonic() - said > 10:
                said = time.monotonic()
                log.info("%d of %s clients are there", len(self._places), self._clients or "so far unknown")
        return self._clients

    def start(self, problem: int, seed: int) -> npt.NDArray[Any]:
        """Where everybody starts: the first client says it, and the others must agree about its size."""
        clients = self.gather()
        # As text: a seed may be larger than the whole numbers of a carrier.
        words = {"what": "start", "problem": problem, "seed": str(seed)}
        phase = f"start of problem {problem}, seed {seed}"
        found: dict[int, Words] = {}
        while len(found) < clients:
            for client in range(clients):
                if client not in found:
                    self._send(client, (phase, 0), lambda _: words)
            if not self._step(phase, found.__setitem__):
                time.sleep(self._pause)
        shapes = {(len(one["start"]), one["type"]) for one in found.values()}
        if len(shapes) > 1:
            raise _motet.InputError(f"clients start with models of different sizes: {sorted(shapes)} (bytes, kind)")
        for client, one in found.items():
            if one["clients"] not in (0, clients):
                raise _motet.InputError(f"client {client} is one of {one['clients']} clients, and {clients} take part")
        return np.frombuffer(found[0]["start"], dtype=found[0]["type"]).copy()

    def carry(self, letters: _motet.Letters, sheet: str) -> None:
        """Sends what is open, brings what has come, and comes back after a moment also with nothing."""
        for client, task in letters.open():
            self._send(client, (sheet, task), lambda client: {"what": "letter", "sheet": sheet, "letter": letters.letter(client) or b""})
        if not self._step(sheet, lambda client, words: letters.bring(client, words["said"])):
            time.sleep(self._pause)

    def _send(self, client: int, of: tuple[str, int], words: Callable[[int], Words]) -> None:
        """Unless it is under way to where the client is."""
        node, flight, now = self._places[client], self._flights.get(client), time.monotonic()
        if flight is not None and flight.of == of and flight.node == node and now < flight.until:
            return
        self._flights[client] = _Flight(of, node, now + self._again)
        self._tickets[self._grid.send(node, words(client))] = _Ticket("client", client, of[0])

    def _step(self, phase: str, heard: Callable[[int, Words], None]) -> bool:
        """Takes what has come, and looks for new nodes now and then. Did anything come?"""
        came = False
        for number, words, why in self._grid.collect(list(self._tickets)):
            ticket = self._tickets.pop(number)
            came = True
            if ticket.what == "client" and ticket.phase != phase:
                # It was asked twice, and the first answer was enough.
                continue
            if words is not None and "raised" in words:
                raise _motet.RunError(f"{ticket.what} {ticket.who} raised an exception:\n{words['raised']}")
            if ticket.what == "node":
                self._introduce(ticket.who, words, why)
            elif words is None:
                self._fail(ticket.who, why)
            else:
                self._errors.pop(ticket.who, None)
                heard(ticket.who, words)
        now = time.monotonic()
        if now - self._looked > (LOOK if self._flights else self._pause):
            self._looked = now
            for node in self._grid.nodes():
                if now >= self._greeted.get(node, 0.0):
                    # One that says nothing is asked again; one that has spoken is not.
                    self._greeted[node] = now + self._again
                    self._tickets[self._grid.send(node, {"what": "who"})] = _Ticket("node", node, "")
        return came

    def _introduce(self, node: int, words: Words | None, why: str) -> None:
        if words is None:
            log.warning("node %d does not say which client it is: %s", node, why)
            return
        self._greeted[node] = float("inf")
        client, clients = int(words["client"]), int(words["clients"])
        if self._clients is None:
            if clients == 0:
                raise _motet.InputError("nobody knows how many clients there are: server_app(…, clients=…) says it")
            self._clients = clients
        if not 0 <= client < self._clients:
            raise _motet.InputError(f"node {node} is client {client}, and there are clients 0 to {self._clients - 1}")
        if client in self._places:
            log.info("client %d is at node %d now", client, node)
        self._places[client] = node

    def _fail(self, client: int, why: str) -> None:
        """A letter came back: it goes out again."""
        self._errors[client] = self._errors.get(client, 0) + 1
        if self._errors[client] >= TRIES:
            raise _motet.RunError(f"client {client} could not be reached {TRIES} times in a row, last since: {why}")
        log.warning("client %d: %s; asking again", client, why)
        self._flights.pop(client, None)


class Answers:
    """The node's end: answers messages with what it is given of what it last left."""

    def __init__(
        self,
        problem: Any,
        client: int,
        clients: int,
        *,
        data: Sequence[Data] = (),
        shows: tuple[bool, bool] = (True, False),
        on_model: Callable[[npt.NDArray[Any]], None] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._client, self._on_model = client, on_model
        self._file = None if folder is None else Path(folder) / f"client-{client}.state"
        if isinstance(problem, (str, os.PathLike, Mapping)):
            self._clients = 0
            self._node = _motet.Node.of_experiment(client, _written(problem), [one._held for one in data], shows)
            return
        listed = getattr(problem, "clients", problem)
        self._clients = clients
        if isinstance(listed, Sequence):
            if not 0 <= client < len(listed):
                raise _motet.InputError(f"this node is client {client}, and the problem has clients 0 to {len(listed) - 1}")
            self._clients, problem = len(listed), listed[client]
        self._node = _motet.Node.of_client(client, problem, shows)

    def answer(self, words: Words, kept: bytes) -> tuple[Words, bytes]:
        """(what it says, what it leaves); exceptions of the program's own travel as words."""
        try:
            return self._answer(words, kept)
        except Exception:
            return {"raised": traceback.format_exc()}, kept

    def _answer(self, words: Words, kept: bytes) -> tuple[Words, bytes]:
        if words["what"] == "who":
            # How many clients an experiment has is known when it is built.
            return {"client": self._client, "clients": self._clients or self._node.greet(0, 1)[1] or 0}, kept
        if words["what"] == "start":
            start, clients = self._node.greet(words["problem"], int(words["seed"]))
            return {"start": start.tobytes(), "type": start.dtype.str, "clients": clients or self._clients}, kept
        if self._file is not None and self._file.exists():
            kept = self._file.read_bytes()
        kept, said = self._node.answer(words["sheet"], kept, words["letter"], self._on_model)
        if self._file is not None:
            # What the answer left is safe before anybody hears it.
            _replace(self._file, kept)
        return {"said": said}, kept


def _replace(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)

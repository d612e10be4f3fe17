"""Every method of ours on a Flower federation.

>>> app = motet.flower.server_app("wards.toml", out="results")            # doctest: +SKIP
>>> app = motet.flower.client_app(problem)                                # doctest: +SKIP

The first is a ``ServerApp``, the second a ``ClientApp``: Flower starts them and carries their messages. What a client has learnt stays
in its node's context. A run ends in the bits of :func:`motet.run` with the same clients.
"""

from __future__ import annotations

import os
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any

import numpy.typing as npt

from . import _motet
from ._data import Data
from ._observers import Listener, Observers
from ._post import Answers, Post, Words
from ._result import Result
from ._run import Experiment, _changes, _written

#: The versions of Flower whose API this is written for.
WRITTEN_FOR = ("1.41",)

_installed = version("flwr")
if ".".join(_installed.split(".")[:2]) not in WRITTEN_FOR:
    raise ImportError(
        f"motet.flower is written for Flower {' and '.join(WRITTEN_FOR)}, and {_installed} is installed: pip install 'flwr=={WRITTEN_FOR[-1]}.*'"
    )

from flwr.app import ConfigRecord, Context, Message, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.serverapp import Grid, ServerApp  # noqa: E402

__all__ = ["WRITTEN_FOR", "client_app", "server_app"]

#: The name of our records, and of our kind of query.
NAME = "motet"


def server_app(
    experiment: Experiment,
    *,
    clients: int | None = None,
    seeds: int | Iterable[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    loggers: Iterable[Listener] = (),
    set: Mapping[str, Any] | None = None,
    done: Callable[[Result], None] | None = None,
    again: float = 60.0,
) -> ServerApp:
    """An app that runs an experiment with the nodes of a federation as its clients.

    Parameters
    ----------
    experiment
        As of :func:`motet.run`. Its problem may be left out where nodes bring functions of their own.
    clients
        How many there are, one for each node. By default nodes say it: by their problem, or by ``num-partitions`` of their
        configuration. The run begins when all are there.
    seeds, out, overwrite, loggers, set
        As of :func:`motet.run`.
    done
        Is given the result.
    again
        After so many seconds without an answer, a node is asked again, which is harmless. Longer than a node needs.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        post = Post(_FlowerGrid(grid), clients, again)
        how = {"out": out, "overwrite": overwrite, "resume": False, "threads": 1, "set": _changes(seeds, set)}
        with Observers(False, loggers) as observers:
            result = Result(_motet.run_elsewhere(_written(experiment), how, post.gather(), post, observers))
        if done is not None:
            done(result)

    return app


def client_app(
    problem: Any,
    *,
    data: Iterable[Data] = (),
    scores: bool = True,
    vectors: bool = False,
    on_model: Callable[[int, npt.NDArray[Any]], None] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> ClientApp:
    """An app that answers for one client: the one whose number is ``partition-id`` in its node's configuration.

    Parameters
    ----------
    problem
        What the node trains on: an :class:`motet.Objective` or :class:`motet.Client` of its own; those of all clients, such as
        :func:`motet.torch.problem` gives, of which the node takes its own; an experiment, whose problem is built at the node; or a
        function that gives one of these for Flower's ``Context``.
    data
        What a source ``given`` of an experiment stands for.
    scores
        May the server see losses and metrics?
    vectors
        May it see gradients and the client's own model where it measures?
    on_model
        Is given the client's number and its own model when a run has ended; it need not leave the node.
    folder
        Where to keep the client's state as well. Flower keeps a node's context in memory, so that it is lost with a ``SuperNode``
        that is killed; with a folder, the node goes on to the same bits when it is started again.
    """
    app, name, given = ClientApp(), uuid.uuid4().hex, list(data)

    @app.query(NAME)
    def answer(message: Message, context: Context) -> Message:
        try:
            said, kept = _answers(name, context, make).answer(dict(message.content[NAME]), _kept(context))
            context.state[NAME] = ConfigRecord({"kept": kept})
        except Exception:
            said = {"raised": traceback.format_exc()}
        return Message(RecordDict({NAME: ConfigRecord(said)}), reply_to=message)

    def make(context: Context, client: int) -> Answers:
        brought = problem(context) if callable(problem) and not hasattr(problem, "gradient") else problem
        told = None if on_model is None else lambda model: on_model(client, model)
        clients = int(context.node_config.get("num-partitions", 0))
        return Answers(brought, client, clients, data=given, shows=(scores, vectors), on_model=told, folder=folder)

    return app


#: What this process answers for: (app, client) → its end. Data are read once, where a process answers more than once.
_ANSWERS: dict[tuple[str, int], Answers] = {}


def _answers(app: str, context: Context, make: Callable[[Context, int], Answers]) -> Answers:
    if "partition-id" not in context.node_config:
        raise _motet.InputError("a node must know which client it is: start it with --node-config 'partition-id=0'")
    client = int(context.node_config["partition-id"])
    if (app, client) not in _ANSWERS:
        _ANSWERS[app, client] = make(context, client)
    return _ANSWERS[app, client]


def _kept(context: Context) -> bytes:
    return bytes(context.state[NAME]["kept"]) if NAME in context.state else b""


class _FlowerGrid:
    """Flower's grid as ours."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def nodes(self) -> list[int]:
        return list(self._grid.get_node_ids())

    def send(self, node: int, words: Words) -> str:
        message = Message(RecordDict({NAME: ConfigRecord(words)}), dst_node_id=node, message_type=f"query.{NAME}")
        (ticket,) = self._grid.push_messages([message])
        return str(ticket)

    def collect(self, tickets: list[str]) -> list[tuple[str, Words | None, str]]:
        ended: list[tuple[str, Words | None, str]] = []
        for reply in self._grid.pull_messages(tickets):
            ticket = reply.metadata.reply_to_message_id
            if reply.has_error():
                ended.append((ticket, None, f"error {reply.error.code}: {reply.error.reason}"))
            else:
                ended.append((ticket, dict(reply.content[NAME]), ""))
        return ended

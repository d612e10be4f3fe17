"""Experiments whose clients are elsewhere: the same digests as here, also where messages are lost, doubled and late and nodes die."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motet
from motet import _motet
from motet._observers import Observers
from motet._post import TRIES, Answers, Post
from motet._result import Result
from motet._run import _changes, _written

CLIENTS = 4

PROBLEM = {
    "source": {"kind": "synthetic", "clients": CLIENTS, "features": 4, "examples": 20, "heterogeneity": 1.0},
    "model": {"kind": "logistic", "l2": 0.1},
    "holdout": {"validation": 0.2, "test": 0.2},
}

METHODS = [
    motet.methods.Flix(alpha=0.5),
    motet.methods.Scafflix(alpha=0.5, p=0.5),
    motet.methods.Fedavg(step=0.1, local_steps=2, batch=5),
    motet.methods.Meritfed(step=0.02, batch=3, mirror={"kind": "smd", "rate": 5, "steps": 3, "batch": 2}, validation="training"),
    motet.methods.Diana(alpha=0.5, compressor={"kind": "rand-k", "k": 0.5}),
]


class FakeGrid:
    """A federation in this process. ``trouble`` is how often something happens to a message; ``deaths`` of nodes, whose contexts go."""

    def __init__(self, make: Any, *, trouble: float = 0.0, deaths: float = 0.0) -> None:
        self.make, self.trouble, self.deaths = make, trouble, deaths
        self.dice = random.Random(7)
        self.places = {100 + client: client for client in range(CLIENTS)}
        self.answers = {node: make(client) for node, client in self.places.items()}
        self.contexts = dict.fromkeys(self.places, b"")
        self.mail: list[tuple[str, int, dict[str, Any]]] = []
        #: Answers that come when everybody is somewhere else: ticket, what it was sent for, what was said.
        self.slow: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.sent = self.died = self.disturbed = self.overdue = 0

    def nodes(self) -> list[int]:
        return list(self.places)

    def send(self, node: int, words: dict[str, Any]) -> str:
        self.sent += 1
        self.mail.append((str(self.sent), node, words))
        return str(self.sent)

    def collect(self, tickets: list[str]) -> list[tuple[str, dict[str, Any] | None, str]]:
        self.dice.shuffle(self.mail)
        mail, self.mail = self.mail, []
        ended: list[tuple[str, dict[str, Any] | None, str]] = []
        for ticket, node, words in mail:
            if node not in self.places:
                continue
            fate = self.dice.random()
            if fate < self.deaths:
                self.died += 1
                client = self.places.pop(node)
                # A new node with the same number comes; nothing of the old one's memory is left.
                self.places[1000 + self.died] = client
                self.answers[1000 + self.died] = self.make(client)
                self.contexts[1000 + self.died] = b""
                continue
            if self.dice.random() < self.trouble:
                self.disturbed += 1
                what = self.dice.choice(["lost", "doubled", "late", "unheard", "error", "slow"])
                if what == "lost":
                    continue
                if what == "late":
                    self.mail.append((ticket, node, words))
                    continue
                if what == "error":
                    ended.append((ticket, None, "out of memory"))
                    continue
                _, self.contexts[node] = self.answers[node].answer(words, self.contexts[node])
                if what == "unheard":
                    continue
                if what == "slow" and words["what"] != "who":
                    # Whoever sent it asks again, and gets two answers, this one much later.
                    said, self.contexts[node] = self.answers[node].answer(words, self.contexts[node])
                    self.slow.append((ticket, words, said))
                    continue
            said, self.contexts[node] = self.answers[node].answer(words, self.contexts[node])
            ended.append((ticket, said, ""))
            over = [one for one in self.slow if words["what"] != "who" and phase(one[1]) != phase(words)]
            self.slow = [one for one in self.slow if one not in over]
            ended.extend((ticket, said, "") for ticket, _, said in over)
            self.overdue += len(over)
        return [one for one in ended if one[0] in tickets]


def phase(words: dict[str, Any]) -> tuple[object, ...]:
    """What a message is about."""
    return words["what"], words.get("seed"), words.get("sheet")


def elsewhere(experiment: Any, grid: FakeGrid, clients: int | None = None, **how: Any) -> motet.Result:
    post = Post(grid, clients, again=0.05, pause=0.001)
    how = {"out": None, "overwrite": False, "resume": False, "threads": 1, "set": _changes(None, None), **how}
    with Observers(False, ()) as observers:
        return Result(_motet.run_elsewhere(_written(experiment), how, post.gather(), post, observers))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for new nodes all the time; a test has no time."""
    monkeypatch.setattr("motet._post.LOOK", 0.0)


def experiment(**run: Any) -> dict[str, Any]:
    return {"problem": PROBLEM, "run": {"rounds": 6, "reference": "off", **run}, "method": METHODS, "seeds": [1, 2]}


def test_methods_end_in_the_same_digests_and_rows() -> None:
    here = motet.run(experiment(), progress=False)
    there = elsewhere(experiment(), FakeGrid(lambda client: Answers(experiment(), client, 0, shows=(True, True))))
    assert len({run.digest for run in here.runs}) > len(METHODS)
    assert [run.digest for run in there.runs] == [run.digest for run in here.runs]
    for name in ("loss", "test.loss", "bits_up", "gradients"):
        np.testing.assert_array_equal(there.rows[name], here.rows[name])
    np.testing.assert_array_equal(there.models[0].personal[2], here.models[0].personal[2])


def test_lost_doubled_and_late_messages_change_nothing() -> None:
    grid = FakeGrid(lambda client: Answers(experiment(), client, 0), trouble=0.2)
    there = elsewhere(experiment(), grid)
    assert grid.disturbed > 50 and grid.overdue > 0
    assert [run.digest for run in there.runs] == [run.digest for run in motet.run(experiment(), progress=False).runs]


def test_nodes_that_die_go_on_from_their_folder(tmp_path: Path) -> None:
    grid = FakeGrid(lambda client: Answers(experiment(), client, 0, folder=tmp_path), deaths=0.03)
    there = elsewhere(experiment(), grid)
    assert grid.died > 5
    assert [run.digest for run in there.runs] == [run.digest for run in motet.run(experiment(), progress=False).runs]


def test_a_node_that_lost_its_context_says_so() -> None:
    class Forgets(Answers):
        def answer(self, words: dict[str, Any], kept: bytes) -> Any:
            return super().answer(words, b"")

    with pytest.raises(motet.RunError, match="the context of its node, lost"):
        elsewhere({**experiment(), "method": [METHODS[1]]}, FakeGrid(lambda client: Forgets(experiment(), client, 0)))


def test_a_second_answer_about_the_start_comes_too_late_to_matter() -> None:
    class Twice(FakeGrid):
        """Node 101 is slow to say where runs start: it is asked again, and its first answer comes when letters do."""

        def send(self, node: int, words: dict[str, Any]) -> str:
            ticket = super().send(node, words)
            if node == 101 and words["what"] == "start" and not self.slow and not self.overdue:
                self.mail.pop()
                self.slow.append((ticket, words, self.answers[node].answer(words, b"")[0]))
            return ticket

    grid = Twice(lambda client: Answers(experiment(), client, 0))
    there = elsewhere(experiment(), grid)
    assert grid.overdue == 1
    assert [run.digest for run in there.runs] == [run.digest for run in motet.run(experiment(), progress=False).runs]


class Distance:
    dim, smoothness, convexity = 2, 1.0, 1.0

    def __init__(self, to: float) -> None:
        self.to = to

    def value(self, x: Any) -> float:
        return 0.5 * float((x - self.to) @ (x - self.to))

    def gradient(self, x: Any) -> Any:
        return x - self.to


def test_functions_of_one_s_own_and_the_models_they_end_with() -> None:
    functions = [Distance(float(client)) for client in range(CLIENTS)]
    methods = {"run": {"rounds": 5, "reference": "off"}, "method": [motet.methods.Scafflix(alpha=0.5, p=0.5), motet.methods.Flix(alpha=0.5)]}
    models: dict[int, Any] = {}

    def node(client: int) -> Answers:
        return Answers(functions, client, 0, on_model=lambda x: models.__setitem__(client, x))

    here = motet.run(methods, clients=functions, progress=False)
    there = elsewhere(methods, FakeGrid(node))
    assert [run.digest for run in there.runs] == [run.digest for run in here.runs]
    assert 1 in here.models and not there.models[1].personal, "a client's own model stays with it"
    np.testing.assert_array_equal(models[3], here.models[1].personal[3])
    # The same where each node has its own alone.
    alone = elsewhere(methods, FakeGrid(lambda client: Answers(functions[client], client, 0)), clients=CLIENTS)
    assert [run.digest for run in alone.runs] == [run.digest for run in here.runs]


def test_nodes_serve_another_run_after_one_that_failed_and_after_one_that_ended() -> None:
    class Once(Distance):
        raised = False

        def gradient(self, x: Any) -> Any:
            if not Once.raised:
                Once.raised = True
                raise ArithmeticError("once")
            return super().gradient(x)

    functions = [Once(0.0), *(Distance(float(client)) for client in range(1, CLIENTS))]
    # The first gradient is one of a local solve.
    methods = {"run": {"rounds": 5, "reference": "off"}, "method": [motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.5)]}
    grid = FakeGrid(lambda client: Answers(functions, client, 0))
    with pytest.raises(motet.RunError, match="client 0 raised an exception"):
        elsewhere(methods, grid)
    here = motet.run(methods, clients=functions, progress=False)
    for _ in range(2):
        there = elsewhere(methods, grid)
        assert there.runs[0].digest == here.runs[0].digest and np.isfinite(there.rows["loss"]).all()


def test_what_goes_wrong_is_said() -> None:
    class Breaks(Distance):
        def gradient(self, x: Any) -> Any:
            raise ArithmeticError("in the client")

    one = {"run": {"rounds": 2}, "method": [motet.methods.Flix(alpha=1.0)]}
    with pytest.raises(motet.RunError, match="(?s)client 2 raised an exception.*in the client"):
        elsewhere(one, FakeGrid(lambda client: Answers((Breaks if client == 2 else Distance)(1.0), client, CLIENTS)))
    with pytest.raises(motet.InputError, match="nobody knows how many clients"):
        elsewhere(one, FakeGrid(lambda client: Answers(Distance(1.0), client, 0)))
    with pytest.raises(motet.InputError, match="node 103 is client 3, and there are clients 0 to 2"):
        elsewhere(one, FakeGrid(lambda client: Answers(Distance(1.0), client, 3)))
    with pytest.raises(motet.InputError, match="this node is client 2, and the problem has clients 0 to 1"):
        FakeGrid(lambda client: Answers([Distance(1.0)] * 2, client, 0))
    with pytest.raises(motet.InputError, match="is one of 4 clients, and 3 take part"):
        elsewhere({**experiment(), "method": METHODS[:1]}, FakeGrid(lambda client: Answers(experiment(), client % 3, 0)), clients=3)
    tuned = {**experiment(), "method": [motet.methods.Flix(alpha="validation")]}
    with pytest.raises(motet.InputError, match="validation data cannot decide a value"):
        elsewhere(tuned, FakeGrid(lambda client: Answers(experiment(), client, 0)))
    simulated = {**experiment(), "problem": {**PROBLEM, "byzantine": {"attack": "sign-flip", "first": 0, "count": 1}}}
    with pytest.raises(motet.InputError, match="byzantine"):
        elsewhere(simulated, FakeGrid(lambda client: Answers(experiment(), client, 0)))

    class Unreachable(FakeGrid):
        def collect(self, tickets: list[str]) -> Any:
            letters = [one for one in self.mail if one[2]["what"] == "letter"]
            if not letters:
                return super().collect(tickets)
            self.mail.remove(letters[0])
            return [(letters[0][0], None, "no such app")]

    with pytest.raises(motet.RunError, match=f"could not be reached {TRIES} times in a row, last since: no such app"):
        elsewhere(one, Unreachable(lambda client: Answers(Distance(1.0), client, CLIENTS)))

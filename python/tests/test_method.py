"""A method that is written in Python: the same numbers as ours, and every promise kept."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import motet

pytestmark = pytest.mark.filterwarnings("error")

PROBLEM = {"source": {"kind": "lrs", "clients": 5, "examples": 20, "dim": 4}}


class Descent(motet.Method):
    """Gradient descent on the mean."""

    name = "descent"
    replies = {"g": None}

    def __init__(self, step: float) -> None:
        self.step = step

    def round(self, server, turn):
        replies = yield {"x": server["x"]}
        server["x"] = server["x"] - self.step * np.mean([reply["g"] for _, reply in replies], axis=0)

    def answer(self, me, ask, site):
        return {"g": site.gradient(ask["x"])}


class Sampled(motet.Method):
    """Half of the clients in each round, two asks, and a memory on both sides; clients deploy their own model."""

    name = "sampled"
    replies = {"x": None, "seen": 1}

    def __init__(self, step: float = 0.1, batch: int = 5) -> None:
        self.step, self.batch = step, batch

    def server(self, x):
        return {"x": x, "rounds": np.zeros(1)}

    def client(self, site):
        return {"own": np.zeros(site.dim), "asked": 0.0}

    def round(self, server, turn):
        chosen = sorted(turn.dice.choice(turn.clients, size=max(1, turn.clients // 2), replace=False).tolist())
        for _ in range(2):
            replies = yield chosen, {"x": server["x"]}
            server["x"] = np.mean([reply["x"] for _, reply in replies], axis=0)
        server["rounds"] += 1

    def answer(self, me, ask, site):
        dice = np.random.default_rng(site.seed())
        x = ask["x"].copy()
        for _ in range(3):
            rows = dice.integers(0, site.samples, size=self.batch).astype(np.uint32)
            x -= self.step * site.gradient(x, rows)
        me["own"] = x
        me["asked"] = me["asked"] + 1
        return {"x": x, "seen": me["asked"]}

    def deploy(self, me, x, site):
        return 0.5 * x + 0.5 * me["own"]


def run(method, rounds=20, **how):
    return motet.run({"problem": PROBLEM, "run": {"rounds": rounds}, "method": [method]}, progress=False, **how)


def test_it_gives_what_ours_gives() -> None:
    mine, ours = run(Descent(step=0.5)), run(motet.methods.Flix(alpha=1.0, step=0.5))
    np.testing.assert_allclose(mine.rows["loss"], ours.rows["loss"], rtol=1e-12)
    assert mine.rows["gradients"][-1] == ours.rows["gradients"][-1]
    assert mine.rows["bits_up"][-1] == ours.rows["bits_up"][-1] == 20 * 5 * 4 * 64
    assert mine.runs[0].label == "descent" and mine.manifest["runs"][0]["params"]["params"] == {"step": 0.5}


@pytest.mark.parametrize("method", [Descent(step=0.1), Sampled()])
def test_it_keeps_what_every_method_must_keep(method: motet.Method) -> None:
    method.examine()


def test_the_examination_can_fail() -> None:
    class Forgetful(Descent):
        """Keeps what it should not: outside of its arrays."""

        name = "forgetful"

        def __init__(self, step: float = 0.1) -> None:
            super().__init__(step)
            self.rounds = 0

        def round(self, server, turn):
            self.rounds += 1
            replies = yield {"x": server["x"]}
            server["x"] = server["x"] - self.step / self.rounds * np.mean([reply["g"] for _, reply in replies], axis=0)

    with pytest.raises(motet.RunError):
        Forgetful().examine()


def test_seed_and_threads_decide_as_ever_and_a_killed_run_goes_on(tmp_path) -> None:
    first, again, other = run(Sampled(), seeds=1), run(Sampled(), seeds=1, threads=2), run(Sampled(), seeds=2)
    assert first.runs[0].digest == again.runs[0].digest != other.runs[0].digest

    class Stop(Exception):
        pass

    class After:
        def begin(self, label, seed, rounds): ...
        def end(self, summary): ...
        def row(self, row):
            if row["round"] == 9:
                raise Stop

    often = {"run.checkpoint": {"rounds": 2}}
    with pytest.raises(Stop):
        run(Sampled(), seeds=1, out=tmp_path / "out", loggers=[After()], set=often)
    went_on = run(Sampled(), seeds=1, out=tmp_path / "out", resume=True, set=often)
    assert went_on.runs[0].digest == first.runs[0].digest
    assert len(went_on.rows["round"]) == 21


def test_grids_take_it_too() -> None:
    grid = {"kind": "python", "name": "descent", "params": {"step": {"grid": [0.1, 0.5]}}}
    result = motet.run({"problem": PROBLEM, "run": {"rounds": 3}, "method": [grid]}, progress=False)
    assert [run.params["params"]["step"] for run in result.runs] == [0.1, 0.5]


def test_exceptions_and_wrong_halves_are_said() -> None:
    class Raises(Descent):
        name = "raises"

        def answer(self, me, ask, site):
            raise LookupError("in the client's half")

    class Silent(Descent):
        name = "silent"

        def round(self, server, turn):
            return None

    class Loses(Descent):
        name = "loses"

        def round(self, server, turn):
            yield {"x": server["x"]}
            del server["x"]

    class Wide(Descent):
        name = "wide"

        def answer(self, me, ask, site):
            return {"g": np.zeros(99)}

    with pytest.raises(LookupError, match="client's half"):
        run(Raises(step=0.1))
    with pytest.raises(TypeError, match="yield what clients are asked"):
        run(Silent(step=0.1))
    with pytest.raises(KeyError, match="the shared model"):
        run(Loses(step=0.1))
    with pytest.raises(TypeError, match="a method has a replies"):
        type("Nameless", (motet.Method,), {"name": "nameless"})
    broken = run(Wide(step=0.1))
    assert broken.runs[0].outcome == "failed"
    with pytest.raises(motet.InputError, match="no class of a method called"):
        motet.run({"problem": PROBLEM, "run": {"rounds": 1}, "method": [{"kind": "python", "name": "unheard-of"}]})


# A traceback holds the site when the call is long over: whoever drops it may be on any thread.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_rows_are_whole_numbers_of_any_width() -> None:
    class Picks(Descent):
        name = "picks"
        rows: object = None

        def answer(self, me, ask, site):
            return {"g": site.gradient(ask["x"], Picks.rows)}

    def losses(rows):
        Picks.rows = rows
        return run(Picks(step=0.1), rounds=2).rows["loss"]

    first = losses(np.array([1, 3], dtype=np.uint32))
    for rows in ([1, 3], (1, 3), np.array([1, 3]), np.array([1, 3], dtype=np.uint64), np.array([3, 1], dtype=np.int8)[::-1]):
        np.testing.assert_array_equal(losses(rows), first)
    for rows, kind, said in [
        ([1.0, 3.0], TypeError, "whole numbers"),
        (np.arange(20) == 3, TypeError, "whole numbers"),
        ([1, 20], ValueError, "row 20 of a client with 20 examples"),
        ([-1], ValueError, "row -1 of a client"),
        (np.zeros(0, dtype=np.int64), ValueError, "no rows"),
    ]:
        with pytest.raises(kind, match=said):
            losses(rows)


def test_a_site_is_for_its_call_alone() -> None:
    kept = []

    class Keeps(Descent):
        name = "keeps"

        def answer(self, me, ask, site):
            kept.append(site)
            return super().answer(me, ask, site)

    run(Keeps(step=0.1), rounds=2, threads=1)
    with pytest.raises(RuntimeError, match="for the call|thread of the call"):
        kept[0].gradient(np.zeros(4))

    class Elsewhere(Descent):
        name = "elsewhere"

        def answer(self, me, ask, site):
            raised = []

            def use():
                try:
                    site.gradient(ask["x"])
                except RuntimeError as error:
                    raised.append(str(error))

            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            assert raised == ["a site is for the thread of the call that it was given to"]
            return super().answer(me, ask, site)

    assert run(Elsewhere(step=0.1), rounds=2).runs[0].outcome == "finished"


def test_parameters_are_kept_whatever_way_the_constructor_takes_them() -> None:
    class Named(Descent):
        name = "named"

        def __init__(self, step=0.1, **more):
            super().__init__(step)
            self.more = more

    class Nameless(Descent):
        name = "nameless"

        def __init__(self, step=0.1, *more):
            super().__init__(step)

    class Ordered(Descent):
        name = "ordered"

        def __init__(self, step, /):
            super().__init__(step)

    assert Named(0.2, rate=3, args=4).params == {"step": 0.2, "rate": 3, "args": 4}
    result = run(Named(step=0.2, rate=3), rounds=2)
    assert result.runs[0].params["params"] == {"step": 0.2, "rate": 3}
    assert Nameless(0.2).params == {"step": 0.2}
    for made, name in [(lambda: Nameless(0.2, 1), "more"), (lambda: Ordered(0.2), "step")]:
        with pytest.raises(TypeError, match=f"takes '{name}' without a name"):
            made()

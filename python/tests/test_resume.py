"""What stops a run leaves it as it was before: going on gives the digests of a run that nothing stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motet

OFTEN = {"run.checkpoint": {"rounds": 1}}


class Distance:
    """Half of the squared distance to a point; raises what it is told to, at the gradient that it is told."""

    dim, smoothness, convexity = 2, 1.0, 1.0

    def __init__(self, to: float) -> None:
        self.to = np.array([to, -to])
        self.calls, self.at, self.error = 0, -1, Exception()

    def value(self, x: Any) -> float:
        return 0.5 * float((x - self.to) @ (x - self.to))

    def gradient(self, x: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return x - self.to


class Averages(motet.Method):
    """Gradients, by a server that may raise something itself."""

    name = "averages"
    replies = {"g": None}
    at = {"round": -1, "answer": -1}

    def round(self, server: Any, turn: motet.Turn) -> Any:
        if turn.index == self.at["round"]:
            raise ArithmeticError("in the server's half")
        replies = yield {"x": server["x"]}
        server["x"] = server["x"] - 0.3 * np.mean([reply["g"] for _, reply in replies], axis=0)

    def client(self, site: Any) -> Any:
        return {"asked": 0.0}

    def answer(self, me: Any, ask: Any, site: Any) -> Any:
        me["asked"] = me["asked"] + 1
        if me["asked"][0] == self.at["answer"]:
            raise ArithmeticError("in the client's half")
        return {"g": site.gradient(ask["x"]) / me["asked"]}


def run(method: Any, clients: list[Distance], **how: Any) -> motet.Result:
    return motet.run({"run": {"rounds": 12}, "method": [method]}, clients=clients, progress=False, set=OFTEN, **how)


def clients() -> list[Distance]:
    return [Distance(float(k)) for k in range(3)]


@pytest.mark.parametrize("error", [ZeroDivisionError("deep inside"), KeyboardInterrupt()], ids=["exception", "ctrl-c"])
@pytest.mark.parametrize(
    "method",
    [motet.methods.Flix(alpha=1.0, step=0.5), motet.methods.Flix(alpha=0.5), motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.2)],
    ids=["flix", "flix with own models", "scafflix"],
)
def test_a_run_goes_on_from_before_the_function_failed(tmp_path: Path, method: Any, error: BaseException) -> None:
    undisturbed = run(method, counted := clients())
    out = tmp_path / "out"
    # In every place: local solves, the reference, the first round, between communications, the last measurement.
    last = counted[1].calls
    for at in sorted({1, 2, 3, last // 3, last // 2, last - 2, last - 1, last}):
        (theirs := clients())[1].at, theirs[1].error = at, error
        with pytest.raises(type(error)):
            run(method, theirs, out=out, overwrite=True)
        assert not (out / "summary.json").exists(), "the run has not ended"
        rows = [line for line in (out / "rows.jsonl").read_text().splitlines() if "NaN" in line] if (out / "rows.jsonl").exists() else []
        assert not rows, "no row has numbers of a round that failed"
        went_on = run(method, clients(), out=out, resume=True)
        assert went_on.runs[0].digest == undisturbed.runs[0].digest and went_on.runs[0].outcome == "finished"
        np.testing.assert_array_equal(went_on.rows["loss"], undisturbed.rows["loss"])
        np.testing.assert_array_equal(went_on.clients["loss"], undisturbed.clients["loss"])


@pytest.mark.parametrize("half", ["round", "answer"])
def test_a_method_of_one_s_own_goes_on_from_before_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: str) -> None:
    undisturbed = run(Averages(), clients())
    for at in (1, 5, 12):
        monkeypatch.setitem(Averages.at, half, at)
        with pytest.raises(ArithmeticError, match="half"):
            run(Averages(), clients(), out=tmp_path / str(at))
        monkeypatch.setitem(Averages.at, half, -1)
        went_on = run(Averages(), clients(), out=tmp_path / str(at), resume=True)
        assert went_on.runs[0].digest == undisturbed.runs[0].digest
        np.testing.assert_array_equal(went_on.rows["loss"], undisturbed.rows["loss"])


def test_a_tracker_that_fails_spoils_nothing(tmp_path: Path) -> None:
    class Tracker:
        def __init__(self, at: int) -> None:
            self.at = at

        def begin(self, label: str, seed: int, rounds: int) -> None: ...
        def end(self, summary: dict[str, Any]) -> None: ...
        def row(self, row: dict[str, Any]) -> None:
            if row["round"] == self.at:
                raise OSError("the tracker is gone")

    method = motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.2)
    undisturbed = run(method, clients())
    for at in (0, 7, 12):
        with pytest.raises(OSError, match="gone"):
            run(method, clients(), out=tmp_path / str(at), loggers=[Tracker(at)])
        went_on = run(method, clients(), out=tmp_path / str(at), resume=True)
        assert went_on.runs[0].digest == undisturbed.runs[0].digest
        np.testing.assert_array_equal(went_on.clients["loss"], undisturbed.clients["loss"])


def test_what_is_finished_is_given_again_to_the_same_experiment_alone(tmp_path: Path) -> None:
    method = motet.methods.Flix(alpha=0.5)
    first = run(method, clients(), out=tmp_path)
    (again := clients())[0].at = 1
    assert run(method, again, out=tmp_path, resume=True).runs[0].digest == first.runs[0].digest, "nothing is computed any more"
    with pytest.raises(motet.InputError, match="another experiment: method.*alpha was 0.5 and is now 0.25"):
        run(motet.methods.Flix(alpha=0.25), clients(), out=tmp_path, resume=True)
    with pytest.raises(motet.InputError, match="another experiment"):
        run(method, [*clients(), Distance(9.0)], out=tmp_path, resume=True)


def test_an_empty_folder_and_none_are_new_ones(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        assert run(motet.methods.Flix(alpha=0.5), clients(), out=tmp_path / name, resume=True).runs[0].outcome == "finished"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(FileExistsError, match="not empty"):
        run(motet.methods.Flix(alpha=0.5), clients(), out=tmp_path / "mine", resume=True)

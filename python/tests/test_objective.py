"""Functions of a program: right numbers, exceptions with their traceback, little overhead."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import motet
from motet import _motet


class Logistic:
    """Logistic regression on a client's own examples, by NumPy."""

    convexity = 0.1

    def __init__(self, client: int, dim: int = 5) -> None:
        dice = np.random.default_rng(client)
        self.A = dice.normal(size=(30, dim))
        self.b = np.sign(self.A @ dice.normal(size=dim) + 0.1)
        self.dim = dim
        self.samples = 30
        self.smoothness = float(np.linalg.norm(self.A, 2) ** 2 / 120 + 0.1)

    def _rows(self, rows):
        return (self.A, self.b) if rows is None else (self.A[rows], self.b[rows])

    def value(self, x, rows):
        A, b = self._rows(rows)
        return float(np.mean(np.logaddexp(0, -b * (A @ x))) + 0.05 * x @ x)

    def gradient(self, x, rows):
        A, b = self._rows(rows)
        return -(A.T @ (b / (1 + np.exp(b * (A @ x))))) / len(b) + 0.1 * x


def run(methods, clients, rounds=15, **how):
    return motet.run({"run": {"rounds": rounds}, "method": methods}, clients=clients, progress=False, **how)


def test_functions_of_numpy_give_what_rust_gives() -> None:
    theirs = [Logistic(client) for client in range(4)]
    rows = np.vstack([one.A for one in theirs])
    data = motet.Data(rows, np.concatenate([one.b for one in theirs]).astype(int), np.repeat(np.arange(4), 30))
    methods = [motet.methods.Flix(alpha=0.5, step=0.5), motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.5), motet.methods.Fedavg(step=0.1, local_steps=3)]
    experiment = {"problem": {"model": {"kind": "logistic", "l2": 0.1}}, "run": {"rounds": 15}, "method": methods}
    ours = motet.run(experiment, data=data, progress=False)
    result = run(methods, theirs)
    # Sums in another order: to rounding alone.
    np.testing.assert_allclose(result.rows["loss"], ours.rows["loss"], rtol=1e-9)
    np.testing.assert_allclose(result.models[1].personal[2], ours.models[1].personal[2], rtol=1e-7, atol=1e-10)
    assert (result.rows["gradients"] == ours.rows["gradients"]).all()


def test_equal_seeds_give_equal_bits_also_with_batches() -> None:
    methods = [motet.methods.LocalSgd(step=0.1, local_steps=4, batch=5)]
    first, again, other = (run(methods, [Logistic(k) for k in range(3)], seeds=seed).runs[0].digest for seed in (1, 1, 2))
    assert first == again != other


def test_single_precision_and_where_training_starts() -> None:
    class Single:
        start = np.array([1.0, 2.0], dtype=np.float32)
        smoothness = 1.0

        def value(self, x):
            assert x.dtype == np.float32
            return 0.5 * float(x @ x)

        def gradient(self, x):
            return x

    result = run([motet.methods.Flix(alpha=1.0, step=0.5)], [Single(), Single()], rounds=1)
    assert result.models[0].shared.dtype == np.float32
    np.testing.assert_array_equal(result.models[0].shared, [0.5, 1.0])
    moved = run([motet.methods.Flix(alpha=1.0, step=0.5)], [Single(), Single()], rounds=1, start=np.array([4.0, 4.0], dtype=np.float32))
    np.testing.assert_array_equal(moved.models[0].shared, [2.0, 2.0])


def test_what_a_function_keeps_is_its_own() -> None:
    class Keeps(Logistic):
        kept: list[np.ndarray] = []

        def gradient(self, x, rows):
            # The array itself, and a view of it.
            Keeps.kept.append(x if len(Keeps.kept) % 2 else x[:2])
            Keeps.copies.append(Keeps.kept[-1].copy())
            return super().gradient(x, rows)

        copies: list[np.ndarray] = []

    run([motet.methods.Flix(alpha=1.0, step=0.5)], [Keeps(0), Keeps(1)])
    assert len(Keeps.kept) >= 30
    assert all((kept == copy).all() for kept, copy in zip(Keeps.kept, Keeps.copies))
    assert len({copy.tobytes() for copy in Keeps.copies}) > 10


def test_who_borrows_reads_the_memory_of_the_run_and_may_keep_it() -> None:
    class Borrows(Logistic):
        borrows = True
        kept: list[np.ndarray] = []
        copies: list[np.ndarray] = []

        def gradient(self, x, rows):
            with pytest.raises(ValueError, match="read-only"):
                x[0] = 1.0
            Borrows.kept.append(x)
            Borrows.copies.append(x.copy())
            return super().gradient(x, rows)

    methods = [motet.methods.Flix(alpha=1.0, step=0.5), motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.5), motet.methods.Fedavg(step=0.1, local_steps=3)]
    borrowed, copied = (run(methods, [kind(k) for k in range(3)]) for kind in (Borrows, Logistic))
    assert [one.digest for one in borrowed.runs] == [one.digest for one in copied.runs]
    assert all((kept == copy).all() for kept, copy in zip(Borrows.kept, Borrows.copies))
    assert len({copy.tobytes() for copy in Borrows.copies}) > 20


def test_a_gradient_may_come_in_parts_in_any_layout() -> None:
    class Parts(Logistic):
        def gradient(self, x, rows):
            g = super().gradient(x, rows)
            return (g[:2], g[2:])

    class Scattered(Logistic):
        def gradient(self, x, rows):
            return (np.repeat(super().gradient(x, rows), 2)[::2][:3], super().gradient(x, rows)[3:])

    class Itself(Logistic):
        borrows = True

        def gradient(self, x, rows):
            return x

    methods = [motet.methods.Flix(alpha=1.0, step=0.5), motet.methods.Scafflix(alpha=0.5, step=0.3, p=0.5), motet.methods.Fedavg(step=0.1, local_steps=3)]
    whole, *others = ([one.digest for one in run(methods, [kind(k) for k in range(3)]).runs] for kind in (Logistic, Parts, Scattered))
    assert all(other == whole for other in others)
    # What it gives is its own x: still read as it was when it is given.
    moved = run([motet.methods.Fedavg(step=0.25, local_steps=2)], [Itself(0)], rounds=1, start=np.full(5, 16.0))
    np.testing.assert_array_equal(moved.models[0].shared, np.full(5, 9.0))


def test_judges_give_metrics_of_test_data() -> None:
    class Judge:
        examples = 7

        def metrics(self, x):
            return {"loss": float(x @ x), "accuracy": 0.25}

    clients = [motet.Client(Logistic(k), test_judge=Judge()) for k in range(3)]
    result = run([motet.methods.Flix(alpha=1.0)], clients)
    assert result.rows["test.accuracy"][-1] == 0.25 and (result.clients["tested"] == 7).all()


@pytest.mark.parametrize("method", [motet.methods.Flix(alpha=0.5), motet.methods.Scafflix(alpha=1.0, step=0.1, p=0.3), motet.methods.Local()])
def test_an_exception_surfaces_with_its_traceback(method) -> None:
    class Broken(Logistic):
        calls = 0

        def gradient(self, x, rows):
            Broken.calls += 1
            if Broken.calls == 12:
                raise ZeroDivisionError("deep inside of the program")
            return super().gradient(x, rows)

    with pytest.raises(ZeroDivisionError, match="deep inside") as raised:
        run([method], [Broken(k) for k in range(3)], rounds=1000)
    assert "in gradient" in "".join(traceback.format_exception(raised.value))
    assert Broken.calls == 12, "nothing is called after it"


def test_ctrl_c_inside_of_a_function_ends_the_run() -> None:
    class Interrupted(Logistic):
        def gradient(self, x, rows):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([motet.methods.Flix(alpha=1.0)], [Interrupted(0)])


def test_what_is_no_objective_is_refused_with_the_client() -> None:
    class NoGradient:
        dim = 2

        def value(self, x):
            return 0.0

    class NoDim:
        def value(self, x): ...
        def gradient(self, x): ...

    class Short(Logistic):
        def gradient(self, x, rows):
            return super().gradient(x, rows)[:-1]

    with pytest.raises(TypeError, match="client 1: an objective has a method gradient"):
        run([motet.methods.Local()], [Logistic(0), NoGradient()])
    with pytest.raises(TypeError, match="client 0: .*start or a dim"):
        run([motet.methods.Local()], [NoDim()])
    with pytest.raises(ValueError, match="client 1 has a function of 6 numbers"):
        run([motet.methods.Local()], [Logistic(0, 5), Logistic(1, 6)])
    with pytest.raises(ValueError, match="a gradient has 4 numbers, and the model 5"):
        run([motet.methods.Flix(alpha=1.0)], [Short(0)])
    class Wordless(Logistic):
        def value(self, x, rows):
            return None

    class Huge(Logistic):
        def __init__(self):
            super().__init__(0)
            self.dim = 10**18

    class Rough(Logistic):
        def __init__(self, client):
            super().__init__(client)
            self.smoothness = "rough"

    class Empty(Logistic):
        def __init__(self, dim):
            super().__init__(0)
            self.dim = dim

    with pytest.raises(TypeError, match="client 1: smoothness is a number, and rough was given"):
        run([motet.methods.Flix(alpha=1.0)], [Logistic(0), Rough(1)])
    with pytest.raises(ValueError, match="client 0: .*has no numbers to train"):
        run([motet.methods.Local()], [Empty(0)])
    with pytest.raises(OverflowError, match="client 0: "):
        run([motet.methods.Local()], [Empty(-1)])
    with pytest.raises(TypeError, match="an objective's value is a number, and None was given"):
        run([motet.methods.Flix(alpha=1.0)], [Wordless(0)])
    with pytest.raises(ValueError, match="client 0: no room for dim = 1000000000000000000"):
        run([motet.methods.Local()], [Huge()])
    with pytest.raises(ValueError, match="there are no clients"):
        run([motet.methods.Local()], [])


def test_what_a_client_raises_while_it_is_looked_at_is_the_cause() -> None:
    class Property(Logistic):
        @property
        def start(self):
            raise UnicodeDecodeError("ascii", b"\xff", 0, 1, "where it was read")

    with pytest.raises(ValueError, match="client 1: .*where it was read") as raised:
        run([motet.methods.Local()], [Logistic(0), Property(1)])
    assert type(raised.value.__cause__) is UnicodeDecodeError
    assert "in start" in "".join(traceback.format_exception(raised.value))


def test_the_way_into_python_costs_little() -> None:
    class Still:
        dim = 1000

        def __init__(self):
            self.g = np.zeros(1000)

        def value(self, x):
            return 0.0

        def gradient(self, x):
            return self.g

    seconds = _motet.time_gradients(Still(), 20_000)
    # The bar is 2 microseconds on a quiet machine (docs/lab/python.md); here, beside other work and perhaps unoptimised, ten times that.
    assert float(np.median(seconds)) < 2e-5

"""PyTorch modules under our methods: the same model as a plain loop's, buffers at home, several processes with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import motet  # noqa: E402
import motet.torch  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = pytest.mark.slow
# Worker processes cannot import this file: pytest gives it a name of its own.
pytest.importorskip("cloudpickle").register_pickle_by_value(sys.modules[__name__])

CLIENTS, EXAMPLES, STEP, LOCAL, BATCH = 4, 40, 0.1, 3, 8


def data(client: int) -> tuple[torch.Tensor, torch.Tensor]:
    dice = torch.Generator().manual_seed(client)
    inputs = torch.randn(EXAMPLES, 1, 6, 6, generator=dice)
    targets = (inputs.mean(dim=(1, 2, 3)) + 0.05 * client > 0).long() + (inputs[:, 0, 0, 0] > 0).long()
    return inputs, targets


def cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))


def normed() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def problem(make=cnn, **how) -> motet.torch.Problem:
    test = [tuple(part[:10] for part in data(client + 100)) for client in range(CLIENTS)]
    return motet.torch.problem(
        make, nn.functional.cross_entropy, [data(k) for k in range(CLIENTS)], test=test, metrics=motet.torch.accuracy, **how
    )


def run(method, on, rounds=20, **how):
    return motet.run({"run": {"rounds": rounds, "reference": "off"}, "method": [method]}, clients=on, progress=False, **how)


def test_fedavg_gives_the_model_of_a_plain_loop_with_the_same_batches() -> None:
    on = problem()
    batches: list[tuple[int, np.ndarray]] = []
    for client, one in enumerate(on.clients):

        def gradient(x, rows, buffers, noise, client=client, of=one.train.gradient):
            if rows is not None:
                batches.append((client, rows.copy()))
            return of(x, rows, buffers, noise)

        one.train.gradient = gradient
    result = run(motet.methods.Fedavg(step=STEP, local_steps=LOCAL, batch=BATCH), on, rounds=20)
    assert len(batches) == 20 * CLIENTS * LOCAL

    # The same batches, in plain PyTorch.
    torch.manual_seed(0)
    module = cnn()
    shared = nn.utils.parameters_to_vector(module.parameters()).detach().clone()
    np.testing.assert_array_equal(shared.numpy(), on.start)
    at = iter(batches)
    for _ in range(20):
        ends = []
        for client in range(CLIENTS):
            nn.utils.vector_to_parameters(shared.clone(), module.parameters())
            optimiser = torch.optim.SGD(module.parameters(), lr=STEP)
            inputs, targets = data(client)
            for _ in range(LOCAL):
                whose, rows = next(at)
                assert whose == client
                optimiser.zero_grad()
                nn.functional.cross_entropy(module(inputs[rows.astype(np.int64)]), targets[rows.astype(np.int64)]).backward()
                optimiser.step()
            ends.append(nn.utils.parameters_to_vector(module.parameters()).detach().double())
        shared = torch.stack(ends).mean(0).float()
    np.testing.assert_allclose(result.models[0].shared, shared.numpy(), atol=1e-6)
    assert np.abs(shared.numpy() - on.start).max() > 0.05


@pytest.mark.parametrize("name", [name for name in motet.methods.__all__ if name != "Listed"])
def test_every_method_runs_on_a_module(name: str) -> None:
    """With the parameters of its example, as far as networks suit it."""
    import json

    from motet import _motet

    example = next(json.loads(card["example"]) for card in json.loads(_motet.catalogue())["method"] if _named(card["name"]) == name)
    # Steps of theory need constants that a network has not; local solves are cut short.
    given = getattr(motet.methods, name)
    known = given._known
    if "step" in known and not isinstance(example.get("step"), float):
        example["step"] = 0.05
    if "p" in known and not isinstance(example.get("p"), float):
        example["p"] = 0.5
    if name == "FlixSgd":
        example["optimiser"] = {"kind": "sgd", "step": 0.05}
    example = {"lambda_" if key == "lambda" else key: value for key, value in example.items()}
    if "solve" in known:
        example["solve"] = {"kind": "gd", "steps": 5, "step": 0.05, "to": 1e-9}
    on = problem()
    result = run(given(**example), on, rounds=2)
    if name == "OneShot":
        # It weighs by a constant of theory, and says that networks have none.
        assert "smoothness" in result.summary["runs"][0]["outcome"]["reason"]
        return
    assert result.runs[0].outcome in ("finished", "stopped"), result.summary
    assert np.isfinite(result.rows["loss"]).all() and "test.accuracy" in result.rows


def _named(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def test_buffers_stay_at_home_and_are_in_state_dicts() -> None:
    on = problem(normed)
    method = motet.methods.Fedavg(step=STEP, local_steps=LOCAL, batch=BATCH)
    result = run(method, on)
    again = run(method, problem(normed))
    assert result.runs[0].digest == again.runs[0].digest, "dropout takes its dice from the run"
    states = [on.state_dict(result.models[0].shared, client) for client in range(CLIENTS)]
    assert all(torch.equal(state["1.weight"], states[0]["1.weight"]) for state in states)
    assert not torch.equal(states[0]["2.running_mean"], states[1]["2.running_mean"])
    assert all(int(state["2.num_batches_tracked"]) == 20 * LOCAL for state in states)
    # Parameters and one count went over the wire, and none of the 17 buffers.
    dim = len(on.start)
    assert result.rows["bits_up"][-1] == 20 * CLIENTS * (dim + 1) * 32
    module = on.module(result.models[0].shared, client=2).eval()
    judged = on.clients[2].test_judge.metrics(result.models[0].shared, on.buffers.of(2, None))
    inputs, targets = (part[:10] for part in data(102))
    assert judged["accuracy"] == pytest.approx(float((module(inputs).argmax(1) == targets).double().mean()))


@pytest.mark.parametrize(
    "method",
    [
        motet.methods.Flix(alpha=1.0, step=STEP),
        motet.methods.FlixSgd(alpha=1.0, batch=BATCH, optimiser={"kind": "sgd", "step": STEP}),
        motet.methods.Scafflix(alpha=1.0, step=STEP, p=0.5, batch=BATCH),
        motet.methods.Diana(alpha=1.0, step=STEP, compressor={"kind": "rand-k", "k": 0.5}),
    ],
    ids=lambda method: type(method).__name__,
)
def test_training_moves_the_buffers(method) -> None:
    on = problem(normed)
    result = run(method, on)
    states = [on.state_dict(result.models[0].shared, client) for client in range(CLIENTS)]
    assert all(int(state["2.num_batches_tracked"]) >= 20 for state in states)
    assert result.rows["loss"][-1] < result.rows["loss"][0]


class Clamped(nn.Module):
    """Keeps its weights within a box, as it computes and behind PyTorch's back."""

    def __init__(self, often: int = 1) -> None:
        super().__init__()
        self.linear, self.often, self.calls = nn.Linear(36, 3), often, 0

    def forward(self, inputs):
        self.calls += 1
        if self.calls % self.often == 0:
            self.linear.weight.data.clamp_(-0.05, 0.05)
        return self.linear(inputs.flatten(1))


def test_a_module_that_writes_into_its_parameters_spoils_nobody_else_s() -> None:
    method = motet.methods.Fedavg(step=STEP, local_steps=LOCAL, batch=BATCH)
    alone = run(method, problem(Clamped), rounds=4)
    assert np.abs(alone.models[0].shared).max() > 0.06, "only what it computes with is within the box"
    with problem(Clamped, processes=2) as on:
        assert run(method, on, rounds=4).runs[0].digest == alone.runs[0].digest

    class Later(Clamped):
        def __init__(self) -> None:
            super().__init__(often=5)

        def forward(self, inputs):
            with torch.no_grad():
                if self.calls % 5 == 4:
                    self.linear.bias.clamp_(-0.01, 0.01)
            return super().forward(inputs)

    with pytest.raises(RuntimeError, match="wrote into its parameters"):
        run(method, problem(Later), rounds=4)


@pytest.mark.parametrize("make", [cnn, normed])
def test_several_processes_give_the_same_bits(make) -> None:
    method = motet.methods.Scafflix(alpha=0.5, step=STEP, p=0.5, batch=BATCH, solve={"kind": "gd", "steps": 5, "step": 0.05, "to": 1e-9})
    torch.set_num_threads(1)
    alone = run(method, problem(make), rounds=6)
    with problem(make, processes=2) as on:
        assert on.threads == 2
        together = run(method, on, rounds=6)
    assert alone.runs[0].digest == together.runs[0].digest
    np.testing.assert_array_equal(alone.rows["loss"], together.rows["loss"])


def test_exceptions_come_from_wherever_they_are_raised() -> None:
    class Breaks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(3))

        def forward(self, inputs):
            raise ArithmeticError("in the module")

    for processes in (1, 2):
        with problem(Breaks, processes=processes) as on, pytest.raises(ArithmeticError, match="in the module"):
            run(motet.methods.Fedavg(step=0.1), on)
    with pytest.raises(motet.InputError, match="no datasets"):
        motet.torch.problem(cnn, nn.functional.cross_entropy, [])
    with pytest.raises(motet.InputError, match="client 1 have 3 inputs and 2 targets"):
        motet.torch.problem(cnn, nn.functional.cross_entropy, [data(0), (torch.zeros(3, 1, 6, 6), torch.zeros(2))])
    with pytest.raises(TypeError, match="no parameters"):
        problem(nn.Flatten)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the C library of Linux")
def test_memory_of_models_is_used_again() -> None:
    """A model is a thousand pages here, and a round makes one or more of each client's: forty rounds of clients fault 20,000 times without."""
    program = """
import resource, torch, motet, motet.torch
data = [(torch.randn(8, 1000), torch.randn(8, 1000)) for _ in range(2)]
on = motet.torch.problem(lambda: torch.nn.Linear(1000, 1000), torch.nn.functional.mse_loss, data)
method = motet.methods.Scafflix(alpha=1.0, step=0.01, p=0.5, batch=4)
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run = {"rounds": 20, "reference": "off", "models": False, "probe": {"every": 0}}
    motet.run({"run": run, "method": [method]}, clients=on, progress=False)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""
    free = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    said = subprocess.run([sys.executable, "-c", program], env=free, check=True, capture_output=True, text=True).stdout
    assert int(said) < 5_000


def test_every_run_leaves_buffers_of_its_own() -> None:
    on, other = problem(normed), problem(normed)
    methods = [motet.methods.Fedavg(step=STEP, local_steps=LOCAL, batch=BATCH), motet.methods.Fedavg(step=STEP, local_steps=1, batch=BATCH)]
    experiment = {"run": {"rounds": 4, "reference": "off"}, "method": methods}
    result = motet.run(experiment, clients=on, progress=False)
    alone = [motet.run({**experiment, "method": [method]}, clients=other, progress=False) for method in methods]
    for number, single in enumerate(alone):
        x = result.models[number].shared
        np.testing.assert_array_equal(x, single.models[0].shared)
        state = on.state_dict(x, 2, run=result.runs[number])
        assert int(state["2.num_batches_tracked"]) == 4 * (LOCAL if number == 0 else 1)
        # Judged with these buffers, the model has the score that its run recorded.
        module = on.module(x, 2, run=result.runs[number]).eval()
        inputs, targets = (part[:10] for part in data(102))
        recorded = result.clients["test.accuracy"][(result.clients["run"] == number) & (result.clients["client"] == 2)]
        assert recorded == pytest.approx(float((module(inputs).argmax(1) == targets).double().mean()))
        assert all(torch.equal(part, other.state_dict(x, 2, run=single.runs[0])[name]) for name, part in state.items())
    with pytest.raises(motet.InputError, match="2 runs have used this problem"):
        on.state_dict(result.models[0].shared, 2)
    with pytest.raises(motet.InputError, match="is none of the last 64 runs"):
        problem(normed).state_dict(result.models[0].shared, 2, run=result.runs[0])
    # Without buffers nothing can be taken for another's, and the shared model has none of any client's.
    bare = problem()
    motet.run(experiment, clients=bare, progress=False)
    assert bare.state_dict(bare.start, 2) and on.state_dict(result.models[0].shared)


class Functional(nn.Module):
    """Dropout and noise by functions."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(36, 3)

    def forward(self, inputs):
        hidden = nn.functional.dropout(inputs.flatten(1), 0.3, self.training)
        return self.linear(hidden + 0.1 * torch.randn_like(hidden))


class Recurrent(nn.Module):
    """Dropout within another layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.linear = nn.LSTM(6, 5, num_layers=2, dropout=0.4, batch_first=True), nn.Linear(5, 3)

    def forward(self, inputs):
        return self.linear(self.lstm(inputs[:, 0])[0][:, -1])


@pytest.mark.parametrize("make", [Functional, Recurrent])
def test_whatever_throws_dice_repeats_and_leaves_the_programs_own_alone(make) -> None:
    torch.set_num_threads(1)
    method = motet.methods.Fedavg(step=STEP, local_steps=LOCAL, batch=BATCH)
    torch.manual_seed(5)
    expected = torch.rand(3)
    digests, losses = set(), []
    for program in (5, 6):
        torch.manual_seed(program)
        result = run(method, on := problem(make), rounds=4)
        on.module(on.start)
        digests.add(result.runs[0].digest)
        losses.append(result.rows["loss"])
        assert program != 5 or torch.equal(torch.rand(3), expected)
    with problem(make, processes=2) as on:
        result = run(method, on, rounds=4)
    digests.add(result.runs[0].digest)
    assert len(digests) == 1
    np.testing.assert_array_equal(losses[0], losses[1])
    np.testing.assert_array_equal(losses[0], result.rows["loss"])
    assert run(method, problem(make), rounds=4, seeds=2).runs[0].digest not in digests


def test_workers_outlive_ctrl_c_and_those_that_die_are_replaced() -> None:
    program = """
import os, signal, threading, sys, time, torch, motet, motet.torch
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
dice = torch.Generator().manual_seed(1)
data = [(torch.randn(40, 6, generator=dice), torch.randint(0, 2, (40,), generator=dice)) for _ in range(4)]
on = motet.torch.problem(lambda: torch.nn.Linear(6, 2), torch.nn.functional.cross_entropy, data, processes=2)
def run(rounds):
    method = motet.methods.Fedavg(step=0.1, local_steps=2, batch=10)
    seldom = {"rounds": rounds, "reference": "off", "probe": {"every": 100_000}}
    return motet.run({"run": seldom, "method": [method]}, clients=on, progress=False).runs[0].digest
first = run(5)
before = {worker._room.process.pid for worker in on._workers}
threading.Timer(1.0, lambda: os.killpg(os.getpgid(0), signal.SIGINT)).start()
try:
    run(100_000_000)
    raise SystemExit("nobody heard Ctrl-C")
except KeyboardInterrupt:
    pass
assert run(5) == first, "after Ctrl-C"
on._workers[0]._room.process.kill()
on._workers[0]._room.process.wait()
try:
    run(5)
    raise SystemExit("nobody missed the worker")
except RuntimeError as error:
    assert "ended with code -9" in str(error), error
assert run(5) == first, "after a death"
assert before != {worker._room.process.pid for worker in on._workers}
names = [worker._room.memory.name for worker in on._workers]
print(*names, *(worker._room.process.pid for worker in on._workers))
# Not closed: the program's end is theirs.
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, start_new_session=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "leaked" not in done.stderr, done.stderr
    *names, one, other = done.stdout.split()
    assert not any(os.path.exists(f"/dev/shm/{name}") or os.path.exists(f"/proc/{pid}") for name in names for pid in (one, other))


def test_problems_that_nobody_has_any_more_leave_nothing_behind() -> None:
    import gc

    on = problem(cnn, processes=2)
    left = [(worker._room.memory.name, worker._room.process) for worker in on._workers]
    del on
    gc.collect()

    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if os.environ.get("MOTET_TEST_HERE") != str(os.getpid()):
                raise ArithmeticError("in the worker alone")
            self.linear = nn.Linear(36, 3)

    os.environ["MOTET_TEST_HERE"] = str(os.getpid())
    memory = set(os.listdir("/dev/shm"))
    with pytest.raises(ArithmeticError, match="in the worker alone") as raised:
        problem(Late, processes=2)
    assert "in a worker process:" in str(raised.value.__cause__) and "in __init__" in str(raised.value.__cause__)
    assert set(os.listdir("/dev/shm")) <= memory
    assert all(process.poll() is not None and not os.path.exists(f"/dev/shm/{name}") for name, process in left)


def test_functions_of_the_program_need_cloudpickle_to_be_sent() -> None:
    program = """
import sys
sys.modules["cloudpickle"] = None
import torch, motet.torch
def make():
    return torch.nn.Linear(6, 2)
data = [(torch.zeros(4, 6), torch.zeros(4, dtype=torch.long))]
try:
    motet.torch.problem(make, torch.nn.functional.cross_entropy, data, processes=2)
except TypeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "pip install cloudpickle" in done.stdout and not done.stderr, done


def test_modules_elsewhere_than_on_the_processor_are_refused() -> None:
    with pytest.raises(TypeError, match="the module is on meta, and modules are trained on the processor"):
        problem(lambda: nn.Linear(36, 3, device="meta"))

"""PyTorch modules under our methods: the same model as a plain loop's, buffers at home, several processes with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import motet  # noqa: E402
import motet.torch  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = pytest.mark.slow

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
    judged = on.clients[2].test_judge.metrics(result.models[0].shared, on._at_home[2])
    inputs, targets = (part[:10] for part in data(102))
    assert judged["accuracy"] == pytest.approx(float((module(inputs).argmax(1) == targets).double().mean()))


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

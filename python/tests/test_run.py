"""Experiments from Python: the same records as the command line's, and what goes wrong is said."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import motet

REPOSITORY = Path(__file__).parents[2]

#: Bundled experiments without data files, each made short.
SIX = [
    ("flix/fig10-lrs", 4),
    ("scafflix/fig3b-lrs", 6),
    ("scafflix/uplink-lrs", 6),
    ("meritfed/fig1", 4),
    ("local-update/fig1-left", 5),
    ("cross/should-i-join", 5),
]

SMALL = {
    "name": "small",
    "problem": {"source": {"kind": "lrs", "clients": 4, "examples": 20, "dim": 3}},
    "run": {"rounds": 8},
    "method": [motet.methods.Flix(alpha={"grid": [1.0, 0.5]}), motet.methods.Local()],
}


def command(*words: str, **how: object) -> subprocess.CompletedProcess[str]:
    """The command line: the binary that ``MOTET`` names, or the wheel's own."""
    program = [os.environ["MOTET"]] if "MOTET" in os.environ else [sys.executable, "-m", "motet"]
    return subprocess.run([*program, *words], capture_output=True, text=True, timeout=300, **how)  # type: ignore[call-overload, no-any-return]


def untimed(lines: str) -> str:
    """Wall time is no part of what must be equal."""
    return re.sub(r',"seconds":[^,}]+', "", lines)


@pytest.mark.parametrize(("experiment", "rounds"), SIX)
def test_rows_equal_those_of_the_command_line_byte_for_byte(experiment: str, rounds: int, tmp_path: Path) -> None:
    file = REPOSITORY / "experiments" / f"{experiment}.toml"
    done = command("run", str(file), "--set", f"run.rounds={rounds}", "--seed", "3", "--out", str(tmp_path / "cli"), "--quiet")
    assert done.returncode in (0, 1), done.stderr
    written = (tmp_path / "cli" / "rows.jsonl").read_text()
    result = motet.run(file, seeds=3, set={"run.rounds": rounds}, progress=False)
    assert len(written) > 500
    assert untimed(result.jsonl()) == untimed(written)
    assert result.jsonl("clients") == (tmp_path / "cli" / "clients.jsonl").read_text()
    theirs = json.loads((tmp_path / "cli" / "summary.json").read_text())
    assert [run.digest for run in result.runs] == [run["digest"] for run in theirs["runs"]]


def test_a_dictionary_toml_text_and_a_file_are_the_same_experiment(tmp_path: Path) -> None:
    text = """
name = "small"
problem = { source = { kind = "lrs", clients = 4, examples = 20, dim = 3 } }
run = { rounds = 8 }
method = [{ kind = "flix", alpha = { grid = [1.0, 0.5] } }, { kind = "local" }]
"""
    file = tmp_path / "small.toml"
    file.write_text(text)
    rows = [untimed(motet.run(one, progress=False).jsonl()) for one in (SMALL, text, file, str(file))]
    assert rows[0] == rows[1] == rows[2] == rows[3]


def test_results_are_arrays_frames_and_a_page() -> None:
    result = motet.run(SMALL, seeds=[1, 2], progress=False)
    assert [run.label for run in result] == ["flix alpha=1.0"] * 2 + ["flix alpha=0.5"] * 2 + ["local"] * 2
    assert result.rows["loss"].dtype == np.float64 and result.rows["round"].dtype == np.uint64
    frame = result.to_pandas()
    last = frame[(frame.label == "local") & (frame.seed == 2)].iloc[-1]
    assert last.loss == result.runs[-1].final["loss"]
    table = result.to_arrow("clients")
    assert table.num_rows == 6 * 4 and {"label", "client", "loss"} <= set(table.column_names)
    models = result.models[0]
    assert models.shared.shape == (3,) and sorted(models.personal) == [0, 1, 2, 3]
    page = result._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "flix alpha=0.5" in page
    assert "flix" in repr(result)


def test_a_folder_holds_the_same_and_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = motet.run(SMALL, out=out, progress=False)
    assert (out / "report.html").is_file() and result.folder == out
    again = motet.read(out)
    assert again.jsonl() == result.jsonl() == (out / "rows.jsonl").read_text()
    np.testing.assert_array_equal(again.models[1].personal[2], motet.run(SMALL, progress=False).models[1].personal[2])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        motet.run(SMALL, out=out, progress=False)
    motet.run(SMALL, out=out, overwrite=True, progress=False)
    assert command("run", "--resume", str(out), "--quiet").returncode == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"run.rounds": -1}, "run.rounds"),
        ({"method[1].alpha": 2}, r"method\[1\].alpha: must be a number from 0 to 1"),
        ({"problem.source.kind": "lsr"}, "lsr"),
        ({"seeds": []}, "at least one seed"),
        ({"nonsense": 1}, "unknown key"),
    ],
)
def test_wrong_experiments_are_refused_with_the_key(change: dict[str, object], said: str) -> None:
    with pytest.raises(motet.InputError, match=said):
        motet.run(SMALL, set=change, progress=False)


def test_what_no_experiment_can_have_is_refused() -> None:
    with pytest.raises(TypeError, match="an experiment cannot have"):
        motet.run({**SMALL, "about": object()})
    with pytest.raises(motet.InputError, match="nowhere.toml"):
        motet.run("nowhere.toml")
    with pytest.raises(motet.InputError, match="line 2"):
        motet.run("name = 'a'\nrun = = 3\n")


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (lambda: motet.run(SMALL, threads=0), ValueError, "threads = 0: must be at least 1"),
        (lambda: motet.run(SMALL, resume=True), ValueError, "name it with out="),
        (lambda: motet.run(SMALL, seeds="abc"), TypeError, "seeds = 'abc': must be whole numbers"),
        (lambda: motet.run(SMALL, seeds=1.5), TypeError, "seeds = 1.5: must be whole numbers"),
        (lambda: motet.run(SMALL, data=np.zeros((3, 2))), TypeError, "takes motet.Data, got ndarray"),
        (lambda: motet.run({**SMALL, "run": {"rounds": float("nan")}}), ValueError, "experiment: .*not JSON compliant"),
        (lambda: motet.run(SMALL, set={"method[1].alpha": float("inf")}), ValueError, r"method\[1\].alpha: .*not JSON compliant"),
        (lambda: motet.run({**SMALL, "problem": {"holdout": {"test": None}}}), ValueError, "problem.holdout.test: is None: leave it out"),
        (lambda: motet.run({**SMALL, "method": [{"kind": "local"}, {"kind": None}]}), ValueError, r"method\[2\].kind: is None"),
        (lambda: motet.run("  "), ValueError, "empty text"),
        (lambda: motet.run(3), TypeError, "an experiment is a dictionary, TOML text or the path of a file, got int"),
        (lambda: motet.run(SMALL, clients=3), TypeError, "clients= takes a list with an objective for each client, got int"),
        (lambda: motet.run({**SMALL, "method": [motet.methods.Flix]}), TypeError, r"Flix is a class: write Flix\("),
        (lambda: motet.methods.Flix(0.5), TypeError, "Flix takes its parameters by name, and 0.5 has none"),
        (lambda: motet.methods.Flix(alpha=float("nan")), ValueError, "flix: .*not JSON compliant"),
        (lambda: motet.run(SMALL, progress=False).to_pandas("row"), ValueError, "'row' is none of 'rows', 'clients'"),
        (lambda: motet.run(SMALL, progress=False).jsonl("row"), ValueError, "'row' is none of"),
    ],
)
def test_wrong_arguments_are_refused_in_words(wrong: Callable[[], object], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        wrong()


def test_numbers_of_numpy_and_names_with_signs_are_taken(tmp_path: Path) -> None:
    assert motet.methods.Fedavg(step=np.float32(0.5), local_steps=np.int64(3)) == motet.methods.Fedavg(step=0.5, local_steps=3)
    assert len({motet.methods.Flix(alpha=1), motet.methods.Flix(alpha=1.0)}) == 1
    assert len(motet.run(SMALL, seeds=np.arange(1, 3), progress=False).runs) == 6
    file = tmp_path / "alpha=0.5.toml"
    file.write_text('problem = { source = { kind = "lrs", clients = 4, examples = 20, dim = 3 } }\nrun = { rounds = 2 }\nmethod = [{ kind = "local" }]\n')
    assert motet.run(str(file), progress=False).runs[0].label == "local"


def test_every_method_has_a_signature_and_a_text() -> None:
    import inspect

    classes = [getattr(motet.methods, name) for name in motet.methods.__all__ if name != "Listed"]
    assert len(classes) >= 35
    for made in classes:
        assert made.__doc__ and len(made.__doc__) > 40
        assert "label" in inspect.signature(made).parameters
    assert "alpha" in inspect.signature(motet.methods.Flix).parameters
    assert motet.methods.Flix(alpha=0.5) == motet.methods.Flix(alpha=0.5) != motet.methods.Flix(alpha=0.6)


def test_stubs_of_the_methods_are_those_of_the_catalogue() -> None:
    from motet._stubs import methods

    stub = Path(motet.__file__).with_name("methods.pyi")
    assert stub.read_text() == methods(), "make it anew: python -m motet._stubs"


def test_runs_are_told_to_loggers_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Heard:
        def __init__(self) -> None:
            self.said: list[object] = []

        def begin(self, label: str, seed: int, rounds: int) -> None:
            self.said.append((label, seed, rounds))

        def row(self, row: dict[str, object]) -> None:
            self.said.append(row["round"])

        def end(self, summary: dict[str, object]) -> None:
            self.said.append(summary["label"])

    heard = Heard()
    with caplog.at_level(logging.INFO, logger="motet"):
        motet.run(SMALL, loggers=[heard], progress=False)
    assert heard.said[:10] == [("flix alpha=1.0", 1, 8), *range(9)]
    assert "flix alpha=0.5 seed 1" in caplog.text

    class Broken(Heard):
        def row(self, row: dict[str, object]) -> None:
            raise LookupError("no room for rows")

    with pytest.raises(LookupError, match="no room"):
        motet.run(SMALL, loggers=[Broken()], progress=False)


def test_the_interpreter_is_free_while_a_run_works() -> None:
    ticks = 0
    done = threading.Event()

    def work() -> None:
        motet.run(SMALL, set={"run.rounds": 20_000, "run.probe.every": 0}, progress=False)
        done.set()

    runner = threading.Thread(target=work)
    runner.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    runner.join()
    assert ticks > 5


def test_ctrl_c_ends_a_run_and_a_folder_goes_on(tmp_path: Path) -> None:
    # Whoever runs the tests in the background starts them with Ctrl-C ignored, and Python keeps that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = tmp_path / "out"
    long = {"run.rounds": 100_000_000, "run.probe.every": 1000, "run.checkpoint": {"rounds": 1000}}
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        motet.run(SMALL, set=long, out=out, progress=False)
    timer.join()
    assert (out / "resume").is_dir()
    # Another experiment in the same folder is refused.
    with pytest.raises(motet.InputError, match="run.rounds was 100000000 and is now 5"):
        motet.run(SMALL, set={**long, "run.rounds": 5}, out=out, resume=True, progress=False)
    before = list(motet.read(out).rows["round"])
    assert before[-1] >= 1000
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        motet.run(SMALL, set=long, out=out, resume=True, progress=False)
    timer.join()
    went_on = list(motet.read(out).rows["round"])
    assert went_on[: len(before)] == before and went_on == list(range(0, went_on[-1] + 1, 1000)) and len(went_on) > len(before)


def test_the_wheel_carries_the_command_line(tmp_path: Path) -> None:
    own = [sys.executable, "-m", "motet"]
    listed = subprocess.run([*own, "list", "methods"], capture_output=True, text=True)
    assert listed.returncode == 0 and "scafflix" in listed.stdout
    wrong = subprocess.run([*own, "run", "nowhere.toml"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nowhere.toml" in wrong.stderr
    assert subprocess.run([*own, "sing"], capture_output=True).returncode == 2
    file = tmp_path / "long.toml"
    file.write_text(
        'problem = { source = { kind = "lrs", clients = 4, examples = 20, dim = 3 } }\n'
        'run = { rounds = 100000000, probe = { every = 10000 } }\nmethod = [{ kind = "local-sgd", step = 0.001, local_steps = 1 }]\n'
    )
    running = subprocess.Popen([*own, "run", str(file), "--out", str(tmp_path / "out")], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    rows = tmp_path / "out" / "rows.jsonl"
    while not (rows.is_file() and rows.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1 and "go on with: motet run --resume" in said


def test_a_panic_becomes_an_exception_and_python_goes_on() -> None:
    from motet import _motet

    with pytest.raises(BaseException, match="as asked for") as raised:
        _motet.panics()
    assert type(raised.value).__name__ == "PanicException"

"""A Flower federation: a SuperLink and SuperNodes as processes, and Flower's simulation, end in the digests of a run here."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

flwr = pytest.importorskip("flwr")
import motet  # noqa: E402

pytestmark = pytest.mark.slow

CLIENTS, ROUNDS = 3, 4
BIN = Path(sys.executable).parent

EXPERIMENT = {
    "problem": {
        "source": {"kind": "synthetic", "clients": CLIENTS, "features": 5, "examples": 30, "heterogeneity": 1.0},
        "model": {"kind": "logistic", "l2": 0.1},
    },
    # Every message of a deployed node takes Flower seconds: measured at both ends alone.
    "run": {"rounds": ROUNDS, "reference": "off", "probe": {"every": ROUNDS}},
    "method": [{"kind": "scafflix", "alpha": 0.5, "p": 0.5}],
}

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "wards"
version = "1.0.0"
description = "Scafflix on a federation"
license = "Apache-2.0"
dependencies = []
[tool.hatch.build.targets.wheel]
packages = ["."]
[tool.flwr.app]
publisher = "motet"
[tool.flwr.app.components]
serverapp = "wards.server:app"
clientapp = "wards.client:app"
[tool.flwr.app.config]
"""

SERVER = """
import json, pathlib
import motet.flower

def done(result):
    pathlib.Path({out!r}).write_text(json.dumps([run.digest for run in result.runs]))

app = motet.flower.server_app({experiment!r}, clients={clients}, out={records!r}, done=done, again=120)
"""

CLIENT = """
import motet.flower
app = motet.flower.client_app({experiment!r}, folder={folder!r})
"""


def digests() -> list[str]:
    return [run.digest for run in motet.run(EXPERIMENT, progress=False).runs]


def test_another_version_is_refused_with_the_ones_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    import motet.flower

    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.12.0")
    with pytest.raises(ImportError, match=r"is written for Flower 1\.41, and 1\.12\.0 is installed: pip install"):
        importlib.reload(motet.flower)


@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Flower's simulation needs ray")
def test_flower_s_simulation_ends_in_the_same_digest() -> None:
    import motet.flower
    from flwr.simulation import run_simulation

    found: list[Any] = []
    server = motet.flower.server_app(EXPERIMENT, done=found.append)
    client = motet.flower.client_app(EXPERIMENT)
    run_simulation(server, client, num_supernodes=CLIENTS, backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0}})
    assert [run.digest for run in found[0].runs] == digests()


class Federation:
    """A SuperLink and its SuperNodes, each a process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = folder, []
        app = folder / "app" / "wards"
        app.mkdir(parents=True)
        (folder / "home").mkdir()
        self.out = folder / "digests.json"
        where = {"out": str(self.out), "records": str(folder / "records"), "folder": str(folder / "states")}
        (app / "__init__.py").write_text("")
        (app / "server.py").write_text(SERVER.format(experiment=EXPERIMENT, clients=CLIENTS, **where))
        (app / "client.py").write_text(CLIENT.format(experiment=EXPERIMENT, **where))
        (folder / "app" / "pyproject.toml").write_text(PYPROJECT)
        self.ports = free_ports(CLIENTS + 1)
        self.address = f"127.0.0.1:{self.ports[0]}"
        (folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "local"\n\n[superlink.local]\naddress = "{self.address}"\ninsecure = true\n'
        )
        self.env = {**os.environ, "FLWR_HOME": str(folder / "home"), "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        self.env["PATH"] = f"{BIN}{os.pathsep}{self.env['PATH']}"
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            self.env.pop(name, None)

    def spawn(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [str(BIN / words[0]), *words[1:]], env=self.env, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        self.running.append(process)
        return process

    def superlink(self) -> None:
        port = str(self.ports[0])
        self.spawn(
            "superlink", "flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", port, "--disable-runtime-dependency-installation"
        )
        until = time.time() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.ports[0]), 0.5).close()
                return
            except OSError:
                assert time.time() < until, (self.folder / "superlink.log").read_text()
                time.sleep(0.2)

    def node(self, client: int) -> subprocess.Popen[bytes]:
        port = str(self.ports[client + 1])
        number = f"partition-id={client}"
        return self.spawn(
            f"node{client}",
            *("flower-supernode", "--insecure", "--superlink", self.address, "--host", "127.0.0.1", "--port", port, "--node-config", number),
        )

    def submit(self) -> None:
        done = subprocess.run(
            [str(BIN / "flwr"), "run", "app", "local"], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def rows(self) -> int:
        file = self.folder / "states" / "client-0.state"
        return file.stat().st_mtime_ns if file.exists() else 0

    def result(self, patience: float) -> list[str]:
        until = time.time() + patience
        while not self.out.exists():
            assert time.time() < until, (self.folder / "superlink.log").read_text()[-4000:]
            time.sleep(0.5)
        return json.loads(self.out.read_text())

    def close(self) -> None:
        for process in self.running:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process with all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.mark.parametrize("killed", [False, True])
def test_a_deployed_federation_ends_in_the_same_digest(killed: bool, tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    try:
        federation.superlink()
        nodes = [federation.node(client) for client in range(CLIENTS)]
        federation.submit()
        if killed:
            # In the middle of the run: client 0 has answered once.
            until = time.time() + 300
            while not federation.rows():
                assert time.time() < until, (tmp_path / "superlink.log").read_text()[-4000:]
                time.sleep(0.2)
            kill(nodes[0])
            assert not federation.out.exists()
            federation.node(0)
        assert federation.result(900) == digests()
    finally:
        federation.close()

"""A process that answers for PyTorch modules: Python runs one thread at a time, so that more clients need more processes.

Run as ``python -m motet._worker FD`` by ``motet.torch``. Numbers lie in memory that both sides share; the pipe carries what is asked.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from multiprocessing.connection import Connection, Pipe
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import numpy.typing as npt


def _pickled(work: Any) -> bytes:
    """Functions of a notebook or a script need cloudpickle; those of a module do not."""
    try:
        import cloudpickle
    except ImportError:
        try:
            return pickle.dumps(work)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(f"several processes need functions that can be sent to them: pip install cloudpickle ({error})") from error
    return cloudpickle.dumps(work)  # type: ignore[no-any-return]


class Process:
    """One worker, as the process that started it sees it."""

    def __init__(self, work: Any, dim: int, buffers: int, kind: Any) -> None:
        self._memory, self._x, self._g, self._b = _arrays(None, dim, buffers, kind)
        here, there = Pipe()
        payload = _pickled(work)
        self._pipe = here
        self._process = subprocess.Popen(
            [sys.executable, "-m", "motet._worker", str(there.fileno())],
            pass_fds=[there.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        there.close()
        self._pipe.send((self._memory.name, dim, buffers, np.dtype(kind).str))
        self._pipe.send_bytes(payload)
        self._answer()

    def ask(self, what: str, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None, *words: Any) -> Any:
        """What the worker's trainer says; ``buffers`` are as it left them."""
        self._x[:] = x
        if buffers is not None:
            self._b[:] = buffers
        self._pipe.send((what, buffers is not None, words))
        answer = self._answer()
        if buffers is not None:
            buffers[:] = self._b
        return (answer, self._g) if what == "value_gradient" else answer

    def _answer(self) -> Any:
        try:
            raised, answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"a worker process ended with code {self._process.wait()}; its last words are above") from None
        if raised:
            error, text = answer
            error.add_note(text) if hasattr(error, "add_note") else None
            raise error
        return answer

    def close(self) -> None:
        """Ends the worker."""
        self._pipe.close()
        self._process.wait()
        # The arrays are views of the memory: they go first.
        del self._x, self._g, self._b
        self._memory.close()
        self._memory.unlink()


def _arrays(name: str | None, dim: int, buffers: int, kind: Any) -> tuple[SharedMemory, Any, Any, Any]:
    """Shared memory with x, its gradient and the buffers."""
    kind = np.dtype(kind)
    # Buffers are of double precision, and begin where these may begin.
    room = -(-2 * dim * kind.itemsize // 8) * 8
    memory = SharedMemory(name=name, create=name is None, size=room + 8 * buffers)
    x = np.ndarray(dim, kind, memory.buf)
    g = np.ndarray(dim, kind, memory.buf, dim * kind.itemsize)
    b = np.ndarray(buffers, np.float64, memory.buf, room)
    return memory, x, g, b


def serve(pipe: Any) -> None:
    """Answers until the other side closes the pipe."""
    from ._trainer import Trainer

    name, dim, buffers, kind = pipe.recv()
    memory, x, g, b = _arrays(name, dim, buffers, kind)
    # Whoever made the memory ends it: this process only looks.
    try:
        from multiprocessing import resource_tracker

        resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
    except (ImportError, AttributeError, KeyError):
        pass
    trainer = None
    while True:
        try:
            if trainer is None:
                trainer = Trainer(pickle.loads(pipe.recv_bytes()))
                pipe.send((False, None))
                continue
            what, with_buffers, words = pipe.recv()
            kept = b if with_buffers else None
            if what == "value_gradient":
                part, client, rows, noise = words
                value, gradient = trainer.value_gradient(part, client, x, rows, kept, noise)
                np.concatenate(gradient, out=g)
                pipe.send((False, value))
            elif what == "value":
                part, client, rows = words
                pipe.send((False, trainer.value(part, client, x, rows, kept)))
            else:
                part, client = words
                pipe.send((False, trainer.metrics(part, client, x, kept)))
        except EOFError:
            return
        except Exception as error:
            text = "in a worker process:\n" + traceback.format_exc()
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:
                error = RuntimeError(str(error))
            pipe.send((True, (error, text)))
            if trainer is None:
                return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))

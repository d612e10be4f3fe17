"""A process that answers for PyTorch modules: Python runs one thread at a time, so that more clients need more processes.

Run as ``python -m motet._worker FD`` by ``motet.torch``. Numbers lie in memory that both sides share; the pipe carries what is asked.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
import subprocess
import sys
import traceback
import weakref
from multiprocessing.connection import Connection, Pipe
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import numpy.typing as npt


#: What a pipe says whose other side is gone.
GONE = (EOFError, BrokenPipeError, ConnectionResetError)

#: What must be installed to send a function of a script or a notebook to another process.
HINT = "several processes need functions that can be sent to them: pip install cloudpickle, or put them into a module"


def _pickled(work: Any) -> bytes:
    """Functions of a notebook or a script need cloudpickle; those of a module do not."""
    try:
        import cloudpickle
    except ImportError:
        try:
            payload = pickle.dumps(work)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(f"{HINT} ({error})") from error
        # The program itself is another one there.
        if any(word == "__main__" for _, word, _ in pickletools.genops(payload)):
            raise TypeError(f"{HINT} (one of them is the program's own)") from None
        return payload
    return cloudpickle.dumps(work)  # type: ignore[no-any-return]


class _Room:
    """What a worker has of the system: memory, and a process that is started when it is needed."""

    def __init__(self, dim: int, buffers: int, kind: Any) -> None:
        self.memory, self.x, self.g, self.b = _arrays(None, dim, buffers, kind)
        self.pipe: Connection | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def end_process(self) -> int | None:
        """Ends the process, whatever it is doing; its code."""
        if self.pipe is not None:
            self.pipe.close()
        if self.process is None:
            return None
        self.process.kill()
        code = self.process.wait()
        self.pipe = self.process = None
        return code

    def leave(self) -> None:
        """Gives everything back."""
        if os.getpid() != self._owner:
            # A copy of the program, made by a fork, has nothing of its own to give back.
            return
        self.end_process()
        # The arrays are views of the memory: they go first.
        del self.x, self.g, self.b
        self.memory.unlink()
        # Whoever still has a gradient keeps the memory, which has no name any more, until it goes.
        with contextlib.suppress(BufferError):
            self.memory.close()


class Process:
    """One worker, as the process that started it sees it. One that has ended, or whose answer nobody waited for, is started anew when it is asked
    again. What it has of the system is given back when it is closed, when nobody has it any more, and when the program ends."""

    def __init__(self, work: Any, dim: int, buffers: int, kind: Any) -> None:
        self._work, self._sizes = work, (dim, buffers, np.dtype(kind).str)
        self._room = _Room(*self._sizes)
        self.close = weakref.finalize(self, self._room.leave)
        """Ends the worker."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        payload = _pickled(self._work)
        self._room.pipe, there = Pipe()
        try:
            self._room.process = subprocess.Popen(
                [sys.executable, "-m", "motet._worker", str(there.fileno())],
                pass_fds=[there.fileno()],
                # Ctrl-C in a terminal is for this process, which ends the run; a worker ends with its pipe.
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        finally:
            there.close()
        try:
            self._talk((self._room.memory.name, *self._sizes), payload)
        except BaseException:
            self._room.end_process()
            raise

    def ask(self, what: str, x: npt.NDArray[Any], buffers: npt.NDArray[Any] | None, *words: Any) -> Any:
        """What the worker's trainer says; ``buffers`` are as it left them."""
        room = self._room
        if room.process is None:
            self._start()
        room.x[:] = x
        if buffers is not None:
            room.b[:] = buffers
        answer = self._talk((what, buffers is not None, words))
        if buffers is not None:
            buffers[:] = room.b
        return (answer, room.g) if what == "value_gradient" else answer

    def _talk(self, question: Any, payload: bytes | None = None) -> Any:
        """Asks, and waits for the answer. If none comes, nobody knows what the worker will say next: it is ended."""
        pipe = self._room.pipe
        assert pipe is not None, "a worker is started before it is asked"
        try:
            pipe.send(question)
            if payload is not None:
                pipe.send_bytes(payload)
            raised, answer = pipe.recv()
        except GONE:
            raise RuntimeError(f"a worker process ended with code {self._ended()}; its last words are above") from None
        except BaseException:
            self._room.end_process()
            raise
        if raised:
            error, text = answer
            raise error from RuntimeError(text)
        return answer

    def _ended(self) -> int | None:
        """The code of a process that has closed its end."""
        assert self._room.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._room.process.wait(timeout=10)
        return self._room.end_process()


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
        except GONE:
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

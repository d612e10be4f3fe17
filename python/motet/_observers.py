"""Who is told what happens while an experiment runs: a bar, the log, trackers."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Protocol

log = logging.getLogger("motet")

#: A bar moves so often at most, in seconds: a round may take microseconds.
PAUSE = 0.1


class Listener(Protocol):
    """Is told of every run.

    Two more methods are called where there are any: ``row(row)`` with the line of ``rows.jsonl`` when a round was measured, and ``close(error)``
    when nothing more comes, with the exception that ended everything or ``None``. A run that was under way then has not ended.
    """

    def begin(self, label: str, seed: int, rounds: int, /) -> None:
        """A run begins."""

    def end(self, summary: dict[str, Any], /) -> None:
        """A run ended: its entry in ``summary.json``."""


class Observers:
    """Hands events to the bar, the log and the listeners."""

    def __init__(self, progress: bool | None, listeners: Iterable[Listener]) -> None:
        self._listeners = list(listeners)
        self._of_rows = [listener.row for listener in self._listeners if hasattr(listener, "row")]
        self._bar = _bar(progress)
        self._moved = 0.0
        self._label = ""

    def __enter__(self) -> Observers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
        for listener in self._listeners:
            try:
                getattr(listener, "close", lambda error: None)(error)
            except Exception:
                if error is None:
                    raise
                # What ended the runs is what the program hears of.
                log.exception("%s could not be closed", type(listener).__name__)

    def begin(self, label: str, seed: int, rounds: int) -> None:
        log.debug("%s seed %d: %d rounds", label, seed, rounds)
        self._label = f"{label} seed {seed}"
        if self._bar is not None:
            self._bar.reset(total=rounds)
            self._bar.set_description(self._label)
        for listener in self._listeners:
            listener.begin(label, seed, rounds)

    def working(self, what: str) -> None:
        if self._bar is not None:
            self._bar.set_description(f"{self._label}: {what}" if self._label else what)

    def row(self, line: str) -> None:
        now = time.monotonic()
        due = self._bar is not None and now - self._moved >= PAUSE
        if not due and not self._of_rows:
            return
        row: dict[str, Any] = json.loads(line)
        if self._bar is not None and due:
            self._moved = now
            self._bar.n = row["round"]
            shown = next((name for name in ("gap", "test.loss", "loss") if name in row["metrics"]), None)
            if shown is not None:
                self._bar.set_postfix_str(f"{shown} {float(row['metrics'][shown]):.3e}")
            self._bar.refresh()
        for hear in self._of_rows:
            hear(row)

    def end(self, line: str) -> None:
        summary: dict[str, Any] = json.loads(line)
        log.info("%s seed %d: %s, %d rounds", summary["label"], summary["seed"], summary["outcome"]["kind"], summary["rounds"])
        if self._bar is not None:
            self._bar.n = summary["rounds"]
            self._bar.refresh()
        for listener in self._listeners:
            listener.end(summary)

    def note(self, text: str) -> None:
        log.info("%s", text)


def _bar(progress: bool | None) -> Any:
    """A bar, if it is wanted and there is one."""
    if progress is False or (progress is None and not _somebody_looks()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            log.warning("there is no bar without tqdm: pip install tqdm")
        return None
    return tqdm(unit=" rounds", leave=False)


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules

"""Writes ``methods.pyi``: what type checkers and editors know of the methods, from the catalogue."""

from __future__ import annotations

import inspect
from pathlib import Path

from . import methods as made

HEADER = '''"""Made from the catalogue by ``python -m motet._stubs``."""

from typing import Any, ClassVar

class Listed:
    kind: ClassVar[str]
    params: dict[str, Any]
    def __init__(self, **params: Any) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def _table(self) -> dict[str, Any]: ...
'''


def methods() -> str:
    """The text of the stub."""
    text = HEADER
    for name in made.__all__:
        if name == "Listed":
            continue
        parameters = inspect.signature(getattr(made, name)).parameters.values()
        arguments = [
            f"{one.name}: Any" if one.default is inspect.Parameter.empty else f"{one.name}: Any = None" for one in parameters
        ]
        about = (inspect.getdoc(getattr(made, name)) or "").partition("\n")[0]
        text += f'\nclass {name}(Listed):\n    """{about}"""\n\n    def __init__(self, *, {", ".join(arguments)}) -> None: ...\n'
    listed = ", ".join(f'"{name}"' for name in made.__all__)
    return text + f"\n__all__ = [{listed}]\n"


if __name__ == "__main__":
    Path(__file__).with_name("methods.pyi").write_text(methods(), encoding="utf-8")

"""Every method of the catalogue as a class: ``Flix(alpha=0.5)`` is ``{"kind": "flix", "alpha": 0.5}``.

Classes, signatures and texts are made from the catalogue when the module is imported; ``help(motet.methods.Flix)`` shows them.
Whatever an experiment file may write for a parameter may be given: a number, ``"tune"``, ``{"grid": [1.0, 0.5]}``. Names that are
words of Python have an underscore: ``lambda_``.

>>> import motet
>>> motet.methods.Flix(alpha=0.5)
Flix(alpha=0.5)
>>> motet.methods.Flix(alpha=1.5)
Traceback (most recent call last):
motet.InputError: flix: method[1].alpha: must be a number from 0 to 1, got 1.5
>>> motet.methods.Flix(alhpa=0.5)
Traceback (most recent call last):
TypeError: Flix has no parameter 'alhpa': did you mean 'alpha'?
"""

from __future__ import annotations

import difflib
import inspect
import json
import keyword
import textwrap
from typing import Any, ClassVar

from . import _motet
from ._run import _json


class Listed:
    """A method of the catalogue and its parameters; ``label`` is what reports call it."""

    kind: ClassVar[str]
    """As experiment files call it."""
    _known: ClassVar[frozenset[str]]

    def __init__(self, *unnamed: Any, **params: Any) -> None:
        if unnamed:
            raise TypeError(f"{type(self).__name__} takes its parameters by name, and {unnamed[0]!r} has none")
        given = {name: value for name, value in params.items() if value is not None}
        for name in given:
            if name not in self._known:
                near = difflib.get_close_matches(name, self._known, 1)
                hint = f": did you mean {near[0]!r}?" if near else f": it has {', '.join(sorted(self._known))}"
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}{hint}")
        self.params = given
        _motet.check_method(_json(self._table(), self.kind))

    def _table(self) -> dict[str, Any]:
        return {"kind": self.kind, **{name.rstrip("_"): value for name, value in self.params.items()}}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.params.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and self._table() == other._table()

    def __hash__(self) -> int:
        return hash((self.kind, *sorted(self.params)))


def _argument(name: str) -> str:
    """A parameter's name as Python can have it."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _class(card: dict[str, Any]) -> type[Listed]:
    """The class of a method."""
    name = "".join(part.capitalize() for part in card["name"].split("-"))
    parameters = card["parameters"]
    # Those that must be given come first; all are given by name.
    ordered = sorted(parameters, key=lambda parameter: bool(parameter["optional"]))
    signature = [
        inspect.Parameter(
            _argument(parameter["name"]),
            inspect.Parameter.KEYWORD_ONLY,
            default=None if parameter["optional"] else inspect.Parameter.empty,
        )
        for parameter in ordered
    ]
    signature.append(inspect.Parameter("label", inspect.Parameter.KEYWORD_ONLY, default=None))
    tuned = not any(parameter["name"] == "tune" for parameter in parameters)
    if tuned:
        signature.append(inspect.Parameter("tune", inspect.Parameter.KEYWORD_ONLY, default=None))
    known = {"label", "tune"}
    for parameter in parameters:
        known.update(map(_argument, [parameter["name"], *parameter["aliases"]]))
    texts = [f"{_argument(parameter['name'])}\n{textwrap.indent(textwrap.fill(parameter['about'], 110), '    ')}" for parameter in ordered]
    texts.append("label\n    What reports call it.")
    if tuned:
        texts.append("tune\n    Values that trials choose from: a table, as in experiment files.")
    doc = f"{card['about']}\n\n{card['paper']}\n\nParameters\n----------\n" + "\n".join(texts) + "\n"
    made = type(name, (Listed,), {"__doc__": doc, "kind": card["name"], "_known": frozenset(known), "__module__": __name__})
    made.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    return made


_CLASSES = [_class(card) for card in json.loads(_motet.catalogue())["method"]]
globals().update({made.__name__: made for made in _CLASSES})

__all__ = ["Listed", *(made.__name__ for made in _CLASSES)]

"""Personalised federated learning: simulate, tune, explain.

An experiment is a dictionary, a TOML text or a file, as on the command line. :func:`run` runs it:

>>> import motet
>>> result = motet.run({
...     "problem": {"source": {"kind": "lrs", "clients": 5, "examples": 20, "dim": 6}},
...     "run": {"rounds": 10},
...     "method": [motet.methods.Flix(alpha=0.5), motet.methods.Local()],
... }, seeds=[1, 2], progress=False)
>>> result.rows["loss"].shape
(24,)
>>> [run.label for run in result.runs]
['flix', 'flix', 'local', 'local']

Data of one's own become :class:`Data`, functions of one's own stand in ``clients=``, and a method of one's own derives from
:class:`Method`. ``motet.tracking`` writes to MLflow and Weights & Biases. ``motet.torch`` trains PyTorch modules, ``motet.sklearn`` has estimators,
``motet.flower`` has apps for Flower: each of these imports its library when it is imported itself.
"""

from __future__ import annotations

from . import methods, tracking
from ._advise import Advice, ClientAdvice, advise
from ._data import Data
from ._method import Method, Turn
from ._model import Model, load
from ._motet import InputError, RunError, Site, Stopped, __version__
from ._objective import Client, Judge, Objective
from ._result import Models, Result, Run, read
from ._run import run

__all__ = [
    "Advice",
    "Client",
    "ClientAdvice",
    "Data",
    "InputError",
    "Judge",
    "Method",
    "Model",
    "Models",
    "Objective",
    "Result",
    "Run",
    "RunError",
    "Site",
    "Stopped",
    "Turn",
    "__version__",
    "advise",
    "load",
    "methods",
    "read",
    "run",
    "tracking",
]

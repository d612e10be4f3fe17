"""Personalised models as scikit-learn estimators: ``fit(X, y, groups=client)``, ``predict(X, groups=client)``.

>>> import numpy as np
>>> from motet.sklearn import PersonalisedClassifier
>>> dice = np.random.default_rng(0)
>>> X = dice.normal(size=(90, 3))
>>> y = np.where(X[:, 0] + dice.normal(size=90) / 4 > 0, "yes", "no")
>>> wards = np.repeat(["north", "south", "west"], 30)
>>> model = PersonalisedClassifier(alpha=0.5, rounds=30).fit(X, y, groups=wards)
>>> model.predict(X[:2], groups=["north", "west"]).shape
(2,)

Every group is a client. A client that was there while fitting has a model of its own; others get the shared one. Without groups, all
rows are of one client.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from . import _motet
from ._data import Data, _features
from ._run import run

__all__ = ["PersonalisedClassifier", "PersonalisedRegressor"]


def _with_alpha() -> frozenset[str]:
    """The methods that mix."""
    cards = json.loads(_motet.catalogue())["method"]
    return frozenset(card["name"] for card in cards if any(one["name"] == "alpha" for one in card["parameters"]))


WITH_ALPHA = _with_alpha()


class _Personalised(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    def __init__(
        self,
        method: str = "flix",
        *,
        alpha: float | str = 0.5,
        l2: float = 1e-3,
        rounds: int = 100,
        params: dict[str, Any] | None = None,
        validation: float = 0.25,
        random_state: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.l2 = l2
        self.rounds = rounds
        self.params = params
        self.validation = validation
        self.random_state = random_state
        self.threads = threads

    def _fit(self, X: Any, labels: npt.NDArray[Any], targets: str, model: dict[str, Any], groups: Any) -> Any:
        clients = np.zeros(X.shape[0], dtype=np.int64) if groups is None else _groups(groups, X)
        data = Data(X, labels, clients, targets=targets)
        seed = _seed(self.random_state)
        problem: dict[str, Any] = {"model": model, "seed": seed}
        if self.alpha == "validation":
            problem["holdout"] = {"validation": self.validation}
        table: dict[str, Any] = {"kind": self.method, **(self.params or {})}
        if self.method in WITH_ALPHA:
            table.setdefault("alpha", self.alpha)
        experiment = {
            "problem": problem,
            "run": {"rounds": int(self.rounds), "probe": {"every": 0, "gradient": False}, "reference": "off"},
            "method": [table],
        }
        result = run(experiment, seeds=seed, data=data, threads=self.threads, progress=False)
        done = result.runs[-1]
        if done.outcome not in ("finished", "stopped"):
            raise _motet.RunError(f"{done.label} {done.outcome}: try fewer rounds, or another step in params")
        self.rows_ = result.rows
        self.model_ = model
        models = result.models[max(result.models)]
        self.shared_ = models.shared
        names = data.clients
        self.personal_ = {names[client]: x for client, x in models.personal.items()}
        self.n_iter_ = int(result.rows["round"][-1])
        return self

    def _scores(self, X: Any, groups: Any, classes: int | None) -> npt.NDArray[np.float64]:
        """What each row's client says of it."""
        check_is_fitted(self, "shared_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        model = json.dumps(self.model_)
        if groups is None:
            # One client while fitting is the one that predicts.
            only = next(iter(self.personal_.values())) if len(self.personal_) == 1 else self.shared_
            return _motet.scores(model, only, _features(X, None)[0], classes)
        names = np.array([str(name) for name in _groups(groups, X).tolist()], dtype=object)
        scores: npt.NDArray[np.float64] | None = None
        for name in dict.fromkeys(names.tolist()):
            at = np.flatnonzero(names == name)
            of = _motet.scores(model, self.personal_.get(name, self.shared_), _features(X[at], None)[0], classes)
            if scores is None:
                scores = np.empty((len(names), of.shape[1]))
            scores[at] = of
        assert scores is not None, "there is at least one row"
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PersonalisedClassifier(ClassifierMixin, _Personalised):  # type: ignore[misc]
    """Logistic regression (softmax for more than two classes), personalised for each group.

    Parameters
    ----------
    method
        A method of the catalogue: ``"flix"``, ``"scafflix"``, ``"local"``, ``"fedavg"``, …
    alpha
        The share of the common model in each client's mixture, from 0 (own models) to 1 (one model for all);
        ``"validation"`` lets each client pick its own on held-out rows.
    l2
        Strength of the ridge.
    rounds
        How many rounds.
    params
        Other parameters of the method, such as ``{"step": 0.1}``.
    validation
        The share of each client's rows that is held out for ``alpha="validation"``.
    random_state
        The seed.
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> PersonalisedClassifier:
        """Trains on rows, their classes, and the client of each."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier tells classes apart, and y has one class alone: {self.classes_[0]!r}")
        kind = "logistic" if len(self.classes_) == 2 else "softmax"
        # Codes have the order of the classes: numbers sort by value.
        model = {"kind": kind, "l2": float(self.l2), "intercept": True}
        return self._fit(X, codes.astype(np.int64), "classes", model, groups)  # type: ignore[no-any-return]

    def decision_function(self, X: Any, groups: Any = None) -> npt.NDArray[np.float64]:
        """The log-odds of the second of two classes; the score of each of more."""
        scores = self._scores(X, groups, self._count())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any, groups: Any = None) -> npt.NDArray[np.float64]:
        """The probability of each class, by each row's client."""
        scores = self._scores(X, groups, self._count())
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        scores -= scores.max(axis=1, keepdims=True)
        odds: npt.NDArray[np.float64] = np.exp(scores)
        odds /= odds.sum(axis=1, keepdims=True)
        return odds

    def predict(self, X: Any, groups: Any = None) -> npt.NDArray[Any]:
        """The class of each row, by its client's model."""
        scores = self._scores(X, groups, self._count())
        best = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[best]  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The share of rows that are right."""
        return float(accuracy_score(y, self.predict(X, groups), sample_weight=sample_weight))

    def _count(self) -> int:
        check_is_fitted(self, "classes_")
        return len(self.classes_)


class PersonalisedRegressor(RegressorMixin, _Personalised):  # type: ignore[misc]
    """Ridge regression, personalised for each group; parameters as of :class:`PersonalisedClassifier`."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> PersonalisedRegressor:
        """Trains on rows, their numbers, and the client of each."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        # Around the mean, and in units of the deviation: steps of theory are then of a size that numbers of any scale take.
        self._middle = float(np.mean(y))
        self._unit = float(np.std(y)) or 1.0
        model = {"kind": "ridge", "l2": float(self.l2), "intercept": True}
        return self._fit(X, (y - self._middle) / self._unit, "numbers", model, groups)  # type: ignore[no-any-return]

    def predict(self, X: Any, groups: Any = None) -> npt.NDArray[np.float64]:
        """The number of each row, by its client's model."""
        scores: npt.NDArray[np.float64] = self._scores(X, groups, None)[:, 0]
        scores *= self._unit
        scores += self._middle
        return scores

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """R²: 1 for the truth, 0 for the mean of ``y``."""
        return float(r2_score(y, self.predict(X, groups), sample_weight=sample_weight))


def _groups(groups: Any, X: Any) -> npt.NDArray[Any]:
    """The client of each row."""
    named = check_array(np.asarray(groups, dtype=object).reshape(-1, 1), dtype=None, ensure_all_finite=False).reshape(-1)
    check_consistent_length(X, named)
    return named  # type: ignore[no-any-return]


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(2**31 - 1))

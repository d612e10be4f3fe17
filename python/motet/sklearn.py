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

Every group is a client, named by words or whole numbers. A client that was there while fitting has a model of its own; others get the shared
one, which ``method="local"`` and ``alpha=0`` do not have. Without groups, all rows are of one client.
"""

from __future__ import annotations

import json
import numbers
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from . import _motet
from ._cells import is_gap
from ._data import Data, _features, _refuse_masks
from ._run import run

__all__ = ["PersonalisedClassifier", "PersonalisedRegressor"]


def _with_alpha() -> frozenset[str]:
    """The methods that mix."""
    cards = json.loads(_motet.catalogue())["method"]
    return frozenset(card["name"] for card in cards if any(one["name"] == "alpha" for one in card["parameters"]))


WITH_ALPHA = _with_alpha()
#: The share of the common model, if nobody says another.
ALPHA = 0.5


#: How groups reach an estimator through others.
ROUTING = (
    "In a pipeline or a search, groups reach the estimator with sklearn.set_config(enable_metadata_routing=True) and "
    ".set_fit_request(groups=True).set_predict_request(groups=True).set_score_request(groups=True)."
)


class _Personalised(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    def __init__(
        self,
        method: str = "flix",
        *,
        alpha: float | str = ALPHA,
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
        table: dict[str, Any] = {"kind": self.method, **(self.params or {})}
        if self.method in WITH_ALPHA:
            table.setdefault("alpha", self.alpha)
            if groups is None and self.alpha != ALPHA:
                warnings.warn(f"alpha = {self.alpha!r} without groups: all rows are of one client, and nothing is personalised. {ROUTING}", stacklevel=3)
        clients = ["0"] * X.shape[0] if groups is None else _groups(groups, X)
        data = Data(X, labels, clients, targets=targets)
        seed = _seed(self.random_state)
        problem: dict[str, Any] = {"model": model, "seed": seed}
        if table.get("alpha") == "validation":
            problem["holdout"] = {"validation": self.validation}
        experiment = {
            "problem": problem,
            "run": {"rounds": int(self.rounds), "probe": {"every": 0, "gradient": False}, "reference": "off"},
            "method": [table],
        }
        result = run(experiment, seeds=seed, data=data, threads=self.threads, progress=False)
        results = [number for number, card in enumerate(result.manifest["runs"]) if card.get("trial") is None]
        if len(results) > 1:
            raise _motet.InputError(f"params give {len(results)} runs, and an estimator is one model: search over params with GridSearchCV")
        done = result.runs[results[0]]
        if done.outcome not in ("finished", "stopped"):
            raise _motet.RunError(f"{done.label} {done.outcome}: try fewer rounds, or another step in params")
        self.rows_ = result.rows
        self.model_ = model
        models = result.models[results[0]]
        # Where nothing is shared, the server's model is still the one that training starts with.
        self.shared_ = None if self.method == "local" or table.get("alpha") == 0 else models.shared
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
            return _motet.scores(model, self._model_of(None), _features(X, None)[0], classes)
        names, of, counts = np.unique(_groups(groups, X), return_inverse=True, return_counts=True)
        rows_of = np.split(np.argsort(of, kind="stable"), np.cumsum(counts)[:-1])
        scores = [_motet.scores(model, self._model_of(str(name)), _features(X[at], None)[0], classes) for name, at in zip(names, rows_of)]
        together = np.empty((len(of), scores[0].shape[1]))
        for at, some in zip(rows_of, scores):
            together[at] = some
        return together

    def _model_of(self, group: str | None) -> npt.NDArray[Any]:
        """The model for a group's rows; without one, for rows of nobody knows whom."""
        if group in self.personal_:
            return self.personal_[group]
        if group is None and len(self.personal_) == 1:
            # One client while fitting is the one that predicts.
            return next(iter(self.personal_.values()))
        if self.shared_ is None:
            of = "rows without groups" if group is None else f"group {group!r}, which was not there while fitting"
            raise ValueError(f"there is no model for {of}: with {self._alone()} clients have their own models alone, and share none")
        return self.shared_

    def _alone(self) -> str:
        return 'method="local"' if self.method == "local" else "alpha=0"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PersonalisedClassifier(ClassifierMixin, _Personalised):  # type: ignore[misc]
    """Logistic regression (softmax for more than two classes), personalised for each group.

    Without groups it is one model for all rows. ``GridSearchCV(…).fit(X, y, groups=g)`` and pipelines keep the groups for themselves, unless
    metadata routing is enabled: ``sklearn.set_config(enable_metadata_routing=True)``, and of the estimator
    ``.set_fit_request(groups=True).set_predict_request(groups=True).set_score_request(groups=True)``.

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
        Other parameters of the method, such as ``{"step": 0.1}``; no grids.
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
    """Ridge regression, personalised for each group; parameters as of :class:`PersonalisedClassifier`.

    Without groups it is one model for all rows, also in ``GridSearchCV(…).fit(X, y, groups=g)``: see there how groups get through.
    """

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


def _groups(groups: Any, X: Any) -> npt.NDArray[np.str_]:
    """The client of each row, by the same name whatever kind of words or whole numbers it is written in."""
    _refuse_masks(groups, "groups")
    named = check_array(np.asarray(groups, dtype=object).reshape(-1, 1), dtype=None, ensure_all_finite=False).reshape(-1)
    check_consistent_length(X, named)
    return np.array([_name(group, row) for row, group in enumerate(named.tolist())])


def _name(group: Any, row: int) -> str:
    if is_gap(group):
        raise ValueError(f"groups: row {row} has none")
    whole = isinstance(group, (numbers.Integral, np.bool_)) or (isinstance(group, numbers.Real) and float(group).is_integer())
    return str(int(group)) if whole else str(group)


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(2**31 - 1))

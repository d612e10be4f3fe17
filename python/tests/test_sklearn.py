"""Estimators of scikit-learn: its own checks, pipelines, searches, and the same models as an experiment's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.model_selection import GridSearchCV, GroupKFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import motet  # noqa: E402
from motet.sklearn import PersonalisedClassifier, PersonalisedRegressor  # noqa: E402

DICE = np.random.default_rng(7)
X = DICE.normal(size=(240, 3))
WARD = np.repeat(["north", "south", "west", "east"], 60)
#: Each ward has a slope of its own: one model for all cannot be right.
SLOPE = {"north": [3, 0, 0], "south": [-3, 0, 0], "west": [0, 3, 0], "east": [0, -3, 0]}
SCORE = np.einsum("ij,ij->i", X, np.array([SLOPE[ward] for ward in WARD], dtype=float))
Y = np.where(SCORE + DICE.normal(size=240) / 2 > 0, "ill", "well")


@pytest.mark.parametrize("estimator", [PersonalisedClassifier(), PersonalisedRegressor()])
def test_it_passes_scikit_learns_own_checks(estimator: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)


def test_each_group_has_a_model_of_its_own() -> None:
    own = PersonalisedClassifier(alpha=0.1, rounds=200).fit(X, Y, groups=WARD)
    shared = PersonalisedClassifier(alpha=1.0, rounds=200).fit(X, Y, groups=WARD)
    right = lambda model, groups: float(np.mean(model.predict(X, groups=groups) == Y))  # noqa: E731
    assert right(own, WARD) > 0.9 > 0.75 > right(shared, WARD)
    assert sorted(own.personal_) == ["east", "north", "south", "west"] and list(own.classes_) == ["ill", "well"]
    probabilities = own.predict_proba(X, groups=WARD)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (own.classes_[probabilities.argmax(axis=1)] == own.predict(X, groups=WARD)).all()
    # Whoever was not there gets the shared model.
    np.testing.assert_array_equal(own.predict(X, groups=["elsewhere"] * 240), own.predict(X))


def test_models_are_those_of_the_experiment() -> None:
    estimator = PersonalisedClassifier(alpha=0.5, l2=0.01, rounds=30, random_state=3).fit(X, Y, groups=WARD)
    result = motet.run(
        {
            "problem": {"model": {"kind": "logistic", "l2": 0.01, "intercept": True}, "seed": 3},
            "run": {"rounds": 30},
            "method": [motet.methods.Flix(alpha=0.5)],
        },
        data=motet.Data(X, Y, WARD),
        seeds=3,
        progress=False,
    )
    np.testing.assert_array_equal(estimator.personal_["south"], result.models[0].personal[2])


def test_alpha_is_picked_on_validation_rows() -> None:
    picked = PersonalisedClassifier(alpha="validation", rounds=100).fit(X, Y, groups=WARD)
    assert np.mean(picked.predict(X, groups=WARD) == Y) > 0.85


def test_three_classes_and_numbers() -> None:
    classes = np.digitize(SCORE, [-1.5, 1.5])
    model = PersonalisedClassifier(alpha=0.2, rounds=300).fit(X, classes, groups=WARD)
    assert np.mean(model.predict(X, groups=WARD) == classes) > 0.8 and model.predict_proba(X).shape == (240, 3)
    regressor = PersonalisedRegressor(alpha=0.1, rounds=200).fit(X, 100 * SCORE + 7, groups=WARD)
    assert np.corrcoef(regressor.predict(X, groups=WARD), SCORE)[0, 1] > 0.99


def test_other_methods_and_wrong_ones() -> None:
    for method, params in [("local", {}), ("scafflix", {"step": 0.1, "p": 0.5}), ("fedavg", {"step": 0.1, "local_steps": 5})]:
        PersonalisedClassifier(method, params=params, rounds=20).fit(X, Y, groups=WARD)
    with pytest.raises(motet.InputError, match="flx"):
        PersonalisedClassifier("flx").fit(X, Y, groups=WARD)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PersonalisedClassifier().fit(X, Y, groups=WARD[:-1])


def test_pipelines_and_searches_with_groups() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = PersonalisedClassifier(rounds=60).set_fit_request(groups=True).set_predict_request(groups=True).set_score_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), estimator)
        pipeline.fit(X, Y, groups=WARD)
        assert np.mean(pipeline.predict(X, groups=WARD) == Y) > 0.7
        # Whole groups are left out: their rows are judged by the shared model, for which a larger share is better or as good.
        search = GridSearchCV(pipeline, {"personalisedclassifier__alpha": [0.2, 0.9]}, cv=GroupKFold(4))
        search.fit(X, Y, groups=WARD)
    assert search.best_params_["personalisedclassifier__alpha"] in (0.2, 0.9)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_searches_without_routing_split_by_group_alone() -> None:
    search = GridSearchCV(PersonalisedClassifier(rounds=20), {"l2": [1e-3, 1e-1]}, cv=GroupKFold(4)).fit(X, Y, groups=WARD)
    assert set(search.best_params_) == {"l2"}

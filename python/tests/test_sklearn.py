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
    assert sorted(search.best_estimator_[-1].personal_) == ["east", "north", "south", "west"], "groups have reached the estimator"
    assert search.best_params_["personalisedclassifier__alpha"] in (0.2, 0.9)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_searches_without_routing_split_by_group_alone() -> None:
    search = GridSearchCV(PersonalisedClassifier(rounds=20), {"l2": [1e-3, 1e-1]}, cv=GroupKFold(4)).fit(X, Y, groups=WARD)
    assert len(search.best_estimator_.personal_) == 1, "groups stay with the search"
    with pytest.warns(UserWarning, match="(?s)alpha = 0.2 without groups.*enable_metadata_routing"):
        GridSearchCV(PersonalisedClassifier(rounds=2), {"alpha": [0.2]}, cv=GroupKFold(2)).fit(X, Y, groups=WARD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PersonalisedClassifier(alpha=0.2, rounds=2).fit(X, Y, groups=WARD)


@pytest.mark.parametrize(("how", "named"), [({"method": "local"}, 'method="local"'), ({"alpha": 0}, "alpha=0"), ({"params": {"alpha": 0.0}}, "alpha=0")])
def test_where_nothing_is_shared_strangers_get_nothing(how: dict[str, object], named: str) -> None:
    model = PersonalisedClassifier(**how, rounds=20).fit(X, Y, groups=WARD)
    assert np.mean(model.predict(X, groups=WARD) == Y) > 0.9
    with pytest.raises(ValueError, match=f"no model for group 'elsewhere', which was not there while fitting: with {named}"):
        model.predict(X[:2], groups=["north", "elsewhere"])
    with pytest.raises(ValueError, match="no model for rows without groups"):
        model.predict(X)


def test_groups_have_one_name_whatever_writes_them() -> None:
    number = np.repeat([3, 10, 7, 2**60 + 1], 60)
    model = PersonalisedClassifier(alpha=0.1, rounds=30).fit(X, Y, groups=number)
    assert sorted(model.personal_, key=int) == ["3", "7", "10", str(2**60 + 1)]
    expected = model.predict_proba(X, groups=number)
    for same in (number.tolist(), number.astype(object), [str(one) for one in number], np.array([np.uint64(one) for one in number], dtype=object)):
        np.testing.assert_array_equal(model.predict_proba(X, groups=same), expected)
    small = number[:180].astype(np.float32)
    np.testing.assert_array_equal(model.predict_proba(X[:180], groups=small), expected[:180])
    # One at a time, and in another order.
    for row in (0, 100, 239):
        np.testing.assert_array_equal(model.predict_proba(X[row : row + 1], groups=number[row : row + 1])[0], expected[row])
    np.testing.assert_array_equal(model.predict_proba(X[::-1], groups=number[::-1]), expected[::-1])
    for gap in (np.nan, None):
        with pytest.raises(ValueError, match="groups: row 1 has none"):
            model.predict(X[:2], groups=[3, gap])
    with pytest.raises(ValueError, match="groups: row 1 is masked"):
        model.predict(X[:2], groups=np.ma.array([3, 7], mask=[False, True]))


def test_one_model_comes_of_one_estimator() -> None:
    with pytest.raises(motet.InputError, match="params give 2 runs"):
        PersonalisedClassifier(params={"step": {"grid": [0.1, 0.2]}}, rounds=3).fit(X, Y, groups=WARD)
    tuned = PersonalisedClassifier("fedavg", params={"step": "tune", "local_steps": 2}, rounds=5).fit(X, Y, groups=WARD)
    assert len(tuned.personal_) == 4
    # Rows are held out where somebody picks by them, and only there.
    picks, own = (PersonalisedClassifier("local", alpha=alpha, rounds=5).fit(X, Y, groups=WARD) for alpha in ("validation", 0.5))
    np.testing.assert_array_equal(picks.personal_["south"], own.personal_["south"])

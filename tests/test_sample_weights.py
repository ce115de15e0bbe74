"""Weights of records in [0, 1]: as secret as the records, at no more noise."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.linear_model import Ridge

import dplit
from dplit import (
    AdaSSPRegressor,
    NoisyGradientClassifier,
    NoisyGradientRegressor,
    ObjectivePerturbationClassifier,
    PerPerson,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateMarginClassifier,
    ProjectedObjectiveClassifier,
    SufficientStatisticsRegressor,
)
from dplit._labels import check_weights
from dplit.audit import ledger
from dplit.streams import stream
from tests.audit.spies import moved, problems, run, told_of_data

# so few records that the estimators warn of their noise
pytestmark = pytest.mark.filterwarnings("ignore::dplit.NoiseWarning")

_ENDS: dict[str, Any] = {"data_norm": 0.5, "bounds": (-0.5, 0.5)}
_CLASSES: dict[str, Any] = {"data_norm": 0.5, "classes": (-0.5, 0.5)}
_BOX: dict[str, Any] = {"box": (-0.5, 0.5)}
_HIDDEN: dict[str, Any] = {"neighboring": "add_remove", "public_size": 9}

#: Models, and whether some neighbours below move their sums as far as the noise covers.
MODELS: dict[str, tuple[Any, bool]] = {
    "moments": (SufficientStatisticsRegressor(**_ENDS), True),
    "moments replaced": (SufficientStatisticsRegressor(neighboring="replace_one", **_ENDS), True),
    "moments of rows": (SufficientStatisticsRegressor(fit_intercept=False, **_ENDS), True),
    "adassp": (AdaSSPRegressor(**_ENDS), False),
    "descent": (NoisyGradientRegressor(clip=0.1, **_ENDS), True),
    "descent hidden": (NoisyGradientRegressor(clip=0.1, **_HIDDEN, **_ENDS), True),
    "shapes": (PrivateAdditiveRegressor(n_hats=3, **_BOX, bounds=(-0.5, 0.5)), True),
    "gradient": (NoisyGradientClassifier(clip=0.1, **_CLASSES), True),
    "gradient weighted": (
        NoisyGradientClassifier(clip=0.1, class_weight=(0.2, 1.0), **_CLASSES),
        True,
    ),
    "objective": (ObjectivePerturbationClassifier(**_CLASSES), False),
    "projected": (ProjectedObjectiveClassifier(n_components=1, **_CLASSES), False),
    "classes": (PrivateAdditiveClassifier(**_BOX, classes=(-0.5, 0.5), delta=0.0), False),
    "three classes": (PrivateAdditiveClassifier(**_BOX, classes=(-0.5, 0.0, 0.5)), False),
}


def _data(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = stream(0, "sample-weights", "data")
    X = rng.uniform(-0.35, 0.35, (n, 2))
    return X, np.where(X[:, 0] > 0.05, 0.5, -0.5), rng.uniform(0.0, 1.0, n)


def test_every_estimator_that_takes_weights_has_a_case() -> None:
    """Kills weights that are taken tomorrow and that nobody asks how far they move a sum."""
    found = {
        name
        for name in dplit._HOME
        if hasattr(kind := getattr(dplit, name), "fit")
        and "sample_weight" in inspect.signature(kind.fit).parameters
    }
    assert found - {"PerPerson"} == {type(model).__name__ for model, _ in MODELS.values()}


@pytest.mark.parametrize("name", MODELS)
def test_a_weighted_fit_spends_what_it_promises(name: str) -> None:
    """The noise and the records of the ledger are those of a fit without weights.

    Kills noise, steps, knots or a penalty that follow the weights.
    """
    model, _ = MODELS[name]
    X, y, weights = _data()
    found, plain = run(model, (X, y, weights)), run(model, (X, y))
    assert problems(found, model.epsilon, found.result.delta_) == []
    assert told_of_data(found, plain) == []


@pytest.mark.parametrize("name", MODELS)
def test_no_record_with_its_weight_moves_more_than_was_told(name: str) -> None:
    """A record at the bounds, with another record, label and weight in its place, or with none.

    Kills a weight that multiplies what was clipped already, and one that the noise follows.
    """
    model, sharp = MODELS[name]
    relation = getattr(model, "neighboring", "replace_one")
    largest = 0.0
    X, y, weights = np.array([[0.1, -0.2], [-0.3, 0.1]]), np.array([0.5, -0.5]), np.array([0.3, 1])
    ends = [
        (angle, label, weight)
        for angle in (0.0, 45.0, 90.0, 180.0)
        for label in (-0.5, 0.5)
        for weight in (0.0, 0.25, 1.0)
    ]

    def told(angle: float, label: float, weight: float) -> Any:
        row = 0.5 * np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
        return np.vstack([X, row]), np.r_[y, label], np.r_[weights, weight]

    runs = [run(model, told(*end)) for end in ends]
    others = [run(model, (X, y, weights))] if relation == "add_remove" else runs
    for one in runs:
        for other in others:
            assert relation == "add_remove" or told_of_data(one, other) == []
            largest = max(largest, moved(one, other))
    assert largest <= 1.0 + 1e-9
    assert not sharp or largest > 0.9


@pytest.mark.parametrize("name", ["moments", "moments of rows", "adassp", "descent hidden"])
def test_a_weight_of_zero_takes_a_record_out_where_their_number_is_hidden(name: str) -> None:
    """To the bit. Kills weights that a sum, or its divisor, does not see."""
    X, y, weights = _data()
    model = clone(MODELS[name][0]).set_params(random_state=0)
    kept = weights > 0.5
    found = clone(model).fit(X, y, sample_weight=kept * 1.0)
    np.testing.assert_array_equal(found.coef_, clone(model).fit(X[kept], y[kept]).coef_)
    assert (found.coef_ != clone(model).fit(X, y).coef_).any()
    ones = clone(model).fit(X, y, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(ones.coef_, clone(model).fit(X, y).coef_)


@pytest.mark.parametrize("name", ["gradient", "objective", "classes", "three classes"])
def test_weights_of_records_and_of_classes_multiply(name: str) -> None:
    """Kills weights of records that are dropped where classes have some, or the other way round."""
    X, y, weights = _data()
    model = clone(MODELS[name][0]).set_params(random_state=0)
    given = (0.25, 0.5, 1.0)[: len(model.classes)]
    factor = np.array(given)[np.searchsorted(model.classes, y)]
    told = clone(model).set_params(class_weight=given)
    by_class = told.fit(X, y).coef_
    np.testing.assert_array_equal(clone(model).fit(X, y, sample_weight=factor).coef_, by_class)
    both = clone(told).fit(X, y, sample_weight=weights).coef_
    product = clone(model).fit(X, y, sample_weight=weights * factor).coef_
    np.testing.assert_array_equal(both, product)
    assert (both != by_class).any()


@pytest.mark.parametrize("constant", [True, False])
def test_weights_are_those_of_a_ridge(constant: bool) -> None:
    """Where noise is nothing, against scikit-learn's. Kills roots of weights in their place: they
    move coefficients by .02 and more here, and the grid of 16 bits by less than 1e-3.
    """
    X, _, weights = _data(4000)
    y = np.where(weights > 0.5, X[:, 0], X[:, 1] - 0.1)
    shape: dict[str, Any] = {"alpha": 1e-3, "fit_intercept": constant}
    for kind, more in (
        (SufficientStatisticsRegressor, {"alpha": 1e-3}),
        (NoisyGradientRegressor, {"clip": 2.0, "steps": 4000, "learning_rate": 1.9}),
    ):
        model = kind(epsilon=1e9, fit_intercept=constant, random_state=0, **more, **_ENDS)
        model.fit(X, y, sample_weight=weights)
        peer = Ridge(**shape).fit(X, y, sample_weight=weights)
        wrong = Ridge(**shape).fit(X, y, sample_weight=np.sqrt(weights))
        assert abs(peer.coef_ - wrong.coef_).max() > 0.02
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=5e-3)
        assert model.intercept_ == pytest.approx(peer.intercept_, abs=5e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "wrong", [[1.0 + 1e-9] + [0.5] * 59, [-0.123] + [0.5] * 59, [0.5] * 59, [[0.5]] * 60]
)
def test_weights_outside_the_bound_are_refused_before_a_draw(name: str, wrong: Any) -> None:
    """No message quotes a weight."""
    model = MODELS[name][0]
    X, y, _ = _data()
    rule = r"sample_weight must (be 60 numbers in \[0, 1\], got others|have 1 )"
    with ledger() as book, pytest.raises(ValueError, match="sample_weight must") as told:
        clone(model).fit(X, y, sample_weight=wrong)
    assert not len(book)
    assert "0.123" not in str(told.value)
    assert np.ndim(wrong) == 2 or told.match(rule)
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        clone(model).fit(X, y, sample_weight=[np.nan] + [0.5] * 59)


@pytest.mark.parametrize("name", MODELS)
def test_the_statement_says_that_weights_are_hidden_and_not_what_they_are(name: str) -> None:
    X, y, weights = _data()
    told = [
        clone(MODELS[name][0]).fit(X, y, sample_weight=w).privacy_statement_
        for w in (weights, np.zeros(60), None)
    ]
    assert told[0] == told[1]
    for part in ("A record's weight, in [0, 1], is hidden with it.", "or a weight is outside"):
        assert part in told[0]
        assert part not in told[2]


def test_a_weight_of_a_person_stays_with_its_record() -> None:
    """Records of a person that count bring their own weights; an estimator without them refuses."""
    X, y, weights = _data()
    who = np.arange(60) // 2
    for given in (
        SufficientStatisticsRegressor(random_state=0, **_ENDS),
        ObjectivePerturbationClassifier(random_state=0, **_CLASSES),
    ):
        model = PerPerson(given, rows_each=2).fit(X, y, group=who, sample_weight=weights)
        inner = clone(given).set_params(epsilon=model.estimator_.epsilon)
        inner.set_params(delta=model.estimator_.delta).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.estimator_.coef_, inner.coef_, rtol=1e-9)
        assert "A record's weight" in model.privacy_statement_
        assert is_regressor(model) == is_regressor(given)
    order = stream(0, "sample-weights", "data", 1).permutation(60)
    first, second = (
        PerPerson(MODELS["moments"][0].set_params(random_state=0))
        .fit(X[k], y[k], group=who[k], sample_weight=weights[k])
        .estimator_.coef_
        for k in (np.arange(60), order)
    )
    np.testing.assert_array_equal(first, second)
    margin = PerPerson(PrivateMarginClassifier(**_CLASSES))
    with ledger() as book, pytest.raises(TypeError, match="estimator must take sample_weight"):
        margin.fit(X, y, group=who, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight must be 60 numbers"):
        PerPerson(MODELS["moments"][0]).fit(X, y, group=who, sample_weight=weights + 1.0)
    assert not len(book)


def test_weights_are_numbers_in_the_unit_interval() -> None:
    assert check_weights("sample_weight", None, 3) is None
    np.testing.assert_array_equal(check_weights("sample_weight", [0, 1, 0.5], 3), [0.0, 1.0, 0.5])
    for missing in ([None, 0.5], np.ma.MaskedArray([0.123, 0.5], [True, False])):
        with pytest.raises((TypeError, ValueError), match="sample_weight must be") as told:
            check_weights("sample_weight", missing, 2)
        assert "0.123" not in str(told.value)

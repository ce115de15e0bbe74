"""The classifier over objective perturbation: contract, penalty, guarantee, noise, bad input."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

from dplit import NoisyGradientClassifier, ObjectivePerturbationClassifier
from dplit._base import noise_source
from dplit._numerics.clipping import lowered
from dplit.audit import ledger
from dplit.linear import objective_classifier
from dplit.linear.objective import (
    PerturbedObjective,
    objective_perturbation,
    smallest_regularization,
)
from dplit.linear.objective_classifier import objective_penalty
from dplit.streams import stream

# many of these data sets are so small that the estimator warns of its noise; one test asks for it
pytestmark = pytest.mark.filterwarnings("ignore:the noise of")


def _data(n: int = 3000, d: int = 4, trial: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(0, "objective-classifier", "data", trial)
    X = rng.uniform(-1.0, 1.0, (n, d)) / math.sqrt(d)
    return X, np.where(X[:, 0] - X[:, 1] > 0.1, "yes", "no")


def _model(**changes: Any) -> ObjectivePerturbationClassifier:
    return ObjectivePerturbationClassifier(**{"data_norm": 1.0, "random_state": 0, **changes})


@pytest.mark.parametrize("loss", ["huberised_hinge", "logistic"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_combination_learns(loss: str, delta: float, fit_intercept: bool) -> None:
    X, y = _data(6000)
    model = _model(loss=loss, delta=delta, fit_intercept=fit_intercept, epsilon=4.0).fit(X, y)
    assert model.score(X, y) > (0.93 if fit_intercept else 0.85)
    scores = model.decision_function(X[:9])
    np.testing.assert_array_equal(model.predict(X[:9]), np.where(scores > 0, "yes", "no"))
    assert (model.intercept_ != 0) == fit_intercept


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_is_fitted_and_stated_is_the_mechanism_on_unit_rows(
    monkeypatch: pytest.MonkeyPatch, delta: float, fit_intercept: bool
) -> None:
    """Kills a budget, a relation or a penalty that is stated and not used, and a norm beyond 1."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any], PerturbedObjective]] = []

    def spy(*args: Any, **options: Any) -> PerturbedObjective:
        calls.append((args, options, objective_perturbation(*args, **options)))
        return calls[-1][2]

    monkeypatch.setattr(objective_classifier, "objective_perturbation", spy)
    X, y = _data(500)
    X[:5] *= 100.0
    model = _model(delta=delta, epsilon=0.7, data_norm=0.5, fit_intercept=fit_intercept).fit(X, y)
    [((rows, signs), options, released)] = calls
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-15
    assert options["data_norm"] == 1.0
    np.testing.assert_array_equal(signs, np.where(y == "yes", 1.0, -1.0))
    stated = (model.epsilon_, model.delta_, model.neighboring_)
    assert stated == (released.epsilon, released.delta, released.neighboring)
    assert stated == (0.7, delta, "replace_one")
    assert (model.regularization_, model.noise_) == (released.regularization, released.noise)
    np.testing.assert_allclose(model.decision_function(X), rows @ released.coef, rtol=1e-9)
    for part in (f"(0.7, {delta:g})", "one of 500 records", "norm 0.5", "random_state"):
        assert part in model.privacy_statement_, part


@pytest.mark.parametrize("loss", ["huberised_hinge", "logistic"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("smoothing", [0.5, 0.05])
def test_the_penalty_is_public_and_never_below_what_the_mechanism_demands(
    loss: Any, epsilon: float, smoothing: float
) -> None:
    """Kills a rule without the floor (a sharp corner asks for more) and one that reads records."""
    X, y = _data(200)
    model = _model(loss=loss, epsilon=epsilon, smoothing=smoothing)
    least = smallest_regularization(
        n_records=200, epsilon=epsilon, data_norm=1.0, loss=loss, smoothing=smoothing
    )
    used = model.fit(X, y).regularization_
    assert used == max(3.0 / (200 * epsilon), least)
    assert used == model.fit(-9.0 * X, y).regularization_
    assert used == objective_penalty(
        n_records=200, dimension=5, epsilon=epsilon, delta=0.0, loss=loss, smoothing=smoothing
    )
    tiny = model.set_params(regularization=1e-30).fit(X, y)
    assert tiny.regularization_ == least
    assert model.set_params(regularization=2.0).fit(X, y).regularization_ == 2.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_for_the_solver_is_short_at_every_default(delta: float) -> None:
    """Kills a penalty of 3 / (n epsilon) beyond what double precision can minimise."""
    for n, d, epsilon in ((100_000, 50, 10.0), (10_000_000, 3, 1.0), (300, 5, 1e6)):
        given = {"n_records": n, "epsilon": epsilon, "loss": "logistic", "smoothing": 0.5}
        used = objective_penalty(dimension=d, delta=delta, **given)  # type: ignore[arg-type]
        assert 3.0 / (n * epsilon) < used < 1e-3
    X, y = _data(300)
    assert _model(epsilon=1e6, delta=delta).fit(X, y).score(X, y) > 0.97


def _noise_for_the_solver(n: int, d: int, penalty: float, **asked: Any) -> float:
    """Mean length of the noise that hides the solver's error, as the ledger tells it."""
    with ledger() as book:
        objective_perturbation(
            np.zeros((n, d)),
            np.ones(n),
            data_norm=1.0,
            regularization=penalty,
            rng=stream(0, "solver", "noise"),
            **asked,
        )
    return list(book)[-1].scale * d


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_the_default_penalty_is_the_first_with_short_noise_for_the_solver(
    loss: Any, delta: float
) -> None:
    """Kills a smoothness, length or penalty that is off by a factor of two, a dimension left out,
    an epsilon above 1 that counts whole. The penalty beside n curvatures is too small to be seen.
    """
    for n, d in itertools.product((1_000, 1_700, 2_900, 4_900, 8_300), (20, 60)):
        asked = {"epsilon": 10.0, "delta": delta, "loss": loss, "smoothing": 0.5}
        used = objective_penalty(n_records=n, dimension=d, **asked)  # type: ignore[arg-type]
        doubled = math.log2(used / (3.0 / (n * 10.0)))
        assert doubled == round(doubled) >= 0
        assert _noise_for_the_solver(n, d, used, **asked) <= 0.2
        assert doubled == 0 or _noise_for_the_solver(n, d, used / 2.0, **asked) > 0.2


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_noise_has_its_law(delta: float) -> None:
    """On margins below 1 - h the hinge is linear, so weights tell the noise. Kolmogorov and Smirnov
    at 800 fits, false alarm 1e-5; kills noise of half the scale and a dimension too small.
    """
    X, y = np.zeros((40, 3)), np.repeat(["no", "yes"], 20)
    found = []
    for trial in range(800):
        rng = stream(0, "objective-classifier-law", "noise", trial)
        model = _model(
            delta=delta, regularization=1e3, fit_intercept=False, epsilon=1.0, random_state=rng
        ).fit(X, y)
        found.append(np.linalg.norm(2.0 * 1e3 * 40 * model.coef_))  # rows are 0: the noise itself
    if delta == 0.0:
        law = ("gamma", (3.0, 0.0, 1.0 / model.noise_))
        mean = 3.0 / model.noise_
        assert model.noise_ == pytest.approx(0.5, rel=2e-3)  # (epsilon - jacobian) / (2 r)
    else:
        law = ("chi", (3.0, 0.0, model.noise_))
        mean = model.noise_ * math.sqrt(8.0 / math.pi)
    assert kstest(found, law[0], args=law[1]).pvalue > 1e-5
    assert np.mean(found) == pytest.approx(mean, rel=0.1)


def test_new_records_are_clipped_as_those_of_the_training_were() -> None:
    X, y = _data()
    model = _model().fit(X, y)
    far, near = np.array([[3e5, 4e5, 0.0, 0.0]]), np.array([[0.6, 0.8, 0.0, 0.0]])
    np.testing.assert_allclose(model.decision_function(far), model.decision_function(near))


def test_units_of_the_records_do_not_matter() -> None:
    X, y = _data()
    one, other = _model().fit(X, y), _model(data_norm=1000.0).fit(1000.0 * X, y)
    np.testing.assert_allclose(one.coef_, 1000.0 * other.coef_, rtol=1e-9)
    assert one.intercept_ == pytest.approx(other.intercept_)


def test_probabilities_are_those_of_the_logistic_loss_alone() -> None:
    X, y = _data()
    model = _model(loss="logistic").fit(X, y)
    P = model.predict_proba(X[:7])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(P[:, 1], expit(model.decision_function(X[:7])))
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[:7]))
    assert not hasattr(_model().fit(X, y), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _model().fit(X, y).predict_proba(X)


def test_given_classes_are_kept_and_other_labels_count_as_the_first() -> None:
    X, y = _data(200)
    model = _model(classes=("yes", "no")).fit(X, np.full(200, "no"))
    assert model.classes_.tolist() == ["yes", "no"]
    assert (model.predict(X) == "no").mean() > 0.9
    one = _model(classes=("a", "yes")).fit(X, y)
    two = _model(classes=("other", "yes")).fit(X, np.where(y == "no", "z", y))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_more_than_two_classes_are_refused() -> None:
    X, _ = _data(30)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        _model().fit(X, np.arange(30) % 3)


def test_a_text_is_no_intercept() -> None:
    with pytest.raises(TypeError, match="fit_intercept must be True or False"):
        _model(fit_intercept="no").fit(*_data(40))


@pytest.mark.filterwarnings("error")
def test_it_warns_of_noise_from_public_numbers_alone() -> None:
    """Kills a warning that looks at the records, or at one of the two laws of noise only."""
    X, y = _data(3000)
    _model().fit(X, y)
    for changes in ({"epsilon": 0.003}, {"epsilon": 0.003, "delta": 1e-6}, {"loss": "logistic"}):
        few = slice(None) if "epsilon" in changes else slice(0, 30)
        for rows in (X[few], 0.0 * X[few]):
            with pytest.warns(UserWarning, match="the noise of .* as long as the longest"):
                _model(**changes).fit(rows, y[few])


WRONG_WEIGHTS = [
    2.0,
    "balanced",
    (1.0,),
    (1.0, 0.5, 0.2),
    (1.0, 1.0 + 1e-12),
    (-0.1, 1.0),
    (math.nan, 1.0),
    (0.0, 0.0),
    ("1", "1"),
    (True, True),
    {"no": 1.0},
    {"no": 1.0, "maybe": 0.5},
    {"no": 1.0, "yes": 2.0},
    {"no": 1.0, "yes": 0.5, "maybe": 0.5},
]


@pytest.mark.parametrize("wrong", WRONG_WEIGHTS, ids=str)
@pytest.mark.parametrize("make", [ObjectivePerturbationClassifier, NoisyGradientClassifier])
def test_wrong_weights_of_classes_are_refused_before_a_draw(make: Any, wrong: Any) -> None:
    """Planted among them: a weight of 2, which would lengthen gradients beyond the noise."""
    X, y = _data(200)
    model = make(data_norm=1.0, classes=("no", "yes"), class_weight=wrong)
    with ledger() as book, pytest.raises(ValueError, match=r"class_weight must have a weight in"):
        model.fit(X, y)
    assert not len(book)


@pytest.mark.parametrize("loss", ["huberised_hinge", "logistic"])
def test_weights_of_classes_are_those_of_their_records(loss: str) -> None:
    """By class and in their order, the mechanism with each record's weight; kills weights of the
    other class. Noise and statement are those without weights.
    """
    X, y = _data(800)
    rare = np.flatnonzero(y == "yes")[60:]
    X, y = np.delete(X, rare, 0), np.delete(y, rare)
    told = {"yes": 1.0, "no": 0.1}
    stated = {"loss": loss, "classes": ("no", "yes"), "epsilon": 50.0}
    model = _model(class_weight=told, **stated).fit(X, y)
    listed = _model(class_weight=[0.1, 1.0], **stated).fit(X, y)
    np.testing.assert_array_equal(model.coef_, listed.coef_)
    plain = _model(**stated).fit(X, y)
    assert (model.noise_, model.privacy_statement_) == (plain.noise_, plain.privacy_statement_)
    found = [np.mean(one.predict(X[y == "yes"]) == "yes") for one in (plain, model)]
    assert found[1] > found[0] + 0.1
    by_hand = objective_perturbation(
        plain._unit_rows(X),
        np.where(y == "yes", 1.0, -1.0),
        weights=np.where(y == "yes", 1.0, 0.1),
        epsilon=50.0,
        data_norm=1.0,
        regularization=model.regularization_,
        loss=loss,
        rng=noise_source(0),
    )
    np.testing.assert_allclose(model.coef_, lowered(by_hand.coef)[0], rtol=1e-9)

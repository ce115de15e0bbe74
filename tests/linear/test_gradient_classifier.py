"""Noisy gradients for any number of classes: contract, exact sums, noise, schedule, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import kstest

from dplit import NoisyGradientClassifier
from dplit._numerics import exact
from dplit._records import classified_records
from dplit.linear import _descent, gradient_classifier
from dplit.linear._descent import Schedule, _Scored, descend, squared_loss_derivative
from dplit.linear._schedules import descent_schedule
from dplit.linear.gradient_classifier import _softmax_loss_derivative, softmax
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream

pytestmark = pytest.mark.filterwarnings("ignore:.* are too few for this budget")  # few records


def _data(n: int = 3000, trial: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = stream(0, "gradient-classifier", "data", trial).uniform(-1.0, 1.0, (n, 3)) / math.sqrt(3.0)
    angle = np.arctan2(X[:, 0], X[:, 1])
    return X, np.where(angle > 1.0, "c", np.where(angle < -1.0, "a", "b"))


def _model(**changes: Any) -> NoisyGradientClassifier:
    return NoisyGradientClassifier(**{"data_norm": 1.0, "random_state": 0, **changes})


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_three_classes_are_learnt(fit_intercept: bool, relation: Any) -> None:
    X, y = _data(6000)
    size = {"public_size": 6000} if relation == "add_remove" else {}
    model = _model(neighboring=relation, fit_intercept=fit_intercept, **size).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (3, 3)
    assert (model.intercept_ != 0).all() == fit_intercept
    scores = model.decision_function(X[:50])
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X[:50]))
    np.testing.assert_allclose(scores, X[:50] @ model.coef_.T + model.intercept_)
    probabilities = model.predict_proba(X[:50])
    np.testing.assert_allclose(np.log(probabilities), log_softmax(scores, axis=1), atol=1e-12)


def test_two_classes_have_one_score() -> None:
    X, y = _data()
    model = _model(classes=("b", "c")).fit(X, y)
    scores = model.decision_function(X[:50])
    assert scores.shape == (50,)
    np.testing.assert_array_equal(model.predict(X[:50]), np.where(scores > 0, "c", "b"))
    np.testing.assert_allclose(model.predict_proba(X[:50])[:, 1], 1 / (1 + np.exp(-scores)))


def test_the_derivative_is_that_of_the_log_loss() -> None:
    """Central differences, and rows that stand alone. Kills a sign and a transposed label."""
    rng = stream(0, "gradient-classifier", "data", 9)
    scores, y = rng.normal(size=(40, 4)) * 3.0, np.arange(40) % 4
    slopes = _softmax_loss_derivative(scores, y.astype(float))
    step = 1e-6

    def loss(s: np.ndarray) -> np.ndarray:
        return np.asarray(-log_softmax(s, axis=1)[np.arange(40), y])

    for k in range(4):
        move = step * np.eye(4)[k]
        measured = (loss(scores + move) - loss(scores - move)) / (2 * step)
        np.testing.assert_allclose(slopes[:, k], measured, atol=1e-8)
    order = rng.permutation(40)
    np.testing.assert_array_equal(softmax(scores[order]), softmax(scores)[order])
    assert np.isfinite(softmax(np.array([[1e300, -1e300, 0.0]]))).all()


def test_matrix_gradients_add_exactly_and_none_is_longer_than_the_clip() -> None:
    """In rationals, on records and slopes of all sizes; the same bits in every order.

    Kills a row clipped before it is rounded, a norm over records, a float sum.
    """
    rng = stream(0, "gradient-classifier", "data", 1)
    X = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-5, 6, (200, 1))
    slopes = rng.normal(size=(200, 4)) * 10.0 ** rng.integers(-5, 6, (200, 1))
    slopes[0], slopes[1], X[2] = np.nan, np.inf, 0.0
    with np.errstate(all="ignore"):
        records = _Scored.of(X)
        total = records.gradient_sum(slopes, 0.7)
        order = rng.permutation(200)
        again = _Scored.of(X[order]).gradient_sum(slopes[order], 0.7)
        np.testing.assert_array_equal(total, again)
        exact = [[Fraction(0)] * 4 for _ in range(3)]
        for k in range(200):
            part = _Scored.of(X[k : k + 1]).gradient_sum(slopes[k : k + 1], 0.7)
            numbers = [[Fraction(float(x)) for x in row] for row in part]
            assert sum(x * x for row in numbers for x in row) <= Fraction(0.7) ** 2
            exact = [
                [a + b for a, b in zip(*two, strict=True)]
                for two in zip(exact, numbers, strict=True)
            ]
    assert [[Fraction(float(x)) for x in row] for row in total] == exact
    plain = np.nan_to_num(slopes, nan=0.0, posinf=1e9)
    parts = X[:, :, None] * plain[:, None, :]
    size = np.linalg.norm(parts, axis=(1, 2), keepdims=True)
    parts *= np.minimum(1.0, 0.7 / np.maximum(size, 1e-300))
    np.testing.assert_allclose(total, parts.sum(axis=0), atol=200 * 0.7 * 1e-4)


@pytest.mark.parametrize("kind", [_descent._Records, _Scored])
def test_a_total_is_the_sum_of_all_blocks(kind: Any) -> None:
    """To the bit, for two full blocks and a short one; kills a block that is lost or added twice,
    and labels of another block.
    """
    n = 2 * _descent._BLOCK + 77
    rng = stream(0, "gradient-classifier", "data", 3)
    X, y = rng.normal(size=(n, 3)), rng.integers(2, size=n).astype(np.float64)
    records, w = kind.of(X), rng.normal(size=(3, 2) if kind is _Scored else 3)
    derivative = _softmax_loss_derivative if kind is _Scored else squared_loss_derivative
    whole = records.gradient_sum(derivative(records.scores(w), y), 0.7)
    np.testing.assert_array_equal(records.total(w, y, derivative, 0.7), whole)


def test_more_records_than_whole_numbers_add_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a limit that holds for each block alone."""
    monkeypatch.setattr(exact, "_MOST_ROWS", 2 * _descent._BLOCK)
    records = _Scored.of(np.ones((2 * _descent._BLOCK + 1, 1)))
    with pytest.raises(ValueError, match="at most 4096 records"):
        records.total(np.zeros((1, 2)), np.zeros(4097), _softmax_loss_derivative, 0.7)


def test_probabilities_of_a_record_do_not_depend_on_its_block() -> None:
    """Alone, in pairs and among all, by rows and by columns; kills a sum over an axis, which adds
    eight numbers of a lone row in another order.
    """
    scores = 3.0 * stream(0, "gradient-classifier", "data", 4).normal(size=(400, 9))
    whole = softmax(scores)
    for order in ("C", "F"):
        for size in (1, 2, 400):
            parts = [scores[k : k + size].copy(order) for k in range(0, 400, size)]
            np.testing.assert_array_equal(np.vstack([softmax(part) for part in parts]), whole)


def test_one_score_in_a_matrix_is_one_score() -> None:
    """A descent with k = 1 is the descent with coefficients (d,), to the grid's step."""
    X, _ = _data(500)
    y = X[:, 0]
    schedule = Schedule(0.5, 9, 1.0, 0.5, 500, "replace_one")
    one, many = (
        descend(X, y, schedule, epsilon=1e6, delta=1e-6, rng=stream(0, "gc", "noise"), **told)
        for told in ({}, {"n_scores": 1, "derivative": lambda s, t: s - t[:, None]})
    )
    assert many.coef.shape == (3, 1)
    assert many.sigma == one.sigma
    np.testing.assert_allclose(many.coef[:, 0], one.coef, atol=1e-3)


def test_a_fit_does_not_depend_on_the_order_of_the_records() -> None:
    X, y = _data(700)
    order = stream(0, "gradient-classifier", "public").permutation(700)
    one, other = _model().fit(X, y), _model().fit(X[order], y[order])
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


def test_noise_has_its_law() -> None:
    """Records at zero have no gradient: after one step coefficients are the noise alone.

    Kolmogorov and Smirnov on 800 fits of 9 numbers, false alarm 1e-5; kills noise of 0.97 of the
    scale, noise that classes share, and the deviation for one class.
    """
    X, y = np.zeros((40, 3)), np.array(["a", "b"] * 20)
    found = []
    for trial in range(800):
        model = _model(
            steps=1,
            learning_rate=1.0,
            fit_intercept=False,
            classes=("a", "b", "c"),
            clip=0.5,
            random_state=stream(0, "gradient-classifier", "noise", trial),
        ).fit(X, y)
        found.append(model.coef_ * 40.0 / model.sigma_)
    expected = gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=2 * 0.5)
    assert model.sigma_ == pytest.approx(expected, rel=1e-5)
    assert model.sigma_ > expected
    numbers = np.array(found).reshape(800, 9)
    assert kstest(numbers.ravel(), "norm").pvalue > 1e-5
    assert abs(np.mean(numbers**2) - 1.0) < 5.0 * math.sqrt(2.0 / numbers.size)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(9)).max() < 5.5 / math.sqrt(800)


def test_add_remove_halves_the_noise_and_reads_no_number_of_records() -> None:
    X, y = _data(300)
    told = _model(neighboring="add_remove", public_size=300, classes=("a", "b", "c"))
    one, other = _model(classes=("a", "b", "c")).fit(X, y), told.fit(X, y)
    assert other._schedule(7, 3, np.full(4, 0.5)) == other._schedule(10**6, 3, np.full(4, 0.5))
    fixed = {"steps": 5, "clip": 0.5}
    one.set_params(**fixed).fit(X, y)
    other.set_params(**fixed).fit(X, y)
    assert one.sigma_ == pytest.approx(2.0 * other.sigma_, rel=1e-5)
    assert "adding or removing one record" in other.privacy_statement_


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", [100, 3000, 100_000])
def test_a_schedule_balances_noise_and_what_is_left(epsilon: float, n: int) -> None:
    """``C t sqrt(e D(t)) = L n / s``; between the two clipping norms the time is 800."""
    spread = np.r_[0.5, np.geomspace(1e-4, 0.2, 30)]
    noise = gaussian_sigma(epsilon=epsilon, delta=1e-5, sensitivity=2.0)
    clip, time = descent_schedule(
        length=4.0, n_records=n, noise=noise, spread=spread, clips=(0.1, 0.5), ample=800.0
    )
    reached = float(np.minimum(1.0, 2.0 * spread * time).sum())
    assert clip * time * math.sqrt(math.e * reached) == pytest.approx(4.0 * n / noise, rel=1e-9)
    assert 0.1 <= clip <= 0.5
    assert time == pytest.approx(800.0) if 0.1 < clip < 0.5 else (time > 800.0) == (clip == 0.5)


def test_units_of_the_records_do_not_matter_and_new_ones_are_clipped() -> None:
    X, y = _data()
    one, other = _model().fit(X, y), _model(data_norm=1000.0).fit(1000.0 * X, y)
    np.testing.assert_allclose(one.coef_, 1000.0 * other.coef_, rtol=1e-6)
    far, near = np.array([[3e5, 4e5, 0.0]]), np.array([[0.6, 0.8, 0.0]])
    np.testing.assert_allclose(one.decision_function(far), one.decision_function(near))


def test_classes_keep_their_order_and_other_labels_count_for_nothing() -> None:
    model, X = _model(classes=("c", "a", "b")), np.eye(4)
    _, told, place = classified_records(model, X, ["x", "b", "a", "c"], model.classes, binary=False)
    assert told.tolist() == ["c", "a", "b"]
    assert place.tolist() == [-1, 2, 1, 0]
    _, told, place = classified_records(model, X, [3, 1, 2, 3], None, binary=False)
    assert (told.tolist(), place.tolist()) == ([1, 2, 3], [2, 0, 1, 2])
    X, y = _data(200)
    one = _model(classes=("a", "b", "c")).fit(X, np.where(y == "a", "z", y))
    two = _model(classes=("a", "b", "c")).fit(
        np.where((y == "a")[:, None], 9.0 * X, X), [None if label == "a" else label for label in y]
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.filterwarnings("error")
def test_it_warns_of_noise_from_public_numbers_alone() -> None:
    X, y = _data(3000)
    _model().fit(X, y)
    _model(steps=3).fit(X[:20], y[:20])
    for rows in (X[:20], 0.0 * X[:20]):
        with pytest.warns(UserWarning, match="20 records with 4 coefficients in each of 3 classes"):
            _model(epsilon=0.1).fit(rows, y[:20])


def test_the_module_names_what_its_schedule_uses() -> None:
    """Two classes of equal size begin at slopes of norm .71, below the largest clipping norm."""
    assert gradient_classifier._CLIPS[1] >= math.sqrt(0.5)
    zero = _softmax_loss_derivative(np.zeros((1, 5)), np.zeros(1))
    assert np.linalg.norm(zero) == pytest.approx(math.sqrt(0.8))


def test_weights_of_classes_multiply_derivatives() -> None:
    """By class or in their order; the noise is that without weights, and rare classes are found.

    Kills weights of another class's records and a schedule that follows them.
    """
    X, y = _data(9000)
    kept = (y != "c") | (np.cumsum(y == "c") < 500)
    X, y = X[kept], y[kept]
    told = {"c": 1.0, "a": 0.2, "b": 0.2}
    plain = _model(epsilon=8.0, classes=("a", "b", "c")).fit(X, y)
    model = _model(epsilon=8.0, classes=("a", "b", "c"), class_weight=told).fit(X, y)
    listed = _model(epsilon=8.0, classes=("a", "b", "c"), class_weight=[0.2, 0.2, 1.0]).fit(X, y)
    np.testing.assert_array_equal(model.coef_, listed.coef_)
    assert (model.sigma_, model.privacy_statement_) == (plain.sigma_, plain.privacy_statement_)
    found = [np.mean(one.predict(X[y == "c"]) == "c") for one in (plain, model)]
    assert found[1] > found[0] + 0.05
    told_both = np.array([[0.0, 0.5], [1.0, 0.0]])  # place and weight
    slopes = gradient_classifier._weighted_derivative(np.zeros((2, 2)), told_both)
    np.testing.assert_array_equal(slopes, [[-0.25, 0.25], [0.0, 0.0]])


def test_whatever_the_weights_no_record_moves_a_sum_by_more_than_the_clip() -> None:
    """A weight of 2, planted past the refusal, is clipped as well; kills weights after the clip."""
    rng = stream(0, "gradient-classifier", "data", 2)
    X, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    for weight in (0.3, 1.0, 2.0):
        told = np.column_stack([y, np.full(60, weight)])
        slopes = gradient_classifier._weighted_derivative(10.0 * rng.normal(size=(60, 3)), told)
        parts = [_Scored.of(X[k : k + 1]).gradient_sum(slopes[k : k + 1], 0.7) for k in range(60)]
        sizes = [sum(Fraction(float(x)) ** 2 for x in part.ravel()) for part in parts]
        assert max(sizes) <= Fraction(0.7) ** 2
        assert max(sizes) > Fraction(0.6) ** 2

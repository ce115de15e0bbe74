"""Baselines: attained sensitivities, noise of the stated scale, exact composition, estimators.

Every seed is fixed; a fresh seed would raise a false alarm with the probability each test states.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from dplit import NoisyGradientRegressor, PrivateAdditiveRegressor, audit
from dplit._numerics.exact import gram_rounding
from dplit.linear import _descent as linear_descent
from dplit.linear import _moments as linear_moments
from dplit.linear import regressors
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.streams import stream

#: Many of these data sets are too few for their budget; one test asks for the warning itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*are too few for this budget:UserWarning")


def regression(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(seed, "test-baselines", "data")
    X = rng.standard_normal((n, d))
    return X, X @ np.linspace(1.0, -1.0, d) + 0.3 + 0.1 * rng.standard_normal(n)


# --- sufficient statistics -------------------------------------------------------------------


def moments(records: np.ndarray) -> np.ndarray:
    """Isometric coordinates of (X^T X, X^T y) for rows (x, y)."""
    X, y = records[:, :-1], records[:, -1]
    return np.concatenate([(X.T @ X).ravel(), X.T @ y])


def into_bounds(norm: float, label: float) -> Any:
    def project(records: np.ndarray) -> np.ndarray:
        X, y = records[:, :-1], records[:, -1:]
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.hstack([X * (norm / np.maximum(lengths, norm)), np.clip(y, -label, label)])

    return project


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize(("norm", "label"), [(1.0, 1.0), (2.0, 0.5), (0.5, 3.0), (1.0, 1.5)])
def test_moment_sensitivity_is_attained_and_never_exceeded(
    neighboring: Any, norm: float, label: float
) -> None:
    """Ascent over neighbours; kills a missing cross term, sqrt(2) for 2, and 2 for sqrt(2)."""
    claimed = linear_moments.moment_sensitivity(
        data_norm=norm, label_bound=label, neighboring=neighboring
    )
    found = audit.search_neighbours(
        moments,
        lambda k, rng: 2.0 * rng.standard_normal((k, 3)) * [norm, norm, label],
        n_records=2,
        neighboring=neighboring,
        claimed=claimed,
        project=into_bounds(norm, label),
        rng=stream(0, "moment-search", "data"),
        restarts=4,
        steps=400,
    )
    assert 0.999 < found.ratio <= 1.0 + 1e-12


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_noise_of_the_moments_has_the_calibrated_scale(neighboring: Any) -> None:
    """5e4 coordinates in the isometric basis, level 1e-5; kills a symmetrisation that halves the
    variance on the diagonal or leaves it whole off it, a noise scale that ignores bounds, and a
    calibration without the rounding of totals."""
    d, norm, label = 100, 3.0, 0.2
    X, y = regression(7, d)
    X, y = X * (norm / np.linalg.norm(X, axis=1, keepdims=True)), np.clip(y, -label, label)
    sigma = gaussian_sigma(
        epsilon=0.7,
        delta=1e-6,
        sensitivity=linear_moments.moment_sensitivity(
            data_norm=1.0, label_bound=1.0, neighboring=neighboring
        )
        + gram_rounding(d * (d + 1)),
    )
    rng = stream(0, "moment-noise", "noise")
    upper = np.triu_indices(d, 1)
    diagonal, off, first = [], [], []
    for _ in range(10):
        model = linear_moments.sufficient_statistics(
            X,
            y,
            epsilon=0.7,
            delta=1e-6,
            data_norm=norm,
            label_bound=label,
            neighboring=neighboring,
            rng=rng,
        )
        noise = (model.gram - X.T @ X) / norm**2
        np.testing.assert_array_equal(model.gram, model.gram.T)
        diagonal.append(np.diag(noise))
        off.append(noise[upper] * math.sqrt(2.0))
        first.append((model.moment - X.T @ y) / (norm * label))
    assert model.sigma == pytest.approx(sigma, rel=1e-12)
    for part in (diagonal, off, first):
        test = audit.chi_square_noise_test(np.concatenate(part), sigma=sigma)
        assert not test.violated(level=1e-5)
        assert test.excess_p_value > 1e-5
    assert audit.chi_square_noise_test(np.concatenate(off), sigma=1.1 * sigma).violated()


def test_solution_is_ridge_on_the_noisy_moments_with_negative_eigenvalues_removed() -> None:
    X, y = regression(30, 4)
    model = linear_moments.sufficient_statistics(
        X,
        y,
        epsilon=0.5,
        delta=1e-5,
        data_norm=2.0,
        label_bound=1.0,
        rng=stream(0, "moment-solve", "noise"),
    )
    values, vectors = np.linalg.eigh(model.gram)
    assert values.min() < 0  # so that the projection matters
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    for alpha in (model.alpha, 0.5):
        expected = np.linalg.solve(positive + alpha * np.eye(4), model.moment)
        np.testing.assert_allclose(model.solve(alpha=alpha), expected, rtol=1e-9)
    np.testing.assert_allclose(model.coef, model.solve(alpha=model.alpha), rtol=1e-14)
    assert model.alpha == pytest.approx(model.sigma * 2.0**2 * math.sqrt(8.0))


def patterned(n: int, d: int, kind: str) -> np.ndarray:
    """Records that drive float sums apart: a repeated block, one direction, cancelling pairs."""
    rng = stream(0, "float-search", "data")
    if kind == "tiled":
        return np.tile(rng.uniform(-1, 1, (128, d)), (n // 128 + 1, 1))[:n]
    if kind == "aligned":
        return np.tile(rng.uniform(0.5, 1, (1, d)), (n, 1)) * rng.uniform(0.9, 1.1, (n, 1))
    pairs = rng.uniform(-1, 1, (n // 2 + 1, d))
    return np.stack([pairs, -pairs], axis=1).reshape(-1, d)[:n]


@pytest.mark.parametrize("kind", ["tiled", "aligned", "pairs"])
@pytest.mark.parametrize("n", [2, 129, 4097, 20_000])
def test_one_record_moves_the_computed_moments_by_its_own_share(
    monkeypatch: pytest.MonkeyPatch, kind: str, n: int
) -> None:
    """Removed first, last or in the middle, in every order and memory layout: exactly.

    Kills sums of records that are not on a grid: they differ in the last bits (asserted).
    """
    X, y = patterned(n, 5, kind), patterned(n, 1, kind)[:, 0]
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "data_norm": 1.3, "label_bound": 0.7}
    hidden: list[linear_moments.Moments] = []

    def caught(self: linear_moments.Moments, **told: Any) -> tuple[np.ndarray, np.ndarray]:
        hidden.append(self)
        return self.second, self.label

    monkeypatch.setattr(linear_moments.Moments, "released", caught)

    def released(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        linear_moments.sufficient_statistics(rows, labels, **options)
        return np.append(hidden[-1].second, hidden[-1].label)

    whole = released(X, y)
    order = stream(1, "float-search", "data").permutation(n)
    np.testing.assert_array_equal(released(X[order], y[order]), whole)
    np.testing.assert_array_equal(released(np.asfortranarray(X), y), whole)
    shares = float(hidden[-1].second_unit), float(hidden[-1].label_unit)
    units = 1.0 / np.append(np.full(25, shares[0]), np.full(5, shares[1]))
    bound = linear_moments.moment_sensitivity(data_norm=1.0, label_bound=1.0)
    for gone in (0, n // 2, n - 1):
        rest = released(np.delete(X, gone, axis=0), np.delete(y, gone))
        own = released(X[gone : gone + 1], y[gone : gone + 1])
        np.testing.assert_array_equal(whole - rest, own)
        assert np.linalg.norm((whole - rest) / units) <= bound * (1 + 1e-15)
    if n == 20_000:
        assert (X[order].T @ y[order] != X.T @ y).any()


# --- noisy gradient descent ------------------------------------------------------------------


def test_clipped_gradient_sum_against_the_loop_over_records() -> None:
    """Up to the grid: a direction is shortened by 1 + sqrt(3)/2 steps of 2^-15 and rounded by as
    many halves, a size by half a step of at most 2^-15 of the clip."""
    X, y = regression(40, 3)
    w = np.array([0.5, -0.2, 0.1])
    expected = np.zeros(3)
    for x, label in zip(X, y, strict=True):
        gradient = (x @ w - label) * x
        expected += gradient * min(1.0, 0.7 / np.linalg.norm(gradient))
    records = linear_descent._Records.of(X)
    np.testing.assert_allclose(records.lengths, np.linalg.norm(X, axis=1), rtol=1e-14)
    scores = records.scores(w)
    halves = math.sqrt(3.0) / 2.0 * np.linalg.norm(w) * records.lengths
    assert (np.abs(scores - X @ w) <= 1.01 * halves * 2.0**-15).all()
    ours = records.gradient_sum(X @ w - y, 0.7)
    assert np.linalg.norm(ours - expected) <= 40 * 0.7 * 2.0**-15 * (1 + math.sqrt(3.0) + 0.5)


@pytest.mark.parametrize("kind", ["tiled", "aligned", "pairs"])
def test_one_record_moves_the_computed_gradient_by_at_most_the_clip(kind: str) -> None:
    """The same bits in every order, and the record's own share where it is removed.

    Kills scores by a matrix product of the records and sums off the grid. Sizes from 1e-300 to
    1e300 and slopes to infinity; NaN counts as 0.
    """
    n, clip, w = 4097, 0.3, np.linspace(-1.0, 1.0, 5)
    X = patterned(n, 5, kind) * 10.0 ** np.linspace(-300, 300, n)[:, None]
    y = patterned(n, 1, kind)[:, 0]
    records = linear_descent._Records.of(X)
    slopes = records.scores(w) - y
    slopes[5], slopes[6], slopes[7] = np.inf, -np.inf, np.nan
    whole = records.gradient_sum(slopes, clip)
    assert np.isfinite(whole).all()
    order = stream(1, "float-search", "data").permutation(n)
    for rows in (order, np.arange(1, n), np.arange(n - 1), np.r_[: n // 2, n // 2 + 1 : n]):
        again = linear_descent._Records.of(np.asfortranarray(X[rows]))
        np.testing.assert_array_equal(again.scores(w) - y[rows], (records.scores(w) - y)[rows])
        gone = np.setdiff1d(np.arange(n), rows)
        own = (
            linear_descent._Records.of(X[gone]).gradient_sum(slopes[gone], clip)
            if len(gone)
            else 0.0
        )
        np.testing.assert_array_equal(whole - again.gradient_sum(slopes[rows], clip), own)
    each = [
        linear_descent._Records.of(X[i : i + 1]).gradient_sum(slopes[i : i + 1], clip)
        for i in range(0, n, 16)
    ]
    lengths = np.linalg.norm(each, axis=1)
    assert 0.9999 * clip < lengths.max() <= clip


HUGE = [
    ([[0.0], [1e308]], [0.0, 0.0]),
    ([[-1.7e308], [1.7e308]], [1e308, -1e308]),
    ([[5e-324], [0.0]], [5e-324, 1.7e308]),
    ([[1e160, -1e308], [1e-310, 1e308]], [1e160, 1e-310]),
]


@pytest.mark.parametrize(("X", "y"), HUGE)
def test_no_finite_record_overflows_or_warns(X: Any, y: Any) -> None:
    """Warnings are errors here; kills records that are scaled before they are clipped."""
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        for make, given in ((Moments, {"alpha": 1.0}), (Descent, {"steps": 9})):
            for intercept in (True, False):
                model = make(
                    data_norm=0.5, bounds=(-1, 1), fit_intercept=intercept, random_state=0, **given
                )
                assert np.isfinite([*model.fit(X, y).coef_, model.intercept_]).all()
        options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "rng": np.random.default_rng(0)}
        moments = linear_moments.sufficient_statistics(
            X, y, data_norm=0.5, label_bound=3.0, **options
        )
        assert np.isfinite([*moments.gram.ravel(), *moments.moment, *moments.coef]).all()
        for slope in (
            linear_descent.squared_loss_derivative,
            lambda s, t: np.exp(s * s) - np.exp(t * t),
        ):
            descent = linear_descent.noisy_gradient_descent(
                X, y, clip=1.0, steps=5, learning_rate=3.0, derivative=slope, **options
            )
            assert np.isfinite(descent.coef).all()


@pytest.mark.parametrize(("neighboring", "moved"), [("add_remove", 0.5), ("replace_one", 1.0)])
def test_the_whole_run_has_the_noise_of_one_gaussian_mechanism(
    neighboring: Any, moved: float
) -> None:
    """On zero records the last iterate is the sum of T noises: 1e5 coordinates, level 1e-5.

    sigma sqrt(T) is the noise of one release of the T sums at sensitivity moved * T: kills a
    missing sqrt(T), a missing factor 2 under replace_one, and noise drawn once.
    """
    steps, rate, n, d = 9, 0.25, 4, 100_000
    model = linear_descent.noisy_gradient_descent(
        np.zeros((n, d)),
        np.ones(n),
        epsilon=0.8,
        delta=1e-6,
        clip=0.5,
        steps=steps,
        learning_rate=rate,
        neighboring=neighboring,
        public_size=n,
        average=False,
        rng=stream(0, "gradient-noise", "noise"),
    )
    moved += 0.5 * gram_rounding(d)
    one = gaussian_sigma(epsilon=0.8, delta=1e-6, sensitivity=moved * steps)
    residuals = model.coef / (rate / n)
    test = audit.chi_square_noise_test(residuals, sigma=one)
    assert not test.violated(level=1e-5)
    assert test.excess_p_value > 1e-5
    assert audit.chi_square_noise_test(residuals, sigma=1.05 * one).violated()
    mu = moved * math.sqrt(steps) / model.sigma
    assert gaussian_delta(epsilon=0.8, sigma=1.0 / mu) == pytest.approx(1e-6, rel=1e-6)


def run_descent(**changes: Any) -> linear_descent.PrivateCoefficients:
    X, y = regression(200, 3)
    call: dict[str, Any] = {
        "X": X,
        "y": y,
        "epsilon": 1e6,
        "delta": 1e-5,
        "clip": 1e3,
        "steps": 200,
        "learning_rate": 0.5,
        "rng": stream(0, "descent", "noise"),
    }
    return linear_descent.noisy_gradient_descent(**(call | changes))


def test_with_a_huge_budget_descent_reaches_least_squares() -> None:
    X, y = regression(200, 3)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    for average in (True, False):
        np.testing.assert_allclose(run_descent(clip=20.0, average=average).coef, exact, atol=0.1)


def test_another_loss_by_its_derivative() -> None:
    """Absolute loss: the median of labels on a constant record, where squared loss gives 3.4."""
    model = run_descent(
        X=np.ones((5, 1)),
        y=[0.0, 1.0, 1.0, 1.0, 14.0],
        clip=20.0,
        steps=400,
        learning_rate=0.02,
        derivative=lambda s, t: np.sign(s - t),
    )
    assert model.coef[0] == pytest.approx(1.0, abs=0.1)


def test_average_is_the_mean_of_the_last_half() -> None:
    """Runs of 3, 4 and 5 steps are the iterates of the longest, up to noise below 1e-3."""
    options: dict[str, Any] = {"clip": 20.0, "learning_rate": 0.2}
    whole = run_descent(steps=5, average=True, **options).coef
    last = [run_descent(steps=t, average=False, **options).coef for t in (3, 4, 5)]
    np.testing.assert_allclose(whole, np.mean(last, axis=0), atol=1e-2)
    assert np.abs(whole - last[2]).max() > 5e-2  # else the test would see nothing


def test_iterates_stay_in_the_ball() -> None:
    assert np.linalg.norm(run_descent(radius=0.3, average=False).coef) <= 0.3 * (1 + 1e-12)
    assert np.linalg.norm(run_descent(average=False).coef) > 1.0


def test_the_private_number_of_records_is_never_read() -> None:
    with pytest.raises(ValueError, match="public_size must be given under add_remove"):
        run_descent(neighboring="add_remove")
    half = run_descent(neighboring="add_remove", public_size=400, steps=1, clip=1e-3)
    full = run_descent(neighboring="add_remove", public_size=200, steps=1, clip=1e-3)
    np.testing.assert_allclose(full.coef, 2.0 * half.coef, rtol=1e-12)
    assert run_descent(clip=1.0).sigma == pytest.approx(
        2.0 * run_descent(clip=1.0, neighboring="add_remove", public_size=9).sigma
    )


# --- estimators ------------------------------------------------------------------------------

Moments, Descent = regressors.SufficientStatisticsRegressor, regressors.NoisyGradientRegressor
BOUNDS: dict[str, Any] = {"data_norm": 5.0, "bounds": (-4.0, 4.0)}


@pytest.mark.parametrize("make", [Moments, Descent])
@pytest.mark.parametrize("intercept", [True, False])
def test_predictions_follow_the_units_of_the_data(make: Any, intercept: bool) -> None:
    X, y = regression(100, 3)
    base = make(data_norm=2.0, bounds=(-1.0, 3.0), fit_intercept=intercept, random_state=3)
    other = make(data_norm=20.0, bounds=(4.0, 8.0), fit_intercept=intercept, random_state=3)
    first = base.fit(X, y).predict(X)
    np.testing.assert_allclose(other.fit(10 * X, y + 5).predict(10 * X), first + 5, rtol=1e-9)
    if not intercept:
        assert base.intercept_ == 1.0


@pytest.mark.parametrize("make", [Moments, Descent])
def test_outliers_are_clipped_not_trusted(make: Any) -> None:
    X, y = regression(60, 2)
    far = X.copy()
    far[0] *= 1e6
    near = X.copy()
    near[0] *= 2.0 / np.linalg.norm(X[0])
    labels, clipped = y.copy(), y.copy()
    labels[1], clipped[1] = 1e9, 4.0
    options: dict[str, Any] = {"data_norm": 2.0, "bounds": (-4.0, 4.0), "random_state": 0}
    a = make(**options).fit(far, labels).coef_
    np.testing.assert_allclose(a, make(**options).fit(near, clipped).coef_, rtol=1e-9)


@pytest.mark.filterwarnings("error")
def test_too_few_records_are_said_and_enough_are_not() -> None:
    """From public numbers, or (where the number is private) from the released moments.

    With 5 and 20,000 records the released weight of the constant is 3 and 1800 standard deviations
    from the border.
    """
    X, y = regression(20_000, 2)
    few = (X[:5], y[:5])
    for make in (Moments, Descent):
        make(random_state=0, **BOUNDS).fit(X, y)
        with pytest.warns(UserWarning, match="are too few for this budget"):
            make(random_state=0, **BOUNDS).fit(*few)
    Descent(neighboring="add_remove", public_size=10_000, **BOUNDS).fit(*few)
    with pytest.warns(UserWarning, match="7 records with 3 coefficients are too few"):
        Descent(neighboring="add_remove", public_size=7, **BOUNDS).fit(X[:100], y[:100])
    Descent(steps=3, **BOUNDS).fit(*few)
    Moments(alpha=1.0, **BOUNDS).fit(*few)


def test_default_steps_follow_public_numbers_alone() -> None:
    """``2 n / (s sqrt(e d))`` steps of length 1, s the noise of one clipped sum; at most 1000."""
    model = Descent(epsilon=2.0, clip=0.5, **BOUNDS)
    noise = gaussian_sigma(epsilon=2.0, delta=1e-5, sensitivity=1.0)
    expected = (0.5, math.ceil(600 / (noise * math.sqrt(4 * math.e))))
    assert model._schedule(300, 4) == expected
    assert model.set_params(learning_rate=0.25)._schedule(300, 4)[1] > 3 * 300 / noise / 3.3
    assert model.set_params(epsilon=1e4)._schedule(300, 4) == (0.5, 1000)
    told = Descent(epsilon=2.0, clip=1.0, neighboring="add_remove", public_size=300, **BOUNDS)
    assert told._schedule(7, 4) == told._schedule(10**6, 4) == (1.0, expected[1])
    X, y = regression(120, 3)
    options: dict[str, Any] = {"random_state": 1, **BOUNDS}
    chosen = Descent(**options).fit(X, y)
    clip, steps = chosen._schedule(120, 4)
    given = Descent(steps=steps, clip=clip, **options).fit(X, y)
    np.testing.assert_array_equal(chosen.coef_, given.coef_)
    assert (chosen.coef_ != Descent(steps=steps + 1, **options).fit(X, y).coef_).all()
    assert Descent(**options).fit(1e3 * X, -y).sigma_ == chosen.sigma_


def test_default_clipping_grows_where_the_budget_allows_800_steps() -> None:
    """From 0.1 to 0.5, whether the steps are given or not; and where 1000 steps leave something, up
    to 2. A private number is not read.
    """
    clips = [Descent(**BOUNDS)._schedule(n, 4)[0] for n in (10, 300, 10**3, 10**6, 5500, 12_000)]
    assert clips[:2] == [0.1, 0.1]
    assert 0.1 < clips[2] < 0.5 == clips[4]
    assert 0.5 < clips[5] < clips[3] == 2.0
    assert Descent(steps=7, **BOUNDS)._schedule(10**6, 4)[0] == 0.5
    assert Descent(**BOUNDS)._schedule(1000, 4)[1] == pytest.approx(800, abs=1)
    assert Descent(steps=7, **BOUNDS)._schedule(1000, 4) == (clips[2], 7)
    assert Descent(epsilon=1e3, **BOUNDS)._schedule(300, 4) == (2.0, 1000)
    told = Descent(neighboring="add_remove", public_size=500, **BOUNDS)
    assert told._schedule(10**6, 4)[0] == pytest.approx(clips[2])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [5, 3000])
@pytest.mark.filterwarnings("ignore:about .* records")  # five are too few, and it says so
def test_default_penalty_follows_the_noise_alone(n: int, intercept: bool) -> None:
    """``sigma_ sqrt(d)`` in unit bounds, whatever the records and their number are."""
    X, y = regression(n, 3)
    options: dict[str, Any] = {"random_state": 1, "fit_intercept": intercept, **BOUNDS}
    for records, labels in ((X, y), (1e3 * X, -y)):
        chosen = Moments(**options).fit(records, labels)
        unit = 5.0**2 * (2.0 if intercept else 1.0)
        alpha = unit * chosen.sigma_ * math.sqrt(3 + intercept)
        given = Moments(alpha=alpha, **options).fit(records, labels)
        np.testing.assert_allclose(chosen.coef_, given.coef_, rtol=1e-9)
        assert chosen.intercept_ == pytest.approx(given.intercept_, rel=1e-9)


@pytest.mark.parametrize("make", [Moments, Descent])
def test_predictions_stay_within_the_bounds(make: Any) -> None:
    X, y = regression(40, 2)
    model = make(epsilon=0.01, data_norm=5.0, bounds=(-1.0, 0.5), random_state=0).fit(X, y)
    scores = 1e3 * X @ model.coef_ + model.intercept_
    assert scores.min() < -1.0 < 0.5 < scores.max()  # else the test would see nothing
    np.testing.assert_array_equal(model.predict(1e3 * X), np.clip(scores, -1.0, 0.5))


def test_alpha_of_the_estimator_is_on_the_scale_of_scikit_learn() -> None:
    X, y = regression(300, 3)
    model = Moments(
        epsilon=1e6,
        data_norm=8.0,
        bounds=(-9.0, 9.0),
        alpha=30.0,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)
    exact = Ridge(alpha=30.0, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(model.coef_, exact, atol=0.02)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([[1.0], [2.0]], [1.0], ValueError, "y must have 2 entries"),
        ([1.0, 2.0], [1.0, 2.0], ValueError, "X must have 2 axes"),
        (np.zeros((0, 1)), np.zeros(0), ValueError, "X must not be empty"),
        ([[1j]], [1.0], TypeError, "X must be real"),
    ],
)
def test_bad_data_is_named_by_both_functions(X: Any, y: Any, error: Any, message: str) -> None:
    rng = stream(0, "bad", "noise")
    with pytest.raises(error, match=message):
        linear_moments.sufficient_statistics(
            X, y, epsilon=1.0, delta=1e-5, data_norm=1.0, label_bound=1.0, rng=rng
        )
    with pytest.raises(error, match=message):
        linear_descent.noisy_gradient_descent(
            X, y, epsilon=1.0, delta=1e-5, clip=1.0, steps=2, learning_rate=1.0, rng=rng
        )


@pytest.mark.parametrize("estimator", [NoisyGradientRegressor, PrivateAdditiveRegressor])
def test_an_ample_budget_learns_the_mean_of_a_skewed_label(estimator: Any) -> None:
    """At epsilon 1e6 noise is below 1e-5, so that only clipping is left. Of labels of mean 2.9
    between 0 and 20 a clip of a quarter of the range took a tenth; their standard error is .03,
    and it is the same labels here. Kills a clip that no budget lifts.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (20_000, 2))
    y = np.minimum(np.exp(0.6 + 0.5 * X[:, 0] + 0.9 * rng.normal(size=20_000)), 20.0)
    given: dict[str, Any] = {"data_norm": 2.0**0.5}
    if estimator is PrivateAdditiveRegressor:
        given = {"box": (-1.0, 1.0)}
    model = estimator(epsilon=1e6, delta=1e-6, bounds=(0.0, 20.0), random_state=0, **given)
    assert abs(np.mean(model.fit(X, y).predict(X)) - y.mean()) < 0.005

"""Noisy moments per entry as an estimator: its contract, privacy, sums, penalty and statements."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from scipy.stats import chi2

from dplit.entries._moments import (
    best_penalty,
    entry_variances,
    moment_mus,
    penalised_error,
    solve_moments,
)
from dplit.entries.moments import EntryMomentsRegressor
from dplit.mechanisms import gaussian_delta
from dplit.papers.projection.finite_channels import capacity_bracket
from dplit.streams import stream


def _data(n: int = 400, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(0, "proj-moments", "data")
    X = rng.uniform(2.0, 6.0, (n, d))
    return X, 5.0 + X @ np.arange(1.0, d + 1) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_it_is_least_squares(fit_intercept: bool) -> None:
    """Kills a moment that is not centred, a scale that is lost, and a penalty without noise.

    The bound on the square of an entry leaves a variance of 1/8 at any budget: many records.
    """
    X, y = _data(40_000)
    y = y - 29.0  # 0 at the middle
    middle = 4.0  # of the bounds, where a fit without intercept passes through zero
    model = EntryMomentsRegressor(
        epsilon=40.0, bounds=(2.0, 6.0), fit_intercept=fit_intercept, random_state=0
    ).fit(X, y)
    design = np.column_stack([X - middle, np.ones(len(X))])[:, : X.shape[1] + fit_intercept]
    best = np.linalg.lstsq(design, y, rcond=None)[0]
    wanted = design @ best
    np.testing.assert_allclose(model.predict(X), wanted, atol=0.02)


@pytest.mark.parametrize("ones", [0, 1])
@pytest.mark.parametrize(("epsilon", "d"), [(0.3, 1), (0.7, 2), (0.5, 4)])
def test_the_noise_has_the_variances_that_it_says(epsilon: float, d: int, ones: int) -> None:
    """Chi-square on 500 draws of each kind; false alarm 1e-5 a kind. Kills noise that is not
    symmetric in law, half the noise on the diagonal, and a shared draw of both moments.
    """
    X, y = np.zeros((5, d)), np.array([1.0, -1.0, 0.5, 0.0, -0.5])
    rng = stream(0, f"proj-moments-noise-{d}-{ones}-{epsilon}", "noise")
    squares, lines = [], []
    for _ in range(500):
        model = EntryMomentsRegressor(
            epsilon=epsilon, bounds=(-1.0, 1.0), fit_intercept=bool(ones), random_state=rng
        ).fit(X, y)
        squares.append(model.gram_.copy())
        lines.append(model.cross_.copy())
    gram, cross, count = np.array(squares), np.array(lines), 500
    np.testing.assert_array_equal(gram, gram.mT)
    g, c = model.gram_sigma_**2, model.cross_sigma_**2
    kinds = [(cross[:, 0], c)]
    if not ones:  # else the product of noisy means is taken off
        kinds += [(gram[:, 0, 0], 2.0 * g)] + ([(gram[:, 0, 1], g)] if d > 1 else [])
    for values, variance in kinds:
        total = float(np.sum(values**2)) / variance
        assert chi2.ppf(5e-6, count) < total < chi2.isf(5e-6, count)
    assert abs(np.corrcoef(gram[:, 0, 0], cross[:, 0])[0, 1]) < 5.0 / math.sqrt(count)


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("ones", [0, 1])
@pytest.mark.parametrize("energy", [0.05, 1.0])
def test_no_entry_and_no_row_moves_further_than_is_told(d: int, ones: int, energy: float) -> None:
    """Search over pairs of rows at their corners and inside; attained within a per cent for entries
    (and rows, where a row may be opposite). Kills a cross term or the ones' moments left out.
    """
    g, c = entry_variances(epsilon=0.5, n_features=d, ones=ones, response_energy=energy)
    entry, row = moment_mus(d, ones, g, c)
    rng = stream(0, f"proj-moments-search-{d}-{ones}", "data")

    def moved(x: np.ndarray, z: np.ndarray, y: float) -> float:
        both = [np.append(v, [1.0] * ones) for v in (x, z)]
        gap = np.outer(both[0], both[0]) - np.outer(both[1], both[1])
        size = float(np.sum(gap**2)) / (2.0 * g) + float(np.sum((x - z) ** 2)) * y * y / c
        return math.sqrt(size)

    found = {"entry": 0.0, "row": 0.0}
    for _ in range(4000):
        x = rng.choice([-1.0, 1.0], d)
        for z in (rng.choice([-1.0, 1.0], d), rng.uniform(-1.0, 1.0, d)):
            found["row"] = max(found["row"], moved(x, z, 1.0))
            one = x.copy()
            one[0] = z[0]
            found["entry"] = max(found["entry"], moved(x, one, 1.0))
    assert 0.99 * entry <= found["entry"] <= entry * (1 + 1e-12)
    assert found["row"] <= row * (1 + 1e-12)
    assert found["row"] >= 0.9 * row


@pytest.mark.parametrize(("epsilon", "d", "ones"), [(0.3, 1, 0), (0.5, 2, 1), (1.0, 3, 0)])
def test_no_prior_leaks_more_bits_than_the_budget(epsilon: float, d: int, ones: int) -> None:
    """Blahut and Arimoto on the worst row: the others and the response at their bounds."""
    from scipy.stats import norm

    g, c = entry_variances(epsilon=epsilon, n_features=d, ones=ones, response_energy=0.3)

    def binned(means: np.ndarray) -> np.ndarray:
        edges = np.linspace(means.min() - 5, means.max() + 5, 39)
        return np.diff(norm.cdf(edges, means[:, None]), axis=1, prepend=0, append=1)

    x = np.linspace(-1, 1, 17)
    first = binned(x * math.sqrt((d - 1 + ones) / g + 1.0 / c))
    second = binned(x**2 / math.sqrt(2 * g))
    channel = (first[:, :, None] * second[:, None, :]).reshape(len(x), -1)
    assert capacity_bracket(channel, tolerance=1e-3).lower <= epsilon


def test_the_statement_says_what_is_not_protected() -> None:
    X, y = _data()
    model = EntryMomentsRegressor(bounds=(2.0, 6.0), random_state=0).fit(X, y)
    assert "NOT PROTECTED" in model.privacy_statement_
    assert "Noisy second moments" in model.privacy_statement_
    assert model.neighboring_ == "replace_entry"
    assert model.delta_ == 1e-5
    mu = moment_mus(3, 1, model.gram_sigma_**2, model.cross_sigma_**2)
    for epsilon, size in zip((model.entry_epsilon_, model.row_epsilon_), mu, strict=True):
        delta = float(gaussian_delta(epsilon=epsilon, sigma=1.0 / size))
        assert delta == pytest.approx(1e-5, rel=1e-6)


def test_equal_responses_give_a_constant() -> None:
    X, _ = _data()
    model = EntryMomentsRegressor(bounds=(2.0, 6.0), random_state=0).fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)


def test_defaults_are_those_of_the_siblings() -> None:
    from dplit import AdditiveNoiseRegressor

    ours, theirs = (
        inspect.signature(k).parameters for k in (EntryMomentsRegressor, AdditiveNoiseRegressor)
    )
    assert {k: p.default for k, p in ours.items()} == {
        k: p.default for k, p in theirs.items() if k != "correction"
    }


# The penalty, and the law of what it minimises.


@pytest.mark.parametrize("spread", [0.02, 0.3])
def test_the_error_of_a_penalised_fit_is_that_of_large_matrices(spread: float) -> None:
    """Mean of 60 draws at d = 120 within 5 standard errors and 3 %; kills a lost trace."""
    d, rng = 120, stream(0, "proj-moments-semicircle", "data")
    H = np.linspace(0.5, 2.0, d)
    theta, extra = rng.standard_normal(d), 0.04
    g = spread / d
    moments = H, H**2 * theta**2 + extra, H * theta**2
    (formula,), (alpha,) = penalised_error(*moments, spread, np.array([0.6]))
    found = []
    for _ in range(60):
        E = rng.standard_normal((d, d)) * math.sqrt(g / 2.0)
        cross = H * theta + math.sqrt(extra) * rng.standard_normal(d)
        fit = np.linalg.solve(np.diag(H) + E + E.T + alpha * np.eye(d), cross)
        found.append(float(np.mean((fit - theta) ** 2)))
    wanted = formula + float(np.mean(theta**2))
    error = float(np.std(found)) / math.sqrt(60)
    assert abs(np.mean(found) - wanted) < 5.0 * error + 0.03 * wanted


def test_the_best_penalty_is_the_best() -> None:
    H = np.linspace(0.5, 2.0, 30)
    moments = H, H**2 + 0.5 * H, H
    alpha, error = best_penalty(*moments, variance=0.3)
    shifts = np.geomspace(1e-3, 1e3, 4000)
    errors, penalties = penalised_error(*moments, 0.3, shifts)
    least = float(errors[penalties >= 0].min())
    assert alpha >= 0
    assert error == pytest.approx(least, rel=5e-3)


def test_noise_alone_gives_zero_coefficients_half_of_the_time() -> None:
    """A signal that is read as none is none: 200 draws, between 60 and 140 zeros, false alarm
    1e-8; kills a signal whose noise is not subtracted.
    """
    rng, zeros, d, n = stream(0, "proj-moments-zero", "noise"), 0, 40, 10_000
    g, c = entry_variances(epsilon=0.1, n_features=d, ones=0, response_energy=0.1)
    for _ in range(200):
        E = rng.standard_normal((d, d)) * math.sqrt(g / 2.0)
        cross = rng.standard_normal(d) * math.sqrt(c + n / 3.0 * 0.1)
        theta, _ = solve_moments(
            n / 3.0 * np.eye(d) + E + E.T,
            cross,
            variances=(g, c),
            n_samples=n,
            response_energy=0.1,
        )
        zeros += not theta.any()
    assert 60 < zeros < 140

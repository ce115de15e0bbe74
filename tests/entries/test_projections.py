"""The mechanism: printed and fixed variance, the release, and fits from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import kstest

from dplit.audit import chi_square_noise_test, run_controls
from dplit.entries.projections import (
    ProjectionRelease,
    _useful_amount,
    fit_projection,
    release_projection,
    useful_correction,
)
from dplit.papers.projection.calibration import (
    noise_free_epsilon,
    printed_variance,
    projection_variance,
)
from dplit.papers.projection.regression import column_energy_floor
from dplit.streams import stream


def _data(n=40, d=3, name="proj-mechanism"):
    rng = stream(0, name, "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


@pytest.mark.claim("proj-eq13", "proj-f")
def test_printed_variance_is_the_formula():
    X = np.array([[1.0, 0.5], [0.5, 0.5], [-0.5, 1.0], [0.0, -0.5]])
    by_hand = 0.25 + 0.25  # of the first column, without its largest entry
    for epsilon, n in ((0.5, 4), (1.0, 9), (0.2, 1)):
        expected = max(n / (2 ** (2 * epsilon) - 1) - by_hand, 0.0)
        assert printed_variance(X, epsilon=epsilon, n_components=n) == pytest.approx(expected)
    assert printed_variance(np.ones((50, 2)), epsilon=0.5, n_components=4) == 0.0


@pytest.mark.claim("proj-eq13", "proj-beyond-fixed-noise")
def test_only_the_printed_variance_reads_the_data():
    X, _ = _data()
    other = X / 2
    fixed = [projection_variance(Z, epsilon=0.7, n_components=60) for Z in (X, other)]
    assert fixed[0] == fixed[1] == pytest.approx(60 / (2**1.4 - 1))
    printed = [
        projection_variance(Z, epsilon=0.7, n_components=60, as_printed=True) for Z in (X, other)
    ]
    assert printed[0] < printed[1] < fixed[0]
    assert printed[0] == printed_variance(X, epsilon=0.7, n_components=60)


@pytest.mark.claim("proj-cor2")
def test_noise_free_epsilon_is_where_the_printed_variance_vanishes():
    X, _ = _data()
    edge = noise_free_epsilon(floor=column_energy_floor(X) ** 2, n_components=20)
    assert printed_variance(X, epsilon=edge * 1.0001, n_components=20) == 0.0
    assert printed_variance(X, epsilon=edge * 0.999, n_components=20) > 0.0
    assert noise_free_epsilon(floor=0.0, n_components=3) == math.inf


@pytest.mark.claim("proj-eq12")
def test_release_is_one_sketch_of_the_columns_and_the_response():
    """Without noise the release is linear in (X, y) with one S: columns that agree stay equal."""
    X, y = _data()
    doubled = np.column_stack([X, X[:, 0] + 2 * X[:, 1]])
    release = release_projection(
        doubled / 3, y, n_components=7, variance=0.0, rng=stream(0, "proj-release", "noise")
    )
    np.testing.assert_allclose(release.X[:, 3], release.X[:, 0] + 2 * release.X[:, 1], rtol=1e-9)
    same = release_projection(
        X, X[:, 1], n_components=7, variance=0.0, rng=stream(0, "proj-release", "noise")
    )
    np.testing.assert_allclose(same.y, same.X[:, 1], rtol=1e-12)
    assert release.X.shape == (7, 4)
    assert release.y.shape == (7,)


@pytest.mark.claim("proj-eq12")
def test_rows_of_a_release_are_gaussian_with_the_stated_covariance():
    """30,000 rows, whitened by Sigma: 120,000 unit normals, chi-square at alarm 1e-4 each side.

    Kills variance for standard deviation, noise on y, and N with the wrong shape.
    """
    X, y = _data()
    release = release_projection(
        X, y, n_components=30_000, variance=2.5, rng=stream(0, "proj-rows", "noise")
    )
    M = np.column_stack([X, y])
    Sigma = M.T @ M + np.diag([2.5, 2.5, 2.5, 0.0])
    white = np.linalg.solve(np.linalg.cholesky(Sigma), np.column_stack([release.X, release.y]).T)

    def alarm(factor):
        test = chi_square_noise_test(factor * white, sigma=1.0)
        return test.violated() or test.excess_p_value < 1e-4

    assert run_controls(alarm).sound
    assert kstest(white[0], "norm").pvalue > 1e-4
    correlation = white @ white.T / 30_000 - np.eye(4)
    assert np.abs(correlation[~np.eye(4, dtype=bool)]).max() < 5 / math.sqrt(30_000)


@pytest.mark.claim("proj-eq12")
def test_blocks_do_not_change_the_law_and_entries_are_clipped():
    """n' is split at 8e6 / n rows; clipped entries give the release of the clipped table."""
    rng = stream(0, "proj-blocks", "data")
    X, y = 3 * rng.uniform(-1, 1, (20_000, 1)), rng.standard_normal(20_000)
    wild, tame = (
        release_projection(Z, y, n_components=900, variance=0.0, rng=stream(0, "b", "noise"))
        for Z in (X, np.clip(X, -1, 1))
    )
    np.testing.assert_array_equal(wild.X, tame.X)
    size = np.sum(np.clip(X, -1, 1) ** 2)
    assert not chi_square_noise_test(wild.X, sigma=math.sqrt(size)).violated()
    assert chi_square_noise_test(wild.X, sigma=math.sqrt(size) * 1.2).violated()


@pytest.mark.claim("proj-beyond-attenuation")
@pytest.mark.claim("proj-eq14")
def test_fit_solves_the_normal_equations():
    X, y = _data(20)
    release = ProjectionRelease(X, y)
    theta = fit_projection(release)
    np.testing.assert_allclose(X.T @ (X @ theta - y), 0.0, atol=1e-12)
    assert np.linalg.norm(X @ theta - y) < np.linalg.norm(X @ (theta + 0.01) - y)
    back = fit_projection(ProjectionRelease(*_ridge_rows(X, y, 0.5)), correction=0.5)
    np.testing.assert_allclose(back, theta, rtol=1e-9)
    both = fit_projection(ProjectionRelease(X, np.column_stack([y, 2 * y])))
    np.testing.assert_allclose(both, np.column_stack([theta, 2 * theta]), rtol=1e-9)


def _ridge_rows(X, y, alpha):
    d = X.shape[1]
    return np.vstack([X, math.sqrt(alpha) * np.eye(d)]), np.append(y, np.zeros(d))


@pytest.mark.claim("proj-eq14")
def test_correction_is_capped_and_singular_releases_have_the_least_norm():
    X, y = _data(20)
    release = ProjectionRelease(X, y)
    smallest = np.linalg.eigvalsh(X.T @ X)[0]
    expected = np.linalg.solve(X.T @ X - 0.8 * smallest * np.eye(3), X.T @ y)
    np.testing.assert_allclose(fit_projection(release, correction=1e9), expected)
    wide = ProjectionRelease(X[:2], y[:2])
    least = np.linalg.pinv(X[:2]) @ y[:2]
    np.testing.assert_allclose(fit_projection(wide), least, rtol=1e-9)
    np.testing.assert_allclose(fit_projection(wide, correction=5.0), least, rtol=1e-9)


@pytest.mark.parametrize(("m", "d", "variance"), [(200, 20, 1.0), (60, 20, 0.5), (4000, 4, 3.0)])
def test_useful_correction_is_near_the_best_in_hindsight(m, d, variance):
    """Mean error over 40 releases against a grid of corrections, and against none.

    Kills the full share m sigma^2 (its error is over 1e5 times the best of the first two) and a
    correction of 0 (1.7 and 28 times the best of the first and of the last).
    """
    rng = stream(0, "proj-useful", "data")
    grid = np.linspace(0.0, 1.0, 11)
    errors = np.zeros(12)
    for _ in range(40):
        A, theta = rng.standard_normal((m, d)), rng.standard_normal(d)
        noisy = A + math.sqrt(variance) * rng.standard_normal((m, d))
        release = ProjectionRelease(noisy, A @ theta + rng.standard_normal(m))
        useful = useful_correction(release, variance=variance)
        assert 0.0 <= useful <= m * variance
        for k, amount in enumerate([*grid * m * variance, useful]):
            shifted = noisy.T @ noisy - amount * np.eye(d)
            fit = np.linalg.solve(shifted, noisy.T @ release.y)
            errors[k] += np.sum((fit - theta) ** 2) / np.sum(theta**2) / 40
    assert errors[-1] <= 1.05 * errors[:-1].min() + 0.01
    assert errors[-1] <= 1.02 * errors[0]


def test_the_share_explained_counts_the_columns_that_were_fitted():
    """A residual of (m - d)/m of the energy is what columns of noise leave: nothing is explained,
    and nothing worth taking off. Kills a share without that adjustment."""
    m, d = 400, 40
    for change, useful in ((1.0 + 1e-9, False), (0.9, True)):
        left = (m - d) / m * change
        assert (_useful_amount((m, d), 1.2 * m * d, 1.0, left, 1.0) > 0.0) == useful


@pytest.mark.parametrize(("rho", "left"), [(0.9, 0.0), (0.7, 0.1), (0.5, 0.3), (0.8, 0.2)])
def test_the_useful_amount_minimises_bias_and_spread(rho, left):
    """Beside the minimum over the amount itself of the two parts, each by its own meaning: the
    share rho/x of a weight that is left, and what noise of columns and residuals adds on a share
    of d/m columns. Kills any of the two, or a factor of them, that is dropped."""
    m, d, noise = 500, 60, 1.0
    crowded, whole = d / m, m * noise / (1.0 - rho)
    explained = min((1.0 - left * m / (m - d)) / rho, 1.0)

    def error(x):
        weight = rho / x
        missed = weight * (x - 1.0)  # of the release's own columns
        residual = rho / explained - rho**2  # of the response, beside what the columns tell
        return (1.0 - weight) ** 2 + crowded * (missed**2 + residual) / (x**2 - crowded)

    x = minimize_scalar(error, bounds=(math.sqrt(crowded) * 1.0001, 1.0), method="bounded").x
    expected = min(whole * (1.0 - x) * (1.0 - crowded / x), m * noise)
    amount = _useful_amount((m, d), whole * d, 1.0, left, noise)
    assert amount == pytest.approx(expected, abs=0.02 * m * noise)
    assert 0.02 < amount / (m * noise) < 0.98


@pytest.mark.parametrize("variance", [0.0, 1e-180, 1.0, 1e6])
def test_useful_correction_of_releases_without_signal_or_rows(variance):
    rng = stream(0, "proj-useful-edge", "data")
    noisy, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    for rows, labels in (
        (noisy, y),
        (noisy, np.zeros(30)),
        (noisy[:2], y[:2]),
        (np.zeros((30, 2)), y),
        (noisy, noisy[:, 0]),
    ):
        amount = useful_correction(ProjectionRelease(rows, labels), variance=variance)
        assert 0.0 <= amount <= 30 * variance
    assert useful_correction(ProjectionRelease(noisy[:2], y[:2]), variance=variance) == 0.0

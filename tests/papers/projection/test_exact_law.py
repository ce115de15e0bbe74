"""The Student t law of projected least squares, against projections that are really formed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import f as fisher
from scipy.stats import kstest

from dplit.papers.projection.laws import (
    error_sd,
    projected_error,
    projection_moments,
    sketch_factors,
    sketch_mean,
    sketch_quantile,
    sketch_tail,
    tail_asymptote,
)
from dplit.papers.projection.samplers import projection_errors
from dplit.papers.projection.spectrum import ridge_coefficients, ridge_objective, spectrum
from dplit.streams import stream
from dplit_studies.projection.simulation import naive_projection_draws

N, D = 24, 4
ALPHA = 1e-5  # false-alarm probability of each Kolmogorov-Smirnov test; fewer than 10 are made


@pytest.fixture(scope="module")
def data():
    rng = stream(0, "test-exact-law", "data")
    X = rng.uniform(-1, 1, (N, D))
    return X, X @ np.array([4.0, -3.0, 2.0, 5.0]) + 0.5 * rng.standard_normal(N)


def _draws(data, lam, rows, size):
    rng = stream(0, f"test-exact-law-{rows}-{lam}", "noise")
    return naive_projection_draws(*data, penalty=lam, n_components=rows, size=size, rng=rng)


@pytest.mark.claim("proj-beyond-exact-law", "proj-prop4")
@pytest.mark.parametrize(("lam", "rows"), [(0.0, 12), (3.0, 12), (3.0, 4), (0.5, 5)])
def test_sketching_factor_has_its_law_on_naive_draws(data, lam, rows):
    """4000 projections; kills n' - d in the place of n' - d + 1, and edges n' = d, d + 1."""
    X, y = data
    problem = spectrum(*data)
    fits = _draws(data, lam, rows, 4000)
    factors = sketch_factors(problem, fits, penalty=lam)
    ridge = ridge_coefficients(problem, penalty=lam)
    objective = [np.sum((X @ t - y) ** 2) + lam * t @ t for t in (fits[0], fits[1], ridge)]
    assert factors[:2] == pytest.approx(np.array(objective[:2]) / objective[2], rel=1e-8)
    excess = factors - 1
    m = rows - D + 1
    assert kstest(m / D * excess, fisher(D, m).cdf).pvalue > ALPHA
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = sketch_quantile(levels, n_features=D, n_components=rows)
    np.testing.assert_allclose(quantiles, 1 + D / m * fisher.ppf(levels, D, m), rtol=1e-9)
    for delta in (0.2, 1.0):
        tail = sketch_tail(delta, n_features=D, n_components=rows)
        assert tail == pytest.approx(fisher.sf(m / D * ((1 + delta) ** 2 - 1), D, m), rel=1e-9)
        share = np.mean(1 + excess > (1 + delta) ** 2)
        assert abs(share - tail) < 4.5 * math.sqrt(tail * (1 - tail) / 4000) + 1e-12


@pytest.mark.claim("proj-beyond-exact-law")
def test_mean_and_covariance_of_the_fit_on_naive_draws(data):
    """10^4 projections; 4.5 standard errors per entry, 20 entries: false alarm 1.4e-4 / 2."""
    lam, rows, size = 2.0, 16, 10_000
    problem = spectrum(*data)
    fits = _draws(data, lam, rows, size)
    mean, covariance = projection_moments(problem, penalty=lam, n_components=rows)
    sds = np.sqrt(np.diag(covariance))
    assert (np.abs(fits.mean(0) - mean) < 4.5 * sds / math.sqrt(size)).all()
    assert (4.5 * sds / math.sqrt(size) < 0.05 * np.abs(mean)).all()  # 5 % would be seen
    gaps = (fits - fits.mean(0)) / sds
    products = gaps[:, :, None] * gaps[:, None, :]
    expected = covariance / np.outer(sds, sds)
    se = products.std(axis=0) / math.sqrt(size)
    assert (np.abs(products.mean(0) - expected) < 4.5 * se).all()
    X, _ = data
    exact = ridge_objective(problem, penalty=lam) * np.linalg.inv(X.T @ X + lam * np.eye(D))
    np.testing.assert_allclose(covariance, exact / (rows - D - 1), rtol=1e-9)


@pytest.mark.claim("proj-beyond-exact-law", "proj-thm2")
@pytest.mark.parametrize("lam", [0.0, 4.0])
def test_mean_error_on_naive_draws(data, lam):
    """10^4 projections, 4.5 standard errors: false alarm 7e-6, and 5 % would be seen."""
    problem, rows = spectrum(*data), 16
    fits = _draws(data, lam, rows, 10_000)
    errors = problem.errors(problem.rotate(fits))
    exact = projected_error(problem, penalty=lam, n_components=rows)
    se = error_sd(problem, penalty=lam, n_components=rows) / 100.0
    assert abs(errors.mean() - exact) < 4.5 * se < 0.05 * exact


@pytest.mark.claim("proj-beyond-exact-law")
@pytest.mark.parametrize("lam", [0.0, 4.0])
def test_standard_deviation_of_the_error(data, lam):
    """300,000 cheap draws: the standard deviation to 1 %, so that 5 % would be seen."""
    problem, rows = spectrum(*data), 24
    rng = stream(0, f"test-error-sd-{lam}", "noise")
    errors = projection_errors(problem, penalty=lam, n_components=rows, size=300_000, rng=rng)
    exact = error_sd(problem, penalty=lam, n_components=rows)
    squares = (errors - errors.mean()) ** 2
    se = squares.std() / math.sqrt(len(errors))
    assert abs(squares.mean() - exact**2) < 4.5 * se < 0.09 * exact**2


@pytest.mark.claim("proj-beyond-exact-law", "proj-prop4")
def test_without_noise_the_mean_needs_no_data(data):
    problem = spectrum(*data)
    for rows in (D + 2, 20, 1000):
        mean = projected_error(problem, penalty=0.0, n_components=rows)
        assert mean == pytest.approx((rows - 1) / (rows - D - 1), rel=1e-12)
        assert sketch_mean(n_features=D, n_components=rows) == pytest.approx(mean, rel=1e-12)
        m = rows - D + 1
        if m > 4:
            sd = error_sd(problem, penalty=0.0, n_components=rows)
            assert sd == pytest.approx(D / m * fisher(D, m).std(), rel=1e-9)


@pytest.mark.claim("proj-prop4")
def test_the_tail_is_a_power_of_delta_and_no_exponential_bounds_it():
    """Killed: constants c1, c2 for all delta. The law at 3, 10, 30 by an integral over F."""
    for delta, value in ((3.0, 0.0156), (10.0, 7.5e-4), (30.0, 3.4e-5)):
        assert sketch_tail(delta, n_features=2, n_components=4) == pytest.approx(value, rel=0.02)
    for d, rows in ((1, 1), (2, 4), (4, 6)):
        ratios = [
            sketch_tail(t, n_features=d, n_components=rows)
            / tail_asymptote(t, n_features=d, n_components=rows)
            for t in (1e2, 1e4)
        ]
        assert ratios[1] == pytest.approx(1.0, rel=1e-3)
        assert abs(ratios[1] - 1) <= abs(ratios[0] - 1)
        for c1, c2 in ((1e6, 1e-6), (1.0, 1.0)):
            large = 10.0 * math.sqrt(50.0 / (c2 * rows))
            bound = c1 * math.exp(-min(c2 * rows * large**2, 700.0))
            assert sketch_tail(large, n_features=d, n_components=rows) > bound


def test_moments_that_do_not_exist_are_infinite_or_refused(data):
    problem = spectrum(*data)
    assert projected_error(problem, penalty=1.0, n_components=D + 1) == math.inf
    assert projected_error(problem, penalty=1.0, n_components=D) == math.inf
    assert error_sd(problem, penalty=1.0, n_components=D + 3) == math.inf
    assert error_sd(problem, penalty=1.0, n_components=D + 4) < math.inf
    assert sketch_mean(n_features=D, n_components=D + 1) == math.inf
    with pytest.raises(ValueError, match="n_components must be at least d \\+ 2 = 6"):
        projection_moments(problem, penalty=1.0, n_components=D + 1)
    exact = spectrum(data[0], data[0] @ np.ones(D))
    assert projected_error(exact, penalty=0.0, n_components=20) == math.inf
    assert error_sd(exact, penalty=1.0, n_components=20) == math.inf

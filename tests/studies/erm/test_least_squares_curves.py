"""Least-squares learning curves: growing sums against direct fits on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.erm.kernels import trigonometric_features
from dplit_studies.erm import least_squares_curves
from dplit_studies.trials import Trial

pytestmark = pytest.mark.claim("erm-beyond-curves")

SIZES = np.array([64, 256])


@pytest.fixture(scope="module")
def squared():
    """Eight repetitions at two sizes."""
    return least_squares_curves.least_squares_curves(8, seed=0, sizes=SIZES)


def test_least_squares_curves_agree_with_a_direct_fit(squared):
    rng = Trial(0, seed=0, name="erm-beyond-curves-squared").stream("data")
    x = rng.random(256)
    y = 0.5 * np.sin(2 * np.pi * x) + 0.5 * rng.uniform(-1, 1, 256)
    grid = (np.arange(512) + 0.5) / 512
    for i, setting in enumerate(least_squares_curves._LEAST_SQUARES_SETTINGS):
        for j, m in enumerate(SIZES):
            phi, penalty = trigonometric_features(x[:m]), m ** (-1 / 3 if i == 0 else -1 / 2)
            assert squared.regularization[i, j] == pytest.approx(penalty)
            w = np.linalg.solve(phi.T @ phi + m * penalty * np.eye(80), phi.T @ y[:m])
            error = trigonometric_features(grid) @ w - 0.5 * np.sin(2 * np.pi * grid)
            assert squared.of("none")[0, i, j] == pytest.approx(np.mean(error**2), rel=1e-8)
            epsilon = setting.epsilon or penalty
            printed = 2 * 4 / (penalty**3 * m**2 * epsilon**2)
            assert squared.noise["printed"][i, j] == pytest.approx(printed, rel=1e-12)
            assert squared.noise["doubled"][i, j] == pytest.approx(4 * printed, rel=1e-12)


def test_noise_is_added_exactly(squared):
    added = squared.of("sharp") - squared.of("none")
    assert added == pytest.approx(np.broadcast_to(squared.noise["sharp"], added.shape))
    assert np.all(squared.noise["sharp"] < squared.noise["printed"])


def test_approximation_error_of_the_regression_problem():
    grid = (np.arange(512) + 0.5) / 512
    phi, f = trigonometric_features(grid), 0.5 * np.sin(2 * np.pi * grid)
    for penalty in (0.3, 0.001):
        w = np.linalg.solve(phi.T @ phi / 512 + penalty * np.eye(80), phi.T @ f / 512)
        value = np.mean((phi @ w - f) ** 2) + penalty * w @ w
        found, risk = least_squares_curves.least_squares_approximation(penalty)
        assert found == pytest.approx(value, rel=1e-10)
        assert risk == pytest.approx(np.var(0.5 * np.linspace(-1, 1, 100_001)), rel=1e-4)


@pytest.mark.claim("erm-ls-rate")
def test_curves_lie_below_the_bound(squared):
    """Every one of 32 fits: at most 0.6 of the bound."""
    bounds = least_squares_curves.least_squares_bounds(squared)
    assert np.all(squared.of("none") <= bounds)
    for (i, j), penalty in np.ndenumerate(squared.regularization):
        bias, risk = least_squares_curves.least_squares_approximation(penalty)
        factor = (1 + 1 / (penalty * SIZES[j])) ** 2
        assert bounds[i, j] == pytest.approx(factor * (risk + bias) - risk, rel=1e-12)

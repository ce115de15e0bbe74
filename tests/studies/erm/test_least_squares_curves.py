"""Least-squares learning curves: growing sums against direct fits on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.erm.losses import trigonometric_features
from dplit.trials import Trial
from dplit_studies.erm.learning_curves import (
    _LEAST_SQUARES_SETTINGS,
    least_squares_approximation,
    least_squares_bounds,
    least_squares_curves,
)

SIZES = np.array([64, 256])


@pytest.fixture(scope="module")
def squared():
    """Eight repetitions at two sizes."""
    return least_squares_curves(8, seed=0, sizes=SIZES)


@pytest.mark.claim("erm-beyond-curves")
def test_least_squares_curves_agree_with_a_direct_fit(squared):
    rng = Trial(0, seed=0, name="erm-beyond-curves-squared").stream("data")
    x = rng.random(256)
    y = 0.5 * np.sin(2 * np.pi * x) + 0.5 * rng.uniform(-1, 1, 256)
    grid = (np.arange(512) + 0.5) / 512
    for i, setting in enumerate(_LEAST_SQUARES_SETTINGS):
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


@pytest.mark.claim("erm-beyond-curves")
def test_noise_is_added_exactly(squared):
    added = squared.of("sharp") - squared.of("none")
    assert added == pytest.approx(np.broadcast_to(squared.noise["sharp"], added.shape))
    assert np.all(squared.noise["sharp"] < squared.noise["printed"])


@pytest.mark.claim("erm-beyond-curves")
def test_approximation_error_of_the_regression_problem():
    grid = (np.arange(512) + 0.5) / 512
    phi, f = trigonometric_features(grid), 0.5 * np.sin(2 * np.pi * grid)
    for penalty in (0.3, 0.001):
        w = np.linalg.solve(phi.T @ phi / 512 + penalty * np.eye(80), phi.T @ f / 512)
        value = np.mean((phi @ w - f) ** 2) + penalty * w @ w
        found, risk = least_squares_approximation(penalty)
        assert found == pytest.approx(value, rel=1e-10)
        assert risk == pytest.approx(np.var(0.5 * np.linspace(-1, 1, 100_001)), rel=1e-4)


@pytest.mark.claim("erm-ls-rate", "erm-beyond-curves")
def test_curves_lie_below_the_bound(squared):
    """Every one of 32 fits: at most 0.6 of the bound."""
    bounds = least_squares_bounds(squared)
    assert np.all(squared.of("none") <= bounds)
    for (i, j), penalty in np.ndenumerate(squared.regularization):
        bias, risk = least_squares_approximation(penalty)
        factor = (1 + 1 / (penalty * SIZES[j])) ** 2
        assert bounds[i, j] == pytest.approx(factor * (risk + bias) - risk, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: least_squares_curves(2, seed=-1, sizes=[8]), "seed must be at least 0"),
        (lambda: least_squares_curves(2, seed=0, sizes=[9, 8]), "sizes must be increasing"),
        (lambda: least_squares_curves(1, seed=0, sizes=[8]).of("half"), "method must be one"),
        (lambda: least_squares_approximation(-1.0), "regularization must be positive"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

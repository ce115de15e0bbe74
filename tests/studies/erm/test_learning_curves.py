"""Learning curves: the fast routes against plain ones, slopes against planted powers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.erm.kernels import trigonometric_features
from dplit.papers.erm.minimisers import fit_kernel, fit_linear
from dplit.streams import stream
from dplit_studies.erm import learning_curves
from dplit_studies.trials import Trial

pytestmark = pytest.mark.claim("erm-beyond-curves")

SIZES = np.array([64, 256])


@pytest.fixture(scope="module")
def hinge():
    """Eight repetitions at two sizes."""
    return learning_curves.hinge_curves(8, seed=0, sizes=SIZES)


def _table(runs):
    """All risks by trial, setting, size and noise."""
    return np.stack([runs.of(noise) for noise in learning_curves._NOISES], axis=-1)


def _wave_labels(rng, size):
    """The data of one repetition, in the order in which the module draws them."""
    x = rng.random(size)
    return x, np.sign(np.sin(2 * np.pi * x)) * np.where(rng.random(size) < 0.9, 1, -1)


def _draw_risks(f, wave, shifts):
    """Excess hinge risk and misclassification for every shift, with Bayes risks .2 and .1."""
    hinge, wrong = [], []
    for b in shifts:
        t = f + b
        right, other = np.maximum(1 - wave * t, 0), np.maximum(1 + wave * t, 0)
        hinge.append(np.mean(0.9 * right + 0.1 * other) - 0.2)
        wrong.append(np.mean(np.where(wave * t < 0, 0.9, 0.1)) - 0.1)
    return np.array(hinge), np.array(wrong)


@pytest.mark.parametrize("setting", range(4))
def test_hinge_curves_agree_with_a_kernel_solver_and_with_draws_of_the_noise(hinge, setting):
    """First trial at m = 64 by the Gram matrix; noise by 4000 draws, 5 standard errors on 4 means
    of each setting: false alarm 9.2e-6 in all. Kills a doubled or halved scale."""
    x, y = _wave_labels(Trial(0, seed=0, name="erm-beyond-curves").stream("data"), 256)
    x, y = x[:64], y[:64]
    penalty, epsilon = hinge.regularization[setting, 0], hinge.epsilon[setting, 0]
    phi, grid = trigonometric_features(x), (np.arange(1000) + 0.5) / 1000
    fit = fit_kernel(phi @ phi.T, y, loss="hinge", regularization=penalty, tol=1e-12)
    f = trigonometric_features(grid) @ (phi.T @ fit.coefficients)
    wave = np.sign(np.sin(2 * np.pi * grid))
    plain, wrong = _draw_risks(f, wave, [0.0])
    assert _table(hinge)[0, setting, 0, 0] == pytest.approx(plain[0], abs=2e-4)
    assert _table(hinge.misclassified)[0, setting, 0, 0] == pytest.approx(wrong[0], abs=2e-3)
    needed = 1 / (penalty * 64 * epsilon)  # kappa = C_L = 1, gamma = 2
    shifts = stream(0, "erm-beyond-curves", "noise", setting).laplace(size=4000)
    for index, scale in ((1, needed / 2), (2, needed)):
        risks = _draw_risks(f, wave, scale * shifts)
        for drawn, exact in zip(risks, (_table(hinge), _table(hinge.misclassified)), strict=True):
            error = 5 * drawn.std() / math.sqrt(4000) + 2e-4
            assert abs(drawn.mean() - exact[0, setting, 0, index]) < error


@pytest.mark.claim("erm-beyond-stability-rate")
def test_hinge_curves_lie_below_the_bound_by_stability(hinge):
    """Means of 8 trials: at most two thirds of the bound here, 30 standard errors away."""
    bounds = learning_curves.hinge_bounds(hinge)
    assert np.all(_table(hinge).mean(axis=0)[..., 2] <= bounds)
    for (i, j), penalty in np.ndenumerate(hinge.regularization):
        stable = 1 / (penalty * hinge.sizes[j])  # 2 kappa^2 C_L^2 / (lambda gamma m)
        bias = learning_curves.hinge_approximation(penalty)
        expected = stable * (1 + 0.5 / hinge.epsilon[i, j]) + bias
        assert bounds[i, j] == pytest.approx(expected, rel=1e-12)


def test_hinge_curves_are_ordered_and_certified(hinge):
    assert np.all(np.diff(_table(hinge), axis=-1) > 0)  # noise costs
    assert np.all(_table(hinge).mean(axis=0)[:, 1] < _table(hinge).mean(axis=0)[:, 0])
    assert 0 < hinge.distance < 1e-3
    # Zhang's comparison holds for every single function, noise included
    assert np.all(_table(hinge.misclassified) <= _table(hinge) + 1e-12)


def test_values_of_the_curves(hinge):
    """Means over 8 trials against 20 repetitions made elsewhere; 5 joint standard errors."""
    mean, error = _table(hinge).mean(axis=0), _table(hinge).std(axis=0, ddof=1) / math.sqrt(8)
    for setting, expected in ((0, (0.190, 0.258, 0.352)), (1, (0.257, 0.291, 0.345))):
        gap = np.abs(mean[setting, 0] - expected)
        assert np.all(gap < 5 * np.hypot(error[setting, 0], 0.003) + 5e-4)


def test_a_sample_on_which_two_step_lengths_stall_is_solved():
    """Deterministic: with separate steps for p and multipliers the gap stays above 1e-4 here."""
    x, y = _wave_labels(Trial(48, seed=0, name="erm-beyond-curves").stream("data"), 32_768)
    features = trigonometric_features(x[:8192])
    fit = fit_linear(features, y[:8192], loss="hinge", regularization=4096**-0.8)
    assert fit.gap <= 1e-10


def test_trials_do_not_depend_on_their_number_or_the_sizes(hinge):
    alone = learning_curves.hinge_curves(1, seed=0, sizes=[64, 256], n_jobs=1)
    assert np.array_equal(_table(alone)[0], _table(hinge)[0])
    assert not np.array_equal(_table(hinge)[0], _table(hinge)[1])


def test_approximation_error_of_the_classification_problem():
    """Against a direct minimiser of the regularised squared risk on another grid."""
    grid = (np.arange(3001) + 0.5) / 3001
    phi, wave = trigonometric_features(grid), np.sign(np.sin(2 * np.pi * grid))
    for penalty in (0.2, 0.01):
        w = np.linalg.solve(phi.T @ phi / 3001 + penalty * np.eye(80), phi.T @ wave / 3001)
        value = _draw_risks(phi @ w, wave, [0.0])[0][0] + penalty * w @ w
        assert learning_curves.hinge_approximation(penalty) == pytest.approx(value, rel=2e-3)


def test_slope_recovers_a_planted_power_and_its_error():
    """500 data sets of 12 trials: the mean slope within 5 standard errors (false alarm 5.7e-7),
    the jackknife error within 10 % of the true spread on average (kills a missing root)."""
    rng, sizes = stream(0, "erm-beyond-curves", "data"), np.array([16, 64, 256, 1024])
    slopes, errors = [], []
    for _ in range(500):
        factor = np.exp(0.1 * rng.standard_normal((12, 4)) + 0.2 * rng.standard_normal((12, 1)))
        found = learning_curves.log_slope(3 * sizes**-0.4 * factor, sizes)
        slopes.append(found.mean)
        errors.append(found.se)
    assert abs(np.mean(slopes) + 0.4) < 5 * np.std(slopes) / math.sqrt(500)
    assert np.mean(errors) == pytest.approx(np.std(slopes), rel=0.1)


def test_settings_are_the_four_of_the_chapter():
    assert [(s.beta, s.epsilon) for s in learning_curves._HINGE_SETTINGS] == [
        (0.25, None),
        (0.5, None),
        (0.25, 0.5),
        (0.5, 0.5),
    ]

"""Approximation errors: closed forms against series, quadrature and optimisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dplit.papers.erm.approximation import (
    comparison_slack,
    hinge_source_bound,
    power_exponent,
    regularized_target,
    source_exponent,
    spectral_error,
    wave_errors,
    wave_spectrum,
)
from dplit.papers.erm.kernels import gaussian_gram
from dplit.streams import stream

LAMBDAS = [1e-6, 1e-4, 1e-2, 0.1, 0.19, 0.5, 3.0]


@pytest.mark.claim("erm-svm-D", "erm-eq4")
@pytest.mark.parametrize("regularization", LAMBDAS)
def test_closed_forms_agree_with_the_series(regularization):
    """The tail of the series after n terms is at most 2 / (pi^2 n) in squared norm."""
    mu, a = wave_spectrum(300_000)
    error, penalty = spectral_error(regularization, eigenvalues=mu, coefficients=a)
    exact = wave_errors(regularization)
    assert exact.l2**2 == pytest.approx(error**2, abs=1e-6)
    assert exact.penalty == pytest.approx(penalty, rel=1e-5)
    assert exact.squared == pytest.approx(error**2 + penalty, abs=1.2e-6)


@pytest.mark.claim("erm-svm-D", "erm-eq4")
@pytest.mark.parametrize("regularization", [1e-2, 0.1, 1.0])
def test_hinge_error_by_the_series_on_a_grid(regularization):
    """f_lambda summed at 400 midpoints of (0, 1/2); its modulus is below 1."""
    mu, a = wave_spectrum(4000)
    x = (np.arange(400) + 0.5) / 800
    k = 2 * np.arange(4000) + 1
    f = math.sqrt(2) * np.sin(2 * math.pi * np.outer(x, k)) @ (a * mu / (mu + regularization))
    assert f.max() < 1
    exact = wave_errors(regularization)
    assert exact.hinge - exact.penalty == pytest.approx(np.mean(1 - f), rel=2e-4)


@pytest.mark.claim("erm-svm-D")
@pytest.mark.parametrize("regularization", [0.02, 0.1, 0.3, 1.0])
def test_least_hinge_error_agrees_with_optimisation(regularization):
    """Piecewise linear functions on (0, 1/4) with f(0) = 0, error of order of the step."""
    n, step = 60, 0.25 / 60

    def objective(values):
        f = np.append(0.0, values)
        mean = np.mean(np.maximum(1 - 0.5 * (f[1:] + f[:-1]), 0))
        slope = np.diff(f) / step
        gradient = np.zeros(n + 1)
        active = (0.5 * (f[1:] + f[:-1]) < 1) / n * -0.5
        gradient[1:] += active
        gradient[:-1] += active
        pull = regularization / 12 * 2 * slope / n / step
        gradient[1:] += pull
        gradient[:-1] -= pull
        return mean + regularization / 12 * np.mean(slope**2), gradient[1:]

    found = minimize(
        objective,
        np.full(n, 0.3),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20000},
    )
    best = wave_errors(regularization).best_hinge
    assert found.fun == pytest.approx(best, rel=5e-3)
    assert best <= wave_errors(regularization).hinge


@pytest.mark.claim("erm-svm-D", "erm-eq4")
def test_limits_and_exponents():
    small = wave_errors(1e-8)
    expected = [8 / 3 / math.sqrt(3), math.sqrt(3), 2 / math.sqrt(3)]
    found = [value / 1e-4 for value in (small.best_hinge, small.hinge, small.squared)]
    assert found == pytest.approx(expected, rel=1e-9)
    grid = np.logspace(-6, -2, 5)
    rows = [wave_errors(value) for value in grid]
    assert power_exponent(grid, [row.hinge for row in rows]) == pytest.approx(0.5, abs=1e-6)
    assert power_exponent(grid, [row.l2 for row in rows]) == pytest.approx(0.25, abs=1e-6)
    route = [row.l2 + row.penalty for row in rows]
    assert power_exponent(grid, route) == pytest.approx(0.270, abs=5e-4)


@pytest.mark.claim("erm-svm-D")
@pytest.mark.parametrize("source", [0.1, 0.25, 0.5, 0.8, 1.0, 1.7])
def test_source_bound_covers_random_targets_in_l2(source):
    """Deterministic bound on error + penalty; a single eigenvalue comes within a factor."""
    rng = stream(0, "erm-svm-D", "data")
    for _ in range(40):
        mu = rng.uniform(0, 1, 30) ** 4 * 0.8  # kappa^2 is at least the largest eigenvalue
        u = rng.standard_normal(30)
        for penalty in (1e-4, 1e-2, 0.3):
            error, cost = spectral_error(penalty, eigenvalues=mu, coefficients=mu**source * u)
            bound = hinge_source_bound(
                penalty, source=source, source_norm=float(np.linalg.norm(u)), kappa=0.9
            )
            assert error + cost <= bound * (1 + 1e-12)


@pytest.mark.claim("erm-svm-D")
def test_source_bound_value():
    assert hinge_source_bound(0.04, source=0.25, source_norm=2.0) == pytest.approx(
        2 * math.sqrt(0.2) + 4 * 0.2
    )
    assert hinge_source_bound(0.04, source=2.0, source_norm=2.0, kappa=0.5) == pytest.approx(
        0.04 * 0.25 * 2 + 0.04 * 0.5**6 * 4
    )


@pytest.mark.claim("erm-svm-D")
def test_printed_bound_lacks_its_constant():
    """One point, K = 1, y = 1: D of the printed f_lambda is nearly twice lambda."""
    penalty = 0.01
    f = float(regularized_target([[1.0]], [1.0], regularization=penalty)[0])
    assert f == pytest.approx(1 / 1.01)
    hinge = 1 - f + penalty * f * f
    assert hinge > 1.9 * penalty
    assert hinge <= hinge_source_bound(penalty, source=1.0, source_norm=1.0)


@pytest.mark.claim("erm-concl-third", "erm-svm-rate", "erm-ls-rate")
def test_source_exponents():
    r = [0.0, 0.2, 0.5, 0.8, 1.5]
    assert [source_exponent(s, loss="squared") for s in r] == [0.0, 0.4, 1.0, 1.0, 1.0]
    assert [source_exponent(s, loss="hinge") for s in r] == [0.0, 0.2, 0.5, 0.8, 1.0]
    assert [source_exponent(s, loss="lipschitz") for s in r] == [0.0, 0.2, 1.0, 1.0, 1.0]


@pytest.mark.claim("erm-ls-rate")
@pytest.mark.parametrize("source", [0.1, 0.3, 0.7])
def test_least_squares_exponent_is_that_of_a_power_spectrum(source):
    """Coefficients just inside L_K^r: D decays with 2r up to the grid's resolution."""
    k = np.arange(1, 2_000_001, dtype=float)
    mu = k**-2
    a = mu**source * k**-0.51
    grid = np.logspace(-7, -4, 4)
    errors = [spectral_error(value, eigenvalues=mu, coefficients=a) for value in grid]
    slope = power_exponent(grid, [error**2 + cost for error, cost in errors])
    assert slope == pytest.approx(source_exponent(source, loss="squared"), abs=0.06)


@pytest.mark.claim("erm-svm-D")
def test_sup_norm_is_not_contracted():
    K = gaussian_gram([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], width=1.5)
    f = regularized_target(K, [-1.0, 1.0, 1.0], regularization=0.01995)
    assert np.abs(f).max() == pytest.approx(1.0810, abs=5e-5)
    # second route: the minimiser of the population's regularised squared risk
    target = np.array([-1.0, 1.0, 1.0])
    c = np.linalg.solve(K + 3 * 0.01995 * np.eye(3), target)
    assert f == pytest.approx(K @ c, rel=1e-10)
    weights = np.array([0.5, 0.3, 0.2])
    g = regularized_target(K, target, regularization=0.1, weights=weights)
    c = np.linalg.solve(K + 0.1 * np.diag(1 / weights), target)
    assert g == pytest.approx(K @ c, rel=1e-10)


@pytest.mark.claim("erm-svm-comparison")
def test_comparison_holds_without_a_root_and_is_tight():
    eta, t = np.linspace(0, 1, 201)[:, None], np.linspace(-3, 3, 301)[None, :]
    slack = comparison_slack(eta, t)
    assert slack.min() == pytest.approx(0.0, abs=1e-14)
    assert slack.max() == pytest.approx(3.0, rel=1e-9)
    assert comparison_slack(eta, t, root=True).min() >= -1e-14


@pytest.mark.claim("erm-svm-comparison")
def test_comparison_by_hand():
    assert comparison_slack(0.9, 0.5) == pytest.approx(0.9 * 0.5 + 0.1 * 1.5 - 0.2)
    assert comparison_slack(0.9, -0.5) == pytest.approx(0.9 * 1.5 + 0.1 * 0.5 - 0.2 - 0.8)
    assert comparison_slack(0.9, 0.5, root=True) == pytest.approx(math.sqrt(0.8))

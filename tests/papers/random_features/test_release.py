"""Algorithm 1's noise, its leak, and the floor that no private interpolator goes below."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from dplit.audit import chi_square_noise_test, run_controls
from dplit.mechanisms import gaussian_delta
from dplit.papers.random_features.interpolation import min_norm_fit
from dplit.papers.random_features.release import (
    interpolator_noise_floor,
    printed_sigma,
    release_coefficients,
    unbiased_noise_floor,
)
from dplit.streams import stream

BUDGET = {"epsilon": 1.0, "delta": 1e-5, "eta": 0.375}


@pytest.mark.claim("dprf-alg1")
@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 1500), (0.5, 20000), (0.05, 7)])
def test_printed_sigma_is_the_formula_with_50_digits(epsilon, n):
    with mp.workdps(50):
        bound2 = mp.mpf(4) / (n * (1 - 2 * mp.mpf("0.375")))
        variance = 2 * mp.log(mp.mpf("1.25") / mp.mpf("1e-5")) * bound2 / mp.mpf(epsilon) ** 2
        expected = float(mp.sqrt(variance))
    sigma = printed_sigma(n_components=n, epsilon=epsilon, delta=1e-5, eta=0.375)
    assert sigma == pytest.approx(expected, rel=1e-13)
    assert sigma == pytest.approx(19.379 / (math.sqrt(n) * epsilon), rel=2e-5)


@pytest.mark.claim("dprf-alg1")
def test_as_printed_the_imaginary_part_is_published_exactly():
    coef = np.arange(5) + 1j * np.arange(5.0, 10.0)
    printed = release_coefficients(coef, **BUDGET, rng=stream(0, "alg1", "noise"))
    repaired = release_coefficients(
        coef, **BUDGET, rng=stream(0, "alg1", "noise"), as_printed=False
    )
    np.testing.assert_array_equal(printed.imag, coef.imag)
    assert (printed.real != coef.real).all()
    assert (repaired.imag != coef.imag).all()
    rng = stream(0, "alg1", "noise")
    real = release_coefficients(coef.real, **BUDGET, rng=rng, as_printed=False)
    assert not np.iscomplexobj(real)


def _test_of_noise(factor, as_printed):
    """Test 1e5 released coefficients against the printed standard deviation."""
    n = 100_000
    coef = np.linspace(-1, 1, n) * (1 if as_printed else 1 + 1j)
    rng = stream(1, "alg1-audit", "noise")
    noise = release_coefficients(coef, **BUDGET, rng=rng, as_printed=as_printed) - coef
    sigma = printed_sigma(n_components=n, **BUDGET)
    return chi_square_noise_test(factor * noise, sigma=sigma)


@pytest.mark.claim("dprf-alg1")
@pytest.mark.parametrize("as_printed", [True, False])
def test_noise_of_a_release_has_the_printed_variance(as_printed):
    """Chi-square on 1e5 draws; false alarm 2e-4 in all; kills noise 5 % off, either way."""
    assert run_controls(lambda factor: _test_of_noise(factor, as_printed).violated()).sound
    assert _test_of_noise(1.0, as_printed).excess_p_value > 1e-4
    assert _test_of_noise(0.95, as_printed).violated()
    assert _test_of_noise(1.05, as_printed).excess_p_value < 1e-4


@pytest.mark.claim("dprf-beyond-impossibility")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_unbiased_pure_release_has_less_noise(epsilon):
    """By linear programming over mechanisms with 41 outcomes in [-20, 20] b: the least variance at
    an end label, with both means right and odds within e^epsilon. Kills a floor that is 5 % off
    where randomised response is on the grid, and one that something undercuts anywhere.
    """
    c = 1.0 / math.tanh(epsilon / 2.0)
    outcomes = np.append(np.linspace(-20.0, 20.0, 41) * max(1.0, c / 4.0), [-c, c])
    k, odds = len(outcomes), math.exp(epsilon)
    zero, one = np.zeros(k), np.ones(k)
    means = [(one, zero), (zero, one), (outcomes, zero), (zero, outcomes)]
    bounds = np.block([[np.eye(k), -odds * np.eye(k)], [-odds * np.eye(k), np.eye(k)]])
    found = linprog(
        np.append((outcomes - 1.0) ** 2, zero),
        A_ub=bounds,
        b_ub=np.zeros(2 * k),
        A_eq=[np.concatenate(pair) for pair in means],
        b_eq=[1.0, 1.0, 1.0, -1.0],
    )
    assert found.success
    floor = unbiased_noise_floor(label_bound=3.0, epsilon=epsilon)
    assert floor == pytest.approx(9.0 * found.fun, rel=1e-6)


@pytest.mark.claim("dprf-beyond-impossibility")
@pytest.mark.parametrize(("calibration", "expected"), [("analytic", 55.67), ("classical", 93.89)])
def test_noise_floor_by_bisection_on_the_profile(calibration, expected):
    floor = interpolator_noise_floor(
        label_bound=1.0, epsilon=1.0, delta=1e-5, calibration=calibration
    )
    assert floor == pytest.approx(expected, abs=0.01)
    mu = 2.0 / math.sqrt(floor)
    if calibration == "analytic":  # exactly on the profile, by scipy's normal distribution
        delta = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
        assert delta == pytest.approx(1e-5, rel=1e-8)
    else:
        assert floor == pytest.approx(8 * math.log(1.25e5), rel=1e-12)
    scaled = interpolator_noise_floor(
        label_bound=0.5, epsilon=1.0, delta=1e-5, calibration=calibration
    )
    assert scaled == pytest.approx(floor / 4)


@pytest.mark.claim("dprf-beyond-impossibility")
def test_no_covariance_goes_below_the_floor_and_one_record_attains_it():
    """2000 random covariances, scaled until the label flip has exactly the allowed mu."""
    rng = stream(0, "floor", "data")
    floor = interpolator_noise_floor(label_bound=1.0, epsilon=1.0, delta=1e-5)
    mu = 2.0 / math.sqrt(floor)
    ratios = []
    for _ in range(2000):
        m, n = 3, 6
        A = rng.standard_normal((m, n))
        move = 2.0 * min_norm_fit(A, [1.0, 0.0, 0.0])
        root = rng.standard_normal((n, n)) * rng.uniform(0.01, 1, n)
        S = root @ root.T
        S *= move @ np.linalg.solve(S, move) / mu**2  # now exactly mu
        ratios.append(A[0] @ S @ A[0] / floor)
    assert min(ratios) >= 1 - 1e-9
    phi = rng.standard_normal(6)
    move = 2.0 * min_norm_fit(phi[None], [1.0])
    variance = (np.linalg.norm(move) / mu) ** 2
    assert variance * phi @ phi == pytest.approx(floor)
    attained = gaussian_delta(
        epsilon=1.0, sigma=math.sqrt(variance), sensitivity=np.linalg.norm(move)
    )
    assert attained == pytest.approx(1e-5, rel=1e-9)

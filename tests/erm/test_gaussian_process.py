"""The release of a whole function: its law, its consistency, its audit, bad input."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from dplit.accounting import gdp_delta
from dplit.audit import chi_square_noise_test, gaussian_dp_lower_bound, run_controls
from dplit.erm.attacks import hinge_pair
from dplit.erm.losses import gaussian_kernel
from dplit.erm.repairs import GaussianProcessOracle, distinguishing_power, largest_power
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream

PAIR = hinge_pair(20, rng=stream(0, "gp-pair", "data"))


def _oracle(rng, coefficients=None, **changes):
    options = {"sensitivity": PAIR.sensitivity, "epsilon": 0.5, "delta": 1e-5, **changes}
    weights = PAIR.coefficients if coefficients is None else coefficients
    return GaussianProcessOracle(PAIR.kernel, PAIR.records, weights, rng=rng, **options)


def _grid(side):
    ticks = np.linspace(-1, 1, side)
    return np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


@pytest.mark.claim("erm-beyond-gp")
def test_calibration():
    oracle = _oracle(stream(0, "gp", "noise"))
    assert oracle.sigma == gaussian_sigma(epsilon=0.5, delta=1e-5, sensitivity=PAIR.sensitivity)
    assert oracle.mu == pytest.approx(0.142211, abs=5e-7)
    assert gdp_delta(epsilon=0.5, mu=oracle.mu) == pytest.approx(1e-5, rel=1e-9)


@pytest.mark.claim("erm-beyond-gp")
def test_answers_do_not_depend_on_how_the_questions_are_grouped():
    """One stream of normals through one Cholesky factor: bytes differ, values agree to rounding.

    Kills a lost cross term, noise drawn anew, and a wrong order of rows.
    """
    points = stream(0, "gp-points", "data").uniform(-1, 1, (12, 2))
    at_once = _oracle(stream(0, "gp", "noise")).answer(points)
    oracle = _oracle(stream(0, "gp", "noise"))
    one_by_one = np.concatenate([oracle.answer(point[None]) for point in points])
    np.testing.assert_allclose(one_by_one, at_once, atol=1e-9)
    gram = PAIR.kernel(points, points) + 1e-10 * np.eye(12)
    z = stream(0, "gp", "noise").normal(size=12)
    noise = oracle.sigma * np.linalg.cholesky(gram) @ z
    exact = PAIR.kernel(points, PAIR.records) @ PAIR.coefficients
    np.testing.assert_allclose(at_once, exact + noise, atol=1e-9)


@pytest.mark.claim("erm-beyond-gp")
def test_a_point_asked_twice_gets_the_same_answer():
    oracle = _oracle(stream(0, "gp", "noise"))
    first = oracle.answer([[0.0, 0.5], [0.3, 0.3], [0.0, 0.5]])
    assert first[0] == first[2]
    assert oracle.asked == 2
    later = oracle.answer([[0.9, 0.9], [-0.0, 0.5]])
    assert later[1] == first[0]
    assert oracle.asked == 3


@pytest.mark.claim("erm-beyond-gp")
def test_noise_has_the_law_of_the_kernel():
    """Whitened residuals of 400 oracles at 25 points, asked in two rounds: chi-square on 1e4 draws.

    False alarm 2e-4 per side with a null and a planted control; kills noise 10 % off and any wrong
    conditional law. The second moment between two fixed points has its own check.
    """
    points = _grid(5)
    exact = PAIR.kernel(points, PAIR.records) @ PAIR.coefficients
    rng = stream(0, "gp-law", "noise")
    draws = []
    for _ in range(400):
        oracle = _oracle(rng, jitter=1e-6)
        second = oracle.answer(points[10:])
        draws.append(np.append(oracle.answer(points[:10]), second) - exact)
    residuals = np.array(draws)
    factor = np.linalg.cholesky(PAIR.kernel(points, points) + 1e-6 * np.eye(25))
    white = np.linalg.solve(factor, residuals.T).ravel()
    sigma = oracle.sigma
    controls = run_controls(
        lambda scale: chi_square_noise_test(scale * white, sigma=sigma).violated()
    )
    assert controls.sound
    product = residuals[:, 7] * residuals[:, 8] / sigma**2
    expected = float(PAIR.kernel(points[7:8], points[8:9])[0, 0])
    assert abs(product.mean() - expected) < 5 * math.sqrt((1 + expected**2) / 400)


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_finite_questions_never_reveal_more_than_the_norm(count):
    """300 random sets of points: at most ||d||/sigma; with the changed record among them, equal."""
    rng = stream(0, "gp-power", "data", count)
    sigma, norm_d = 0.07, PAIR.sensitivity
    for _ in range(75):
        points = rng.uniform(-1, 1, (count, 2))
        gram = PAIR.kernel(points, points)
        power = distinguishing_power(PAIR.difference(points), gram, sigma=sigma, floor=1e-7)
        assert power <= norm_d / sigma * (1 + 1e-9)
    points = np.vstack([rng.uniform(-1, 1, (count - 1, 2)), PAIR.records[-1:]])
    gram = PAIR.kernel(points, points)
    power = distinguishing_power(PAIR.difference(points), gram, sigma=sigma, floor=1e-7)
    assert power == pytest.approx(norm_d / sigma, rel=1e-6)


@pytest.mark.claim("erm-beyond-gp")
def test_distinguishing_power_by_hand():
    assert distinguishing_power([2.0], [[4.0]], sigma=0.5) == pytest.approx(2.0)
    assert distinguishing_power([1.0], [[1.0]], sigma=1.0, floor=1.0) == pytest.approx(
        math.sqrt(0.5)
    )
    rng = stream(0, "gp-hand", "data")
    A, d = rng.normal(size=(4, 4)), rng.normal(size=4)
    K = A @ A.T + np.eye(4)
    expected = math.sqrt(d @ np.linalg.inv(9 * K) @ d)
    assert distinguishing_power(d, K, sigma=3.0) == pytest.approx(expected)


@pytest.mark.claim("erm-beyond-gp")
def test_largest_power_is_the_gaussian_curve():
    rates = np.array([1e-9, 0.01, 0.5, 0.99, 1.0])
    for mu in (0.0, 0.3, 2.0):
        np.testing.assert_allclose(
            largest_power(rates, mu=mu), norm.cdf(norm.ppf(rates) + mu), rtol=1e-12
        )
    assert largest_power(0.0, mu=3.0) == 0.0
    np.testing.assert_allclose(largest_power(rates, mu=0.0), rates, rtol=1e-12)
    # The curve and the profile say the same: delta = max over rates of TPR - e^eps FPR.
    grid = norm.cdf(np.linspace(-6, 6, 200_001))
    best = np.max(largest_power(grid, mu=0.7) - math.exp(0.5) * grid)
    assert best == pytest.approx(gdp_delta(epsilon=0.5, mu=0.7), rel=1e-6)


def _statistics(runs=1000):
    """Likelihood-ratio statistics of neighbours through 12 adaptive questions.

    Of each run the mean given the data, and what the noise of the public object added.
    """
    points = np.vstack([_grid(3), PAIR.records[-1:] + 0.05, PAIR.records[-2:]])
    covariance = PAIR.kernel(points, points) + 1e-8 * np.eye(12)
    direction = np.linalg.solve(covariance, PAIR.difference(points))
    exact = PAIR.kernel(points, PAIR.records)
    middle = exact @ (PAIR.coefficients + PAIR.neighbour) / 2
    sides = []
    for side, coefficients in enumerate((PAIR.coefficients, PAIR.neighbour)):
        rng, mean = stream(0, "gp-audit", "noise", side), exact @ coefficients
        noise = []
        for _ in range(runs):
            oracle = _oracle(rng, coefficients, epsilon=4.0, jitter=1e-8)
            values = np.append(oracle.answer(points[:6]), oracle.answer(points[6:]))
            noise.append((values - mean) @ direction)
        sides.append(((mean - middle) @ direction, np.array(noise)))
    return sides


@pytest.mark.claim("erm-beyond-gp")
def test_audit_of_the_oracle_against_its_curve():
    """Lower bounds at confidence 0.9999 stay below mu = 0.92; half the noise exceeds it.

    1000 runs a side: the limit lies 0.35 below the truth with a standard error of 0.06, so both
    controls decide with false alarm below 1e-4.
    """
    mu = 1 / gaussian_sigma(epsilon=4.0, delta=1e-5)
    sides = _statistics()

    def bound(factor):
        hits = [int(np.sum(mean + factor * noise > 0)) for mean, noise in sides]
        return gaussian_dp_lower_bound(*hits, 1000, confidence=0.9999)

    assert run_controls(lambda factor: bound(factor) > mu).sound
    assert bound(1.0) > 0.4 * mu  # the attack is a good one


def test_the_object_is_the_curators():
    oracle = _oracle(stream(0, "gp", "noise"))
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="GaussianProcessOracle holds the records"):
            leave(oracle)
    public = {name for name in vars(oracle) if not name.startswith("_")}
    assert public == {"delta", "epsilon", "mu", "sensitivity", "sigma"}


def test_a_kernel_that_is_not_semidefinite_is_refused():
    rng = stream(0, "gp", "noise")
    options = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-5, "rng": rng}
    oracle = GaussianProcessOracle(lambda X, Z: -gaussian_kernel(X, Z, width=1.0), [[0.0]], [1.0],
                                   **options)  # fmt: skip
    with pytest.raises(np.linalg.LinAlgError, match="positive semidefinite to within jitter"):
        oracle.answer([[0.5]])

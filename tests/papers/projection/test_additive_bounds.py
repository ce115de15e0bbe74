"""Theorem 1, Lemma 3 and Proposition 3: never violated, attained where said, empty where said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard
from scipy.optimize import brentq
from scipy.stats import chi
from sklearn.linear_model import Ridge

from dplit.entries.privacy import additive_sigma
from dplit.papers.projection.additive_bounds import (
    augmented_problem,
    necessary_epsilon,
    noise_quotient,
    perturbation_bound,
    singular_value_tail,
    smallest_epsilon,
    theorem1_bound,
    worst_perturbation,
)
from dplit.papers.projection.regression import (
    condition_number,
    least_squares,
    relative_error,
    root_snr,
)
from dplit.streams import stream
from dplit_studies.projection.additive_experiments import perturbation_ratios, planted_problem


def _toy(n: int = 2000, d: int = 10, r: float = 3.1):
    return planted_problem(n, d, root_snr=r, rng=stream(0, "test-thm1", "data"))


def _printed(X, y, epsilon, failure):
    """Theorem 1 with its own symbols."""
    values = np.linalg.svd(X, compute_uv=False)
    sigma = 1 / math.sqrt(2 ** (2 * epsilon) - 1)
    kappa, r = values[0] / values[-1], root_snr(X, y)
    Delta = sigma / values[0] * (math.sqrt(len(X)) + math.sqrt(X.shape[1]))
    delta = sigma / values[0] * math.sqrt(2 * math.log(2 / failure))
    assert 2 * math.exp(-((values[0] * delta / sigma) ** 2) / 2) == pytest.approx(failure)
    u = kappa * (Delta + delta)
    return u, (1 + u / (1 - u) * (kappa + r)) ** 2


@pytest.mark.claim("proj-thm1", "proj-beyond-thm1")
@pytest.mark.parametrize("epsilon", [2.5, 4.0, 7.0])
def test_theorem_1_with_the_symbols_of_the_paper(epsilon):
    X, y = _toy()
    u, bound = _printed(X, y, epsilon, 0.05)
    assert noise_quotient(X, epsilon=epsilon, failure=0.05) == pytest.approx(u, rel=1e-9)
    value = theorem1_bound(X, y, epsilon=epsilon, failure=0.05)
    assert value == pytest.approx(bound, rel=1e-9)
    v = noise_quotient(X, epsilon=epsilon, failure=0.05, as_printed=False)
    assert v < u
    improved = theorem1_bound(X, y, epsilon=epsilon, failure=0.05, improved=True)
    expected = 1 + (v / (1 - v) * (1 + root_snr(X, y))) ** 2
    assert improved == pytest.approx(expected, rel=1e-9)
    assert improved < value


@pytest.mark.claim("proj-thm1")
def test_theorem_1_is_silent_from_the_strict_condition_on():
    X, y = _toy()
    assert theorem1_bound(X, y, epsilon=0.5, failure=0.05) == math.inf
    edge = brentq(lambda e: noise_quotient(X, epsilon=e, failure=0.05) - 1, 0.5, 5.0, xtol=1e-14)
    assert theorem1_bound(X, y, epsilon=edge - 1e-9, failure=0.05) == math.inf
    assert 1e6 < theorem1_bound(X, y, epsilon=edge + 1e-9, failure=0.05) < math.inf


@pytest.mark.claim("proj-thm1")
def test_a_design_of_hadamard_columns_attains_the_necessary_budget():
    X = hadamard(64)[:, :9].astype(float)
    floor = necessary_epsilon(n_samples=64, n_features=9)
    assert smallest_epsilon(X) == pytest.approx(floor, rel=1e-12)
    assert floor == pytest.approx(0.5 * math.log2(1 + (1 + 3 / 8) ** 2), rel=1e-12)
    at_floor = noise_quotient(X, epsilon=floor, failure=1.0, as_printed=False)
    assert at_floor == pytest.approx(1.0, rel=1e-12)


@pytest.mark.claim("proj-thm1")
@given(st.integers(0, 10_000))
def test_no_admissible_design_makes_theorem_1_speak_at_half_a_bit(seed):
    rng = stream(seed, "test-vacuity", "data")
    d = int(rng.integers(1, 6))
    shape = (d + int(rng.integers(1, 30)), d)
    X = rng.uniform(0, 1, shape) ** 0.2 * rng.choice([-1, 1], shape)  # near the corners
    assert smallest_epsilon(X) >= necessary_epsilon(n_samples=len(X), n_features=d) - 1e-12
    assert necessary_epsilon(n_samples=len(X), n_features=d) > 0.5
    sigma = additive_sigma(epsilon=smallest_epsilon(X))
    ratio = np.linalg.norm(X, -2) / (np.sqrt(len(X)) + np.sqrt(d))  # least singular value
    assert ratio == pytest.approx(sigma, rel=1e-9)
    assert ratio < 1


@pytest.mark.claim("proj-lemma3")
def test_lemma_3_with_the_symbols_of_the_paper():
    X, y = _toy(n=50, d=3)
    E = 0.02 * stream(0, "test-lemma3", "noise").standard_normal(X.shape)
    Delta = np.linalg.norm(E, 2) / np.linalg.norm(X, 2)
    u = condition_number(X) * Delta
    norms = 1 + u / (1 - u) * (condition_number(X) + root_snr(X, y))
    assert perturbation_bound(X, y, E) == pytest.approx(norms**2, rel=1e-9)
    squares = 1 + (u / (1 - u) * (1 + root_snr(X, y))) ** 2
    assert perturbation_bound(X, y, E, improved=True) == pytest.approx(squares, rel=1e-9)
    exact = np.eye(3)[:, :2]  # a response without residual, and no noise
    assert perturbation_bound(exact, [1.0, 1.0, 0.0], 0.0 * exact) == 1.0


@pytest.mark.claim("proj-lemma3", "proj-beyond-thm1")
def test_no_random_perturbation_violates_either_bound():
    ratios = perturbation_ratios(instances=400, rng=stream(0, "test-ratios", "noise"))
    assert 0.2 < ratios.printed <= 1
    assert 0.2 < ratios.improved <= 1


@pytest.mark.claim("proj-beyond-thm1")
@pytest.mark.parametrize("u", [0.01, 0.5, 0.9])
def test_the_improved_bound_is_attained_as_the_snr_grows(u):
    X, y, E = worst_perturbation(u=u, root_snr=1e4)
    assert np.linalg.norm(E) == pytest.approx(u, rel=1e-12)
    assert root_snr(X, y) == pytest.approx(1e4, rel=1e-9)
    eta = relative_error(least_squares(X + E, y), X, y)
    excess = perturbation_bound(X, y, E, improved=True) - 1
    assert 0.999 * excess < eta - 1 <= excess * (1 + 1e-9)
    assert eta - 1 == pytest.approx((u / (1 - u) * 1e4) ** 2, rel=1e-6)


@pytest.mark.claim("proj-prop3")
def test_the_tail_of_the_largest_singular_value():
    """400 matrices; the mean shift is 2.5 sd, so exceedances are rare; false alarms below 1e-4."""
    rng = stream(0, "test-prop3", "noise")
    values = np.array([np.linalg.norm(rng.standard_normal((60, 15)), 2) for _ in range(400)])
    centre = math.sqrt(60) + math.sqrt(15)
    for t in (0.0, 0.5, 1.0, 2.0):
        share = np.mean(values > centre + t)
        bound = singular_value_tail(t, as_printed=False)
        assert share <= bound + 4.6 * math.sqrt(0.25 / 400)
        assert bound == pytest.approx(math.exp(-(t**2) / 2), rel=1e-12)
        assert singular_value_tail(t) == pytest.approx(2 * bound, rel=1e-12)
    assert np.mean(values) == pytest.approx(centre, rel=0.05)
    informative = math.sqrt(2 * math.log(2))
    assert singular_value_tail(informative) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.claim("proj-prop3")
def test_one_column_has_a_chi_law():
    """Exact for d = 1: the largest singular value is chi with n degrees of freedom."""
    for t in (0.0, 1.0, 3.0):
        exact = chi.sf(math.sqrt(30) + 1 + t, 30)
        assert exact <= singular_value_tail(t, as_printed=False)


@pytest.mark.claim("proj-eq24-25")
def test_noisy_projection_is_a_noiseless_one_of_the_stacked_problem():
    X, y = _toy(n=30, d=3)
    rng = stream(0, "test-eq24", "noise")
    S, N, sigma = rng.standard_normal((8, 30)), rng.standard_normal((8, 3)), 0.7
    stacked, both = augmented_problem(X, y, sigma=sigma), np.hstack([S, N])
    assert both @ stacked.design == pytest.approx(S @ X + sigma * N, abs=1e-12)
    assert both @ stacked.response == pytest.approx(S @ y, abs=1e-12)
    direct = least_squares(S @ X + sigma * N, S @ y)
    assert least_squares(both @ stacked.design, both @ stacked.response) == pytest.approx(direct)


@pytest.mark.claim("proj-eq24-25")
def test_the_stacked_problem_is_ridge_regression():
    X, y = _toy(n=30, d=3)
    stacked = augmented_problem(X, y, sigma=2.0)
    ridge = Ridge(alpha=4.0, fit_intercept=False).fit(X, y).coef_
    assert least_squares(*stacked) == pytest.approx(ridge, rel=1e-9)
    assert stacked.design.shape == (33, 3)
    assert (augmented_problem(X, y, sigma=0.0).design[:30] == X).all()


def test_an_unperturbed_design_has_bound_one():
    X, y = _toy(n=50, d=3)
    assert perturbation_bound(X, y, np.zeros_like(X)) == 1.0
    assert perturbation_bound(X, y, 100 * X) == math.inf
    assert perturbation_bound(X, X @ np.ones(3), 0.01 * X) == math.inf

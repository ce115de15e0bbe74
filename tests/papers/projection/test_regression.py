"""The paper's regression quantities, each against a second route and against bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from dplit.papers.projection.regression import (
    _check_design,
    _singular_values,
    column_energy_floor,
    condition_number,
    least_squares,
    relative_error,
    root_snr,
)
from dplit.streams import stream


def _problem(seed: int = 0, n: int = 40, d: int = 4):
    rng = stream(seed, "test-regression", "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


@pytest.mark.claim("proj-eq1", "proj-eq10")
def test_least_squares_is_the_fit_of_scikit_learn_and_of_a_general_minimiser():
    X, y = _problem()
    theta = least_squares(X, y)
    peer = LinearRegression(fit_intercept=False).fit(X, y).coef_
    assert theta == pytest.approx(peer, rel=1e-10)
    found = minimize(lambda t: np.sum((X @ t - y) ** 2), np.zeros(4), tol=1e-12)
    assert theta == pytest.approx(found.x, abs=1e-6)


@pytest.mark.claim("proj-eq5")
@given(st.integers(0, 10_000))
def test_relative_error_is_the_ratio_of_objectives(seed):
    X, y = _problem(seed)
    theta = stream(seed, "test-regression", "noise").standard_normal(4)
    best = least_squares(X, y)
    ratio = np.sum((X @ theta - y) ** 2) / np.sum((X @ best - y) ** 2)
    assert relative_error(theta, X, y) == pytest.approx(ratio, rel=1e-9)
    assert relative_error(theta, X, y) >= 1


@pytest.mark.claim("proj-eq5")
def test_relative_error_keeps_its_digits_near_one():
    X, y = _problem()
    best = least_squares(X, y)
    step = 1e-9 * np.ones(4)
    expected = np.sum((X @ step) ** 2) / np.sum((X @ best - y) ** 2)
    assert relative_error(best + step, X, y) - 1 == pytest.approx(expected, rel=0.01, abs=3e-16)
    assert relative_error(best, X, y) == 1.0


def test_relative_error_of_several_fits_at_once():
    X, y = _problem()
    thetas = stream(1, "test-regression", "noise").standard_normal((3, 2, 4))
    errors = relative_error(thetas, X, y)
    assert errors.shape == (3, 2)
    assert errors[1, 1] == pytest.approx(relative_error(thetas[1, 1], X, y), rel=1e-12)


def test_a_response_in_the_column_space_has_infinite_relative_error():
    X, _ = _problem()
    y = X @ [1.0, 2.0, -3.0, 0.5]
    assert relative_error(np.zeros(4), X, y) == math.inf
    assert relative_error(least_squares(X, y), X, y) == 1.0
    assert root_snr(X, y) == math.inf
    both = relative_error(np.array([least_squares(X, y), np.ones(4)]), X, y)
    assert both.tolist() == [1.0, math.inf]


@pytest.mark.claim("proj-eq6")
def test_condition_number_is_numpys_and_ignores_scale():
    X, _ = _problem()
    assert condition_number(X) == pytest.approx(np.linalg.cond(X), rel=1e-10)
    assert condition_number(7 * X) == pytest.approx(condition_number(X), rel=1e-10)
    gram = np.linalg.eigvalsh(X.T @ X)
    assert _singular_values(X) ** 2 == pytest.approx(gram[::-1], rel=1e-9)
    hadamard = np.array([[1, 1], [1, -1], [1, 1], [1, -1.0]])
    assert condition_number(hadamard) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.claim("proj-eq7")
def test_root_snr_from_the_angle_between_response_and_column_space():
    X, y = _problem()
    share = LinearRegression(fit_intercept=False).fit(X, y).predict(X) @ y / (y @ y)
    assert root_snr(X, y) == pytest.approx(math.sqrt(share / (1 - share)), rel=1e-9)
    assert root_snr(X, -3 * y) == pytest.approx(root_snr(X, y), rel=1e-9)


@pytest.mark.claim("proj-f")
@given(st.integers(0, 10_000))
def test_column_energy_floor_by_loops(seed):
    X = stream(seed, "test-floor", "data").uniform(-1, 1, (7, 3))
    floors = [sum(v**2 for v in c) - max(v**2 for v in c) for c in X.T]
    assert column_energy_floor(X, squared=True) == pytest.approx(min(floors), rel=1e-12)
    assert column_energy_floor(X) == pytest.approx(math.sqrt(min(floors)), rel=1e-12)
    assert 0 <= column_energy_floor(X) <= math.sqrt(6)


def test_column_energy_floor_of_extreme_tables():
    assert column_energy_floor(np.ones((10, 2)), squared=True) == 9.0
    assert column_energy_floor([[0.5, -0.2]]) == 0.0
    assert column_energy_floor(np.c_[np.ones(5), np.zeros(5)]) == 0.0


def test_a_square_system_is_solved_and_one_constant_column_is_fine():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert least_squares(A, [3.0, 5.0]) == pytest.approx(np.linalg.solve(A, [3.0, 5.0]))
    X = np.c_[np.ones(6), np.arange(6.0)]
    assert _check_design(X, np.arange(6))[1].dtype == np.float64

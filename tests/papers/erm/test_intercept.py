"""The unpenalised intercept: one label turns the fit over, and Theorem 2 does not apply."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dplit.kernels.lipschitz import lipschitz_stability
from dplit.papers.erm.intercept import fit_with_intercept, majority_pair
from dplit.papers.erm.kernels import linear_kernel
from dplit.papers.erm.minimisers import fit_kernel
from dplit.papers.erm.stability import hamming_distance


def _objective(X, y, w, b, lam):
    return np.maximum(1 - y * (X @ w + b), 0).mean() + lam * w @ w


@pytest.mark.claim("erm-beyond-intercept")
@pytest.mark.parametrize("m", [3, 5, 101, 1001])
def test_one_label_moves_the_value_at_0_by_2(m):
    X, y, other = majority_pair(m, radius=0.01)
    assert hamming_distance(y, other) == 1
    assert y.sum() == 1
    assert other.sum() == -1
    one = fit_with_intercept(X, y, regularization=0.1)
    two = fit_with_intercept(X, other, regularization=0.1)
    assert one.intercept == pytest.approx(1.0, abs=0.02)
    assert two.intercept == pytest.approx(-1.0, abs=0.02)


@pytest.mark.claim("erm-beyond-intercept")
def test_without_intercept_the_bound_holds():
    X, y, other = majority_pair(101, radius=0.01)
    K = linear_kernel(X, X)
    values = []
    for labels in (y, other):
        fit = fit_kernel(K, labels, loss="hinge", regularization=0.1, tol=1e-16)
        values.append(float(X[:, 0] @ fit.coefficients))
    bound = lipschitz_stability(lipschitz=1.0, kappa=0.01, regularization=0.1, n_records=101)
    assert abs(values[0] - values[1]) <= bound * (1 + 1e-6)
    assert bound * 0.01 == pytest.approx(0.01**2 / 10.1, rel=1e-12)


@pytest.mark.claim("erm-beyond-intercept")
def test_fit_is_the_minimum_over_function_and_intercept():
    """On a grid of w and b nothing is better; for w = 0 the best b is a linear programme."""
    X, y, _ = majority_pair(21, radius=0.4)
    for lam in (0.1, 0.003):
        fit = fit_with_intercept(X, y, regularization=lam)
        best = _objective(X, y, fit.weights, fit.intercept, lam)
        for w in np.linspace(-3, 3, 61):
            for b in np.linspace(-1.5, 1.5, 61):
                assert best <= _objective(X, y, np.array([w]), b, lam) + 1e-7
    cost = np.r_[0.0, np.ones(21)]
    rows = np.c_[-y, -np.eye(21)]
    limits = [(None, None), *[(0, None)] * 21]
    solution = linprog(cost, A_ub=rows, b_ub=-np.ones(21), bounds=limits)
    assert solution.x[0] == pytest.approx(1.0)

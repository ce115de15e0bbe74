"""All neighbours of a kernel ridge fit from one factorisation, against refitting each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.kernels.lipschitz import least_squares_stability
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.leave_one_out import RidgeNeighbours
from dplit.streams import stream


def _refit(K, y, index, alpha):
    """Coefficients over the pool of the fit of some records, with the same lambda m."""
    c = np.zeros(len(y))
    c[index] = np.linalg.solve(K[np.ix_(index, index)] + alpha * np.eye(len(index)), y[index])
    return c


def _norm(d, K):
    return math.sqrt(max(d @ K @ d, 0.0))


def _pool(m, q, width, seed=0):
    rng = stream(seed, "leave-one-out", "data", m)
    X = rng.uniform(-1, 1, (m + q, 2))
    return gaussian_gram(X, X, width=width), rng.uniform(-1, 1, m + q)


@pytest.mark.claim("erm-ls-CL", "erm-beyond-ls-sensitivity")
@settings(max_examples=40)
@given(
    m=st.integers(1, 9),
    q=st.integers(1, 4),
    exponent=st.floats(-3, 1),
    width=st.floats(0.1, 4),
    seed=st.integers(0, 1000),
)
def test_every_replacement_is_that_of_a_refit(m, q, exponent, width, seed):
    """Tolerance: rounding of the refits, of relative order 1e-16 / lambda^2."""
    K, y = _pool(m, q, width, seed)
    lam = 10.0**exponent
    near = RidgeNeighbours(K[:m, :m], y[:m], regularization=lam)
    table = near.replacement_distances(K[:m, m:], K.diagonal()[m:], y[m:])
    base = _refit(K, y, list(range(m)), lam * m)
    assert table.shape == (m, q)
    assert near.coefficients == pytest.approx(base[:m], rel=1e-8, abs=1e-12)
    for i in range(m):
        for j in range(q):
            index = [m + j if k == i else k for k in range(m)]
            expected = _norm(base - _refit(K, y, index, lam * m), K)
            assert table[i, j] == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.claim("erm-beyond-ls-sensitivity")
def test_worst_replacement_is_the_maximum_over_labels_and_below_the_bound():
    m, q, lam = 20, 30, 0.05
    K, y = _pool(m, q, 0.5)
    near = RidgeNeighbours(K[:m, :m], y[:m], regularization=lam)
    cross, diagonal = K[:m, m:], K.diagonal()[m:]
    worst = near.worst_replacement(cross, diagonal, label_bound=1.0)
    for label in np.linspace(-1, 1, 21):
        table = near.replacement_distances(cross, diagonal, np.full(q, label))
        assert table.max() <= worst.distance * (1 + 1e-12)
    i, j = worst.removed, worst.added
    index = [m + j if k == i else k for k in range(m)]
    labels = y.copy()
    labels[m + j] = worst.label
    base = _refit(K, labels, list(range(m)), lam * m)
    other = _refit(K, labels, index, lam * m)
    assert worst.distance == pytest.approx(_norm(base - other, K), rel=1e-10)
    bound = least_squares_stability(regularization=lam, n_records=m, label_bound=1.0)
    assert 0.2 * bound < worst.distance <= bound


def test_repeated_points_are_welcome():
    x = np.array([0.2, 0.2, 0.2, -0.5])
    K, y = gaussian_gram(x, x, width=0.3), np.array([1.0, -1.0, 0.5, 0.0])
    near = RidgeNeighbours(K[:3, :3], y[:3], regularization=0.01)
    found = near.replacement_distances(K[:3, 3:], [1.0], y[3:])
    for i in range(3):
        index = [3 if k == i else k for k in range(3)]
        expected = _norm(_refit(K, y, [0, 1, 2], 0.03) - _refit(K, y, index, 0.03), K)
        assert found[i, 0] == pytest.approx(expected, rel=1e-9)

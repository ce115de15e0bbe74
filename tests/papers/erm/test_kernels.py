"""Kernels against their definitions, and the check of a Gram matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.kernels._grams import check_gram, gram_rows
from dplit.papers.erm.kernels import gaussian_gram, linear_kernel, trigonometric_features
from dplit.streams import stream


def test_gaussian_kernel_entry_by_entry():
    rng = stream(0, "kernels", "data")
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    K = gaussian_gram(X, Z, width=0.7)
    for i in range(4):
        for j in range(2):
            square = sum((a - b) ** 2 for a, b in zip(X[i], Z[j], strict=True))
            assert K[i, j] == pytest.approx(math.exp(-square / (2 * 0.49)), rel=1e-12)


@pytest.mark.claim("erm-sec5-setup")
def test_trigonometric_features_have_length_one_and_the_stated_kernel():
    x = stream(0, "trigonometric", "data").uniform(-3, 3, 50)
    phi = trigonometric_features(x, n_frequencies=7)
    weights = np.array([1 / k**2 for k in range(1, 8)])
    weights /= weights.sum()
    expected = sum(
        w * np.cos(2 * np.pi * k * (x[:, None] - x)) for k, w in enumerate(weights, start=1)
    )
    assert phi.shape == (50, 14)
    assert phi @ phi.T == pytest.approx(expected, abs=1e-12)
    assert np.linalg.norm(phi, axis=1) == pytest.approx(np.ones(50), abs=1e-14)


def test_trigonometric_features_are_periodic_and_hold_no_constant():
    grid = np.arange(200) / 200
    phi = trigonometric_features(grid)
    assert phi == pytest.approx(trigonometric_features(grid + 5), abs=1e-12)
    assert phi.mean(axis=0) == pytest.approx(np.zeros(80), abs=1e-12)


def test_gram_matrices_are_accepted_even_when_singular():
    x = np.repeat([0.0, 0.3, 0.3, 1.0], 3)
    K = gaussian_gram(x, x, width=0.5)
    assert (check_gram(K) == check_gram(K).T).all()
    assert check_gram(np.zeros((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@given(st.integers(1, 6), st.floats(-8.0, 8.0))
def test_an_eigenvalue_below_zero_is_found(m, exponent):
    """Scaled copies of a matrix with eigenvalue -1e-6 times the largest are refused."""
    vector = np.ones(m + 1) / math.sqrt(m + 1)
    K = np.eye(m + 1) - (1 + 1e-6) * np.outer(vector, vector)
    with pytest.raises(ValueError, match="gram must be positive semidefinite"):
        check_gram(K * 10.0**exponent)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], "gram must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "gram must be positive semidefinite"),
        ([[-1.0]], "gram must be positive semidefinite"),
        ([[1.0, 0.0]], "gram must be a square real matrix"),
        ([1.0], "gram must have 2 axes"),
        (np.zeros((0, 0)), "gram must not be empty"),
        (np.array([[1j]]), "gram must be a square real matrix"),
    ],
)
def test_what_is_no_gram_matrix_is_named(gram, message):
    with pytest.raises(ValueError, match=message):
        check_gram(gram)


def test_rows_of_a_gram_matrix_have_its_inner_products_and_its_rank():
    X = stream(0, "rows", "data").uniform(-1, 1, (120, 2))
    for K, largest in ((linear_kernel(X, X), 2), (gaussian_gram(X, X, width=2.0), 60)):
        rows = gram_rows(K)
        assert rows.shape[1] <= largest
        assert rows @ rows.T == pytest.approx(K, abs=1e-10)
    assert gram_rows(np.zeros((2, 2))).shape == (2, 0)

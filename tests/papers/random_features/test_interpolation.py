"""Interpolation, ridge and Kaczmarz against naive routes, and the errors of bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from benchmarks import bench_interpolation
from dplit.papers.random_features.interpolation import (
    gram_matrix,
    kaczmarz,
    min_norm_fit,
    ridge_fit,
)
from dplit.streams import stream


def _problem(m=30, n=80, *, complex_features=True, name="interpolation"):
    rng = stream(0, name, "data")
    A = rng.standard_normal((m, n))
    if complex_features:
        A = A + 1j * rng.standard_normal((m, n))
    return A, rng.standard_normal(m)


@pytest.mark.parametrize("complex_features", [False, True])
def test_gram_matrix_is_the_hermitian_product(complex_features):
    A, _ = _problem(complex_features=complex_features)
    gram = gram_matrix(A)
    np.testing.assert_allclose(gram, A @ A.conj().T, rtol=1e-13, atol=1e-12)
    assert np.array_equal(gram, gram.conj().T)


@pytest.mark.claim("dprf-eq4")
@pytest.mark.parametrize("complex_features", [False, True])
@pytest.mark.parametrize("method", ["cholesky", "pinv"])
def test_min_norm_fit_interpolates_and_equals_the_pseudo_inverse(method, complex_features):
    A, y = _problem(complex_features=complex_features)
    c = min_norm_fit(A, y, method=method)
    np.testing.assert_allclose(A @ c, y, atol=1e-11)
    np.testing.assert_allclose(c, np.linalg.pinv(A) @ y, atol=1e-12)


def test_duplicates_with_equal_labels_take_the_safe_path():
    A, y = _problem()
    A[7], y[7] = A[3], y[3]
    c = min_norm_fit(A, y)
    np.testing.assert_allclose(c, min_norm_fit(np.delete(A, 7, 0), np.delete(y, 7)), atol=1e-11)
    np.testing.assert_allclose(c, min_norm_fit(A, y, method="pinv"), atol=1e-11)


@pytest.mark.parametrize("method", ["cholesky", "pinv"])
def test_duplicates_with_different_labels_are_named(method):
    A, y = _problem(m=20, n=5000)
    A[7], y[7] = A[3], y[3] + 1.0
    with pytest.raises(ValueError, match="infeasible: rows 3 and 7"):
        min_norm_fit(A, y, method=method)


def test_dependent_rows_with_inconsistent_labels_are_refused():
    A, y = _problem()
    A[5] = A[0] + A[1]
    with pytest.raises(ValueError, match="range of the singular Gram matrix"):
        min_norm_fit(A, y)
    y[5] = y[0] + y[1]
    np.testing.assert_allclose(A @ min_norm_fit(A, y), y, atol=1e-10)


@pytest.mark.claim("dprf-eq5")
@pytest.mark.parametrize("shape", [(30, 80), (80, 30)])
def test_ridge_fit_is_scikit_learns_ridge(shape):
    A, y = _problem(*shape, complex_features=False)
    peer = Ridge(alpha=0.7, fit_intercept=False).fit(A, y)
    np.testing.assert_allclose(ridge_fit(A, y, alpha=0.7), peer.coef_, atol=1e-12)


@pytest.mark.claim("dprf-eq5")
@pytest.mark.parametrize("shape", [(30, 80), (80, 30)])
def test_ridge_fit_of_complex_features_zeroes_the_gradient(shape):
    """The objective of equation (5) with lambda = alpha/m has zero gradient at the fit."""
    A, y = _problem(*shape)
    c = ridge_fit(A, y, alpha=0.7)
    np.testing.assert_allclose(A.conj().T @ (A @ c - y) + 0.7 * c, 0, atol=1e-11)


@pytest.mark.parametrize("complex_features", [False, True])
def test_gram_kaczmarz_gives_the_naive_iterates(complex_features):
    A, y = _problem(complex_features=complex_features)
    rows = stream(0, "kaczmarz", "public").integers(30, size=200)
    c = np.zeros(80, dtype=A.dtype)
    for step, j in enumerate(rows, start=1):
        c += (y[j] - A[j] @ c) / np.vdot(A[j], A[j]) * A[j].conj()
        if step in (1, 30, 200):
            ours = kaczmarz(gram_matrix(A), y, rows[:step]) @ A.conj()
            np.testing.assert_allclose(ours, c, atol=1e-10)


def test_kaczmarz_converges_to_the_min_norm_fit_but_not_in_m_steps():
    """Published settings stop after m steps: early stopping, not interpolation."""
    A, y = bench_interpolation.problem(60, 600)
    rows = stream(0, "kaczmarz", "public").integers(60, size=60 * 60)
    gram, exact = gram_matrix(A), min_norm_fit(A, y)
    early, late = (kaczmarz(gram, y, rows[:steps]) @ A for steps in (60, 3600))
    assert np.linalg.norm(A @ early - y) > 0.3 * np.linalg.norm(y)
    assert np.linalg.norm(A @ late - y) < 1e-8 * np.linalg.norm(y)
    np.testing.assert_allclose(late, exact, atol=1e-8)


def test_benchmark_solvers_agree_and_rows_are_complete():
    rows = bench_interpolation.run(20, 60)
    assert [row["target"] for row in rows] == [8.0, 3.0]
    assert {"name", "ours", "peer", "ours_seconds", "ratio", "ratio_min", "ratio_max"} < set(
        rows[0]
    )
    times = bench_interpolation.table1_times((60, 200), n_records=20, repeats=1)
    error = {(t["n_components"], t["method"]): t["error"] for t in times}
    for n in (60, 200):
        assert error[n, "pinv"] < 1e-12
        assert error[n, "lstsq"] < 1e-12
        assert error[n, "kaczmarz m"] == pytest.approx(error[n, "gram kaczmarz m"], rel=1e-9)
        assert error[n, "kaczmarz 50m"] < 0.05 < error[n, "kaczmarz m"]

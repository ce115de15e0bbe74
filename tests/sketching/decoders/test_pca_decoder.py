"""Principal components from sketches: risk, gradient, exact recovery, starts, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.decomposition import TruncatedSVD

from dplit.features import orthonormal_blocks, quadratic_features
from dplit.sketching.decoders.low_rank import (
    _spectral_start,
    compressive_pca,
    degrees_of_freedom,
    low_rank_cost,
    low_rank_gradient,
    measure,
    pca_risk,
)
from dplit.streams import stream


def _data(n=400, d=5):
    rng = stream(0, "pca-decoder", "data")
    return (
        rng.standard_normal((n, d)) * [1.5, 1.0, 0.4, 0.2, 0.1] @ orthonormal_blocks(d, d, rng=rng)
    )


def _low_rank(d, k, name="pca-low-rank"):
    rng = stream(0, name, "data")
    factor = rng.standard_normal((d, k)) * np.arange(1, k + 1)
    return factor @ factor.T


@pytest.mark.claim("sketch-def5")
def test_risk_is_the_reconstruction_error_of_a_projector():
    """Against scikit-learn's truncated SVD, which reconstructs through the same projector."""
    X = _data()
    svd = TruncatedSVD(2, algorithm="arpack", random_state=0).fit(X)
    rebuilt = svd.inverse_transform(svd.transform(X))
    expected = ((X - rebuilt) ** 2).sum(axis=1).mean()
    assert pca_risk(X, svd.components_.T) == pytest.approx(expected, rel=1e-10)
    assert pca_risk(X, np.zeros((5, 2))) == pytest.approx((X**2).sum(axis=1).mean(), rel=1e-12)


@pytest.mark.claim("sketch-def5")
def test_least_risk_over_all_matrices_is_that_of_a_projector():
    X = _data()
    tail = np.linalg.eigvalsh(X.T @ X / len(X))[:3].sum()
    start = stream(0, "pca-free", "public").standard_normal(10)
    found = minimize(lambda w: pca_risk(X, w.reshape(5, 2)), start, tol=1e-9)
    W = found.x.reshape(5, 2)
    assert found.fun == pytest.approx(tail, rel=1e-6)
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-4)


@pytest.mark.claim("sketch-eq5")
def test_measurements_of_second_moments_are_mean_features():
    X = _data()
    omega = stream(0, "pca-measure", "public").standard_normal((5, 9))
    expected = quadratic_features(X, omega).mean(axis=0)
    np.testing.assert_allclose(measure(X.T @ X / len(X), omega), expected, rtol=1e-12)


@pytest.mark.claim("sketch-eq5")
def test_cost_is_the_squared_distance_of_measurements_and_has_its_gradient():
    rng = stream(0, "pca-cost", "public")
    omega, U, z = rng.standard_normal((5, 9)), rng.standard_normal((5, 2)), rng.standard_normal(9)
    expected = ((quadratic_features(U.T, omega).sum(axis=0) - z) ** 2).sum()
    assert low_rank_cost(U, omega, z) == pytest.approx(expected, rel=1e-12)
    error = check_grad(
        lambda flat: low_rank_cost(flat.reshape(5, 2), omega, z),
        lambda flat: low_rank_gradient(flat.reshape(5, 2), omega, z).ravel(),
        U.ravel(),
    )
    assert error < 1e-4 * np.linalg.norm(low_rank_gradient(U, omega, z))


@pytest.mark.claim("sketch-eq5")
@pytest.mark.parametrize("kind", ["gaussian", "orthonormal"])
@pytest.mark.parametrize("m", [100, 200])
def test_exact_matrices_of_low_rank_are_recovered(kind, m):
    d, k = 20, 3
    C = _low_rank(d, k)
    rng = stream(0, "pca-recovery", "public")
    blocks = orthonormal_blocks(d, m, rng=rng)
    omega = blocks if kind == "orthonormal" else rng.standard_normal((d, m)) / np.sqrt(d)
    fit = compressive_pca(measure(C, omega), omega, k, rng=rng)
    assert np.linalg.norm(fit.matrix - C) < 1e-5 * np.linalg.norm(C)
    values, vectors = np.linalg.eigh(C)
    np.testing.assert_allclose(fit.eigenvalues, values[::-1][:k], rtol=1e-5)
    overlap = np.abs(np.sum(fit.components * vectors[:, ::-1][:, :k], axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-6)
    assert fit.cost == min(fit.start_costs)
    assert len(fit.start_costs) == 2


def test_cost_of_the_fit_is_its_cost():
    C = _low_rank(6, 4, "pca-misfit")
    rng = stream(0, "pca-misfit", "public")
    omega = rng.standard_normal((6, 40))
    z = measure(C, omega)
    fit = compressive_pca(z, omega, 2, rng=rng)
    assert fit.cost == pytest.approx(((measure(fit.matrix, omega) - z) ** 2).sum(), rel=1e-9)
    gradient = low_rank_gradient(fit.components * np.sqrt(fit.eigenvalues), omega, z)
    assert np.linalg.norm(gradient) < 1e-4 * np.linalg.norm(z) ** 2


def test_spectral_start_points_to_the_leading_direction():
    """Overlap 0.96 and more at m = 2000, d = 8; a random direction has 0.33."""
    rng = stream(0, "pca-spectral", "public")
    omega = rng.standard_normal((8, 2000)) / np.sqrt(8)
    x = np.arange(1.0, 9.0) / np.linalg.norm(np.arange(1.0, 9.0))
    U = _spectral_start(measure(np.outer(x, x), omega), omega, 1)
    assert abs(U[:, 0] @ x) / np.linalg.norm(U) > 0.95


@pytest.mark.parametrize("z", [np.zeros(40), -np.ones(40), np.r_[1.0, -np.ones(39)]])
def test_sketches_that_no_matrix_explains_give_a_finite_fit(z):
    rng = stream(0, "pca-odd", "public")
    omega = rng.standard_normal((5, 40))
    fit = compressive_pca(z, omega, 2, rng=rng)
    assert np.isfinite(fit.matrix).all()
    assert fit.cost <= z @ z * (1 + 1e-9) + 1e-12


def test_degrees_of_freedom():
    assert degrees_of_freedom(5, 5) == 15
    assert degrees_of_freedom(5, 1) == 5

"""Values and gradients of the batch against complex arithmetic, one problem at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, nnls

from dplit.sketching.decoders import _dirac as _dirac_batch
from dplit.sketching.decoders._dirac import (
    DiracBatch,
    Pool,
    add_atoms,
    adjust,
    cosine_and_sine,
    drop_lightest,
    nonnegative_weights,
)

P, G, D, M, K = 5, 2, 3, 40, 4


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    omega = rng.normal(size=(G, D, M))
    group = np.array([0, 0, 0, 1, 1])
    z = rng.normal(size=(P, M)) + 1j * rng.normal(size=(P, M))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    batch = DiracBatch(z.real.copy(), z.imag.copy(), omega, group)
    return batch, z, omega[group], rng.normal(size=(P, K, D)), rng.uniform(0, 0.3, (P, K))


def _atoms(points, omega):
    return np.exp(1j * points @ omega) / np.sqrt(M)


def _misfit(z, omega, points, weights):
    return np.linalg.norm(z - weights @ _atoms(points, omega)) ** 2


@pytest.mark.parametrize("pairs", [1, 200, 1 << 16])
def test_misfit_and_gradients(problem, monkeypatch, pairs):
    """Against finite differences, for every split into blocks and for a part of the problems.

    Kills a wrong factor or sign of either gradient and frequencies of another group.
    """
    monkeypatch.setattr(_dirac_batch, "_PAIRS", pairs)
    batch, z, omega, points, weights = problem
    for index in (np.arange(P), np.array([1, 2, 4])):
        value, slope, weight_slope = batch.misfit(points[index], weights[index], index)
        for row, p in enumerate(index):
            assert value[row] == pytest.approx(
                _misfit(z[p], omega[p], points[p], weights[p]), rel=1e-12
            )
            packed = np.concatenate([points[p].ravel(), weights[p]])

            def f(x, p=p):
                return _misfit(z[p], omega[p], x[: K * D].reshape(K, D), x[K * D :])

            numeric = approx_fprime(packed, f, 1e-7)
            ours = np.concatenate([slope[row].ravel(), weight_slope[row]])
            np.testing.assert_allclose(ours, numeric, atol=5e-6)


def test_correlation_and_gradient(problem):
    """Kills a wrong sign of the sine and a missing 1/sqrt(m)."""
    batch, z, omega, points, _ = problem
    index = np.array([0, 1, 1, 3, 4, 4])
    value, slope = batch.correlation(points[index, 0], z[index].real, z[index].imag, index)
    for row, p in enumerate(index):

        def f(c, p=p):
            return np.real(np.vdot(_atoms(c, omega[p]), z[p]))

        assert value[row] == pytest.approx(f(points[p, 0]), rel=1e-12)
        np.testing.assert_allclose(slope[row], approx_fprime(points[p, 0], f, 1e-7), atol=1e-6)


def test_residuals_and_normal_equations(problem):
    batch, z, omega, points, weights = problem
    every = np.arange(P)
    real, imaginary = batch.residual(points, weights, every)
    gram, product = batch.normal_equations(points, every)
    for p in range(P):
        atoms = _atoms(points[p], omega[p])
        np.testing.assert_allclose(real[p] + 1j * imaginary[p], z[p] - weights[p] @ atoms)
        np.testing.assert_allclose(gram[p], np.real(atoms @ atoms.conj().T), atol=1e-12)
        np.testing.assert_allclose(product[p], np.real(atoms.conj() @ z[p]), atol=1e-12)
    empty = batch.residual(points[:, :0], weights[:, :0], every)
    np.testing.assert_array_equal(empty[0], z.real)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 2e-7), (np.float64, 1e-15)])
def test_cosine_and_sine_are_exact_to_rounding(dtype, atol):
    angles = np.linspace(-20, 20, 10_001).astype(dtype)
    cosine, sine = cosine_and_sine(angles.copy())
    assert cosine.dtype == sine.dtype == dtype
    np.testing.assert_allclose(cosine, np.cos(angles.astype(float)), atol=atol * 4, rtol=0)
    np.testing.assert_allclose(sine, np.sin(angles.astype(float)), atol=atol * 4, rtol=0)


def test_nonnegative_weights_are_those_of_scipy():
    """200 random problems, about half of them with active bounds. Kills clipping alone."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(200, 12, 5))
    b = rng.normal(size=(200, 12))
    ours = nonnegative_weights(
        np.einsum("pij,pik->pjk", A, A), np.einsum("pij,pi->pj", A, b), sweeps=2000
    )
    theirs = np.array([nnls(*pair)[0] for pair in zip(A, b, strict=True)])
    assert np.mean((theirs == 0).any(axis=1)) > 0.5
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_lightest_of_too_many_is_dropped(problem):
    batch, z, omega, points, _ = problem
    kept, weights = drop_lightest(batch, points, K - 1)
    for p in range(P):
        atoms = _atoms(points[p], omega[p])
        stacked = np.concatenate([atoms.real, atoms.imag], axis=1).T
        target = np.concatenate([z[p].real, z[p].imag])
        order = np.delete(np.arange(K), np.argmin(nnls(stacked, target)[0]))
        np.testing.assert_array_equal(kept[p], points[p, order])
        np.testing.assert_allclose(weights[p], nnls(stacked[:, order], target)[0], atol=1e-6)
    same, _ = drop_lightest(batch, points, K)
    assert same is points


def test_a_new_atom_explains_the_residual(problem):
    """The atom found is a local maximum that beats all candidates. Kills a missing residual."""
    batch, z, omega, points, weights = problem
    rng = np.random.default_rng(2)
    box = (np.full(D, -2.0), np.full(D, 2.0))
    pool = Pool(batch, box, 50, rng)
    settings = {"share": 1.0, "count": 5, "max_iter": 100, "rng": rng}
    grown = add_atoms(batch, points, weights, pool, **settings)
    np.testing.assert_array_equal(grown[:, :K], points)
    for p in range(P):
        residual = z[p] - weights[p] @ _atoms(points[p], omega[p])
        score = np.real(_atoms(pool.points[batch.group[p]], omega[p]).conj() @ residual)
        found = np.real(np.vdot(_atoms(grown[p, K], omega[p]), residual))
        assert found > score.max() * (1 - 1e-9)
        assert np.all(np.abs(grown[p, K]) <= 2.0)


def test_a_large_pool_is_not_stored_and_scores_alike(problem, monkeypatch):
    batch, z, *_ = problem
    box = (np.full(D, -2.0), np.full(D, 2.0))
    stored = Pool(batch, box, 20, np.random.default_rng(3))
    monkeypatch.setattr("dplit.sketching.decoders._dirac._POOL_BYTES", 0)
    computed = Pool(batch, box, 20, np.random.default_rng(3))
    assert computed._waves is None
    np.testing.assert_array_equal(stored.scores(z.real, z.imag), computed.scores(z.real, z.imag))


def test_adjusting_descends_and_keeps_the_box(problem):
    batch, *_, points, weights = problem
    box = (np.full(D, -1.0), np.full(D, 1.0))
    inside = points.clip(-1, 1)
    before = batch.misfit(inside, weights, np.arange(P))[0]
    moved, heavy, value = adjust(batch, inside, weights, box, max_iter=50, tol=1e-9)
    assert np.all(value < before)
    assert np.all(np.abs(moved) <= 1)
    assert np.all(heavy >= 0)
    np.testing.assert_allclose(batch.misfit(moved, heavy, np.arange(P))[0], value)

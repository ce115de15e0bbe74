"""The batched minimiser against SciPy's, on problems with and without active bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, lsq_linear, minimize, rosen, rosen_der

from dplit._solvers.lbfgs import minimise


def _quadratics(count, size, seed):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, 3 * size, size))
    return roots, rng.normal(size=(count, 3 * size))


def _objective(roots, targets):
    def evaluate(x, which):
        gap = np.einsum("aij,aj->ai", roots[which], x) - targets[which]
        slope = 2 * np.einsum("aij,ai->aj", roots[which], gap)
        return np.sum(gap**2, axis=1), slope

    return evaluate


def _minimise(evaluate, start, low, high, inverse, reach=np.inf, **limits):
    steps = {"inverse": np.full(start.shape, inverse), "reach": np.full(start.shape[1], reach)}
    limits = {"max_iter": 1000, "tol": 1e-15} | limits
    return minimise(evaluate, start, (low, high), **steps, **limits)


@pytest.mark.parametrize("reach", [0.05, np.inf])
def test_quadratics_in_a_box(reach):
    """30 problems with active bounds. Kills free coordinates that are frozen and the reverse."""
    roots, targets = _quadratics(30, 6, 0)
    low, high = np.full(6, -0.05), np.full(6, 0.1)
    x, value = _minimise(_objective(roots, targets), np.zeros((30, 6)), low, high, 0.02, reach)
    exact = [lsq_linear(A, b, bounds=(low, high)) for A, b in zip(roots, targets, strict=True)]
    assert sum(np.any(e.active_mask != 0) for e in exact) > 15
    np.testing.assert_allclose(value, [2 * e.cost for e in exact], rtol=1e-6)
    np.testing.assert_allclose(x, [e.x for e in exact], atol=2e-4)


def test_each_problem_ends_by_itself():
    """Problems of very different difficulty: kills histories that are mixed up on removal."""
    roots, targets = _quadratics(12, 5, 1)
    roots *= np.logspace(0, 2, 12)[:, None, None]
    roots[::2, :, 0] *= 30
    free = np.full(5, np.inf)
    _, value = _minimise(_objective(roots, targets), np.zeros((12, 5)), -free, free, 1e-4)
    exact = [np.linalg.lstsq(A, b, rcond=None)[0] for A, b in zip(roots, targets, strict=True)]
    least = [np.sum((A @ e - b) ** 2) for A, b, e in zip(roots, targets, exact, strict=True)]
    np.testing.assert_allclose(value, least, rtol=1e-8)


def test_rosenbrock_as_scipy_solves_it():
    start = np.array([[-1.2, 1.0], [0.0, 2.0], [1.5, -1.0]])

    def evaluate(x, which):
        return np.array([rosen(row) for row in x]), np.array([rosen_der(row) for row in x])

    low, high = np.array([-2.0, -2.0]), np.array([0.8, 2.0])
    x, value = _minimise(evaluate, start, low, high, 1e-3)
    peer = minimize(rosen, [0.0, 0.0], jac=rosen_der, method="L-BFGS-B", bounds=Bounds(low, high))
    np.testing.assert_allclose(x, np.tile(peer.x, (3, 1)), atol=1e-3)
    np.testing.assert_allclose(value, peer.fun, rtol=1e-4)


def test_no_iteration_returns_the_clipped_start():
    roots, targets = _quadratics(2, 3, 2)
    evaluate, start = _objective(roots, targets), np.full((2, 3), 5.0)
    x, value = _minimise(evaluate, start, np.zeros(3), np.ones(3), 1.0, max_iter=0)
    np.testing.assert_array_equal(x, np.ones((2, 3)))
    assert value == pytest.approx(evaluate(x, np.arange(2))[0])


def test_the_value_never_rises():
    """On an objective with many local minima the result is no worse than the start."""
    rng = np.random.default_rng(3)
    start = rng.uniform(-5, 5, (50, 2))

    def evaluate(x, which):
        waves = np.sum(1 - np.cos(5 * x), axis=1)
        return waves + 0.1 * np.sum(x**2, axis=1), 5 * np.sin(5 * x) + 0.2 * x

    before = evaluate(start, None)[0]
    box = np.full(2, 5.0)
    x, value = _minimise(evaluate, start, -box, box, 0.04, reach=0.3, max_iter=100)
    assert np.all(value <= before)
    assert np.max(np.abs(evaluate(x, None)[1])) < 1e-3

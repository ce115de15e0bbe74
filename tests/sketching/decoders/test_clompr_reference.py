"""The plain decoder: gradients against finite differences, recovery, refinement."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dplit.sketching.decoders.clompr import sketch_misfit
from dplit_studies.sketching.clompr_reference import (
    _correlation_and_gradient,
    misfit_and_gradient,
    reference_decode,
    refine_kmeans,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    omega = rng.normal(size=(3, 80))
    points = np.array([[-2.0, 0.0, 1.0], [1.5, 1.0, -1.0], [0.0, -2.0, 0.5]])
    weights = np.array([0.2, 0.5, 0.3])
    return omega, points, weights, weights @ np.exp(1j * points @ omega)


@pytest.mark.claim("sketch-beyond-decoder")
def test_gradients_are_finite_differences(problem):
    """Kills a wrong factor or sign of any of the three gradients."""
    omega, points, weights, z = problem
    rng = np.random.default_rng(1)
    packed = np.concatenate([(points + rng.normal(size=points.shape)).ravel(), weights[::-1]])
    value, gradient = misfit_and_gradient(packed, z, omega, 3)
    moved = packed[:9].reshape(3, 3)
    assert value == pytest.approx(sketch_misfit(z, omega, moved, packed[9:]), rel=1e-12)
    numeric = approx_fprime(packed, lambda x: misfit_and_gradient(x, z, omega, 3)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)
    spot = rng.normal(size=3)
    height, slope = _correlation_and_gradient(spot, z, omega)
    direct = np.real(np.vdot(np.exp(1j * spot @ omega), z)) / np.sqrt(80)
    assert height == pytest.approx(direct, rel=1e-12)
    numeric = approx_fprime(spot, lambda x: _correlation_and_gradient(x, z, omega)[0], 1e-7)
    np.testing.assert_allclose(slope, numeric, atol=1e-5)


def test_refinement_ends_at_the_true_mixture(problem):
    """Kills bounds on the wrong variables and a weight that is not scaled back."""
    omega, points, weights, z = problem
    start = points + 0.2
    found = refine_kmeans(5 * z, omega, start, np.ones(3), bounds=(-3.0, 3.0))
    np.testing.assert_allclose(found.centroids, points, atol=1e-4)
    np.testing.assert_allclose(found.weights, 5 * weights, rtol=1e-4)
    assert float(found.cost) < 1e-7
    boxed = refine_kmeans(z, omega, start, weights, bounds=(-1.2, 1.2))
    assert np.max(np.abs(boxed.centroids)) <= 1.2
    assert np.min(boxed.weights) >= 0


def test_plain_decoder_recovers_points_and_restarts_help(problem):
    omega, points, weights, z = problem
    found = reference_decode(
        z, omega, 3, bounds=(-3, 3), rng=np.random.default_rng(2), n_restarts=3
    )
    order, truth = np.argsort(found.centroids[:, 0]), np.argsort(points[:, 0])
    np.testing.assert_allclose(found.centroids[order], points[truth], atol=1e-3)
    np.testing.assert_allclose(found.weights[order], weights[truth], rtol=1e-3)

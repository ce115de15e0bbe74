"""What any decoder of sketches must satisfy: symmetries, closed forms, and sane output on noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.sketching.decoders.clompr import decode_kmeans, sketch_misfit
from dplit_studies.sketching.mixture_laws import MixtureLaw
from tests.sketching.shared import by_first


def _rng(seed=0):
    return np.random.default_rng(seed)


def _problem(seed=0, n_clusters=3, n_features=3, n_components=150):
    """Far apart unit Gaussians, seen through their exact sketch."""
    law = MixtureLaw(n_clusters, n_features, separation=12.0, frequency_variance=0.15)
    centers = law.draw(1, rng=_rng(seed))[1]
    omega = law.frequencies(n_components, rng=_rng(seed + 1000))
    return law, centers, omega, law.population_sketch(omega, centers)


@pytest.mark.claim("sketch-eq3")
@settings(max_examples=8, deadline=None)
@given(shift=st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_a_shift_of_the_data_shifts_the_centroids(shift):
    """The sketch of X + t is z e^{i Omega^T t}. Kills conjugated atoms and a box that stays."""
    law, _, omega, z = _problem()
    low, high = law.bounds
    moved = z * np.exp(1j * np.array(shift) @ omega)
    options = {"dtype": "float64", "n_restarts": 3}
    one = decode_kmeans(z, omega, 3, bounds=(low, high), rng=_rng(1), **options)
    box = (low + np.array(shift), high + np.array(shift))
    other = decode_kmeans(moved, omega, 3, bounds=box, rng=_rng(1), **options)
    np.testing.assert_allclose(
        by_first(other.centroids), by_first(one.centroids + shift), atol=0.02
    )
    assert other.cost == pytest.approx(one.cost, rel=2e-3, abs=1e-9)


@pytest.mark.claim("sketch-eq3")
@settings(max_examples=6, deadline=None)
@given(factor=st.floats(0.05, 20.0))
def test_units_of_the_data_are_the_units_of_the_centroids(factor):
    """Data times a with frequencies over a: kills iterations that assume a scale."""
    law, _, omega, z = _problem(1)
    low, high = law.bounds
    one = decode_kmeans(z, omega, 3, bounds=(low, high), rng=_rng(2), dtype="float64")
    box = (factor * low, factor * high)
    other = decode_kmeans(z, omega / factor, 3, bounds=box, rng=_rng(2), dtype="float64")
    np.testing.assert_allclose(other.centroids, factor * one.centroids, rtol=1e-3, atol=0.01)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-3)


@pytest.mark.claim("sketch-eq3")
def test_order_of_the_frequencies_does_not_matter():
    law, _, omega, z = _problem(2)
    order = _rng(3).permutation(len(z))
    found = [
        decode_kmeans(a, b, 3, bounds=law.bounds, rng=_rng(4), dtype="float64")
        for a, b in ((z, omega), (z[order], omega[:, order]))
    ]
    np.testing.assert_allclose(
        by_first(found[1].centroids), by_first(found[0].centroids), atol=0.02
    )
    assert found[1].cost == pytest.approx(found[0].cost, rel=1e-3)


@pytest.mark.claim("sketch-eq3")
def test_one_gaussian_in_closed_form():
    """k = 1: the point is the centre and the weight the mean of exp(-|omega|^2/2)."""
    law = MixtureLaw(1, 4, separation=3.0, frequency_variance=0.2)
    center = law.draw(1, rng=_rng(5))[1]
    omega = law.frequencies(300, rng=_rng(6))
    z = law.population_sketch(omega, center)
    found = decode_kmeans(z, omega, 1, bounds=law.bounds, rng=_rng(7))
    np.testing.assert_allclose(found.centroids, center, atol=2e-3)
    weight = np.exp(-0.5 * np.sum(omega**2, axis=0)).mean()
    np.testing.assert_allclose(found.weights, [weight], rtol=1e-4)
    least = np.sum(np.abs(z) ** 2) - 300 * weight**2
    assert found.cost == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3)])
def test_leading_axes_are_those_of_the_sketches(shape):
    law, _, omega, z = _problem(4)
    batch = np.broadcast_to(z, (*shape, len(z)))
    found = decode_kmeans(batch, omega, 3, bounds=law.bounds, rng=_rng(9), n_restarts=1)
    assert found.centroids.shape == (*shape, 3, 3)
    assert found.weights.shape == (*shape, 3)
    assert np.shape(found.cost) == shape
    assert found.centroids.dtype == found.weights.dtype == np.float64


@pytest.mark.parametrize(("n_clusters", "n_features", "m"), [(1, 1, 1), (2, 1, 2), (5, 3, 10)])
def test_smallest_sketches_that_are_allowed(n_clusters, n_features, m):
    """As many numbers as unknowns: nothing is promised but finite output inside the box."""
    rng = _rng(10)
    omega = rng.normal(size=(n_features, m))
    z = rng.normal(size=(6, m)) + 1j * rng.normal(size=(6, m))
    found = decode_kmeans(z, omega, n_clusters, bounds=(-2.0, 2.0), rng=rng)
    assert np.all(np.isfinite(found.centroids))
    assert np.all(np.abs(found.centroids) <= 2.0)
    assert np.all(found.weights >= 0)
    assert np.all(found.cost <= np.sum(np.abs(z) ** 2, axis=1) * (1 + 1e-6))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_pure_noise_of_any_size_gives_a_mixture_no_worse_than_none(scale):
    """Kills overflow in single precision and a cost above that of weight zero."""
    rng = _rng(11)
    omega = rng.normal(size=(4, 60))
    z = scale * (rng.laplace(size=(5, 60)) + 1j * rng.laplace(size=(5, 60)))
    found = decode_kmeans(z, omega, 3, bounds=(-3, 3), rng=rng)
    energy = np.sum(np.abs(z) ** 2, axis=1)
    assert np.all(found.cost < energy)
    for row in range(5):
        direct = sketch_misfit(z[row], omega, found.centroids[row], found.weights[row])
        assert found.cost[row] == pytest.approx(direct, rel=1e-3)


@pytest.mark.claim("sketch-beyond-decoder")
def test_every_problem_of_a_large_batch_is_solved():
    """300 sketches at once, with different weights and noise: all near their own centres.

    Kills problems that share a line search, and rows that are lost when others end. Misses are
    counted on fixed seeds: at most 3.
    """
    rng = _rng(12)
    law = MixtureLaw(2, 2, separation=30.0, frequency_variance=0.2)
    omega = law.frequencies(60, rng=rng)
    centers = np.array([law.draw(1, rng=rng)[1] for _ in range(300)])
    z = np.array([law.population_sketch(omega, c) for c in centers])
    z += 0.01 * rng.normal(size=z.shape)
    found = decode_kmeans(z, omega, 2, bounds=law.bounds, rng=rng)
    gap = np.linalg.norm(found.centroids[:, :, None] - centers[:, None], axis=3).min(axis=1)
    apart = np.linalg.norm(centers[:, 0] - centers[:, 1], axis=1) > 5
    inside = np.abs(centers).max(axis=(1, 2)) < law.bounds[1]
    assert np.sum(apart & inside) > 200
    assert np.sum(gap[apart & inside].max(axis=1) > 0.5) <= 3

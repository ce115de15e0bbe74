"""The batched decoder: recovery, the objective, invariance, agreement with SciPy, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dplit.sketching.decoders import clompr
from dplit.sketching.decoders._quantized import QUANTIZED_FACTOR, dequantized_sketch
from dplit.sketching.decoders.clompr import _effort, decode_kmeans, sketch_misfit
from dplit.sketching.sketches import SketchMap, sketch
from dplit_studies.sketching.clompr_reference import refine_kmeans
from dplit_studies.sketching.mixture_laws import MixtureLaw
from tests.sketching.shared import by_first

LAW = MixtureLaw(4, 8, separation=1.5, frequency_variance=1 / 8)


def _rng(seed=0):
    return np.random.default_rng(seed)


def _diracs(seed=0, n_clusters=3, n_features=4, n_components=120):
    """Points with at least one kernel width between them, weights, frequencies, exact sketch."""
    rng = _rng(seed)
    omega = rng.normal(size=(n_features, n_components))
    points = rng.uniform(-3, 3, (n_clusters, n_features))
    while np.min(cdist(points, points)[np.triu_indices(n_clusters, 1)]) < 2:
        points = rng.uniform(-3, 3, (n_clusters, n_features))
    weights = rng.uniform(0.5, 1.0, n_clusters)
    return points, weights, omega, weights @ np.exp(1j * points @ omega)


@pytest.mark.claim("sketch-eq3")
@pytest.mark.claim("sketch-no-n")
@pytest.mark.parametrize("factor", [1.0, 250.0, 1e6])
def test_weighted_points_are_recovered_from_their_sketch(factor):
    """From a mean, or a sum of unknown length. Kills a wrong scale of points or weights, and a
    search that stops early.
    """
    for seed in range(4):
        points, weights, omega, z = _diracs(seed)
        z *= factor
        found = decode_kmeans(z, omega, 3, bounds=(-3.5, 3.5), rng=_rng(seed), dtype="float64")
        order, truth = np.argsort(found.centroids[:, 0]), np.argsort(points[:, 0])
        np.testing.assert_allclose(found.centroids[order], points[truth], atol=5e-3)
        np.testing.assert_allclose(found.weights[order], factor * weights[truth], rtol=5e-3)
        assert found.cost < 1e-4 * np.sum(np.abs(z) ** 2)


@pytest.mark.claim("sketch-eq3")
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("float64", 1e-10)])
def test_cost_is_the_objective_at_the_returned_mixture(dtype, rtol):
    """Kills a cost of another mixture, in other units, or of a sketch divided by its norm."""
    rng = _rng(1)
    omega = LAW.frequencies(320, rng=rng)
    X, _ = LAW.draw(2000, rng=rng)
    z = 700.0 * sketch(X, SketchMap("fourier", omega)).mean
    found = decode_kmeans(z, omega, 4, bounds=LAW.bounds, rng=rng, dtype=dtype)
    waves = np.exp(1j * found.centroids @ omega)
    direct = np.linalg.norm(z - found.weights @ waves) ** 2
    assert found.cost == pytest.approx(direct, rel=rtol)
    misfit = sketch_misfit(z, omega, found.centroids, found.weights)
    assert misfit == pytest.approx(direct, rel=1e-12)


@pytest.mark.claim("sketch-no-n")
@pytest.mark.parametrize("factor", [2.0, 12_345.0])
def test_centroids_do_not_change_with_the_factor_of_the_sketch(factor):
    """Kills weights that are capped or normalised inside the search."""
    rng = _rng(2)
    omega = LAW.frequencies(200, rng=rng)
    z = sketch(LAW.draw(1000, rng=rng)[0], SketchMap("fourier", omega)).mean
    one, other = (
        decode_kmeans(c * z, omega, 4, bounds=LAW.bounds, rng=_rng(7), dtype="float64")
        for c in (1.0, factor)
    )
    np.testing.assert_allclose(other.centroids, one.centroids, atol=1e-6)
    np.testing.assert_allclose(other.weights, factor * one.weights, rtol=1e-6)
    assert other.cost == pytest.approx(factor**2 * one.cost, rel=1e-6)


@pytest.mark.claim("sketch-no-n")
def test_a_doubled_single_precision_sketch_gives_the_same_bytes():
    """A power of two changes no digit: kills any absolute tolerance of the search."""
    points, _, omega, z = _diracs(5)
    noise = 0.1 * z[::-1]
    one, other = (
        decode_kmeans(c * (z + noise), omega, len(points), bounds=(-4, 4), rng=_rng(3))
        for c in (1.0, 2.0)
    )
    assert np.array_equal(one.centroids, other.centroids)
    np.testing.assert_allclose(other.weights, 2.0 * one.weights, rtol=1e-12)


@pytest.mark.claim("sketch-beyond-decoder")
def test_single_precision_ends_at_a_minimum_of_double_precision():
    """Kills an early end: descending further in double precision gains less than 1e-3."""
    rng = _rng(4)
    omega = LAW.frequencies(320, rng=rng)
    z = sketch(LAW.draw(3000, rng=rng)[0], SketchMap("fourier", omega)).mean
    found = decode_kmeans(z, omega, 4, bounds=LAW.bounds, rng=rng)
    deeper = refine_kmeans(z, omega, found.centroids, found.weights, bounds=LAW.bounds)
    assert float(deeper.cost) <= found.cost * (1 + 1e-6)
    assert found.cost <= float(deeper.cost) * (1 + 1e-3)


def test_groups_of_frequencies_are_decoded_with_their_own():
    """Kills rows that are matched to the frequencies of another group."""
    problems = [_diracs(seed) for seed in (10, 11, 12)]
    z = np.array([[z, 2 * z] for *_, z in problems])
    omega = np.array([omega for _, _, omega, _ in problems])
    found = decode_kmeans(z, omega, 3, bounds=(-3.5, 3.5), rng=_rng(0), n_restarts=3)
    assert found.centroids.shape == (3, 2, 3, 4)
    assert found.weights.shape == (3, 2, 3)
    assert found.cost.shape == (3, 2)
    for row, (points, *_) in enumerate(problems):
        for column in range(2):
            centroids = by_first(found.centroids[row, column])
            np.testing.assert_allclose(centroids, by_first(points), atol=5e-3)


def test_restarts_keep_the_smallest_cost(monkeypatch):
    """Kills a choice of the largest cost or of the first run.

    A single run of so little effort fails on most of 40 sketches; the best of eight is far better.
    """
    rng = _rng(5)
    omega = LAW.frequencies(80, rng=rng)
    maps = SketchMap("fourier", omega)
    z = np.array([sketch(LAW.draw(1000, rng=rng)[0], maps).mean for _ in range(40)])
    monkeypatch.setattr(clompr, "_effort", lambda *_: (10, 1))
    costs = [
        decode_kmeans(z, omega, 4, bounds=LAW.bounds, rng=_rng(1), n_restarts=restarts).cost
        for restarts in (1, 8)
    ]
    assert np.mean(costs[1] <= costs[0] * 1.001) > 0.9
    assert np.mean(costs[1]) < 0.9 * np.mean(costs[0])


def test_centroids_stay_in_the_box():
    """Kills a projection that is left out: the points of the data lie outside."""
    points, _, omega, z = _diracs(6)
    low, high = np.full(4, -0.5), np.array([0.5, 0.25, 0.5, 0.75])
    found = decode_kmeans(z, omega, len(points), bounds=(low, high), rng=_rng(0))
    assert np.all(found.centroids >= low)
    assert np.all(found.centroids <= high)
    assert np.any((found.centroids == low) | (found.centroids == high))
    assert np.all(found.weights >= 0)


def test_one_bit_sketches_decode_after_turning_them_back():
    """A large sum of one-bit features gives the centres up to their harmonics.

    Kills a wrong sign of the dither and a factor that is left out (weights would add up to 0.81).
    """
    rng = _rng(7)
    omega = rng.normal(size=(2, 400))
    points = np.array([[-1.5, 0.5], [2.0, 1.0]])
    dither = rng.uniform(0, 2 * np.pi, 400)
    quantized = SketchMap("quantized", omega, dither)
    z = quantized.transform(np.repeat(points, [300, 700], axis=0)).mean(axis=0)
    plain = dequantized_sketch(z, dither)
    found = decode_kmeans(plain, omega, 2, bounds=(-3.0, 3.0), rng=rng)
    order = np.argsort(found.centroids[:, 0])
    np.testing.assert_allclose(found.centroids[order], points, atol=0.1)
    np.testing.assert_allclose(found.weights[order], [0.3, 0.7], atol=0.06)
    assert pytest.approx(0.9003163, rel=1e-6) == QUANTIZED_FACTOR


def test_default_effort_grows_where_numbers_are_few():
    found = [_effort(m, 100) for m in (1000, 200, 10)]
    assert found == [(400, 3), (1000, 12), (2000, 12)]

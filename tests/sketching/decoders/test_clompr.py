"""The batched decoder: recovery, the objective, invariance, agreement with SciPy, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dplit.sketching.decoders import kmeans
from dplit.sketching.decoders.kmeans import (
    _QUANTIZED_FACTOR,
    _dequantized_sketch,
    _effort,
    decode_kmeans,
    sketch_misfit,
    sse,
)
from dplit.sketching.sketches import SketchMap, sketch
from dplit_studies.sketching.data import MixtureLaw
from dplit_studies.sketching.references import reference_decode, refine_kmeans

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


def _sorted(points):
    return points[np.argsort(points[:, 0])]


@pytest.mark.claim("sketch-eq3")
def test_weighted_points_are_recovered_from_their_sketch():
    """Kills a wrong scale of points or weights, and a search that stops early."""
    for seed in range(4):
        points, weights, omega, z = _diracs(seed)
        found = decode_kmeans(z, omega, 3, bounds=(-3.5, 3.5), rng=_rng(seed), dtype="float64")
        order, truth = np.argsort(found.centroids[:, 0]), np.argsort(points[:, 0])
        np.testing.assert_allclose(found.centroids[order], points[truth], atol=5e-3)
        np.testing.assert_allclose(found.weights[order], weights[truth], rtol=5e-3)
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
@pytest.mark.parametrize("n_samples", [1, 250, 10**6])
def test_points_are_found_from_a_sum_of_unknown_length(n_samples):
    """The true points come out, and weights that add up to n. Kills a factor in either."""
    points, weights, omega, z = _diracs(5)
    share = weights / weights.sum()
    total = n_samples * z / weights.sum()
    found = decode_kmeans(total, omega, 3, bounds=(-3.5, 3.5), rng=_rng(4), dtype="float64")
    order, truth = np.argsort(found.centroids[:, 0]), np.argsort(points[:, 0])
    np.testing.assert_allclose(found.centroids[order], points[truth], atol=5e-3)
    np.testing.assert_allclose(found.weights[order], n_samples * share[truth], rtol=5e-3)


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


@pytest.mark.claim("sketch-beyond-decoder", "sketch-eq3")
def test_batch_agrees_with_the_plain_decoder():
    """Cost within 1e-3 and risk within 1e-3 of SciPy's, on six data sets.

    Kills a wrong gradient, a wrong projection on the box and a wrong choice among restarts. The
    seed is fixed to data on which both find the same minimum; elsewhere the batch is often below.
    """
    rng = _rng(6)
    omega = LAW.frequencies(320, rng=rng)
    sets = [LAW.draw(3000, rng=rng)[0] for _ in range(6)]
    z = np.array([sketch(X, SketchMap("fourier", omega)).mean for X in sets])
    batch = decode_kmeans(z, omega, 4, bounds=LAW.bounds, rng=rng, n_restarts=3)
    for X, mean, centroids, cost in zip(sets, z, batch.centroids, batch.cost, strict=True):
        plain = reference_decode(mean, omega, 4, bounds=LAW.bounds, rng=rng, n_restarts=3)
        assert cost == pytest.approx(float(plain.cost), rel=1e-3)
        assert sse(X, centroids) == pytest.approx(sse(X, plain.centroids), rel=1e-3)


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
            centroids = _sorted(found.centroids[row, column])
            np.testing.assert_allclose(centroids, _sorted(points), atol=5e-3)


def test_restarts_keep_the_smallest_cost(monkeypatch):
    """Kills a choice of the largest cost or of the first run.

    A single run of so little effort fails on most of 40 sketches; the best of eight is far better.
    """
    rng = _rng(5)
    omega = LAW.frequencies(80, rng=rng)
    maps = SketchMap("fourier", omega)
    z = np.array([sketch(LAW.draw(1000, rng=rng)[0], maps).mean for _ in range(40)])
    monkeypatch.setattr(kmeans, "_effort", lambda *_: (10, 1))
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
    plain = _dequantized_sketch(z, dither)
    found = decode_kmeans(plain, omega, 2, bounds=(-3.0, 3.0), rng=rng)
    order = np.argsort(found.centroids[:, 0])
    np.testing.assert_allclose(found.centroids[order], points, atol=0.1)
    np.testing.assert_allclose(found.weights[order], [0.3, 0.7], atol=0.06)
    assert pytest.approx(0.9003163, rel=1e-6) == _QUANTIZED_FACTOR


def test_default_effort_grows_where_numbers_are_few():
    found = [_effort(m, 100) for m in (1000, 200, 10)]
    assert found == [(400, 3), (1000, 12), (2000, 12)]


def test_same_seed_gives_the_same_bytes():
    points, _, omega, z = _diracs(8)
    runs = [
        decode_kmeans(z, omega, len(points), bounds=(-4, 4), rng=_rng(9)).centroids.tobytes()
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sketches": np.full(40, np.nan + 0j)}, ValueError, "sketches must be finite"),
        ({"sketches": np.ones((2, 39))}, ValueError, r"sketches must have shape"),
        ({"sketches": np.zeros(40)}, ValueError, "must not be zero"),
        ({"sketches": "z"}, TypeError, "sketches must be numeric"),
        ({"frequencies": np.ones((2, 3, 40))}, ValueError, "sketches must have shape"),
        ({"frequencies": np.ones(40)}, ValueError, "frequencies must be a real"),
        ({"frequencies": 1j * np.ones((3, 40))}, ValueError, "frequencies must be a real"),
        ({"n_clusters": 21}, ValueError, r"n_clusters \(d \+ 1\) <= 2 m.*84 unknowns and 80"),
        ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters must be an integer"),
        ({"bounds": (1.0, 1.0)}, ValueError, "bounds must be increasing"),
        ({"bounds": (0.0, np.ones(2))}, ValueError, "bounds must be numbers or hold"),
        ({"bounds": 3.0}, ValueError, "bounds must be a pair"),
        ({"rng": 0}, TypeError, "rng must be a numpy.random.Generator"),
        ({"n_restarts": 0}, ValueError, "n_restarts must be at least 1"),
        ({"dtype": "float16"}, ValueError, "dtype must be one of"),
    ],
)
def test_bad_input_is_named(change, error, message):
    arguments = {
        "sketches": np.ones(40, complex),
        "frequencies": np.ones((3, 40)),
        "n_clusters": 2,
        "bounds": (-1.0, 1.0),
        "rng": _rng(),
        **change,
    }
    first = [arguments.pop(key) for key in ("sketches", "frequencies", "n_clusters")]
    with pytest.raises(error, match=message):
        decode_kmeans(*first, **arguments)


def test_one_bad_sketch_among_many_stops_all():
    z = np.ones((5, 40), complex)
    z[3, 7] = np.inf
    with pytest.raises(ValueError, match="sketches must be finite"):
        decode_kmeans(z, np.ones((3, 40)), 2, bounds=(-1, 1), rng=_rng())


@pytest.mark.parametrize("dither", [[0.0, 1.0, 2.0], 0.5, np.zeros((3, 2))])
def test_a_dither_of_another_shape_is_named(dither):
    with pytest.raises(ValueError, match="dither must match sketch"):
        _dequantized_sketch([1.0, 1j], dither)

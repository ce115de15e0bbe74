"""Experiments on the decoder: comparisons and transfer between noises, on easy data."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.sketching.decoders.clompr import decode_kmeans, sketch_misfit
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.streams import stream
from dplit_studies.sketching import decoder_checks
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.sketching.noise_experiments import _sketched_data, noisy_sketches

EASY = MixtureLaw(3, 2, separation=20.0, frequency_variance=0.2)


@pytest.mark.claim("sketch-beyond-decoder")
def test_both_decoders_are_measured_on_the_same_sketches():
    """Costs and risks are recomputed. Kills decoders that are swapped and scaled costs."""
    sizes = {"n_samples": 800, "n_components": 60, "n_trials": 4}
    pair = decoder_checks.compare_decoders(EASY, **sizes, seed=0, name="pair", plain_restarts=3)
    np.testing.assert_allclose(pair.cost, pair.plain_cost, rtol=1e-3)
    np.testing.assert_allclose(pair.rsse, pair.plain_rsse, rtol=1e-3)
    assert np.all(np.abs(pair.rsse - 1) < 0.04)
    rng = stream(0, "pair decoder", "public")
    sets = [_sketched_data(EASY, 800, 60, seed=0, name="pair", trial=t) for t in range(4)]
    z, omega = np.array([s.sketch for s in sets]), np.array([s.frequencies for s in sets])
    found = decode_kmeans(z[:, None], omega, 3, bounds=EASY.bounds, rng=rng)
    for t, s in enumerate(sets):
        places, heavy = found.centroids[t, 0], found.weights[t, 0]
        assert pair.cost[t] == pytest.approx(sketch_misfit(z[t], omega[t], places, heavy), rel=1e-3)
        assert pair.rsse[t] == pytest.approx(sse(s.X, places) / s.many, rel=1e-12)


@pytest.mark.claim("sketch-beyond-decoder")
def test_gap_is_one_where_the_search_succeeds_and_more_where_it_cannot(monkeypatch):
    """Kills a ratio upside down and centres of another trial.

    With 60 frequencies the decoder ends at the minimum near the truth; when its candidates are
    taken away it does not.
    """
    sizes = {"n_samples": 800, "sizes": (60,), "n_trials": 3}
    gap = decoder_checks.search_gap(EASY, **sizes, seed=0, name="gap")
    np.testing.assert_allclose(gap.cost_ratio, 1, atol=2e-3)
    np.testing.assert_allclose(gap.rsse, gap.rsse_near_truth, rtol=5e-3)
    assert np.all(np.abs(gap.rsse_near_truth - 1) < 0.04)

    def lost(z, omega, k, *, bounds, rng):
        found = decode_kmeans(z, omega, k, bounds=bounds, rng=rng)
        return type(found)(0 * found.centroids, found.weights, 3 * found.cost)

    monkeypatch.setattr(decoder_checks, "decode_kmeans", lost)
    worse = decoder_checks.search_gap(EASY, **sizes, seed=0, name="gap")
    np.testing.assert_allclose(worse.cost_ratio, 3 * gap.cost_ratio, rtol=1e-6)
    np.testing.assert_allclose(worse.rsse_near_truth, gap.rsse_near_truth)
    assert np.all(worse.rsse > 2)


@pytest.mark.claim("sketch-nsr-proxy")
def test_all_noises_have_the_same_ratio_and_their_risks_are_recomputed(watched):
    """Kills noises of different size, and risks under another name."""
    seen = watched(decoder_checks, "decode_kmeans")
    sizes = {"n_samples": 800, "n_components": 60, "ratio": 0.2, "n_trials": 2}
    risks = decoder_checks.noise_transfer(EASY, **sizes, seed=0, name="moved")
    assert tuple(risks) == decoder_checks._NOISES
    assert len(seen) == 2
    for trial, ((sketches, *_), _, found) in enumerate(seen):
        s = _sketched_data(EASY, 800, 60, seed=0, name="moved", trial=trial)
        gap = np.sum(np.abs(sketches - s.sketch) ** 2, axis=1) / np.sum(np.abs(s.sketch) ** 2)
        np.testing.assert_allclose(gap, 0.2, rtol=1e-9)
        for row, name in enumerate(decoder_checks._NOISES):
            direct = sse(s.X, found.centroids[row]) / s.many
            assert risks[name][trial] == pytest.approx(direct, rel=1e-12)
        centers = EASY.draw(1, rng=stream(0, "moved", "data", trial))[1]
        lost = -EASY.population_sketch(s.frequencies, centers[:1])
        expected = noisy_sketches(s.sketch, lost, [0.2])[0]
        at = decoder_checks._NOISES.index("cluster")
        np.testing.assert_allclose(sketches[at], expected, atol=1e-12)

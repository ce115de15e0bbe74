"""Subsampled sums: by hand, unbiased, computed the cheap way, and with noise of the right size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dplit.features import orthonormal_blocks
from dplit.papers.sketching.masks import _draw_masks, draw_indices, mask_law, mask_support
from dplit.papers.sketching.subsampled_sketch import (
    hybrid_sum,
    noisy_subsampled_sum,
    subsampled_map_sum,
    subsampled_sum,
)
from dplit.sketching.sketches import SketchMap
from dplit.streams import stream
from tests.sketching.shared import drawn_map, every_law


@pytest.mark.claim("sketch-def20")
def test_sum_by_hand():
    features = np.array([[1.0 + 1j, 2.0], [3.0, 4.0j], [5.0, 6.0]])
    masks = np.array([[1, 0], [0, 1], [1, 1]])
    total = subsampled_sum(features, masks, alpha=0.5)
    np.testing.assert_allclose(total, [2 * (6 + 1j), 2 * (6 + 4j)], rtol=1e-15)


@pytest.mark.claim("sketch-def20")
@every_law
def test_the_mean_over_all_masks_is_the_full_sum(law):
    """The exact mean, over the support: no draws."""
    features = stream(0, "test-def20", "data").standard_normal((1, 6))
    masks, probabilities = mask_support(law)
    sums = [subsampled_sum(features, mask[None], alpha=law.alpha) for mask in masks]
    np.testing.assert_allclose(probabilities @ np.array(sums), features[0], rtol=1e-13)


@pytest.mark.claim("sketch-def20")
@pytest.mark.parametrize("kind", ["fourier", "quantized", "quadratic"])
@pytest.mark.parametrize("kept", [1, 4, 12])
def test_computing_only_what_is_kept_changes_nothing(kind, kept):
    """1,300 records: three blocks of rows; records outside of the ball are clipped."""
    chosen = drawn_map(kind)
    X = stream(0, "test-kept", "data").standard_normal((1300, 3))
    indices = draw_indices(mask_law("uniform", 12, n_kept=kept), 1300, rng=stream(0, "t", "noise"))
    masks = np.zeros((1300, 12), dtype=bool)
    np.put_along_axis(masks, indices, True, axis=1)
    slow = subsampled_sum(chosen.transform(X), masks, alpha=kept / 12)
    gap = np.abs(subsampled_map_sum(X, chosen, indices) - slow)
    assert (gap <= 12 / kept * masks.sum(axis=0) * chosen.feature_error).all()


@pytest.mark.claim("sketch-def20")
def test_blocks_of_a_structured_map():
    blocks = SketchMap("quadratic", orthonormal_blocks(3, 12, rng=stream(0, "b", "public")))
    X = stream(0, "test-blocks", "data").uniform(-0.5, 0.5, (50, 3))
    law = mask_law("block", 12, n_kept=3, block=3)
    indices = draw_indices(law, 50, rng=stream(0, "b", "noise"))
    total = subsampled_map_sum(X, blocks, indices)
    whole = 12 / 3 * np.sum(X**2)  # each block is a basis
    assert abs(total.sum() - whole) <= 50 * 12 * blocks.feature_error.max()


@pytest.mark.claim("sketch-def21")
@pytest.mark.claim("sketch-def22")
@pytest.mark.parametrize("complex_valued", [False, True])
@pytest.mark.parametrize(
    ("noise", "law", "power"), [("laplace", stats.laplace, 1), ("gaussian", stats.norm, 2)]
)
def test_noise_is_on_every_real_coordinate(noise, law, power, complex_valued):
    """Kolmogorov-Smirnov on 40,000 coordinates, false alarm 1e-4, and their mean modulus or square
    within 4 standard errors, false alarm 6e-5.

    Kills a scale that is wrong by 2 %, and noise on the real part only.
    """
    m = 40_000
    features = np.zeros((2, m), dtype=complex if complex_valued else float)
    streams = {"mask_rng": stream(0, "a", "noise"), "rng": stream(0, "test-noise", "noise")}
    masked = mask_law("data", m, alpha=0.5)
    release = noisy_subsampled_sum(features, masked, noise=noise, scale=0.7, **streams)
    for part in (release.real, release.imag) if complex_valued else (release,):
        assert stats.kstest(part, law(scale=0.7).cdf).pvalue > 1e-4
        assert abs(np.mean(np.abs(part / 0.7) ** power) - 1) < 4 * math.sqrt(power / m)


@pytest.mark.claim("sketch-def21")
@pytest.mark.claim("sketch-def22")
def test_masks_and_noise_come_from_their_own_streams():
    features = stream(0, "test-streams", "data").standard_normal((30, 8))
    law = mask_law("uniform", 8, n_kept=2)
    masks = _draw_masks(law, 30, rng=stream(3, "m", "noise"))
    clean = subsampled_sum(features, masks, alpha=0.25)
    for noise in ("laplace", "gaussian"):
        rngs = {"mask_rng": stream(3, "m", "noise"), "rng": stream(3, "n", "noise")}
        tiny = noisy_subsampled_sum(features, law, noise=noise, scale=1e-9, **rngs)
        np.testing.assert_allclose(tiny, clean, atol=1e-6)


@pytest.mark.claim("sketch-eq20")
def test_hybrid_sum_by_hand():
    features = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    masks = np.array([[1, 0], [0, 1], [1, 1]])
    total = hybrid_sum(features, masks, [1, 0, 1], [0.5, -0.5], alpha=0.5, beta=0.25)
    np.testing.assert_allclose(total, [4 * (2 * 6 + 0.5), 4 * (2 * 6 - 0.5)], rtol=1e-15)


@pytest.mark.claim("sketch-eq20")
def test_hybrid_sum_is_a_product_of_masks():
    """With Poisson sampling it is Definition 20 with masks g h and rate alpha beta."""
    rng = stream(0, "test-eq20", "noise")
    features = stream(0, "test-eq20", "data").standard_normal((40, 5))
    masks, taken = rng.random((40, 5)) < 0.4, rng.random(40) < 0.3
    both = subsampled_sum(features, masks & taken[:, None], alpha=0.4 * 0.3)
    ours = hybrid_sum(features, masks, taken, np.zeros(5), alpha=0.4, beta=0.3)
    np.testing.assert_allclose(ours, both, rtol=1e-12)

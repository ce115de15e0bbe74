"""Mask laws: the support that is listed, the masks that are drawn, and the rates of both."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.sketching.masks import _draw_masks, draw_indices, mask_law, mask_support
from dplit.streams import stream
from tests.sketching.shared import LAWS, every_law


@pytest.mark.claim("sketch-def20")
@every_law
def test_support_is_complete_and_has_the_rate(law):
    masks, probabilities = mask_support(law)
    assert len(masks) == law.support_size == len({tuple(mask) for mask in masks})
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(probabilities @ masks, law.alpha, rtol=1e-14)


@every_law
def test_draws_follow_the_support(law):
    """Frequencies of all masks within 5 standard errors (64 masks: false alarm below 4e-5).

    Kills a law with another rate by 2 %, and unequal positions.
    """
    draws = 60_000
    masks, probabilities = mask_support(law)
    drawn = _draw_masks(law, draws, rng=stream(0, f"test-masks-{law.scheme}", "noise"))
    assert drawn.shape == (draws, 6)
    codes = drawn @ (1 << np.arange(6))
    counts = np.bincount(codes, minlength=64)[masks @ (1 << np.arange(6))]
    assert counts.sum() == draws  # no mask outside of the support
    error = np.sqrt(probabilities * (1 - probabilities) / draws)
    assert np.all(np.abs(counts / draws - probabilities) < 5 * error)


def test_indices_of_blocks_are_different():
    indices = draw_indices(LAWS[3], 500, rng=stream(0, "test-masks-fixed", "noise"))
    assert np.all(np.diff(np.sort(indices, axis=1), axis=1) > 0)


def test_everything_kept_is_one_mask():
    for law in (mask_law("bernoulli", 4, alpha=1.0), mask_law("uniform", 4, n_kept=4)):
        masks, probabilities = mask_support(law)
        np.testing.assert_array_equal(masks, np.ones((1, 4), dtype=bool))
        assert probabilities.tolist() == [1.0]


def test_no_records_are_no_masks():
    assert _draw_masks(LAWS[2], 0, rng=stream(0, "test", "noise")).shape == (0, 6)

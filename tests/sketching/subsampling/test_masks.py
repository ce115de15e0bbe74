"""Mask laws: the support that is listed, the masks that are drawn, and the rates of both."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.sketching.subsampling.masks import _draw_masks, draw_indices, mask_law, mask_support
from dplit.streams import stream

LAWS = [
    mask_law("bernoulli", 6, alpha=0.3),
    mask_law("data", 6, alpha=0.3),
    mask_law("uniform", 6, n_kept=2),
    mask_law("block", 6, n_kept=4, block=2),
]


@pytest.mark.claim("sketch-def20")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.scheme)
def test_support_is_complete_and_has_the_rate(law):
    masks, probabilities = mask_support(law)
    assert len(masks) == law.support_size == len({tuple(mask) for mask in masks})
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(probabilities @ masks, law.alpha, rtol=1e-14)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.scheme)
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


def test_fixed_numbers_and_blocks():
    uniform, block = LAWS[2], LAWS[3]
    rng = stream(0, "test-masks-fixed", "noise")
    assert np.all(_draw_masks(uniform, 500, rng=rng).sum(axis=1) == 2)
    drawn = _draw_masks(block, 500, rng=rng).reshape(500, 3, 2)
    assert np.all(drawn[..., 0] == drawn[..., 1])
    indices = draw_indices(block, 500, rng=rng)
    assert np.all(np.diff(np.sort(indices, axis=1), axis=1) > 0)  # all different


def test_everything_kept_is_one_mask():
    for law in (mask_law("bernoulli", 4, alpha=1.0), mask_law("uniform", 4, n_kept=4)):
        masks, probabilities = mask_support(law)
        np.testing.assert_array_equal(masks, np.ones((1, 4), dtype=bool))
        assert probabilities.tolist() == [1.0]


def test_no_records_are_no_masks():
    assert _draw_masks(LAWS[2], 0, rng=stream(0, "test", "noise")).shape == (0, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "uniform", "n_kept": 9}, "n_kept must be at most n_components=8"),
        ({"scheme": "uniform", "n_kept": 0}, "n_kept must be at least 1"),
        ({"scheme": "bernoulli", "alpha": 0.0}, r"alpha must be in \(0, 1\]"),
        ({"scheme": "data", "alpha": float("nan")}, "alpha must not be NaN"),
        ({"scheme": "data"}, "alpha must be given for"),
        ({"scheme": "uniform", "alpha": 0.5, "n_kept": 4}, "alpha must be given for"),
        ({"scheme": "uniform"}, "n_kept must be given for"),
        ({"scheme": "block", "n_kept": 4}, "block must be given for"),
        ({"scheme": "block", "n_kept": 4, "block": 3}, "block must divide"),
        ({"scheme": "block", "n_kept": 3, "block": 2}, "block must divide"),
        ({"scheme": "odd", "n_kept": 3}, "scheme must be one of"),
    ],
)
def test_bad_laws_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        mask_law(n_components=8, **arguments)


def test_bad_draws_are_named():
    with pytest.raises(TypeError, match="rng must be"):
        _draw_masks(LAWS[0], 3, rng=0)
    with pytest.raises(ValueError, match="fixed number of ones"):
        draw_indices(LAWS[0], 3, rng=stream(0, "test", "noise"))
    with pytest.raises(ValueError, match="support must have at most"):
        mask_support(mask_law("bernoulli", 30, alpha=0.5))

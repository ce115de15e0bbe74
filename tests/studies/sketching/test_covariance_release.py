"""Noisy second moments: scales, sensitivities, law of the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from dplit_studies.sketching.covariance_release import (
    _leading_components,
    _noisy_covariance,
    covariance_scale,
)

pytestmark = pytest.mark.claim("sketch-beyond-pca")


@pytest.mark.parametrize(("neighboring", "size"), [("add_remove", 1.0), ("replace_one", 2.0)])
def test_scales_by_hand(neighboring, size):
    scale = covariance_scale(7, epsilon=0.5, noise="laplace", neighboring=neighboring)
    assert scale == pytest.approx(size * 4.0 / 0.5, rel=1e-12)
    sigma = covariance_scale(7, epsilon=0.5, delta=1e-6, neighboring=neighboring)
    expected = gaussian_sigma(epsilon=0.5, delta=1e-6, sensitivity=math.sqrt(size))
    assert sigma == pytest.approx(expected, rel=1e-12)
    one = covariance_scale(1, epsilon=0.5, delta=1e-6, neighboring=neighboring)
    assert one == pytest.approx(gaussian_sigma(epsilon=0.5, delta=1e-6), rel=1e-12)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_search_never_exceeds_the_sensitivities_and_attains_them(neighboring):
    """L1 on and above the diagonal and the Frobenius norm; 4,000 pairs and the worst ones."""
    d, rng = 4, stream(0, "covariance-search", "data")
    upper = np.triu_indices(d)
    x, y = rng.standard_normal((2, 4000, d))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 0, 0, 0], [0, 1, 0, 0]]) / 1.0
    signs /= np.linalg.norm(signs, axis=1, keepdims=True)
    x = np.vstack([x, signs[[0, 2]]])
    y = np.vstack([y, signs[[1, 3]]]) * (neighboring == "replace_one")
    gaps = x[:, :, None] * x[:, None] - y[:, :, None] * y[:, None]
    taxi = np.abs(gaps[:, upper[0], upper[1]]).sum(axis=1)
    bound = covariance_scale(d, epsilon=1.0, noise="laplace", neighboring=neighboring)
    assert taxi.max() <= bound * (1 + 1e-12)
    assert taxi.max() >= (1.0 if neighboring == "add_remove" else 0.6) * bound * (1 - 1e-9)
    length = np.sqrt((gaps**2).sum(axis=(1, 2))).max()
    assert length == pytest.approx(1.0 if neighboring == "add_remove" else math.sqrt(2))


@pytest.mark.parametrize(("noise", "delta"), [("gaussian", 1e-5), ("laplace", 0.0)])
def test_law_of_the_noise(noise, delta):
    """Variances on and off the diagonal within 5 standard errors over 3,000 draws (1e-6).

    Kills equal variances of a Gaussian diagonal and rest, and scales that are 8 % off.
    """
    rng = stream(0, "covariance-noise", "noise")
    X = np.array([[0.6, 0.0, 0.8]])
    draws = (
        np.array(
            [
                _noisy_covariance(X, epsilon=1.0, delta=delta, noise=noise, rng=rng).moments
                for _ in range(3000)
            ]
        )
        - X.T @ X
    )
    np.testing.assert_array_equal(draws, draws.transpose(0, 2, 1))
    scale = covariance_scale(3, epsilon=1.0, delta=delta, noise=noise)
    diagonal, rest = draws[:, [0, 1, 2], [0, 1, 2]], draws[:, [0, 0, 1], [1, 2, 2]]
    allowed = 5 * math.sqrt((5 if noise == "laplace" else 2) / 9000)
    factors = (2.0, 2.0) if noise == "laplace" else (1.0, 0.5)
    for part, factor in zip((diagonal, rest), factors, strict=True):
        assert part.var() == pytest.approx(factor * scale**2, rel=allowed)
    assert abs(np.corrcoef(rest[:, 0], rest[:, 1])[0, 1]) < 0.1


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_gamma_noise_is_a_law_of_the_frobenius_norm(neighboring):
    """Norms over 3,000 draws are Gamma(6) in units of the scale, KS at 1e-5.

    Kills off-diagonal entries that count once, and the sensitivity of the other relation.
    """
    rng = stream(0, "covariance-gamma", "noise")
    options = {"epsilon": 0.5, "noise": "gamma", "neighboring": neighboring}
    draws = [_noisy_covariance(np.zeros((1, 3)), rng=rng, **options).moments for _ in range(3000)]
    lengths = np.linalg.norm(draws, axis=(1, 2)) * 0.5
    if neighboring == "replace_one":
        lengths /= math.sqrt(2.0)
    assert kstest(lengths, gamma(6).cdf).pvalue > 1e-5
    parts = np.array(draws)[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] ** 2
    ratio = parts[:, 3:].mean() / parts[:, :3].mean()
    assert ratio == pytest.approx(0.5, rel=0.1)  # five standard errors, 1e-6


def test_rows_are_clipped_and_statement_is_kept():
    options = {"epsilon": 1.0, "delta": 1e-5}
    far, near = (
        _noisy_covariance(X, rng=np.random.default_rng(0), **options)
        for X in ([[3.0, 4.0]], [[0.6, 0.8]])
    )
    np.testing.assert_allclose(far.moments, near.moments, rtol=1e-12)
    assert (far.epsilon, far.delta, far.neighboring) == (1.0, 1e-5, "add_remove")
    assert far.scale == covariance_scale(2, **options)


def test_leading_components_are_sorted_eigenvectors():
    matrix = np.diag([1.0, 5.0, 3.0])
    np.testing.assert_allclose(np.abs(_leading_components(matrix, 2)), np.eye(3)[:, [1, 2]])

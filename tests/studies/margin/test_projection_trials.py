"""Simulations: exact in law against real projections, and tests that can fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dplit.features import sign_projection
from dplit.streams import stream
from dplit_studies.margin import compressed_networks, projection_trials


@pytest.mark.claim("margin-lemA")
def test_binomial_sums_are_sign_projections_in_law():
    """Kolmogorov-Smirnov, 3000 against 3000 draws, false alarm 1e-4 for both.

    Kills d for d - differing.
    """
    d, k, differing = 48, 6, 12
    rng = stream(0, "sums", "public")
    u = np.full(d, 1 / math.sqrt(d))
    v = np.where(np.arange(d) < differing, -u, u)
    real = np.empty((3000, 2))
    for t in range(3000):
        small = sign_projection(d, k, rng=rng) @ np.column_stack([u, v])
        real[t] = small[:, 0] @ small[:, 1], small[:, 0] @ small[:, 0]
    fast = projection_trials._sign_products(
        n_features=d, n_components=k, differing=differing, n_draws=3000, rng=rng
    )
    assert ks_2samp(real[:, 0], fast[0]).pvalue > 5e-5
    assert ks_2samp(real[:, 1], fast[1]).pvalue > 5e-5


@pytest.mark.claim("margin-lemA")
def test_failures_are_shares_of_the_draws():
    options = {"n_features": 256, "n_components": 50, "differing": 64, "n_draws": 4000}
    seen = projection_trials.sign_failures(
        distortion=0.3, rng=stream(0, "shares", "public"), **options
    )
    products, lengths = projection_trials._sign_products(
        rng=stream(0, "shares", "public"), **options
    )
    assert seen.inner == np.mean(np.abs(products - 0.5) > 0.3)
    assert seen.length == np.mean(np.abs(lengths - 1.0) > 0.3)


@pytest.mark.claim("margin-lemA")
@pytest.mark.parametrize("kind", ["sign", "hadamard"])
def test_product_errors_are_unbiased_with_the_normal_spread(kind):
    """1500 draws at d = 256, k = 32: mean 0 and variance (1 + c^2)/k within 4 standard errors.

    The fast map draws rows without replacement: its variance is smaller by about 1 - k / d, which
    the band of 30 % admits. Kills a missing scale. False alarm 1e-4.
    """
    rng = stream(0, f"products-{kind}", "data")
    u, v = rng.standard_normal((2, 256))
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    errors = projection_trials.product_errors(
        u, v, n_components=32, kind=kind, n_draws=1500, rng=stream(0, kind, "public")
    )
    assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(1500)
    assert 0.7 < errors.var() * 32 / (1 + (u @ v) ** 2) < 1.25


@pytest.mark.claim("margin-lemA")
def test_fast_distortions_by_hand():
    """All rows keep lengths; a single row gives a vector on one axis its full square."""
    rng = stream(0, "distortions", "public")
    assert (
        projection_trials.fast_distortions(np.eye(8), n_components=8, n_draws=3, rng=rng).max()
        < 1e-12
    )
    lone = projection_trials.fast_distortions(np.eye(8), n_components=1, n_draws=3, rng=rng)
    np.testing.assert_allclose(lone, 0.0, atol=1e-12)
    pair = projection_trials.fast_distortions([[1.0, 1.0]], n_components=1, n_draws=20, rng=rng)
    np.testing.assert_allclose(pair, 1.0, atol=1e-12)  # 0 or 2 times the square


@pytest.mark.claim("margin-alg1")
def test_growth_is_d_over_k():
    """100 draws, 4 standard errors, false alarm 1e-4."""
    w = stream(0, "growth", "data").standard_normal(20)
    mean, se = projection_trials.adjoint_growth(
        w, 400, n_draws=100, rng=stream(0, "growth", "public")
    )
    assert abs(mean - 20.0) < 4 * se
    assert se < 0.5


@pytest.mark.claim("margin-thm51")
def test_compression_curve_falls():
    options = {"n_features": 100, "width": 3, "depth": 2, "weight_norm": 2.0, "n_draws": 25}
    rng = stream(0, "curve", "public")
    both = compressed_networks.compression_curve([8, 128], input_only=False, rng=rng, **options)
    assert abs(both.slope + 0.5) < 0.2
    assert np.all(both.high > both.mean)
    assert np.all(both.se > 0)

"""Dimension rules: inverses of the failure bounds, and both against simulated projections."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dplit.features import sign_projection
from dplit.margin import covers as dimensions
from dplit.streams import stream


@pytest.mark.claim("margin-lemA")
@pytest.mark.parametrize(("a", "m", "k"), [(0.2, 10**4, 2329), (0.5, 1000, 390), (0.8, 10**5, 273)])
def test_rule_inverts_the_bound(a, m, k):
    """k dimensions meet the failure probability, one fewer does not."""
    beta = 0.05 / 3
    assert dimensions._jl_dimension(normalized_margin=a, n_samples=m, beta=beta) == k
    options = {"distortion": 0.85 * a, "n_events": dimensions.margin_events(m)}
    assert dimensions.jl_failure(n_components=k, **options) <= beta
    assert dimensions.jl_failure(n_components=k - 1, **options) > beta


@pytest.mark.claim("margin-lemA")
def test_failure_bound_by_hand():
    """k = 100, eta = 0.3: exponent 0.0225 - 0.0045, four events."""
    assert dimensions._jl_exponent(0.3) == pytest.approx(0.018, rel=1e-12)
    value = dimensions.jl_failure(n_components=100, distortion=0.3, n_events=4)
    assert value == pytest.approx(4 * math.exp(-1.8), rel=1e-12)
    assert dimensions.margin_events(7) == 36


@pytest.mark.claim("margin-lemA")
@pytest.mark.parametrize(("k", "eta"), [(50, 0.4), (100, 0.3)])
def test_simulated_failures(k, eta):
    """3000 sign projections; counts within 4 standard errors of 1.35 times the normal
    approximation and far below the bound: false alarm below 1e-4. Kills a scale of k for sqrt(k).
    """
    d, draws = 256, 3000
    rng = stream(0, f"lemA-{k}", "public")
    u = np.full(d, 1 / math.sqrt(d))
    v = np.where(np.arange(d) < 192, u, -u)  # correlation 1/2
    pair = np.column_stack([u, v])
    small = np.array([sign_projection(d, k, rng=rng) @ pair for _ in range(draws)])
    products = np.einsum("tk,tk->t", small[:, :, 0], small[:, :, 1])
    failures = np.mean(np.abs(products - 0.5) > eta)
    normal = 2 * norm.sf(eta * math.sqrt(k / 1.25))  # variance 1.25 of one row's product
    se = math.sqrt(1.35 * normal / draws)
    assert failures <= dimensions.jl_failure(n_components=k, distortion=eta, n_events=4)
    assert normal / 1.35 - 4 * se < failures < 1.35 * normal + 4 * se


@pytest.mark.claim("margin-lemA")
def test_fast_rule_meets_its_bound():
    """At its dimension the two terms of the proof are each beta / 2."""
    eta, d, n, beta = 0.4, 3000, 61, 0.05
    k = dimensions.hadamard_dimension(distortion=eta, n_features=d, n_vectors=n, beta=beta)
    t = 2 * math.log(4 * n * 4096 / beta)
    assert 2 * n * 4096 * math.exp(-t / 2) == pytest.approx(beta / 2, rel=1e-12)
    second = 2 * n * math.exp(-k * eta**2 / (2 * t * (1 + eta / 3)))
    assert 0.995 * beta / 2 < second <= beta / 2
    best = dimensions.hadamard_failure(n_components=k, distortion=eta, n_features=d, n_vectors=n)
    assert best <= beta
    grid = np.linspace(0.5 * t, 1.5 * t, 2001)
    both = 2 * n * 4096 * np.exp(-grid / 2) + 2 * n * np.exp(
        -k * eta**2 / (2 * grid * (1 + eta / 3))
    )
    assert both.min() <= best * (1 + 1e-9) <= 2.0 * both.min()


@pytest.mark.claim("margin-lemA")
def test_fast_rule_by_hand():
    value = dimensions.hadamard_dimension(distortion=0.5, n_features=1024, n_vectors=3, beta=0.1)
    raw = 4 * (1 + 0.5 / 3) * math.log(12 * 1024 / 0.1) * math.log(120) / 0.25
    assert value == math.ceil(raw)
    bound = dimensions.hadamard_failure(
        n_components=900, distortion=0.5, n_features=1024, n_vectors=3
    )
    rate, log_order = 900 * 0.25 / (1 + 0.5 / 3), math.log(1024)
    t = log_order + math.sqrt(log_order**2 + rate)
    assert bound == pytest.approx(2 * 3 * 1024 * math.exp(-t / 2) * 2, rel=1e-9)

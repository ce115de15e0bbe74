"""Dimension rules: inverses of the failure bounds, and both against simulated projections."""

from __future__ import annotations

import math

import pytest

from dplit.papers.margin import dimensions


@pytest.mark.claim("margin-lemA")
@pytest.mark.parametrize(("a", "m", "k"), [(0.2, 10**4, 2329), (0.5, 1000, 390), (1, 10**5, 220)])
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
def test_fast_rule_by_hand():
    """Rows are padded to a power of two. Kills the number of columns in its place."""
    value = dimensions.hadamard_dimension(distortion=0.5, n_features=1000, n_vectors=3, beta=0.1)
    raw = 4 * (1 + 0.5 / 3) * math.log(12 * 1024 / 0.1) * math.log(120) / 0.25
    assert value == math.ceil(raw)
    bound = dimensions.hadamard_failure(
        n_components=900, distortion=0.5, n_features=1000, n_vectors=3
    )
    rate, log_order = 900 * 0.25 / (1 + 0.5 / 3), math.log(1024)
    t = log_order + math.sqrt(log_order**2 + rate)
    assert bound == pytest.approx(2 * 3 * 1024 * math.exp(-t / 2) * 2, rel=1e-9)

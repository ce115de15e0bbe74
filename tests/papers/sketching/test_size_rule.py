"""The rule of Section 6.6: its arithmetic, its constant, and the noise it is about."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.mechanisms import laplace_noise
from dplit.papers.sketching.size_rule import laplace_nsr, least_budget, required_records, size_range
from dplit_studies.sketching.noise_experiments import acceptable_nsr
from dplit_studies.sketching.size_experiments import sum_noise_scale


@pytest.mark.claim("sketch-eq29")
def test_ratio_is_that_of_the_noise():
    """400,000 complex Laplace entries: 5 standard errors are 1.3 % (false alarm below 1e-5).

    Kills the constant 8 replaced by 4 or 1, and a factor 1.05.
    """
    m, n, epsilon, signal = 400_000, 1000, 2.0, 5.0
    b = sum_noise_scale(m, epsilon=epsilon, delta=0.0)
    noise = laplace_noise(m, scale=b / n, rng=np.random.default_rng(0), complex=True)
    energy = np.sum(np.abs(noise) ** 2) / (m / signal)
    assert laplace_nsr(m, budget=n * epsilon, signal=signal) == pytest.approx(energy, rel=0.013)
    assert laplace_nsr(320, budget=1e3, signal=5.0) == pytest.approx(4.096, rel=1e-12)


@pytest.mark.claim("sketch-eq29")
@pytest.mark.parametrize("factor", [1.0, 40.0])
def test_the_largest_size_has_exactly_the_acceptable_ratio(factor):
    """At m = high the ratio factor m^2/(n eps)^2 equals m/(10^3 kd): two routes to (29)."""
    low, high = size_range(4, 8, budget=20_000.0, factor=factor)
    assert low == 64.0
    ratio = laplace_nsr(round(high), budget=20_000.0, signal=factor / 8)
    assert ratio == pytest.approx(acceptable_nsr(round(high), 4, 8), rel=1e-2)
    assert high == pytest.approx(20_000.0**2 / (factor * 1e3 * 32), rel=1e-12)


@pytest.mark.claim("sketch-eq29")
@pytest.mark.parametrize("factor", [1.0, 8.0, 40.0])
def test_least_budget_is_where_the_range_is_one_point(factor):
    budget = least_budget(4, 8, factor=factor)
    low, high = size_range(4, 8, budget=budget, factor=factor)
    assert high == pytest.approx(low, rel=1e-12)
    assert budget == pytest.approx(np.sqrt(2e3 * factor) * 32, rel=1e-12)


@pytest.mark.claim("sketch-eq29")
def test_numbers_printed_in_the_paper():
    assert least_budget(4, 8) / 1e4 == pytest.approx(0.14, abs=0.005)
    assert least_budget(4, 8) / 1e6 == pytest.approx(0.0014, abs=0.00005)
    assert least_budget(4, 8, factor=40.0) == pytest.approx(9050.97, rel=1e-5)


@pytest.mark.claim("sketch-eq29")
def test_required_records_are_both_conditions():
    """From (26) with the acceptable ratio put in; kills either term and the factor's place."""
    for epsilon in (1e-4, 1e-2, 10.0):
        limit = acceptable_nsr(500, 10, 10)
        for factor in (1.0, 40.0):
            terms = 500 / limit, np.sqrt(factor) * 500 / (epsilon * np.sqrt(limit))
            found = required_records(500, 10, 10, epsilon=epsilon, factor=factor)
            assert found == pytest.approx(max(terms), rel=1e-12)

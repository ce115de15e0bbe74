"""Theorem 3.1 with constants: pieces by hand, the Chernoff step by exact binomial tails."""

from __future__ import annotations

import math

import pytest

from dplit.papers.margin import bounds_em

TABLE = [
    (0.2, 10**4, 2329, 12351, 2.4711),
    (0.5, 10**3, 390, 1714, 3.4359),
    (0.5, 10**5, 533, 2342, 0.0469),
    (0.8, 10**4, 237, 932, 0.1872),
]


@pytest.mark.claim("margin-thm31")
@pytest.mark.parametrize(("a", "m", "k", "log_cover", "excess"), TABLE)
def test_terms_at_known_settings(a, m, k, log_cover, excess):
    terms = bounds_em.cover_terms(normalized_margin=a, n_samples=m, epsilon=1.0, beta=0.05)
    assert terms.n_components == k
    assert terms.log_cover == pytest.approx(k * math.log(1 + 40 / a), rel=1e-12)
    assert round(terms.log_cover) == log_cover
    assert terms.log_budget == pytest.approx(terms.log_cover + math.log(60), rel=1e-12)
    assert terms.excess == pytest.approx(excess, abs=6e-5)


@pytest.mark.claim("margin-thm31")
@pytest.mark.parametrize("error", [0.0, 0.1, 0.5])
def test_chernoff_step_solves_its_equation(error):
    R = bounds_em.chernoff_upper(error, rate=0.02)
    assert R - math.sqrt(2 * 0.02 * R) == pytest.approx(error, abs=1e-12)
    assert error + math.sqrt(2 * 0.02 * error) + 0.04 >= R


@pytest.mark.claim("margin-thm31")
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_relative_bound_covers_its_two_steps(epsilon):
    """The closed form is above mechanism tail plus Chernoff, and below 2.2 times that."""
    for error in (0.0, 0.05, 0.3):
        t = 40.0 / 1000
        exact = bounds_em.chernoff_upper(error + 2 * t / epsilon, rate=t)
        bound = bounds_em.relative_bound(error, log_budget=40.0, n_samples=1000, epsilon=epsilon)
        assert exact <= bound <= 2.2 * exact


@pytest.mark.claim("margin-thm31")
def test_relative_bound_by_hand():
    bound = bounds_em.relative_bound(0.2, log_budget=50.0, n_samples=1000, epsilon=0.5)
    assert bound == pytest.approx(0.2 + math.sqrt(0.02) + 0.6, rel=1e-12)
    every = bounds_em.relative_bound(1.0, log_budget=50.0, n_samples=1000, epsilon=1.0)
    assert every == pytest.approx(1.0 + math.sqrt(0.1) + 0.3, rel=1e-12)

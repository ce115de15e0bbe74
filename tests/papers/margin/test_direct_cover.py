"""Closed forms of Appendix G against enumeration and simulation of the prior."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.margin import covers, direct_cover
from dplit.papers.margin.exponential import cover_law, error_counts
from dplit.streams import stream


@pytest.mark.claim("margin-appG")
@pytest.mark.parametrize(
    ("d", "m", "epsilon"), [(2, 10, 1.0), (4, 40, 0.5), (1, 7, 1.0), (4, 4, 1.0)]
)
def test_axis_error_by_enumeration(d, m, epsilon):
    cover = covers.ball_cover(d, radius=1.0, covering_radius=0.5, shifted=True)
    X = np.repeat(np.eye(d), m // d, axis=0)
    counts = error_counts(cover, X, np.ones(m, dtype=int))
    mean = cover_law(counts, epsilon=epsilon) @ counts / m
    value = direct_cover.axis_error(n_features=d, n_samples=m, epsilon=epsilon)
    assert mean == pytest.approx(value, rel=1e-12)


@pytest.mark.claim("margin-appG")
@pytest.mark.parametrize("d", [1, 2, 10])
def test_cap_mass_by_simulation(d):
    """1e5 uniform points of the ball, 4 standard errors, false alarm 1e-4 each."""
    rng = stream(0, f"cap-{d}", "data")
    w = rng.standard_normal((100_000, d))
    w *= rng.random((100_000, 1)) ** (1 / d) / np.linalg.norm(w, axis=1, keepdims=True)
    mass = direct_cover.cap_mass(n_features=d, margin=0.5)
    seen = np.mean(w[:, 0] > 0.5)
    assert abs(seen - mass) < 4 * math.sqrt(mass * (1 - mass) / 100_000)


@pytest.mark.claim("margin-appG")
def test_cap_mass_in_closed_form():
    """d = 1: half the interval beyond; d = 3: a cap (1 - rho)^2 (2 + rho) / 4 of the ball."""
    assert direct_cover.cap_mass(n_features=1, margin=0.5) == pytest.approx(0.25, rel=1e-12)
    three = (1 - 0.5) ** 2 * 2.5 / 4
    assert direct_cover.cap_mass(n_features=3, margin=0.5) == pytest.approx(three, rel=1e-12)
    assert direct_cover.cap_mass(n_features=7, margin=0.0) == pytest.approx(0.5, rel=1e-12)
    assert direct_cover.cap_mass(n_features=1000, margin=0.5) == pytest.approx(7.39e-65, rel=1e-2)


@pytest.mark.claim("margin-appG")
def test_score_failure_by_two_candidates():
    """Prior mass 0.2 against 0.8 is a law on five candidates."""
    law = cover_law([0.0, 9.0, 9.0, 9.0, 9.0], epsilon=0.6)
    value = direct_cover.score_failure(0.2, n_samples=9, epsilon=0.6)
    assert value == pytest.approx(1 - law[0], rel=1e-12)

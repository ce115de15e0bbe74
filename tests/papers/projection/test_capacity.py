"""The capacity of a limited entry: bounds against quadrature, Blahut-Arimoto and exact limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dplit.entries.privacy import additive_sigma
from dplit.papers.projection import capacity
from dplit.papers.projection.capacity import (
    average_power_capacity,
    exact_sigma,
    peak_capacity,
    quantised_channel,
    uniform_input_bound,
)
from dplit.papers.projection.finite_channels import capacity_bracket, channel_information


def _input_law(sigma, tolerance=1e-6):
    """Return the input law whose information is the lower bound."""
    return capacity._solve(sigma, tolerance)[0]


def _information(points, weights, sigma):
    """Information in bits of a symmetric input, by adaptive quadrature of the output entropy."""
    centres = np.concatenate([points, -np.asarray(points)])
    masses = np.concatenate([weights, weights]) / 2

    def surprise(z):
        density = float(masses @ norm.pdf(z, centres, sigma))
        return -density * math.log2(density) if density > 0 else 0.0

    edges = np.linspace(-1 - 10 * sigma, 1 + 10 * sigma, 21)
    total = sum(quad(surprise, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(edges))
    return total - 0.5 * math.log2(2 * math.pi * math.e * sigma**2)


@pytest.mark.claim("proj-lemma1", "proj-beyond-capacity")
@pytest.mark.parametrize("sigma", [0.2, 0.4, 0.6, 1.0, 3.0])
def test_the_lower_bound_is_the_information_of_a_law(sigma):
    law = _input_law(sigma)
    assert law.points.min() >= 0
    assert law.points.max() == pytest.approx(1.0, abs=1e-9)
    assert law.weights.sum() == pytest.approx(1.0)
    lower = peak_capacity(sigma).lower
    assert _information(law.points, law.weights, sigma) == pytest.approx(lower, abs=1e-9)


@pytest.mark.claim("proj-lemma1", "proj-beyond-capacity")
@pytest.mark.parametrize("sigma", [0.26, 0.58, 1.0, 2.6])
def test_blahut_and_arimoto_on_a_fine_grid_agree(sigma):
    grid = capacity_bracket(quantised_channel(sigma), tolerance=3e-4)
    ours = peak_capacity(sigma)
    assert grid.lower <= ours.upper
    assert grid.upper == pytest.approx(ours.upper, abs=6e-4)
    assert ours.upper - ours.lower <= 1e-6 * 1.001


@pytest.mark.claim("proj-lemma1")
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.5, 1.0, 2.0])
def test_the_paper_allows_less_than_its_budget_and_the_bound_is_the_budget(epsilon):
    sigma = additive_sigma(epsilon=epsilon)
    assert average_power_capacity(sigma) == pytest.approx(epsilon, rel=1e-12)
    assert peak_capacity(sigma).upper < epsilon
    assert uniform_input_bound(sigma) < peak_capacity(sigma).lower


@pytest.mark.parametrize("sigma", [1.0, 1.7, 30.0, 1e4])
def test_a_fair_coin_is_optimal_when_the_noise_is_at_least_one(sigma):
    law, bracket = _input_law(sigma), peak_capacity(sigma)
    assert law.points.tolist() == [1.0]
    assert bracket.upper - bracket.lower < 1e-14
    coin = quantised_channel(sigma, inputs=2, outputs=4000)
    assert channel_information([0.5, 0.5], coin) == pytest.approx(bracket.upper, rel=2e-5)


def test_more_points_are_needed_below_smiths_threshold():
    assert len(_input_law(0.62).points) == 1  # 1 / 0.62 = 1.61 < 1.665
    assert len(_input_law(0.58, tolerance=1e-7).points) >= 2  # 1 / 0.58 = 1.72
    assert peak_capacity(0.58).lower > _information([1.0], [1.0], 0.58) + 1e-4


@pytest.mark.claim("proj-beyond-capacity")
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5, 1.0, 1.5, 1.965, 2.685, 3.0])
def test_exact_sigma_meets_the_budget_and_hardly_less_noise_would(epsilon):
    """At 1.965 a point of the input law loses its weight on the way and needs it again."""
    sigma = exact_sigma(epsilon=epsilon)
    assert peak_capacity(sigma).upper <= epsilon
    assert peak_capacity(sigma / 1.00001).lower > epsilon - 1.1e-6
    assert sigma <= additive_sigma(epsilon=epsilon)


@pytest.mark.claim("proj-beyond-capacity")
def test_the_saving_is_never_larger_than_entropy_power_allows():
    floor = 2 / (math.pi * math.e)
    ratios = [(exact_sigma(epsilon=e) / additive_sigma(epsilon=e)) ** 2 for e in (0.1, 1.0, 2.0)]
    assert ratios == sorted(ratios, reverse=True)
    assert min(ratios) > floor
    for epsilon in (0.5, 3.0, 20.0):
        sigma = additive_sigma(epsilon=epsilon) * math.sqrt(floor)
        assert uniform_input_bound(sigma) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.claim("proj-beyond-capacity")
@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_the_uniform_input_does_better_than_its_closed_bound(sigma):
    grid = quantised_channel(sigma, inputs=401)
    uniform = channel_information(np.full(401, 1 / 401), grid)
    assert uniform_input_bound(sigma) < uniform < peak_capacity(sigma).upper
    assert uniform_input_bound(sigma) > 0.7 * uniform


def test_the_quantised_channel_holds_laws_of_the_gaussian():
    channel = quantised_channel(0.5, inputs=3, outputs=6)
    edges = np.linspace(-5.0, 5.0, 7)[1:-1]
    assert channel.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-14)
    assert channel[2, 2] == pytest.approx(norm.cdf(edges[2], 1, 0.5) - norm.cdf(edges[1], 1, 0.5))
    assert (channel == channel[::-1, ::-1]).all() or np.allclose(channel, channel[::-1, ::-1])
    assert channel.min() > 0


def test_tiny_budgets_keep_their_digits():
    sigma = exact_sigma(epsilon=1e-5)
    assert sigma == additive_sigma(epsilon=1e-5)
    assert peak_capacity(sigma).upper == pytest.approx(1e-5, rel=1e-10)

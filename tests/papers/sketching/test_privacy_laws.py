"""Losses of the additive mechanisms: densities, 60 digits, quadrature and enumeration."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dplit import mechanisms
from dplit.papers import composition, definition
from dplit.papers.sketching import privacy

EPSILONS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (1e-5, 1e-6, 1e-8, 1e-10)


@pytest.mark.claim("sketch-thm1")
@given(st.integers(0, 10**6), st.floats(0.05, 20.0))
def test_loss_is_the_log_ratio_of_densities_and_has_its_bound(seed: int, scale: float) -> None:
    """Kills the sign, the moduli for the parts, factors 0.5 and 1.05 of loss and budget."""
    rng = np.random.default_rng(seed)
    f, g = (rng.standard_normal(3) + 1j * rng.standard_normal(3) for _ in range(2))
    points = rng.standard_normal((50, 3)) + 2j * rng.standard_normal((50, 3))

    def log_density(centre: Any) -> Any:
        gap = points - centre
        law = stats.laplace(scale=scale)
        return (law.logpdf(gap.real) + law.logpdf(gap.imag)).sum(axis=1)

    loss = privacy.laplace_loss(points, f, g, scale=scale)
    np.testing.assert_allclose(loss, log_density(f) - log_density(g), rtol=1e-7, atol=1e-9)
    size = np.abs((f - g).real).sum() + np.abs((f - g).imag).sum()
    budget = privacy.laplace_epsilon(sensitivity=size, scale=scale)
    assert budget == pytest.approx(size / scale, rel=1e-14)
    assert np.abs(loss).max() <= budget * (1 + 1e-12)
    ends = privacy.laplace_loss(np.stack([f, g]), f, g, scale=scale)
    np.testing.assert_allclose(ends, [budget, -budget], rtol=1e-12)


@pytest.mark.claim("sketch-lem4")
def test_sum_and_count_have_the_loss_of_their_budgets_together() -> None:
    """The joint loss at the worst output, by densities; kills the maximum for the sum."""
    step, b, c = np.array([1.0, -0.5]), 3.0, 4.0
    at_sum = privacy.laplace_loss([step], step, np.zeros(2), scale=b)[0]
    at_count = privacy.laplace_loss([[1.0]], [1.0], [0.0], scale=c)[0]
    epsilon = privacy.split_epsilon(sensitivity=1.5, scale=b, count_scale=c)
    assert epsilon == pytest.approx(at_sum + at_count, rel=1e-12)
    ratio = stats.laplace(scale=b).pdf([0.0, 0.0]).prod() * stats.laplace(scale=c).pdf(0.0)
    ratio /= stats.laplace(scale=b).pdf(step).prod() * stats.laplace(scale=c).pdf(1.0)
    assert epsilon == pytest.approx(math.log(ratio), rel=1e-12)


@pytest.mark.claim("sketch-def14")
@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_finite_delta_is_the_maximum_over_all_events(seed: int, epsilon: float) -> None:
    """Kills one direction only, a missing factor, factors 0.5 and 1.05."""
    p, q = np.random.default_rng(seed).dirichlet(np.ones(5), size=2)
    worst = 0.0
    for event in product([0.0, 1.0], repeat=5):
        a, b = np.dot(event, p), np.dot(event, q)
        worst = max(worst, a - math.exp(epsilon) * b, b - math.exp(epsilon) * a)
    assert definition.finite_delta(p, q, epsilon=epsilon) == pytest.approx(worst, abs=1e-12)


@pytest.mark.claim("sketch-def14")
def test_publishing_with_a_probability_costs_that_probability_at_any_epsilon() -> None:
    for epsilon in (0.0, 1.0, 50.0):
        delta = definition.finite_delta([0.2, 0.0, 0.8], [0.0, 0.2, 0.8], epsilon=epsilon)
        assert delta == pytest.approx(0.2, rel=1e-12)


def _exact_delta(epsilon: float, sigma: Any) -> Any:
    mu = 1 / mpmath.mpf(sigma)
    left, right = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mpmath.ncdf(left) - mpmath.exp(epsilon) * mpmath.ncdf(right)


@pytest.mark.claim("sketch-thm2")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_constants_of_theorem_2_against_sixty_digits(epsilon: float) -> None:
    """Every eta and sigma of the table to 1e-12, never below; kills factors 0.5 and 1.05."""
    with mpmath.workdps(60):
        for delta in DELTAS:
            sigma = privacy.analytic_sigma(epsilon=epsilon, delta=delta)
            target = mpmath.mpf(delta)
            root = mpmath.findroot(
                lambda s, t=target: mpmath.log(_exact_delta(mpmath.mpf(epsilon), s) / t),
                (sigma * 0.999, sigma * 1.001),
                solver="anderson",
                tol=1e-40,
            )
            assert 0 <= sigma / root - 1 + mpmath.mpf(4e-16) < 1e-12
            eta = privacy.noise_constant(epsilon=epsilon, delta=delta)
            assert abs(eta / (root * mpmath.sqrt(2 * mpmath.mpf(epsilon))) - 1) < 1e-12


@pytest.mark.claim("sketch-classical")
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 0.999])
def test_classical_formula_is_above_the_exact_noise_below_one(epsilon: float) -> None:
    """Kills ln(1.25 / delta) without its root or its 2, factors 0.5 and 1.05."""
    for delta in DELTAS:
        classical = mechanisms.classical_gaussian_sigma(epsilon=epsilon, delta=delta)
        assert classical == pytest.approx(math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
        assert classical > privacy.analytic_sigma(epsilon=epsilon, delta=delta)


@pytest.mark.claim("sketch-eps0")
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-5, 1e-8])
def test_limit_is_the_noise_whose_total_variation_is_delta(delta: float) -> None:
    """Kills delta for (1 + delta) / 2, factors 0.5 and 1.05."""
    sigma = privacy.sigma_limit(delta=delta, sensitivity=2.0)
    half = 1.0 / sigma
    distance = 2 * stats.norm.cdf(half) - 1 if delta > 1e-4 else math.erf(half / math.sqrt(2))
    assert distance == pytest.approx(delta, rel=1e-9)
    near = privacy.analytic_sigma(epsilon=delta * 1e-6, delta=delta, sensitivity=2.0)
    assert near == pytest.approx(sigma, rel=1e-5)
    if delta < 0.1:
        assert sigma == pytest.approx(2.0 / (math.sqrt(2 * math.pi) * delta), rel=delta**2 + 1e-9)


@pytest.mark.claim("sketch-lem10")
@pytest.mark.parametrize(("step", "left"), [(0.5, 1.0), (0.02, 0.08), (1.5, 0.5)])
def test_composed_delta_is_the_integral_of_the_profile(step: float, left: float) -> None:
    """Quadrature over the count's output; kills a missing atom, factors 0.5 and 1.05."""
    sigma, epsilon = 2.0, step + left

    def profile(e: float) -> float:
        mu = 1.0 / sigma
        return float(
            stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
        )

    b = 1.0 / step
    middle, _ = integrate.quad(
        lambda y: math.exp(-y / b) / (2 * b) * profile(epsilon - (1 - 2 * y) / b),
        0.0,
        1.0,
        epsabs=1e-14,
        epsrel=1e-11,
    )
    expected = 0.5 * profile(epsilon - step) + middle
    expected += 0.5 * math.exp(-step) * profile(epsilon + step)
    value = privacy.split_delta(epsilon=epsilon, sigma=sigma, count_scale=b, sensitivity=1.0)
    assert value == pytest.approx(expected, rel=1e-7)


@pytest.mark.claim("sketch-lem10")
@given(st.floats(0.05, 0.95), st.floats(0.01, 3.0), st.sampled_from(DELTAS))
def test_pair_of_lemma_10_has_at_most_its_delta_and_more_than_zero(
    share: float, epsilon: float, delta: float
) -> None:
    sigma = privacy.analytic_sigma(epsilon=share * epsilon, delta=delta, sensitivity=3.0)
    scale = 1.0 / ((1.0 - share) * epsilon)
    total = privacy.split_delta(
        epsilon=epsilon * (1 + 1e-12), sigma=sigma, count_scale=scale, sensitivity=3.0
    )
    assert 0.0 < total <= delta * (1 + 1e-9)
    assert total >= 0.5 * delta * (1 - 1e-6)


@pytest.mark.claim("sketch-beyond-users")
@pytest.mark.parametrize("g", [1, 2, 5])
def test_a_user_with_g_records_has_g_times_the_loss(g: int) -> None:
    """Laplace: attained by equal records; Gaussian: the bound of group privacy, step by step."""
    feature = np.exp(1j * np.linspace(0.1, 2.0, 7))
    budget = np.abs(feature.real).sum() + np.abs(feature.imag).sum()
    loss = privacy.laplace_loss([g * feature], g * feature, 0 * feature, scale=3.0)[0]
    assert loss == pytest.approx(g * budget / 3.0, rel=1e-12)
    epsilon, delta = composition.group_guarantee(epsilon=0.2, delta=1e-6, size=g)
    steps = [0.0]
    for _ in range(g):
        steps.append(math.exp(0.2) * steps[-1] + 1e-6)
    assert (epsilon, delta) == (pytest.approx(0.2 * g), pytest.approx(steps[-1], rel=1e-12))
    sigma = mechanisms.gaussian_sigma(epsilon=0.2, delta=1e-6)
    spent = mechanisms.gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=g)
    assert 0.9 * delta <= spent <= delta * (1 + 1e-12)

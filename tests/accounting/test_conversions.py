"""zCDP and GDP against moments minimised by force, exact profiles and each other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dplit import mechanisms
from dplit.accounting import conversions
from dplit.accounting.conversions import _log_delta

RHOS = [1e-6, 1e-3, 0.02, 0.5, 5.0, 100.0]
derandomised = settings(derandomize=True, max_examples=100, deadline=None)


def log_delta_of_order(alpha: float, epsilon: float, rho: float) -> float:
    """Canonne, Kamath, Steinke: e^((a-1)(a rho - eps)) / (a-1) (1 - 1/a)^a, in logarithms."""
    moment = (alpha - 1) * (alpha * rho - epsilon)
    return moment - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def minimised_log_delta(epsilon: float, rho: float) -> float:
    """The same, minimised over the order by brute force in log(alpha - 1)."""
    grid = np.linspace(-12, 16, 2000)
    values = [log_delta_of_order(1 + math.exp(u), epsilon, rho) for u in grid]
    best = int(np.argmin(values))
    fine = optimize.minimize_scalar(
        lambda u: log_delta_of_order(1 + math.exp(u), epsilon, rho),
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, 1999)]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(fine.fun)


@pytest.mark.parametrize(("alpha", "epsilon", "rho"), [(1.5, 1.0, 0.1), (9.0, 0.0, 0.5)])
def test_moment_bound_is_the_published_one(alpha: float, epsilon: float, rho: float) -> None:
    expected = log_delta_of_order(alpha, epsilon, rho)
    assert float(_log_delta(rho, epsilon, alpha - 1)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("multiple", [0.5, 1.0, 5.0, 20.0])
def test_zcdp_delta_is_the_minimum_over_all_orders(rho: float, multiple: float) -> None:
    epsilon = multiple * math.sqrt(rho)
    expected = math.exp(min(0.0, minimised_log_delta(epsilon, rho)))
    measured = conversions.zcdp_delta(epsilon=epsilon, rho=rho)
    assert measured == pytest.approx(expected, rel=1e-8)
    assert measured <= expected * (1 + 1e-12)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.1])
def test_zcdp_epsilon_inverts_zcdp_delta_and_beats_the_textbook(rho: float, delta: float) -> None:
    epsilon = conversions.zcdp_epsilon(rho=rho, delta=delta)
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))
    back = conversions.zcdp_delta(epsilon=epsilon, rho=rho)
    if epsilon > 0:
        assert math.log(back) == pytest.approx(math.log(delta), rel=1e-10)
    else:
        assert back <= delta


@given(st.floats(-4.0, 3.0), st.floats(-300.0, -0.1))
@derandomised
def test_zcdp_rho_inverts_zcdp_epsilon(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    rho = conversions.zcdp_rho(epsilon=epsilon, delta=delta)
    assert rho > 0
    assert conversions.zcdp_epsilon(rho=rho, delta=delta) == pytest.approx(epsilon, rel=1e-10)


@given(st.floats(-3.0, 1.0), st.floats(-3.0, 1.5))
@derandomised
def test_for_a_gaussian_the_exact_profile_is_never_worse_than_zcdp(
    log_mu: float, log_epsilon: float
) -> None:
    mu, epsilon = 10**log_mu, 10**log_epsilon
    exact = conversions.gdp_delta(epsilon=epsilon, mu=mu)
    assert exact <= conversions.zcdp_delta(epsilon=epsilon, rho=mu**2 / 2) * (1 + 1e-9)


def test_gdp_functions_are_the_gaussian_profile() -> None:
    expected = mechanisms.gaussian_delta(epsilon=1.0, sigma=6.0, sensitivity=1.5)
    assert conversions.gdp_delta(epsilon=1.0, mu=0.25) == pytest.approx(expected, rel=1e-12)
    epsilon = conversions.gdp_epsilon(delta=expected, mu=0.25)
    assert epsilon == pytest.approx(1.0, rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 10.0])
def test_gdp_budget_meets_the_budget_and_hardly_more_would_not(epsilon: float) -> None:
    mu = conversions.gdp_budget(epsilon=epsilon, delta=1e-6)
    assert conversions.gdp_delta(epsilon=epsilon, mu=mu) <= 1e-6
    assert conversions.gdp_delta(epsilon=epsilon, mu=mu * (1 + 1e-11)) > 1e-6


def test_zcdp_does_not_imply_the_gdp_of_a_gaussian() -> None:
    """Randomised response at eps = 1: rho <= 1/2 at every order, yet beyond 1-GDP."""
    p = math.e / (1 + math.e)
    for order in np.linspace(1.001, 60, 500):
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        assert math.log(moment) / (order - 1) <= 0.5 * order
    advantage = 2 * p - 1
    assert advantage > conversions.gdp_delta(epsilon=0.0, mu=1.0) + 0.07


def test_extreme_arguments_end() -> None:
    assert conversions.zcdp_delta(epsilon=1e300, rho=1e-300) == 5e-324
    for rho in (300.0, 1e6, 1e300):  # the best order is 1 + e^-rho: nothing may overflow to 0
        assert conversions.zcdp_delta(epsilon=0.0, rho=rho) == 1.0
    assert conversions.zcdp_epsilon(rho=1e-12, delta=0.5) == 0.0
    assert conversions.zcdp_epsilon(rho=1e6, delta=1e-9) > 1e6
    assert 0 < conversions.zcdp_rho(epsilon=1e-9, delta=1 - 1e-9) < 1e10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conversions.gdp_delta(epsilon=1.0, mu=0.0), "mu must be positive"),
        (lambda: conversions.gdp_epsilon(delta=2.0, mu=1.0), r"delta must be in \[0, 1\]"),
        (lambda: conversions.gdp_budget(epsilon=1.0, delta=0.0), r"delta must be in \(0, 1\)"),
        (lambda: conversions.zcdp_epsilon(rho=1.0, delta=1.0), r"delta must be in \(0, 1\)"),
        (lambda: conversions.zcdp_rho(epsilon=0.0, delta=0.5), "epsilon must be positive"),
    ],
)
def test_bad_values_name_the_argument_and_the_rule(call: Callable[[], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

"""zCDP and GDP against moments minimised by force, exact profiles and each other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit import mechanisms
from dplit.accounting import conversions

derandomised = settings(derandomize=True, max_examples=100, deadline=None)


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

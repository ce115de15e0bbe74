"""Learning rates: constants, exponents, thresholds, and bounds against exact excess risks."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar

from dplit.papers.erm.approximation import power_exponent
from dplit.papers.erm.decomposition import coin_decomposition
from dplit.papers.erm.rates import (
    balanced_regularization,
    excess_bound,
    printed_bound,
    rate_exponent,
    safe_lipschitz,
    theorem4_schedule,
)
from dplit.papers.erm.scales import noise_scale

BETAS = [0.1, 0.25, 0.5, 0.9, 1.0]


def _at(m, penalty, epsilon, **more):
    return {"n_records": m, "regularization": penalty, "epsilon": epsilon, "lipschitz": 1.0, **more}


def _bound(m, penalty, epsilon, approximation, **more):
    return excess_bound(**_at(m, penalty, epsilon, approximation=approximation, **more))


@pytest.mark.claim("erm-thm4")
@pytest.mark.parametrize("beta", BETAS)
def test_schedule_balances_the_terms(beta):
    for m in (2, 100, 4096):
        epsilon, penalty = theorem4_schedule(m, beta=beta)
        assert epsilon == pytest.approx(m ** -rate_exponent(beta, rate="theorem4"), rel=1e-12)
        assert penalty**beta == pytest.approx(epsilon, rel=1e-12)
        assert 1 / (penalty * m * epsilon) == pytest.approx(epsilon, rel=1e-12)
        assert epsilon < 1


@pytest.mark.claim("erm-thm4")
def test_printed_bound_term_by_term():
    value = printed_bound(
        1000, beta=0.9, lipschitz=5.0, baseline=0.3, c_beta=0.7, kappa=2.0, strong_convexity=1.0
    )
    assert value == pytest.approx((0.6 + 60 + 0.7) * 1000 ** (-0.9 / 2.8), rel=1e-12)


@pytest.mark.claim("erm-thm4")
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("m", [2, 64, 10**4, 10**7])
def test_printed_theorem_holds_up_to_the_safe_constant_and_fails_above_three(beta, m):
    epsilon, penalty = theorem4_schedule(m, beta=beta)
    for lipschitz in (0.5, 1.0, safe_lipschitz(epsilon)):
        stable = _bound(
            m, penalty, epsilon, 1.3 * penalty**beta, lipschitz=lipschitz, as_printed=True
        )
        printed = printed_bound(m, beta=beta, lipschitz=lipschitz, baseline=0.0, c_beta=1.3)
        assert stable <= printed * (1 + 1e-12)
    # C|t - y| with y = 0: the fit is 0, the noise costs C s, nothing else is left
    for lipschitz in (3.01, 5.0):
        s = noise_scale(**_at(m, penalty, epsilon, kappa=1.0, lipschitz=lipschitz, as_printed=True))
        printed = printed_bound(m, beta=beta, lipschitz=lipschitz, baseline=1e-3, c_beta=1e-3)
        assert lipschitz * s > printed


@pytest.mark.claim("erm-thm4", "erm-beyond-stability-rate")
def test_bound_by_stability_term_by_term():
    arguments = _at(50, 0.2, 0.3, lipschitz=2.0, approximation=0.11, kappa=3.0)
    arguments["strong_convexity"] = 1.0
    first = 2 * 9 * 4 / (0.2 * 50)
    assert excess_bound(**arguments) == pytest.approx(first * (1 + 1 / 0.3) + 0.11)
    assert excess_bound(**arguments, as_printed=True) == pytest.approx(
        first * (1 + 0.5 / 0.3) + 0.11
    )
    assert excess_bound(**arguments, width=2.0) == pytest.approx(first * (1 + 0.5 / 0.3) + 0.11)
    price = first / 0.3
    private = excess_bound(**arguments, baseline=0.7)
    assert private == pytest.approx((math.exp(0.3) - 1) * (0.7 + price) + price + 0.11)
    halved = excess_bound(**arguments, baseline=0.7, as_printed=True)
    assert halved == pytest.approx((math.exp(0.6) - 1) * (0.7 + price / 2) + price / 2 + 0.11)


@pytest.mark.claim("erm-beyond-stability-rate")
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_bounds_cover_exact_excess_risks(epsilon):
    """Hinge loss on one point, every sample counted; D is that of the regularised population."""
    for m in (1, 3, 10, 40):
        for penalty in (0.03, 0.3, 1.0):
            scale = noise_scale(**_at(m, penalty, epsilon, kappa=1.0))
            for eta in (0.5, 0.8, 0.99):
                parts = coin_decomposition(m, regularization=penalty, probability=eta, scale=scale)
                for more in ({}, {"baseline": 1.0}):
                    bound = _bound(m, penalty, epsilon, parts.approximation, width=1.0, **more)
                    assert parts.excess <= bound + 1e-13


@pytest.mark.claim("erm-beyond-stability-rate", "erm-concl-fixed-eps")
@pytest.mark.parametrize("beta", BETAS)
def test_balanced_regularisation_minimises_and_has_the_rate(beta):
    def bound(penalty, m):
        return _bound(m, penalty, 0.5, 1.7 * penalty**beta)

    best = []
    for m in (10**3, 10**4, 10**5):
        chosen = balanced_regularization(n_records=m, epsilon=0.5, beta=beta, c_beta=1.7)
        found = minimize_scalar(
            lambda t, m=m: math.log(bound(math.exp(t), m)),
            bounds=(-25, 3),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert chosen == pytest.approx(math.exp(found.x), rel=1e-4)
        best.append(bound(chosen, m))
    slope = power_exponent([1e3, 1e4, 1e5], best)
    assert slope == pytest.approx(-rate_exponent(beta, rate="stability"), abs=1e-9)


@pytest.mark.claim("erm-beyond-stability-rate")
def test_budgets_above_one_do_not_help_further():
    """The term without epsilon remains: the rate is in m min(1, epsilon)."""
    values = []
    for epsilon in (1e-4, 1e-2, 1.0, 1e2, 1e5):
        penalty = balanced_regularization(n_records=10**5, epsilon=epsilon, beta=0.5)
        bound = excess_bound(
            n_records=10**5,
            regularization=penalty,
            epsilon=epsilon,
            lipschitz=1.0,
            approximation=penalty**0.5,
        )
        values.append(bound * (1e5 * min(1.0, epsilon)) ** (1 / 3))
    assert max(values) / min(values) < 2 ** (1 / 3) * 1.01
    careless = 1e10 ** (-2 / 3)  # (m eps)^(-1/(beta+1)) at m = eps = 1e5
    assert _bound(10**5, careless, 1e5, careless**0.5) > 40


@pytest.mark.claim("erm-svm-rate", "erm-concl-third")
def test_exponents_of_classification():
    assert rate_exponent(0.5, rate="classification") == 1 / 8
    assert rate_exponent(0.5, rate="comparison") == 1 / 4
    assert rate_exponent(1.0, rate="theorem4") == pytest.approx(1 / 3)
    assert rate_exponent(1.0, rate="least_squares") == pytest.approx(1 / 3)

"""Least squares: noise, bound and break-even sizes against brute force and simulated fits."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.erm.approximation import power_exponent
from dplit.papers.erm.least_squares_rates import (
    break_even,
    least_squares_bound,
    least_squares_noise,
)
from dplit.papers.erm.rates import rate_exponent

BETAS = [0.1, 0.25, 0.5, 0.9, 1.0]
SETTING = {"n_records": 1000, "regularization": 0.04, "epsilon": 0.3}


@pytest.mark.claim("erm-ls-rate")
def test_noise_of_least_squares():
    printed, doubled, sharp = (
        least_squares_noise(**SETTING, label_bound=2.0, kappa=1.5, scale=scale)
        for scale in ("printed", "doubled", "sharp")
    )
    assert printed == pytest.approx(2 * 4 * 1.5**4 * 2.5**2 / (0.04**3 * 1000**2 * 0.09), rel=1e-12)
    assert doubled == pytest.approx(4 * printed)
    outer = 1.5**2 * 2 * (2 + 1.5 / (2 * 0.2)) / (0.04 * 1000 * 0.3)
    assert 0.3 * 2 * outer**2 < sharp <= 2 * outer**2


@pytest.mark.claim("erm-ls-rate")
def test_sharp_noise_in_numbers():
    """From the maximum over k of its formula, by brute force."""
    k = np.linspace(0, 1, 200_001)
    distance = np.max(2 * np.sqrt(k) * (1 + np.sqrt(1 - k) / 0.4) / (40 + k))
    exact = 2 * (distance / 0.3) ** 2
    found = least_squares_noise(**SETTING, label_bound=1.0)
    assert found == pytest.approx(exact, rel=1e-8)


@pytest.mark.claim("erm-ls-rate")
def test_break_evens():
    assert break_even(trivial_risk=0.125, scale="printed") == 64**3
    assert break_even(trivial_risk=0.125, scale="doubled") == 256**3
    sharp = break_even(trivial_risk=0.125)
    assert 2_000 < sharp < 8192
    level = (sharp - 1) ** (-1 / 3)
    before = least_squares_noise(
        n_records=sharp - 1, regularization=level, epsilon=level, label_bound=1.0
    )
    assert before > 0.125


@pytest.mark.claim("erm-ls-rate", "erm-concl-third")
def test_least_squares_bound_term_by_term():
    value = least_squares_bound(
        n_records=20, regularization=0.5, approximation=0.1, target_risk=0.3, kappa=2.0, noise=0.05
    )
    assert value == pytest.approx(0.1 + (1.4**2 - 1) * 0.4 + 0.05)


@pytest.mark.claim("erm-ls-rate", "erm-concl-third", "erm-concl-fixed-eps")
@pytest.mark.parametrize("beta", BETAS)
def test_schedules_of_least_squares_have_their_rates(beta):
    """All three terms at m from 1e9 to 1e15, the smaller ones too: slopes within 0.01."""
    for fixed, rate in ((False, "least_squares"), (True, "least_squares_fixed")):
        sizes, values = [10**12, 10**15, 10**18], []
        for m in sizes:
            if fixed:
                penalty, epsilon = float(m) ** (-2 / (3 + beta)), 0.5
            else:
                penalty = float(m) ** (-2 / (3 * (beta + 1)))
                epsilon = 1 / (penalty * float(m) ** (2 / 3))
            at = {"n_records": m, "regularization": penalty}
            noise = least_squares_noise(**at, epsilon=epsilon, label_bound=1.0, scale="doubled")
            bound = least_squares_bound(
                **at, approximation=penalty**beta, target_risk=0.1, noise=noise
            )
            values.append(bound)
        slope = power_exponent(np.array(sizes, dtype=float), values)
        assert slope == pytest.approx(-rate_exponent(beta, rate=rate), abs=0.01)

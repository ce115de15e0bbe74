"""Theorem 3.2 with constants: each term again, the table, the threshold, the projection itself."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dplit.accounting import gdp_budget
from dplit.papers.margin.dimensions import _jl_dimension, jl_failure, margin_events
from dplit.papers.margin.slack import (
    _distortion,
    best_slack,
    jl_distortion,
    margin_slack,
    plain_slack,
    vacuous_below,
)

MU = gdp_budget(epsilon=1.0, delta=1e-6)
SETTING = {"normalized_margin": 0.3, "mu": MU, "beta": 0.05}


@pytest.mark.claim("margin-thm32")
def test_distortion_inverts_the_failure():
    for k, m in ((300, 10), (1000, 1000), (50_000, 10**6)):
        eta = jl_distortion(n_components=k, n_samples=m, beta=0.01)
        failure = jl_failure(n_components=k, distortion=eta, n_events=margin_events(m))
        assert failure == pytest.approx(0.01, rel=1e-6)
    k = _jl_dimension(normalized_margin=0.5, n_samples=1000, beta=0.05 / 3)
    assert jl_distortion(n_components=k, n_samples=1000, beta=0.05 / 3) <= 0.425
    assert jl_distortion(n_components=k - 1, n_samples=1000, beta=0.05 / 3) > 0.425
    assert jl_distortion(n_components=10, n_samples=1000, beta=0.05) == math.inf


def test_distortion_in_closed_form_is_the_root():
    """Against mpmath at 40 digits, for exponents from 1e-14 to the last that has a root."""
    mpmath.mp.dps = 40
    for c in (1e-14, 1e-9, 1e-4, 0.02, 0.08, 1 / 12 - 1e-9):
        root = mpmath.findroot(lambda x, c=c: x**2 / 4 - x**3 / 6 - c, 2 * mpmath.sqrt(c) * 1.01)
        if c < 0.08:
            assert float(_distortion(c)) == pytest.approx(float(root), rel=1e-14)
        eta = float(_distortion(c))
        assert eta**2 / 4 - eta**3 / 6 == pytest.approx(c, rel=1e-13)
    assert _distortion([1 / 12, 1 / 12 + 1e-6]).tolist() == [pytest.approx(1.0), math.inf]


@pytest.mark.claim("margin-thm32")
def test_best_dimension_is_that_of_all_integers():
    """Kills a term of the slack that the search forgets: no integer is better by 1e-7."""
    best = best_slack(**SETTING, n_samples=300, n_steps=50)
    near = range(best.n_components // 2, 2 * best.n_components)
    for k in (*near, *np.geomspace(100, 10**6, 60, dtype=int)):
        every = margin_slack(**SETTING, n_samples=300, n_components=int(k), n_steps=50)
        assert best.total <= every.total + 1e-7


@pytest.mark.claim("margin-thm32")
def test_terms_by_hand():
    terms = margin_slack(**SETTING, n_samples=10_000, n_components=9620)
    eta = jl_distortion(n_components=9620, n_samples=10_000, beta=0.05 / 3)
    rho_z = MU**2 / 2
    parts = [
        eta / 0.3,
        (1 + eta) / 0.3 * math.sqrt(2 * 9620 / rho_z) / 10_000,
        2 * (1 + eta) / (0.3 * 100),
        math.sqrt(math.log(60) / 20_000),
    ]
    np.testing.assert_allclose(terms[1:5], parts, rtol=1e-12)
    assert terms.total == pytest.approx(sum(parts), rel=1e-12)
    finite = margin_slack(**SETTING, n_samples=10_000, n_components=9620, n_steps=400)
    assert finite.privacy - terms.privacy == pytest.approx((1 + eta) / 0.3 / 20, rel=1e-9)
    free = margin_slack(**{**SETTING, "mu": math.inf}, n_samples=10_000, n_components=9620)
    assert free.privacy == 0.0


@pytest.mark.claim("margin-thm32")
@pytest.mark.parametrize(
    ("m", "plain", "private"),
    [(10**3, 0.250, 2.234), (10**4, 0.079, 0.655), (10**5, 0.025, 0.206), (10**6, 0.008, 0.066)],
)
def test_table(m, plain, private):
    assert plain_slack(normalized_margin=0.3, n_samples=m, beta=0.05) == pytest.approx(
        plain, abs=6e-4
    )
    assert best_slack(**SETTING, n_samples=m).total == pytest.approx(private, abs=6e-4)


@pytest.mark.claim("margin-thm32")
def test_threshold_of_vacuity():
    m = vacuous_below(**SETTING)
    assert m == pytest.approx(4414, abs=3)
    assert best_slack(**SETTING, n_samples=m).total < 1.0
    assert best_slack(**SETTING, n_samples=m - 1).total >= 1.0

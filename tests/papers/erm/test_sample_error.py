"""Hoeffding's inequality and the sample error against exact binomial sums."""

from __future__ import annotations

import math

import pytest

from dplit.papers.erm.sample_error import (
    coin_tail,
    hoeffding_bound,
    mean_coin_error,
    sample_error_bound,
)


@pytest.mark.claim("erm-lem2")
@pytest.mark.parametrize("m", [1, 2, 7, 50, 400])
def test_hoeffding_covers_the_exact_tail_of_fair_signs(m):
    for count in range(m // 2 + 1, m + 1):
        t = 2 * count / m - 1
        exact = 2 * sum(math.comb(m, j) for j in range(count, m + 1)) / 2**m
        assert coin_tail(t, n_records=m) == pytest.approx(exact, rel=1e-9)
        assert exact <= hoeffding_bound(t, n_records=m, radius=1.0)


@pytest.mark.claim("erm-lem2")
def test_hoeffding_value_and_exponent():
    assert hoeffding_bound(0.2, n_records=30, radius=0.5) == pytest.approx(
        2 * math.exp(-30 * 0.04 / 0.5), rel=1e-14
    )
    # the exponent is right to first order: at t = .2, m = 2000 the logarithms agree within 10 %
    exact = math.log(coin_tail(0.2, n_records=2000))
    assert 1 < exact / math.log(hoeffding_bound(0.2, n_records=2000, radius=1.0)) < 1.1


@pytest.mark.claim("erm-prop4")
@pytest.mark.parametrize("m", [1, 2, 9, 400])
def test_sample_error_has_mean_zero_and_a_small_modulus(m):
    mean, modulus = mean_coin_error(m)
    assert abs(mean) < 1e-12
    exact = sum(math.comb(m, j) * abs(j / m - 0.5) for j in range(m + 1)) / 2**m
    assert modulus == pytest.approx(exact, rel=1e-10)
    bound = sample_error_bound(n_records=m, loss_bound=1.0)
    assert modulus <= bound * (1 + 1e-12)
    printed = sample_error_bound(n_records=m, loss_bound=3.0, version="printed")
    assert printed == pytest.approx(3 * bound * 4 * math.sqrt(2 * math.pi))


@pytest.mark.claim("erm-prop4")
def test_modulus_bound_is_attained_by_one_fair_coin():
    assert mean_coin_error(1)[1] == sample_error_bound(n_records=1, loss_bound=1.0) == 0.5

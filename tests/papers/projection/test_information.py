"""Conversions of MI-DP: against channels, against 60-digit arithmetic, and their limits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

from dplit.entries.privacy import additive_sigma, fixed_variance
from dplit.papers.projection.finite_channels import (
    capacity_bracket,
    channel_delta,
    channel_information,
    symmetric_channel,
)
from dplit.papers.projection.information import (
    binary_information,
    dp_to_tv,
    entry_dp_epsilon,
    pinsker_delta,
    row_dp_epsilon,
    row_mu,
    sharp_delta,
)
from dplit.streams import stream

BUDGETS = [1e-6, 0.01, 0.1, 0.2, 0.5, 0.7213, 0.99]


@pytest.mark.claim("proj-eq9")
@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 0.2, 0.5, 2.0, 40.0, 900.0])
def test_additive_sigma_in_exact_arithmetic(epsilon):
    with mp.workdps(60):
        exact = 1 / mp.sqrt(mp.power(2, 2 * mp.mpf(epsilon)) - 1)
        assert abs(additive_sigma(epsilon=epsilon) / exact - 1) < 1e-14 * max(1, epsilon)


@given(st.floats(0.01, 5), st.integers(1, 10_000))
def test_fixed_variance_makes_a_whole_column_of_noise(epsilon, rows):
    variance = fixed_variance(epsilon=epsilon, n_components=rows)
    assert 0.5 * math.log2(1 + rows / variance) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.claim("proj-prop2")
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_sharp_delta_is_attained_by_the_binary_symmetric_channel(epsilon):
    delta = sharp_delta(epsilon=epsilon)
    channel = symmetric_channel((1 - delta) / 2)
    assert channel_delta(channel, epsilon=0.0) == pytest.approx(delta, rel=1e-9)
    information = channel_information([0.5, 0.5], channel)
    assert information == pytest.approx(epsilon, rel=1e-6, abs=1e-14)


@pytest.mark.claim("proj-prop2")
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_sharp_delta_in_exact_arithmetic(epsilon):
    with mp.workdps(50):
        t = mp.mpf(sharp_delta(epsilon=epsilon))
        p = (1 - t) / 2
        left = 1 + p * mp.log(p, 2) + (1 - p) * mp.log(1 - p, 2)
        assert abs(left / mp.mpf(epsilon) - 1) < 1e-11
        assert abs(left / mp.mpf(binary_information(float(t))) - 1) < 1e-11


@pytest.mark.claim("proj-prop2")
def test_pinsker_is_above_the_sharp_curve_and_empty_from_where_it_should_be():
    for epsilon in BUDGETS:
        assert sharp_delta(epsilon=epsilon) < pinsker_delta(epsilon=epsilon)
    assert pinsker_delta(epsilon=1e-6) == pytest.approx(sharp_delta(epsilon=1e-6), rel=1e-6)
    assert pinsker_delta(epsilon=1 / (2 * math.log(2))) == pytest.approx(1.0, rel=1e-12)
    assert sharp_delta(epsilon=1.0) == sharp_delta(epsilon=5.0) == 1.0


@pytest.mark.claim("proj-prop2")
@given(st.integers(0, 10_000))
def test_no_random_channel_violates_either_conversion(seed):
    rng = stream(seed, "test-prop2", "data")
    channel = rng.dirichlet(np.full(rng.integers(2, 6), 0.3), size=2)
    bits = capacity_bracket(channel).upper
    distance = channel_delta(channel, epsilon=0.0)
    assert distance <= sharp_delta(epsilon=bits) + 1e-9
    assert distance <= pinsker_delta(epsilon=bits) + 1e-9


def test_binary_information_at_the_ends():
    assert binary_information(0.0) == 0.0
    assert binary_information(1.0) == 1.0
    assert binary_information(1e-9) == pytest.approx(1e-18 / (2 * math.log(2)), rel=1e-9)


def _largest_distance(epsilon, delta):
    """Solve for the largest p - q under the two inequalities of (epsilon, delta)-DP."""
    e = math.exp(epsilon)
    A = [[1, -e], [-e, 1], [e, -1], [-1, e]]
    b = [delta, delta, delta + e - 1, delta + e - 1]
    return -linprog([-1, 1], A_ub=A, b_ub=b, bounds=[(0, 1), (0, 1)]).fun


@pytest.mark.claim("proj-prop1")
@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.3), (0.5, 0), (1, 0.1), (3, 0.01), (8, 1)])
def test_dp_to_tv_is_the_value_of_a_linear_programme_and_is_attained(epsilon, delta):
    value = dp_to_tv(epsilon=epsilon, delta=delta)
    assert value == pytest.approx(_largest_distance(epsilon, delta), rel=1e-8)
    channel = symmetric_channel(1 / (1 + math.exp(epsilon)), reveal=delta)
    assert channel_delta(channel, epsilon=epsilon) == pytest.approx(delta, abs=1e-12)
    assert channel_delta(channel, epsilon=0.0) == pytest.approx(value, rel=1e-12)


@pytest.mark.claim("proj-prop1")
def test_a_coin_that_publishes_the_bit_has_few_bits_and_no_small_delta():
    channel = np.array([[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]])
    assert capacity_bracket(channel).upper == pytest.approx(0.2, abs=1e-9)
    for epsilon in (0.0, 1.0, 50.0):
        assert channel_delta(channel, epsilon=epsilon) == pytest.approx(0.2, rel=1e-12)
    assert dp_to_tv(epsilon=0.0, delta=0.2) == pytest.approx(0.2, rel=1e-12)


@pytest.mark.claim("proj-beyond-row")
@pytest.mark.parametrize(("epsilon", "d"), [(0.5, 800), (0.2, 300), (0.1, 7)])
def test_row_mu_is_the_distance_of_opposite_corners_in_noise_units(epsilon, d):
    corner = np.ones(d)
    distance = np.linalg.norm(corner - (-corner)) / additive_sigma(epsilon=epsilon)
    assert row_mu(epsilon=epsilon, n_features=d) == pytest.approx(distance, rel=1e-12)
    assert row_mu(epsilon=epsilon, n_features=d, width=1.0) == pytest.approx(distance / 2)
    entry = row_mu(epsilon=epsilon, n_features=1)
    assert entry == pytest.approx(distance / math.sqrt(d), rel=1e-12)


def _profile(eps, mu):
    return norm.cdf(mu / 2 - eps / mu) - math.exp(eps + norm.logcdf(-mu / 2 - eps / mu))


@pytest.mark.claim("proj-beyond-row")
@pytest.mark.parametrize(("bits", "d", "width"), [(0.5, 1, 2.0), (0.2, 300, 1.0), (0.5, 800, 2.0)])
def test_the_meaning_of_a_row_satisfies_the_gaussian_profile(bits, d, width):
    eps = row_dp_epsilon(epsilon=bits, delta=1e-5, n_features=d, width=width)
    mu = width * math.sqrt(d * (2 ** (2 * bits) - 1))
    assert _profile(eps, mu) == pytest.approx(1e-5, rel=1e-6)
    entry = entry_dp_epsilon(epsilon=bits, delta=1e-5, width=width * math.sqrt(d))
    assert entry == pytest.approx(eps, rel=1e-9)

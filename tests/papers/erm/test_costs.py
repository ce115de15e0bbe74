"""Closed-form costs: a table by hand, the laws of the noise behind it, break-evens, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.kernels.queries import query_scale
from dplit.mechanisms import gamma_norm_noise, gaussian_delta, gaussian_sigma
from dplit.papers.erm.costs import break_even_dimension, break_even_queries, release_costs
from dplit.papers.erm.gamma_release import gamma_deviation
from dplit.streams import stream

#: m: sensitivity, printed scale, one answer, process, textbook, gamma lengths at d = 2 and 41
TABLE = {
    1_000: (0.01000, 0.01000, 0.02000, 0.07032, 0.09882, 0.04, 0.82),
    10_000: (0.00215, 0.00215, 0.00431, 0.01515, 0.02129, 0.0086, 0.177),
    100_000: (0.00046, 0.00046, 0.00093, 0.00326, 0.00459, 0.0019, 0.038),
}


@pytest.mark.claim("erm-beyond-costs")
@pytest.mark.parametrize("m", TABLE)
def test_table(m):
    costs = release_costs(m)
    row = (
        costs.sensitivity,
        costs.printed_scale,
        costs.query_scale,
        costs.gaussian_process,
        costs.textbook,
    )
    np.testing.assert_allclose(row, TABLE[m][:5], atol=5.01e-6)
    np.testing.assert_allclose(costs.gamma_lengths, TABLE[m][5:], rtol=0.025)
    assert costs.n_records == m
    assert costs.regularization == pytest.approx(m ** (-1 / 3))


@pytest.mark.claim("erm-beyond-costs")
def test_entries_from_their_definitions():
    costs = release_costs(500, epsilon=0.8, delta=1e-6, regularization=0.2, dimensions=(7,))
    change = 1 / (0.2 * 500)
    assert costs.sensitivity == pytest.approx(change, rel=1e-14)
    assert costs.query_scale == pytest.approx(change / 0.8, rel=1e-14)
    assert costs.printed_scale == pytest.approx(change / 1.6, rel=1e-14)
    for sigma in (costs.gaussian_process, costs.textbook):
        assert gaussian_delta(epsilon=0.8, sigma=sigma, sensitivity=change) <= 1e-6 * (1 + 1e-9)
    assert gaussian_delta(
        epsilon=0.8, sigma=costs.gaussian_process, sensitivity=change
    ) == pytest.approx(1e-6, rel=1e-9)
    assert costs.textbook == pytest.approx(math.sqrt(2 * math.log(2e6)) * change / 0.8)
    # Mean norm of 1e5 draws with the rate of the release: 5 standard errors, alarm 6e-7.
    rng = stream(0, "cost-gamma", "noise")
    norms = np.linalg.norm(gamma_norm_noise(7, rate=0.8 / change, rng=rng, size=100_000), axis=1)
    (length,) = costs.gamma_lengths
    assert abs(norms.mean() - length) < 5 * norms.std() / math.sqrt(1e5)


@pytest.mark.claim("erm-beyond-costs")
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0, 8.0, 40.0])
def test_break_evens_are_the_last_integers(epsilon):
    sigma = gaussian_sigma(epsilon=epsilon, delta=1e-5)
    q = break_even_queries(epsilon=epsilon, delta=1e-5)
    assert q == math.floor(sigma * epsilon / math.sqrt(2))
    d = break_even_dimension(epsilon=epsilon, delta=1e-5)
    assert d == math.floor((sigma * epsilon) ** 2) - 1


@pytest.mark.claim("erm-beyond-costs")
@pytest.mark.parametrize("epsilon", [0.01, 3.0])
@pytest.mark.parametrize(("d", "answers"), [(1, 1), (7, 2), (17, 3), (80, 6), (200, 10)])
def test_without_delta_answers_are_compared_with_gamma_norm_noise(epsilon, d, answers):
    """2 q^2 <= d + 1 in whole numbers, and the deviations of both on either side of the end."""
    assert 2 * answers**2 <= d + 1 < 2 * (answers + 1) ** 2
    assert break_even_queries(epsilon=epsilon, delta=0.0, dimension=d) == answers
    gamma = gamma_deviation(d, sensitivity=1.0, epsilon=epsilon)
    spent = [
        math.sqrt(2) * query_scale(n_queries=q, sensitivity=1.0, epsilon=epsilon)
        for q in (answers, answers + 1)
    ]
    assert spent[0] <= gamma * (1 + 1e-12)
    assert spent[1] > gamma
    with pytest.raises(TypeError, match="dimension must be an integer"):
        break_even_queries(epsilon=epsilon, delta=0.0)


@pytest.mark.claim("erm-beyond-costs")
def test_break_evens_can_be_zero_and_large():
    assert break_even_queries(epsilon=0.01, delta=0.4) == 0
    assert break_even_dimension(epsilon=0.01, delta=0.4) == 0
    assert break_even_dimension(epsilon=1.0, delta=1e-300) > 1000

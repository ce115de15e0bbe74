"""Rows of the chapter: each column against the function or the formula that it names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.erm.decomposition import coin_decomposition
from dplit.papers.erm.stability import loss_bound
from dplit_studies.erm import least_squares_table, utility_tables


def test_bounds_of_the_figure_by_hand():
    sizes = [25, 400]
    found = least_squares_table.bound_curves("pinball", sizes)
    assert found["Theorem 2"] == pytest.approx([0.3, 0.01875])
    most = loss_bound("pinball", regularization=0.1, tau=0.75)
    assert found["Theorem 1, printed"] == pytest.approx([np.sqrt(most / 0.3125), np.sqrt(most / 5)])
    ratio = found["Theorem 1, printed"] / found["Theorem 1 with the constant 2"]
    assert ratio == pytest.approx([np.sqrt(8)] * 2)
    squared = least_squares_table.bound_curves("squared", [400])
    assert squared["Theorem 2"] == pytest.approx([4 / np.sqrt(0.1) / 40])


@pytest.mark.claim("erm-thm3")
def test_subset_rows_enumerate_and_bound():
    rows = utility_tables.subset_rows([0.1, 0.9])
    assert [row.side for row in rows] == ["over", "over", "under", "under"]
    for row in rows:
        assert row.exact_epsilon == pytest.approx(row.epsilon, rel=1e-9)
        assert row.gap == pytest.approx(row.closed, rel=1e-9)
        factor = 1 - math.exp(-row.epsilon) if row.side == "over" else math.exp(row.epsilon) - 1
        assert row.closed == pytest.approx(0.75**3 * 0.93 * factor, rel=1e-12)
        assert row.sharp == pytest.approx(factor, rel=1e-12)
        assert 0.999 * row.sharp < row.wide < row.sharp < row.printed == 2 * row.epsilon


@pytest.mark.claim("erm-prop2", "erm-beyond-stability-rate", "erm-concl-third")
@pytest.mark.parametrize("epsilon", [None, 0.1, 10.0])
def test_coin_rows_are_exact_and_bounded(epsilon):
    for row in utility_tables.coin_rows([4, 25], beta=0.5, probability=0.8, epsilon=epsilon):
        m, penalty = row.n_records, row.n_records**-0.5
        budget = m**-0.25 if epsilon is None else epsilon
        assert row.epsilon == pytest.approx(budget)
        scale = 1 / (penalty * m * budget)
        parts = coin_decomposition(m, regularization=penalty, probability=0.8, scale=scale)
        found = (row.generalization, row.noise, row.excess)
        assert found == pytest.approx((parts.generalization, parts.noise, parts.excess))
        assert row.stability == pytest.approx(1 / (penalty * m))
        assert row.proof == pytest.approx(2 * budget * (1 + row.noise))
        assert row.printed == pytest.approx(4 * budget + 2 * budget * row.noise)
        total = row.stability * (1 + 0.5 / budget) + parts.approximation
        assert row.excess_bound == pytest.approx(total)
        assert row.excess <= row.excess_bound
        assert row.generalization <= row.stability


@pytest.mark.claim("erm-thm4")
def test_printed_shares_are_one_where_the_constant_is_largest():
    """With B0 = 0 both sides are equal at C_L = 3/(1 + 2 eps), whatever beta and m."""
    shares = utility_tables.printed_shares([2, 64, 10**6], [0.25, 1.0])
    assert shares == pytest.approx(np.ones((2, 3)), rel=1e-12)


@pytest.mark.claim("erm-concl-fixed-eps", "erm-beyond-stability-rate")
def test_least_bounds_agree_and_have_the_form_of_the_rate():
    formula, search = utility_tables.least_bounds([100, 10_000], beta=1.0, epsilon=0.5)
    assert formula == pytest.approx(search, rel=1e-9)
    assert formula == pytest.approx(2 * np.sqrt(3 / np.array([100, 10_000])), rel=1e-12)

"""Definition 1: all events against the common ones, by brute force and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.papers.definition import (
    dp_epsilon,
    dp_epsilon_restricted,
    mechanism_epsilon,
    total_variation,
)
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.papers.erm.release import shift_ranges_meet

weights = st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any)


def _law(numbers):
    return np.array(numbers) / sum(numbers)


def _by_events(p, q, outcomes):
    """The largest absolute log ratio over every subset of the given outcomes, and of either law."""
    worst = 0.0
    for size in range(1, len(outcomes) + 1):
        for event in itertools.combinations(outcomes, size):
            a, b = math.fsum(p[list(event)]), math.fsum(q[list(event)])
            if a > 0 or b > 0:
                worst = max(worst, math.inf if min(a, b) == 0 else abs(math.log(a / b)))
    return worst


@pytest.mark.claim("erm-def1")
@settings(max_examples=60, deadline=None)
@given(weights, st.data())
def test_epsilon_is_the_maximum_over_all_events(numbers, data):
    other = data.draw(
        st.lists(st.integers(0, 6), min_size=len(numbers), max_size=len(numbers)).filter(any)
    )
    p, q = _law(numbers), _law(other)
    everything = list(range(len(p)))
    common = [i for i in everything if p[i] > 0 and q[i] > 0]
    assert dp_epsilon(p, q) == pytest.approx(_by_events(p, q, everything), rel=1e-12, abs=1e-14)
    assert dp_epsilon_restricted(p, q) == pytest.approx(
        _by_events(p, q, common), rel=1e-12, abs=1e-14
    )
    events = [0.0] + [
        abs(math.fsum(p[list(e)]) - math.fsum(q[list(e)]))
        for size in everything
        for e in itertools.combinations(everything, size + 1)
    ]
    assert total_variation(p, q) == pytest.approx(max(events), abs=1e-14)


@pytest.mark.claim("erm-def1")
def test_publishing_the_data_is_private_in_the_literal_reading_only():
    publish = np.eye(4)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    assert mechanism_epsilon(publish, pairs) == math.inf
    assert mechanism_epsilon(publish, pairs, restricted=True) == 0.0
    assert total_variation(publish[0], publish[3]) == 1.0


@pytest.mark.claim("erm-def1")
def test_an_outcome_that_one_side_cannot_show_is_left_out_literally():
    """Half the mass gives the data away; the other half is the same: literally 0, truly inf."""
    p, q = [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]
    assert dp_epsilon_restricted(p, q) == 0.0
    assert dp_epsilon(p, q) == math.inf
    assert total_variation(p, q) == 0.5
    assert dp_epsilon_restricted([0.6, 0.4, 0.0], [0.3, 0.0, 0.7]) == pytest.approx(math.log(2))


@pytest.mark.claim("erm-def1")
def test_the_largest_pair_decides():
    table = [[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]]
    assert mechanism_epsilon(table, [(0, 1)]) == pytest.approx(math.log(5 / 4))
    assert mechanism_epsilon(table, [(0, 1), (1, 2), (0, 1)]) == pytest.approx(math.log(4))


@pytest.mark.claim("erm-def1", "erm-eq2")
def test_shifted_functions_meet_only_if_they_differ_by_a_constant():
    grid = np.linspace(-1.0, 1.0, 21)
    pair = hinge_pair(n_records=11, regularization=0.2)
    assert not shift_ranges_meet(*pair.values(grid))
    assert shift_ranges_meet(*pair.values([1.0]))  # X = {1}: constants are in the space
    assert shift_ranges_meet(grid, grid + 3.0)
    assert shift_ranges_meet([0.0, 0.0], [0.0, 1e-13])
    assert not shift_ranges_meet([0.0, 0.0], [0.0, 1e-11])
    assert shift_ranges_meet([0.0, 0.0], [0.0, 0.5], tol=0.5)


@pytest.mark.parametrize(
    ("p", "q", "error", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], ValueError, "first must be nonnegative with sum 1"),
        ([0.5, 0.5], [1.5, -0.5], ValueError, "second must be nonnegative with sum 1"),
        ([1.0], [0.5, 0.5], ValueError, "equally many outcomes, got 1 and 2"),
        ([math.nan, 1.0], [0.5, 0.5], ValueError, "first must be finite"),
        ([[1.0]], [1.0], ValueError, "first must have 1 axes"),
        (["a"], [1.0], TypeError, "first must be numeric"),
        ([1.0 + 0j], [1.0], TypeError, "first must be real"),
        ([], [1.0], ValueError, "first must not be empty"),
    ],
)
def test_bad_laws_are_named(p, q, error, message):
    for function in (dp_epsilon, dp_epsilon_restricted, total_variation):
        with pytest.raises(error, match=message):
            function(p, q)


def test_bad_tables_and_grids_are_named():
    table = np.eye(2)
    with pytest.raises(ValueError, match="neighbours must not be empty"):
        mechanism_epsilon(table, [])
    with pytest.raises(ValueError, match=r"neighbours must name rows below 2, got \(0, 2\)"):
        mechanism_epsilon(table, [(0, 2)])
    with pytest.raises(TypeError, match="neighbours must be an integer"):
        mechanism_epsilon(table, [(0, 1.0)])
    with pytest.raises(ValueError, match="table must have 2 axes"):
        mechanism_epsilon([1.0], [(0, 0)])
    with pytest.raises(ValueError, match="equally long, got "):
        shift_ranges_meet([0.0, 1.0], [0.0])
    with pytest.raises(ValueError, match="tol must be nonnegative"):
        shift_ranges_meet([0.0], [0.0], tol=-1.0)

"""Label privacy: splits, covers, the law of the choice, its privacy by enumeration, its cost."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.papers.margin.exponential import cover_law
from dplit.papers.margin.label_privacy import (
    _threshold_errors,
    relative_deviation_bound,
    selection_excess,
    separated_cover,
    threshold_splits,
)
from dplit.streams import stream


@pytest.mark.claim("margin-appE")
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([-1, 1])), min_size=1, max_size=25))
def test_splits_by_cumulative_sums_are_those_by_counting(pairs):
    x, y = np.array(pairs, float).T
    splits = threshold_splits(x, y)
    assert len(splits.thresholds) == len(np.unique(x)) + 1
    naive = [int(np.sum(np.where(x >= t, 1, -1) != y)) for t in splits.thresholds]
    assert splits.errors.tolist() == naive
    assert _threshold_errors(x, y, splits.thresholds).tolist() == naive
    patterns = {tuple(x >= t) for t in splits.thresholds}
    every = {tuple(x >= t) for t in np.linspace(-1, 11, 241)}
    assert patterns == every


@pytest.mark.claim("margin-appE")
def test_privacy_by_enumeration_of_all_label_changes():
    """The log ratio never exceeds epsilon and comes within 3 % of it."""
    worst = 0.0
    m = 8
    x = np.arange(float(m))
    for labels in itertools.product([-1, 1], repeat=m):
        law = cover_law(threshold_splits(x, labels).errors, epsilon=1.0)
        assert law.sum() == pytest.approx(1.0, rel=1e-12)
        for i in range(m):
            other = np.array(labels)
            other[i] *= -1
            changed = cover_law(threshold_splits(x, other).errors, epsilon=1.0)
            worst = max(worst, float(np.abs(np.log(law / changed)).max()))
    assert worst <= 1.0 + 1e-12
    assert worst > 0.97


@pytest.mark.claim("margin-appE")
@given(st.integers(0, 10**6), st.floats(0.05, 1.5))
def test_the_cover_is_inside_separated_and_covers(seed, radius):
    values = np.random.default_rng(seed).uniform(-1, 1, (40, 3))
    cover = separated_cover(values, radius)
    distances = np.abs(values[:, None] - values[cover]).max(axis=2)
    assert distances.min(axis=1).max() <= radius
    pairs = distances[cover]
    np.fill_diagonal(pairs, np.inf)
    assert pairs.min() > radius


def test_the_cover_is_no_larger_than_a_finer_grid_of_centres():
    values = stream(0, "cover", "data").uniform(0, 1, (500, 2))
    assert len(separated_cover(values, 0.25)) <= 16  # 16 squares of side 1/4: radius 1/8


@pytest.mark.claim("margin-appE")
def test_the_choice_has_the_margin_guarantee():
    """Exactly, from the law: the best at margin rho, the chosen one judged at rho / 2."""
    rng = stream(0, "label-choice", "data")
    values = rng.uniform(-1, 1, (60, 60))
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
    values[17] = 0.9 * y
    cover = separated_cover(values, 0.25)
    best = np.mean(y * values <= 0.5, axis=1).min()
    limit = best + selection_excess(len(cover), 60, epsilon=2.0, beta=0.05)
    errors = np.sum(y * values[cover] <= 0.25, axis=1)
    law = cover_law(errors, epsilon=2.0)
    assert law[errors / 60 > limit].sum() <= 0.05


@pytest.mark.claim("margin-appE")
@given(
    n=st.integers(1, 50), m=st.integers(5, 200), epsilon=st.floats(0.1, 5), seed=st.integers(0, 99)
)
def test_selection_excess_bounds_the_exact_tail(n, m, epsilon, seed):
    errors = np.random.default_rng(seed).integers(0, m + 1, n)
    law = cover_law(errors, epsilon=epsilon)
    limit = errors.min() / m + selection_excess(n, m, epsilon=epsilon, beta=0.1)
    assert law[errors / m > limit + 1e-12].sum() <= 0.1


@pytest.mark.claim("margin-appE")
def test_selection_excess_and_relative_bound_in_numbers():
    assert selection_excess(1001, 1000, epsilon=1.0, beta=1 - 1e-12) == pytest.approx(
        2 * math.log(1001) / 1000, rel=1e-9
    )
    v = math.log(4 * 401 / 0.05) / 200
    expected = 0.1 + 2 * math.sqrt(0.1 * v) + 4 * v
    assert relative_deviation_bound(0.1, 401, 200, beta=0.05) == pytest.approx(expected, rel=1e-12)

"""The comparison: same budget per row, errors of the right fits, and a clear order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit_studies.projection.additive_experiments import METHODS, _one_comparison, compare_per_row
from dplit_studies.trials import Trial

pytestmark = pytest.mark.claim("proj-beyond-statistics")


def _compare(**changes):
    return compare_per_row(
        **{
            "n_records": 4000,
            "n_features": 5,
            "n_components": 60,
            "epsilon": 3.0,
            "delta": 1e-5,
            "n_trials": 4,
            "seed": 0,
            **changes,
        }
    )


def test_sufficient_statistics_win_every_trial():
    result = _compare()
    assert (result.wins, result.ahead) == (1.0, 1.0)
    assert result.mean("sufficient statistics") < 1.05
    assert min(result.mean(name) for name in METHODS if name != "sufficient statistics") > 1.2
    assert result.mean("projection") < result.mean("additive noise")
    assert set(result.values) == set(METHODS)
    assert all(result.se(name) > 0 for name in METHODS)


@pytest.mark.parametrize("sizes", [(1000, 20, 100), (50_000, 20, 100), (300, 20, 40)])
def test_a_correction_is_never_much_worse_than_none(sizes):
    """Three data sets each; kills the full correction (4.5 against 3.0 at n = 50,000)."""
    n, d, m = sizes
    errors = np.mean([_one_comparison(Trial(t, 0, "c"), n, d, m, 3.0, 1e-5) for t in range(3)], 0)
    by_name = dict(zip(METHODS, errors, strict=True))
    for name in ("additive noise", "projection"):
        assert by_name[f"{name}, corrected"] <= 1.02 * by_name[name]


def test_errors_at_a_huge_budget_are_those_without_noise():
    """Additive noise and statistics reach 1, the projection its factor (n'-1)/(n'-d-1)."""
    errors = np.mean(
        [_one_comparison(Trial(t, 0, "huge"), 500, 2, 40, 1e6, 1e-5) for t in range(12)], axis=0
    )
    by_name = dict(zip(METHODS, errors, strict=True))
    for name in ("additive noise", "additive noise, corrected", "sufficient statistics"):
        assert by_name[name] == pytest.approx(1.0, abs=0.02)
    spread = math.sqrt(2 * 2) / 37 / math.sqrt(12)
    assert abs(by_name["projection"] - 39 / 37) < 6 * spread
    assert by_name["no data: predict 0"] > 1.1


def test_first_method_knows_nothing_and_trials_decide_alone():
    first, again = (_one_comparison(Trial(1, 0, "c"), 300, 2, 20, 3.0, 1e-5) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (len(METHODS),)
    assert np.all(first >= 1.0)

"""Row accounting of a projection: the mixture against simulation and the exact optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.entries.privacy import row_delta, row_epsilon, row_variance
from dplit.mechanisms import gaussian_delta
from dplit.streams import stream


@pytest.mark.claim("proj-beyond-statistics")
@pytest.mark.parametrize("n", [1, 5, 80])
def test_profile_is_the_mean_over_lengths(n):
    """20,000 drawn lengths |s_i|: 5 standard errors. Kills n' for |s_i|^2 and its root."""
    lengths = np.sqrt(stream(0, "rows", "noise", n).chisquare(n, 20_000))
    values = gaussian_delta(epsilon=1.0, sigma=1.0, sensitivity=1.5 * lengths / math.sqrt(n))
    ours = row_delta(epsilon=1.0, variance=float(n), n_components=n, row_change=1.5)
    assert abs(values.mean() - ours) < 5 * values.std() / math.sqrt(20_000)


@pytest.mark.claim("proj-beyond-statistics")
def test_many_rows_of_projection_are_one_gaussian_mechanism():
    for n in (10**4, 10**6):
        ours = row_delta(epsilon=2.0, variance=4.0 * n, n_components=n, row_change=3.0)
        limit = gaussian_delta(epsilon=2.0, sigma=2.0, sensitivity=3.0)
        assert ours == pytest.approx(limit, rel=20 / n)
    tiny = row_delta(epsilon=0.0, variance=1e12, n_components=3, row_change=1e-3)
    assert tiny < 1e-8


@pytest.mark.claim("proj-beyond-statistics")
@pytest.mark.parametrize(("n", "change"), [(1, 2.0), (50, 2.0), (400, 9.0)])
def test_three_functions_invert_each_other_on_the_safe_side(n, change):
    for epsilon, delta in ((0.5, 1e-3), (3.0, 1e-5), (20.0, 1e-10)):
        variance = row_variance(epsilon=epsilon, delta=delta, n_components=n, row_change=change)
        reached = row_delta(epsilon=epsilon, variance=variance, n_components=n, row_change=change)
        assert reached <= delta
        assert reached == pytest.approx(delta, rel=1e-5)
        back = row_epsilon(delta=delta, variance=variance, n_components=n, row_change=change)
        assert back == pytest.approx(epsilon, rel=1e-6)
    assert row_epsilon(delta=0.9, variance=1e6, n_components=n, row_change=change) == 0.0
    assert row_epsilon(delta=1e-5, variance=1e-30, n_components=n, row_change=change) == math.inf

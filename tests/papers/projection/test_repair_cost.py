"""What the repair costs: limits for many rows, and the best number of projected rows."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.projection.guarantees import uniform_limit
from dplit.papers.projection.laws import projected_error
from dplit.papers.projection.spectrum import spectrum
from dplit.streams import stream


@pytest.fixture(scope="module")
def data():
    rng = stream(0, "test-repair-cost", "data")
    X = rng.uniform(-1, 1, (20_000, 3))
    return X, X @ np.array([3.0, -2.0, 4.0]) + rng.standard_normal(20_000)


@pytest.mark.claim("proj-beyond-cost")
@pytest.mark.parametrize(("share", "epsilon"), [(1.0, 0.5), (0.3, 0.5), (1.0, 1.0)])
def test_limits_are_those_of_a_large_uniform_design(data, share, epsilon):
    """Exact conditional means at n = 20,000; the limit is off by 1/n and the draw of X by 1 %."""
    X, y = data
    problem = spectrum(X, y)
    rows = round(share * len(X))
    c = rows / (2 ** (2 * epsilon) - 1)
    exact = projected_error(problem, penalty=c, n_components=rows)
    limit = uniform_limit(epsilon=epsilon, share=share, snr=problem.snr)
    assert exact - 1 == pytest.approx(limit - 1, rel=0.03, abs=2e-3)

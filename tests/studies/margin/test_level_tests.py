"""The chi-square test of error counts: it can pass, fail, and see what it claims to see."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.margin.exponential import cover_law
from dplit.streams import stream
from dplit_studies.margin import level_tests


@pytest.mark.claim("margin-alg1")
def test_level_test_can_fail_and_can_pass():
    """2000 draws from the law pass (false alarm 1e-4); from twice the budget they fail."""
    counts = np.repeat(np.arange(12.0), 9)
    law, wrong = cover_law(counts, epsilon=0.5), cover_law(counts, epsilon=1.0)
    rng = stream(0, "levels", "noise")
    good, cells = level_tests.level_pvalue(counts, law, rng.choice(counts, 2000, p=law))
    assert good > 1e-4
    assert cells > 5
    assert level_tests.level_pvalue(counts, law, rng.choice(counts, 2000, p=wrong))[0] < 1e-6


def test_detectable_budget_is_detected():
    """At that error 9 of 10 tests alarm: 200 tests, Binomial(200, 0.9) below 160 has p < 1e-4."""
    counts = np.repeat(np.arange(8.0), 5)
    law = cover_law(counts, epsilon=0.6)
    cells = level_tests.level_pvalue(counts, law, np.repeat(counts, 100))[1]
    error = level_tests.detectable_budget(counts, law, n_draws=4000, cells=cells, level=1e-3)
    wrong = cover_law(counts, epsilon=0.6 + error)
    rng = stream(0, "detectable", "noise")
    alarms = sum(
        level_tests.level_pvalue(counts, law, rng.choice(counts, 4000, p=wrong))[0] < 1e-3
        for _ in range(200)
    )
    assert 160 <= alarms < 200

"""Bounds beside errors: the formulas, where they become informative, the measured errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from dplit_studies.margin import bound_gap
from dplit_studies.margin.bound_gap import BOUNDS, bound_value, informative_from, measured_errors
from dplit_studies.trials import Trial

pytestmark = pytest.mark.claim("margin-exp-bound-gap")


def test_values_of_the_bounds():
    """Against formulas written out here, term by term, at a = 0.5, m = 10,000, epsilon = 1."""
    options = {"normalized_margin": 0.5, "epsilon": 1.0}
    eta = 0.85 * 0.5
    k = math.ceil(math.log(3 * 50_001 / 0.05) / (eta**2 / 4 - eta**3 / 6))
    budget = k * math.log(81.0) + math.log(60.0)
    assert bound_value("Theorem 3.1", 10_000, **options) == pytest.approx(6 * budget / 1e4)
    plain = 2 / (0.5 * 100) + math.sqrt(math.log(20) / 2e4)
    assert bound_value("no privacy", 10_000, **options) == pytest.approx(plain)
    assert bound_value("Gaussian prior", 10_000, **options) == pytest.approx(0.0054, abs=5e-5)
    thirds = {"normalized_margin": 0.3, "epsilon": 1.0}
    assert bound_value("Theorem 3.2", 10_000, **thirds) == pytest.approx(0.6548, abs=5e-4)


@pytest.mark.parametrize("name", BOUNDS)
def test_informative_from_is_where_the_bound_crosses(name):
    options = {"normalized_margin": 0.5, "epsilon": 1.0}
    m = informative_from(name, **options)
    assert bound_value(name, m, **options) < 0.5
    assert bound_value(name, int(m * 0.997) - 1, **options) >= 0.5
    assert informative_from(name, level=0.9, **options) < m


def test_errors_are_far_below_the_bounds():
    """Windows of more than five standard errors of the five draws."""
    errors = measured_errors(
        "compressed", (500, 1000), normalized_margin=0.3, epsilon=1.0, draws=5, seed=0
    )
    assert errors.mean.shape == errors.se.shape == (2,)
    assert 0.005 < errors.mean[1] < 0.03
    assert errors.mean[0] > errors.mean[1]
    for m, mean in zip(errors.sizes, errors.mean, strict=True):
        assert mean < 0.2 * bound_value("Theorem 3.2", m, normalized_margin=0.3, epsilon=1.0)


def test_the_exact_prior_stays_below_its_bound():
    """Ten draws: mean error below the training bound plus four standard errors."""
    errors = measured_errors("prior", (100,), normalized_margin=0.5, epsilon=1.0, draws=10, seed=0)
    bound = bound_value("Gaussian prior", 100, normalized_margin=0.5, epsilon=1.0)
    assert 0.01 < errors.mean[0] < bound + 4 * errors.se[0]


def test_the_error_is_that_of_fresh_records():
    """The one random coordinate against full records: 20,000 each, 6 standard errors."""
    coef = stream(0, "gap-error", "noise").standard_normal(100)
    coef[0] = 2.0
    fast = bound_gap._error(coef, 0.4, Trial(0, 0, "gap-error"))
    X, y = margin_data(20_000, 100, margin=0.4, rng=stream(0, "gap-error", "data"))
    slow = np.mean(y * (X @ coef) <= 0)
    assert 0.1 < slow < 0.45
    assert abs(fast - slow) < 6 * math.sqrt(2 * 0.25 / 20_000)

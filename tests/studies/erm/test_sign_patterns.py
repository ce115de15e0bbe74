"""Patterns of the released classifier: simulated rates against exact probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from dplit.papers.erm.attacks import sign_pattern_probability
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.streams import stream
from dplit_studies.erm.sign_patterns import _pattern_hits, pattern_curve

pytestmark = pytest.mark.claim("erm-svm-sgn")

PAIR = hinge_pair(n_records=101, regularization=0.1)


def _rng(trial=0):
    return stream(24, "erm-sign-patterns", "noise", trial)


@pytest.mark.parametrize("pattern", [[1, -1], [1, 1], [-1, -1]])
def test_pattern_rates_are_the_exact_probabilities(pattern):
    """Binomial test, false alarm 1e-5 each; kills a scale off by 5 % (7 standard errors)."""
    f, g = PAIR.values([1.0, -1.0])
    s, n = 0.1, 100_000
    hits = _pattern_hits(f, pattern, scale=s, runs=n, rng=_rng(2))
    exact = sign_pattern_probability(f, pattern, scale=s)
    assert binomtest(hits, n, exact).pvalue > 1e-5
    if pattern == [1, -1]:
        assert _pattern_hits(g, pattern, scale=s, runs=n, rng=_rng(3)) == 0


def test_the_curve_has_the_closed_forms_and_its_simulation():
    """Eight rates within 5 standard errors: false alarm below 5e-6."""
    epsilons = [0.1, 0.25, 0.5, 1.0]
    curve = pattern_curve(epsilons, runs=20_000, seed=0)
    assert curve.epsilons.tolist() == epsilons
    for k, epsilon in enumerate(epsilons):
        assert curve.exact[0, k] == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
        assert curve.exact[1, k] == pytest.approx(-math.expm1(-epsilon / 2), rel=1e-12)
    rates = curve.hits / curve.runs
    assert (np.abs(rates - curve.exact) <= 5 * curve.se).all()
    assert curve.se[0, 3] == pytest.approx(math.sqrt(math.exp(-1) * (1 - math.exp(-1)) / 20_000))
    assert not curve.other_hits.any()


def test_the_curve_does_not_depend_on_sample_size_and_penalty():
    """The gap over the scale is epsilon (or half of it) whatever m and lambda are."""
    one = pattern_curve([0.5], runs=10, seed=0)
    two = pattern_curve([0.5], runs=10, seed=0, n_records=11, regularization=0.7)
    assert np.allclose(one.exact, two.exact, rtol=1e-12)

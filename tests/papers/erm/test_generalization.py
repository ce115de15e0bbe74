"""Theorem 3: constants that are never exceeded, attained by two mechanisms that are enumerated."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dplit.papers.erm.generalization import _Gap, exact_gap, generalization_bound, printed_threshold
from dplit.papers.erm.sharp_mechanisms import (
    inclusion_probability,
    random_mechanism,
    response_gap,
    response_mechanism,
    subset_gap,
    subset_mechanism,
)
from dplit.streams import stream

SIDES = ("over", "under")


def _relative(gap: _Gap, side: str) -> float:
    sign = 1 if side == "over" else -1
    return sign * (gap.sample - gap.population) / gap.sample


def _by_hand(law, values, k, m):
    """Sample mean, population mean and epsilon by loops over data sets, outputs and neighbours."""
    sets = list(itertools.product(range(k), repeat=m))
    sample = population = 0.0
    for row, data in enumerate(sets):
        for output, chance in enumerate(law[row]):
            sample += chance * sum(values[output, j] for j in data) / m
            population += chance * values[output].mean()
    epsilon = 0.0
    for (a, first), (b, second) in itertools.product(enumerate(sets), repeat=2):
        if sum(i != j for i, j in zip(first, second, strict=True)) == 1:
            epsilon = max(epsilon, float(np.log(law[a] / law[b]).max()))
    return sample / len(sets), population / len(sets), epsilon


@pytest.mark.claim("erm-thm3")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_bounds_are_the_two_constants_of_the_proof(epsilon, side):
    sharp = generalization_bound(epsilon=epsilon, mean=0.7, side=side)
    ratio = math.exp(epsilon)
    assert sharp == pytest.approx(0.7 * (1 - 1 / ratio if side == "over" else ratio - 1), rel=1e-14)
    printed = generalization_bound(epsilon=epsilon, mean=0.7, side=side, version="printed")
    assert printed == pytest.approx(1.4 * epsilon, rel=1e-14)
    holds = side == "over" or epsilon <= printed_threshold()
    assert (sharp <= printed) == holds


@pytest.mark.claim("erm-thm3")
def test_threshold_of_the_second_printed_inequality():
    root = brentq(lambda e: math.expm1(e) - 2 * e, 1.0, 2.0, xtol=1e-14)
    assert printed_threshold() == pytest.approx(root, rel=1e-12)
    assert response_gap(10**6, epsilon=1.5, side="under") > 2 * 1.5  # so epsilon < 1 is needed


@pytest.mark.claim("erm-thm3")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (2, 1.0), (5, 0.5), (30, 2.0)])
def test_randomised_response_matches_its_closed_form(k, epsilon, side):
    gap = exact_gap(*response_mechanism(k, epsilon=epsilon, side=side))
    assert _relative(gap, side) == pytest.approx(response_gap(k, epsilon=epsilon, side=side))
    assert gap.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert gap.sample == pytest.approx(
        1 / (1 + (k - 1) * math.exp(-epsilon if side == "over" else epsilon)), rel=1e-12
    )


@pytest.mark.claim("erm-thm3")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("k", "m", "p", "epsilon"), [(4, 2, 0.05, 0.5), (4, 3, 0.07, 0.7), (5, 2, 0.3, 0.5)]
)
def test_subset_mechanism_matches_its_closed_form_and_is_exactly_private(k, m, p, epsilon, side):
    gap = exact_gap(*subset_mechanism(k, m, p, epsilon=epsilon, side=side))
    expected = subset_gap(k, m, p, epsilon=epsilon, side=side)
    assert _relative(gap, side) == pytest.approx(expected, rel=1e-11)
    assert gap.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert gap.sample == pytest.approx(inclusion_probability(p, epsilon=epsilon, side=side))


@pytest.mark.claim("erm-thm3")
def test_enumeration_agrees_with_plain_loops():
    law, values = subset_mechanism(3, 2, 0.2, epsilon=0.8)
    assert np.asarray(exact_gap(law, values)) == pytest.approx(_by_hand(law, values, 3, 2))
    law, values = random_mechanism(3, 2, 5, epsilon=1.3, rng=stream(0, "erm-thm3", "data"))
    assert np.asarray(exact_gap(law, values)) == pytest.approx(_by_hand(law, values, 3, 2))


@pytest.mark.claim("erm-thm3")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("m", [1, 100])
def test_both_constants_are_attained_for_every_sample_size(m, side):
    gap = subset_gap(10**6, m, 1e-4, epsilon=0.5, side=side)
    bound = generalization_bound(epsilon=0.5, side=side)
    assert 0.999 * bound < gap < bound


@pytest.mark.claim("erm-rem1")
def test_no_private_mechanism_exceeds_the_bounds_whatever_the_range_of_its_values():
    """Deterministic inequalities: no false alarm. Values reach far beyond 1."""
    rng, largest = stream(0, "erm-rem1", "data"), 0.0
    for _ in range(300):
        k, m, n = (int(x) for x in rng.integers((2, 1, 2), (5, 4, 6)))
        law, values = random_mechanism(k, m, n, epsilon=float(rng.uniform(0.05, 3)), rng=rng)
        weights = rng.dirichlet(np.ones(k)) * 0.9 + 0.1 / k
        gap = exact_gap(law, values, weights=weights)
        largest = max(largest, float(values.max()))
        for side in SIDES:
            bound = generalization_bound(epsilon=gap.epsilon, side=side)
            assert _relative(gap, side) <= bound + 1e-12
    assert largest > 100


@pytest.mark.claim("erm-rem1")
def test_random_mechanism_uses_half_of_its_budget():
    """Its rows have nearly the same sum, so half of epsilon is for them; 600 scores come close."""
    gap = exact_gap(*random_mechanism(2, 1, 600, epsilon=1.0, rng=stream(1, "erm-rem1", "data")))
    assert 0.48 < gap.epsilon <= 0.52
    # the median of an absolute Cauchy variable is 1
    _, values = random_mechanism(5, 1, 4000, epsilon=1.0, rng=stream(2, "erm-rem1", "data"))
    assert np.median(values) == pytest.approx(1.0, abs=0.1)

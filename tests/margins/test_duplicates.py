"""Copies of a record: their law by counting, three accountings, and their defects."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dplit.accounting import gdp_budget, gdp_delta
from dplit.margins.duplicates import (
    _phase_sizes,
    _single_copy_mu,
    copies_multiplier,
    copy_cap,
    copy_law,
    mixture_delta,
)
from dplit.streams import stream
from dplit_studies.margin.learners import draw_squared_copies

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "n_samples": 1000}


def test_phases_are_never_empty():
    for n in (2, 3, 8, 1000, 1023, 1024):
        sizes = _phase_sizes(n)
        assert len(sizes) == math.floor(math.log2(n))
        assert min(sizes) == 1
        assert sum(sizes) <= n - 1
    assert sum(_phase_sizes(1024)) == 1023


@pytest.mark.claim("margin-beyond-dup")
def test_law_by_enumerating_all_passes_of_a_tiny_sample():
    """m = 4: phases of 2 and 1 draws, 64 passes, each with probability 1/64."""
    counts = Counter()
    for draws in product(range(4), repeat=3):
        counts[(draws[:2].count(0)) ** 2 + (draws[2:].count(0)) ** 2] += 1 / 64
    law = copy_law(4)
    assert {int(v): p for v, p in zip(law.values, law.probabilities, strict=True) if p > 0} == (
        pytest.approx(dict(counts))
    )


@pytest.mark.claim("margin-beyond-dup")
def test_what_a_law_leaves_out_counts_as_broken():
    """A law cut off early keeps a delta that is never too small. Kills a mixture without the mass
    beyond its law, and one that is not counted for every phase."""
    exact = mixture_delta(epsilon=1.0, mu=0.3, n_samples=1000)
    for tail in (1e-2, 1e-3, 1e-5):
        law = copy_law(1000, tail=tail)
        assert law.beyond >= 1.0 - law.probabilities.sum() > 0.0
        cut = mixture_delta(epsilon=1.0, mu=0.3, n_samples=1000, law=law)
        kept = cut - law.beyond
        assert kept < exact <= cut


@pytest.mark.claim("margin-beyond-dup")
def test_several_runs_convolve():
    one, two = copy_law(50), copy_law(50, runs=2)
    both = np.convolve(one.probabilities, one.probabilities)[: len(two.values)]
    np.testing.assert_allclose(two.probabilities, both, atol=1e-15)


@pytest.mark.claim("margin-beyond-dup")
def test_mixture_is_the_mean_of_the_profiles():
    """Against a mean over 10^6 drawn passes, four standard errors."""
    drawn = draw_squared_copies(1000, size=10**6, rng=stream(0, "profiles", "data"))
    values = {s: gdp_delta(epsilon=1.0, mu=0.3 * math.sqrt(s)) for s in np.unique(drawn) if s > 0}
    each = np.array([values.get(s, 0.0) for s in drawn])
    exact = mixture_delta(epsilon=1.0, mu=0.3, n_samples=1000)
    assert abs(each.mean() - exact) < 5 * each.std() / 1000
    assert mixture_delta(epsilon=0.0, mu=50.0, n_samples=1000) < 1.0


@pytest.mark.claim("margin-beyond-dup")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 2.850),
        ({"epsilon": 0.5}, 2.718),
        ({"epsilon": 4.0}, 3.218),
        ({"delta": 1e-5}, 2.520),
        ({"n_samples": 100}, 2.813),
        ({"n_samples": 100_000}, 2.855),
    ],
)
def test_multipliers_of_the_mixture(change, expected):
    value = copies_multiplier(**{**BUDGET, **change}, accounting="mixture")
    assert value == pytest.approx(expected, abs=6e-4)
    assert copies_multiplier(**{**BUDGET, **change}, accounting="permutation") == 1.0


@pytest.mark.claim("margin-beyond-dup")
def test_caps_and_their_two_splits():
    assert copy_cap(n_samples=1000, failure=5e-7) == 9
    assert binom.sf(9, 1000, 1e-3) == pytest.approx(1.07e-7, rel=5e-3)
    assert binom.sf(8, 1000, 1e-3) == pytest.approx(1.09e-6, rel=5e-3)
    half = copies_multiplier(**BUDGET, accounting="tight_cap")
    spare = copies_multiplier(**BUDGET, accounting="tight_cap", spare=True)
    mu = gdp_budget(epsilon=1.0, delta=1e-6)
    assert half == pytest.approx(9 * mu / gdp_budget(epsilon=1.0, delta=5e-7), rel=1e-9)
    assert (round(half, 2), round(spare, 2)) == (9.30, 9.05)
    log = copies_multiplier(**BUDGET, accounting="log_cap", spare=True)
    assert log == pytest.approx(math.log(1e6), rel=1e-3)


@pytest.mark.claim("margin-beyond-dup")
@pytest.mark.parametrize("accounting", ["permutation", "mixture", "tight_cap", "log_cap"])
def test_every_accounting_keeps_the_budget(accounting):
    """Its own proof is not asked: the mixture is the truth for all that draw with replacement."""
    for runs in (1, 6):
        mu = _single_copy_mu(**BUDGET, accounting=accounting, runs=runs)
        if accounting == "permutation":
            reached = gdp_delta(epsilon=1.0, mu=mu * math.sqrt(runs))
        else:
            reached = mixture_delta(
                epsilon=1.0, mu=mu, n_samples=1000, law=copy_law(1000, runs=runs)
            )
        assert reached <= 1e-6 * (1 + 1e-9)
        if accounting in ("permutation", "mixture"):
            assert reached >= 1e-6 * (1 - 1e-6)


@pytest.mark.claim("margin-beyond-dup")
def test_ignoring_duplicates_breaks_the_budget():
    """Noise for one copy, drawn with replacement: delta is a thousand times what was promised."""
    mu = gdp_budget(epsilon=1.0, delta=1e-6)
    assert mixture_delta(epsilon=1.0, mu=mu, n_samples=1000) > 1e-3


def test_tiny_and_huge_budgets():
    assert copies_multiplier(epsilon=1e5, delta=1e-6, n_samples=100, accounting="mixture") > 1.0
    tiny = copies_multiplier(epsilon=1.0, delta=1e-30, n_samples=100, accounting="mixture")
    assert tiny > copies_multiplier(epsilon=1.0, delta=1e-6, n_samples=100, accounting="mixture")
    loose = {"epsilon": 3.0, "delta": 0.9, "n_samples": 10}
    assert copies_multiplier(**loose, accounting="mixture") >= 1.0

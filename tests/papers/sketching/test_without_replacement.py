"""Sums over a sample of fixed size: exact densities, and the budget for replaced records."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dplit.papers.sketching.without_replacement import (
    sample_epsilon,
    sample_log_density,
    sample_scale,
)
from dplit.streams import stream


@pytest.mark.claim("sketch-beyond-wor")
def test_density_is_a_mean_of_laplace_densities():
    features = stream(0, "test-wor", "data").standard_normal((5, 2))
    points = stream(0, "test-wor", "noise").standard_normal((30, 2))
    direct = np.zeros(30)
    for chosen in combinations(range(5), 3):
        centre = features[list(chosen)].sum(axis=0)
        direct += np.prod(stats.laplace.pdf(points, centre, 0.8), axis=1) / 10
    ours = sample_log_density(points, features, 3, scale=0.8) - 2 * math.log(2 * 0.8)
    np.testing.assert_allclose(ours, np.log(direct), rtol=1e-12)


@pytest.mark.claim("sketch-beyond-wor")
def test_the_small_example_leaks_2_336_for_a_claimed_1():
    """One of two records +1, -1 against the record -1 alone, with the level of Appendix D and the
    sensitivity of an added record, which is not printed there.
    """
    scale = sample_scale(epsilon=1.0, sampling_rate=0.5, sensitivity=1.0)
    assert scale == pytest.approx(1 / math.log(1 + 2 * (math.e - 1)), rel=1e-14)
    s = np.linspace(-60, 60, 24_001)[:, None]
    both = sample_log_density(s, [[1.0], [-1.0]], 1, scale=scale)
    alone = sample_log_density(s, [[-1.0]], 1, scale=scale)
    largest = float(np.max(both - alone))
    exact = math.log((1 + (1 + 2 * (math.e - 1)) ** 2) / 2)
    assert largest == pytest.approx(exact, rel=1e-12)
    assert exact == pytest.approx(2.33617, abs=1e-5)
    ours = sample_epsilon(scale=scale, sampling_rate=0.5, sensitivity=2.0)
    assert ours == pytest.approx(exact, rel=1e-12)


@pytest.mark.claim("sketch-beyond-wor")
@pytest.mark.parametrize(("n", "kept"), [(2, 1), (5, 2), (6, 5), (4, 4)])
def test_the_corrected_scale_is_exact_and_no_pair_exceeds_it(n, kept):
    """Features in [-1, 1]: replaced records move the sum by 2. Random data on a grid of releases,
    and the worst data: all other records at -1, the new one at +1."""
    rate, epsilon = kept / n, 0.8
    scale = sample_scale(epsilon=epsilon, sampling_rate=rate, sensitivity=2.0)
    assert sample_epsilon(scale=scale, sampling_rate=rate, sensitivity=2.0) == pytest.approx(
        epsilon, rel=1e-12
    )
    s = np.linspace(-80, 80, 4001)[:, None]
    rng = stream(0, f"test-wor-{n}", "data")
    worst = -np.ones((n, 1))
    worst[-1] = 1.0
    for trial in range(30):
        features = rng.uniform(-1, 1, (n, 1)) if trial else worst
        larger = sample_log_density(s, features, kept, scale=scale)
        if kept < n:
            smaller = sample_log_density(s, features[:-1], kept, scale=scale)
            ratio = larger - smaller
            assert np.abs(ratio).max() <= epsilon * (1 + 1e-12)
            if not trial:
                assert ratio.max() == pytest.approx(epsilon, rel=1e-12)
        other = features.copy()
        other[-1] = rng.uniform(-1, 1) if trial else -1.0
        replaced = larger - sample_log_density(s, other, kept, scale=scale)
        assert np.abs(replaced).max() <= epsilon * (1 + 1e-12)
        if not trial:
            assert replaced.max() == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.claim("sketch-beyond-wor")
@pytest.mark.parametrize("columns", [1, 2])
def test_the_printed_level_holds_for_a_replaced_record(columns):
    """The relation that Lemma 26's public n suggests, over samples of three of six records and
    records in one or two columns: kills the claim that Appendix D's level is refuted.
    """
    rng, epsilon = stream(0, "test-wor-replaced", "data"), 0.8
    scale = sample_scale(epsilon=epsilon, sampling_rate=0.5, sensitivity=2.0 * columns)
    points = rng.uniform(-20, 20, (3000, columns))
    for _ in range(40):
        features = rng.choice([-1.0, 1.0], (6, columns))
        other = features.copy()
        other[-1] = -features[-1]
        first, second = (sample_log_density(points, f, 3, scale=scale) for f in (features, other))
        assert np.abs(first - second).max() <= epsilon * (1 + 1e-12)

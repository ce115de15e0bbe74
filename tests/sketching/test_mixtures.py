"""The synthetic law: moments, nesting, the public box and the exact sketch."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.sketching.sketches import SketchMap, sketch
from dplit_studies.sketching.mixture_laws import MixtureLaw

LAW = MixtureLaw(3, 5, separation=2.0, frequency_variance=0.3)


def test_records_are_centres_plus_unit_gaussians():
    """Weights, means and variances within 5 standard errors (false alarm below 1e-5).

    Kills unequal weights and a variance of the records that is 10 % off.
    """
    n = 60_000
    far = MixtureLaw(3, 5, separation=400.0, frequency_variance=0.3)
    X, centers = far.draw(n, rng=np.random.default_rng(1), dtype="float64")
    near = np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)
    share = np.bincount(near, minlength=3) / n
    assert np.max(np.abs(share - 1 / 3)) < 5 * np.sqrt(2 / 9 / n)
    gap = X - centers[near]
    assert np.max(np.abs(gap.mean(axis=0))) < 5 / np.sqrt(n)
    assert np.max(np.abs(gap.var(axis=0) - 1)) < 5 * np.sqrt(2 / n)


def test_centres_have_the_stated_variance():
    """2000 draws of 15 coordinates: 5 standard errors are 4 %; kills a missing k^{1/d}."""
    rng = np.random.default_rng(2)
    centers = np.array([LAW.draw(1, rng=rng)[1] for _ in range(2000)])
    expected = 2.0 * 3 ** (1 / 5)
    assert LAW.center_variance == pytest.approx(expected, rel=1e-12)
    assert np.mean(centers**2) == pytest.approx(expected, rel=5 * np.sqrt(2 / centers.size))
    assert LAW.bounds == pytest.approx((-3.5 * np.sqrt(1 + expected), 3.5 * np.sqrt(1 + expected)))


def test_frequencies_are_nested_and_scaled():
    """10,000 entries: 5 standard errors of the variance are 7 %; kills the variance as a root."""
    long = LAW.frequencies(2000, rng=np.random.default_rng(3))
    short = LAW.frequencies(20, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(long[:, :20], short)
    assert np.var(long) == pytest.approx(0.3, rel=5 * np.sqrt(2 / long.size))


def test_first_numbers_of_the_stream_are_the_centres():
    """What lets an experiment draw the centres again without the records."""
    one, many = (LAW.draw(n, rng=np.random.default_rng(4))[1] for n in (1, 500))
    np.testing.assert_array_equal(one, many)


def test_population_sketch_is_the_limit_of_sketches():
    """400,000 records: every entry within 5 / sqrt(n) (false alarm below 1e-4 for 60 entries).

    Kills a decay with another variance and centres that are not averaged.
    """
    n = 400_000
    X, centers = LAW.draw(n, rng=np.random.default_rng(5))
    omega = LAW.frequencies(30, rng=np.random.default_rng(6))
    mean = sketch(X, SketchMap("fourier", omega)).mean
    gap = mean - LAW.population_sketch(omega, centers)
    assert np.max(np.abs(gap)) > 0
    # weights 1/3 of the law, not of the sample: within multinomial error
    assert np.max(np.abs(gap)) < 5 * np.sqrt(1 / n)

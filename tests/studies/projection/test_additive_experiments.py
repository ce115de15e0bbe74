"""The simulations themselves: exact settings, reproducible streams, and what they must show."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.projection.guarantees import uniform_limit
from dplit.papers.projection.regression import root_snr
from dplit.streams import stream
from dplit_studies.projection.additive_experiments import (
    additive_errors,
    correction_errors,
    planted_problem,
)


@pytest.mark.parametrize("r", [0.0, 0.3, 17.0])
def test_the_planted_problem_has_the_snr_that_was_asked_for(r):
    X, y = planted_problem(60, 4, root_snr=r, rng=stream(0, "test-planted", "data"))
    assert root_snr(X, y) == pytest.approx(r, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(y) ** 2 == pytest.approx(56 * (1 + r**2), rel=1e-9)
    assert np.abs(X).max() <= 1


def test_additive_errors_are_relative_errors_of_fresh_releases():
    X, y = planted_problem(60, 4, root_snr=2.0, rng=stream(0, "test-errors", "data"))
    errors = additive_errors(X, y, epsilon=0.5, size=5, rng=stream(0, "test-errors", "noise"))
    assert len(set(errors.tolist())) == 5
    assert errors.min() > 1
    nearly = additive_errors(X, y, epsilon=20.0, size=2, rng=stream(0, "test-errors", "noise"))
    assert nearly == pytest.approx(np.ones(2), abs=1e-9)


@pytest.mark.claim("proj-beyond-attenuation")
def test_the_correction_helps_with_many_rows_and_few_and_all_of_the_noise_hurts():
    """Paired over 6 data sets: gaps of 15 and of 3 standard deviations of a pair."""
    many = correction_errors(2500, 50, epsilon=0.5, root_snr=17.0, n_trials=6, seed=0)
    assert (many.of("useful") < 0.5 * many.of("raw")).all()
    limit = uniform_limit(epsilon=0.5, share=1.0, snr=289.0)
    assert many.mean("raw") == pytest.approx(limit, rel=0.06)
    few = correction_errors(250, 40, epsilon=1.5, root_snr=17.0, n_trials=6, seed=0)
    assert (few.of("useful") < few.of("raw")).all()
    assert few.mean("full") > 1.5 * few.mean("raw")


def test_trials_are_reproducible_and_independent_of_jobs():
    first, again, other = (
        correction_errors(100, 3, epsilon=1.0, root_snr=3.0, n_trials=3, seed=seed)
        for seed in (1, 1, 2)
    )
    assert (first.of("raw") == again.of("raw")).all()
    assert (first.of("useful") == again.of("useful")).all()
    assert (first.of("raw") != other.of("raw")).all()
    assert len(set(first.of("raw").tolist())) == 3

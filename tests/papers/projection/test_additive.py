"""Additive noise: law of the release, fits, the limit of their error and the correction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm
from sklearn.linear_model import Ridge

from dplit.entries.privacy import additive_sigma
from dplit.papers.projection.additive_noise import (
    _additive_scale,
    attenuation_limit,
    release_additive,
)
from dplit.papers.projection.capacity import exact_sigma
from dplit.papers.projection.guarantees import uniform_limit
from dplit.papers.projection.regression import relative_error
from dplit.streams import stream
from dplit_studies.projection.additive_experiments import additive_errors, planted_problem


def _problem(seed: int = 0, n: int = 200, d: int = 3, root_snr: float = 4.0):
    return planted_problem(n, d, root_snr=root_snr, rng=stream(seed, "test-additive", "data"))


@pytest.mark.claim("proj-eq8")
@pytest.mark.parametrize(
    ("calibration", "clip", "sigma"),
    [("paper", (-1, 1), 1.0), ("exact", (-1, 1), 0.9787), ("paper", (0, 1), 0.5)],
)
def test_the_noise_has_the_announced_law(calibration, clip, sigma):
    """200,000 entries: a deficit of 1.5 % is 9 standard errors; false alarms below 1e-4."""
    X = stream(1, "test-release", "data").uniform(*clip, (2000, 100))
    rng = stream(1, "test-release", "noise")
    out = release_additive(X, epsilon=0.5, rng=rng, calibration=calibration, clip=clip)
    noise = (out - X).ravel() / sigma
    assert kstest(noise, norm.cdf).pvalue > 1e-5
    assert np.std(noise) == pytest.approx(1.0, abs=4.5 / math.sqrt(2 * noise.size))
    assert np.std(noise * 0.985) != pytest.approx(1.0, abs=4.5 / math.sqrt(2 * noise.size))


@pytest.mark.claim("proj-eq8")
def test_entries_outside_the_interval_are_clipped_before_the_noise():
    rng = [stream(2, "test-clip", "noise") for _ in range(2)]
    wild = release_additive([[3.0, -8.0], [0.5, 0.0]], epsilon=1.0, rng=rng[0])
    tame = release_additive([[1.0, -1.0], [0.5, 0.0]], epsilon=1.0, rng=rng[1])
    assert (wild == tame).all()
    assert tame.mean() != pytest.approx(0.125, abs=1e-6)


@pytest.mark.claim("proj-eq8")
def test_release_with_a_huge_budget_is_the_table():
    X, _ = _problem()
    out = release_additive(X, epsilon=60.0, rng=stream(0, "test-huge", "noise"))
    assert out == pytest.approx(X, abs=1e-15 + 1e-16 * 60)


@pytest.mark.claim("proj-eq9")
def test_scale_of_both_calibrations():
    assert _additive_scale(epsilon=0.2) == pytest.approx(additive_sigma(epsilon=0.2), rel=1e-15)
    exact = _additive_scale(epsilon=1.0, calibration="exact", clip=(0, 4))
    assert exact == pytest.approx(2 * exact_sigma(epsilon=1.0), rel=1e-15)


@pytest.mark.claim("proj-beyond-attenuation")
@given(st.integers(0, 1000), st.floats(0, 5))
def test_the_limit_is_the_relative_error_of_ridge_regression(seed, sigma):
    X, y = _problem(seed, n=30)
    ridge = Ridge(alpha=30 * sigma**2, fit_intercept=False, solver="svd").fit(X, y).coef_
    limit = attenuation_limit(X, y, sigma=sigma)
    assert limit == pytest.approx(relative_error(ridge, X, y), rel=1e-8)


@pytest.mark.claim("proj-beyond-attenuation")
def test_errors_of_releases_come_near_the_limit():
    """n/d = 4000; the mean of 40 errors has a standard error of 0.2 %; false alarms below 1e-4."""
    X, y = _problem(3, n=8000, d=2, root_snr=3.0)
    errors = additive_errors(X, y, epsilon=0.5, size=40, rng=stream(3, "test-limit", "noise"))
    limit = attenuation_limit(X, y, sigma=1.0)
    se = errors.std(ddof=1) / math.sqrt(len(errors))
    assert errors.mean() == pytest.approx(limit, abs=4.6 * se + 0.002 * (limit - 1))
    assert se < 0.005 * limit
    assert limit == pytest.approx(uniform_limit(epsilon=0.5, share=1.0, snr=9.0), rel=0.03)

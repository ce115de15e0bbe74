"""The release of quadratic features where a record is replaced, and the attack on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplit.audit import run_controls
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.streams import stream
from dplit_studies.sketching import additive_audits

pytestmark = pytest.mark.claim("sketch-beyond-bdp")

IDENTITY = np.eye(2)


def test_noise_levels_of_one_basis() -> None:
    """Kills sensitivity for scale, printed for corrected, factors 0.5 and 1.05."""
    assert additive_audits.noise_level(IDENTITY, epsilon=0.5) == pytest.approx(4.0, rel=1e-12)
    assert additive_audits.noise_level(IDENTITY, epsilon=0.5, as_printed=True) == pytest.approx(
        2.0, rel=1e-12
    )
    sigma = additive_audits.noise_level(IDENTITY, epsilon=1.0, delta=1e-5)
    assert gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=2**0.5) <= 1e-5
    assert sigma == pytest.approx(gaussian_sigma(epsilon=1.0, delta=1e-5) * 2**0.5, rel=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_release_is_the_sum_with_noise_of_its_level(delta: float) -> None:
    """False alarm 2e-5 a case.  Kills unclipped records, one noise for all releases."""
    X = np.array([[3.0, 4.0], [0.0, 0.5]])  # the first is clipped to (0.6, 0.8)
    draws = additive_audits._quadratic_release(
        X, IDENTITY, epsilon=1.0, delta=delta, rng=stream(0, "t-release", "noise"), size=100_000
    )
    level = additive_audits.noise_level(IDENTITY, epsilon=1.0, delta=delta)
    gap = (draws - np.array([0.36, 0.64 + 0.25])) / level
    law = stats.laplace() if delta == 0 else stats.norm()
    assert stats.kstest(gap.ravel(), law.cdf).pvalue > 1e-5
    assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(gap.size)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 1e-5)])
def test_printed_calibration_is_refuted_and_the_fix_is_not(epsilon: float, delta: float) -> None:
    """Four million runs.  False alarm of the fix 1e-4; the leak is nine standard errors away."""
    keywords: Any = {"epsilon": epsilon, "delta": delta}
    printed = additive_audits.audit_replacement(
        IDENTITY, rng=stream(0, "t-audit", "noise"), as_printed=True, runs=4_000_000, **keywords
    )
    assert printed.violated
    if delta == 0:
        assert printed.epsilon_lower > 1.95 * epsilon
        assert printed.epsilon_lower <= 2.0 * epsilon

    def alarm(factor: float) -> bool:
        rng = stream(1, "t-audit", "noise")
        return additive_audits.audit_replacement(
            IDENTITY, rng=rng, noise_factor=factor, runs=10**6, **keywords
        ).violated

    assert run_controls(alarm).sound


def test_gaussian_attack_event_is_where_the_loss_exceeds_epsilon() -> None:
    """By densities; kills a missing midpoint, the wrong variance."""
    rng = np.random.default_rng(0)
    f, g, s = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal((500, 3))
    log_ratio = (stats.norm(f, 0.7).logpdf(s) - stats.norm(g, 0.7).logpdf(s)).sum(axis=1)
    event = additive_audits._attack_event(s, f, g, epsilon=0.8, delta=1e-5, level=0.7)
    assert (event == (log_ratio > 0.8)).all()

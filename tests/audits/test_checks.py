"""Laws of noise, looks beside the numbers, one run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from dplit.kernels import random_features
from dplit.kernels._certified_ridge import mean_share, noisy_mean
from dplit_studies.audits import cases
from dplit_studies.audits.checks import (
    NOISES,
    audit_noise,
    audit_one_run,
    look_beside,
    promised,
    spent,
)

LEVEL = 5e-7


@pytest.mark.claim("audits-beyond-stated", "audits-beyond-power")
@pytest.mark.parametrize("name", NOISES)
def test_noise_has_its_law_and_half_of_it_is_caught(name: str) -> None:
    """False alarm 5e-7; kills a scale that is half of what is stated."""
    found = audit_noise(name, level=LEVEL, seed=0)
    assert found.sound
    assert found.null.test.scale_ratio == pytest.approx(1.0, abs=0.1)
    assert found.planted.test.scale_ratio == pytest.approx(0.5, abs=0.05)


@pytest.mark.claim("audits-beyond-stated")
def test_a_look_reports_the_largest_distance() -> None:
    found = look_beside("CompressiveKMeans", every=8, confidence=1 - LEVEL, seed=0)
    assert found.pairs == 8
    assert not found.violated
    assert 0.9999 < found.moved <= 1.0 + 1e-9
    unknown = look_beside("release_additive", every=8, confidence=1 - LEVEL, seed=0)
    assert not unknown.violated
    assert unknown.moved != unknown.moved  # noise on the entries themselves


@pytest.mark.claim("audits-beyond-stated")
def test_a_look_hears_what_is_said_beside_the_numbers(monkeypatch: Any) -> None:
    """Kills a look that forgets the report, or the bound on distances."""
    honest = cases.RELEASES["plan_release polydisc"]
    far = replace(honest, distance=lambda one, other: 1.5)
    monkeypatch.setitem(cases.RELEASES, "too far", far)
    found = look_beside("too far", every=8, confidence=1 - LEVEL, seed=0)
    assert found.violated
    assert found.moved == 1.5
    monkeypatch.setitem(cases.RELEASES, "loud", replace(honest, noised=(), distance=None))
    assert look_beside("loud", every=8, confidence=1 - LEVEL, seed=0).violated


@pytest.mark.claim("audits-beyond-power")
def test_one_run_sees_a_fifth_of_the_noise() -> None:
    """False alarm 5e-7."""
    found = audit_one_run(bits=0.05, confidence=1 - LEVEL, seed=0)
    assert found.sound
    assert found.null.lower > 0.2 * found.null.claimed


@pytest.mark.claim("audits-beyond-ledger")
def test_what_is_spent_is_what_a_fit_drew() -> None:
    """Kills a ledger that is closed too early, or asked at another delta."""
    pytest.importorskip("dp_accounting")
    assert promised("SufficientStatisticsRegressor") == (1.0, 1e-5)
    found = spent("SufficientStatisticsRegressor", delta=1e-5)
    assert found.draws == 2
    assert found.epsilon == pytest.approx(1.0, rel=1e-4)
    assert spent("SufficientStatisticsRegressor", delta=1e-6).epsilon > 1.1
    assert spent("PrivateLloyd", delta=0.0) == (6, pytest.approx(1.0, rel=1e-12))


@pytest.mark.claim("audits-beyond-ledger")
@pytest.mark.parametrize("fault", ["mean for free", "mean unheard", "share of a half"])
def test_a_mean_whose_share_is_not_taken_from_the_budget_is_reported(
    fault: str, monkeypatch: Any
) -> None:
    """Three planted faults of the release of two parts; no count of an event here would see them.

    Weights that take the whole budget beside the mean, a mean that the ledger is not told of, and
    weights told of half the share that the mean takes.
    """
    pytest.importorskip("dp_accounting")
    name = "PrivateRandomFeatureRegressor"
    stated, delta = promised(name)
    honest = spent(name, delta=delta)
    assert honest.draws == 2
    assert 0.98 * stated < honest.epsilon <= stated * (1 + 2e-5)
    told = {"mean for free": 1e-12, "mean unheard": None, "share of a half": 0.5}[fault]

    def shared(strength: float) -> float:
        return mean_share(strength) * (told or 1.0)

    def mean(units: Any, unit: float, rng: Any) -> float:
        if told is None:
            return float(units.mean() + rng.standard_normal())
        return noisy_mean(units, unit * math.sqrt(told), rng)

    monkeypatch.setattr(random_features, "mean_share", shared)
    monkeypatch.setattr(random_features, "noisy_mean", mean)
    found = spent(name, delta=delta)
    if told is None:  # what is missing is not heard as more, and not as all
        assert found.draws == 1
        assert found.epsilon < 0.9 * stated
    else:
        assert found.epsilon > 1.05 * stated

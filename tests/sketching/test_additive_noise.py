"""Additive releases: the noise has the law of the definition, on every real coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplit import mechanisms
from dplit.audit import chi_square_noise_test, gamma_noise_test
from dplit.sketching import additive_noise
from dplit.sketching._exact_sums import exact_sum
from dplit.streams import stream

N = 200_000
LEVEL = 1e-5


def _has_scale(parts: Any, noise: str, scale: float) -> None:
    """Two-sided test of the sum of moduli, or of squares: sees 1.5 % of scale."""
    power, law = (1, stats.gamma) if noise == "laplace" else (2, stats.chi2)
    for factor in (1.0, 0.985, 1.015):
        p = law(parts.size).cdf((np.abs(parts / scale * factor) ** power).sum())
        assert (LEVEL < p < 1 - LEVEL) == (factor == 1.0)


@pytest.mark.claim("sketch-def11")
def test_complex_laplace_noise_has_energy_four_b_squared() -> None:
    """False alarm 6e-5.  Kills E|z|^2 = 2 b^2, equal parts, factors 0.5 and 1.05."""
    z = mechanisms.laplace_noise(N, scale=0.7, rng=stream(0, "t-def11", "noise"), complex=True)
    for part in (z.real, z.imag):
        _has_scale(part, "laplace", 0.7)
    energy = np.abs(z) ** 2
    assert energy.mean() == pytest.approx(4 * 0.49, abs=4.5 * energy.std() / np.sqrt(N))
    assert abs(np.corrcoef(np.abs(z.real), np.abs(z.imag))[0, 1]) < 4.5 / np.sqrt(N)


@pytest.mark.claim("sketch-def12")
@pytest.mark.claim("sketch-def15")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("value", [np.full(N, 2.0), np.full(N, 2.0 - 1.0j)])
def test_a_release_adds_independent_noise_of_its_scale(noise: Any, value: Any) -> None:
    """False alarm 4e-5 a case.  Kills real noise on complex vectors, sigma / sqrt 2 per part,
    factors 0.5 and 1.05.
    """
    rng = stream(0, "t-def12", "noise")
    added = additive_noise.additive_mechanism(value, noise=noise, scale=0.3, rng=rng) - value
    for part in [added.real, added.imag] if np.iscomplexobj(value) else [added]:
        _has_scale(part, noise, 0.3)
        assert abs(np.sign(part).sum()) < 4.5 * np.sqrt(N)


@pytest.mark.claim("sketch-def17")
@pytest.mark.claim("sketch-def19")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noisy_sum_is_the_sum_and_one_noise_vector(noise: Any) -> None:
    """False alarm 4e-5 a case.  Kills noise per record, a mean for the sum, factors 0.5, 1.05."""
    features = np.tile([[1.0 + 2.0j], [3.0 - 1.0j], [-1.0 + 0.5j]], (1, N // 2))
    rng = stream(0, "t-def17", "noise")
    gap = additive_noise.noisy_sum(features, noise=noise, scale=0.2, rng=rng) - (3.0 + 1.5j)
    parts = np.concatenate([gap.real, gap.imag])
    assert np.abs(parts.mean()) < 4.5 * 0.2 * np.sqrt(2) / np.sqrt(N)
    _has_scale(parts, noise, 0.2)
    if noise == "laplace":
        assert not gamma_noise_test(np.abs(parts), scale=0.2).violated(level=LEVEL)
    else:
        test = chi_square_noise_test(parts, sigma=0.2)
        assert not test.violated(level=LEVEL)
        assert test.excess_p_value > LEVEL


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_sums_have_the_same_bits_in_every_order(noise: Any) -> None:
    """A plain sum differs in its last bits; a record moves it by itself and half an ulp, twice."""
    rng = stream(0, "sum-order", "data")
    angles = rng.uniform(0, 2 * np.pi, (20_000, 4))
    features = np.exp(1j * angles)
    assert (features.sum(axis=0) != features[::-1].sum(axis=0)).any()
    rng = np.random.default_rng(0)
    sums = [
        additive_noise.noisy_sum(rows, noise=noise, scale=1e-9, rng=np.random.default_rng(0))
        for rows in (features, features[::-1], rng.permutation(features))
    ]
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])
    moved = exact_sum(features) - exact_sum(features[1:])
    assert np.abs(moved - features[0]).max() <= 2 * np.spacing(np.abs(sums[0]).max())
    huge = np.array([[1e308, -1e308], [1e308, 1.0]])
    assert np.isfinite(exact_sum(huge)).all()

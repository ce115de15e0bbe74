"""K-norm noise: norms, losses and energies of the polydisc, the cube and Laplace noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.features import complex_features, quantized_features
from dplit.papers.sketching import knorm
from dplit.streams import stream

NOISES = ("laplace", "polydisc", "cube")


def features(one_bit: bool, m: int = 6) -> Any:
    rng = stream(0, "test-knorm", "data")
    X, omega = rng.standard_normal((50, 3)), rng.standard_normal((3, m))
    if one_bit:
        return quantized_features(X, omega, rng.uniform(0, 6, m))
    return complex_features(X, omega, normalize=False)


@pytest.mark.claim("sketch-beyond-knorm")
@pytest.mark.parametrize("noise", NOISES)
def test_features_have_norm_one_in_their_bodies(noise: Any) -> None:
    """Kills sqrt 2, parts for moduli, factors 0.5 and 1.05."""
    np.testing.assert_allclose(knorm._body_norm(features(True), noise=noise), 1.0, rtol=1e-12)
    plain = knorm._body_norm(features(False), noise=noise)
    if noise == "polydisc":
        np.testing.assert_allclose(plain, 1.0, rtol=1e-12)
    elif noise == "laplace":
        assert (plain <= 1 + 1e-12).all()
    else:
        assert plain.max() > 1.2  # plain features leave the cube


@pytest.mark.claim("sketch-beyond-knorm")
@pytest.mark.parametrize("noise", NOISES)
def test_loss_stays_below_epsilon_and_attains_it(noise: Any) -> None:
    """Kills a sign, an epsilon that is left out, factors 0.5 and 1.05."""
    feature = features(True)[0]
    draws = knorm.pure_noise(6, noise=noise, epsilon=0.7, rng=stream(0, "t", "noise"), size=5000)
    loss = knorm.knorm_loss(draws, feature, noise=noise, epsilon=0.7)
    assert np.abs(loss).max() <= 0.7 * (1 + 1e-12)
    ends = knorm.knorm_loss([3 * feature, -3 * feature], feature, noise=noise, epsilon=0.7)
    np.testing.assert_allclose(ends, [0.7, -0.7], rtol=1e-12)


@pytest.mark.claim("sketch-beyond-knorm")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("m", [1, 4, 50])
def test_energy_of_the_noise_is_the_formula(noise: Any, m: int) -> None:
    """40000 vectors, 4.5 standard errors: false alarm 7e-6.  Kills 2m for 2m + 1, factors."""
    draws = knorm.pure_noise(
        m, noise=noise, epsilon=0.5, rng=stream(0, "t-energy", "noise"), size=40_000
    )
    energy = (np.abs(draws) ** 2).mean(axis=1)
    expected = knorm.noise_energy(m, noise=noise, epsilon=0.5)
    assert energy.mean() == pytest.approx(expected, abs=4.5 * energy.std() / 200)


@pytest.mark.claim("sketch-beyond-knorm")
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_body_norms_are_norms_and_one_on_the_boundary(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, w = rng.standard_normal((2, m)) + 1j * rng.standard_normal((2, m))
    for noise in NOISES:
        a, b, c = (knorm._body_norm(v, noise=noise) for v in (z, w, z + w))  # type: ignore[arg-type]
        assert c <= a + b + 1e-12
        assert knorm._body_norm(-2.0 * z, noise=noise) == pytest.approx(2.0 * a)  # type: ignore[arg-type]


@pytest.mark.claim("sketch-beyond-knorm")
def test_factors_four_and_six_are_limits() -> None:
    for m, tolerance in ((10**3, 2e-3), (10**6, 2e-6)):
        laplace, disc, cube = (knorm.noise_energy(m, noise=k, epsilon=1.0) for k in NOISES)  # type: ignore[arg-type]
        assert laplace / disc == pytest.approx(4.0, rel=tolerance)
        assert laplace / cube == pytest.approx(6.0, rel=tolerance)


def test_single_vectors_and_sizes() -> None:
    for noise in NOISES:
        draws = knorm.pure_noise(3, noise=noise, epsilon=1.0, rng=np.random.default_rng(0))  # type: ignore[arg-type]
        assert draws.shape == (3,)
        assert draws.dtype == complex

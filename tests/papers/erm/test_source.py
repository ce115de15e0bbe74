"""The integral operator: spectrum, norm, and what the source condition excludes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dplit.papers.erm.kernels import gaussian_gram, trigonometric_features
from dplit.papers.erm.source import (
    operator_spectrum,
    source_norm,
    step_coefficients,
    trigonometric_spectrum,
)
from dplit.streams import stream


@pytest.mark.claim("erm-sec5-setup")
def test_sampled_operator_has_the_stated_spectrum():
    """On an equally spaced grid with more than 2 J points the sampled operator is exact."""
    phi = trigonometric_features(np.arange(64) / 64, n_frequencies=8)
    found = operator_spectrum(phi @ phi.T)
    expected = np.sort(np.repeat(trigonometric_spectrum(8), 2))[::-1]
    assert found[:16] == pytest.approx(expected, rel=1e-9)
    assert found[16:] == pytest.approx(np.zeros(48), abs=1e-12)
    assert found.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.claim("erm-sec5-setup")
def test_eigenfunctions_by_quadrature():
    """L_K applied to sqrt 2 sin(2 pi 3 x) is mu_3 times it."""
    mu = trigonometric_spectrum(5)
    weights = 2 * mu

    def kernel(x, t):
        return sum(w * math.cos(2 * math.pi * k * (x - t)) for k, w in enumerate(weights, 1))

    for t in (0.1, 0.37):
        value = quad(lambda x, t=t: kernel(x, t) * math.sin(6 * math.pi * x), 0, 1)[0]
        assert value == pytest.approx(mu[2] * math.sin(6 * math.pi * t), rel=1e-9)


@pytest.mark.claim("erm-sec5-setup")
def test_norm_of_the_operator_is_at_most_kappa_squared():
    rng = stream(0, "operator", "data")
    for scale, width in ((1.0, 0.3), (2.0, 10.0)):
        X = rng.uniform(-1, 1, (60, 2))
        spectrum = operator_spectrum(scale**2 * gaussian_gram(X, X, width=width))
        assert spectrum[0] <= scale**2
        assert (np.diff(spectrum) <= 0).all()
        assert spectrum.sum() == pytest.approx(scale**2, rel=1e-9)
    assert operator_spectrum(np.full((5, 5), 9.0))[0] == pytest.approx(9.0)


@pytest.mark.claim("erm-sec5-setup")
def test_r_one_half_is_the_norm_of_the_space():
    """f = <w, phi> has norm ||w||; its coefficients are w_k sqrt(weight / 2)."""
    w = stream(0, "half", "data").normal(size=6)
    phi = trigonometric_features(np.arange(64) / 64, n_frequencies=6)
    mu = trigonometric_spectrum(6)
    sines = np.sqrt(2) * np.sin(2 * np.pi * np.outer(np.arange(64) / 64, np.arange(1, 7)))
    coefficients = sines.T @ (phi[:, 6:] @ w) / 64
    assert source_norm(coefficients, mu, 0.5)[-1] == pytest.approx(np.linalg.norm(w), rel=1e-9)
    assert source_norm(coefficients, mu, 0.0)[-1] == pytest.approx(
        math.sqrt(np.mean((phi[:, 6:] @ w) ** 2)), rel=1e-9
    )


@pytest.mark.claim("erm-sec5-setup")
def test_step_function_has_source_exponent_below_a_quarter():
    """Eigenvalues k^-2: the norm converges for r = .2 and grows without limit for r = .25, .5."""
    n = 200_000
    a, mu = step_coefficients(n), np.arange(1, n + 1) ** -2.0
    assert (a**2).sum() == pytest.approx(1.0, abs=1e-5)
    half = n // 2
    growth = {r: source_norm(a, mu, r) ** 2 for r in (0.2, 0.25, 0.5)}
    assert growth[0.2][-1] / growth[0.2][half] < 1.05
    terms = (8 / math.pi**2) * math.log(n) / 2
    assert growth[0.25][-1] == pytest.approx(terms, rel=0.2)
    assert growth[0.5][-1] / growth[0.5][half] == pytest.approx(2.0, rel=0.01)


@pytest.mark.claim("erm-sec5-setup")
def test_coefficients_of_the_step_by_quadrature():
    a = step_coefficients(6)
    for k in range(1, 7):
        value = 2 * quad(lambda x, k=k: math.sqrt(2) * math.sin(2 * math.pi * k * x), 0, 0.5)[0]
        assert a[k - 1] == pytest.approx(value, abs=1e-9)

"""Remark 1: both bounds, what peak power allows, and what average power would."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dplit.papers.projection.channels import scale_information
from dplit.papers.projection.noncoherent import _on_off, flash_information, peak_capacity_bracket


def sixteen(nu, n=1):
    """Bound (16) in bits."""
    return n * math.log1p(1 / nu) / math.log(4)


@pytest.mark.claim("proj-rem1")
@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_peak_bracket_contains_every_prior(n):
    bracket = peak_capacity_bracket(float(n), n_components=n)
    assert bracket.lower < bracket.upper < 1.1 * bracket.lower + 1e-12
    squares = np.linspace(0, 1, 6)
    for prior in (np.full(6, 1 / 6), np.array([0.4, 0, 0.1, 0.1, 0, 0.4])):
        value = scale_information(n + squares, n_samples=n, prior=prior).value
        assert value <= bracket.upper + 1e-12
    two = scale_information([n, n + 1.0], n_samples=n).value
    assert bracket.lower == pytest.approx(two, rel=1e-6)


@pytest.mark.claim("proj-rem1")
def test_upper_end_is_the_equal_divergence():
    """Plain search over the reference variance, n' = 3, nu = 2."""

    def worst(w):
        return max(1.5 * (v / w - 1 - math.log(v / w)) for v in (2.0, 3.0)) / math.log(2)

    best = min(worst(w) for w in np.linspace(2.0, 3.0, 20_001))
    assert peak_capacity_bracket(2.0, n_components=3).upper == pytest.approx(best, rel=1e-4)


@pytest.mark.claim("proj-rem1")
def test_peak_capacity_falls_like_one_over_n():
    for epsilon in (0.2, 0.5):
        gain = 2 ** (2 * epsilon) - 1
        for n in (1000, 10_000):
            bracket = peak_capacity_bracket(n / gain, n_components=n)
            law = gain**2 / (16 * n * math.log(2))
            assert bracket.lower == pytest.approx(law, rel=2 / n * gain + 1e-4)
            assert bracket.upper == pytest.approx(law, rel=2 / n * gain + 1e-4)


@pytest.mark.claim("proj-rem1")
def test_flash_signalling_approaches_the_bound_slowly():
    ratios = [flash_information(nu, n_components=1) / sixteen(nu) for nu in (1e1, 1e3, 1e6, 1e10)]
    assert np.all(np.diff(ratios) > 0)
    assert 0.4 < ratios[0] < 0.5 < 0.7 < ratios[-1] < 1
    best = flash_information(100.0, n_components=4)
    grid = [_on_off(100.0, a**2, 4) for a in np.geomspace(2, 200, 40)]
    assert 0.99 * best < max(grid) < best * (1 + 1e-4)
    assert best > 100 * peak_capacity_bracket(100.0, n_components=4).upper


@pytest.mark.claim("proj-rem1")
def test_flash_information_is_the_integral_over_one_sample():
    """nu = 2, A = 3: on with probability 1/9, by adaptive quadrature over the sample."""

    def integrand(z, own):
        densities = [norm.pdf(z, scale=math.sqrt(v)) for v in (2.0, 11.0)]
        mixture = densities[0] * 8 / 9 + densities[1] / 9
        return densities[own] * math.log2(densities[own] / mixture)

    parts = [2 * quad(integrand, 0, 30, args=(own,), limit=200)[0] for own in (0, 1)]
    expected = parts[0] * 8 / 9 + parts[1] / 9
    value = _on_off(2.0, 9.0, 1)
    assert value == pytest.approx(expected, rel=1e-7)
    assert flash_information(2.0, n_components=1) >= value

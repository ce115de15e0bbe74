"""The unbiased inverse of a noisy count, its variance, and floors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from dplit.papers.sketching.inverse_count import (
    _InverseMoments,
    chapman_robbins_bound,
    cramer_rao_bound,
    floored_inverse,
    floored_moments,
    inverse_moments,
    printed_nsr_bound,
    released_nsr,
    unbiased_moments,
)
from dplit.streams import stream
from dplit_studies.sketching.gaussian_simulation import simulate_released_nsr


def _moments(n: float, scale: float, n_min: float) -> _InverseMoments:
    return unbiased_moments(n=n, scale=scale, n_min=n_min)


@pytest.mark.claim("sketch-lem27")
@settings(max_examples=40, deadline=None)
@given(ratio=st.floats(5.0, 1e4), n_min=st.floats(0.5, 5.0), scale=st.floats(0.1, 100.0))
def test_unbiased_for_every_count_above_the_threshold(
    ratio: float, n_min: float, scale: float
) -> None:
    """Bias below 1e-11; kills the coefficient 2, the cube and the tangent below the threshold."""
    assert abs(_moments(ratio * scale, scale, n_min * scale).mean - 1.0) < 1e-11


@pytest.mark.claim("sketch-lem27")
@pytest.mark.parametrize(
    ("ratio", "n_min", "expected"),
    [
        (1000, 5, 2.000044),
        (100, 5, 2.004419),
        (33, 5, 2.0421),
        (20, 5, 2.1246),
        (20, 1, 2.1265),
        (20, 0.1, 20.854),
        (10, 5, 2.6482),
        (10, 1, 5.3018),
    ],
)
def test_variance_is_twice_the_bound(ratio: float, n_min: float, expected: float) -> None:
    relative = _moments(float(ratio), 1.0, n_min).variance / cramer_rao_bound(n=ratio, scale=1.0)
    assert relative == pytest.approx(expected, rel=3e-5)


@pytest.mark.claim("sketch-ratio")
def test_floor_moments_against_scipy() -> None:
    n, b = 60.0, 10.0
    for floor in (1.0, 20.0):
        ours = inverse_moments(
            lambda y, f=floor: floored_inverse(y, floor=f), n=n, scale=b, kink=floor
        )
        value = [
            quad(
                lambda y, p=p, f=floor: (n / max(y, f)) ** p * np.exp(-abs(y - n) / b) / (2 * b),
                -400,
                900,
                points=[floor, 5.0, 30.0, n],
                limit=500,
            )[0]
            for p in (1, 2)
        ]
        assert ours.mean == pytest.approx(value[0], rel=1e-7)
        assert ours.variance + ours.mean**2 == pytest.approx(value[1], rel=1e-7)


@pytest.mark.claim("sketch-ratio")
@pytest.mark.parametrize(
    ("n", "scale", "floor", "expected"),
    [
        (1e3, 10, 1.0, 2.00724),
        (1e3, 50, 1.0, 2.63788),
        (1e3, 100, 1.0, 2315.1),
        (1e4, 1e4 / 1e4 ** (1 / 3), 1.0, 12.43),
        (1e6, 1e6 / 1e4 ** (1 / 3), 1.0, 1.0211e5),
        (1e6, 1e6 / 1e4 ** (1 / 3), 5e6 / 1e4 ** (1 / 3), 2.1757),
    ],
)
def test_floors(n: float, scale: float, floor: float, expected: float) -> None:
    ours = floored_moments(n=n, scale=scale, floor=floor)
    assert ours.mean_squared_error / (scale / n) ** 2 == pytest.approx(expected, rel=2e-4)


@pytest.mark.claim("sketch-ratio")
@pytest.mark.parametrize("floor", [1e-3, 1e-5])
def test_second_moment_diverges_with_a_vanishing_floor(floor: float) -> None:
    """Mass below 0 over floor^2, then twice the density at 0 over the floor: infinite at 0."""
    n, b = 100.0, 20.0
    ours = inverse_moments(lambda y: floored_inverse(y, floor=floor), n=n, scale=b, kink=floor)
    second = (ours.variance + ours.mean**2) / n**2
    mass = np.exp(-n / b) / 2.0
    assert second == pytest.approx(mass / floor**2 * (1 + 2 * floor / b), rel=10 * floor**2)


@pytest.mark.claim("sketch-lem27")
def test_cramer_rao_bound_from_the_score() -> None:
    """Fisher information of the location by quadrature of the squared score."""
    n, b = 50.0, 4.0
    information = quad(lambda s: np.exp(-s / b) / b**2 / b, 0, 60 * b, points=[b, 10 * b])[0]
    variance_of_inverse = (1.0 / n**2) ** 2 / information
    assert cramer_rao_bound(n=n, scale=b) == pytest.approx(n**2 * variance_of_inverse, rel=1e-9)


def test_chapman_robbins_lies_between() -> None:
    for n in (20.0, 100.0, 1e4):
        lower, upper = cramer_rao_bound(n=n, scale=1.0), _moments(n, 1.0, 5.0).variance
        assert 1.16 * lower < chapman_robbins_bound(n=n, scale=1.0) < upper
    chi2 = quad(  # the divergence, by quadrature at a = 0.95
        lambda y: np.exp(-2 * abs(y - 0.95) + abs(y)) / 2 - np.exp(-abs(y)) / 2,
        -60,
        60,
        points=[0, 0.95],
    )[0]
    assert chi2 == pytest.approx(2 / 3 * np.exp(0.95) + np.exp(-1.9) / 3 - 1, rel=1e-9)
    assert chapman_robbins_bound(n=1e7, scale=1.0) * 1e14 == pytest.approx(0.95**2 / chi2, rel=1e-3)


@pytest.mark.claim("sketch-lem27")
def test_released_ratio_against_simulation() -> None:
    """2e4 releases, 4.5 standard errors: false alarm 7e-6; the band is 2.5 %: kills 1.05."""
    n, b, nsr = 200.0, 20.0, 0.3
    s = np.exp(1j * np.arange(8)) * np.linspace(0.1, 1, 8)
    errors = simulate_released_nsr(
        s,
        nsr=nsr,
        n=n,
        scale=b,
        n_min=5 * b,
        n_trials=20_000,
        rng=stream(0, "released", "noise"),
    )
    expected = released_nsr(nsr, _moments(n, b, 5 * b))
    se = errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() - expected) < 4.5 * se
    assert 4.5 * se < 0.04 * expected
    assert printed_nsr_bound(nsr, n=n, scale=b) < expected


@pytest.mark.claim("sketch-lem27")
def test_ratio_formulas() -> None:
    moments = _InverseMoments(1.0, 0.02, 0.02)
    assert released_nsr(0.5, moments) == pytest.approx(1.02 * 1.5 - 1)
    assert printed_nsr_bound(0.5, n=10.0, scale=1.0) == pytest.approx(1.01 * 1.5 - 1)
    biased = _InverseMoments(0.9, 0.02, 0.03)
    assert released_nsr(0.0, biased) == pytest.approx(0.02 + 0.01)

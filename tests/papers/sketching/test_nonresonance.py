"""Nonresonant frequencies: integer relations, Kronecker's theorem and the search for records."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.features import complex_features
from dplit.papers.sketching import nonresonance
from dplit.papers.sketching.enumeration import real_norm
from dplit.streams import stream
from dplit_studies.sketching import searches


@pytest.mark.claim("sketch-def18")
@pytest.mark.claim("sketch-lem8")
@pytest.mark.parametrize(("d", "m", "top"), [(1, 3, 4), (2, 3, 3), (2, 4, 2)])
def test_relation_gap_is_the_minimum_over_all_integer_vectors(d: int, m: int, top: int) -> None:
    """By itertools; kills a half that misses a vector, factors 0.5 and 1.05 of gap and k."""
    omega = stream(0, "test-relation", "public").standard_normal((d, m))
    gap, k = nonresonance.relation_gap(omega, max_coefficient=top)
    norms = {
        c: np.linalg.norm(omega @ np.array(c))
        for c in product(range(-top, top + 1), repeat=m)
        if any(c)
    }
    assert gap == pytest.approx(min(norms.values()), rel=1e-12)
    assert norms[tuple(int(v) for v in k)] == pytest.approx(gap, rel=1e-12)


@pytest.mark.claim("sketch-def18")
def test_resonant_vectors_are_recognised() -> None:
    gap, k = nonresonance.relation_gap([[1.0, 0.0, 2.0], [0.0, 1.0, -3.0]], max_coefficient=4)
    assert gap == 0.0
    assert sorted(np.abs(k).tolist()) == [1, 2, 3]
    assert nonresonance.relation_gap([1.0, 2**0.5, 3**0.5], max_coefficient=20)[0] > 1e-4


@pytest.mark.claim("sketch-lem29")
@pytest.mark.claim("sketch-lem6")
@given(st.integers(0, 10**6))
def test_kronecker_gap_is_the_gap_at_its_time(seed: int) -> None:
    """Kills an untaken modulus, the mean for the maximum, factors 0.5 and 1.05."""
    rng = np.random.default_rng(seed)
    omega, phi = np.array([1.0, 2**0.5, 3**0.5]), rng.uniform(0, 2 * np.pi, 3)
    gap, time = nonresonance.kronecker_gap(omega, phi, n_turns=500)
    turns = np.exp(1j * (omega * time - phi))
    assert gap == pytest.approx(np.abs(np.angle(turns)).max(), abs=1e-9)
    times = phi[0] + 2 * np.pi * np.arange(500)
    best = np.abs(np.angle(np.exp(1j * (np.outer(times, omega) - phi)))).max(axis=1).min()
    assert gap == pytest.approx(best, abs=1e-9)


@pytest.mark.claim("sketch-lem29")
def test_gap_tends_to_zero_without_resonance_and_stays_with_one() -> None:
    phi = np.array([0.3, 1.0, 2.0])
    gaps = [
        nonresonance.kronecker_gap([1, 2**0.5, 3**0.5], phi, n_turns=10**k)[0] for k in (2, 4, 6)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 3e-3
    assert nonresonance.kronecker_gap([1.0, 2.0], [0.0, np.pi], n_turns=10_000)[0] > np.pi / 3


@pytest.mark.claim("sketch-lem7")
@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 10**6))
def test_l1_ratio_is_the_norm_of_the_features(d: int, m: int, seed: int) -> None:
    """Kills sqrt 2, the sum of moduli (always 1), factors 0.5 and 1.05."""
    rng = np.random.default_rng(seed)
    X, omega = 5 * rng.standard_normal((20, d)), rng.standard_normal((d, m))
    features = complex_features(X, omega, normalize=False)
    expected = real_norm(features, norm=1) / (m * np.sqrt(2.0))
    ratio = nonresonance.fourier_l1_ratio(X, omega)
    np.testing.assert_allclose(ratio, expected, rtol=1e-12)
    assert (ratio >= np.sqrt(0.5) - 1e-12).all()
    assert (ratio <= 1 + 1e-12).all()


@pytest.mark.claim("sketch-lem12")
@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 10**6))
def test_distance_ratio_is_the_distance_of_the_features(d: int, m: int, seed: int) -> None:
    """Kills a missing root, the half distance, factors 0.5 and 1.05."""
    rng = np.random.default_rng(seed)
    X, Y, omega = (*rng.standard_normal((2, 20, d)), rng.standard_normal((d, m)))
    gaps = complex_features(X, omega, normalize=False) - complex_features(Y, omega, normalize=False)
    expected = np.linalg.norm(gaps, axis=1) / (2 * np.sqrt(m))
    np.testing.assert_allclose(
        nonresonance.fourier_distance_ratio(X - Y, omega), expected, rtol=1e-7, atol=1e-8
    )


@pytest.mark.claim("sketch-lem7")
@pytest.mark.claim("sketch-lem12")
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("d", "m", "least"), [(3, 3, 1 - 1e-9), (6, 4, 1 - 1e-9), (2, 4, 0.999)])
def test_search_reaches_the_bound(norm: Any, d: int, m: int, least: float) -> None:
    """Seeds fixed; (2, 4) needs a far record.  Kills a step that goes down, a wrong target."""
    omega = stream(0, "test-search", "public").standard_normal((d, m))
    found = max(
        searches.alignment_search(
            omega, norm=norm, radius=r, rng=stream(0, "test-search", "data"), n_draws=8000
        ).ratio
        for r in (10.0, 1e3, 1e5)
    )
    assert least <= found <= 1 + 1e-12


@pytest.mark.parametrize("norm", [1, 2])
def test_search_point_has_its_ratio_and_many_frequencies_stay_below(norm: Any) -> None:
    omega = stream(0, "test-many", "public").standard_normal((8, 320))
    found = searches.alignment_search(omega, norm=norm, radius=10.0, rng=stream(0, "t", "data"))
    ratio = nonresonance.fourier_l1_ratio if norm == 1 else nonresonance.fourier_distance_ratio
    assert ratio(found.x[None], omega)[0] == pytest.approx(found.ratio, rel=1e-12)
    low, high = (0.91, 0.95) if norm == 1 else (0.76, 0.83)
    assert low < found.ratio < high

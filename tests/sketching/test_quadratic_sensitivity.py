"""Quadratic features: exact sensitivities against grids, ascents against certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dplit.features import orthonormal_blocks
from dplit.papers.sketching import quadratic
from dplit.sketching import sensitivity as qs
from dplit.streams import stream
from dplit_studies.sketching.searches import replace_search
from tests.sketching.shared import circle, gaussian

Array = NDArray[np.float64]


def grid_pairs(omega: Array, norm: int, points: int = 601) -> float:
    """Largest distance over pairs of the circle and the origin (d = 2)."""
    records = np.vstack([circle(points), np.zeros((1, 2))])
    features = (records @ omega) ** 2
    gaps = features[:, None, :] - features[None, :, :]
    return float(np.linalg.norm(gaps, ord=norm, axis=2).max())


@pytest.mark.claim("sketch-lem9")
@pytest.mark.parametrize("m", [2, 5, 20])
def test_spectral_sensitivity_is_the_largest_sum_of_squares(m: int) -> None:
    """Kills the norm for its square, the Frobenius norm, factors 0.5 and 1.05."""
    omega = gaussian(2, m)
    sums = ((circle() @ omega) ** 2).sum(axis=1)
    assert qs.spectral_sensitivity(omega) == pytest.approx(sums.max(), rel=1e-7)
    assert sums.max() <= qs.spectral_sensitivity(omega) * (1 + 1e-12)


@pytest.mark.claim("sketch-beyond-bdp")
@pytest.mark.parametrize("trial", range(6))
def test_exact_replace_one_sensitivity_against_a_grid_of_pairs(trial: int) -> None:
    """Kills a missing sign vector, a missing zero record, factors 0.5 and 1.05."""
    omega = gaussian(2, 4 + trial, trial)
    exact = quadratic.replace_l1_exact(omega)
    on_grid = grid_pairs(omega, 1)
    assert on_grid <= exact * (1 + 1e-12)
    assert on_grid == pytest.approx(exact, rel=1e-3)
    assert qs.spectral_sensitivity(omega) <= exact * (1 + 1e-12)
    assert exact <= qs.replace_l1_bound(omega) * (1 + 1e-12)


@pytest.mark.claim("sketch-beyond-bdp")
def test_bound_is_exact_for_one_dimension_and_for_rank_one() -> None:
    row = gaussian(1, 7)
    assert qs.replace_l1_bound(row) == pytest.approx(quadratic.replace_l1_exact(row), rel=1e-12)
    rank_one = np.outer([0.6, 0.8, 0.0], gaussian(1, 7)[0])
    assert qs.replace_l1_bound(rank_one) == pytest.approx(
        quadratic.replace_l1_exact(rank_one), rel=1e-9
    )


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("trial", range(3))
def test_pair_ascent_reaches_the_maximum_over_a_grid(norm: int, trial: int) -> None:
    """Kills weights of the wrong norm, a step that goes down, records outside the ball."""
    omega = gaussian(2, 6, 10 + trial)
    found = replace_search(omega, norm=norm, rng=stream(0, "test-pairs", "public"))
    assert found.value >= grid_pairs(omega, norm) * (1 - 1e-9)
    assert max(np.linalg.norm(found.x), np.linalg.norm(found.y)) <= 1 + 1e-12
    gap = (found.x @ omega) ** 2 - (found.y @ omega) ** 2
    assert np.linalg.norm(gap, ord=norm) == pytest.approx(found.value, rel=1e-12)


@pytest.mark.claim("sketch-lem13")
@pytest.mark.parametrize("m", [2, 3, 9, 40])
def test_certificate_and_ascent_meet_in_two_dimensions(m: int) -> None:
    """Kills the quartic without its root, a missing off-diagonal weight, factors 0.5 and 1.05."""
    omega = gaussian(2, m)
    truth = np.sqrt(((circle() @ omega) ** 4).sum(axis=1).max())
    found = quadratic.s4_ascent(omega, rng=stream(0, "test-s4", "public", m))
    assert found.value == pytest.approx(truth, rel=1e-6)
    assert qs.s4_certificate(omega) == pytest.approx(truth, rel=1e-6)
    assert qs.s4_certificate(omega) >= found.value
    assert np.linalg.norm(found.x) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.claim("sketch-lem13")
@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 10**6))
def test_certificate_is_never_below_a_record(d: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    omega, records = rng.standard_normal((d, m)), rng.standard_normal((300, d))
    records /= np.linalg.norm(records, axis=1, keepdims=True)
    reached = np.sqrt(((records @ omega) ** 4).sum(axis=1).max())
    certified = qs.s4_certificate(omega)
    assert certified >= reached
    assert certified <= qs.s4_certificate(omega, shift=0.0) * (1 + 1e-9)
    if d == 1:
        assert certified == pytest.approx(reached, rel=1e-9)


@pytest.mark.parametrize("shift", [-0.4, -0.05, 0.0, 0.3, 2.0])
def test_every_shift_is_a_bound_and_the_best_is_below(shift: float) -> None:
    omega = gaussian(6, 18)
    found = quadratic.s4_ascent(omega, rng=stream(0, "test-shift", "public"))
    assert qs.s4_certificate(omega, shift=shift) >= found.value
    assert qs.s4_certificate(omega) <= qs.s4_certificate(omega, shift=shift) * (1 + 1e-9)


def test_certificate_is_close_at_the_sizes_of_the_chapter() -> None:
    """Kills the plain flattening: it is 40 to 85 % above."""
    for omega in (orthonormal_blocks(8, 80, rng=stream(0, "t", "public")), gaussian(10, 1000)):
        found = quadratic.s4_ascent(omega, rng=stream(0, "t", "data"), n_starts=20)
        assert 1.0 <= qs.s4_certificate(omega) / found.value < 1.1
        assert qs.s4_certificate(omega, shift=0.0) / found.value > 1.3


def test_single_starts_often_miss_the_maximum() -> None:
    omega = orthonormal_blocks(8, 80, rng=stream(0, "t", "public"))
    assert quadratic.s4_ascent(omega, rng=stream(0, "t", "data")).share < 0.6

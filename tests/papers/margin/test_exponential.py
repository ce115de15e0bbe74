"""Two exact samplers against the enumerated law; Algorithm 1 end to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.papers.margin import covers, exponential
from dplit.streams import stream
from dplit_studies.margin import arcs as margin_arcs
from dplit_studies.margin import selection_privacy
from tests.papers.margin.levels import levels_agree


def _sample(m=60, flips=0.1, name="exponential"):
    rng = stream(0, name, "data")
    X = rng.standard_normal((m, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    y = np.where(X @ [1.0, 0.4] > 0, 1, -1) * np.where(rng.random(m) < flips, -1, 1)
    return X, y


@pytest.mark.claim("margin-alg1")
def test_error_counts_by_loops():
    X, y = _sample(9)
    W = np.array([[1.0, 0.4], [0.0, 0.0], [-1.0, -0.4]])
    slow = [sum(int(b * (w @ x) <= 0) for x, b in zip(X, y, strict=True)) for w in W]
    np.testing.assert_array_equal(exponential.error_counts(W, X, y), slow)
    assert slow[1] == 9


@pytest.mark.claim("margin-alg1")
def test_law_by_hand():
    """Kills epsilon instead of epsilon / 2."""
    law = exponential.cover_law([0.0, 3.0, 1.0], epsilon=0.8)
    raw = np.exp([-0.0, -1.2, -0.4])
    np.testing.assert_allclose(law, raw / raw.sum(), rtol=1e-12)


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize(
    ("k", "radius", "gamma", "epsilon"),
    [(1, 1.0, 0.5, 0.8), (2, 2.0, 0.1, 0.5), (3, 1.0, 0.5, 0.8), (4, 1.0, 0.5, 0.8)],
)
def test_rejection_has_the_enumerated_law(k, radius, gamma, epsilon):
    """10,000 draws, repeated points of the cover included, chi-square, false alarm 1e-4 each. Kills
    a lost radial step or exponent.
    """
    rng = stream(0, f"rejection-{k}", "data")
    X = rng.standard_normal((15, k))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(15) > 0, 1, -1)
    shape = {"radius": radius, "covering_radius": gamma}
    cover = covers.ball_cover(k, **shape)
    counts = exponential.error_counts(cover, X, y)
    law = exponential.cover_law(counts, epsilon=epsilon)
    draws = selection_privacy.rejection_draws(
        X, y, epsilon=epsilon, n_draws=10_000, rng=stream(0, f"rejection-{k}", "noise"), **shape
    )
    assert draws.shape == (10_000, k)
    assert levels_agree(counts, law, exponential.error_counts(draws, X, y)) > 1e-4
    assert np.all(np.linalg.norm(draws, axis=1) <= radius + 1e-12)
    assert np.abs(draws[:20, None] - cover).sum(2).min(1).max() < 1e-12


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_arcs_against_an_angular_grid(epsilon):
    """The law of 120 arcs against midpoints of 200,000 angles."""
    X, y = _sample()
    arcs = margin_arcs.constant_arcs(X, y)
    assert len(arcs.start) == 120
    assert arcs.length.sum() == pytest.approx(2 * np.pi, rel=1e-12)
    mean = margin_arcs.arc_law(arcs, epsilon=epsilon) @ arcs.errors
    angles = (np.arange(200_000) + 0.5) * 2 * np.pi / 200_000
    grid = exponential.error_counts(np.column_stack([np.cos(angles), np.sin(angles)]), X, y)
    law = exponential.cover_law(grid, epsilon=epsilon)
    assert mean == pytest.approx(law @ grid, rel=2e-3)
    middles = arcs.start + arcs.length / 2
    at = exponential.error_counts(np.column_stack([np.cos(middles), np.sin(middles)]), X, y)
    np.testing.assert_array_equal(at, arcs.errors)


@pytest.mark.claim("margin-alg1")
def test_arc_draws_have_the_arc_law():
    """50,000 draws, chi-square on levels, false alarm 1e-4."""
    X, y = _sample()
    arcs = margin_arcs.constant_arcs(X, y)
    law = margin_arcs.arc_law(arcs, epsilon=0.5)
    angles = margin_arcs.arc_draws(
        arcs, epsilon=0.5, n_draws=50_000, rng=stream(0, "arc-draws", "noise")
    )
    drawn = exponential.error_counts(np.column_stack([np.cos(angles), np.sin(angles)]), X, y)
    assert levels_agree(arcs.errors, law, drawn) > 1e-4
    assert 0 <= angles.min() <= angles.max() < 2 * np.pi


@pytest.mark.claim("margin-beyond-gibbs")
def test_log_ratio_on_the_circle_against_a_grid():
    """One record replaced: densities on 100,000 angles; never above epsilon."""
    X, y = _sample(20)
    Z, z = X.copy(), y.copy()
    Z[3], z[3] = [0.2, -0.7], 1
    ratio = margin_arcs.arc_log_ratio(
        margin_arcs.constant_arcs(X, y), margin_arcs.constant_arcs(Z, z), epsilon=1.5
    )
    angles = (np.arange(100_000) + 0.5) * 2 * np.pi / 100_000
    W = np.column_stack([np.cos(angles), np.sin(angles)])
    p = exponential.cover_law(exponential.error_counts(W, X, y), epsilon=1.5)
    q = exponential.cover_law(exponential.error_counts(W, Z, z), epsilon=1.5)
    assert ratio == pytest.approx(np.max(np.abs(np.log(p / q))), rel=1e-3)
    assert ratio <= 1.5


def test_arcs_with_zero_and_repeated_records():
    arcs = margin_arcs.constant_arcs([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [1, 1, 1])
    law = margin_arcs.arc_law(arcs, epsilon=1.0)
    assert set(arcs.errors[law > 0]) == {1.0, 3.0}
    assert law @ arcs.errors == pytest.approx((1 + 3 * np.exp(-1)) / (1 + np.exp(-1)))
    all_zero = margin_arcs.constant_arcs([[0.0, 0.0]], [1])
    assert all_zero.errors.tolist() == [1.0]
    assert margin_arcs.arc_law(all_zero, epsilon=1.0).tolist() == [1.0]


@pytest.mark.claim("margin-alg1")
@given(
    angles=st.lists(st.floats(0, 6.28), min_size=1, max_size=12),
    signs=st.integers(0, 2**12 - 1),
)
def test_arcs_count_errors_at_their_middles(angles, signs):
    """Any records, repeated and opposite ones too: every arc of some length has its count."""
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.array([1 if signs >> i & 1 else -1 for i in range(len(angles))])
    arcs = margin_arcs.constant_arcs(X, y)
    assert arcs.length.sum() == pytest.approx(2 * np.pi)
    assert np.all(arcs.length >= 0)
    wide = arcs.length > 1e-6
    middles = (arcs.start + arcs.length / 2)[wide]
    W = np.column_stack([np.cos(middles), np.sin(middles)])
    np.testing.assert_array_equal(exponential.error_counts(W, X, y), arcs.errors[wide])


@pytest.mark.claim("margin-alg1")
@pytest.mark.filterwarnings("error")
def test_records_of_any_length_count_by_their_direction():
    """Products of records at 1e308 overflow and cancel to NaN, which counts as no error."""
    X, y = np.array([[1e308, -1e308], [5e-324, 0.0], [0.0, 0.0]]), [1, -1, 1]
    W = np.array([[9.0, 1.0], [1.0, 9.0], [-1.0, 0.0]])
    assert exponential.error_counts(W, X, y).tolist() == [2.0, 3.0, 2.0]

"""Sums on a public grid: exact, in every order, and never longer than their bounds."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from dplit._numerics import clipping
from dplit._numerics import exact as grids
from dplit._numerics.exact import exact_gram, gram_rounding, grid_rows, grid_values

any_finite = st.floats(allow_nan=False, allow_infinity=False)
matrices = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=any_finite
)
norms = st.floats(1e-100, 1e100)


@given(matrices, norms)
@example(np.array([[6.02388022e220]]), 1e-100)
def test_no_row_on_the_grid_is_longer_than_the_norm(X: np.ndarray, norm: float) -> None:
    """Kills clipping at the norm itself: rounding to nearest then lengthens rows."""
    K, step = grid_rows(X, norm)
    assert step <= norm * 2.0**-15
    assert abs(K).max() <= 2**16
    np.testing.assert_array_equal(K, np.rint(K))
    assert all(np.sqrt(float(sum(int(k) ** 2 for k in row))) * step <= norm for row in K)


@given(matrices, norms)
def test_short_rows_move_by_half_a_step(X: np.ndarray, norm: float) -> None:
    inside = clipping.clip_rows(X, 0.99 * norm)
    K, step = grid_rows(inside, norm)
    assert (abs(K * step - inside) <= 0.5000001 * step).all()


@given(hnp.arrays(float, 7, elements=any_finite), norms)
def test_numbers_are_rounded_towards_zero(y: np.ndarray, bound: float) -> None:
    k, step = grid_values(y, bound)
    inside = np.clip(y, -bound, bound)
    assert (abs(k * step) <= abs(inside)).all()
    assert (abs(inside - k * step) < step).all()


def test_every_order_split_and_position_gives_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kills plain float sums: of these records they differ in the last bits (asserted below)."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (4099, 5))
    K, _ = grid_rows(X, 2.0)
    shuffled = rng.permutation(len(X))
    whole = exact_gram(K, K)
    assert (exact_gram(K[shuffled], K[shuffled]) == whole).all()
    assert (exact_gram(K[:1], K[:1]) + exact_gram(K[1:], K[1:]) == whole).all()
    assert (X[shuffled].sum(axis=0) != X.sum(axis=0)).any()
    exact = [[sum(int(a) * int(b) for a, b in zip(p, q, strict=True)) for q in K.T] for p in K.T]
    assert (whole == np.array(exact, dtype=float)).all()
    monkeypatch.setattr(grids, "_EXACT_ROWS", 1000)  # the road of many records
    assert (exact_gram(K, K) == whole).all()


def test_a_total_beyond_float64_is_rounded_by_less_than_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kills integer totals in float64: 2^23 + 1 products of 2^32 - 2^17 + 1 need 56 bits."""
    k = np.full((2**23 + 1, 1), 2.0**16 - 1)
    total = exact_gram(k, k)[0, 0]
    exact = (2**23 + 1) * (2**16 - 1) ** 2
    step = 2.0**-15  # the largest step of a bound 1
    assert 2 * abs(int(total) - exact) * step**2 <= gram_rounding(1)
    monkeypatch.setattr(grids, "_MOST_ROWS", 100)
    monkeypatch.setattr(grids, "_EXACT_ROWS", 10)
    with pytest.raises(ValueError, match="at most 100 records"):
        exact_gram(k[:101], k[:101])


def test_too_many_columns_for_the_grid_are_refused() -> None:
    with pytest.raises(ValueError, match="fewer columns"):
        grid_rows(np.zeros((1, 300)), 1.0, bits=4)

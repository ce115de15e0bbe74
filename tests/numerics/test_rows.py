"""Rows of features that are made again when they are used: equal numbers, in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dplit._numerics.rows import BLOCK, FeatureRows, cos_sin_rows, row_parts
from dplit.features import cos_sin_features
from dplit.streams import stream


def _made(n: int, count: int = 3, **sizes: int) -> tuple[np.ndarray, np.ndarray, object]:
    rng = stream(0, "rows", "data")
    X, W = rng.normal(size=(n, 2)), rng.normal(size=(2, count))
    return X, W, cos_sin_rows(X, W, **sizes)


@pytest.mark.parametrize("n", [129, 1000, 1024])
def test_streamed_rows_stand_for_the_matrix(n: int) -> None:
    """Kills a block that is left out or counted twice, another sign, another scale."""
    X, W, rows = _made(n, held=0, block=0)
    assert isinstance(rows, FeatureRows)
    assert (len(rows), *rows.shape) == (n, n, 6)
    matrix, rng = cos_sin_features(X, W), stream(0, "rows", "public")
    parts = list(row_parts(rows))
    assert len(parts) == -(-n // 128)
    np.testing.assert_array_equal(np.vstack([block for _, block in parts]), matrix)
    w, u, column = rng.normal(size=6), rng.normal(size=n), rng.normal(size=(n, 1))
    close = {"rtol": 1e-12, "atol": 1e-13 * n}
    np.testing.assert_allclose(rows @ w, matrix @ w, **close)
    np.testing.assert_allclose(rows.T @ u, matrix.T @ u, **close)
    for scaled, other in ((rows * column, matrix * column), (rows * column * column, None)):
        other = matrix * column * column if other is None else other
        np.testing.assert_allclose(scaled @ w, other @ w, **close)
        np.testing.assert_allclose(scaled.T @ u, other.T @ u, **close)


def test_few_rows_are_a_matrix_and_so_are_more_columns_than_rows() -> None:
    """Sizes alone decide. Kills a limit in rows, and one that forgets the square system."""
    for n, count, held, streamed in (
        (100, 3, 4800, False),
        (101, 3, 4800, True),
        (6, 3, 0, False),
        (7, 3, 0, True),
    ):
        X, W, rows = _made(n, count, held=held)
        assert isinstance(rows, FeatureRows) == streamed
        if not streamed:
            np.testing.assert_array_equal(rows, cos_sin_features(X, W))
            assert [block is rows for _, block in row_parts(rows)] == [True]


def test_memory_is_a_few_blocks() -> None:
    """Of 48 MB of rows at most three blocks of 4 MB are there, and the products' own vectors."""
    X, _, rows = _made(30_000, 100, held=0)
    u = np.ones(len(X))
    tracemalloc.start()
    rows.T @ (rows @ (rows.T @ u))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * BLOCK

"""Rows of features that are too many to be held: made again, block by block, when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dplit._checks import Array
from dplit._numerics.blocks import BLOCK_ROWS, Plan, fill, row_blocks

#: Bytes of rows that are held, and of a block of rows that are not.
HELD, BLOCK = 1 << 27, 1 << 22


@dataclass(frozen=True)
class FeatureRows:
    """Rows ``[cos<w_k, x>, sin<w_k, x>] / sqrt(K)`` (n, 2K), times a column, a block in memory.

    They stand where a matrix does in ``rows @ w``, ``rows.T @ u`` and ``rows * column``.
    """

    plan: Plan
    step: int
    column: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of records and of coordinates."""
        return len(self.plan.X), self.plan.n_outputs

    def __len__(self) -> int:
        return len(self.plan.X)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of each block, with the records that they belong to."""
        for part, block in row_blocks(self.plan, self.step):
            if self.column is not None:
                block *= self.column[part]
            yield part, block

    def __matmul__(self, weights: Array) -> Array:
        found = np.empty(len(self))
        for part, block in self.blocks():
            found[part] = block @ weights
        return found

    def __mul__(self, column: Array) -> FeatureRows:
        return replace(self, column=column if self.column is None else self.column * column)

    @property
    def T(self) -> _Columns:  # noqa: N802
        """The matrix whose columns these rows are, for products with vectors."""
        return _Columns(self)


@dataclass(frozen=True)
class _Columns:
    rows: FeatureRows

    def __matmul__(self, values: Array) -> Array:
        return np.asarray(sum(block.T @ values[part] for part, block in self.rows.blocks()))


#: Rows of features: a matrix, or what stands for one.
Rows = Array | FeatureRows


def row_parts(rows: Rows) -> Iterator[tuple[slice, Array]]:
    """Yield the blocks of rows; a matrix is one block."""
    if isinstance(rows, FeatureRows):
        yield from rows.blocks()
    else:
        yield slice(None), rows


def cos_sin_rows(X: Array, frequencies: Array, *, held: int = HELD, block: int = BLOCK) -> Rows:
    """Return the rows of ``cos_sin_features``, as a matrix if it has at most ``held`` bytes or no
    more rows than columns: then the square system of its columns is no smaller.

    Otherwise blocks of about ``block`` bytes are made at every use, with the same entries. Which it
    is, and the blocks, follow from the numbers of records and of frequencies alone.
    """
    plan = Plan.make(X, frequencies, None, kind="cos_sin", normalize=True)
    n, width = len(plan.X), plan.n_outputs
    if n * width * 8 <= held or n <= width:
        return np.asarray(fill(plan))
    return FeatureRows(plan, BLOCK_ROWS * max(1, block // (8 * width * BLOCK_ROWS)))

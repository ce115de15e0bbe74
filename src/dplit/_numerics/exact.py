"""Sums whose bits depend on neither order, position, block, thread nor BLAS.

A record that is removed shifts the blocks of all others, and rounding then moves their sum by more
than its own share. Here records are first rounded to a public grid, the multiples of a power of
two, on which products and sums are exact in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit._numerics.clipping import clip_rows

#: Grid steps, as a power of two, in the largest entry of a factor of :func:`exact_gram`.
GRAM_BITS = 16
#: Rows whose products of two factors below ``2^GRAM_BITS`` steps add exactly in float64.
_EXACT_ROWS = 1 << (53 - 2 * GRAM_BITS)
#: Records up to which :func:`gram_rounding` holds: the totals stay in 64-bit integers.
_MOST_ROWS = 1 << (62 - 2 * GRAM_BITS)


def _step(bound: float, bits: int) -> float:
    """Return the power of two of which the smallest one above ``bound`` is ``2^bits`` multiples."""
    return math.ldexp(1.0, math.frexp(bound)[1] - bits)


def grid_rows(X: NDArray[Any], norm: float, *, bits: int = GRAM_BITS) -> tuple[Array, float]:
    """Clip rows (n, d) so that their rounded versions have norm at most ``norm``.

    Returns whole numbers (n, d) of at most ``2^bits`` steps, and the step, a power of two between
    ``norm 2^-bits`` and ``norm 2^(1-bits)``. Rounding to nearest lengthens a row by at most
    ``sqrt(d)/2`` steps, so rows are clipped that much earlier (and one step for the rounding of the
    clipping itself): the sensitivity needs no further term.
    """
    step = _step(norm, bits)
    inner = norm - (math.sqrt(X.shape[1]) / 2.0 + 1.0) * step
    if inner < norm / 2.0:
        raise ValueError(f"X must have fewer columns for a grid of {bits} bits, got {X.shape[1]}")
    return np.asarray(np.rint(clip_rows(X, inner) / step)), step


def grid_values(y: NDArray[Any], bound: float, *, bits: int = GRAM_BITS) -> tuple[Array, float]:
    """Clip numbers to ``[-bound, bound]`` and round them towards zero: whole numbers of steps."""
    step = _step(bound, bits)
    steps = np.asarray(np.clip(y, -bound, bound))
    steps = np.divide(steps, step, out=steps)
    return np.trunc(steps, out=steps), step


def check_size(n_records: int) -> None:
    """Refuse more records than 64-bit integers add in whole steps."""
    if n_records > _MOST_ROWS:
        raise ValueError(f"X must have at most {_MOST_ROWS} records")


def exact_gram(A: Array, B: Array) -> Array:
    """``A^T B`` of whole numbers up to ``2^GRAM_BITS``, (n, p) and (n, q), without rounding.

    Every order of the records gives the same bits. Totals above ``2^53`` are added as integers
    and rounded once, which :func:`gram_rounding` bounds.
    """
    if len(A) <= _EXACT_ROWS:
        return np.asarray(A.T @ B)
    check_size(len(A))
    total = np.zeros((A.shape[1], *B.shape[1:]), np.int64)
    for start in range(0, len(A), _EXACT_ROWS):
        rows = slice(start, start + _EXACT_ROWS)
        total += (A[rows].T @ B[rows]).astype(np.int64)
    return total.astype(np.float64)


def gram_rounding(entries: int) -> float:
    """L2 bound of what the last rounding of :func:`exact_gram` adds to a sensitivity.

    In units of the product of the two bounds: totals below ``2^62`` steps are rounded by at most
    ``2^8``, of ``2^-32`` each (one step is at most ``2^(1-GRAM_BITS)`` of a bound), on two data
    sets.
    """
    return math.sqrt(entries) * 2.0 ** (1 + 8 + 2 - 2 * GRAM_BITS)

"""Checks of a table and its responses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_positive, check_probability, check_real_array


def check_matrix(X: ArrayLike) -> Array:
    return check_real_array("X", X, 2, copy=False)


def check_pair(X: ArrayLike, y: ArrayLike | None, *, columns: bool = False) -> tuple[Array, Array]:
    """Return X (n, d) and y (n,), zeros if None, in float64; ``columns`` allows a y (n, k)."""
    rows = check_matrix(X)
    if y is None:
        return rows, np.zeros(len(rows))
    response = check_real_array("y", y, None if columns else 1, copy=False)
    if response.ndim not in (1, 2):
        raise ValueError(f"y must have 1 or 2 axes, got y of shape {response.shape}")
    if len(response) != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {response.shape}")
    return rows, response


_LARGEST_BITS = 1000.0


#: Least delta at which the guarantee of a row is computed: tails are cut off at as much.
LEAST_DELTA = 1e-14


def check_least_delta(delta: object, least: float) -> float:
    target = check_probability("delta", delta)
    if target < least:
        raise ValueError(f"delta must be at least {least:g}, got delta={delta!r}")
    return target


def check_bits(epsilon: object) -> float:
    bits = check_positive("epsilon", epsilon)
    if bits > _LARGEST_BITS:
        raise ValueError(f"epsilon must be at most {_LARGEST_BITS:g} bits, got epsilon={epsilon!r}")
    return bits

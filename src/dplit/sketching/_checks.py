"""Checks of frequencies and norms."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_real_array


def symmetric_columns(frequencies: ArrayLike) -> Array:
    return check_real_array("frequencies", frequencies, 2, copy=False)


def check_norm(norm: int) -> int:
    if check_integer("norm", norm) > 2:
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    return norm

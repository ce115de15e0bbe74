"""Labelled records as the learners take them: clipped to the ball, labels plus or minus one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_positive
from dplit._estimators import clip_rows
from dplit._exact import grid_rows

__all__ = [
    "Array",
    "check_geometry",
    "check_signs",
    "clipped_records",
    "gridded_records",
    "labelled_records",
    "scaled_rows",
]

Array = NDArray[np.float64]

#: Finest grid, in bits below the bound: the rounding of the clipping stays below one step.
_FINEST = 40


def check_geometry(margin: float, radius: float, data_norm: float) -> tuple[float, float, float]:
    """Return margin, radius and data norm as floats, or say which rule they break.

    A margin above ``radius * data_norm`` is refused: no predictor of the ball reaches it. So are
    lengths whose products and quotients would leave float64.
    """
    values = (
        check_positive("margin", margin),
        check_positive("radius", radius),
        check_positive("data_norm", data_norm),
    )
    for name, value in zip(("margin", "radius", "data_norm"), values, strict=True):
        if not 1e-50 <= value <= 1e50:
            raise ValueError(f"{name} must be between 1e-50 and 1e50, got {name}={value!r}")
    limit = values[1] * values[2]
    if values[0] > limit * (1 + 1e-12):
        raise ValueError(f"margin must be at most radius * data_norm = {limit:g}, got {margin=!r}")
    return values


def check_signs(y: ArrayLike) -> Array:
    """Return labels as floats; anything but -1 and 1 is refused. One axis, or one row per draw."""
    labels = np.asarray(check_finite_array("y", y))
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have one or two axes, got y of shape {labels.shape}")
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError("y must hold the labels -1 and 1 only")
    return labels.astype(np.float64)


def labelled_records(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return real finite records (m, d) of any length, and labels -1 and 1."""
    rows = check_finite_array("X", X, ndim=2)
    if rows.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {rows.dtype}")
    labels = check_signs(y)
    if labels.shape[-1] != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows.astype(np.float64, copy=False), labels


def clipped_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records with rows longer than ``data_norm`` scaled back, and labels -1 and 1."""
    rows, labels = labelled_records(X, y)
    return clip_rows(rows, check_positive("data_norm", data_norm)), labels


def gridded_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records of norm at most ``data_norm`` whose sums have no rounding, and labels.

    Entries are multiples of a power of two that is so coarse (``2^-40`` of the norm up to 8,191
    records, twice that for every doubling of them) that every sum of some of the m records, with
    any signs, is exact in float64: one record moves it by its own share, of norm at most
    ``data_norm``, in every order and in every block of a matrix product.
    """
    rows, labels = labelled_records(X, y)
    limit = check_positive("data_norm", data_norm)
    steps, step = grid_rows(rows, limit, bits=min(_FINEST, 53 - len(rows).bit_length()))
    return steps * step, labels


def scaled_rows(rows: Array) -> Array:
    """Return rows divided by powers of two: no sign of a product changes, and none overflows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(np.ldexp(rows, -np.frexp(largest)[1]))

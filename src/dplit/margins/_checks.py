"""Labelled records and lengths as the learners take them: clipped, labels plus or minus one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_positive, check_real_array, check_scale
from dplit._numerics.clipping import clip_rows
from dplit._numerics.exact import grid_rows
from dplit.margins.balls import Ball

#: Finest grid, in bits below the bound: the rounding of the clipping stays below one step.
_FINEST = 40


def check_geometry(margin: float, radius: float, data_norm: float) -> Ball:
    """Return margin, radius and data norm as floats, or say which rule they break. A margin above
    ``radius * data_norm`` is refused: no predictor of the ball reaches it. So are lengths whose
    products and quotients would leave float64.
    """
    values = (
        check_scale("margin", margin),
        check_scale("radius", radius),
        check_scale("data_norm", data_norm),
    )
    limit = values[1] * values[2]
    if values[0] > limit * (1 + 1e-12):
        raise ValueError(f"margin must be at most radius * data_norm = {limit:g}, got {margin=!r}")
    return Ball(*values)


def check_signs(y: ArrayLike) -> Array:
    """Return labels as floats; anything but -1 and 1 is refused. One axis, or one row per draw."""
    labels = check_real_array("y", y)
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have one or two axes, got y of shape {labels.shape}")
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError("y must hold the labels -1 and 1 only")
    return labels


def signed_records(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return real finite records (m, d) of any length, and labels -1 and 1."""
    rows, labels = check_real_array("X", X, 2, copy=False), check_signs(y)
    if labels.shape[-1] != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows, labels


def clipped_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records with rows longer than ``data_norm`` scaled back, and labels -1 and 1."""
    rows, labels = signed_records(X, y)
    return clip_rows(rows, check_positive("data_norm", data_norm)), labels


def _gridded_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records of norm at most ``data_norm`` whose sums have no rounding, and labels. Entries
    are multiples of a power of two that is so coarse (``2^-40`` of the norm up to 8,191 records,
    twice that for every doubling of them) that every sum of some of the m records, with any signs,
    is exact in float64: one record moves it by its own share, of norm at most ``data_norm``, in
    every order and in every block of a matrix product.
    """
    rows, labels = signed_records(X, y)
    limit = check_positive("data_norm", data_norm)
    steps, step = grid_rows(rows, limit, bits=min(_FINEST, 53 - len(rows).bit_length()))
    return steps * step, labels

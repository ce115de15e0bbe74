"""Labelled records as the learners take them: clipped to the ball, labels plus or minus one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_positive
from dplit._estimators import clip_rows

__all__ = ["Array", "check_geometry", "check_signs", "clipped_records"]

Array = NDArray[np.float64]


def check_geometry(margin: float, radius: float, data_norm: float) -> tuple[float, float, float]:
    """Return margin, radius and data norm as floats, or say which rule they break.

    A margin above ``radius * data_norm`` is refused: no predictor of the ball reaches it.
    """
    values = (
        check_positive("margin", margin),
        check_positive("radius", radius),
        check_positive("data_norm", data_norm),
    )
    limit = values[1] * values[2]
    if values[0] > limit * (1 + 1e-12):
        raise ValueError(f"margin must be at most radius * data_norm = {limit:g}, got {margin=!r}")
    return values


def check_signs(y: ArrayLike) -> Array:
    """Return labels as floats; anything but -1 and 1 is refused. One axis, or one row per draw."""
    labels = np.asarray(check_finite_array("y", y))
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have one or two axes, got y of shape {labels.shape}")
    found = np.unique(labels)
    if not np.isin(found, (-1, 1)).all():
        shown = ", ".join(f"{value:g}" for value in found[:5])
        raise ValueError(f"y must hold the labels -1 and 1 only, got {shown}")
    return labels.astype(np.float64)


def clipped_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records with rows longer than ``data_norm`` scaled back, and labels -1 and 1."""
    rows = check_finite_array("X", X, ndim=2)
    if rows.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {rows.dtype}")
    labels = check_signs(y)
    if labels.shape[-1] != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    limit = check_positive("data_norm", data_norm)
    rows = rows.astype(np.float64, copy=False)
    squares = np.einsum("ij,ij->i", rows, rows)
    if math.sqrt(float(squares.max())) > limit * (1 + 1e-12):
        rows = clip_rows(rows, limit)
    return rows, labels

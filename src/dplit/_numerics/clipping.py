"""Rows clipped to a norm, with a column for the intercept, and what is left of missing records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._bounds import LARGEST_INPUT
from dplit._checks import Array


def clamp(X: NDArray[Any]) -> NDArray[Any]:
    """Return finite records with entries clamped to ``[-LARGEST_INPUT, LARGEST_INPUT]``."""
    return np.asarray(np.clip(X, -LARGEST_INPUT, LARGEST_INPUT))


def clip_rows(X: NDArray[Any], norm: float) -> NDArray[Any]:
    """Return ``X`` (n, d) with every row longer than ``norm`` scaled back to it.

    No row of what is returned is longer than ``norm``, nor when it is divided by ``norm``: lengths
    are compared with, and scaled to, a bound below ``norm`` by what d products, sums and quotients
    can round. Every row is first divided by a power of two near its largest entry, so that no
    finite row overflows, underflows, warns or loses its direction, and none takes another route.
    """
    # rows of another layout add in another order; few columns are faster one by one
    X, kind = np.asarray(X, order="C" if X.shape[1] > 7 else "F"), X.dtype.type
    bound = kind(norm) * (1 - kind(X.shape[1] + 8) * np.finfo(X.dtype).eps)
    top = np.finfo(X.dtype).maxexp - 1
    largest = np.maximum(np.abs(X).max(axis=1, keepdims=True), kind(norm))
    unit = np.ldexp(kind(1.0), np.minimum(np.frexp(largest)[1], top))  # (n, 1)
    rows = X / unit
    lengths, target = np.linalg.norm(rows, axis=1, keepdims=True), bound / unit
    return np.where(lengths <= target, X, rows * (bound / np.maximum(lengths, target)))


def lifted(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (n, d) of the unit ball with a constant coordinate, (n, d + 1), in it again.

    >>> lifted(np.array([[1.0, 0.0]])).round(3).tolist()
    [[0.707, 0.0, 0.707]]
    """
    return np.asarray(np.hstack([rows, np.ones((len(rows), 1))]) / np.sqrt(2.0))


def lowered(coef: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
    """Return weights (..., d) and intercepts (...) of the rows that :func:`lifted` was given.

    >>> weights, intercept = lowered(np.sqrt(2.0) * np.array([3.0, 4.0, 5.0]))
    >>> weights.round(3).tolist(), round(float(intercept), 3)
    ([3.0, 4.0], 5.0)
    """
    coef = coef / np.sqrt(2.0)
    return coef[..., :-1], coef[..., -1]


def silenced(rows: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return rows (n, d), which are changed, with zeros for records without a label.

    A row of zeros pulls at no linear model: it adds nothing to moments and gradients, and a
    constant to a risk. It is a row that the mechanism takes from anybody, made of its own record
    alone, so that neighbours stay neighbours and no sensitivity changes; and the record is still
    counted where the number of records is public.
    """
    rows[~known] = 0.0
    return rows


def scaled_rows(rows: Array) -> Array:
    """Return rows divided by powers of two: no sign of a product changes, and none overflows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(np.ldexp(rows, -np.frexp(largest)[1]))

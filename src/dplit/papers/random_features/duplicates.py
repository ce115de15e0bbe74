"""Duplicates among records, by which interpolation stops being one problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_real_array

_Indices = NDArray[np.intp]


@dataclass(frozen=True)
class _DuplicateCounts:
    """Records minus distinct records, minus distinct inputs, and inputs that carry two labels."""

    n_records: int
    exact_duplicates: int
    duplicate_inputs: int
    distinct_inputs: int
    conflicting_inputs: int


def _distinct_rows(X: ArrayLike) -> tuple[_Indices, _Indices]:
    """First position of every distinct row, increasing, and for each row which of them it is."""
    rows = check_finite_array("X", X, ndim=2)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return np.sort(first), rank[inverse.ravel()]


def duplicate_counts(X: ArrayLike, y: ArrayLike) -> _DuplicateCounts:
    """How many records, inputs and conflicting inputs a data set repeats."""
    inputs = check_finite_array("X", X, ndim=2)
    target = check_real_array("y", y, 1)
    if len(inputs) != len(target):
        raise ValueError(f"y must have one entry per row of X, got {len(target)} for {len(inputs)}")
    first, inverse = _distinct_rows(inputs)
    records = np.unique(np.column_stack([inputs, target]), axis=0)
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, inverse, target)
    np.maximum.at(high, inverse, target)
    return _DuplicateCounts(
        n_records=len(inputs),
        exact_duplicates=len(inputs) - len(records),
        duplicate_inputs=len(inputs) - len(first),
        distinct_inputs=len(first),
        conflicting_inputs=int(np.sum(high > low)),
    )

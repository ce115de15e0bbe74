"""Repeated records: how often inputs repeat, and which of them carry conflicting labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array

__all__ = ["DuplicateCounts", "distinct_rows", "duplicate_counts"]

_Indices = NDArray[np.intp]


@dataclass(frozen=True)
class DuplicateCounts:
    """How often records and inputs repeat in a data set.

    Attributes
    ----------
    n_records : int
    exact_duplicates : int
        Records minus distinct records (inputs and label).
    duplicate_inputs : int
        Records minus distinct inputs.
    distinct_inputs : int
    conflicting_inputs : int
        Inputs that occur with at least two different labels: no function interpolates them.
    """

    n_records: int
    exact_duplicates: int
    duplicate_inputs: int
    distinct_inputs: int
    conflicting_inputs: int


def distinct_rows(X: ArrayLike) -> tuple[_Indices, _Indices]:
    """Return the first position of every distinct row, and for each row which distinct row it is.

    Parameters
    ----------
    X : array_like of shape (n, d)

    Returns
    -------
    first : ndarray of int, shape (k,)
        Increasing positions of the k distinct rows.
    inverse : ndarray of int, shape (n,)
        ``X[first[inverse]] == X``.

    Examples
    --------
    >>> distinct_rows([[1.0], [0.0], [1.0]])
    (array([0, 1]), array([0, 1, 0]))
    """
    rows = check_finite_array("X", X, ndim=2)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return np.sort(first), rank[inverse.ravel()]


def duplicate_counts(X: ArrayLike, y: ArrayLike) -> DuplicateCounts:
    """Return how many records, inputs and conflicting inputs a data set repeats.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs, encoded as numbers.
    y : array_like of shape (n,)
        Labels.

    Returns
    -------
    DuplicateCounts

    Raises
    ------
    ValueError
        If an input is not finite or the lengths differ.

    Examples
    --------
    >>> duplicate_counts([[0.0], [0.0], [1.0], [1.0]], [5.0, 5.0, 1.0, 2.0])
    DuplicateCounts(n_records=4, exact_duplicates=1, duplicate_inputs=2, distinct_inputs=2, \
conflicting_inputs=1)
    """
    inputs = check_finite_array("X", X, ndim=2)
    target = check_finite_array("y", y, ndim=1)
    if len(inputs) != len(target):
        raise ValueError(f"y must have one entry per row of X, got {len(target)} for {len(inputs)}")
    first, inverse = distinct_rows(inputs)
    records = np.unique(np.column_stack([inputs, target]), axis=0)
    low = np.full(len(first), np.inf)
    high = np.full(len(first), -np.inf)
    np.minimum.at(low, inverse, target)
    np.maximum.at(high, inverse, target)
    return DuplicateCounts(
        n_records=len(inputs),
        exact_duplicates=len(inputs) - len(records),
        duplicate_inputs=len(inputs) - len(first),
        distinct_inputs=len(first),
        conflicting_inputs=int(np.sum(high > low)),
    )

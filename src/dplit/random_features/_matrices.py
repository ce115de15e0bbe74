"""Checked matrices and the Gram matrix that the fits and sensitivities of this chapter share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import get_blas_funcs

from dplit._checks import check_finite_array

__all__ = ["feature_matrix", "gram_matrix", "label_vector", "square_matrix"]

_Array = NDArray[Any]


def feature_matrix(features: ArrayLike) -> _Array:
    """Return a finite (m, N) matrix in double precision, real or complex."""
    array = check_finite_array("features", features, ndim=2)
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def label_vector(y: ArrayLike, n_records: int) -> _Array:
    """Return a finite vector of ``n_records`` labels in double precision."""
    labels = check_finite_array("y", y, ndim=1)
    if len(labels) != n_records:
        raise ValueError(f"y must have one label per record ({n_records}), got {len(labels)}")
    return labels.astype(np.result_type(labels.dtype, np.float64), copy=False)


def square_matrix(gram: ArrayLike) -> _Array:
    """Return a finite square matrix in double precision."""
    array = check_finite_array("gram", gram, ndim=2)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"gram must be square, got gram of shape {array.shape}")
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def gram_matrix(features: ArrayLike) -> _Array:
    """Gram matrix ``A A*`` of the rows of a feature matrix, by a symmetric rank-N update.

    Parameters
    ----------
    features : array_like of shape (m, N)
        Real or complex.

    Returns
    -------
    ndarray of shape (m, m)
        Exactly Hermitian; half the multiplications of a general product.

    Raises
    ------
    TypeError, ValueError
        If ``features`` is not a finite numeric matrix.

    Examples
    --------
    >>> gram_matrix([[1.0, 1.0], [1.0, -1.0]])
    array([[2., 0.],
           [0., 2.]])
    """
    A = feature_matrix(features)
    if A.dtype.kind != "c":
        return np.asarray(A @ A.T)
    rows = np.ascontiguousarray(A)
    herk = get_blas_funcs("herk", (rows,))
    lower = np.tril(np.conj(herk(1.0, rows.T, trans=2, lower=True)))  # conj(A) A^T, conjugated
    return np.asarray(lower + np.tril(lower, -1).conj().T)

"""Checks of Gram matrices, and of the rows of one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpstrf

from dplit._checks import Array, check_finite_array

#: Rounding that a Gram matrix may carry, relative to its largest diagonal entry.
_GRAM_TOLERANCE = 1e-9


def check_gram(gram: ArrayLike) -> Array:
    """Return a Gram matrix, exactly symmetric, or say why the matrix is none."""
    array = np.asarray(check_finite_array("gram", gram, ndim=2))
    if array.shape[0] != array.shape[1] or array.dtype.kind == "c":
        raise ValueError(
            f"gram must be a square real matrix, got shape {array.shape}, dtype {array.dtype}"
        )
    K = array.astype(np.float64)
    slack = _GRAM_TOLERANCE * float(np.abs(K.diagonal()).max())
    gap = float(np.abs(K - K.T).max())
    if gap > slack:
        raise ValueError(f"gram must be symmetric, got entries that differ by {gap:.3g}")
    K = 0.5 * (K + K.T)
    if float(np.abs(K).max()) == 0.0:
        return K
    try:
        cholesky(K + slack * np.eye(len(K)), lower=True, check_finite=False, overwrite_a=True)
    except LinAlgError:
        raise ValueError(
            f"gram must be positive semidefinite, got an eigenvalue below -{slack:.3g}"
        ) from None
    return K


def gram_rows(gram: Array) -> Array:
    """Rows whose inner products are a Gram matrix up to rounding; as many columns as its rank."""
    lower, pivots, rank, _ = dpstrf(gram, lower=1)
    rows = np.empty((len(gram), rank))
    rows[pivots - 1] = np.tril(lower)[:, :rank]
    return rows

"""Min-norm interpolation, ridge and Kaczmarz in Gram coordinates: never an N-vector too many.

With features A (m x N) and Gram matrix G = A A*, every fit of this chapter is c = A* a for a dual
vector a of length m: the interpolator has a = G^{-1} y, ridge a = (G + alpha I)^{-1} y, and a
Kaczmarz step changes one entry of a. The paper writes ridge as (1/m)||A c - y||^2 +
lambda ||c||^2; ``alpha`` here is scikit-learn's, without the 1/m: alpha = m * lambda.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from dplit._checks import check_choice, check_finite_array, check_positive, check_probability

__all__ = [
    "DuplicateCounts",
    "Method",
    "distinct_rows",
    "duplicate_counts",
    "feature_matrix",
    "find_duplicate_rows",
    "gram_matrix",
    "kaczmarz",
    "label_vector",
    "min_norm_dual",
    "min_norm_fit",
    "relative_residual",
    "ridge_fit",
    "square_matrix",
]


# Repeated records: how often inputs repeat, and which of them carry conflicting labels.


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


# Checked matrices and the Gram matrix that the fits and sensitivities of this chapter share.


def feature_matrix(features: ArrayLike) -> NDArray[Any]:
    """Return a finite (m, N) matrix in double precision, real or complex."""
    array = check_finite_array("features", features, ndim=2)
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def label_vector(y: ArrayLike, n_records: int) -> NDArray[Any]:
    """Return a finite vector of ``n_records`` labels in double precision."""
    labels = check_finite_array("y", y, ndim=1)
    if len(labels) != n_records:
        raise ValueError(f"y must have one label per record ({n_records}), got {len(labels)}")
    return labels.astype(np.result_type(labels.dtype, np.float64), copy=False)


def square_matrix(gram: ArrayLike) -> NDArray[Any]:
    """Return a finite square matrix in double precision."""
    array = check_finite_array("gram", gram, ndim=2)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"gram must be square, got gram of shape {array.shape}")
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def gram_matrix(features: ArrayLike) -> NDArray[Any]:
    """Gram matrix ``A A*`` of the rows of a feature matrix, by a symmetric rank-N update.

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


Method = Literal["cholesky", "pinv", "eigh"]

#: Relative residual above which labels are said to lie outside the range of the features.
CONSISTENT = 1e-8


def _smallest(n_records: int) -> float:
    """Relative eigenvalue below which a Gram matrix is singular; N-term sums round at 1e-13."""
    return max(n_records, 1000) * float(np.finfo(float).eps)


def find_duplicate_rows(X: ArrayLike, y: ArrayLike) -> list[tuple[int, int]]:
    """Pairs of equal rows that carry different labels: no function interpolates them.

    Examples
    --------
    >>> find_duplicate_rows([[0.0], [1.0], [0.0], [0.0]], [1.0, 2.0, 1.0, 3.0])
    [(0, 3)]
    """
    rows = check_finite_array("X", X, ndim=2)
    labels = label_vector(y, len(rows))
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    original = first[inverse.ravel()]
    later = np.flatnonzero(labels != labels[original])
    return [(int(original[j]), int(j)) for j in later]


def _refuse(gram: NDArray[Any], y: NDArray[Any], residual: float) -> None:
    """Raise the error of labels that the features cannot interpolate, naming a pair if one is."""
    diagonal = gram.diagonal().real
    distance2 = diagonal[:, None] + diagonal[None, :] - 2.0 * gram.real
    equal = np.triu(distance2 <= 1e-12 * diagonal.max(), 1) & (y[:, None] != y[None, :])
    if equal.any():
        i, j = (int(k) for k in np.argwhere(equal)[0])
        raise ValueError(
            f"infeasible: rows {i} and {j} of the features are equal to working precision "
            "and their labels differ, "
            f"got y[{i}]={y[i]!r} and y[{j}]={y[j]!r}"
        )
    raise ValueError(
        "infeasible: y must lie in the range of the singular Gram matrix, "
        f"got a relative residual of {residual:.3g}"
    )


def _eigh_dual(
    gram: NDArray[Any], y: NDArray[Any], cutoff: float | None, allow_residual: bool
) -> NDArray[Any]:
    values, vectors = np.linalg.eigh(gram)
    relative = _smallest(len(gram)) if cutoff is None else cutoff
    keep = values > relative * values[-1]
    basis = vectors[:, keep]
    coordinates = basis.conj().T @ y
    if not allow_residual:
        residual = float(np.linalg.norm(y - basis @ coordinates))
        scale = float(np.linalg.norm(y))
        if residual > CONSISTENT * scale:
            _refuse(gram, y, residual / scale)
    return np.asarray(basis @ (coordinates / values[keep]))


def _cholesky_dual(gram: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
    """Solve by Cholesky, or return None where the matrix is singular to working precision."""
    try:
        factor, lower = cho_factor(gram, lower=True, check_finite=False)
    except LinAlgError:
        return None
    pocon: Any = get_lapack_funcs("pocon", (factor,))
    rcond, _ = pocon(factor, np.linalg.norm(gram, 1), uplo="L")
    if rcond <= _smallest(len(gram)):
        return None
    return np.asarray(cho_solve((factor, lower), y, check_finite=False))


def min_norm_dual(
    gram: ArrayLike,
    y: ArrayLike,
    *,
    method: Literal["cholesky", "eigh"] = "cholesky",
    cutoff: float | None = None,
    allow_residual: bool = False,
) -> NDArray[Any]:
    """Dual vector ``a`` with ``G a = y`` of smallest norm: ``A* a`` is the min-norm interpolator.

    Examples
    --------
    >>> min_norm_dual([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])
    array([0.5 , 0.25])
    """
    G = square_matrix(gram)
    labels = label_vector(y, len(G))
    check_choice("method", method, ("cholesky", "eigh"))
    if cutoff is not None:
        check_probability("cutoff", cutoff, zero=True)
    if method == "cholesky":
        dual = _cholesky_dual(G, labels)
        if dual is not None:
            return dual
    return _eigh_dual(G, labels, cutoff, allow_residual)


def min_norm_fit(
    features: ArrayLike,
    y: ArrayLike,
    *,
    method: Method = "cholesky",
    cutoff: float | None = None,
    allow_residual: bool = False,
) -> NDArray[Any]:
    """Coefficients of smallest norm that interpolate the labels: ``c = A* (A A*)^{-1} y``.

    Notes
    -----
    The paper's closed form in section 2.4 is this one; its section 2.1 prints ``A (A A*)^{-1}``,
    whose dimensions do not match.

    Examples
    --------
    >>> min_norm_fit([[1.0, 1.0]], [2.0])
    array([1., 1.])
    """
    A = feature_matrix(features)
    labels = label_vector(y, len(A))
    check_choice("method", method, ("cholesky", "pinv", "eigh"))
    if A.shape[1] < A.shape[0]:
        raise ValueError(
            "features must have at least as many columns as rows (N >= m), "
            f"got features of shape {A.shape}"
        )
    if method == "pinv":
        inverse = np.linalg.pinv(A) if cutoff is None else np.linalg.pinv(A, rcond=cutoff)
        coef = inverse @ labels
        residual = relative_residual(A, labels, coef)
        if residual > CONSISTENT and not allow_residual:
            _refuse(gram_matrix(A), labels, residual)
        return np.asarray(coef)
    dual = min_norm_dual(
        gram_matrix(A), labels, method=method, cutoff=cutoff, allow_residual=allow_residual
    )
    return np.asarray(dual @ A.conj())


def ridge_fit(features: ArrayLike, y: ArrayLike, *, alpha: float) -> NDArray[Any]:
    """Minimiser of ``||A c - y||^2 + alpha ||c||^2`` (scikit-learn's alpha, not divided by m).

    Notes
    -----
    Solved in the smaller space: ``A* (A A* + alpha I)^{-1} y`` for N > m, else
    ``(A* A + alpha I)^{-1} A* y``. As alpha tends to 0 the first tends to the min-norm fit with
    an error of order alpha.

    Examples
    --------
    >>> ridge_fit([[1.0, 1.0]], [3.0], alpha=1.0)
    array([1., 1.])
    """
    A = feature_matrix(features)
    labels = label_vector(y, len(A))
    penalty = check_positive("alpha", alpha)
    wide = A.shape[1] > A.shape[0]
    gram = gram_matrix(A if wide else A.conj().T)
    gram[np.diag_indices_from(gram)] += penalty
    factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    if wide:
        return np.asarray(cho_solve(factor, labels, check_finite=False) @ A.conj())
    return np.asarray(cho_solve(factor, A.conj().T @ labels, check_finite=False))


def kaczmarz(gram: ArrayLike, y: ArrayLike, rows: ArrayLike) -> NDArray[Any]:
    """Dual vector of the Kaczmarz iterate after visiting the given rows, from zero.

    Notes
    -----
    ``c <- c + A_j* (y_j - A_j c) / ||A_j||^2`` is ``a_j <- a_j + (y_j - (G a)_j) / G_jj``.

    Examples
    --------
    >>> kaczmarz([[1.0, 0.5], [0.5, 1.0]], [1.0, 1.0], [0, 1])
    array([1. , 0.5])
    """
    G = square_matrix(gram)
    labels = label_vector(y, len(G))
    order = np.asarray(rows)
    if order.dtype.kind not in "iu" or order.ndim != 1:
        raise TypeError(f"rows must be a vector of integers, got rows of dtype {order.dtype}")
    if order.size and (order.min() < 0 or order.max() >= len(G)):
        raise ValueError(f"rows must be in [0, {len(G)}), got {order.min()} to {order.max()}")
    norms2 = G.diagonal().real.copy()
    if not (norms2[order] > 0).all():
        raise ValueError("gram must have a positive diagonal, got a row of norm zero")
    dual = np.zeros(len(G), dtype=np.result_type(G, labels))
    for j in order.tolist():
        dual[j] += (labels[j] - G[j] @ dual) / norms2[j]
    return dual


def relative_residual(features: ArrayLike, y: ArrayLike, coef: ArrayLike) -> float:
    """Residual ``||A c - y|| / ||y||`` of a fit: 0 for an interpolator, 1 for c = 0.

    Examples
    --------
    >>> relative_residual([[1.0]], [2.0], [1.0])
    0.5
    """
    A = feature_matrix(features)
    labels = label_vector(y, len(A))
    c = check_finite_array("coef", coef, ndim=1)
    if len(c) != A.shape[1]:
        raise ValueError(f"coef must have {A.shape[1]} entries, got {len(c)}")
    scale = float(np.linalg.norm(labels))
    if scale == 0.0:
        raise ValueError("y must not be all zero, got ||y||=0")
    return float(np.linalg.norm(A @ c - labels)) / scale

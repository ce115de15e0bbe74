"""Min-norm interpolation, ridge and Kaczmarz in Gram coordinates: never an N-vector too many.

With features A (m x N) every fit is c = A* a. ``alpha`` is scikit-learn's: m lambda for the paper's
(1/m)||A c - y||^2 + lambda ||c||^2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from dplit._checks import check_choice, check_finite_array, check_positive


def _double(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def _feature_matrix(features: ArrayLike) -> NDArray[Any]:
    """Return a finite (m, N) matrix in double precision, real or complex."""
    return _double(check_finite_array("features", features, ndim=2))


def _label_vector(y: ArrayLike, n_records: int) -> NDArray[Any]:
    """Return a finite vector of ``n_records`` labels in double precision."""
    labels = check_finite_array("y", y, ndim=1)
    if len(labels) != n_records:
        raise ValueError(f"y must have one label per record ({n_records}), got {len(labels)}")
    return _double(labels)


def _square_matrix(gram: ArrayLike) -> NDArray[Any]:
    """Return a finite square matrix in double precision."""
    array = check_finite_array("gram", gram, ndim=2)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"gram must be square, got gram of shape {array.shape}")
    return _double(array)


def gram_matrix(features: ArrayLike) -> NDArray[Any]:
    """Gram matrix ``A A*`` of the rows, exactly Hermitian, by a symmetric rank-N update."""
    A = _feature_matrix(features)
    if A.dtype.kind != "c":
        return np.asarray(A @ A.T)
    rows = np.ascontiguousarray(A)
    herk = get_blas_funcs("herk", (rows,))
    lower = np.tril(np.conj(herk(1.0, rows.T, trans=2, lower=True)))  # conj(A) A^T, conjugated
    return np.asarray(lower + np.tril(lower, -1).conj().T)


_Method = Literal["cholesky", "pinv"]

#: Relative residual above which labels are said to lie outside the range of the features.
_CONSISTENT = 1e-8


def _smallest(n_records: int) -> float:
    """Relative eigenvalue below which a Gram matrix is singular; N-term sums round at 1e-13."""
    return max(n_records, 1000) * float(np.finfo(float).eps)


def _refuse(gram: NDArray[Any], y: NDArray[Any], residual: float) -> None:
    """Raise the error of labels that the features cannot interpolate, naming a pair if one is."""
    diagonal = gram.diagonal().real
    distance2 = diagonal[:, None] + diagonal[None, :] - 2.0 * gram.real
    equal = np.triu(distance2 <= 1e-12 * diagonal.max(), 1) & (y[:, None] != y[None, :])
    if equal.any():
        i, j = (int(k) for k in np.argwhere(equal)[0])
        raise ValueError(
            f"infeasible: rows {i} and {j} of the features are equal to working precision "
            f"and their labels differ, got y[{i}]={y[i]!r} and y[{j}]={y[j]!r}"
        )
    raise ValueError(
        "infeasible: y must lie in the range of the singular Gram matrix, "
        f"got a relative residual of {residual / float(np.linalg.norm(y)):.3g}"
    )


def _eigh_dual(gram: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    values, vectors = np.linalg.eigh(gram)
    keep = values > _smallest(len(gram)) * values[-1]
    basis = vectors[:, keep]
    coordinates = basis.conj().T @ y
    residual = float(np.linalg.norm(y - basis @ coordinates))
    if residual > _CONSISTENT * float(np.linalg.norm(y)):
        _refuse(gram, y, residual)
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


def _min_norm_dual(gram: ArrayLike, y: ArrayLike) -> NDArray[Any]:
    """Dual vector ``a`` with ``G a = y`` of smallest norm: ``A* a`` is the min-norm interpolator.
    Cholesky; eigenvalues where the estimated reciprocal condition number is at most max(m, 1000)
    times machine precision. Labels off the range (relative residual above 1e-8) are refused.
    """
    G = _square_matrix(gram)
    labels = _label_vector(y, len(G))
    dual = _cholesky_dual(G, labels)
    return _eigh_dual(G, labels) if dual is None else dual


def min_norm_fit(
    features: ArrayLike, y: ArrayLike, *, method: _Method = "cholesky"
) -> NDArray[Any]:
    """Coefficients of smallest norm that interpolate: ``c = A* (A A*)^{-1} y``, equation (4).

    A is (m, N) with N >= m, real or complex. "cholesky" is ``_min_norm_dual``; "pinv" takes
    the pseudo-inverse of A: ten times slower, and right where A A* has lost its digits.
    """
    A = _feature_matrix(features)
    labels = _label_vector(y, len(A))
    check_choice("method", method, ("cholesky", "pinv"))
    if A.shape[1] < A.shape[0]:
        raise ValueError(
            "features must have at least as many columns as rows (N >= m), "
            f"got features of shape {A.shape}"
        )
    if method == "cholesky":
        return np.asarray(_min_norm_dual(gram_matrix(A), labels) @ A.conj())
    coef = np.linalg.pinv(A) @ labels
    residual = float(np.linalg.norm(A @ coef - labels))
    if residual > _CONSISTENT * float(np.linalg.norm(labels)):
        _refuse(gram_matrix(A), labels, residual)
    return np.asarray(coef)


def ridge_fit(features: ArrayLike, y: ArrayLike, *, alpha: float) -> NDArray[Any]:
    """Minimiser of ``||A c - y||^2 + alpha ||c||^2``: equation (5) with lambda = alpha / m.

    Solved in the smaller space: ``A* (A A* + alpha I)^{-1} y`` for N > m, else
    ``(A* A + alpha I)^{-1} A* y``. A penalty that is lost in the rounding of the Gram matrix, which
    depends on the data, is a ``LinAlgError``; the private estimator refuses by the sizes alone.
    """
    A = _feature_matrix(features)
    labels = _label_vector(y, len(A))
    penalty = check_positive("alpha", alpha)
    wide = A.shape[1] > A.shape[0]
    gram = gram_matrix(A if wide else A.conj().T)
    gram[np.diag_indices_from(gram)] += penalty
    factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    if wide:
        return np.asarray(cho_solve(factor, labels, check_finite=False) @ A.conj())
    return np.asarray(cho_solve(factor, A.conj().T @ labels, check_finite=False))


def kaczmarz(gram: ArrayLike, y: ArrayLike, rows: ArrayLike) -> NDArray[Any]:
    """Dual vector of the Kaczmarz iterate after visiting the given rows in order, from zero.

    ``c <- c + A_j* (y_j - A_j c) / ||A_j||^2`` is ``a_j <- a_j + (y_j - (G a)_j) / G_jj``.
    """
    G = _square_matrix(gram)
    labels = _label_vector(y, len(G))
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

"""Functions of the random-feature space and their best approximations: Lemmas 14 to 16.

A function ``f(x) = E[alpha(w) e^{i<w, x>}]`` with ``||f||_rho^2 = E|alpha|^2`` is approximated by
N features with coefficients ``alpha(w_k) 1{|alpha(w_k)| <= T} / N``. The lemmas print the threshold
``T = sqrt N ||f||^2``; it must be ``sqrt N ||f||``, as in the proof of Lemma 16.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.random_features._matrices import label_vector

__all__ = [
    "KernelSum",
    "bernstein_bound",
    "best_approximation",
    "coefficient_norm_bound",
    "rkhs_function",
    "rkhs_multiplier",
    "truncation_bias_bound",
    "truncation_threshold",
]


class KernelSum(NamedTuple):
    """Values of a finite kernel sum, and its norm."""

    values: NDArray[np.float64]
    norm: float


def _gaussian_kernel(X: NDArray[Any], Z: NDArray[Any], gamma: float) -> NDArray[np.float64]:
    differences = X[:, None, :] - Z[None, :, :]
    return np.asarray(np.exp(-gamma * np.sum(differences**2, axis=2)))


def _centers(centers: ArrayLike, weights: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    points = check_finite_array("centers", centers, ndim=2)
    amounts = check_finite_array("weights", weights, ndim=1)
    if len(amounts) != len(points):
        raise ValueError(f"weights must have {len(points)} entries, got {len(amounts)}")
    return points, amounts


def rkhs_function(
    X: ArrayLike, *, centers: ArrayLike, weights: ArrayLike, gamma: float
) -> KernelSum:
    """Values of ``f = sum_i a_i k(., x_i)`` at X and the norm ``||f||_rho``.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Where to evaluate.
    centers : array_like of shape (k, d)
        The points x_i.
    weights : array_like of shape (k,)
        Real weights a_i.
    gamma : float
        Kernel ``exp(-gamma ||x - x'||^2)``, positive: sigma_omega^2 / 2 in the paper's notation.

    Returns
    -------
    KernelSum
        ``values`` of shape (n,) and ``norm = sqrt(a^T K a)``; ``|values| <= norm``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Notes
    -----
    With Gaussian frequencies every function of the space is real-analytic and bounded by its norm.
    Neither test function of the paper's experiments qualifies: ``sqrt(1 + ||x||)`` is unbounded
    with a kink at 0, ``sum exp(-|x_i|)`` has kinks where a coordinate vanishes.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, equation (6), with ``|alpha|^2`` for the printed ``alpha^2``.

    Examples
    --------
    >>> rkhs_function([[0.0]], centers=[[0.0], [9.0]], weights=[3.0, 4.0], gamma=1.0)
    KernelSum(values=array([3.]), norm=5.0)
    """
    points = check_finite_array("X", X, ndim=2)
    where, a = _centers(centers, weights)
    if points.shape[1] != where.shape[1]:
        raise ValueError(f"X must have {where.shape[1]} columns, got X of shape {points.shape}")
    check_positive("gamma", gamma)
    squared_norm = float(a @ _gaussian_kernel(where, where, gamma) @ a)
    values = _gaussian_kernel(points, where, gamma) @ a
    return KernelSum(np.asarray(values), math.sqrt(max(squared_norm, 0.0)))


def rkhs_multiplier(
    frequencies: ArrayLike, *, centers: ArrayLike, weights: ArrayLike
) -> NDArray[np.complex128]:
    """Multiplier ``alpha(w) = sum_i a_i e^{-i<w, x_i>}`` of a finite kernel sum.

    Parameters
    ----------
    frequencies : array_like of shape (d, N)
        One frequency per column.
    centers, weights
        As in :func:`rkhs_function`.

    Returns
    -------
    ndarray of shape (N,), complex
        ``f(x) = E[alpha(w) e^{i<w, x>}]`` and ``||f||_rho^2 = E|alpha(w)|^2``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Examples
    --------
    >>> rkhs_multiplier([[2.0]], centers=[[0.0]], weights=[3.0])
    array([3.+0.j])
    """
    w = check_finite_array("frequencies", frequencies, ndim=2)
    where, a = _centers(centers, weights)
    if w.shape[0] != where.shape[1]:
        raise ValueError(f"frequencies must have {where.shape[1]} rows, got shape {w.shape}")
    return np.asarray(a @ np.exp(-1j * (where @ w)))


def best_approximation(multiplier: ArrayLike, *, threshold: float) -> NDArray[Any]:
    """Coefficients of the paper's best random-feature approximation f*.

    Parameters
    ----------
    multiplier : array_like of shape (N,)
        ``alpha(w_k)`` at the drawn frequencies, real or complex.
    threshold : float
        T, positive; larger values are set to zero.

    Returns
    -------
    ndarray of shape (N,)
        ``alpha(w_k) 1{|alpha(w_k)| <= T} / N``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), equation (8).

    Examples
    --------
    >>> best_approximation([2.0, -8.0], threshold=4.0)
    array([1., 0.])
    """
    values = check_finite_array("multiplier", multiplier, ndim=1)
    values = label_vector(values, len(values))  # in double precision
    kept = np.abs(values) <= check_positive("threshold", threshold)
    return np.asarray(np.where(kept, values, 0.0) / len(values))


def truncation_threshold(
    *, n_components: int, norm: float, version: Literal["printed", "corrected"] = "corrected"
) -> float:
    """Threshold T of Lemmas 14 to 16.

    Parameters
    ----------
    n_components : int
        Number N of features.
    norm : float
        ``||f||_rho``, positive.
    version : {"printed", "corrected"}
        "printed" is ``sqrt N norm^2``, "corrected" is ``sqrt N norm``.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With the printed threshold Lemma 14 fails for ``norm < 1``, Lemmas 15 and 16 for ``norm > 1``.
    A misprint: Theorem 11 uses the corrected one.

    Examples
    --------
    >>> truncation_threshold(n_components=100, norm=0.5)
    5.0
    """
    check_choice("version", version, ("printed", "corrected"))
    root = math.sqrt(check_integer("n_components", n_components, minimum=1))
    size = check_positive("norm", norm)
    return root * (size**2 if version == "printed" else size)


def truncation_bias_bound(*, norm: float, threshold: float) -> float:
    """Bound on ``|f(x) - E f*(x)|^2`` from truncating at T: ``norm^4 / T^2``.

    Parameters
    ----------
    norm : float
        ``||f||_rho``, nonnegative.
    threshold : float
        T, positive.

    Returns
    -------
    float
        Sharp: a multiplier that is 0 or just above T attains it as it tends to T.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    ``|E[alpha 1{|alpha| > T} e^{i<w, x>}]| <= E[|alpha|^2 / T]``: no Cauchy-Schwarz is needed.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Lemma 14, equation (10).

    Examples
    --------
    >>> truncation_bias_bound(norm=2.0, threshold=8.0)
    0.25
    """
    return (check_nonnegative("norm", norm) ** 2 / check_positive("threshold", threshold)) ** 2


def bernstein_bound(*, n_components: int, norm: float, threshold: float, failure: float) -> float:
    """Bound on ``|f*(x) - E f*(x)|^2`` at a fixed x, with probability 1 - failure.

    Parameters
    ----------
    n_components : int
        Number N of features.
    norm : float
        ``||f||_rho``, nonnegative.
    threshold : float
        T, positive.
    failure : float
        In (0, 1).

    Returns
    -------
    float
        ``32 T^2 L^2 / N^2 + 4 norm^2 L / N`` with L = log(2/failure).

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The Bernstein inequality behind it holds in Hilbert spaces. Applied in ``L^2(mu)`` and in C^m
    (where it bounds the mean over the training points) it gives (15) and (16) with the same
    constants; the pointwise statement of the paper does not.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Lemma 15, equation (12).

    Examples
    --------
    >>> round(bernstein_bound(n_components=100, norm=1.0, threshold=10.0, failure=0.05), 3)
    4.502
    """
    n = check_integer("n_components", n_components, minimum=1)
    L = math.log(2.0 / check_probability("failure", failure))
    deviation = check_positive("threshold", threshold) * L / n
    return 32.0 * deviation**2 + 4.0 * check_nonnegative("norm", norm) ** 2 * L / n


def coefficient_norm_bound(
    *, n_components: int, norm: float, failure: float, threshold: float | None = None
) -> float:
    """Bound on ``||c*||^2`` with probability 1 - failure.

    Parameters
    ----------
    n_components : int
        Number N of features.
    norm : float
        ``||f||_rho``, nonnegative.
    failure : float
        In (0, 1).
    threshold : float, optional
        T, positive, for the first display of the lemma. None is the second display, ``12 L norm^2
        / N`` with L = log(2/failure), which belongs to ``T = sqrt N norm``.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    First display: ``(norm^2 + 4 T^2 L / N + T norm sqrt(2 L / N)) / N``. With
    ``T = sqrt N norm`` it is ``norm^2 (1 + 4 L + sqrt(2 L)) / N``, and
    ``1 + 4 L + sqrt(2 L) <= 7.14 L`` for L >= log 2.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Lemma 16.

    Examples
    --------
    >>> round(coefficient_norm_bound(n_components=100, norm=1.0, failure=0.05), 4)
    0.4427
    """
    n = check_integer("n_components", n_components, minimum=1)
    size = check_nonnegative("norm", norm)
    L = math.log(2.0 / check_probability("failure", failure))
    if threshold is None:
        return 12.0 * L * size**2 / n
    T = check_positive("threshold", threshold)
    return (size**2 + 4.0 * T**2 * L / n + T * size * math.sqrt(2.0 * L / n)) / n

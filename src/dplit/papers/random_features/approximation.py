"""Approximation by random features (Lemmas 14 to 16): multipliers, truncation, Bernstein, norms."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.features import gaussian_kernel
from dplit.papers.random_features.interpolation import _label_vector


class _KernelSum(NamedTuple):
    """Values of a finite kernel sum, and its norm."""

    values: Array
    norm: float


def _centers(centers: ArrayLike, weights: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    points = check_real_array("centers", centers, 2)
    amounts = check_real_array("weights", weights, 1)
    if len(amounts) != len(points):
        raise ValueError(f"weights must have {len(points)} entries, got {len(amounts)}")
    return points, amounts


def rkhs_function(
    X: ArrayLike, *, centers: ArrayLike, weights: ArrayLike, gamma: float
) -> _KernelSum:
    """Values (n,) of ``f = sum_i a_i k(., x_i)`` at X (n, d), and ``||f||_rho = sqrt(a^T K a)``.

    ``k(x, x') = exp(-gamma ||x - x'||^2)``, so gamma is sigma_omega^2 / 2; centers x_i are (k, d).
    ``|f| <= ||f||_rho``; equation (6), with ``|alpha|^2`` for the printed ``alpha^2``.
    """
    points = check_real_array("X", X, 2)
    where, a = _centers(centers, weights)
    if points.shape[1] != where.shape[1]:
        raise ValueError(f"X must have {where.shape[1]} columns, got X of shape {points.shape}")
    squared_norm = float(a @ gaussian_kernel(where, gamma=gamma) @ a)
    values = np.asarray(gaussian_kernel(points, where, gamma=gamma) @ a)
    return _KernelSum(values, math.sqrt(max(squared_norm, 0.0)))


def rkhs_multiplier(
    frequencies: ArrayLike, *, centers: ArrayLike, weights: ArrayLike
) -> NDArray[np.complex128]:
    """Multiplier ``alpha(w) = sum_i a_i e^{-i<w, x_i>}`` of a kernel sum, for frequencies (d, N).

    ``f(x) = E[alpha(w) e^{i<w, x>}]`` and ``||f||_rho^2 = E|alpha(w)|^2``.
    """
    w = check_real_array("frequencies", frequencies, 2)
    where, a = _centers(centers, weights)
    if w.shape[0] != where.shape[1]:
        raise ValueError(f"frequencies must have {where.shape[1]} rows, got shape {w.shape}")
    return np.asarray(a @ np.exp(-1j * (where @ w)))


def best_approximation(multiplier: ArrayLike, *, threshold: float) -> NDArray[Any]:
    """Coefficients ``alpha(w_k) 1{|alpha(w_k)| <= T} / N`` of f*, equation (8)."""
    values = check_finite_array("multiplier", multiplier, ndim=1)
    values = _label_vector(values, len(values))  # in double precision
    kept = np.abs(values) <= check_positive("threshold", threshold)
    return np.asarray(np.where(kept, values, 0.0) / len(values))


def truncation_threshold(
    *, n_components: int, norm: float, version: Literal["printed", "corrected"] = "corrected"
) -> float:
    """Threshold T of Lemmas 14 to 16: ``sqrt N norm``, printed as ``sqrt N norm^2``.

    With the printed one Lemma 14 fails for ``norm < 1``, Lemmas 15 and 16 for ``norm > 1``; a
    misprint, since Theorem 11 uses the other.
    """
    check_choice("version", version, ("printed", "corrected"))
    root = math.sqrt(check_integer("n_components", n_components, minimum=1))
    size = check_positive("norm", norm)
    return root * (size**2 if version == "printed" else size)


def truncation_bias_bound(*, norm: float, threshold: float) -> float:
    """Bound ``norm^4 / T^2`` on ``|f(x) - E f*(x)|^2``: Lemma 14, equation (10).

    Sharp: a multiplier that is 0 or just above T attains it as it tends to T.
    """
    return (check_nonnegative("norm", norm) ** 2 / check_positive("threshold", threshold)) ** 2


def bernstein_bound(*, n_components: int, norm: float, threshold: float, failure: float) -> float:
    """Bound on ``|f*(x) - E f*(x)|^2`` with probability 1 - failure: Lemma 15, equation (12).

    ``32 T^2 L^2 / N^2 + 4 norm^2 L / N``. It holds for each x, and for the norms of ``L^2(mu)`` and
    of the training points, which is what (15) and (16) need.
    """
    n = check_integer("n_components", n_components, minimum=1)
    L = math.log(2.0 / check_probability("failure", failure))
    deviation = check_positive("threshold", threshold) * L / n
    return 32.0 * deviation**2 + 4.0 * check_nonnegative("norm", norm) ** 2 * L / n


def coefficient_norm_bound(
    *, n_components: int, norm: float, failure: float, threshold: float | None = None
) -> float:
    """Bound on ``||c*||^2`` with probability 1 - failure: Lemma 16.

    The first display, ``(norm^2 + 4 T^2 L / N + T norm sqrt(2 L / N)) / N``; without a threshold
    the second, ``12 L norm^2 / N``, which belongs to ``T = sqrt N norm`` (where 7.14 would do for
    12).
    """
    n = check_integer("n_components", n_components, minimum=1)
    size = check_nonnegative("norm", norm)
    L = math.log(2.0 / check_probability("failure", failure))
    if threshold is None:
        return 12.0 * L * size**2 / n
    T = check_positive("threshold", threshold)
    return (size**2 + 4.0 * T**2 * L / n + T * size * math.sqrt(2.0 * L / n)) / n

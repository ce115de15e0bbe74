r"""Least squares and the quantities in which the paper measures a design and an error.

The relative error :math:`\eta=g(\theta)/g(\theta^\star)`, :math:`g(\theta)=\|X\theta-y\|^2`, comes
from Pythagoras, never from a ratio of two sums, so that no digits are lost near 1. In the
eigenbasis of :math:`X^\top X` (:class:`~dplit.papers.projection.spectrum.Spectrum`) ridge fits and
errors are sums over d terms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq, svdvals

from dplit._checks import Array, check_flag, check_real_array
from dplit.entries._checks import check_matrix, check_pair


def _tall(X: Array) -> Array:
    n, d = X.shape
    if n <= d:
        raise ValueError(f"X must have more rows than columns, got X of shape {X.shape}")
    return X


def _deficient(rank: int, d: int) -> ValueError:
    return ValueError(f"X must have full column rank {d}, got X of numerical rank {rank}")


def _cutoff(X: Array) -> float:
    """Return the relative size below which a singular value of X counts as zero."""
    return float(np.finfo(np.float64).eps * max(X.shape))


def _singular_values(X: ArrayLike) -> Array:
    """Singular values, largest first, of a design with n > d and rank d."""
    design = _tall(check_matrix(X))
    values = np.asarray(svdvals(design), dtype=np.float64)
    rank = int(np.sum(values > _cutoff(design) * values[0]))
    if rank < design.shape[1]:
        raise _deficient(rank, design.shape[1])
    return values


def _check_design(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Check the paper's assumptions on X (n, d) and y (n,), and return both in float64.

    Refused are n <= d and numerical rank below d (for example two constant columns).
    """
    design, response = check_pair(X, y)
    _singular_values(design)
    return design, response


def least_squares(X: ArrayLike, y: ArrayLike) -> Array:
    r"""Minimiser of :math:`\|X\theta-y\|^2`: (1), (10), (14).

    X has rank d and n >= d (n = d is allowed here: a projection may leave d rows).
    """
    design, response = check_pair(X, y)
    if design.shape[0] < design.shape[1]:
        raise _deficient(min(design.shape), design.shape[1])
    solution: tuple[Any, ...] = lstsq(
        design, response, cond=_cutoff(design), lapack_driver="gelsy", check_finite=False
    )
    if int(solution[2]) < design.shape[1]:
        raise _deficient(int(solution[2]), design.shape[1])
    return np.asarray(solution[0], dtype=np.float64)


def _residual_energy(X: Array, y: Array, best: Array) -> float:
    """Return the squared residual norm, exactly 0 where it is rounding error of an exact fit."""
    energy = float(np.sum((y - X @ best) ** 2))
    scale = float(np.linalg.norm(y) + np.linalg.norm(X) * np.linalg.norm(best))
    return energy if energy > (_cutoff(X) * scale) ** 2 else 0.0


def relative_error(theta: ArrayLike, X: ArrayLike, y: ArrayLike) -> Any:
    r"""Relative error (5), :math:`g(\theta)/g(\theta^\star)`, of coefficients of shape (..., d).

    :math:`1+\|X(\theta-\theta^\star)\|^2/\|X\theta^\star-y\|^2`, as the residual is orthogonal to
    the columns. Where y lies in the column space of X it is infinite, or 1 for the exact solution.
    """
    design, response = _check_design(X, y)
    coefficients = check_real_array("theta", theta)
    if coefficients.ndim == 0 or coefficients.shape[-1] != design.shape[1]:
        raise ValueError(
            f"theta must have {design.shape[1]} entries, got theta of shape {coefficients.shape}"
        )
    best = least_squares(design, response)
    residual = _residual_energy(design, response, best)
    excess = np.sum(((coefficients - best) @ design.T) ** 2, axis=-1)
    if residual > 0:
        eta = 1.0 + excess / residual
    else:
        zero = (_cutoff(design) * np.linalg.norm(response)) ** 2
        eta = np.where(excess <= zero, 1.0, math.inf)
    return float(eta) if np.ndim(eta) == 0 else np.asarray(eta)


def condition_number(X: ArrayLike) -> float:
    r"""Condition number (6), :math:`\kappa(X)=\sigma_{\max}/\sigma_{\min}`."""
    values = _singular_values(X)
    return float(values[0] / values[-1])


def root_snr(X: ArrayLike, y: ArrayLike) -> float:
    r"""Equation (7), :math:`r(y)=\|X\theta^\star\|/\|X\theta^\star-y\|`, or infinity."""
    design, response = _check_design(X, y)
    if not response.any():
        raise ValueError("y must not be zero: explained and unexplained part both vanish")
    best = least_squares(design, response)
    residual = _residual_energy(design, response, best)
    explained = float(np.linalg.norm(design @ best))
    return explained / math.sqrt(residual) if residual > 0 else math.inf


def column_energy_floor(X: ArrayLike, *, squared: bool = False) -> float:
    r"""The paper's :math:`f(X)`, with :math:`f^2(X)=\min_j\big(\sum_iX_{ij}^2-\max_iX_{ij}^2\big)`.

    ``squared`` returns :math:`f^2(X)`, which enters (13). Section II, with the indices exchanged: i
    runs over rows, j over columns.

    >>> column_energy_floor([[1.0, 1.0], [0.5, 0.0], [-0.5, 1.0]], squared=True)
    0.5
    """
    squares = np.sort(check_matrix(X) ** 2, axis=0)
    floor = float(np.min(np.sum(squares[:-1], axis=0)))
    return floor if check_flag("squared", squared) else math.sqrt(floor)

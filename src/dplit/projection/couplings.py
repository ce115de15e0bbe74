"""The algebra behind the fast samplers: the same fit from the same noise, on small factors.

No statistics here: with the random matrices of the mechanism given, the fit on the full release
and the fit on a triangular factor of order d + 1 are the same vector.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from dplit._checks import check_finite_array, check_nonnegative, check_positive

__all__ = ["CoupledFits", "coupled_additive", "coupled_projection"]

_Array = NDArray[np.float64]


class CoupledFits(NamedTuple):
    """Coefficients from one and the same noise: on the full data, and on the small factors."""

    naive: _Array
    small: _Array


def coupled_projection(
    X: ArrayLike, y: ArrayLike, S: ArrayLike, N: ArrayLike, *, penalty: float
) -> CoupledFits:
    r"""Fit on S X + sigma N and S y, and the same fit from a triangular factor of order d + 1.

    Parameters
    ----------
    X, y : array_like of shapes (n, d) and (n,)
    S, N : array_like of shapes (n', n) and (n', d)
        The random matrices of the mechanism.
    penalty : float
        Noise variance, nonnegative.

    Returns
    -------
    CoupledFits
        They agree up to rounding: the law of the fit is that of its small factors.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With M as in :func:`dplit.projection.exact_law.projection_moments` and :math:`M=QR`, the release
    is :math:`[S,N]M=[S,N]Q\,R`; the triangular factor T of the Gaussian matrix :math:`[S,N]Q` gives
    the small release T R.

    Examples
    --------
    >>> X, y, S, N = [[1.0], [1.0]], [3.0, 1.0], [[1.0, 2.0], [0.0, 1.0]], [[1.0], [0.5]]
    >>> naive, small = coupled_projection(X, y, S, N, penalty=1.0)
    >>> bool(abs(naive - small).max() < 1e-12)
    True
    """
    design, response = (np.asarray(check_finite_array(k, v)) for k, v in (("X", X), ("y", y)))
    left, noise = (np.asarray(check_finite_array(k, v)) for k, v in (("S", S), ("N", N)))
    root, d = math.sqrt(check_nonnegative("penalty", penalty)), design.shape[1]
    released = left @ design + root * noise
    naive = np.linalg.lstsq(released, left @ response, rcond=None)[0]
    stacked = np.zeros((len(design) + d, d + 1))
    stacked[: len(design)] = np.column_stack([design, response])
    stacked[len(design) :, :d] = root * np.eye(d)
    Q, R = np.linalg.qr(stacked)
    small = np.linalg.qr(np.hstack([left, noise]) @ Q, mode="r") @ R
    return CoupledFits(naive, solve_triangular(small[:d, :d], small[:d, d]))


def coupled_additive(X: ArrayLike, y: ArrayLike, N: ArrayLike, *, sigma: float) -> CoupledFits:
    """Fit on X + sigma N and y, and the same fit from at most 2 d + 1 rows.

    Parameters
    ----------
    X, y : array_like of shapes (n, d) and (n,)
    N : array_like of shape (n, d)
        The noise of the mechanism.
    sigma : float
        Its standard deviation, positive.

    Returns
    -------
    CoupledFits
        They agree up to rounding.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> X, y, N = [[1.0], [1.0], [0.0]], [3.0, 1.0, 2.0], [[0.5], [-1.0], [2.0]]
    >>> naive, small = coupled_additive(X, y, N, sigma=1.0)
    >>> bool(abs(naive - small).max() < 1e-12)
    True
    """
    design, response = (np.asarray(check_finite_array(k, v)) for k, v in (("X", X), ("y", y)))
    noise = np.asarray(check_finite_array("N", N))
    level, d = check_positive("sigma", sigma), design.shape[1]
    naive = np.linalg.lstsq(design + level * noise, response, rcond=None)[0]
    Q, R = np.linalg.qr(np.column_stack([design, response]))
    inside = Q.T @ noise
    outside = np.asarray(np.linalg.qr(noise - Q @ inside, mode="r"))
    rows = np.vstack([R[:, :d] + level * inside, level * outside])
    right = np.append(R[:, d], np.zeros(len(outside)))
    return CoupledFits(naive, np.linalg.lstsq(rows, right, rcond=None)[0])

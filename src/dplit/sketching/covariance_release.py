"""Noisy second moments: the direct private release with which sketches for PCA are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_rng,
)
from dplit._estimators import clip_rows
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise

__all__ = ["NoisyMoments", "covariance_scale", "leading_components", "noisy_covariance"]

Noise = Literal["gaussian", "laplace"]
_Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyMoments:
    """A private sum of second moments.

    Attributes
    ----------
    moments : ndarray of shape (d, d)
        Noisy ``sum_i x_i x_i^T``, symmetric, not projected on the positive cone.
    scale : float
        Standard deviation of the noise on the diagonal (Gaussian) or Laplace scale of every entry.
    epsilon, delta : float
        Guarantee.
    neighboring : str
        Its neighbouring relation.
    """

    moments: _Array
    scale: float
    epsilon: float
    delta: float
    neighboring: str


def covariance_scale(
    n_features: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
) -> float:
    r"""Scale of the symmetric noise that makes second moments of the unit ball private.

    Parameters
    ----------
    n_features : int
        Dimension d.
    epsilon : float
        In (0, inf).
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    noise : {"gaussian", "laplace"}, default="gaussian"
        Law of the noise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Gaussian: standard deviation on the diagonal, :math:`1/\sqrt2` of it off the diagonal.
        Laplace: scale of every entry on and above the diagonal.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range, or ``delta`` is not 0 with Laplace noise.

    Notes
    -----
    For :math:`\|x\|\le1` one record moves the sum by :math:`\|xx^\top\|_F=\|x\|^2\le1`, replacing
    one by :math:`\|xx^\top-yy^\top\|_F\le\sqrt2` (orthonormal x and y). The Gaussian noise is
    isotropic for the Frobenius norm of symmetric matrices. On and above the diagonal
    :math:`\sum_{i\le j}|x_ix_j|=(\|x\|_1^2+\|x\|_2^2)/2\le(d+1)/2`, attained by
    :math:`x=d^{-1/2}(\pm1,\dots,\pm1)`; twice that bounds a replacement.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang, Analyze Gauss: optimal bounds for privacy-preserving principal
    component analysis, STOC 2014, Algorithm 1 (with the same noise on every entry).

    Examples
    --------
    >>> from dplit.sketching.covariance_release import covariance_scale
    >>> covariance_scale(5, epsilon=0.5, noise="laplace")
    6.0
    """
    d = check_integer("n_features", n_features)
    epsilon = check_positive("epsilon", epsilon)
    check_choice("noise", noise, get_args(Noise))
    check_neighboring(neighboring)
    replaced = neighboring == "replace_one"
    if noise == "laplace":
        if delta != 0:
            raise ValueError(f"delta must be 0 with Laplace noise, got delta={delta!r}")
        return (d + 1) / 2 * (2 if replaced else 1) / epsilon
    # one coordinate has no orthogonal pair: |x^2 - y^2| <= 1
    sensitivity = math.sqrt(2.0) if replaced and d > 1 else 1.0
    delta = check_probability("delta", delta)
    return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def noisy_covariance(
    X: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
    rng: np.random.Generator,
) -> NoisyMoments:
    """Private sum of second moments of records in the unit ball.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records; rows longer than 1 are scaled back to the unit ball.
    epsilon, delta, noise, neighboring
        As in :func:`covariance_scale`.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    NoisyMoments
        The noisy sum, (epsilon, delta)-private. Its eigenvectors are private with it.

    Raises
    ------
    TypeError, ValueError
        If ``X`` is not a finite real matrix or an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.covariance_release import noisy_covariance
    >>> X = np.repeat([[1.0, 0.0], [0.0, 0.8]], 4000, axis=0)
    >>> release = noisy_covariance(X, epsilon=1.0, delta=1e-6, rng=np.random.default_rng(0))
    >>> (release.moments / 4000).round(1) + 0.0
    array([[1. , 0. ],
           [0. , 0.6]])
    """
    records = check_finite_array("X", X, ndim=2)
    if records.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {records.dtype}")
    d = records.shape[1]
    scale = covariance_scale(d, epsilon=epsilon, delta=delta, noise=noise, neighboring=neighboring)
    check_rng(rng)
    rows = clip_rows(records.astype(np.float64), 1.0)
    if noise == "gaussian":
        draws = gaussian_noise((d, d), sigma=scale, rng=rng)
        added = (draws + draws.T) / 2.0
    else:
        draws = np.triu(laplace_noise((d, d), scale=scale, rng=rng))
        added = draws + np.triu(draws, 1).T
    return NoisyMoments(rows.T @ rows + added, scale, float(epsilon), float(delta), neighboring)


def leading_components(moments: ArrayLike, n_components: int) -> _Array:
    """Orthonormal eigenvectors of the largest eigenvalues of a symmetric matrix.

    Parameters
    ----------
    moments : array_like of shape (d, d)
        Symmetric.
    n_components : int
        Number k, at most d.

    Returns
    -------
    ndarray of shape (d, k)
        Columns in order of falling eigenvalues.

    Raises
    ------
    TypeError, ValueError
        If the matrix is not square and finite or k is out of range.

    Examples
    --------
    >>> from dplit.sketching.covariance_release import leading_components
    >>> abs(leading_components([[1.0, 0.0], [0.0, 2.0]], 1)).ravel()
    array([0., 1.])
    """
    matrix = check_finite_array("moments", moments, ndim=2)
    k = check_integer("n_components", n_components)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {matrix.shape}")
    if k > len(matrix):
        raise ValueError(f"n_components must be at most {len(matrix)}, got n_components={k}")
    vectors = np.linalg.eigh(matrix)[1]
    return np.asarray(vectors[:, ::-1][:, :k], dtype=np.float64)

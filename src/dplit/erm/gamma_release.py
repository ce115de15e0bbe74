r"""Pure epsilon for a function of finitely many features: a gamma-distributed noise norm."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.mechanisms import gamma_norm_noise

__all__ = ["gamma_deviation", "gamma_privacy_loss", "gamma_release"]

_Array = NDArray[np.float64]


def gamma_release(
    weights: ArrayLike, *, sensitivity: float, epsilon: float, rng: np.random.Generator
) -> _Array:
    r"""Weights of a linear model plus noise with density proportional to ``exp(-rate ||b||_2)``.

    Parameters
    ----------
    weights : array_like of shape (d,)
        Exact weights of ``f(x) = <weights, phi(x)>`` on public features.
    sensitivity : float
        Bound on the Euclidean distance of the weights over all neighbouring data sets (plus the
        certified distance of an approximate solver for both), positive.
    epsilon : float
        Positive.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    ndarray of shape (d,)
        Epsilon-private weights; every evaluation of the function is post-processing.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, Differentially private empirical risk minimization, JMLR 12
    (2011), Algorithm 1.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noisy = gamma_release([1.0, 0.0], sensitivity=1e-9, epsilon=1.0,
    ...     rng=stream(0, "example", "noise"))
    >>> np.abs(noisy).round(6).tolist()
    [1.0, 0.0]
    """
    exact = check_finite_array("weights", weights, ndim=1)
    if exact.dtype.kind == "c":
        raise TypeError(f"weights must be real, got weights of dtype {exact.dtype}")
    rate = check_positive("epsilon", epsilon) / check_positive("sensitivity", sensitivity)
    return np.asarray(exact + gamma_norm_noise(len(exact), rate=rate, rng=rng))


def gamma_deviation(
    dimension: int, *, sensitivity: float, epsilon: float, kappa: float = 1.0
) -> float:
    r"""Standard deviation of the noise of one prediction on features of norm ``kappa``.

    Parameters
    ----------
    dimension : int
        Number d of features, at least 1.
    sensitivity, epsilon : float
        As in :func:`gamma_release`.
    kappa : float, default=1.0
        Norm of the features at the point, positive.

    Returns
    -------
    float
        ``kappa sqrt(d + 1) sensitivity / epsilon``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The norm is Gamma(d) with rate :math:`\xi=\epsilon/\Delta`, so :math:`E\|b\|^2=d(d+1)/\xi^2`,
    and every direction has the same share of it.

    Examples
    --------
    >>> gamma_deviation(80, sensitivity=0.01, epsilon=0.5)
    0.18
    """
    d = check_integer("dimension", dimension)
    scale = check_positive("sensitivity", sensitivity) / check_positive("epsilon", epsilon)
    return check_positive("kappa", kappa) * math.sqrt(d + 1) * scale


def gamma_privacy_loss(
    released: ArrayLike, weights: ArrayLike, neighbour: ArrayLike, *, rate: float
) -> _Array:
    r"""Logarithm of the ratio of the densities of a release under two sets of exact weights.

    Parameters
    ----------
    released : array_like of shape (..., d)
        Released weights.
    weights, neighbour : array_like of shape (d,)
        Exact weights on the two data sets.
    rate : float
        ``epsilon / sensitivity``, positive.

    Returns
    -------
    ndarray of shape (...,)
        ``rate (||released - neighbour|| - ||released - weights||)``: between -epsilon and epsilon
        by the triangle inequality, and equal to an end behind either set of weights.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> gamma_privacy_loss([[2.0, 0.0], [0.5, 9.0]], [1.0, 0.0], [0.0, 0.0], rate=0.5).tolist()
    [0.5, 0.0]
    """
    points = check_finite_array("released", released)
    here = check_finite_array("weights", weights, ndim=1)
    there = check_finite_array("neighbour", neighbour, ndim=1)
    if not points.shape[-1:] == here.shape == there.shape:
        raise ValueError(
            f"neighbour must have the shape of weights, got {there.shape} and {here.shape} "
            f"for released of shape {points.shape}"
        )
    distances = [np.linalg.norm(points - centre, axis=-1) for centre in (there, here)]
    return np.asarray(check_positive("rate", rate) * (distances[0] - distances[1]))

r"""Kernel hinge minimisers with a certificate, and the same predictor on random features.

The reference predictor is the regularised minimiser f over the ball of radius Lambda, a combination
of kernel sections at the records. Its coefficients, put on the features, give a linear predictor.
What this one can lose is bounded in :mod:`dplit.margin.transfer_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.features import random_frequencies
from dplit.margin._records import check_signs
from dplit.margin.kernel_features import margin_features

__all__ = [
    "KernelFit",
    "TransferCurve",
    "Transferred",
    "fit_kernel_hinge",
    "transfer",
    "transfer_curve",
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class KernelFit:
    r"""Regularised minimiser over a ball, with its certificate.

    Attributes
    ----------
    alpha : ndarray of shape (m,)
        Coefficients in ``[0, 1 / (regularization * m * margin)]``.
    norm : float
        :math:`\|f\|_{\mathbb H}`.
    hinge : float
        Mean hinge loss on the sample.
    gap : float
        Duality gap: the regularised objective is at most this above the minimum over the ball.
    multiplier : float
        Regularisation with which the dual was solved; above the wanted one if the ball binds.
    """

    alpha: Array
    norm: float
    hinge: float
    gap: float
    multiplier: float


@dataclass(frozen=True)
class Transferred:
    """The predictor with features in place of the kernel.

    Attributes
    ----------
    hinge, norm : float
        Mean hinge loss on the sample and Euclidean norm of the weights.
    rms, largest : float
        Root mean square and maximum over the records of the change of the scores.
    """

    hinge: float
    norm: float
    rms: float
    largest: float


def _dual(signed: Array, margin: float, multiplier: float, start: Array) -> Array:
    """Maximise ``margin sum(alpha) - alpha' Q alpha / 2`` over the box, scaled to unit box."""
    m = len(signed)
    top = 1.0 / (multiplier * m * margin)
    scale = 1.0 / (m * margin)  # the stopping rules then see values of order one

    def objective(beta: Array) -> tuple[float, Array]:
        image = signed @ beta * top
        value = 0.5 * float(beta @ image) - margin * float(beta.sum())
        return scale * value, scale * (image - margin)

    options: Any = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    found = minimize(
        objective, np.clip(start / top, 0.0, 1.0), jac=True, method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * m, options=options,
    )  # fmt: skip
    return np.asarray(found.x) * top


def fit_kernel_hinge(
    kernel: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    weight_norm: float,
    regularization: float,
    tol: float = 1e-6,
) -> KernelFit:
    r"""Regularised minimiser of the hinge loss over a ball, without intercept.

    The objective is :math:`\hat L^\rho(f)+\frac\lambda2\|f\|^2` over :math:`\|f\|\le\Lambda`.

    Parameters
    ----------
    kernel : array_like of shape (m, m)
        Kernel matrix of the records.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margin, weight_norm, regularization : float
        The paper's rho, Lambda and the factor lambda, positive.
    tol : float, default=1e-6
        Largest accepted duality gap.

    Returns
    -------
    KernelFit
        Not private: the reference of the analysis.

    Raises
    ------
    ValueError
        If an array has the wrong shape or content or a number is not positive.
    RuntimeError
        If the gap stays above ``tol``.

    Notes
    -----
    For every multiplier :math:`\lambda'\ge\lambda` and :math:`\alpha\in[0,1/(\lambda'm\rho)]^m`,
    :math:`\lambda'\rho\sum\alpha_i-\frac{\lambda'}2\alpha^\top Q\alpha-\frac{\lambda'-\lambda}2
    \Lambda^2` is below the minimum, with :math:`Q_{ij}=y_iy_jK(x_i,x_j)`. The multiplier is
    :math:`\lambda` if the minimiser fits into the ball, else the root of the norm.

    Examples
    --------
    >>> from dplit.margin.transfer import fit_kernel_hinge
    >>> fit = fit_kernel_hinge(np.eye(2), [1, -1], margin=1.0, weight_norm=9.0, regularization=0.1)
    >>> round(fit.norm, 3), round(fit.hinge, 6)
    (1.414, 0.0)
    """
    matrix = check_finite_array("kernel", kernel, ndim=2)
    labels = check_signs(y)
    m = len(matrix)
    if matrix.shape != (m, m) or labels.shape != (m,):
        raise ValueError(f"kernel and y must fit, got shapes {matrix.shape} and {labels.shape}")
    rho, size = check_positive("margin", margin), check_positive("weight_norm", weight_norm)
    weight = check_positive("regularization", regularization)
    signed = labels[:, None] * np.asarray(matrix, float) * labels
    fit = _certified(signed, rho, size, weight, weight, _dual(signed, rho, weight, np.zeros(m)))
    if fit.gap > tol:
        fit = _bind(signed, rho, size, weight, fit.alpha, tol)
    if fit.gap > tol:
        raise RuntimeError(f"the duality gap must be at most tol={tol:g}, got {fit.gap:.3g}")
    return fit


def _certified(
    signed: Array, margin: float, size: float, weight: float, multiplier: float, alpha: Array
) -> KernelFit:
    """Shrink dual coefficients into the ball and compute the gap to the dual bound."""
    scores = signed @ alpha
    square = float(alpha @ scores)
    shrink = min(1.0, size / math.sqrt(max(square, 1e-300)))
    hinge = float(np.maximum(0.0, 1.0 - shrink * scores / margin).mean())
    primal = hinge + 0.5 * weight * square * shrink**2
    dual = multiplier * (margin * float(alpha.sum()) - 0.5 * square)
    dual -= 0.5 * (multiplier - weight) * size**2
    return KernelFit(shrink * alpha, shrink * math.sqrt(square), hinge, primal - dual, multiplier)


def _bind(
    signed: Array, margin: float, size: float, weight: float, alpha: Array, tol: float
) -> KernelFit:
    """Bisect the multiplier, in its logarithm, for a minimiser on the sphere of the ball."""
    low, high, multiplier = weight, math.inf, 4.0 * weight
    best = _certified(signed, margin, size, weight, weight, alpha)
    for _ in range(100):
        alpha = _dual(signed, margin, multiplier, alpha)
        fit = _certified(signed, margin, size, weight, multiplier, alpha)
        best = fit if fit.gap < best.gap else best
        if best.gap <= tol:
            break
        if float(alpha @ signed @ alpha) > size**2:
            low = multiplier
        else:
            high = multiplier
        multiplier = math.sqrt(low * high) if high < math.inf else 4.0 * multiplier
    return best


def transfer(
    fit: KernelFit,
    X: ArrayLike,
    y: ArrayLike,
    kernel: ArrayLike,
    *,
    n_frequencies: int,
    gamma: float,
    margin: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
) -> Transferred:
    r"""Put the reference predictor on random features and measure what it loses.

    Parameters
    ----------
    fit : KernelFit
        Reference predictor.
    X : array_like of shape (m, n_features)
        The records that it was fitted on.
    y : array_like of shape (m,)
        Their labels.
    kernel : array_like of shape (m, m)
        Their kernel matrix.
    n_frequencies : int
        Number D of frequencies.
    gamma, margin, data_norm : float
        Kernel, margin and the paper's r.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    Transferred

    Examples
    --------
    >>> from dplit.margin.kernel_features import gaussian_kernel
    >>> from dplit.margin.transfer import fit_kernel_hinge, transfer
    >>> from dplit.streams import stream
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> K = gaussian_kernel(X, gamma=1.0)
    >>> fit = fit_kernel_hinge(K, y, margin=0.5, weight_norm=9.0, regularization=0.1)
    >>> moved = transfer(fit, X, y, K, n_frequencies=500, gamma=1.0, margin=0.5,
    ...     rng=stream(0, "example", "public"))
    >>> bool(abs(moved.norm - fit.norm) < 0.1)
    True
    """
    records = check_finite_array("X", X, ndim=2)
    labels = check_signs(y)
    frequencies = random_frequencies(records.shape[1], n_frequencies, gamma=gamma, rng=rng)
    features = margin_features(records, frequencies, data_norm=data_norm)
    weights = (fit.alpha * labels) @ features
    scores = features @ weights
    error = np.abs(scores - np.asarray(kernel, float) @ (fit.alpha * labels))
    return Transferred(
        float(np.maximum(0.0, 1.0 - labels * scores / margin).mean()),
        float(np.linalg.norm(weights)),
        float(np.sqrt(np.mean(error**2))),
        float(error.max()),
    )


@dataclass(frozen=True)
class TransferCurve:
    """Transfers of one reference predictor over draws and numbers of frequencies.

    Attributes
    ----------
    counts : tuple of int
        Numbers D of frequencies.
    hinges, norms, ratios : ndarray of shape (draws, len(counts))
        Hinge losses, norms of the weights, and root mean square changes of the scores in units of
        ``||f|| / sqrt(D)``, whose mean square is at most 1 for r = 1.
    """

    counts: tuple[int, ...]
    hinges: Array
    norms: Array
    ratios: Array


def transfer_curve(
    fit: KernelFit,
    X: ArrayLike,
    y: ArrayLike,
    kernel: ArrayLike,
    *,
    counts: tuple[int, ...],
    draws: int,
    gamma: float,
    margin: float,
    rng: np.random.Generator,
) -> TransferCurve:
    """Transfer a reference predictor many times.

    Parameters
    ----------
    fit, X, y, kernel, gamma, margin
        As for :func:`transfer`, with r = 1.
    counts : tuple of int
        Numbers D of frequencies.
    draws : int
        Independent draws for each.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    TransferCurve

    Examples
    --------
    >>> from dplit.margin.transfer import fit_kernel_hinge, transfer_curve
    >>> from dplit.streams import stream
    >>> X, y, K = np.array([[0.0], [9.0]]), np.array([1.0, -1.0]), np.eye(2)
    >>> fit = fit_kernel_hinge(K, y, margin=0.5, weight_norm=9.0, regularization=0.1)
    >>> curve = transfer_curve(fit, X, y, K, counts=(10, 20), draws=3, gamma=1.0, margin=0.5,
    ...     rng=stream(0, "example", "public"))
    >>> curve.hinges.shape
    (3, 2)
    """
    moved = [
        [
            transfer(fit, X, y, kernel, n_frequencies=count, gamma=gamma, margin=margin, rng=rng)
            for count in counts
        ]
        for _ in range(check_integer("draws", draws))
    ]
    values = np.array([[(t.hinge, t.norm, t.rms) for t in row] for row in moved])
    ratios = values[:, :, 2] * np.sqrt(counts) / fit.norm
    return TransferCurve(tuple(counts), values[:, :, 0], values[:, :, 1], ratios)

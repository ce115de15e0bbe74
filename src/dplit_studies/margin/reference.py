r"""Kernel hinge minimisers with a certificate, and the same predictor on random features.

For Theorem 4.2 and our :math:`m\log(2m/\beta)`. The reference predictor is the regularised
minimiser over the ball of radius Lambda; its coefficients are put on the features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from dplit._checks import Array, check_finite_array, check_integer, check_positive, check_real_array
from dplit.features import random_frequencies
from dplit.margins._checks import check_signs
from dplit.margins.feature_maps import margin_features


@dataclass(frozen=True)
class _KernelFit:
    """Regularised minimiser over a ball: coefficients (m,), norm, hinge loss, and its certificate.

    ``gap`` bounds the excess of the objective; ``multiplier`` is the regularisation with which the
    dual was solved, above the wanted one if the ball binds.
    """

    margin: float
    alpha: Array
    norm: float
    hinge: float
    gap: float
    multiplier: float


@dataclass(frozen=True)
class _Transferred:
    """Hinge loss and norm with features in place of the kernel, and the changes of the scores."""

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
        objective,
        np.clip(start / top, 0.0, 1.0),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * m,
        options=options,
    )
    return np.asarray(found.x) * top


def fit_kernel_hinge(
    kernel: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    weight_norm: float,
    regularization: float,
    tol: float = 1e-6,
) -> _KernelFit:
    r"""Minimise the regularised hinge loss over a ball of the kernel's space, not privately.

    :math:`\hat L^\rho(f)+\frac\lambda2\|f\|^2` over :math:`\|f\|\le\Lambda`, from the kernel
    matrix, without intercept; a duality gap above ``tol`` is a ``RuntimeError``.

    >>> fit = fit_kernel_hinge(np.eye(2), [1, -1], margin=1.0, weight_norm=9.0, regularization=0.1)
    >>> round(fit.norm, 3), round(fit.hinge, 6)
    (1.414, 0.0)
    """
    matrix = check_real_array("kernel", kernel, 2)
    labels = check_signs(y)
    m = len(matrix)
    if matrix.shape != (m, m) or labels.shape != (m,):
        raise ValueError(f"kernel and y must fit, got shapes {matrix.shape} and {labels.shape}")
    rho, size = check_positive("margin", margin), check_positive("weight_norm", weight_norm)
    weight = check_positive("regularization", regularization)
    signed = labels[:, None] * matrix * labels
    fit = _certified(signed, rho, size, weight, weight, _dual(signed, rho, weight, np.zeros(m)))
    if fit.gap > tol:
        fit = _bind(signed, rho, size, weight, fit.alpha, tol)
    if fit.gap > tol:
        raise RuntimeError(f"the duality gap must be at most tol={tol:g}, got {fit.gap:.3g}")
    return fit


def _certified(
    signed: Array, margin: float, size: float, weight: float, multiplier: float, alpha: Array
) -> _KernelFit:
    """Shrink dual coefficients into the ball and compute the gap to the dual bound."""
    scores = signed @ alpha
    square = float(alpha @ scores)
    shrink = min(1.0, size / math.sqrt(max(square, 1e-300)))
    hinge = float(np.maximum(0.0, 1.0 - shrink * scores / margin).mean())
    primal = hinge + 0.5 * weight * square * shrink**2
    dual = multiplier * (margin * float(alpha.sum()) - 0.5 * square)
    dual -= 0.5 * (multiplier - weight) * size**2
    norm = shrink * math.sqrt(square)
    return _KernelFit(margin, shrink * alpha, norm, hinge, primal - dual, multiplier)


def _bind(
    signed: Array, margin: float, size: float, weight: float, alpha: Array, tol: float
) -> _KernelFit:
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
    fit: _KernelFit,
    X: ArrayLike,
    y: ArrayLike,
    kernel: ArrayLike,
    *,
    n_frequencies: int,
    gamma: float,
    rng: np.random.Generator,
) -> _Transferred:
    """Put the reference predictor on D random features of its records and measure what it loses."""
    records = check_finite_array("X", X, ndim=2)
    labels = check_signs(y)
    frequencies = random_frequencies(records.shape[1], n_frequencies, gamma=gamma, rng=rng)
    features = margin_features(records, frequencies)
    weights = (fit.alpha * labels) @ features
    scores = features @ weights
    error = np.abs(scores - np.asarray(kernel, float) @ (fit.alpha * labels))
    return _Transferred(
        float(np.maximum(0.0, 1.0 - labels * scores / fit.margin).mean()),
        float(np.linalg.norm(weights)),
        float(np.sqrt(np.mean(error**2))),
        float(error.max()),
    )


@dataclass(frozen=True)
class _TransferCurve:
    """Hinge losses, norms and score changes, (draws, len(counts)). ``ratios`` are root mean square
    changes over ``||f|| / sqrt(D)``, at most 1 in mean square for r = 1.
    """

    counts: tuple[int, ...]
    hinges: Array
    norms: Array
    ratios: Array


def transfer_curve(
    fit: _KernelFit,
    X: ArrayLike,
    y: ArrayLike,
    kernel: ArrayLike,
    *,
    counts: tuple[int, ...],
    draws: int,
    gamma: float,
    rng: np.random.Generator,
) -> _TransferCurve:
    """Transfer a reference predictor many times, r = 1, for each number of frequencies."""
    moved = [
        [transfer(fit, X, y, kernel, n_frequencies=count, gamma=gamma, rng=rng) for count in counts]
        for _ in range(check_integer("draws", draws))
    ]
    values = np.array([[(t.hinge, t.norm, t.rms) for t in row] for row in moved])
    ratios = values[:, :, 2] * np.sqrt(counts) / fit.norm
    return _TransferCurve(tuple(counts), values[:, :, 0], values[:, :, 1], ratios)

r"""Regularised risk minimisers without intercept, each with a certificate of its own error.

:math:`\frac1m\sum_iL(f(x_i),y_i)+\lambda\|f\|_K^2` is :math:`2\lambda`-strongly convex: a fit
within ``gap`` of the minimum lies within :math:`\sqrt{\text{gap}/\lambda}` of the minimiser.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit

from dplit._checks import (
    Array,
    check_finite_array,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit._solvers.kernel_machines import (
    box_coefficients,
    box_weights,
    duality_gap,
    logistic_coefficients,
    logistic_weights,
    ridge_weights,
)
from dplit.kernels._grams import check_gram, gram_rows
from dplit.kernels.losses import check_targets, loss_values


@dataclass(frozen=True)
class _Minimiser:
    r"""A fit :math:`f=\sum_ic_iK_{x_i}`, its ``objective`` at most ``gap`` above the minimum, and
    ``distance`` :math:`=\sqrt{\text{gap}/\lambda}`, a bound on that to the minimiser in the space.
    """

    coefficients: Array
    predictions: Array
    objective: float
    gap: float
    distance: float


@dataclass(frozen=True)
class _LinearMinimiser:
    r"""A fit :math:`f(x)=\langle w,\phi(x)\rangle`; the rest as for ``_Minimiser``."""

    weights: Array
    predictions: Array
    objective: float
    gap: float
    distance: float


def rkhs_norm(coefficients: ArrayLike, gram: ArrayLike) -> float:
    r"""Norm :math:`\sqrt{c^\top Kc}` of :math:`\sum_ic_iK_{x_i}`."""
    c = check_real_array("coefficients", coefficients, 1)
    K = check_real_array("gram", gram, 2, copy=False)
    if K.shape != (len(c), len(c)):
        raise ValueError(f"gram must have shape {(len(c),) * 2}, got gram of shape {K.shape}")
    return math.sqrt(max(float(c @ K @ c), 0.0))


def _solve_gram(
    K: Array,
    y: Array,
    *,
    loss: str,
    regularization: float,
    tau: float = 0.5,
    tol: float = 1e-10,
    start: Array | None = None,
) -> _Minimiser:
    """Fit as :func:`fit_kernel` does, unchecked; ``start`` are coefficients to begin with."""
    penalty = 2.0 * regularization * len(y)
    if loss == "squared":
        shifted = K.copy()
        shifted.flat[:: len(y) + 1] += 0.5 * penalty
        factor = cho_factor(shifted, check_finite=False, overwrite_a=True)
        c = cho_solve(factor, y, check_finite=False)
        c += cho_solve(factor, y - K @ c - 0.5 * penalty * c, check_finite=False)
    elif loss == "logistic":
        first = np.zeros(len(y)) if start is None else start
        c = logistic_coefficients(K, y, penalty, first, 1e-3 * tol)
        c = y * np.clip(y * c, 0.0, 1.0 / penalty)
    else:
        c = box_coefficients(K, y, loss, penalty, tau, tol, start)
    f = K @ c
    gap = duality_gap(loss, y, c, f, penalty, tau)
    risk = float(loss_values(loss, f, y, tau=tau).mean())
    objective = risk + regularization * max(float(c @ f), 0.0)
    return _Minimiser(c, f, objective, gap, math.sqrt(gap / regularization))


def fit_kernel(
    gram: ArrayLike,
    y: ArrayLike,
    *,
    loss: str,
    regularization: float,
    tau: float = 0.5,
    tol: float = 1e-10,
) -> _Minimiser:
    r"""Minimiser of :math:`\frac1m\sum_iL(f(x_i),y_i)+\lambda\|f\|_K^2`, without intercept.

    Equation (1). Targets are not clipped; ``tau`` is the level of the pinball loss. The duality
    gap, a sum of nonnegative terms computed without cancellation, is at most ``tol`` where rounding
    allows. Least squares takes one Cholesky factorisation, logistic loss Newton's method, hinge and
    pinball loss coordinate descent on the dual :math:`\min\frac12c^\top Kc-y^\top c` over a box.

    >>> fit = fit_kernel([[1.0]], [1.0], loss="hinge", regularization=1.0)
    >>> fit.coefficients, fit.gap
    (array([0.5]), 0.0)
    """
    targets = check_targets(loss, y)
    penalty = check_positive("regularization", regularization)
    level = check_probability("tau", tau)
    accuracy = check_positive("tol", tol)
    K = check_gram(gram)
    if len(K) != len(targets):
        raise ValueError(f"gram and y must agree, got {len(K)} rows and {len(targets)} targets")
    return _solve_gram(K, targets, loss=loss, regularization=penalty, tau=level, tol=accuracy)


def minimum_by_bfgs(
    gram: ArrayLike, y: ArrayLike, *, loss: str, regularization: float, tau: float = 0.5
) -> float:
    """Objective that a general-purpose optimiser reaches, as a second route to :func:`fit_kernel`.

    Never below the minimum; kinks slow it down: small samples only.
    """
    targets, K = check_targets(loss, y), check_gram(gram)
    penalty = check_positive("regularization", regularization)
    rows = gram_rows(K)

    def objective(w: Array) -> float:
        risk = loss_values(loss, rows @ w, targets, tau=tau).mean()
        return float(risk + penalty * w @ w)

    found = minimize(objective, np.zeros(rows.shape[1]), method="BFGS", tol=1e-8)
    return float(found.fun)


def fit_linear(
    features: ArrayLike,
    y: ArrayLike,
    *,
    loss: str,
    regularization: float,
    tau: float = 0.5,
    tol: float = 1e-10,
) -> _LinearMinimiser:
    r"""Minimiser of :math:`\frac1m\sum_iL(\langle w,\phi_i\rangle,y_i)+\lambda\|w\|_2^2`.

    The function of :func:`fit_kernel` with the Gram matrix ``features @ features.T``, in time of
    order m d^2. Least squares and logistic loss are certified by :math:`\|\nabla\|^2/(4\lambda)`,
    hinge and pinball loss, by interior points on the dual, by the duality gap.
    """
    targets = check_targets(loss, y)
    penalty = check_positive("regularization", regularization)
    level = check_probability("tau", tau)
    accuracy = check_positive("tol", tol)
    phi = np.asarray(check_finite_array("features", features, ndim=2))
    if phi.dtype.kind == "c" or len(phi) != len(targets):
        raise ValueError(
            f"features must be real with a row for each of {len(targets)} targets, got shape "
            f"{phi.shape}, dtype {phi.dtype}"
        )
    phi, m = phi.astype(np.float64), len(targets)
    if loss in ("hinge", "pinball"):
        c, gap = box_weights(phi, targets, loss, 2.0 * penalty * m, level, accuracy)
        w = phi.T @ c
        f = phi @ w
    else:
        if loss == "squared":
            w = ridge_weights(phi, targets, penalty * m)
            f = phi @ w
            slopes = 2.0 * (f - targets)
        else:
            w = logistic_weights(phi, targets, penalty, accuracy)
            f = phi @ w
            slopes = -targets * expit(-targets * f)
        gradient = phi.T @ slopes / m + 2.0 * penalty * w
        gap = float(gradient @ gradient) / (4.0 * penalty)
    risk = float(loss_values(loss, f, targets, tau=level).mean())
    return _LinearMinimiser(w, f, risk + penalty * float(w @ w), gap, math.sqrt(gap / penalty))

"""Newton steps, coordinates and interior points behind the minimisers, and duality gaps."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from dplit._checks import Array
from dplit._numerics.rows import Rows, row_parts
from dplit._solvers.box_qp import coordinate_box_qp
from dplit._solvers.interior_point import interior_point_box_qp
from dplit.kernels._duality import fenchel_young
from dplit.kernels._grams import gram_rows

#: Interior points that rounding stopped early are finished on the Gram matrix up to this size.
_POLISHED = 1000

#: Larger Gram matrices of low rank are first solved by interior points on their factor.
_FACTORED = 500


def dual_box(loss: str, y: Array, penalty: float, tau: float) -> tuple[Array, Array]:
    """Box of the coefficients for hinge and pinball loss; ``penalty`` is 2 lambda m."""
    if loss == "hinge":
        return np.minimum(y, 0.0) / penalty, np.maximum(y, 0.0) / penalty
    return np.full(len(y), (tau - 1.0) / penalty), np.full(len(y), tau / penalty)


def duality_gap(loss: str, y: Array, c: Array, f: Array, penalty: float, tau: float) -> float:
    """Gap of coefficients c with predictions f = K c; ``penalty`` is 2 lambda m."""
    slopes = -penalty * c
    if loss in ("hinge", "logistic"):  # into the domain of the conjugate, against rounding
        slopes = -y * np.clip(-y * slopes, 0.0, 1.0)
    elif loss == "pinball":
        slopes = np.clip(slopes, -tau, 1.0 - tau)
    return float(fenchel_young(loss, f, y, slopes, tau).mean())


def primal_dual_gap(
    phi: Rows, y: Array, weights: Array, c: Array, loss: str, regularization: float, tau: float
) -> float:
    """Primal objective of any weights minus dual objective of coefficients c."""
    penalty = 2.0 * regularization * len(y)
    apart = weights - phi.T @ c
    terms = duality_gap(loss, y, c, phi @ weights, penalty, tau)
    return terms + regularization * float(apart @ apart)


def logistic_coefficients(K: Array, y: Array, penalty: float, start: Array, tol: float) -> Array:
    """Damped Newton iteration for 2 lambda m c = y sigma(-y K c)."""
    m, c = len(y), start
    for _ in range(100):
        f = K @ c
        value = np.logaddexp(0.0, -y * f).sum() + 0.5 * penalty * float(c @ f)
        if duality_gap("logistic", y, c, f, penalty, 0.5) <= tol:
            break
        pull, weight = y * expit(-y * f), expit(f) * expit(-f)
        root = np.sqrt(weight / penalty)
        right = (weight * f + pull) / penalty
        B = np.eye(m) + root[:, None] * K * root
        inner = cho_solve(cho_factor(B, check_finite=False), root * (K @ right))
        step, length = right - root * inner - c, 1.0
        change = K @ step
        slope = float((penalty * c - pull) @ change)
        while length > 1e-8:
            g = f + length * change
            new = c + length * step
            if np.logaddexp(0.0, -y * g).sum() + 0.5 * penalty * float(new @ g) <= (
                value + 1e-4 * length * slope + 1e-14 * abs(value)
            ):
                break
            length *= 0.5
        c = c + length * step
        if np.abs(step).max() <= 1e-16 * max(1.0, np.abs(c).max()):
            break
    return c


def logistic_weights(
    phi: Rows, y: Array, regularization: float, tol: float, start: Array | None = None
) -> Array:
    """Damped Newton iteration on the primal objective, from ``start`` or from 0."""
    m, w = len(y), np.zeros(phi.shape[1]) if start is None else start

    def objective(weights: Array) -> float:
        loss = np.logaddexp(0.0, -y * (phi @ weights)).mean()
        return float(loss + regularization * weights @ weights)

    for _ in range(100):
        margin = y * (phi @ w)
        gradient = 2.0 * regularization * w - phi.T @ (y * expit(-margin)) / m
        if gradient @ gradient <= 4.0 * regularization * tol:
            break
        curvature = expit(margin) * expit(-margin) / m
        hessian = np.zeros((len(w), len(w)))
        for part, block in row_parts(phi):
            hessian += block.T @ (block * curvature[part, None])
        hessian.flat[:: len(w) + 1] += 2.0 * regularization
        step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        length, value, slope = 1.0, objective(w), float(gradient @ step)
        while length > 1e-8 and objective(w - length * step) > (
            value - 1e-4 * length * slope + 1e-15 * value
        ):
            length *= 0.5
        w = w - length * step
    return w


def ridge_weights(phi: Rows, y: Array, shift: float) -> Array:
    """Solve the normal equations with ``shift`` on the diagonal."""
    system = np.zeros((phi.shape[1],) * 2)
    for _, block in row_parts(phi):
        system += block.T @ block
    system.flat[:: system.shape[0] + 1] += shift
    factor = cho_factor(system, check_finite=False)
    return np.asarray(cho_solve(factor, phi.T @ y, check_finite=False))


def unit_box(
    rows: Rows, y: Array, loss: str, penalty: float, tau: float
) -> tuple[Rows, Array, float, Array]:
    """The dual over the unit box: rows A, linear term q, and c = offset + slope p.

    It is to minimise ``||A' p||^2 / (2 penalty) - q' p``.
    """
    if loss == "hinge":  # c = y p / penalty
        return rows * y[:, None], np.ones(len(y)), 0.0, y / penalty
    offset = -(1.0 - tau) / penalty  # c = (p - (1 - tau)) / penalty
    total = np.zeros(rows.shape[1])
    for _, block in row_parts(rows):
        total += block.sum(axis=0)
    linear = y - offset * (rows @ total)
    return rows, linear, offset, np.full(len(y), 1.0 / penalty)


def interior_coefficients(
    rows: Rows, y: Array, loss: str, penalty: float, tau: float, tol: float
) -> Array:
    """Coefficients for hinge and pinball loss by interior points, for feature rows."""
    signed, linear, offset, slope = unit_box(rows, y, loss, penalty, tau)

    def gap(p: Array) -> float:
        c = offset + slope * p
        return duality_gap(loss, y, c, rows @ (rows.T @ c), penalty, tau)

    p = interior_point_box_qp(signed, linear, scale=1.0 / penalty, gap=gap, tol=tol)
    return np.asarray(offset + slope * p)


def box_coefficients(
    K: Array, y: Array, loss: str, penalty: float, tau: float, tol: float, start: Array | None
) -> Array:
    """Coefficients for hinge and pinball loss from the Gram matrix."""
    if start is None and len(y) > _FACTORED:
        rows = gram_rows(K)
        if 4 * rows.shape[1] <= len(y):
            start = interior_coefficients(rows, y, loss, penalty, tau, tol)
    low, high = dual_box(loss, y, penalty, tau)
    return coordinate_box_qp(
        K,
        y,
        low,
        high,
        start=np.zeros(len(y)) if start is None else start,
        gap=lambda c, f: duality_gap(loss, y, c, f, penalty, tau),
        tol=tol,
    )


def box_weights(
    phi: Rows, y: Array, loss: str, penalty: float, tau: float, tol: float
) -> tuple[Array, float]:
    """Coefficients and duality gap for hinge and pinball loss, for feature rows."""
    c = interior_coefficients(phi, y, loss, penalty, tau, tol)
    gap = duality_gap(loss, y, c, phi @ (phi.T @ c), penalty, tau)
    if gap > tol and len(y) <= _POLISHED and isinstance(phi, np.ndarray):
        c = box_coefficients(phi @ phi.T, y, loss, penalty, tau, tol, c)
        gap = duality_gap(loss, y, c, phi @ (phi.T @ c), penalty, tau)
    return c, gap

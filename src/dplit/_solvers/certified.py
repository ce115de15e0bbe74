"""Weights within a public distance of the minimiser, whatever the data.

Where a fast solver's certificate falls short, accelerated gradients follow, with a number of steps
fixed by public numbers. Nothing is refused: only the time may tell which route was taken.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import expit

from dplit._checks import Array
from dplit._numerics.rows import Rows
from dplit._solvers.accelerated import (
    accelerated_box_qp,
    accelerated_minimum,
    box_steps,
    smooth_steps,
)
from dplit._solvers.kernel_machines import (
    box_weights,
    logistic_weights,
    primal_dual_gap,
    ridge_weights,
    unit_box,
)

_UNIT = 2.0**-53
#: Largest slope and second derivative of a loss, for predictions of the minimiser.
_SLOPE = {"squared": 2.0, "logistic": 1.0, "hinge": 1.0, "pinball": 1.0}
_BEND = {"squared": 2.0, "logistic": 0.25}


def _rounding(loss: str, n_records: int, dimension: int, regularization: float) -> float:
    """Rounding error of the gap (hinge, pinball) or the gradient (squared, logistic), a public
    number. Rows have norm 1, targets lie in [-1, 1], weights have norm at most
    ``1 / sqrt(lambda)``. An inner product errs by d units of its norms, a sum by m units of its
    largest possible value.
    """
    slope, length = _SLOPE[loss], 1.0 / math.sqrt(regularization)
    if loss in _BEND:
        scores = _BEND[loss] * (dimension + 8) * length
        return _UNIT * ((n_records + 8) * slope + scores + 8.0 * regularization * length)
    mapped = (n_records * _UNIT * slope / 2.0) ** 2 / regularization  # of the weights themselves
    return _UNIT * slope * (dimension + 16) * (1.0 + length) + mapped


def rounding_distance(loss: str, *, n_records: int, dimension: int, regularization: float) -> float:
    """Distance to the minimiser below which float64 certifies nothing: a public number."""
    error = _rounding(loss, n_records, dimension, regularization)
    if loss in _BEND:
        return error / regularization
    return 2.0 * math.sqrt(error / regularization)


def _smooth_gradient(w: Array, phi: Rows, y: Array, loss: str, regularization: float) -> Array:
    f = phi @ w
    slopes = 2.0 * (f - y) if loss == "squared" else -y * expit(-y * f)
    return np.asarray(phi.T @ slopes / len(y) + 2.0 * regularization * w)


def _smooth_minimiser(
    phi: Rows, y: Array, loss: str, regularization: float, distance: float
) -> Array:
    """Newton or the normal equations, then accelerated gradients: strong convexity certifies."""
    convexity = 2.0 * regularization
    allowed = convexity * distance - _rounding(loss, len(phi), phi.shape[1], regularization)
    gradient = partial(_smooth_gradient, phi=phi, y=y, loss=loss, regularization=regularization)
    try:
        if loss == "squared":
            w = ridge_weights(phi, y, regularization * len(y))
        else:
            w = logistic_weights(phi, y, regularization, allowed**2 / (8.0 * regularization))
        if float(np.linalg.norm(gradient(w))) <= allowed:
            return w
    except (LinAlgError, ArithmeticError):
        pass
    smoothness = _BEND[loss] + convexity
    steps = smooth_steps(
        smoothness=smoothness,
        convexity=convexity,
        start=1.0,
        target=0.25 * regularization * distance**2,
    )
    return accelerated_minimum(
        gradient, np.zeros(phi.shape[1]), smoothness=smoothness, convexity=convexity, steps=steps
    )


def _box_minimiser(
    phi: Rows, y: Array, loss: str, regularization: float, tau: float, distance: float
) -> Array:
    """Interior points and coordinates, then accelerated gradients: the duality gap certifies."""
    penalty = 2.0 * regularization * len(y)
    tol = regularization * distance**2 - _rounding(loss, len(phi), phi.shape[1], regularization)
    signed, linear, offset, slope = unit_box(phi, y, loss, penalty, tau)
    start = np.full(len(y), 0.5)
    try:
        c, gap = box_weights(phi, y, loss, penalty, tau, tol)
        if gap <= tol:
            return np.asarray(phi.T @ c)
        near = np.clip((c - offset) / slope, 0.0, 1.0)
        start = np.where(np.isfinite(near), near, start)
    except (LinAlgError, ArithmeticError):
        pass

    def done(mean: Array, point: Array) -> bool:
        weights, c = phi.T @ (offset + slope * mean), offset + slope * point
        gap = primal_dual_gap(phi, y, weights, c, loss, regularization, tau)
        return gap <= tol

    curvature = (1.0 + 1e-9) * len(y) / penalty  # rows have norm 1
    mean = accelerated_box_qp(
        signed,
        linear,
        start,
        scale=1.0 / penalty,
        curvature=curvature,
        steps=box_steps(curvature=curvature, tol=tol),
        done=done,
    )
    return np.asarray(phi.T @ (offset + slope * mean))


def certified_minimiser(
    features: Rows,
    targets: Array,
    *,
    loss: str,
    regularization: float,
    tau: float,
    distance: float,
) -> Array:
    """Return weights within ``distance`` of the minimiser, without a warning."""
    with np.errstate(all="ignore"):  # a warning would speak of the data
        if loss in _BEND:
            return _smooth_minimiser(features, targets, loss, regularization, distance)
        return _box_minimiser(features, targets, loss, regularization, tau, distance)

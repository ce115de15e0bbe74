"""Exact minimisers of the mean hinge loss by interior points, with a certificate.

Over a ball or with a quadratic penalty; the dual value of the multipliers bounds the minimum from
below whatever the solver did.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, qr

from dplit._checks import Array, check_positive
from dplit.margins._checks import signed_records

_STEPS = 100


@dataclass(frozen=True)
class _HingeMinimum:
    """A minimiser; ``value`` (its objective) and ``lower`` (the dual value) bracket the minimum."""

    weights: Array
    value: float
    lower: float

    @property
    def gap(self) -> float:
        """By how much the objective may exceed the minimum."""
        return max(self.value - self.lower, 0.0)


def minimise_hinge(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float | None = None,
    penalty: float | None = None,
    tolerance: float = 1e-9,
) -> _HingeMinimum:
    r"""Minimise the mean hinge loss over a ball of ``radius``, or with ``penalty`` :math:`\lambda`.

    Exactly one of the two is given; not private. For :math:`0\le\alpha_i\le1/m` and
    :math:`v=\sum_i\alpha_iy_ix_i/\rho` the minimum is at least :math:`\sum_i\alpha_i-R\|v\|` on the
    ball and :math:`\sum_i\alpha_i-\|v\|^2/(2\lambda)` with the penalty. A gap above ``tolerance``
    is a ``RuntimeError``. Primal-dual interior points, :math:`O(m\min(m,d)^2)` a step.
    """
    if (radius is None) == (penalty is None):
        raise ValueError(
            f"exactly one of radius and penalty must be given, got {radius=!r} and {penalty=!r}"
        )
    rho = check_positive("margin", margin)
    rows, labels = signed_records(X, y)
    size = math.inf if radius is None else check_positive("radius", radius)
    ridge = 0.0 if penalty is None else check_positive("penalty", penalty)
    goal = check_positive("tolerance", tolerance)
    signed = rows * (labels / rho)[:, None]
    basis = None
    if signed.shape[1] > signed.shape[0]:
        basis, upper = qr(signed.T, mode="economic")
        signed = np.ascontiguousarray(upper.T)
    best = _interior_point(signed, size, ridge, goal)
    if not best.gap <= goal:  # a gap that is no number is none
        raise RuntimeError(f"tolerance {goal:g} was not reached: the gap is {best.gap:g}")
    weights = best.weights if basis is None else basis @ best.weights
    return _HingeMinimum(weights, best.value, best.lower)


def _steady_minimiser(
    X: Array, labels: Array, *, margin: float, data_norm: float, penalty: float, tolerance: float
) -> Array:
    r"""Minimise with a penalty and with an accuracy that is known before the records are.

    Within :math:`\sqrt{2\tau/\lambda}` of the minimiser on every data set, for records of norm at
    most ``data_norm``: accelerated projected ascent on the dual over :math:`[0,1/m]^m` (Beck and
    Teboulle 2009, Theorem 4.4), whose value after T steps is within :math:`2G^2/(\lambda(T+1)^2)`
    of the best, :math:`G=r/\rho`; at most :math:`T=G\sqrt{2/(\lambda\tau)}` steps.
    """
    A, m = X * (labels / margin)[:, None], len(X)
    gradient = data_norm / margin
    steps = math.ceil(gradient * math.sqrt(2.0 / (penalty * tolerance)))
    rate = penalty / (m * gradient**2)
    alpha, ahead, t = np.zeros(m), np.zeros(m), 1.0
    for step in range(steps):
        if step % 64 == 0:
            best = _bracket(A, A.T @ alpha / penalty, alpha, math.inf, penalty)
            if best.gap <= tolerance:
                break
        moved = np.clip(ahead + rate * (1.0 - A @ (A.T @ ahead) / penalty), 0.0, 1.0 / m)
        following = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        ahead = moved + ((t - 1.0) / following) * (moved - alpha)
        alpha, t = moved, following
    return np.asarray(A.T @ alpha / penalty)


def _bracket(A: Array, w: Array, alpha: Array, size: float, ridge: float) -> _HingeMinimum:
    """Return the objective at ``w``, scaled into the ball, and the dual value of ``alpha``."""
    w = w * min(1.0, size / max(float(np.linalg.norm(w)), 1e-300))
    value = float(np.maximum(1.0 - A @ w, 0.0).mean()) + 0.5 * ridge * float(w @ w)
    pull = A.T @ alpha
    cost = size * np.linalg.norm(pull) if ridge == 0.0 else float(pull @ pull) / (2 * ridge)
    return _HingeMinimum(w, value, max(float(alpha.sum() - cost), 0.0))


def _longest(state: list[Array], moves: list[Array]) -> float:
    """Return the longest step in (0, 1] that keeps all entries positive."""
    step = 1.0
    for value, move in zip(state, moves, strict=True):
        falling = move < 0
        if falling.any():
            step = min(step, float((-value[falling] / move[falling]).min()))
    return step


def _interior_point(A: Array, size: float, ridge: float, goal: float) -> _HingeMinimum:
    """Primal-dual path following for slacks xi, xi + A w - 1 and, on a ball, its own slack."""
    m, d = A.shape
    ball = math.isfinite(size)
    w, xi = np.zeros(d), np.full(m, 2.0)
    alpha, lam = np.full(m, 0.5 / m), np.full(1, 1.0 if ball else 0.0)
    h = np.full(1, 0.5 * size * size if ball else 1.0)  # slack of the ball, free of w
    for _ in range(_STEPS):
        v, s = xi + A @ w - 1.0, 1.0 / m - alpha
        best = _bracket(A, w, alpha, size, ridge)
        if best.gap <= goal:
            return best
        products = float(s @ xi + alpha @ v) + (float(lam @ h) if ball else 0.0)
        target = 0.1 * products / (2 * m + ball)
        miss = h + 0.5 * (w @ w) - 0.5 * size * size if ball else np.zeros(1)
        at = _Iterate(w, xi, v, alpha, s, lam, h)
        dw, dxi, dalpha, dlam = _newton(A, at, ridge, target, miss)
        dv, dh = dxi + A @ dw, -miss - w @ dw
        moves, state = [dxi, dv, dalpha, -dalpha], [xi, v, alpha, s]
        step = _longest(state + [lam, h] * ball, moves + [dlam, dh] * ball)
        step = min(1.0, 0.99 * step)
        w, xi, alpha = w + step * dw, xi + step * dxi, alpha + step * dalpha
        if ball:
            lam, h = lam + step * dlam, h + step * dh
    return _bracket(A, w, alpha, size, ridge)


class _Iterate(NamedTuple):
    """Weights, both slacks, both multipliers of a record, multiplier and slack of the ball."""

    w: Array
    xi: Array
    v: Array
    alpha: Array
    s: Array
    lam: Array
    h: Array


def _newton(
    A: Array, at: _Iterate, ridge: float, target: float, miss: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the Newton step of the centrality conditions, reduced to d unknowns."""
    w, xi, v, alpha, s, lam, h = at
    c1, c2 = target - s * xi, target - alpha * v
    q = v + alpha * xi / s
    e = c2 - alpha * c1 / s
    c3 = (target - lam * h + lam * miss) * (lam > 0.0)  # without a ball lam is 0 and stays 0
    curvature = ridge + float(lam[0])
    H = A.T @ (A * (alpha / q)[:, None])
    H[np.diag_indices_from(H)] += curvature
    H += (lam[0] / h[0]) * np.outer(w, w)
    right = A.T @ (alpha + e / q) - w * (curvature + c3[0] / h[0])
    dw = cho_solve(cho_factor(H, check_finite=False), right, check_finite=False)
    dalpha = (e - alpha * (A @ dw)) / q
    dxi = (c1 + xi * dalpha) / s
    return dw, dxi, dalpha, (c3 + lam * (w @ dw)) / h

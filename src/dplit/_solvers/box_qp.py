r"""Minimum of :math:`\frac12c^\top Kc-y^\top c` over a box.

The dual of hinge and pinball loss, for moderate Gram matrices; exact steps at the end, warm
starts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dplit._checks import Array


def _sweep(K: Array, c: Array, gradient: Array, low: Array, high: Array) -> None:
    """One pass of exact coordinate descent, in place; ``gradient`` is K c - y throughout."""
    diagonal = K.diagonal()
    for i in np.flatnonzero(((gradient < 0) & (c < high)) | ((gradient > 0) & (c > low))):
        g = gradient[i]
        if diagonal[i] > 0.0:
            new = min(max(c[i] - g / diagonal[i], low[i]), high[i])
        else:
            new = high[i] if g < 0 else low[i]
        step = new - c[i]
        if step != 0.0:
            c[i] = new
            gradient += step * K[i]


def _subspace_step(K: Array, c: Array, gradient: Array, low: Array, high: Array) -> bool:
    """Newton step on the free coordinates, cut at the box; says whether nothing was cut."""
    free = np.flatnonzero((c > low) & (c < high))
    if free.size == 0:
        return False
    block = K[np.ix_(free, free)]
    jitter = 1e-14 * float(block.diagonal().max())
    for _ in range(4):
        try:
            factor = cho_factor(block + jitter * np.eye(free.size), check_finite=False)
            break
        except LinAlgError:
            jitter *= 100.0
    else:
        return False
    direction = -cho_solve(factor, gradient[free], check_finite=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0, high[free] - c[free], low[free] - c[free]) / direction
    room = np.where(direction == 0.0, np.inf, room)
    slope = float(gradient[free] @ direction)
    curvature = float(direction @ block @ direction)
    best = np.inf if curvature <= 0.0 else -slope / curvature
    step = min(float(room.min()), best)
    if slope >= 0.0 or not np.isfinite(step):
        return False
    cut = step == float(room.min())
    new = np.clip(c[free] + step * direction, low[free], high[free])
    if cut:
        stopped = room <= step
        new[stopped] = np.where(direction > 0, high[free], low[free])[stopped]
    gradient += K[:, free] @ (new - c[free])
    c[free] = new
    return not cut


def coordinate_box_qp(
    K: Array,
    y: Array,
    low: Array,
    high: Array,
    *,
    start: Array,
    gap: Callable[[Array, Array], float],
    tol: float,
    max_iter: int = 5000,
) -> Array:
    """Minimise by coordinate descent with Newton steps on the free coordinates.

    Coordinate descent converges from everywhere; once it has found which coordinates sit on the
    box, one linear system gives the solution to rounding. It ends two rounds after ``gap(c, K c)``
    is at most ``tol``, or when a hundred rounds have not lowered it by a hundredth.
    """
    c = np.clip(start, low, high)
    gradient = K @ c - y
    best, best_gap, reached, falling = c.copy(), np.inf, 0, 0
    for iteration in range(max_iter):
        _sweep(K, c, gradient, low, high)
        for _ in range(50):
            if _subspace_step(K, c, gradient, low, high):
                break
        if iteration % 10 == 9:
            gradient = K @ c - y
        now = gap(c, gradient + y)
        falling = iteration if now < 0.99 * best_gap else falling
        if now < best_gap:
            best, best_gap = c.copy(), now
        if best_gap <= tol:
            reached += 1
        if reached > 2 or best_gap == 0.0 or iteration - falling >= 100:
            break
    return best

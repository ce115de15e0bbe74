"""Phased stochastic gradient descent on the smoothed hinge: the core of Algorithm 4."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_rng, quiet
from dplit.margins._checks import _gridded_records
from dplit.margins._slopes import _check_shape
from dplit.margins.plans import _UNIT, PhasedPlan
from dplit.mechanisms._draws import record_draw
from dplit.mechanisms.values import Gaussian


def _moved(gradient: float, step: float, size: float, k: int, count: int) -> float:
    """Return how far one record, seen once, moves the end of a phase, rounding included.

    For the ledger, and not read by the schedule: a wrong scale there is seen here.
    """
    return 2.0 * (gradient * step + size * _UNIT * (12 * k + 80) * count)


def _draw_order(m: int, draws: int, replacement: bool, rng: np.random.Generator) -> np.ndarray:
    if replacement:
        return rng.integers(0, m, size=(draws, m))
    return rng.permuted(np.tile(np.arange(m), (draws, 1)), axis=1)


@quiet
def phased_descent(
    X: ArrayLike,
    y: ArrayLike,
    plan: PhasedPlan,
    *,
    replacement: bool,
    rng: np.random.Generator | None,
    n_draws: int = 1,
) -> Array:
    """Last points of noisy phased descent on the smoothed hinge, projected on the ball.

    A phase runs projected steps from the noisy end of the last one, averages its iterates and adds
    noise. A pass over a permutation has the level of the plan, that of **one copy** of a record,
    under replacement of one record; one with replacement is mixed over the copies, see
    :func:`dplit.margins.duplicates.mixture_delta`. Records as in ``noisy_hinge_descent``.

    >>> from dplit.margins.plans import phased_schedule
    >>> plan = phased_schedule(margin=0.5, radius=1.0, data_norm=1.0, n_draws=2000, n_features=1,
    ...                        mu=1.0)
    >>> X, y = np.tile([[1.0], [-1.0]], (1000, 1)), np.tile([1.0, -1.0], 1000)
    >>> w = phased_descent(X, y, plan, replacement=False, rng=np.random.default_rng(0))
    >>> w.shape, bool(w[0, 0] > 0.5)
    ((1, 1), True)
    """
    rho, size, norm = plan.ball
    rows, labels = _gridded_records(X, y, norm)
    draws, (m, k) = check_integer("n_draws", n_draws), rows.shape
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    _check_shape(plan, (m, k))
    record_draw("secret", "order of the records", scale=1.0, shape=(draws, m))
    order = _draw_order(
        m, draws, replacement, np.random.default_rng() if rng is None else check_rng(rng)
    )
    picked = np.take_along_axis(np.broadcast_to(labels, (draws, m)), order, axis=1)
    w, start = np.zeros((draws, k)), 0
    for count, step, sigma in zip(plan.sizes, plan.steps, plan.sigmas, strict=True):
        block = slice(start, start + count)
        w = _phase(w, rows, order[:, block], picked[:, block], plan, step)
        if sigma == 0.0:
            record_draw("gaussian", "end of a phase without noise", scale=0.0, shape=w.shape)
        else:
            moved = None if replacement else _moved(norm / rho, step, size, k, count)
            w = Gaussian(sigma).add(
                w, hides="end of a phase", sensitivity=moved, copies=draws, parallel=plan, rng=rng
            )
        norms = np.sqrt(np.einsum("ij,ij->i", w, w))
        w *= (size / np.maximum(norms, size))[:, None]
        start += count
    return w


def _phase(
    w: Array, rows: Array, order: np.ndarray, signs: Array, plan: PhasedPlan, step: float
) -> Array:
    """Return the mean of the iterates of one phase; ``w`` is the first of them and is used up."""
    rho, radius, _ = plan.ball
    squares = np.einsum("ij,ij->i", rows, rows)
    curve = plan.smoothness / np.maximum(squares, 1e-150 * plan.smoothness)
    total = np.zeros_like(w)
    for index, sign, bend in zip(order.T.copy(), signs.T.copy(), curve[order.T], strict=True):
        total += w
        x = rows.take(index, axis=0)
        gap = rho - sign * np.vecdot(w, x)
        slope = np.minimum(np.maximum(gap, 0.0) * bend, 1.0 / rho)
        x *= (step * sign * slope)[:, None]
        w += x
        norms = np.vecdot(w, w)
        if norms.max() > radius * radius:
            w *= (radius / np.sqrt(np.maximum(norms, radius * radius)))[:, None]
    total /= order.shape[1]
    return total

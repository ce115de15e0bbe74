"""Accelerated descent on a hinge with a rounded corner: the accuracy of T^2 steps in T."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, quiet
from dplit._numerics.exact import grid_rows
from dplit.margins._checks import signed_records
from dplit.margins._slopes import _PIECE_BITS, _RECORD_BITS, _SLOPE_BITS, _check_shape, noisy_sums
from dplit.margins.plans import _CORNER, DescentPlan

#: Weights in units of the margin, times levels, are clipped here: no score overflows.
_FARTHEST = 1e24

#: Entries of the pieces that one step meets at a time: a megabyte, for the cache.
_BLOCK = 1 << 18


@quiet
def _accelerated_descent(
    X: ArrayLike, y: ArrayLike, plan: DescentPlan, *, rng: np.random.Generator | None
) -> Array:
    r"""Minimise the mean of a smoothed hinge loss privately by accelerated noisy gradient steps.

    Nothing but :math:`\sum_ic_iy_ix_i+` noise meets the records in each of T steps, with
    :math:`c_i=\min\{(\rho-y_i\langle w,x_i\rangle)_+/(\kappa\rho),1\}`, :math:`\kappa=1/2`, rounded
    to sixteenths, as records are to a public grid: a sum that is exact in every order, which
    replacing a record moves by at most :math:`2r`; all together have the level of the plan. What is
    made of the sums is AC-SA: excess loss of order :math:`\frac2{\kappa a^2T^2}+\frac\kappa4+
    \frac{4\sqrt k}{am\mu}`, :math:`a=\rho/(\Lambda r)`, where plain steps have
    :math:`\frac1{a\sqrt T}` for the first two terms. Weights (d,), the last weighted mean.

    References
    ----------
    Lan, An optimal method for stochastic composite optimization, Math. Program. 133 (2012),
    Corollary 1. Nesterov, Smooth minimization of non-smooth functions, Math. Program. 103 (2005).
    """
    rho, size, norm = plan.ball
    rows, labels = signed_records(X, y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    m, d = rows.shape
    _check_shape(plan, (m, d))
    units, unit = grid_rows(rows, norm, bits=_RECORD_BITS)
    noisy = noisy_sums(plan, (d,), rng, grid=math.ldexp(unit, -_SLOPE_BITS))
    pieces = _pieces(units * labels[:, None])
    w, mean = np.zeros(d), np.zeros(d)
    for t in range(1, plan.n_steps + 1):
        share = 2.0 / (t + 1)
        total = unit * _slope_sum(pieces, (unit / rho) * (mean + share * (w - mean)))
        w += (plan.step / share / (m * rho)) * noisy(total)
        w *= size / max(math.sqrt(w @ w), size)
        mean += share * (w - mean)
    return mean


def _pieces(rows: Array) -> list[NDArray[np.float32]]:
    """Return whole numbers (m, d) in blocks (pieces, rows, d), the last one filled with zeros."""
    height, d = 1 << _PIECE_BITS, rows.shape[1]
    count = -(-len(rows) // height)
    held = np.zeros((count, height, d), np.float32)
    held.reshape(-1, d)[: len(rows)] = rows
    step = max(1, _BLOCK // (height * d))
    return [held[k : k + step] for k in range(0, count, step)]


def _slope_sum(pieces: list[NDArray[np.float32]], at: Array) -> Array:
    """Return the exact sum of the rows, each times its slope at weights in units of the margin;
    both products of a block while it is in the cache.
    """
    levels = float(1 << _SLOPE_BITS)
    aim = np.clip(at * (-levels / _CORNER), -_FARTHEST, _FARTHEST).astype(np.float32)
    total = np.zeros(len(at))
    for block in pieces:
        slope = block @ aim
        slope += np.float32(levels / _CORNER)
        np.rint(np.clip(slope, 0.0, levels, out=slope), out=slope)
        total += (slope[:, None] @ block).sum(axis=(0, 1), dtype=np.float64)
    return total / levels

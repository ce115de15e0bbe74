"""Accelerated noisy descent on a hinge with a rounded corner: the accuracy of T^2 steps in T."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_integer, check_positive, check_rng, quiet
from dplit._numerics.exact import grid_rows
from dplit.margin.descent import descent_noise
from dplit.margin.losses import Array, _check_geometry, _labelled_records
from dplit.mechanisms.draws import record_draw, record_step

#: Least and most steps by default, and steps for each root of the signal-to-noise ratio.
_STEPS, _PACE = (100, 400), 16.0

#: Part of the margin over which the slope falls from 1 to 0.
_CORNER = 0.5

#: Steps in the largest entry of a record and in the largest slope, and rows of a piece, as powers
#: of two: products of a piece add below ``2^24``, exactly in single precision.
_RECORD_BITS, _SLOPE_BITS, _PIECE_BITS = 12, 4, 8

#: Weights in units of the margin, times levels, are clipped here: no score overflows.
_FARTHEST = 1e24

#: Entries of the pieces that one step meets at a time: a megabyte, for the cache.
_BLOCK = 1 << 18


def accelerated_steps(*, n_samples: int, noise_dimension: int, mu: float) -> int:
    r"""Number of steps :math:`16\sqrt{m\mu/\sqrt k}`, at least 100 and at most 400.

    Where both terms of the bound of :func:`accelerated_hinge_descent` are equal at a margin of
    :math:`a\Lambda r`, the number is :math:`\sqrt{2m\mu/(a\sqrt k)}`: 8 for 16 at a = 1/32.
    """
    m, k = check_integer("n_samples", n_samples), check_integer("noise_dimension", noise_dimension)
    wanted = _PACE * math.sqrt(m * check_positive("mu", mu) / math.sqrt(k))
    return math.ceil(min(max(wanted, _STEPS[0]), _STEPS[1]))


def _pace(*, margin: float, radius: float, data_norm: float, noise: float, n_steps: int) -> float:
    r"""Step length :math:`\min\{\frac1{2L},\sqrt6\,\Lambda(T+2)^{-3/2}/s\}` of Lan's method.

    :math:`L=r^2/(\kappa\rho^2)` is the smoothness, s the length of the noise on a mean gradient.
    """
    smooth = _CORNER * (margin / data_norm) ** 2 / 2.0
    loud = noise * (n_steps + 2) ** 1.5
    return min(smooth, math.sqrt(6.0) * radius / loud) if loud > 0.0 else smooth


@quiet
def accelerated_hinge_descent(
    X: ArrayLike, y: ArrayLike, *, margin: float, radius: float, data_norm: float, mu: float,
    n_steps: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    r"""Minimise the mean of a smoothed hinge loss privately by accelerated noisy gradient steps.

    Nothing but :math:`\sum_ic_iy_ix_i+` noise meets the records in each of T steps, with
    :math:`c_i=\min\{(\rho-y_i\langle w,x_i\rangle)_+/(\kappa\rho),1\}`, :math:`\kappa=1/2`, rounded
    to sixteenths, as records are to a public grid: a sum that is exact in every order, which
    replacing a record moves by at most :math:`2r`. The noise of
    :func:`~dplit.margin.descent.descent_noise` makes all steps together ``mu``-GDP. What is made of
    the sums is AC-SA: excess loss of order :math:`\frac2{\kappa a^2T^2}+\frac\kappa4+\frac{4\sqrt
    k}{am\mu}`, :math:`a=\rho/(\Lambda r)`, where plain steps have :math:`\frac1{a\sqrt T}` for the
    first two terms. Arguments as in :func:`~dplit.margin.descent.noisy_hinge_descent`; weights
    (d,).

    References
    ----------
    Lan, An optimal method for stochastic composite optimization, Math. Program. 133 (2012),
    Corollary 1. Nesterov, Smooth minimization of non-smooth functions, Math. Program. 103 (2005).
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    rows, labels = _labelled_records(X, y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    check_rng(rng)
    steps, (m, d) = check_integer("n_steps", n_steps), rows.shape
    sigma = descent_noise(margin=rho, data_norm=norm, n_samples=m, mu=mu, n_steps=steps)
    pace = _pace(margin=rho, radius=size, data_norm=norm, noise=sigma * math.sqrt(d), n_steps=steps)
    record_draw(
        "gaussian", "sums of the records within the margin", sensitivity=2.0 * norm,
        scale=sigma * m * rho, shape=(1, d), steps=steps,
    )  # fmt: skip
    units, unit = grid_rows(rows, norm, bits=_RECORD_BITS)
    pieces = _pieces(units * labels[:, None])
    return _accelerate(pieces, unit, m, rho, size, sigma, pace, steps, rng)


def _pieces(rows: Array) -> list[NDArray[np.float32]]:
    """Return whole numbers (m, d) in blocks (pieces, rows, d), the last one filled with zeros."""
    height, d = 1 << _PIECE_BITS, rows.shape[1]
    count = -(-len(rows) // height)
    held = np.zeros((count, height, d), np.float32)
    held.reshape(-1, d)[: len(rows)] = rows
    step = max(1, _BLOCK // (height * d))
    return [held[k : k + step] for k in range(0, count, step)]


def _accelerate(
    pieces: list[NDArray[np.float32]], unit: float, m: int, rho: float, size: float, sigma: float,
    pace: float, steps: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Return the last weighted mean of the iterates; labels are in the pieces, in units."""
    d = pieces[0].shape[2]
    w, mean = np.zeros(d), np.zeros(d)
    for t in range(1, steps + 1):
        share = 2.0 / (t + 1)
        total = unit * _slope_sum(pieces, (unit / rho) * (mean + share * (w - mean)))
        noise = sigma * m * rho * rng.standard_normal(d)
        record_step(total, noise)
        w += (pace / share / (m * rho)) * (total - noise)
        w *= size / max(math.sqrt(w @ w), size)
        mean += share * (w - mean)
    return mean


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

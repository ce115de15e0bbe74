"""Private descent on the hinge loss: full-batch, in phases (Algorithm 4), and output perturbation.

All draws of the noise descend together. The margin bounds the gradients; those of any loss are
clipped by :func:`dplit.baselines.noisy_gradient_descent`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit._numerics.exact import grid_rows
from dplit.margin.duplicates import _phase_sizes
from dplit.margin.exact_hinge import _steady_minimiser, minimise_hinge
from dplit.margin.losses import (
    Array,
    _bounded_hinge_mean,
    _check_geometry,
    _clipped_records,
    _gridded_records,
    _labelled_records,
    hinge_sensitivity,
)
from dplit.margin.plans import _CORNER, _UNIT, BoostedPlan, DescentPlan, PhasedPlan, _descent_step
from dplit.mechanisms import report_noisy_min
from dplit.mechanisms.draws import record_draw, record_step

#: Entries of the records that one step of descent meets at a time: a megabyte, for the cache.
_PIECE = 1 << 17

#: Radius of no ball.
_FAR = 1e300


def descent_bound(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Bound :math:`D\sqrt{(G^2+q\sigma^2)/T}` on the mean iterate's expected excess hinge loss."""
    args = {"gradient": gradient, "radius": radius, "sigma": sigma}
    step = _descent_step(**args, noise_dimension=noise_dimension, n_steps=n_steps)
    return radius**2 / (step * n_steps)


def rank_bound(
    *, margin: float, radius: float, data_norm: float, n_samples: int, rank: int, mu: float,
    n_steps: int | None = None,
) -> float:  # fmt: skip
    r"""Excess hinge loss of noisy descent **without** projection, against every w of the ball.

    :math:`\Lambda G\sqrt{1/T+4q/(m\mu)^2}` at rank q; ``n_steps=None`` is the limit of many steps.
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    q, m = check_integer("rank", rank), check_integer("n_samples", n_samples)
    level = check_positive("mu", mu, infinite=True)
    steps = math.inf if n_steps is None else check_integer("n_steps", n_steps)
    return size * norm / rho * math.sqrt(1.0 / steps + 4.0 * q / (m * level) ** 2)


@quiet
def noisy_hinge_descent(
    X: ArrayLike, y: ArrayLike, *plans: DescentPlan, rng: np.random.Generator, n_draws: int = 1
) -> Array:
    r"""Minimise the mean hinge loss privately by noisy full-batch (sub)gradient steps.

    :math:`w_{t+1}=\Pi(w_t+\eta(\frac1{m\rho}\sum_{i:\,y_i\langle w_t,x_i\rangle<\rho}y_ix_i-\sigma
    z_t))`, :math:`w_0=0`: mean iterates (plans * n_draws, d). Every draw of the noise
    (floating-point research noise) has the level of its plan, m public and all iterates published.
    Records are clipped, and rounded to a grid on which the sum over i is exact in every order: its
    sensitivity :math:`2r/\rho` holds for what the machine computes, and what follows the noise,
    rounding included, is post-processing. ``y`` is (m,) or (draws, m). Several plans, of one margin
    and one number of steps, share each product: for experiments.
    """
    (rho, _, norm), steps = plans[0].ball, plans[0].n_steps
    rows, labels = _gridded_records(X, y, norm)
    (m, d), count = rows.shape, check_integer("n_draws", n_draws)
    draws = len(plans) * count
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    check_rng(rng)
    _check_shape(plans[0], (m, d))
    if len({(p.shape, p.ball.margin, p.ball.data_norm, p.n_steps) for p in plans}) > 1:
        raise ValueError("plans must have one shape, margin, data_norm and n_steps")
    sigma, eta, limit = _columns(plans, count)
    loud, pace, bounded = sigma * m * rho, eta / (m * rho), (limit < _FAR).any()
    blocks = _blocks(rows, labels)
    record_draw(
        "gaussian", "sums of the records within the margin", sensitivity=2.0 * norm,
        scale=plans[0].sigma * m * rho, shape=(draws, d), copies=draws, steps=steps,
    )  # fmt: skip
    w, total, move = np.zeros((draws, d)), np.zeros((draws, d)), np.empty((draws, d))
    for _ in range(steps):
        total += w
        _pull(w, blocks, rho, out=move)
        if loud.any():
            noise = loud * rng.standard_normal((draws, d))
            record_step(move, noise)
            move -= noise
        move *= pace
        w += move
        if bounded:
            w *= limit / np.maximum(np.sqrt(np.vecdot(w, w))[:, None], limit)
    return total / steps


def _check_shape(plan: DescentPlan | PhasedPlan, shape: tuple[int, int]) -> None:
    """Refuse records of another size than those of the plan: its noise is made for them."""
    if plan.shape != shape:
        raise ValueError(f"X must have the shape {plan.shape} of its plan, got shape {shape}")


def _columns(plans: Sequence[DescentPlan], count: int) -> Array:
    """Return noise, step length and radius (``_FAR``: no ball) of every draw, each (draws, 1)."""
    told = [(p.sigma, p.step, p.ball.radius if p.project else _FAR) for p in plans]
    return np.repeat(told, count, axis=0).T[:, :, None]


def _blocks(rows: Array, labels: Array) -> list[tuple[Array, Array | None]]:
    """Return records in pieces that fit the cache; labels are in them if all draws share them."""
    m, d = rows.shape
    signs = labels if labels.ndim == 2 else None
    if signs is None:
        rows = rows * labels[:, None]
    height = max(1, _PIECE // d)
    parts = [slice(k, k + height) for k in range(0, m, height)]
    return [(rows[part], None if signs is None else signs[:, part]) for part in parts]


def _pull(w: Array, blocks: list[tuple[Array, Array | None]], rho: float, *, out: Array) -> None:
    """Sum the signed records within the margin of each draw: both products of a block at once."""
    out.fill(0.0)
    for block, sign in blocks:
        scores = w @ block.T
        if sign is not None:
            scores *= sign
        active = np.less(scores, rho, out=scores, casting="unsafe")
        if sign is not None:
            active *= sign
        out += active @ block


# Accelerated descent on a hinge with a rounded corner: the accuracy of T^2 steps in T.


#: Steps in the largest entry of a record and in the largest slope, and rows of a piece, as powers
#: of two: products of a piece add below ``2^24``, exactly in single precision.
_RECORD_BITS, _SLOPE_BITS, _PIECE_BITS = 12, 4, 8

#: Weights in units of the margin, times levels, are clipped here: no score overflows.
_FARTHEST = 1e24

#: Entries of the pieces that one step meets at a time: a megabyte, for the cache.
_BLOCK = 1 << 18


@quiet
def _accelerated_descent(
    X: ArrayLike, y: ArrayLike, plan: DescentPlan, *, rng: np.random.Generator
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
    rows, labels = _labelled_records(X, y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    check_rng(rng)
    m, d = rows.shape
    _check_shape(plan, (m, d))
    record_draw(
        "gaussian", "sums of the records within the margin", sensitivity=2.0 * norm,
        scale=plan.sigma * m * rho, shape=(1, d), steps=plan.n_steps,
    )  # fmt: skip
    units, unit = grid_rows(rows, norm, bits=_RECORD_BITS)
    pieces = _pieces(units * labels[:, None])
    w, mean = np.zeros(d), np.zeros(d)
    for t in range(1, plan.n_steps + 1):
        share = 2.0 / (t + 1)
        total = unit * _slope_sum(pieces, (unit / rho) * (mean + share * (w - mean)))
        noise = plan.sigma * m * rho * rng.standard_normal(d)
        record_step(total, noise)
        w += (plan.step / share / (m * rho)) * (total - noise)
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


# Phased stochastic gradient descent on the smoothed hinge: the core of Algorithm 4.


def phased_bound(plan: PhasedPlan) -> float:
    r"""Bound on the expected excess hinge loss of one pass.

    The empirical hinge with replacement; with a permutation of independent records the
    population's. For n a power of two :math:`4DG\sqrt{(\frac{11}{48}+4c^2k/n)/n}` plus the last
    noise.
    """
    (rho, radius, norm), k = plan.ball, plan.shape[1]
    gradient = norm / rho
    starts = [radius**2, *(k * sigma**2 for sigma in plan.sigmas[:-1])]
    moved = sum(
        start / (2.0 * step * size)
        for start, step, size in zip(starts, plan.steps, plan.sizes, strict=True)
    )
    paid = sum(plan.steps) * gradient**2 / 2.0 + gradient**2 / (2.0 * plan.smoothness)
    return moved + paid + gradient * math.sqrt(k) * plan.sigmas[-1]


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
    X: ArrayLike, y: ArrayLike, plan: PhasedPlan, *, replacement: bool, rng: np.random.Generator,
    n_draws: int = 1,
) -> Array:  # fmt: skip
    """Last points of noisy phased descent on the smoothed hinge, projected on the ball.

    A phase runs projected steps from the noisy end of the last one, averages its iterates and adds
    noise. A pass over a permutation has the level of the plan, that of **one copy** of a record,
    under replacement of one record; one with replacement is mixed over the copies, see
    :func:`dplit.margin.duplicates.mixture_delta`. Records as in :func:`noisy_hinge_descent`.
    """
    rho, size, norm = plan.ball
    rows, labels = _gridded_records(X, y, norm)
    draws, (m, k) = check_integer("n_draws", n_draws), rows.shape
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    _check_shape(plan, (m, k))
    record_draw("secret", "order of the records", scale=1.0, shape=(draws, m))
    order = _draw_order(m, draws, replacement, check_rng(rng))
    picked = np.take_along_axis(np.broadcast_to(labels, (draws, m)), order, axis=1)
    w, start = np.zeros((draws, k)), 0
    for count, step, sigma in zip(plan.sizes, plan.steps, plan.sigmas, strict=True):
        block = slice(start, start + count)
        w = _phase(w, rows, order[:, block], picked[:, block], plan, step)
        record_draw(
            "gaussian", "end of a phase", of=w, scale=sigma, shape=w.shape, copies=draws,
            sensitivity=None if replacement else _moved(norm / rho, step, size, k, count),
            parallel=plan,
        )  # fmt: skip
        if sigma > 0.0:
            w += sigma * rng.standard_normal(w.shape)
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


# Output perturbation: the exact minimiser of the penalised hinge loss, plus noise.


@dataclass(frozen=True)
class _PenalisedHinge:
    """What is minimised, for records of a norm, and to which gap."""

    margin: float
    data_norm: float
    penalty: float
    tolerance: float = 1e-12


@dataclass(frozen=True)
class _PerturbedMinimum:
    """Noisy minimisers (n_draws, d), noise per coordinate, and the gap that is guaranteed."""

    weights: Array
    sigma: float
    tolerance: float


def perturbation_sensitivity(
    *, margin: float, data_norm: float, penalty: float, n_samples: int, tolerance: float = 0.0
) -> float:
    r"""How far the penalised minimiser moves when one record is replaced.

    :math:`\frac{2G}{m\lambda}+2\sqrt{2\tau/\lambda}`, :math:`G=r/\rho`: the second term pays for
    the *solver*, whose point has a gap of at most ``tolerance`` (Chaudhuri, Monteleoni, Sarwate
    2011).
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    curvature, m = check_positive("penalty", penalty), check_integer("n_samples", n_samples)
    gap = check_nonnegative("tolerance", tolerance)
    return 2.0 * gradient / (m * curvature) + 2.0 * math.sqrt(2.0 * gap / curvature)


def _perturbed_minimiser(
    X: ArrayLike, y: ArrayLike, task: _PenalisedHinge, *, mu: float, rng: np.random.Generator,
    n_draws: int = 1,
) -> _PerturbedMinimum:  # fmt: skip
    """Minimise the mean hinge loss with a quadratic penalty, and add Gaussian noise. Each draw is
    mu-GDP under replacement of one record. Where the fast solver misses the tolerance, which
    depends on the records and must not be seen, ``_steady_minimiser`` takes over, of an accuracy
    known beforehand, which the noise covers in any case.
    """
    norm, tolerance = task.data_norm, check_positive("tolerance", task.tolerance)
    rows, labels = _clipped_records(X, y, norm)
    level, draws = check_positive("mu", mu, infinite=True), check_integer("n_draws", n_draws)
    check_rng(rng)
    moved = perturbation_sensitivity(n_samples=len(rows), **vars(task))
    finest = 2.0**-53 * (1.0 + (norm / task.margin) ** 2 / task.penalty)
    if tolerance < finest:
        raise ValueError(f"tolerance must be at least {finest:.2g}, got {tolerance=!r}")
    options = {"margin": task.margin, "penalty": task.penalty, "tolerance": tolerance}
    try:
        with np.errstate(all="ignore"):
            best = minimise_hinge(rows, labels, **options).weights
    except (RuntimeError, LinAlgError):
        best = _steady_minimiser(rows, labels, data_norm=norm, **options)
    sigma = moved / level
    record_draw(
        "gaussian", "minimiser", of=best, sensitivity=moved, scale=sigma,
        shape=(draws, rows.shape[1]), copies=draws,
    )  # fmt: skip
    noise = sigma * rng.standard_normal((draws, rows.shape[1])) if sigma > 0.0 else 0.0
    return _PerturbedMinimum(best + np.zeros((draws, 1)) + noise, sigma, float(tolerance))


# Algorithm 4, reconstructed: several phased passes, and a private choice of the best one.


@dataclass(frozen=True)
class _BoostedDescent:
    """Chosen weights (k,), all private candidates (M, k), level of one copy, gradients used."""

    weights: Array
    candidates: Array
    chosen: int
    mu: float
    n_gradients: int


def boosted_bound(plan: BoostedPlan, *, beta: float) -> float:
    r"""Bound on the excess empirical hinge loss of Algorithm 4, with probability 1 - beta.

    Twice :func:`phased_bound` plus :math:`\frac4\epsilon\Delta\log(2M/\beta)` for the choice,
    :math:`\Delta` the sensitivity of the mean hinge on the ball.

    >>> from dplit.margin.losses import Ball
    >>> from dplit.margin.plans import plan_boosted
    >>> plan = plan_boosted((10**6, 50), Ball(0.25, 1.0, 1.0), epsilon=1.0, delta=1e-7, beta=0.05)
    >>> round(boosted_bound(plan, beta=0.05), 3)
    0.038
    """
    (rho, size, norm), (m, _) = plan.phases.ball, plan.phases.shape
    one = phased_bound(plan.phases)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=m)
    failure = check_probability("beta", beta)
    return 2.0 * one + 2.0 / plan.choice * width * math.log(2.0 * plan.runs / failure)


@quiet
def boosted_descent(
    X: ArrayLike, y: ArrayLike, plan: BoostedPlan, *, rng: np.random.Generator
) -> _BoostedDescent:
    """Algorithm 4: several phased passes, and a private choice of the best last point."""
    rho, size, norm = plan.phases.ball
    rows, labels = _clipped_records(X, y, norm)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    candidates = phased_descent(
        rows, labels, plan.phases, replacement=plan.replacement, rng=rng, n_draws=plan.runs
    )
    signed = labels * (candidates @ rows.T)
    scores = _bounded_hinge_mean(signed, margin=rho, largest=size * norm)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=len(rows))
    chosen = report_noisy_min(scores, epsilon=plan.choice, sensitivity=width, rng=rng)
    used = plan.runs * sum(_phase_sizes(len(rows)))
    return _BoostedDescent(candidates[chosen], candidates, chosen, plan.mu, used)

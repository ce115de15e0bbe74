r"""Phased stochastic gradient descent on the smoothed hinge: the core of Algorithm 4.

The appendix that holds Algorithm 4 was not available.  What the text says of it: phased descent of
Feldman, Koren and Talwar on a smoothed loss, fed with draws from the sample and then
boosted (:mod:`dplit.margin.boosting`).  Constants, bounds and proofs are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_integer, check_positive, check_rng
from dplit.margin._records import Array, check_geometry, gridded_records
from dplit.margin.duplicates import phase_sizes

__all__ = [
    "Schedule",
    "phased_bound",
    "phased_descent",
    "phased_schedule",
]

#: 1/6 (gradients) + 1/16 (smoothing): the part of the risk that is there without noise.
_QUIET = 11.0 / 48.0
#: Half the distance between 1 and the next number.
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Schedule:
    r"""What the phases of a pass do.

    Attributes
    ----------
    sizes : tuple of int
        Draws :math:`n_i=\lfloor n/2^i\rfloor` of each phase.
    steps : tuple of float
        Step lengths :math:`\eta_i=4^{-i}\eta`.
    sigmas : tuple of float
        Noise per coordinate :math:`c(G\eta_i+Du_i)` on the mean iterate of each phase.
    smoothness : float
        :math:`\beta_s=8/\eta`, so that no step expands: :math:`\eta_i\le2/\beta_s`.
    """

    sizes: tuple[int, ...]
    steps: tuple[float, ...]
    sigmas: tuple[float, ...]
    smoothness: float


def phased_schedule(
    *, margin: float, radius: float, data_norm: float, n_draws: int, n_features: int, mu: float
) -> Schedule:
    r"""Phases with the step length that minimises the bound.

    Parameters
    ----------
    margin, radius, data_norm : float
        Margin, radius D of the ball, norm of the records; :math:`G=r/\rho`.
    n_draws : int
        Draws n of the pass.
    n_features : int
        Dimension k of the noise.
    mu : float
        Gaussian-DP level of one copy, :math:`c=2/\mu`; infinity for no noise.

    Returns
    -------
    Schedule
        With :math:`\eta=\frac{2D}G\big/\sqrt{n(\frac{11}{48}+4c^2k/n)}`.

    Notes
    -----
    In floating point a step is non-expansive up to its rounding, at most
    :math:`2^{-53}(6k+40)\cdot4D` on two data sets together (product, slope, sum, projection, mean;
    :math:`\eta G\le3D`). Over the :math:`n_i` steps of the one phase that meets the record this
    adds :math:`2Du_i` with :math:`u_i=2^{-53}n_i(12k+80)` to :math:`2G\eta_i`, and it is paid for.

    Examples
    --------
    >>> from dplit.margin.phased import phased_schedule
    >>> plan = phased_schedule(margin=0.5, radius=1.0, data_norm=1.0, n_draws=64, n_features=9,
    ...     mu=0.5)
    >>> plan.sizes, round(plan.sigmas[0] / plan.steps[0], 6)
    ((32, 16, 8, 4, 2, 1), 8.0)
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    sizes, k = phase_sizes(n_draws), check_integer("n_features", n_features)
    gradient, c = norm / rho, 2.0 / check_positive("mu", mu, infinite=True)
    eta = 2.0 * size / gradient / math.sqrt(n_draws * _QUIET + 4.0 * c * c * k)
    steps = tuple(eta * 4.0**-i for i in range(1, len(sizes) + 1))
    rounding = size * _UNIT * (12 * k + 80)
    sigmas = tuple(
        c * (gradient * step + rounding * count) for step, count in zip(steps, sizes, strict=True)
    )
    return Schedule(sizes, steps, sigmas, 8.0 / eta)


def phased_bound(
    *, margin: float, radius: float, data_norm: float, n_draws: int, n_features: int, mu: float
) -> float:
    r"""Bound on the expected excess hinge loss of one pass.

    Parameters
    ----------
    margin, radius, data_norm, n_draws, n_features, mu
        As in :func:`phased_schedule`.

    Returns
    -------
    float
        The sum of the four terms below with the sizes as they are. For n a power of two it is
        :math:`4DG\sqrt{(\frac{11}{48}+4c^2k/n)/n}` plus the last noise.

    Notes
    -----
    Phase 1 starts at distance D of the comparator: :math:`D^2/(2\eta_1n_1)`.  Phase i > 1 starts at
    the noise from the last mean iterate: :math:`k\sigma_{i-1}^2/(2\eta_in_i)`.  Gradients cost
    :math:`\eta_iG^2/2` in each phase, smoothing :math:`G^2/(2\beta_s)` once, the last noise at most
    :math:`G\sqrt k\,\sigma`.  With replacement the loss is the empirical hinge; with a permutation
    of independent records it is the population's.

    References
    ----------
    V. Feldman, T. Koren, K. Talwar, Private stochastic convex optimization, STOC 2020; R. Bassily,
    C. Guzman, M. Menart, NeurIPS 2021, arXiv:2107.05585.

    Examples
    --------
    >>> from dplit.margin.phased import phased_bound
    >>> setting = {"margin": 0.25, "radius": 1.0, "data_norm": 1.0, "n_features": 50}
    >>> round(phased_bound(**setting, n_draws=1000, mu=0.2367), 2)
    1.93
    """
    plan = phased_schedule(
        margin=margin, radius=radius, data_norm=data_norm, n_draws=n_draws,
        n_features=n_features, mu=mu,
    )  # fmt: skip
    gradient = data_norm / margin
    starts = [radius**2, *(n_features * sigma**2 for sigma in plan.sigmas[:-1])]
    moved = sum(
        start / (2.0 * step * size)
        for start, step, size in zip(starts, plan.steps, plan.sizes, strict=True)
    )
    paid = sum(plan.steps) * gradient**2 / 2.0 + gradient**2 / (2.0 * plan.smoothness)
    return moved + paid + gradient * math.sqrt(n_features) * plan.sigmas[-1]


def _draw_order(m: int, draws: int, replacement: bool, rng: np.random.Generator) -> np.ndarray:
    if replacement:
        return rng.integers(0, m, size=(draws, m))
    return rng.permuted(np.tile(np.arange(m), (draws, 1)), axis=1)


def phased_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float,
    data_norm: float,
    mu: float,
    replacement: bool,
    rng: np.random.Generator,
    n_draws: int = 1,
) -> Array:
    r"""Last points of noisy phased gradient descent on the smoothed hinge, projected on the ball.

    Parameters
    ----------
    X : array_like of shape (m, k)
        Finite records; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (m,) or (n_draws, m)
        Labels -1 and 1, for all passes or for each.
    margin, radius, data_norm : float
        Margin, radius of the ball, public bound on the norm of a record.
    mu : float
        Gaussian-DP level of **one copy** of a record; infinity for no noise.
    replacement : bool
        Whether records are drawn with replacement or in a random order without.
    rng : numpy.random.Generator
        Source of draws and noise: floating-point research noise, not a release.
    n_draws : int, default=1
        Independent passes, done together.

    Returns
    -------
    ndarray of shape (n_draws, k)
        One last point per pass, of norm at most ``radius``. Without replacement a pass is
        ``mu``-GDP under replacement of one record; with it the level is mixed over the number of
        copies, see :func:`dplit.margin.duplicates.mixture_delta`.

    Raises
    ------
    TypeError, ValueError
        If the labels are not -1 and 1, the margin is outside its range or another argument is.

    Notes
    -----
    A phase runs projected gradient steps from the projected noisy point of the last one, averages
    its iterates and adds noise.  The smooth loss makes steps with :math:`\eta_i\le2/\beta_s`
    non-expansive, so that N copies of a record in phase i move the mean by at most
    :math:`2G\eta_iN`.

    Examples
    --------
    >>> from dplit.margin.phased import phased_descent
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 500)
    >>> weights = phased_descent(y[:, None] * [0.6, 0.8], y, margin=0.5, radius=1.0, data_norm=1.0,
    ...     mu=1.0, replacement=False, rng=stream(0, "example", "noise"))
    >>> bool(weights[0] @ [0.6, 0.8] > 0.25)
    True
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    rows, labels = gridded_records(X, y, norm)
    draws = check_integer("n_draws", n_draws)
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    m, k = rows.shape
    plan = phased_schedule(margin=rho, radius=size, data_norm=norm, n_draws=m, n_features=k, mu=mu)
    order = _draw_order(m, draws, replacement, check_rng(rng))
    signs = np.broadcast_to(labels, (draws, m))
    picked = np.take_along_axis(signs, order, axis=1)
    w = np.zeros((draws, k))
    start = 0
    for count, step, sigma in zip(plan.sizes, plan.steps, plan.sigmas, strict=True):
        block = slice(start, start + count)
        w = _phase(w, rows, order[:, block], picked[:, block], rho, plan.smoothness, step, size)
        if sigma > 0.0:
            w += sigma * rng.standard_normal(w.shape)
        w = _project(w, size)
        start += count
    return w


def _project(w: Array, radius: float) -> Array:
    norms = np.sqrt(np.einsum("ij,ij->i", w, w))
    w *= (radius / np.maximum(norms, radius))[:, None]
    return w


def _phase(
    w: Array, rows: Array, order: np.ndarray, signs: Array, rho: float, smooth: float,
    step: float, radius: float,
) -> Array:  # fmt: skip
    """Return the mean of the iterates of one phase; ``w`` is the first of them and is used up."""
    squares = np.einsum("ij,ij->i", rows, rows)
    curve = smooth / np.maximum(squares, 1e-150 * smooth)
    total = np.zeros_like(w)
    for t in range(order.shape[1]):
        total += w
        index, sign = order[:, t], signs[:, t]
        x = rows[index]
        gap = rho - sign * np.einsum("ij,ij->i", w, x)
        slope = np.minimum(np.maximum(gap, 0.0) * curve[index], 1.0 / rho)
        x *= (step * sign * slope)[:, None]
        w += x
        norms = np.einsum("ij,ij->i", w, w)
        if norms.max() > radius * radius:
            w *= (radius / np.sqrt(np.maximum(norms, radius * radius)))[:, None]
    total /= order.shape[1]
    return total

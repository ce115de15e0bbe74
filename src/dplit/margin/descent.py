"""Private descent on the hinge loss: full-batch, in phases (Algorithm 4), and output perturbation.

All draws of the noise descend together. The margin bounds the gradients; those of any loss are
clipped by :func:`dplit.baselines.noisy_gradient_descent`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from dplit._checks import (
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit.margin.duplicates import _Accounting, _phase_sizes, _single_copy_mu
from dplit.margin.exact_hinge import _steady_minimiser, minimise_hinge
from dplit.margin.losses import (
    Array,
    _bounded_hinge_mean,
    _check_geometry,
    _clipped_records,
    _gridded_records,
    hinge_sensitivity,
)
from dplit.mechanisms import report_noisy_min
from dplit.mechanisms.draws import record_draw, record_step

#: Steps of ``_balanced_steps``, at least and at most.
_STEPS = (100, 2000)

#: Entries of the records that one step of descent meets at a time: a megabyte, for the cache.
_PIECE = 1 << 17


@dataclass(frozen=True)
class _NoisyDescent:
    """Mean iterates (n_draws, d), noise on each coordinate of a mean gradient, step, and level."""

    weights: Array
    sigma: float
    step: float
    mu: float


def descent_noise(
    *, margin: float, data_norm: float, n_samples: int, mu: float, n_steps: int
) -> float:
    r"""Noise :math:`2G\sqrt T/(m\mu)` of one step per coordinate of the mean gradient, for T steps.

    ``mu`` is the level of all: replacing a record moves the mean gradient by at most :math:`2G/m`,
    :math:`G=r/\rho`, and T adaptive releases of level :math:`\mu/\sqrt T` compose to :math:`\mu`,
    exactly.
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    m, steps = check_integer("n_samples", n_samples), check_integer("n_steps", n_steps)
    return 2.0 * gradient * math.sqrt(steps) / (m * check_positive("mu", mu, infinite=True))


def _descent_step(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Step length :math:`D/\sqrt{T(G^2+q\sigma^2)}` that balances start and noise; D is the norm
    of the comparator, q = d with projection, else the rank of the data.
    """
    q, steps = check_integer("noise_dimension", noise_dimension), check_integer("n_steps", n_steps)
    moved = check_positive("gradient", gradient) ** 2 + q * sigma**2
    return check_positive("radius", radius) / math.sqrt(steps * moved)


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


def _balanced_steps(*, n_samples: int, noise_dimension: int, mu: float) -> int:
    r"""Number of steps :math:`(m\mu)^2/(4q)` where the two terms of :func:`rank_bound` are equal;
    at least 100, which never makes the bound worse, and at most 2000, for the sake of time.
    """
    m, q = check_integer("n_samples", n_samples), check_integer("noise_dimension", noise_dimension)
    wanted = (m * check_positive("mu", mu)) ** 2 / (4.0 * q)
    return math.ceil(min(max(wanted, _STEPS[0]), _STEPS[1]))


def _signal_to_noise(*, n_samples: int, noise_dimension: int, mu: float) -> float:
    r"""Longest gradient over the noise on the mean of all of them, :math:`m\mu/(2\sqrt q)`."""
    q = check_integer("noise_dimension", noise_dimension)
    m = check_integer("n_samples", n_samples)
    return m * check_positive("mu", mu) / (2.0 * math.sqrt(q))


@quiet
def noisy_hinge_descent(
    X: ArrayLike, y: ArrayLike, *, margin: float, radius: float, data_norm: float, mu: float,
    n_steps: int, rng: np.random.Generator, project: bool = True, step: float | None = None,
    n_draws: int = 1,
) -> _NoisyDescent:  # fmt: skip
    r"""Minimise the mean hinge loss privately by noisy full-batch (sub)gradient steps.

    :math:`w_{t+1}=\Pi(w_t+\eta(\frac1{m\rho}\sum_{i:\,y_i\langle w_t,x_i\rangle<\rho}y_ix_i-\sigma
    z_t))`, :math:`w_0=0`. Each of ``n_draws`` draws of the noise (floating-point research noise) is
    ``mu``-GDP, m public and all iterates published; infinity is no noise. Records longer than
    ``data_norm`` are scaled back, and rounded to a grid on which the sum over i is exact in every
    order: its sensitivity :math:`2r/\rho` holds for what the machine computes. ``y`` (m,) or
    (n_draws, m) are labels -1 and 1, ``margin`` is at most ``radius * data_norm``. Without
    ``project`` iterates leave the ball, at no cost of privacy; ``step=None`` is ``_descent_step``
    with d (projected) or min(m, d) coordinates.
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    rows, labels = _gridded_records(X, y, norm)
    steps, draws = check_integer("n_steps", n_steps), check_integer("n_draws", n_draws)
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    check_rng(rng)
    sigma, eta, limit = _plan(_Case(mu, project, step), rows.shape, rho, size, norm, steps)
    record_draw(
        "gaussian", "sums of the records within the margin", sensitivity=2.0 * norm,
        scale=sigma * len(rows) * rho, shape=(draws, rows.shape[1]), copies=draws, steps=steps,
    )  # fmt: skip
    mean = _descend(rows, labels, draws, rho, limit, sigma, eta, steps, rng)
    return _NoisyDescent(mean, sigma, eta, float(mu))


class _Case(NamedTuple):
    """What may differ between descents that share records and products."""

    mu: float
    project: bool = True
    step: float | None = None


def _plan(
    case: _Case, shape: tuple[int, ...], rho: float, size: float, norm: float, steps: int
) -> tuple[float, float, float]:
    """Return noise, step length and radius of the ball (infinity: none) of one case."""
    m, d = shape
    sigma = descent_noise(margin=rho, data_norm=norm, n_samples=m, mu=case.mu, n_steps=steps)
    step = case.step
    if step is None:
        noisy = d if case.project else min(m, d)
        step = _descent_step(
            gradient=norm / rho, radius=size, sigma=sigma, noise_dimension=noisy, n_steps=steps
        )
    return sigma, check_positive("step", step), size if case.project else math.inf


def _descend_cases(
    X: ArrayLike, y: ArrayLike, cases: Sequence[_Case], *, margin: float, radius: float,
    data_norm: float, n_steps: int, rng: np.random.Generator, n_draws: int = 1,
) -> Array:  # fmt: skip
    """Weights (cases, n_draws, d) of several cases of :func:`noisy_hinge_descent` on one sample.
    One product serves them all, which is several times faster; each draw has noise of its own. For
    experiments: the budget of a release is that of all cases together.
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    rows, labels = _gridded_records(X, y, norm)
    plans = [_plan(case, rows.shape, rho, size, norm, n_steps) for case in cases]
    sigma, eta, limit = np.repeat(plans, n_draws, axis=0).T
    draws = n_draws * len(cases)
    mean = _descend(rows, labels, draws, rho, limit, sigma, eta, n_steps, check_rng(rng))
    return mean.reshape(len(cases), n_draws, -1)


def _descend(
    rows: Array, labels: Array, draws: int, rho: float, limit: float | Array, sigma: float | Array,
    eta: float | Array, steps: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Return the mean iterate of each draw: two matrix products a step and block of records. Ball,
    noise and step are those of all draws, or one for each. Noise meets the sum of the gradients
    before anything else does: that sum is exact, so that what follows, rounding included, is
    post-processing of a Gaussian mechanism.
    """
    m, d = rows.shape
    limit, sigma, eta = (np.reshape(v, (-1, 1)) for v in (limit, sigma, eta))
    noisy, bounded, limit = sigma.any(), np.isfinite(limit).any(), np.minimum(limit, 1e300)
    loud, pace = sigma * m * rho, eta / (m * rho)
    if labels.ndim == 1:  # labels into the records, once
        rows, signs = rows * labels[:, None], None
    else:
        signs = labels
    parts = [slice(k, k + max(1, _PIECE // d)) for k in range(0, m, max(1, _PIECE // d))]
    blocks = [(rows[part], 1.0 if signs is None else signs[:, part]) for part in parts]
    w, total = np.zeros((draws, d)), np.zeros((draws, d))
    noise, move = np.empty((draws, d)), np.empty((draws, d))
    for _ in range(steps):
        total += w
        move.fill(0.0)
        for block, sign in blocks:  # both products of a block while it is in the cache
            scores = w @ block.T
            if signs is not None:
                scores *= sign
            active = np.less(scores, rho, out=scores, casting="unsafe")
            if signs is not None:
                active *= sign
            move += active @ block
        if noisy:
            rng.standard_normal(out=noise)
            noise *= loud
            record_step(move, noise)
            move -= noise
        move *= pace
        w += move
        if bounded:
            norms = np.sqrt(np.vecdot(w, w))[:, None]
            w *= limit / np.maximum(norms, limit)
    return total / steps


# Phased stochastic gradient descent on the smoothed hinge: the core of Algorithm 4.


#: 1/6 (gradients) + 1/16 (smoothing): the part of the risk that is there without noise.
_QUIET = 11.0 / 48.0

#: Half the distance between 1 and the next number.
_UNIT = 2.0**-53


@dataclass(frozen=True)
class _Schedule:
    r"""Draws, steps :math:`4^{-i}\eta` and noise of each phase; smoothness of the envelope."""

    sizes: tuple[int, ...]
    steps: tuple[float, ...]
    sigmas: tuple[float, ...]
    smoothness: float


def phased_schedule(
    *, margin: float, radius: float, data_norm: float, n_draws: int, n_features: int, mu: float
) -> _Schedule:
    r"""Phases with the step length that minimises :func:`phased_bound`; ``mu`` is that of one copy.

    Phase i has noise :math:`c(G\eta_i+Du_i)`, :math:`c=2/\mu`, :math:`G=r/\rho`, D the ball:
    :math:`u_i=2^{-53}n_i(12k+80)` pays for the rounding of its :math:`n_i` steps.
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    sizes, k = _phase_sizes(n_draws), check_integer("n_features", n_features)
    gradient, c = norm / rho, 2.0 / check_positive("mu", mu, infinite=True)
    eta = 2.0 * size / gradient / math.sqrt(n_draws * _QUIET + 4.0 * c * c * k)
    steps = tuple(eta * 4.0**-i for i in range(1, len(sizes) + 1))
    rounding = size * _UNIT * (12 * k + 80)
    sigmas = tuple(
        c * (gradient * step + rounding * count) for step, count in zip(steps, sizes, strict=True)
    )
    return _Schedule(sizes, steps, sigmas, 8.0 / eta)


def phased_bound(
    *, margin: float, radius: float, data_norm: float, n_draws: int, n_features: int, mu: float
) -> float:
    r"""Bound on the expected excess hinge loss of one pass.

    The empirical hinge with replacement; with a permutation of independent records the
    population's. For n a power of two :math:`4DG\sqrt{(\frac{11}{48}+4c^2k/n)/n}` plus the last
    noise.
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
    X: ArrayLike, y: ArrayLike, *, margin: float, radius: float, data_norm: float, mu: float,
    replacement: bool, rng: np.random.Generator, n_draws: int = 1,
) -> Array:  # fmt: skip
    """Last points of noisy phased descent on the smoothed hinge, projected on the ball.

    A phase runs projected steps from the noisy end of the last one, averages its iterates and adds
    noise. ``mu`` is the level of **one copy** of a record: a pass over a permutation is mu-GDP
    under replacement of one record, one with replacement is mixed over the copies, see
    :func:`dplit.margin.duplicates.mixture_delta`. Arguments as in :func:`noisy_hinge_descent`.
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    rows, labels = _gridded_records(X, y, norm)
    draws = check_integer("n_draws", n_draws)
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    m, k = rows.shape
    plan = phased_schedule(margin=rho, radius=size, data_norm=norm, n_draws=m, n_features=k, mu=mu)
    record_draw("secret", "order of the records", scale=1.0, shape=(draws, m))
    order = _draw_order(m, draws, replacement, check_rng(rng))
    signs = np.broadcast_to(labels, (draws, m))
    picked = np.take_along_axis(signs, order, axis=1)
    w = np.zeros((draws, k))
    start = 0
    for count, step, sigma in zip(plan.sizes, plan.steps, plan.sigmas, strict=True):
        block = slice(start, start + count)
        w = _phase(w, rows, order[:, block], picked[:, block], rho, plan.smoothness, step, size)
        record_draw(
            "gaussian", "end of a phase", of=w, scale=sigma, shape=w.shape, copies=draws,
            sensitivity=None if replacement else _moved(norm / rho, step, size, k, count),
            parallel=plan,
        )  # fmt: skip
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
    X: ArrayLike, y: ArrayLike, *, margin: float, data_norm: float, penalty: float, mu: float,
    rng: np.random.Generator, tolerance: float = 1e-12, n_draws: int = 1,
) -> _PerturbedMinimum:  # fmt: skip
    """Minimise the mean hinge loss with a quadratic penalty, and add Gaussian noise. Each draw is
    mu-GDP under replacement of one record. Where the fast solver misses the tolerance, which
    depends on the records and must not be seen, ``_steady_minimiser`` takes over, of an accuracy
    known beforehand, which the noise covers in any case.
    """
    rows, labels = _clipped_records(X, y, data_norm)
    level, draws = check_positive("mu", mu, infinite=True), check_integer("n_draws", n_draws)
    check_rng(rng)
    moved = perturbation_sensitivity(
        margin=margin, data_norm=data_norm, penalty=penalty, n_samples=len(rows),
        tolerance=check_positive("tolerance", tolerance),
    )  # fmt: skip
    finest = 2.0**-53 * (1.0 + (data_norm / margin) ** 2 / penalty)
    if tolerance < finest:
        raise ValueError(f"tolerance must be at least {finest:.2g}, got {tolerance=!r}")
    options = {"margin": margin, "penalty": penalty, "tolerance": tolerance}
    try:
        with np.errstate(all="ignore"):
            best = minimise_hinge(rows, labels, **options).weights
    except (RuntimeError, LinAlgError):
        best = _steady_minimiser(rows, labels, data_norm=data_norm, **options)
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


def _boosting_runs(beta: float) -> int:
    r"""Number of runs :math:`M=\lceil\log_2(2/\beta)\rceil`, so that :math:`2^{-M}\le\beta/2`."""
    return math.ceil(math.log2(2.0 / check_probability("beta", beta)))


def _check_budget(epsilon: float, delta: float, accounting: str) -> None:
    """Refuse a budget for which the lemma does not speak, where its own count is asked for."""
    check_positive("epsilon", epsilon)
    if accounting == "log_cap" and epsilon > math.log(1.0 / check_probability("delta", delta)):
        raise ValueError(f"epsilon must be at most log(1/delta) for 'log_cap', got {epsilon=!r}")


def boosted_bound(
    *, margin: float, radius: float, data_norm: float, n_samples: int, n_features: int,
    epsilon: float, delta: float, beta: float, accounting: _Accounting,
) -> float:  # fmt: skip
    r"""Bound on the excess empirical hinge loss of Algorithm 4, with probability 1 - beta.

    Twice :func:`phased_bound` plus :math:`\frac4\epsilon\Delta\log(2M/\beta)` for the choice,
    :math:`\Delta` the sensitivity of the mean hinge on the ball.

    >>> round(boosted_bound(margin=0.25, radius=1.0, data_norm=1.0, n_samples=10**6, n_features=50,
    ...     epsilon=1.0, delta=1e-7, beta=0.05, accounting="mixture"), 3)
    0.038
    """
    _check_budget(epsilon, delta, accounting)
    runs = _boosting_runs(beta)
    mu = _single_copy_mu(
        epsilon=epsilon / 2, delta=delta, n_samples=n_samples, accounting=accounting, runs=runs
    )
    one = phased_bound(
        margin=margin, radius=radius, data_norm=data_norm, n_draws=n_samples,
        n_features=n_features, mu=mu,
    )  # fmt: skip
    width = hinge_sensitivity(
        margin=margin, data_norm=data_norm, weight_norm=radius, n_samples=n_samples
    )
    return 2.0 * one + 4.0 / epsilon * width * math.log(2.0 * runs / beta)


@quiet
def boosted_descent(
    X: ArrayLike, y: ArrayLike, *, margin: float, radius: float, data_norm: float, epsilon: float,
    delta: float, rng: np.random.Generator, beta: float = 0.05, accounting: _Accounting = "mixture",
) -> _BoostedDescent:  # fmt: skip
    """Algorithm 4: several phased passes, and a private choice of the best last point.

    (epsilon/2, delta) for all passes together and epsilon/2 for the choice, under replacement of
    one record; ``beta`` sets the number of passes. ``accounting`` of duplicates as in
    ``_single_copy_mu``: ``permutation`` draws without replacement, and only ``log_cap`` needs delta
    < 1/m and epsilon <= log(1/delta).
    """
    rho, size, norm = _check_geometry(margin, radius, data_norm)
    rows, labels = _clipped_records(X, y, norm)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    budget, m = check_positive("epsilon", epsilon) / 2.0, len(rows)
    runs = _boosting_runs(beta)
    check_probability("delta", delta)
    _check_budget(epsilon, delta, accounting)
    mu = _single_copy_mu(epsilon=budget, delta=delta, n_samples=m, accounting=accounting, runs=runs)
    candidates = phased_descent(
        rows, labels, margin=rho, radius=size, data_norm=norm, mu=mu,
        replacement=accounting != "permutation", rng=rng, n_draws=runs,
    )  # fmt: skip
    signed = labels * (candidates @ rows.T)
    scores = _bounded_hinge_mean(signed, margin=rho, largest=size * norm)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=m)
    chosen = report_noisy_min(scores, epsilon=budget, sensitivity=width, rng=rng)
    used = runs * sum(_phase_sizes(m))
    return _BoostedDescent(candidates[chosen], candidates, chosen, mu, used)

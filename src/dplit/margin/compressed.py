r"""Algorithm 2: project, clip, learn privately in the small space, and bring the weights back.

The map does not see the data, records are clipped one by one, and bringing weights back is
post-processing: the learner is as private as the solver in the middle.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.features import HadamardProjection, hadamard_projection, sign_projection
from dplit.margin.covers import margin_events
from dplit.margin.descent import _accelerated_descent, boosted_descent, noisy_hinge_descent
from dplit.margin.losses import Array, _clipped_records, zero_one_loss
from dplit.margin.plans import LearningPlan, Solver
from dplit.mechanisms import report_noisy_min

_Projection = Literal["fast", "sign"]

_Map = HadamardProjection | NDArray[np.float64]

#: Weights by solver: records, labels, the plan of one descent, and the source of its noise.
_SOLVERS: dict[Solver, Callable[..., Array]] = {
    "accelerated": _accelerated_descent,
    "noisy_gradient": noisy_hinge_descent,
    "phased": lambda *told, rng: boosted_descent(*told, rng=rng).weights,
}


@dataclass(frozen=True)
class _CompressedLearner:
    """Weights for records as they are (d,) and projected (k,), and the public map."""

    coef: Array
    compressed_coef: Array
    projection: _Map


def printed_dimension(*, n_samples: int, epsilon: float, delta: float, beta: float) -> int:
    r"""Dimension of Algorithm 2, step 1, with constant 1, rounded.

    :math:`\epsilon m\log(m/\beta)/(\log^{3/2}(1/\delta)\log(1/\beta))`; a radical on
    :math:`\log(m/\beta)` may be lost in the text at hand.

    >>> printed_dimension(n_samples=10_000, epsilon=1.0, delta=1e-6, beta=0.05)
    793
    """
    m = check_integer("n_samples", n_samples)
    delta, beta = check_probability("delta", delta), check_probability("beta", beta)
    size = check_positive("epsilon", epsilon) * m * math.log(m / beta)
    return max(1, round(size / (math.pow(math.log(1 / delta), 1.5) * math.log(1 / beta))))


def _draw_projection(
    n_features: int, n_components: int, *, kind: _Projection, rng: np.random.Generator
) -> _Map:
    """Draw the public map from d to k <= d dimensions: ``fast`` (Hadamard) or ``sign`` (dense)."""
    d = check_integer("n_features", n_features)
    k = check_integer("n_components", n_components, maximum=d)
    check_choice("kind", kind, get_args(_Projection))
    check_rng(rng)
    return hadamard_projection(d, k, rng=rng) if kind == "fast" else sign_projection(d, k, rng=rng)


def compress(X: ArrayLike, projection: _Map) -> Array:
    """Projected records (n, k), not clipped."""
    if isinstance(projection, HadamardProjection):
        return projection.transform(X)
    return np.asarray(check_real_array("X", X, 2, copy=False) @ projection.T)


def expand(weights: ArrayLike, projection: _Map) -> Array:
    r"""Weights :math:`\Phi^\top\tilde w`, of shape (d,) or (n, d), for records as they are."""
    if isinstance(projection, HadamardProjection):
        return projection.adjoint(weights)
    return np.asarray(np.asarray(weights) @ projection)


class _Learnt(NamedTuple):
    """Weights (k,), their place in the grid of margins, and all, private, candidates (n, k)."""

    weights: Array
    chosen: int
    candidates: Array


def _fewest_errors(signed: Array, plan: LearningPlan, rng: np.random.Generator) -> int:
    r"""Choose the candidate with the fewest errors, privately; ``signed`` scores are (n, m). One
    record changes a number of errors by at most 1; candidates are private, so that counting on
    their own records needs no penalty for the size of the class.
    """
    errors = zero_one_loss(signed).sum(axis=1)
    return report_noisy_min(errors, epsilon=plan.choice, sensitivity=1.0, rng=rng)


def learn(
    Z: ArrayLike, y: ArrayLike, plan: LearningPlan, *, rng: np.random.Generator,
    choose: Callable[[Array, LearningPlan, np.random.Generator], int] = _fewest_errors,
) -> _Learnt:  # fmt: skip
    """Steps 3 and 4 of Algorithm 2 on projected records or random features ``Z``: clip, learn at
    every margin of the plan, and choose one where the plan keeps a budget for that.
    """
    rows, labels = Z, y
    if plan.choice > 0.0:
        rows, labels = _clipped_records(Z, y, plan.balls[0].data_norm)
    solve = _SOLVERS[plan.solver]
    candidates = np.vstack([solve(rows, labels, each, rng=rng) for each in plan.descents])
    chosen = 0
    if plan.choice > 0.0:
        chosen = choose(labels * (candidates @ np.transpose(rows)), plan, rng)
    return _Learnt(candidates[chosen], chosen, candidates)


def compressed_learner(
    X: ArrayLike, y: ArrayLike, plan: LearningPlan, *, data_norm: float,
    public_rng: np.random.Generator, rng: np.random.Generator,
) -> _CompressedLearner:  # fmt: skip
    """Algorithm 2: a private linear classifier through a random projection (Theorem 3.2).

    Records are clipped to ``data_norm`` and projected to as many columns as the plan has; its ball
    is inflated, in the paper by 2. The map comes from ``public_rng``, the noise from another
    stream; the guarantee is that of the plan, under replacement of one record.
    """
    rows, labels = _clipped_records(X, y, data_norm)
    if public_rng is rng:
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    phi = _draw_projection(rows.shape[1], plan.n_features, kind="fast", rng=public_rng)
    weights = learn(compress(rows, phi), labels, plan, rng=rng).weights
    return _CompressedLearner(expand(weights, phi), weights, phi)


# Theorem 3.2 with explicit constants: what the margin bound costs, term by term.


class _MarginSlack(NamedTuple):
    """The terms by which a private error may exceed the best empirical hinge loss."""

    total: float
    projection: float
    privacy: float
    complexity: float
    confidence: float
    n_components: int
    distortion: float


def jl_distortion(*, n_components: int, n_samples: int, beta: float) -> float:
    r"""Distortion that a sign projection to k dimensions keeps for m points and a comparator.

    The root in (0, 1] of :math:`(5m+1)e^{-k(\eta^2/4-\eta^3/6)}=\beta`; infinity where there is
    none.
    """
    k, events = check_integer("n_components", n_components), margin_events(n_samples)
    return float(_distortion(math.log(events / check_probability("beta", beta)) / k))


def _distortion(exponent: ArrayLike) -> Array:
    r"""Root of :math:`\eta^2/4-\eta^3/6=c` in [0, 1], infinity for c above 1/12. In the third of an
    angle, :math:`\eta=2\sin t\sin(2\pi/3-t)`, :math:`\sin 3t=\sqrt{12c}`, no digit is lost for
    small c.
    """
    c = np.asarray(exponent, dtype=float)
    third = np.arcsin(np.sqrt(np.minimum(12.0 * c, 1.0))) / 3.0
    root = 2.0 * np.sin(third) * np.sin(2.0 * np.pi / 3.0 - third)
    return np.where(12.0 * c <= 1.0 + 1e-14, root, np.inf)


def margin_slack(
    *, normalized_margin: float, n_samples: int, n_components: int, mu: float, beta: float,
    n_steps: int | None = None,
) -> _MarginSlack:  # fmt: skip
    r"""Explicit slack of Algorithm 2 with noisy full-batch descent, our constants, and its terms.

    :math:`\frac\eta a+\frac{s^2}a\big(\frac1{\sqrt{T}}+\frac{2\sqrt{k}}{m\mu}\big)+
    \frac{2s^2}{a\sqrt{m}}+\sqrt{\frac{\log(3/\beta)}{2m}}`, :math:`s^2=1+\eta` from
    :func:`jl_distortion` at :math:`\beta/3`; ``n_steps=None`` is the limit of many.
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    m, level = check_integer("n_samples", n_samples), check_positive("mu", mu, infinite=True)
    k, beta = check_integer("n_components", n_components), check_probability("beta", beta)
    steps = math.inf if n_steps is None else check_integer("n_steps", n_steps)
    eta = jl_distortion(n_components=k, n_samples=m, beta=beta / 3.0)
    square = 1.0 + eta
    private = square / a * (1.0 / math.sqrt(steps) + 2.0 * math.sqrt(k) / (m * level))
    complexity = 2.0 * square / (a * math.sqrt(m))
    confidence = math.sqrt(math.log(3.0 / beta) / (2.0 * m))
    total = eta / a + private + complexity + confidence
    return _MarginSlack(total, eta / a, private, complexity, confidence, k, eta)


def best_slack(
    *, normalized_margin: float, n_samples: int, mu: float, beta: float,
    n_steps: int | None = None,
) -> _MarginSlack:  # fmt: skip
    """The slack at the projected dimension that minimises it.

    >>> best = best_slack(normalized_margin=0.3, n_samples=1000, mu=0.2367, beta=0.05)
    >>> round(best.total, 3)
    2.234
    """

    m, a = check_integer("n_samples", n_samples), normalized_margin
    level, failure = check_positive("mu", mu, infinite=True), check_probability("beta", beta)
    log_events = math.log(3.0 * margin_events(m) / failure)

    def best_of(grid: Array) -> int:
        """Index of the best dimension: what of the slack depends on it, up to the factor 1/a."""
        eta = _distortion(log_events / grid)
        fixed = 0.0 if n_steps is None else 1.0 / math.sqrt(n_steps)
        paid = fixed + 2.0 * np.sqrt(grid) / (m * level) + 2.0 / math.sqrt(m)
        return int(np.argmin(eta + (1.0 + eta) * paid))

    least = math.ceil(12.0 * log_events)
    grid = np.unique(np.geomspace(least, max(100 * m, 10 * least), 400).astype(int))
    coarse = best_of(grid)
    low, high = grid[max(coarse - 1, 0)], grid[min(coarse + 1, len(grid) - 1)]
    fine = np.unique(np.linspace(low, high, 200).astype(int))
    return margin_slack(
        normalized_margin=a, n_samples=m, n_components=int(fine[best_of(fine)]), mu=mu, beta=beta,
        n_steps=n_steps,
    )  # fmt: skip


def plain_slack(*, normalized_margin: float, n_samples: int, beta: float) -> float:
    r"""Slack :math:`\frac2{a\sqrt m}+\sqrt{\log(1/\beta)/(2m)}` without privacy or projection."""
    a = check_probability("normalized_margin", normalized_margin, one=True)
    m, beta = check_integer("n_samples", n_samples), check_probability("beta", beta)
    return 2.0 / (a * math.sqrt(m)) + math.sqrt(math.log(1.0 / beta) / (2.0 * m))


def vacuous_below(*, normalized_margin: float, mu: float, beta: float) -> int:
    """Smallest number of records at which the best slack is below 1."""

    def total(m: int) -> float:
        return best_slack(normalized_margin=normalized_margin, n_samples=m, mu=mu, beta=beta).total

    sizes = range(9, 1 << 40)
    return sizes[bisect_left(sizes, True, key=lambda m: total(m) < 1.0)]

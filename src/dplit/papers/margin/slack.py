"""Theorem 3.2 with explicit constants: what the margin bound costs, term by term."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_probability
from dplit.papers.margin.dimensions import margin_events


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
    *,
    normalized_margin: float,
    n_samples: int,
    n_components: int,
    mu: float,
    beta: float,
    n_steps: int | None = None,
) -> _MarginSlack:
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
    *,
    normalized_margin: float,
    n_samples: int,
    mu: float,
    beta: float,
    n_steps: int | None = None,
) -> _MarginSlack:
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
        normalized_margin=a,
        n_samples=m,
        n_components=int(fine[best_of(fine)]),
        mu=mu,
        beta=beta,
        n_steps=n_steps,
    )


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

r"""Theorem 3.2 with explicit constants: what the margin bound costs, term by term.

The published bounds have no constants, and their proofs were not available.  The constants here
are ours, and so is every statement about where they make a bound vacuous.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dplit._checks import (
    check_integer,
    check_positive,
    check_probability,
)
from dplit.margin.dimensions import jl_exponent, margin_events

__all__ = [
    "MarginSlack",
    "best_slack",
    "jl_distortion",
    "margin_slack",
    "plain_slack",
    "vacuous_below",
]


class MarginSlack(NamedTuple):
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

    Parameters
    ----------
    n_components, n_samples : int
        Dimension k and records m.
    beta : float
        Failure probability in (0, 1).

    Returns
    -------
    float
        The root in (0, 1] of :math:`(5m+1)e^{-k(\eta^2/4-\eta^3/6)}=\beta`; infinity where
        :math:`k<12\log((5m+1)/\beta)`, which no distortion in (0, 1] satisfies.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.margin.slack import jl_distortion
    >>> round(jl_distortion(n_components=390, n_samples=1000, beta=0.05 / 3), 3)
    0.425
    """
    k, events = check_integer("n_components", n_components), margin_events(n_samples)
    needed = math.log(events / check_probability("beta", beta)) / k
    if needed > 1.0 / 12.0:
        return math.inf
    if needed >= 1.0 / 12.0 - 1e-15:
        return 1.0
    return float(brentq(lambda eta: jl_exponent(eta) - needed, 1e-9, 1.0 - 1e-12, xtol=1e-14))


def margin_slack(
    *,
    normalized_margin: float,
    n_samples: int,
    n_components: int,
    mu: float,
    beta: float,
    n_steps: int | None = None,
) -> MarginSlack:
    r"""Explicit slack of Algorithm 2 with noisy full-batch descent, our constants.

    Parameters
    ----------
    normalized_margin : float
        :math:`a=\rho/(\Lambda r)` in (0, 1].
    n_samples, n_components : int
        Records m and projected dimension k.
    mu : float
        Gaussian-DP level; infinity for no noise.
    beta : float
        Failure probability in (0, 1).
    n_steps : int or None, default=None
        Steps T; None: the limit of many.

    Returns
    -------
    MarginSlack
        :math:`\frac\eta a+\frac{s^2}a\big(\frac1{\sqrt T}+\frac{2\sqrt k}{m\mu}\big)+
        \frac{2s^2}{a\sqrt m}+\sqrt{\frac{\log(3/\beta)}{2m}}` and its four terms, with
        :math:`s^2=1+\eta` and :math:`\eta` from :func:`jl_distortion` at :math:`\beta/3`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    With probability :math:`1-2\beta/3` over sample and map, and in expectation over the noise, the
    error of the learner with clipping s r and ball s :math:`\Lambda` exceeds the least empirical
    hinge loss of the ball by at most this.  The ramp loss lies between error and hinge and is
    bounded: its Rademacher complexity gives the third and its confidence the fourth term.

    Examples
    --------
    >>> from dplit.margin.slack import margin_slack
    >>> terms = margin_slack(normalized_margin=0.3, n_samples=10_000, n_components=9620, mu=0.2367,
    ...     beta=0.05)
    >>> round(terms.total, 3), round(terms.projection, 3), round(terms.privacy, 3)
    (0.655, 0.27, 0.299)
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
    return MarginSlack(total, eta / a, private, complexity, confidence, k, eta)


def best_slack(
    *, normalized_margin: float, n_samples: int, mu: float, beta: float,
    n_steps: int | None = None,
) -> MarginSlack:  # fmt: skip
    r"""The slack at the projected dimension that minimises it.

    Parameters
    ----------
    normalized_margin, n_samples, mu, beta, n_steps
        As in :func:`margin_slack`.

    Returns
    -------
    MarginSlack
        The optimum is flat: 3 % in k change the fourth digit.

    Examples
    --------
    >>> from dplit.margin.slack import best_slack
    >>> best = best_slack(normalized_margin=0.3, n_samples=1000, mu=0.2367, beta=0.05)
    >>> round(best.total, 3)
    2.234
    """

    def slack(k: int) -> MarginSlack:
        return margin_slack(
            normalized_margin=normalized_margin, n_samples=n_samples, n_components=k, mu=mu,
            beta=beta, n_steps=n_steps,
        )  # fmt: skip

    m = check_integer("n_samples", n_samples)
    least = math.ceil(12.0 * math.log(3.0 * margin_events(m) / check_probability("beta", beta)))
    grid = np.unique(np.geomspace(least, max(100 * m, 10 * least), 400).astype(int))
    coarse = int(np.argmin([slack(int(k)).total for k in grid]))
    low, high = grid[max(coarse - 1, 0)], grid[min(coarse + 1, len(grid) - 1)]
    fine = np.unique(np.linspace(low, high, 200).astype(int))
    return min((slack(int(k)) for k in fine), key=lambda terms: terms.total)


def plain_slack(*, normalized_margin: float, n_samples: int, beta: float) -> float:
    r"""Slack without privacy and without projection.

    Parameters
    ----------
    normalized_margin, n_samples, beta
        As in :func:`margin_slack`.

    Returns
    -------
    float
        :math:`\frac2{a\sqrt m}+\sqrt{\frac{\log(1/\beta)}{2m}}`, the textbook margin bound.

    Examples
    --------
    >>> from dplit.margin.slack import plain_slack
    >>> round(plain_slack(normalized_margin=0.3, n_samples=1000, beta=0.05), 3)
    0.25
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    m, beta = check_integer("n_samples", n_samples), check_probability("beta", beta)
    return 2.0 / (a * math.sqrt(m)) + math.sqrt(math.log(1.0 / beta) / (2.0 * m))


def vacuous_below(*, normalized_margin: float, mu: float, beta: float) -> int:
    r"""Smallest number of records at which the best slack is below 1.

    Parameters
    ----------
    normalized_margin, mu, beta
        As in :func:`margin_slack`.

    Returns
    -------
    int
        With fewer records the explicit bound says nothing about an error, whatever k.

    Examples
    --------
    >>> from dplit.margin.slack import vacuous_below
    >>> 4_000 < vacuous_below(normalized_margin=0.3, mu=0.2367, beta=0.05) < 4_600
    True
    """

    def total(m: int) -> float:
        return best_slack(normalized_margin=normalized_margin, n_samples=m, mu=mu, beta=beta).total

    high = 16
    while total(high) >= 1.0:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(middle) >= 1.0 else (low, middle)
    return high

"""Theorem 3.1 with constants: what the exponential mechanism on a cover is shown to achieve."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplit._checks import check_integer, check_nonnegative, check_positive, check_probability
from dplit.papers.margin.covers import _log_cover_bound
from dplit.papers.margin.dimensions import _jl_dimension


class _CoverTerms(NamedTuple):
    """Dimension k, log of the size of the cover, that plus log(3/beta), and the excess."""

    n_components: int
    log_cover: float
    log_budget: float
    excess: float


def cover_terms(
    *, normalized_margin: float, n_samples: int, epsilon: float, beta: float
) -> _CoverTerms:
    r"""Quantities of Theorem 3.1: k for failure :math:`\beta/3`, :math:`k\log(1+40/a)`, and more.

    :math:`\ell=k\log(1+40/a)+\log(3/\beta)`, and the excess :math:`2\ell/(\epsilon m)` of training
    error.
    """
    probability = check_probability("beta", beta)
    k = _jl_dimension(
        normalized_margin=normalized_margin, n_samples=n_samples, beta=probability / 3
    )
    log_cover = _log_cover_bound(k, radius=2.0, covering_radius=normalized_margin / 10)
    budget = log_cover + math.log(3 / probability)
    excess = 2 * budget / (check_positive("epsilon", epsilon) * n_samples)
    return _CoverTerms(k, log_cover, budget, excess)


def chernoff_upper(error: float, *, rate: float) -> float:
    r"""Largest population error :math:`A+t+\sqrt{t^2+2tA}` that a training error A allows.

    It fails for one fixed classifier with probability at most :math:`e^{-tm}`, t = ``rate``.
    """
    value, t = check_nonnegative("error", error), check_nonnegative("rate", rate)
    return value + t + math.sqrt(t * t + 2 * t * value)


def relative_bound(
    margin_error: float, *, log_budget: float, n_samples: int, epsilon: float
) -> float:
    r"""Right side of Theorem 3.1, :math:`\hat R+\sqrt{2\hat R\ell/m}+6\ell/(\min(1,\epsilon)m)`.

    >>> round(relative_bound(0.0, log_budget=2030.0, n_samples=10_000, epsilon=1.0), 3)
    1.218
    """
    share = check_probability("margin_error", margin_error, zero=True, one=True)
    t = check_nonnegative("log_budget", log_budget) / check_integer("n_samples", n_samples)
    return share + math.sqrt(2 * share * t) + 6 * t / min(1.0, check_positive("epsilon", epsilon))

"""Private mechanisms small enough to enumerate.

In the limit of a large domain randomised response (one record) and the subset mechanism (any
number) attain the constants of Theorem 3.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.papers.erm.generalization import _Side

#: Largest number of data sets times outputs that is enumerated.
_LARGEST = 10_000_000


def _weight(epsilon: float, side: str) -> float:
    """Return the log-odds that a record gives to itself."""
    check_choice("side", side, ("over", "under"))
    return check_positive("epsilon", epsilon) * (1.0 if side == "over" else -1.0)


def response_gap(k: int, *, epsilon: float, side: _Side = "over") -> float:
    r"""Relative gap of k-ary randomised response on one record, in closed form.

    :math:`(1-\frac1k)(1-e^{-\epsilon})` for :math:`g=1\{\cdot=\text{answer}\}`; on the side
    ``"under"``, with :math:`e^{-\epsilon}` in the place of :math:`e^\epsilon`, its counterpart.
    """
    values = check_integer("k", k, minimum=2)
    return (1.0 - 1.0 / values) * abs(math.expm1(-_weight(epsilon, side)))


def inclusion_probability(p: float, *, epsilon: float, side: _Side = "over") -> float:
    r"""Probability with which the subset mechanism includes an element that the data contain.

    Others enter with probability ``p``; its odds are :math:`e^{\pm\epsilon}` times theirs.
    """
    share = check_probability("p", p)
    factor = math.exp(_weight(epsilon, side))
    return factor * share / (1.0 - share + factor * share)


def subset_gap(k: int, m: int, p: float, *, epsilon: float, side: _Side = "over") -> float:
    r"""Relative gap of the subset mechanism, :math:`(1-\frac1k)^m(1-p)(1-e^{-\epsilon})`."""
    fresh = (1.0 - 1.0 / check_integer("k", k, minimum=2)) ** check_integer("m", m)
    rest = 1.0 - check_probability("p", p)
    return fresh * rest * abs(math.expm1(-_weight(epsilon, side)))


def response_mechanism(k: int, *, epsilon: float, side: _Side = "over") -> tuple[Array, Array]:
    """Table of k-ary randomised response on one record, as
    :func:`~dplit.papers.erm.generalization.exact_gap` takes it.
    """
    odds = np.ones((check_integer("k", k, minimum=2),) * 2)
    np.fill_diagonal(odds, math.exp(_weight(epsilon, side)))
    return odds / odds.sum(axis=1, keepdims=True), np.eye(k)


def subset_mechanism(
    k: int, m: int, p: float, *, epsilon: float, side: _Side = "over"
) -> tuple[Array, Array]:
    """Table of the mechanism that releases a random subset of the domain.

    Columns are the subsets, coded by their bits; exactly epsilon-private.
    """
    size, count = check_integer("k", k, minimum=2), check_integer("m", m)
    if size > 20 or size**count * 2**size > _LARGEST:
        raise ValueError(f"k and m must give a table of at most 1e7 entries, got k={k}, m={m}")
    q = inclusion_probability(p, epsilon=epsilon, side=side)
    values = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
    inside = np.zeros((size**count, size), dtype=bool)
    for row, data in enumerate(itertools.product(range(size), repeat=count)):
        inside[row, list(data)] = True
    share = np.where(inside, q, p)
    law = np.exp(np.log(share) @ values.T + np.log1p(-share) @ (1.0 - values.T))
    return law, values


def random_mechanism(
    k: int, m: int, n_outputs: int, *, epsilon: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Table of a private mechanism without structure, with heavy-tailed nonnegative values.

    An exponential mechanism with independent scores in [0, 1] and absolute Cauchy values: no bound.
    """
    rows = check_integer("k", k, minimum=2) ** check_integer("m", m)
    columns = check_integer("n_outputs", n_outputs)
    scores = check_rng(rng).random((rows, columns))
    odds = np.exp(0.5 * check_positive("epsilon", epsilon) * scores)
    return odds / odds.sum(axis=1, keepdims=True), np.abs(rng.standard_cauchy((columns, k)))

r"""Private mechanisms small enough to enumerate, two of which attain the constants of Theorem 3.

Randomised response does so for one record, the subset mechanism for any number of records, both in
the limit of a large domain.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
)
from dplit.erm.generalization import Side

__all__ = [
    "draw_subset",
    "inclusion_probability",
    "random_mechanism",
    "response_gap",
    "response_mechanism",
    "subset_gap",
    "subset_mechanism",
]

Array = NDArray[np.float64]

#: Largest number of data sets times outputs that is enumerated.
_LARGEST = 10_000_000


def _weight(epsilon: float, side: str) -> float:
    """Return the log-odds that a record gives to itself."""
    check_choice("side", side, ("over", "under"))
    return check_positive("epsilon", epsilon) * (1.0 if side == "over" else -1.0)


def response_gap(k: int, *, epsilon: float, side: Side = "over") -> float:
    r"""Relative gap of k-ary randomised response, in closed form.

    Parameters
    ----------
    k : int
        Number of values a record can take, all equally likely; at least 2.
    epsilon : float
        Positive.
    side : {"over", "under"}, default="over"
        "over": the true value is :math:`e^\epsilon` times as likely as another; "under":
        :math:`e^{-\epsilon}` times.

    Returns
    -------
    float
        The gap divided by G: :math:`(1-\frac1k)(1-e^{-\epsilon})`, or
        :math:`(1-\frac1k)(e^\epsilon-1)`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    One record, :math:`g=1\{\cdot=\text{answer}\}`: sample mean
    :math:`e^{\pm\epsilon}/(e^{\pm\epsilon}+k-1)`, population mean 1/k.

    Examples
    --------
    >>> round(response_gap(2, epsilon=0.5), 4), round(response_gap(2, epsilon=0.5, side="under"), 4)
    (0.1967, 0.3244)
    """
    values = check_integer("k", k, minimum=2)
    return (1.0 - 1.0 / values) * abs(math.expm1(-_weight(epsilon, side)))


def inclusion_probability(p: float, *, epsilon: float, side: Side = "over") -> float:
    r"""Probability with which the subset mechanism includes an element that the data contain.

    Parameters
    ----------
    p : float
        Probability for an element that the data do not contain, in (0, 1).
    epsilon : float
        Positive.
    side : {"over", "under"}, default="over"

    Returns
    -------
    float
        :math:`q=\frac{e^{\pm\epsilon}p}{1-p+e^{\pm\epsilon}p}`: the odds change by
        :math:`e^{\pm\epsilon}`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> round(inclusion_probability(0.5, epsilon=1.0), 4)
    0.7311
    """
    share = check_probability("p", p)
    factor = math.exp(_weight(epsilon, side))
    return factor * share / (1.0 - share + factor * share)


def subset_gap(k: int, m: int, p: float, *, epsilon: float, side: Side = "over") -> float:
    r"""Relative gap of the subset mechanism, in closed form.

    Parameters
    ----------
    k : int
        Size of the domain, at least 2; records are uniform on it.
    m : int
        Number of records, at least 1.
    p : float
        Inclusion probability of an element that the data do not contain, in (0, 1).
    epsilon : float
        Positive.
    side : {"over", "under"}, default="over"

    Returns
    -------
    float
        The gap divided by G: :math:`(1-\frac1k)^m(1-p)(1-e^{-\epsilon})`, or the same with
        :math:`e^\epsilon-1`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The sample mean of :math:`g=1_S` is q. A fresh record is in the data with probability
    :math:`u=1-(1-1/k)^m`, so the population mean is :math:`uq+(1-u)p`, and
    :math:`1-p/q=(1-p)(1-e^{-\epsilon})`.

    Examples
    --------
    >>> round(subset_gap(10**5, 100, 1e-3, epsilon=0.5), 4)
    0.3927
    """
    fresh = (1.0 - 1.0 / check_integer("k", k, minimum=2)) ** check_integer("m", m)
    rest = 1.0 - check_probability("p", p)
    return fresh * rest * abs(math.expm1(-_weight(epsilon, side)))


def response_mechanism(k: int, *, epsilon: float, side: Side = "over") -> tuple[Array, Array]:
    r"""Table of k-ary randomised response on one record.

    Parameters
    ----------
    k, epsilon, side
        As in :func:`response_gap`.

    Returns
    -------
    law : ndarray, shape (k, k)
        ``law[z, a]`` is the probability of answer a to record z.
    values : ndarray, shape (k, k)
        ``values[a, j]`` is g at record j after answer a: 1 if a = j.

    Examples
    --------
    >>> law, values = response_mechanism(3, epsilon=1.0)
    >>> round(float(law[0, 0] / law[1, 0]), 4)
    2.7183
    """
    odds = np.ones((check_integer("k", k, minimum=2),) * 2)
    np.fill_diagonal(odds, math.exp(_weight(epsilon, side)))
    return odds / odds.sum(axis=1, keepdims=True), np.eye(k)


def subset_mechanism(
    k: int, m: int, p: float, *, epsilon: float, side: Side = "over"
) -> tuple[Array, Array]:
    r"""Table of the mechanism that releases a random subset of the domain.

    Parameters
    ----------
    k, m, p, epsilon, side
        As in :func:`subset_gap`; the table has :math:`k^m2^k` entries.

    Returns
    -------
    law : ndarray, shape (k**m, 2**k)
        Row: data set, in the order of ``itertools.product(range(k), repeat=m)``; column: subset,
        coded by its bits.
    values : ndarray, shape (2**k, k)
        Indicators of the subsets.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or the table is too large.

    Notes
    -----
    Replacing a record takes at most one element out of the data and puts at most one in. Each
    changes the odds of its element by :math:`e^\epsilon`, one up, one down; the largest log-ratio
    is that of the subset with the one and without the other, exactly epsilon.

    Examples
    --------
    >>> law, values = subset_mechanism(2, 1, 0.5, epsilon=1.0)
    >>> law.shape, values.shape
    ((2, 4), (4, 2))
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
    r"""Table of a private mechanism without structure, with heavy-tailed nonnegative values.

    Parameters
    ----------
    k, m, n_outputs : int
        Sizes of domain, sample and set of outputs.
    epsilon : float
        Guarantee of the mechanism; positive.
    rng : numpy.random.Generator

    Returns
    -------
    law : ndarray, shape (k**m, n_outputs)
        An exponential mechanism with independent scores in [0, 1]: epsilon-private.
    values : ndarray, shape (n_outputs, k)
        Absolute Cauchy variables: no bound, and no mean over repeated draws.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> law, values = random_mechanism(3, 2, 4, epsilon=1.0, rng=np.random.default_rng(0))
    >>> from dplit.erm.generalization import exact_gap
    >>> exact_gap(law, values).epsilon <= 1.0
    True
    """
    rows = check_integer("k", k, minimum=2) ** check_integer("m", m)
    columns = check_integer("n_outputs", n_outputs)
    scores = rng.random((rows, columns))
    odds = np.exp(0.5 * check_positive("epsilon", epsilon) * scores)
    return odds / odds.sum(axis=1, keepdims=True), np.abs(rng.standard_cauchy((columns, k)))


def draw_subset(
    data: ArrayLike,
    k: int,
    p: float,
    *,
    epsilon: float,
    rng: np.random.Generator,
    side: Side = "over",
) -> NDArray[np.bool_]:
    r"""Draw from the subset mechanism.

    Parameters
    ----------
    data : array_like of int, shape (m,)
        Records in 0, ..., k - 1.
    k, p, epsilon, side
        As in :func:`subset_gap`.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (k,)
        Which elements are released. An epsilon-private answer, and the function
        :math:`g=1_S` at every record.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> draw_subset([0, 1], 3, 0.5, epsilon=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    records = np.asarray(check_finite_array("data", data, ndim=1))
    size = check_integer("k", k, minimum=2)
    if records.dtype.kind not in "iu" or records.min() < 0 or records.max() >= size:
        raise ValueError(f"data must hold integers from 0 to {size - 1}, got {records[:5]}")
    share = np.full(size, check_probability("p", p))
    share[records] = inclusion_probability(p, epsilon=epsilon, side=side)
    return rng.random(size) < share

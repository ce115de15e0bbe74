r"""Means and counts with Laplace noise, and intervals around them that hold for every table.

Of labels in [-1, 1] two sums are released: that of the labels and their number. Between neighbours
that replace a record the first moves by 2 and the second not at all, or, if a label comes or goes,
both by at most 1: the l1 sensitivity is 2 in either case, also where a record is added or removed,
so that the number, by which to divide, costs nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import binom, gammaincc, rel_entr

from dplit._checks import Array, check_epsilon
from dplit.mechanisms.gaussian import laplace_scale
from dplit.mechanisms.values import Laplace

#: Steps, as a power of two, of a label: whole numbers add exactly.
_BITS = 20

#: Records up to which the sums stay below ``2^53`` steps.
_MOST = 1 << 32

#: What rounding to the public step of a release may add to noise, relative to its scale.
_ROUNDED = 1.0 + 2.0**-20


class Bounded(NamedTuple):
    """A number with an interval around it."""

    value: float
    low: float
    high: float


def laplace_bound(scale: float, *, chance: float, count: int = 1) -> float:
    r"""Return what the sum of ``count`` independent Laplace variates passes with a given chance.

    The sum of k is the difference of two gamma variates of shape k, whence :math:`P(|S|>tb)=
    \sum_{j<k}\binom{k-1+j}{j}2^{1-k-j}Q(k-j,t)`, Q the upper regularised incomplete gamma function:
    :math:`e^{-t}` for one.

    >>> [round(laplace_bound(2.0, chance=0.05, count=count), 2) for count in (1, 2)]
    [5.99, 8.23]
    """
    j = np.arange(count)
    weights = binom(count - 1 + j, j) * 2.0 ** (1 - count - j)

    def left(t: float) -> float:
        return float(weights @ gammaincc(count - j, t)) - chance

    most = 2.0 * (count + math.log(1.0 / chance))  # beyond any bound by Chernoff
    return scale * float(brentq(left, 0.0, most)) * _ROUNDED


def laplace_mean(
    labels: Array,
    *,
    epsilon: float,
    hides: str,
    chance: float = 0.05,
    most: int | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[Bounded, Bounded]:
    """Return the mean of labels in [-1, 1] and how many there are, epsilon-privately.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        In [-1, 1]; NaN for a record without one. Rounded to multiples of 2^-20.
    epsilon : float
    hides : str
        For the ledger.
    chance : float, default=0.05
        With which the mean of these labels, or their number, is outside its interval.
    most : int, optional
        Public number of records.
    rng : numpy.random.Generator, optional
        A replay, which voids the guarantee.

    Returns
    -------
    mean, number : Bounded

    Examples
    --------
    >>> mean, number = laplace_mean(np.full(10**6, 0.5), epsilon=1.0, hides="a mean")
    >>> bool(mean.low <= 0.5 <= mean.high), bool(abs(number.value - 1e6) < 100)
    (True, True)
    """
    known = ~np.isnan(labels)
    if len(labels) > _MOST:
        raise ValueError(f"y must have at most {_MOST} records")
    steps = np.rint(np.where(known, labels, 0.0) * 2.0**_BITS).astype(np.int64)
    sums = np.array([steps.sum(), known.sum() << _BITS], np.float64)
    scale = laplace_scale(epsilon=check_epsilon(epsilon), sensitivity=2.0)
    total, number = (
        Laplace(scale)
        .add(sums, unit=Fraction(1, 1 << _BITS), hides=hides, sensitivity=2.0, rng=rng)
        .tolist()
    )
    off = laplace_bound(scale, chance=chance / 2.0)
    top = math.inf if most is None else float(most)
    count = Bounded(*(min(max(number + add, 1.0), top) for add in (0.0, -off, off)))
    return _ratio(total, off, count), count


def _ratio(total: float, off: float, count: Bounded) -> Bounded:
    """Return the mean of some numbers in [-1, 1] whose sum is within ``off`` of the total."""
    low, high = total - off, total + off
    ends = (
        total / count.value,
        low / (count.low if low < 0.0 else count.high) - 2.0**-_BITS,
        high / (count.high if high < 0.0 else count.low) + 2.0**-_BITS,
    )
    return Bounded(*(min(max(end, -1.0), 1.0) for end in ends))


def share_of(one: float, rest: float, off: float, rest_off: float) -> Bounded:
    """Return the share of one count, each known within what its noise may be.

    >>> found = share_of(30.0, 70.0, 5.0, 10.0)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.3, 0.238, 0.368)
    """

    def share(part: float, others: float) -> float:
        part, others = max(part, 0.0), max(others, 0.0)
        return part / (part + others) if part + others > 0.0 else math.nan

    found = share(one, rest), share(one - off, rest + rest_off), share(one + off, rest - rest_off)
    value, low, high = (
        fallback if math.isnan(end) else end
        for end, fallback in zip(found, (0.5, 0.0, 1.0), strict=True)
    )
    return Bounded(value, low, high)


def of_new_records(seen: Bounded, n: float, *, chance: float) -> Bounded:
    r"""Return an interval for the expectation of numbers in [0, 1] from their mean over n records.

    Of independent numbers in [0, 1] of expectation p the mean is above m > p, or below m < p, with
    probability at most :math:`e^{-n\,\mathrm{kl}(m,p)}` (Hoeffding 1963, Theorem 1), kl the
    divergence of two coins: ``chance`` is divided between the two sides. ``seen`` says between
    which numbers their mean is known to be.

    >>> found = of_new_records(Bounded(0.1, 0.1, 0.1), 1000.0, chance=0.05)
    >>> round(found.low, 3), round(found.high, 3)
    (0.076, 0.128)
    """
    limit = math.log(2.0 / chance) / max(n, 1.0)

    def end(m: float, edge: float) -> float:
        def left(p: float) -> float:
            return float(rel_entr(m, p) + rel_entr(1.0 - m, 1.0 - p)) - limit

        return edge if left(edge) <= 0.0 else float(brentq(left, m, edge))

    low, high = min(max(seen.low, 0.0), 1.0), min(max(seen.high, 0.0), 1.0)
    tiny = 1e-300
    return Bounded(seen.value, end(low, tiny) if low > tiny else 0.0, end(high, 1.0 - 1e-16))

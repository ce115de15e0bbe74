r"""Privacy controls the gap between the mean on the sample and the mean on new records.

The paper bounds both signs of the gap by :math:`2G\epsilon`. Its proof gives
:math:`(1-e^{-\epsilon})G` and :math:`(e^\epsilon-1)G`, and the mechanisms of
:mod:`dplit.erm.sharp_mechanisms` attain these constants.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_nonnegative, check_positive

__all__ = ["Gap", "Side", "exact_gap", "generalization_bound", "printed_threshold"]

Array = NDArray[np.float64]

#: "over": the mean on the sample is the larger one; "under": the mean on new records is.
Side = Literal["over", "under"]
_SIDES = ("over", "under")


class Gap(NamedTuple):
    r"""Exact means of a mechanism, and its exact privacy.

    Attributes
    ----------
    sample : float
        :math:`\mathbb E\frac1m\sum_ig_{z,A}(z_i)`, the smallest possible G.
    population : float
        :math:`\mathbb E\int g_{z,A}\,d\rho`.
    epsilon : float
        Largest absolute log-ratio of two output probabilities over all neighbours.
    """

    sample: float
    population: float
    epsilon: float


def generalization_bound(
    *,
    epsilon: float,
    mean: float = 1.0,
    side: Side = "over",
    version: Literal["printed", "sharp"] = "sharp",
) -> float:
    r"""Bound on the gap of sample and population mean of a private function (Theorem 3).

    Parameters
    ----------
    epsilon : float
        Privacy at every single point: of :math:`g_{z,A}(x,y)` for each fixed record; positive.
    mean : float, default=1.0
        G, a bound on the expected mean on the sample; nonnegative.
    side : {"over", "under"}, default="over"
        "over" bounds sample minus population, "under" population minus sample.
    version : {"sharp", "printed"}, default="sharp"
        "printed": :math:`2G\epsilon` for both. "sharp": :math:`(1-e^{-\epsilon})G` for "over",
        :math:`(e^\epsilon-1)G` for "under".

    Returns
    -------
    float
        The bound. The printed one holds for "over" always, for "under" up to
        :func:`printed_threshold`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Replace record i by an independent copy: for :math:`g\ge0` privacy compares
    :math:`P(g(z_i)\ge t)` for neighbours, so that sample and population means differ by at most
    the factor :math:`e^\epsilon`, in both directions. Both bounds are linear in G.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, doi:10.1186/s13660-016-1280-0, Theorem 3.

    Examples
    --------
    >>> round(generalization_bound(epsilon=0.5), 4), round(generalization_bound(
    ...     epsilon=0.5, side="under"), 4), generalization_bound(epsilon=0.5, version="printed")
    (0.3935, 0.6487, 1.0)
    """
    eps = check_positive("epsilon", epsilon)
    check_choice("side", side, _SIDES)
    check_choice("version", version, ("printed", "sharp"))
    if version == "printed":
        factor = 2.0 * eps
    else:
        factor = -math.expm1(-eps) if side == "over" else math.expm1(eps)
    return factor * check_nonnegative("mean", mean)


def printed_threshold() -> float:
    r"""Return the epsilon up to which the second printed inequality holds.

    Returns
    -------
    float
        The positive root of :math:`e^\epsilon-1=2\epsilon`; beyond it the sharp constant exceeds
        the printed one. The paper assumes epsilon < 1 throughout.

    Examples
    --------
    >>> round(printed_threshold(), 4)
    1.2564
    """
    value = 1.25
    for _ in range(8):  # Newton; the function is convex
        value -= (math.expm1(value) - 2.0 * value) / (math.exp(value) - 2.0)
    return value


def exact_gap(law: ArrayLike, values: ArrayLike, *, weights: ArrayLike | None = None) -> Gap:
    r"""Sample mean, population mean and privacy of a finite mechanism, by enumeration.

    Parameters
    ----------
    law : array_like, shape (k**m, n)
        Output probabilities of every data set, in the order of
        ``itertools.product(range(k), repeat=m)``; rows sum to 1, entries are positive.
    values : array_like, shape (n, k)
        Value :math:`g\ge0` of every output at every record.
    weights : array_like, shape (k,), optional
        Law of one record; uniform if not given.

    Returns
    -------
    Gap
        Both means and the exact epsilon over all neighbours that differ in one place.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, a row of ``law`` or ``weights`` is no probability law, or a value is
        negative.

    Examples
    --------
    >>> from dplit.erm.sharp_mechanisms import response_mechanism
    >>> gap = exact_gap(*response_mechanism(2, epsilon=0.5))
    >>> round(1 - gap.population / gap.sample, 4), round(gap.epsilon, 12)
    (0.1967, 0.5)
    """
    table = np.asarray(check_finite_array("law", law, ndim=2), dtype=np.float64)
    g = np.asarray(check_finite_array("values", values, ndim=2), dtype=np.float64)
    k = g.shape[1]
    m = round(math.log(len(table)) / math.log(k)) if k > 1 else 0
    if m < 1 or k**m != len(table) or table.shape[1] != len(g):
        raise ValueError(
            f"law must have k**m rows and a column for each row of values, got law of shape "
            f"{table.shape} and values of shape {g.shape}"
        )
    rho = np.full(k, 1.0 / k) if weights is None else np.asarray(weights, dtype=np.float64)
    for name, rows in (("law", table), ("weights", rho.reshape(1, -1))):
        if rows.min() <= 0 or np.abs(rows.sum(axis=1) - 1.0).max() > 1e-9 or rho.shape != (k,):
            raise ValueError(f"{name} must hold positive probabilities that sum to 1, got {rows}")
    if g.min() < 0:
        raise ValueError(f"values must be nonnegative, got {g.min()}")
    cube = table.reshape((k,) * m + (-1,))
    expected = np.tensordot(cube, g, axes=1)  # mean of g at every record, for every data set
    chance = np.ones(())
    for _ in range(m):
        chance = np.multiply.outer(chance, rho)
    population = float(np.sum(chance[..., None] * expected * rho))
    sample, largest = 0.0, 0.0
    for place in range(m):
        own = np.diagonal(np.moveaxis(expected, place, -2), axis1=-2, axis2=-1)
        sample += float(np.sum(np.moveaxis(chance, place, -1) * own)) / m
        logs = np.log(np.moveaxis(cube, place, 0))
        largest = max(largest, float((logs.max(axis=0) - logs.min(axis=0)).max()))
    return Gap(sample, population, largest)

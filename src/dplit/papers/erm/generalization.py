"""What privacy and stability say of the gap between risks on the sample and in expectation."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_choice, check_nonnegative, check_positive, check_real_array

#: "over": the mean on the sample is the larger one; "under": the mean on new records is.
_Side = Literal["over", "under"]

_SIDES = ("over", "under")


class _Gap(NamedTuple):
    r"""Exact means of a mechanism, and its exact privacy.

    ``sample`` is :math:`\mathbb E\frac1m\sum_ig_{z,A}(z_i)`, ``population``
    :math:`\mathbb E\int g_{z,A}\,d\rho`, ``epsilon`` the largest absolute log-ratio of two output
    probabilities over all neighbours.
    """

    sample: float
    population: float
    epsilon: float


def generalization_bound(
    *,
    epsilon: float,
    mean: float = 1.0,
    side: _Side = "over",
    version: Literal["printed", "sharp"] = "sharp",
) -> float:
    r"""Bound on the gap of sample and population mean of a private function (Theorem 3).

    Printed :math:`2\epsilon G` with the ``mean`` G; sharp :math:`(1-e^{-\epsilon})G` where the
    sample mean is the larger one (``"over"``) and :math:`(e^\epsilon-1)G` where it is the smaller
    (``"under"``).

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
    """Return the epsilon up to which the second printed inequality of Theorem 3 holds.

    >>> round(printed_threshold(), 4)
    1.2564
    """
    value = 1.25
    for _ in range(8):  # Newton; the function is convex
        value -= (math.expm1(value) - 2.0 * value) / (math.exp(value) - 2.0)
    return value


def exact_gap(law: ArrayLike, values: ArrayLike, *, weights: ArrayLike | None = None) -> _Gap:
    r"""Sample mean, population mean and privacy of a finite mechanism, by enumeration.

    Records lie in 0, ..., k - 1 with the law ``weights`` (uniform). ``law`` has a row for each data
    set, in the order of ``itertools.product(range(k), repeat=m)``, and a column for each output;
    ``values`` holds :math:`g\ge0` for each output and record.

    >>> from dplit.papers.erm.sharp_mechanisms import response_mechanism
    >>> gap = exact_gap(*response_mechanism(2, epsilon=0.5))
    >>> round(1 - gap.population / gap.sample, 4), round(gap.epsilon, 12)
    (0.1967, 0.5)
    """
    table = check_real_array("law", law, 2)
    g = check_real_array("values", values, 2)
    k = g.shape[1]
    m = round(math.log(len(table)) / math.log(k)) if k > 1 else 0
    if m < 1 or k**m != len(table) or table.shape[1] != len(g):
        raise ValueError(
            f"law must have k**m rows and a column for each row of values, got law of shape "
            f"{table.shape} and values of shape {g.shape}"
        )
    rho = np.full(k, 1.0 / k) if weights is None else check_real_array("weights", weights, 1)
    if rho.shape != (k,):
        raise ValueError(f"weights must have {k} entries, got weights of shape {rho.shape}")
    for name, rows in (("law", table), ("weights", rho.reshape(1, -1))):
        if rows.min() <= 0 or np.abs(rows.sum(axis=1) - 1.0).max() > 1e-9:
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
    return _Gap(sample, population, largest)

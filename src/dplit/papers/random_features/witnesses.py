"""Pairs of data sets that attain the sensitivity of ridge regression."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dplit._checks import Array, check_integer, check_positive
from dplit.kernels._ridge_bounds import worst_removal


class _Witness(NamedTuple):
    """Records on which ridge coefficients move far. For a removal the last one is present or not;
    for a swap the data sets have all but the last, or all but the last but one.
    """

    features: Array
    labels: Array


def removal_witness(*, alpha: float, label_bound: float, n_records: int) -> _Witness:
    """Parallel records whose last one moves the ridge fit most when removed: it attains the bound.

    One feature, m rows of norm at most 1. (With odd m every row can be given norm 1 by a second
    and third feature whose contributions cancel in pairs.)
    """
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    _, r2, row2 = worst_removal(check_positive("alpha", alpha), m)
    rows = np.full(m, math.sqrt(r2 / max(m - 1, 1)))
    rows[-1] = -math.sqrt(row2)
    return _Witness(rows[:, None], np.full(m, b))


def swap_witness(*, alpha: float, label_bound: float, n_records: int) -> _Witness:
    """Records, m + 1 rows of two features, whose swap moves the ridge fit nearly as far as can be.

    The common ones point along one axis; the swapped ones are mirror images (+-p, -q); all labels
    are b. With common rows of squared norm r^2 in all and h = alpha + r^2 the distance is
    ``(2 p b/alpha) (1 + sqrt(m-1) q r/h) / (1 + p^2/alpha + q^2/h)``, which is maximised.
    """
    penalty = check_positive("alpha", alpha)
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    n = m - 1

    def rows_of(parameters: Array) -> tuple[float, float, float]:
        length = math.sin(parameters[0])  # every real vector gives admissible rows
        p, q = length * math.cos(parameters[1]), length * math.sin(parameters[1])
        return p, abs(q), math.sqrt(n) * abs(math.sin(parameters[2]))

    def shortfall(parameters: Array) -> float:
        p, q, r = rows_of(parameters)
        h = penalty + r * r
        slope = 1.0 + math.sqrt(n) * q * r / h
        return -2.0 * abs(p) / penalty * slope / (1.0 + p * p / penalty + q * q / h)

    share = math.asin(min(1.0, math.sqrt(penalty / max(n, 1))))
    found = [
        minimize(shortfall, np.array([length, angle, share]), method="Nelder-Mead").x
        for length in (1.5, 0.5)
        for angle in (0.0, 0.3, 0.7, 1.1)
    ]
    p, q, r = rows_of(min(found, key=shortfall))
    features = np.zeros((m + 1, 2))
    features[:n, 1] = r / math.sqrt(max(n, 1))
    features[n:, 0] = (abs(p), -abs(p))
    features[n:, 1] = -q
    return _Witness(features, np.full(m + 1, b))

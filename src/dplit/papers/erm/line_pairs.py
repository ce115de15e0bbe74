r"""Neighbouring data sets on the line whose minimisers :math:`f(x)=wx` are known in closed form,
with :math:`\|f\|_K^2=w^2`: the counterexamples of the chapter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_at_least,
    check_integer,
    check_interval,
    check_positive,
    check_real_array,
)


class _LinePair(NamedTuple):
    """Two data sets that differ in the last record, and the exact slopes of their minimisers."""

    points: Array
    labels: Array
    other_points: Array
    other_labels: Array
    slope: float
    other_slope: float

    def values(self, points: ArrayLike) -> tuple[Array, Array]:
        """Return both minimisers at ``points`` (shape (n,))."""
        x = check_real_array("points", points, 1)
        return self.slope * x, self.other_slope * x

    @property
    def distance(self) -> float:
        """Distance of the two minimisers in the kernel's norm."""
        return abs(self.slope - self.other_slope)


def hinge_pair(*, n_records: int, regularization: float, kappa: float = 1.0) -> _LinePair:
    r"""Two data sets whose support vector machines are as far apart as Theorem 2 allows.

    For odd m all points are at kappa, (m + 1)/2 of them labelled +1; for even m the first point
    moves to 0, where it says nothing. lambda is at least :math:`\kappa^2/(2m)`. The slopes are
    :math:`\pm\kappa/(2\lambda m)`.
    """
    m, k = check_integer("n_records", n_records), check_positive("kappa", kappa)
    penalty = check_positive("regularization", regularization)
    least = k * k / (2 * m)
    if penalty < least * (1.0 - 1e-12):
        raise ValueError(f"regularization must be at least {least:g}, got {penalty!r}")
    X = np.full(m, k)
    labels = np.where((m - 1 - np.arange(m)) % 2 == 0, 1.0, -1.0)
    if m % 2 == 0:
        X[0] = 0.0
    if m > 1:  # the last record decides: without it, as many labels of either kind count
        labels[-1] = 1.0
    other = labels.copy()
    other[-1] = -1.0
    slope = k / (2.0 * penalty * m)
    return _LinePair(X, labels, X.copy(), other, slope, -slope)


def close_hinge_pair(*, gap: float, regularization: float = 0.6) -> _LinePair:
    r"""Two data sets of two records whose machines order 1 and -1 alike, one of them barely.

    {(1, +), (1, +)} against {(1, +), (1 - gap, -)}, for lambda of at least 1/2: slopes
    :math:`\frac1{2\lambda}` and :math:`\frac{\text{gap}}{4\lambda}`, both positive.
    """
    d = check_interval("gap", gap, 0.0, 1.0)
    penalty = check_at_least("regularization", regularization, 0.5)
    other_points, other_labels = np.array([1.0, 1.0 - d]), np.array([1.0, -1.0])
    slopes = 0.5 / penalty, 0.25 * d / penalty
    return _LinePair(np.ones(2), np.ones(2), other_points, other_labels, *slopes)


def ridge_pair(
    *, n_records: int, regularization: float, kappa: float = 1.0, label_bound: float = 1.0
) -> _LinePair:
    """Two data sets for least squares: one record at kappa changes its label from M to -M.

    All others are at 0, where they say nothing.
    """
    m, k = check_integer("n_records", n_records), check_positive("kappa", kappa)
    penalty = check_positive("regularization", regularization)
    M = check_positive("label_bound", label_bound)
    X, y = np.zeros(m), np.zeros(m)
    X[-1], y[-1] = k, M
    slope = k * M / (penalty * m + k * k)
    return _LinePair(X, y, X, -y, slope, -slope)

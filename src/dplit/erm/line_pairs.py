r"""Neighbouring data sets on the line whose minimisers are known in closed form.

The kernel is linear, :math:`f(x)=wx` on :math:`X=[-\kappa,\kappa]`, and the regulariser is
:math:`\|f\|_K^2=w^2` (so :math:`\gamma=2`). These pairs carry the counterexamples of the chapter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_interval, check_positive
from dplit.erm.sharp_pairs import balanced_hinge_pair

__all__ = ["LinePair", "close_hinge_pair", "hinge_pair", "ridge_pair"]

_Array = NDArray[np.float64]


class LinePair(NamedTuple):
    """Two data sets that differ in the last record, and the slopes of their minimisers.

    ``points`` and ``labels`` hold the records, ``other_points`` and ``other_labels`` those of the
    neighbour; ``slope`` and ``other_slope`` are the exact minimisers.
    """

    points: _Array
    labels: _Array
    other_points: _Array
    other_labels: _Array
    slope: float
    other_slope: float

    def values(self, points: ArrayLike) -> tuple[_Array, _Array]:
        """Return both minimisers at ``points`` (shape (n,))."""
        x = check_finite_array("points", points, ndim=1).astype(np.float64)
        return self.slope * x, self.other_slope * x

    @property
    def distance(self) -> float:
        """Distance of the two minimisers in the kernel's norm."""
        return abs(self.slope - self.other_slope)


def hinge_pair(*, n_records: int, regularization: float, kappa: float = 1.0) -> LinePair:
    r"""Two data sets whose support vector machines are as far apart as Theorem 2 allows.

    Parameters
    ----------
    n_records : int
        Odd number m of records: all at kappa, (m + 1)/2 of them labelled +1; the last of these is
        labelled -1 in the neighbour.
    regularization : float
        Parameter lambda, at least ``kappa**2 / (2 m)``.
    kappa : float, default=1.0
        Positive.

    Returns
    -------
    LinePair
        Slopes :math:`\pm\kappa/(2\lambda m)`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, ``n_records`` is even, or lambda is so small
        that a record leaves the margin.

    Notes
    -----
    While :math:`|w|\kappa\le1` every record is inside the margin, the risk is
    :math:`1-\frac wm\sum_iy_ix_i+\lambda w^2`, and its minimiser is
    :math:`w=\frac1{2\lambda m}\sum_iy_ix_i`. The distance :math:`\kappa/(\lambda m)` is the bound
    of Theorem 2 for the hinge loss.

    Examples
    --------
    >>> pair = hinge_pair(n_records=101, regularization=0.1)
    >>> round(pair.slope, 6), round(pair.other_slope, 6)
    (0.049505, -0.049505)
    """
    m, k = check_integer("n_records", n_records), check_positive("kappa", kappa)
    if m % 2 == 0:
        raise ValueError(f"n_records must be odd, got n_records={n_records!r}")
    data = balanced_hinge_pair(n_records=m, regularization=regularization, kappa=k)
    slope = k / (2.0 * regularization * m)
    X = data.points[:, 0]
    return LinePair(X, data.labels, X, data.other_labels, slope, -slope)


def close_hinge_pair(*, gap: float, regularization: float = 0.6) -> LinePair:
    r"""Two data sets of two records whose machines order 1 and -1 alike, one of them barely.

    Parameters
    ----------
    gap : float
        Number delta in (0, 1): {(1, +), (1, +)} against {(1, +), (1 - delta, -)}.
    regularization : float, default=0.6
        Parameter lambda, at least 1/2 (no record leaves the margin).

    Returns
    -------
    LinePair
        Slopes :math:`\frac1{2\lambda}` and :math:`\frac{\delta}{4\lambda}`: both positive.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> pair = close_hinge_pair(gap=0.1)
    >>> round(pair.slope, 6), round(pair.other_slope, 6)
    (0.833333, 0.041667)
    """
    d = check_interval("gap", gap, 0.0, 1.0)
    penalty = check_positive("regularization", regularization)
    if penalty < 0.5:
        raise ValueError(
            f"regularization must be at least 1/2, got regularization={regularization!r}"
        )
    other_points, other_labels = np.array([1.0, 1.0 - d]), np.array([1.0, -1.0])
    slopes = 0.5 / penalty, 0.25 * d / penalty
    return LinePair(np.ones(2), np.ones(2), other_points, other_labels, *slopes)


def ridge_pair(
    *, n_records: int, regularization: float, kappa: float = 1.0, label_bound: float = 1.0
) -> LinePair:
    r"""Two data sets for least squares: one record at kappa changes its label from M to -M.

    Parameters
    ----------
    n_records : int
        Number m of records, at least 1; all but the last are at 0, where they say nothing.
    regularization, kappa, label_bound : float
        Positive.

    Returns
    -------
    LinePair
        Slopes :math:`\pm\frac{\kappa M}{\lambda m+\kappa^2}`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> pair = ridge_pair(n_records=1000, regularization=1.0, kappa=0.3)
    >>> round(pair.distance, 6)
    0.0006
    """
    m, k = check_integer("n_records", n_records), check_positive("kappa", kappa)
    penalty = check_positive("regularization", regularization)
    M = check_positive("label_bound", label_bound)
    X, y = np.zeros(m), np.zeros(m)
    X[-1], y[-1] = k, M
    slope = k * M / (penalty * m + k * k)
    return LinePair(X, y, X, -y, slope, -slope)

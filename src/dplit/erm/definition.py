r"""Differential privacy of mechanisms that one can tabulate, and Definition 1 as it is printed.

A finite mechanism is a table of probabilities: one row per data set, one column per outcome. Then
every event can be looked at, and "private" is a finite computation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative

__all__ = [
    "dp_epsilon",
    "dp_epsilon_restricted",
    "mechanism_epsilon",
    "shift_ranges_meet",
    "total_variation",
]

_Array = NDArray[np.float64]
#: By how much a row of probabilities may miss the sum 1: rounding, not a fault of the table.
_SUM_TOLERANCE = 1e-9


def _law(name: str, value: ArrayLike) -> _Array:
    """Return a row of probabilities."""
    array = check_finite_array(name, value, ndim=1)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    law = array.astype(np.float64)
    if law.min() < 0.0 or abs(math.fsum(law) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(
            f"{name} must be nonnegative with sum 1, got least entry {law.min():g} and sum "
            f"{math.fsum(law):g}"
        )
    return law


def _two_laws(first: ArrayLike, second: ArrayLike) -> tuple[_Array, _Array]:
    p, q = _law("first", first), _law("second", second)
    if p.shape != q.shape:
        raise ValueError(
            f"first and second must have equally many outcomes, got {len(p)} and {len(q)}"
        )
    return p, q


def dp_epsilon(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over *all* events, in both directions.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        Probabilities of the same k outcomes on two neighbouring data sets.

    Returns
    -------
    float
        :math:`\max_O|\log(P(O)/Q(O))|`, which is inf if one data set can show an outcome that the
        other cannot.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a law, or the numbers of outcomes differ.

    Notes
    -----
    The ratio of two sums lies between the least and the largest ratio of their terms, so single
    outcomes decide; outcomes that neither data set shows do not count.

    References
    ----------
    Dwork, McSherry, Nissim and Smith, Calibrating noise to sensitivity, TCC 2006, Definition 1.

    Examples
    --------
    >>> round(dp_epsilon([0.75, 0.25], [0.25, 0.75]), 6) == round(math.log(3), 6)
    True
    >>> dp_epsilon([1.0, 0.0], [0.0, 1.0])
    inf
    """
    p, q = _two_laws(first, second)
    if bool(((p > 0) != (q > 0)).any()):
        return math.inf
    seen = p > 0
    return float(np.abs(np.log(p[seen]) - np.log(q[seen])).max())


def dp_epsilon_restricted(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over common outcomes only: Definition 1, literally.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        As in :func:`dp_epsilon`.

    Returns
    -------
    float
        The largest log ratio over the common outcomes; 0 if there are none.

    Raises
    ------
    TypeError, ValueError
        As in :func:`dp_epsilon`.

    Notes
    -----
    The printed definition asks for the inequality "for every set O in
    :math:`\mathrm{Range}(A(z_1))\cap\mathrm{Range}(A(z_2))`". Outcomes that only one data set can
    show, the ones that identify it, are left out. Read with Range as the common codomain, the
    printed definition is :func:`dp_epsilon`.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Definition 1.

    Examples
    --------
    >>> dp_epsilon_restricted([1.0, 0.0], [0.0, 1.0])
    0.0
    """
    p, q = _two_laws(first, second)
    common = (p > 0) & (q > 0)
    if not common.any():
        return 0.0
    return float(np.abs(np.log(p[common]) - np.log(q[common])).max())


def total_variation(first: ArrayLike, second: ArrayLike) -> float:
    r"""Largest difference of the probabilities of one event under two laws.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        As in :func:`dp_epsilon`.

    Returns
    -------
    float
        :math:`\frac12\sum_i|p_i-q_i|` in [0, 1]: the least delta of (0, delta)-privacy; with value
        1 no epsilon and no delta < 1 are possible.

    Raises
    ------
    TypeError, ValueError
        As in :func:`dp_epsilon`.

    Examples
    --------
    >>> total_variation([0.75, 0.25], [0.25, 0.75])
    0.5
    """
    p, q = _two_laws(first, second)
    return 0.5 * math.fsum(np.abs(p - q))


def mechanism_epsilon(
    table: ArrayLike, neighbours: Sequence[tuple[int, int]], *, restricted: bool = False
) -> float:
    """Smallest epsilon of a finite mechanism over a list of neighbouring data sets.

    Parameters
    ----------
    table : array_like of shape (n, k)
        Row i is the law of the outcome on data set i.
    neighbours : sequence of (int, int)
        Pairs of rows; each counts in both directions. At least one.
    restricted : bool, default=False
        False: over all events. True: Definition 1 read literally.

    Returns
    -------
    float
        Nonnegative, perhaps inf.

    Raises
    ------
    TypeError, ValueError
        If a row is no law, or a pair does not name two rows.

    Examples
    --------
    >>> publish = [[1.0, 0.0], [0.0, 1.0]]
    >>> mechanism_epsilon(publish, [(0, 1)]), mechanism_epsilon(publish, [(0, 1)], restricted=True)
    (inf, 0.0)
    """
    rows = check_finite_array("table", table, ndim=2)
    if len(neighbours) == 0:
        raise ValueError("neighbours must not be empty")
    loss = dp_epsilon_restricted if restricted else dp_epsilon
    worst = 0.0
    for pair in neighbours:
        left, right = (check_integer("neighbours", row, minimum=0) for row in pair)
        if max(left, right) >= len(rows):
            raise ValueError(f"neighbours must name rows below {len(rows)}, got {pair!r}")
        worst = max(worst, loss(rows[left], rows[right]))
    return worst


def shift_ranges_meet(values: ArrayLike, neighbour: ArrayLike, *, tol: float = 1e-12) -> bool:
    r"""Whether two functions released with a scalar shift can ever give the same output.

    Parameters
    ----------
    values, neighbour : array_like of shape (n,)
        :math:`f_z` and :math:`f_{\bar z}` on the same grid.
    tol : float, default=1e-12
        Nonnegative: differences that vary by at most this count as constant.

    Returns
    -------
    bool
        The range of :math:`f_z+b` is the line :math:`\{f_z+c:c\in R\}`. Two such lines are equal if
        :math:`f_z-f_{\bar z}` is constant, and disjoint otherwise. False is a proof (two points
        suffice); True says so for this grid alone.

    Raises
    ------
    TypeError, ValueError
        If the values are not finite, real and equally many, or ``tol`` is negative.

    Examples
    --------
    >>> shift_ranges_meet([0.0, 1.0], [0.5, 1.5]), shift_ranges_meet([0.0, 1.0], [1.0, 0.0])
    (True, False)
    """
    f = check_finite_array("values", values, ndim=1)
    g = check_finite_array("neighbour", neighbour, ndim=1)
    if f.dtype.kind == "c" or g.dtype.kind == "c" or f.shape != g.shape:
        raise ValueError(
            f"values and neighbour must be real and equally long, got shapes {f.shape}, {g.shape}"
        )
    return bool(np.ptp(f.astype(float) - g.astype(float)) <= check_nonnegative("tol", tol))

r"""Data-independent sensitivities of ridge coefficients: crude, and record by record.

Records are feature rows :math:`\phi_i` with :math:`\|\phi_i\|\le1` and labels :math:`|y_i|\le b`;
``c`` minimises :math:`\|\Phi c-y\|^2+\alpha\|c\|^2`. Every bound holds for **all** data sets of
that kind: no random-matrix event, no separation of the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from dplit._checks import Neighboring, check_choice, check_integer, check_positive

__all__ = [
    "Witness",
    "crude_sensitivity",
    "record_sensitivity",
    "removal_witness",
    "swap_witness",
]

#: Covers the rounding of a bound, and rows whose computed norm exceeds 1 by a few 1e-15.
_UPWARD = 1.0 + 1e-12


class Witness(NamedTuple):
    """Records on which ridge coefficients move far: neighbours differ in the last ones.

    ``features`` and ``labels`` hold one record per row. For a removal the last record is present or
    not; for a swap the data sets have all but the last, or all but the last but one.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]


def crude_sensitivity(*, alpha: float, label_norm: float) -> float:
    r"""Largest distance of any two ridge fits whose label vectors have norm at most ``label_norm``.

    Parameters
    ----------
    alpha : float
        Ridge penalty (scikit-learn's, not divided by the number of records), positive.
    label_norm : float
        Bound on :math:`\|y\|_2`, positive: ``b * sqrt(m)`` for m labels in [-b, b].

    Returns
    -------
    float
        ``label_norm / sqrt(alpha)``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    Notes
    -----
    Singular values of :math:`(\Phi^\top\Phi+\alpha I)^{-1}\Phi^\top` are
    :math:`s/(s^2+\alpha)\le1/(2\sqrt\alpha)`, so c lies in a ball of radius
    ``label_norm / (2 sqrt(alpha))``, whose diameter this is. It holds whatever changes between the
    data sets, even when y is divided by its own norm. One record with
    :math:`\|\phi\|^2=\alpha\le1` attains it; ``alpha = 1/16`` with ``label_norm = 1`` gives the
    paper's Delta = 4 as a guarantee.

    Examples
    --------
    >>> crude_sensitivity(alpha=1 / 16, label_norm=1.0)
    4.0
    """
    return check_positive("label_norm", label_norm) / math.sqrt(check_positive("alpha", alpha))


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls through zero once in [low, high] does; else an end."""
    if function(high) >= 0.0:
        return high
    if function(low) <= 0.0:
        return low
    return float(brentq(function, low, high, xtol=1e-14, rtol=1e-14))


def _worst_removal(alpha: float, m: int) -> tuple[float, float, float]:
    r"""Return the sensitivity to a removal for b = 1, its r^2 and the squared norm of the row.

    Off the first case, with r = t sqrt(alpha), rho = sqrt((m-1)/alpha), theta = alpha/(1+alpha),
    the logarithm of (1 + rho t/(1+t^2)) / (1 + theta t^2) has a derivative of the sign of
    ``rho (1-t^2)(1+theta t^2) - 2 theta t (1 + rho t + t^2)(1+t^2)``, which falls on [0, 1]: one
    maximum. An error e in t costs its value a share of order e^2, so that 1e-12 is in hand.
    """
    if alpha * (2 * m - 1) ** 2 <= m:
        return 0.5 * math.sqrt(m / alpha), alpha * (m - 1) / m, alpha * (2 * m - 1) ** 2 / m
    rho, theta = math.sqrt((m - 1) / alpha), alpha / (1.0 + alpha)

    def slope(t: float) -> float:
        t2 = t * t
        turn = (t + (1.0 + t2) / rho) * (1.0 + t2)
        return (1.0 - t2) * (1.0 + theta * t2) - 2.0 * theta * t * turn

    t = _falling_root(slope, 0.0, 1.0) if m > 1 else 0.0
    value = (1.0 + rho * t / (1.0 + t * t)) / (1.0 + theta * t * t) / (1.0 + alpha)
    return value, alpha * t * t, 1.0


def _worst_turn(alpha: float, m: int) -> float:
    r"""Return the third swap bound for b = 1, in k itself, so that nothing cancels.

    For alpha <= 1/5 it is at least its value at k = alpha, ``A sqrt((1-alpha)/alpha) >= 2 A``: the
    diameter serves. Else, with c = sqrt(1-k) and a = 1/A, the logarithm of
    ``sqrt(k)(1 + A c)/(alpha + k)`` has a derivative of the sign of
    ``1 - 2k/(alpha+k) - k/(c(a+c))``, which falls: one maximum, between alpha/(1+2 alpha), where
    it is for a = 0, and min(1, alpha), where it would be without the last term.
    """
    if alpha <= 0.2:
        return math.inf
    a = 2.0 * math.sqrt(alpha / m)

    def slope(k: float) -> float:
        c = math.sqrt(1.0 - k)
        return (alpha - k) / (alpha + k) * c * (a + c) - k

    k = _falling_root(slope, 0.5 * alpha / (1.0 + 2.0 * alpha), min(1.0, alpha))
    return 2.0 * math.sqrt(k) * (1.0 + math.sqrt(1.0 - k) / a) / (alpha + k)


def record_sensitivity(
    *,
    alpha: float,
    label_bound: float,
    n_records: int,
    neighboring: Neighboring = "replace_one",
) -> float:
    r"""Largest distance that ridge coefficients move when one record changes, for all data sets.

    Parameters
    ----------
    alpha : float
        Ridge penalty (scikit-learn's), positive.
    label_bound : float
        Labels lie in [-b, b]; positive.
    n_records : int
        **Public** number of records m. With "replace_one" it is the size of both data sets. With
        "add_remove" it must be a public cap on the size of the larger one: over all sizes the
        sensitivity is infinite (it grows like sqrt(m)).
    neighboring : {"replace_one", "add_remove"}, default="replace_one"

    Returns
    -------
    float
        With "add_remove" the exact supremum over rows of norm at most 1, attained for every m and
        alpha. With "replace_one" an upper bound; :func:`swap_witness` comes within 3 % of it for
        alpha >= 10 (0.2 % at m = 1000, alpha = 100) and within 22 % below. Increasing in
        ``n_records``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    **Removal.** Let :math:`H=\Phi^\top\Phi+\alpha I` belong to the other n = m - 1 records. The
    normal equations give :math:`c-c_-=(H+\phi\phi^\top)^{-1}\phi\,(y-\phi^\top c_-)`. With
    :math:`s=\phi^\top H^{-1}\phi` and :math:`q=\phi^\top H^{-2}\phi` the vector has norm
    :math:`\sqrt q/(1+s)`, and :math:`|\phi^\top c_-|\le b\sqrt n\,\|\Phi H^{-1}\phi\|
    =b\sqrt{n(s-\alpha q)}`. So the distance is at most b times

    .. math:: F(s,q)=\frac{\sqrt q\,(1+\sqrt{n(s-\alpha q)})}{1+s},\qquad \alpha q\le s\le\sqrt q .

    For fixed q, F increases in s up to :math:`s_*=\alpha q+(u-1)^2/n`,
    :math:`u=\sqrt{1+n(1+\alpha q)}`, where :math:`F=\sqrt q\,n/(2(u-1))`; in q this increases
    until u = m, that is q = m/alpha. This point is admissible iff
    :math:`\alpha\le m/(2m-1)^2`, and then the maximum is :math:`\tfrac12\sqrt{m/\alpha}`.
    Otherwise the maximum lies on the curve :math:`s=\sqrt q=1/(\alpha+r^2)`:

    .. math:: \max_{0\le r\le\sqrt\alpha}
        \frac{1}{1+\alpha+r^2}\Big(1+\frac{\sqrt{m-1}\,r}{\alpha+r^2}\Big).

    Both are attained by parallel rows (:func:`removal_witness`): n rows of squared norm
    :math:`r^2/n`, where the maximiser has :math:`r^2\le\min(\alpha,n)`. The maximum is below
    :math:`\frac1{1+\alpha}(1+\frac{\sqrt{m-1}}{2\sqrt\alpha})` for alpha >= 1; for
    :math:`1\ll\alpha\ll m` it is :math:`0.325\sqrt m\,\alpha^{-3/2}`.

    **Swap.** The least of twice the removal (triangle inequality through the common records), the
    diameter :math:`2A=b\sqrt{m/\alpha}`, and

    .. math:: \max_{0\le k\le1}\frac{2\sqrt k\,(b+A\sqrt{1-k})}{\alpha+k}.

    For the last one let H belong to the common records, :math:`v=c-c'` and :math:`a=(c+c')/2`, so
    that :math:`\|a\|\le A`. The normal equations give
    :math:`(H+\tfrac12\phi\phi^\top+\tfrac12\phi'\phi'^\top)v
    =\phi(y-\phi^\top a)-\phi'(y'-\phi'^\top a)`. Take the inner product with v, and write
    :math:`\xi=\phi^\top v`, :math:`\xi'=\phi'^\top v`:

    .. math:: \alpha\|v\|^2+\tfrac12(\xi^2+\xi'^2)
        \le b(|\xi|+|\xi'|)+A\,\|\xi\phi-\xi'\phi'\|.

    Rows may be taken of norm 1 at an angle theta (extend shorter ones by new axes on which v is
    zero: the left side stays, the right side grows). Then
    :math:`Q=\|\xi\phi-\xi'\phi'\|^2\le\sin^2\theta\,\|v\|^2`, by the projection of v on the two
    rows. For given :math:`\xi^2+\xi'^2` and Q the best case is :math:`\xi'=-\xi`; with
    :math:`k=(1-\cos\theta)/2` it has :math:`\xi^2\le k\|v\|^2`, :math:`Q=4\xi^2(1-k)` and
    :math:`\alpha\|v\|^2+\xi^2\le2|\xi|(b+A\sqrt{1-k})`, which gives the maximum over k.

    A data set with fewer records is one with zero rows, so all bounds increase in m. Each maximum
    is found where a falling function of one variable is zero, written so that nothing cancels, and
    rounded up by 1e-12: no penalty is too small or too large for it. Rows of norm r instead of 1
    amount to a penalty ``alpha / r^2`` and a factor 1/r, and no bound falls faster than
    ``alpha^-2``; so that margin also covers rows that rounding made longer than 1 (by under 1e-13).

    References
    ----------
    The repair is ours; compare Liao, Needell, Schaeffer and Xue, Differentially private random
    feature model, manuscript of September 9, 2025, Lemma 9.

    Examples
    --------
    >>> round(record_sensitivity(alpha=100.0, label_bound=1.0, n_records=1000), 4)
    0.031
    >>> round(record_sensitivity(alpha=0.25, label_bound=1.0, n_records=1), 6)
    2.0
    """
    penalty = check_positive("alpha", alpha)
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    check_choice("neighboring", neighboring, ("replace_one", "add_remove"))
    removal, _, _ = _worst_removal(penalty, m)
    if neighboring == "add_remove":
        return b * removal * _UPWARD
    return b * min(2.0 * removal, math.sqrt(m / penalty), _worst_turn(penalty, m)) * _UPWARD


def removal_witness(*, alpha: float, label_bound: float, n_records: int) -> Witness:
    """Parallel records whose last one moves the ridge fit most when it is removed.

    Parameters
    ----------
    alpha, label_bound, n_records
        As in :func:`record_sensitivity`.

    Returns
    -------
    Witness
        One feature; ``n_records`` rows of norm at most 1. It attains the sensitivity. With an odd
        number of records every row can be given norm 1 by a second and third feature whose
        contributions cancel in pairs.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> removal_witness(alpha=4.0, label_bound=1.0, n_records=1).features
    array([[-1.]])
    """
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    _, r2, row2 = _worst_removal(check_positive("alpha", alpha), m)
    rows = np.full(m, math.sqrt(r2 / max(m - 1, 1)))
    rows[-1] = -math.sqrt(row2)
    return Witness(rows[:, None], np.full(m, b))


def swap_witness(*, alpha: float, label_bound: float, n_records: int) -> Witness:
    r"""Records whose swap moves the ridge fit nearly as far as the bound allows.

    The common records point along one axis and have label b; the swapped ones are mirror images
    :math:`(\pm p, -q)` with label b, so that the difference lies along the axis without data.

    Parameters
    ----------
    alpha, label_bound, n_records
        As in :func:`record_sensitivity`.

    Returns
    -------
    Witness
        Two features; ``n_records + 1`` rows of norm at most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With common rows of squared norm r^2 in all and h = alpha + r^2 the distance is
    ``(2 p b/alpha) (1 + sqrt(m-1) q r/h) / (1 + p^2/alpha + q^2/h)``.

    Examples
    --------
    >>> swap_witness(alpha=1.0, label_bound=1.0, n_records=1).features.round(6) + 0.0
    array([[ 1.,  0.],
           [-1.,  0.]])
    """
    penalty = check_positive("alpha", alpha)
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    n = m - 1

    def rows_of(parameters: NDArray[np.float64]) -> tuple[float, float, float]:
        length = math.sin(parameters[0])  # every real vector gives admissible rows
        p, q = length * math.cos(parameters[1]), length * math.sin(parameters[1])
        return p, abs(q), math.sqrt(n) * abs(math.sin(parameters[2]))

    def shortfall(parameters: NDArray[np.float64]) -> float:
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
    return Witness(features, np.full(m + 1, b))

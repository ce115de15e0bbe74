"""How far one record moves the interpolator: exact distances, Lemma 9, and where it fails.

Everything is computed from Gram matrices (m x m), not from refitted coefficient vectors: one
inverse gives all m removals. Complex features are unnormalised as in the paper unless said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize

from dplit._checks import (
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
)
from dplit.mechanisms import (
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from dplit.random_features.data import f1
from dplit.random_features.interpolation import (
    label_vector,
    min_norm_dual,
    min_norm_fit,
    square_matrix,
)

__all__ = [
    "NearDuplicateProfile",
    "NeighbouringPair",
    "PairMeasurement",
    "Witness",
    "crude_sensitivity",
    "forced_label_pair",
    "interpolator_lower_bound",
    "label_sensitivities",
    "lemma9_bound",
    "measure_pair",
    "near_duplicate_pair",
    "near_duplicate_profile",
    "near_duplicate_threshold",
    "pair_sensitivity",
    "record_sensitivity",
    "removal_sensitivities",
    "removal_witness",
    "swap_witness",
]


# Data-independent sensitivities of ridge coefficients: crude, and record by record.
#
# Records are feature rows :math:`\phi_i` with :math:`\|\phi_i\|\le1` and labels :math:`|y_i|\le
# b`;
# ``c`` minimises :math:`\|\Phi c-y\|^2+\alpha\|c\|^2`. Every bound holds for **all** data sets of
# that kind: no random-matrix event, no separation of the records.


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

    Examples
    --------
    >>> round(record_sensitivity(alpha=100.0, label_bound=1.0, n_records=1000), 4)
    0.031
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


class NearDuplicateProfile(NamedTuple):
    """What Algorithm 1 guarantees for two records at a given distance (see the function)."""

    mu: NDArray[np.float64]
    delta: NDArray[np.float64]


def pair_sensitivity(
    gram: ArrayLike, y: ArrayLike, gram_other: ArrayLike, y_other: ArrayLike, cross: ArrayLike
) -> float:
    """Distance ``||c - c'||_2`` of two min-norm interpolators, from Gram matrices only.

    Notes
    -----
    With dual vectors a and a', ``||c - c'||^2 = a* G a + a'* G' a' - 2 Re(a* A A'* a')``.

    Examples
    --------
    >>> pair_sensitivity([[1.0]], [1.0], [[1.0]], [-1.0], [[1.0]])
    2.0
    """
    G, H = square_matrix(gram), square_matrix(gram_other)
    C = check_finite_array("cross", cross, ndim=2)
    if C.shape != (len(G), len(H)):
        raise ValueError(f"cross must have shape {(len(G), len(H))}, got cross of shape {C.shape}")
    a, b = min_norm_dual(G, y), min_norm_dual(H, y_other)
    squares = np.vdot(a, G @ a).real + np.vdot(b, H @ b).real - 2.0 * np.vdot(a, C @ b).real
    return math.sqrt(max(0.0, float(squares)))


def _inverse(gram: ArrayLike) -> NDArray[Any]:
    G = square_matrix(gram)
    condition = float(np.linalg.cond(G))
    if not condition < 1.0 / (max(len(G), 1000) * np.finfo(float).eps):
        raise ValueError(
            "gram must be invertible to working precision (drop repeated records first), "
            f"got a condition number of {condition:.3g}"
        )
    return np.asarray(np.linalg.inv(G))


def removal_sensitivities(gram: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Distances ``||c - c_{-j}||_2`` that the interpolator moves when record j is removed.

    Notes
    -----
    ``c_{-j}`` is the projection of c on the span of the other rows, so ``c - c_{-j}`` is parallel
    to ``u = A* G^{-1} e_j``, which is orthogonal to them; ``<u, c> = a_j`` and
    ``||u||^2 = (G^{-1})_jj``.

    Examples
    --------
    >>> removal_sensitivities([[4.0, 0.0], [0.0, 1.0]], [2.0, 3.0])
    array([1., 3.])
    """
    inverse = _inverse(gram)
    labels = label_vector(y, len(inverse))
    return np.asarray(np.abs(inverse @ labels) / np.sqrt(inverse.diagonal().real))


def label_sensitivities(gram: ArrayLike) -> NDArray[np.float64]:
    """Distances that the interpolator moves when label j changes by one: ``sqrt((G^{-1})_jj)``.

    Examples
    --------
    >>> label_sensitivities([[4.0, 0.0], [0.0, 1.0]])
    array([0.5, 1. ])
    """
    return np.asarray(np.sqrt(_inverse(gram).diagonal().real))


def lemma9_bound(*, n_components: int, eta: float, normalized: bool = False) -> float:
    """Lemma 9's claimed sensitivity of the interpolator, ``2 / sqrt(N (1 - 2 eta))``.

    Examples
    --------
    >>> lemma9_bound(n_components=100, eta=0.375)
    0.4
    """
    n = 1 if normalized else check_integer("n_components", n_components, minimum=1)
    return 2.0 / math.sqrt(n * (1.0 - 2.0 * check_interval("eta", eta, 0.0, 0.5)))


def interpolator_lower_bound(label_change: float, row_norm: float) -> float:
    """Smallest distance that any interpolator moves when one label changes.

    Examples
    --------
    >>> interpolator_lower_bound(2.0, 1.0)
    2.0
    """
    return check_positive("label_change", label_change) / check_positive("row_norm", row_norm)


def near_duplicate_profile(
    scaled_distance: ArrayLike, *, epsilon: float, delta: float, eta: float
) -> NearDuplicateProfile:
    """What Algorithm 1 guarantees for two records at a distance h with opposite labels.

    The data set is ``(x_1, 1/sqrt 2), (x_2, -1/sqrt 2)`` with ``||x_1 - x_2|| = h``; its neighbour
    has a distant point instead of x_2. The noise is put on real and imaginary parts.

    Notes
    -----
    With Gram matrix ``N [[1, k], [k, 1]]`` (many features) the distance is exactly
    ``1/sqrt(N (1 - k))``, so ``mu = epsilon sqrt((1-2 eta)/(8 ln(1.25/delta)(1-k)))`` for every N;
    it tends to infinity as h tends to 0.

    Examples
    --------
    >>> near_duplicate_profile(0.037, epsilon=1.0, delta=1e-5, eta=0.375).delta.round(3)
    np.float64(0.5)
    """
    distance = check_finite_array("scaled_distance", scaled_distance).astype(float)
    if not (distance > 0).all():
        raise ValueError(f"scaled_distance must be positive, got {distance.min()}")
    sigma = classical_gaussian_sigma(
        epsilon=epsilon, delta=delta, sensitivity=lemma9_bound(n_components=1, eta=eta)
    )
    mu = 1.0 / (sigma * np.sqrt(-np.expm1(-(distance**2) / 2.0)))
    profile = gaussian_delta(epsilon=epsilon, sigma=1.0 / mu)
    return NearDuplicateProfile(mu=np.asarray(mu), delta=np.asarray(profile))


def near_duplicate_threshold(
    target_delta: float, *, epsilon: float, delta: float, eta: float
) -> float:
    """Distance ``sigma_omega * h`` below which Algorithm 1's delta exceeds a target.

    Examples
    --------
    >>> round(near_duplicate_threshold(1e-5, epsilon=1.0, delta=1e-5, eta=0.375), 4)
    0.2748
    """
    noise = classical_gaussian_sigma(
        epsilon=epsilon, delta=delta, sensitivity=lemma9_bound(n_components=1, eta=eta)
    )
    needed = gaussian_sigma(epsilon=epsilon, delta=target_delta)  # 1/mu at the target
    gap = (needed / noise) ** 2  # the value of 1 - k at which mu is reached
    return math.inf if gap >= 1.0 else math.sqrt(-2.0 * math.log1p(-gap))


# Neighbouring data sets on which Lemma 9 fails, and what Algorithm 1 guarantees on them.


@dataclass(frozen=True)
class NeighbouringPair:
    """Two data sets that differ in one record, with ``||y|| <= 1`` on both sides.

    Attributes
    ----------
    X, X_other : ndarray of shape (m, d) and (m', d)
    y, y_other : ndarray of shape (m,) and (m',)
    """

    X: NDArray[Any]
    y: NDArray[Any]
    X_other: NDArray[Any]
    y_other: NDArray[Any]


@dataclass(frozen=True)
class PairMeasurement:
    """How well Algorithm 1 hides the difference of one pair.

    Attributes
    ----------
    distance, bound : float
        ``||c - c'||`` and Lemma 9's bound on it.
    mu : float
        ``distance / sigma``: the pair is exactly mu-Gaussian-private.
    delta, epsilon : float
        Smallest delta at the nominal epsilon, and smallest epsilon at the nominal delta.
    """

    distance: float
    bound: float
    mu: float
    delta: float
    epsilon: float


def near_duplicate_pair(
    h: float, *, n_features: int = 1, others: ArrayLike | None = None, far: float = 100.0
) -> NeighbouringPair:
    """Two points at distance h with labels ``1/sqrt 2`` and ``-1/sqrt 2``; the second moves away.

    Examples
    --------
    >>> near_duplicate_pair(0.5).X.ravel()
    array([0. , 0.5])
    """
    check_positive("h", h)
    check_positive("far", far)
    if others is None:
        rest = np.empty((0, check_integer("n_features", n_features, minimum=1)))
    else:
        rest = check_finite_array("others", others, ndim=2).astype(float)
    y = np.concatenate([[1.0, -1.0], np.zeros(len(rest))]) / np.sqrt(2.0)
    pairs = np.zeros((2, 2, rest.shape[1]))
    pairs[0, 1, 0], pairs[1, 1, 0] = h, far
    data, neighbour = (np.vstack([pair, rest]) for pair in pairs)
    return NeighbouringPair(X=data, y=y, X_other=neighbour, y_other=y.copy())


def forced_label_pair(h: float, *, n_features: int = 5) -> NeighbouringPair:
    """Points ``-h e_1, 0, h e_1`` with the labels of the paper's own f1; the third is removed.

    The labels ``f1(x)/2 = sqrt(1 + ||x||)/2`` come from one continuous function, so nobody chose
    opposite labels for near-duplicates; the kink of f1 at 0 is what the interpolator pays for.

    Examples
    --------
    >>> forced_label_pair(0.01).y.round(4)
    array([0.5025, 0.5   , 0.5025])
    """
    if check_positive("h", h) > 0.5:
        raise ValueError(f"h must be at most 0.5, got h={h!r}")
    X = np.zeros((3, check_integer("n_features", n_features, minimum=1)))
    X[:, 0] = [-h, 0.0, h]
    y = f1(X) / 2.0
    return NeighbouringPair(X=X, y=y, X_other=X[:2], y_other=y[:2])


def measure_pair(
    pair: NeighbouringPair,
    feature_map: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    epsilon: float,
    delta: float,
    eta: float,
    normalized: bool = False,
) -> PairMeasurement:
    """Exact privacy of Algorithm 1 on one pair of neighbours, with noise on both parts.

    Notes
    -----
    The fits go through the pseudo-inverse of the features: for points at distance 1e-4 the Gram
    matrix has lost its digits, the features have not.

    Examples
    --------
    >>> from functools import partial
    >>> from dplit.features import complex_features, random_frequencies
    >>> w = random_frequencies(1, 1000, gamma=20.0, rng=np.random.default_rng(0))
    >>> features = partial(complex_features, frequencies=w, normalize=False)
    >>> found = measure_pair(near_duplicate_pair(0.01), features, epsilon=1.0, delta=1e-5, eta=3/8)
    >>> found.distance > 5 * found.bound
    True
    """
    A, B = feature_map(pair.X), feature_map(pair.X_other)
    c = min_norm_fit(A, pair.y, method="pinv")
    c_other = min_norm_fit(B, pair.y_other, method="pinv")
    distance = float(np.linalg.norm(c - c_other))
    bound = lemma9_bound(n_components=A.shape[1], eta=eta, normalized=normalized)
    sigma = classical_gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=bound)
    return PairMeasurement(
        distance=distance,
        bound=bound,
        mu=distance / sigma,
        delta=float(gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=distance)),
        epsilon=float(gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=distance)),
    )

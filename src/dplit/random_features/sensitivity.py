"""How far one record moves a fit: ridge for all data, the interpolator exactly, and Lemma 9.

Ridge, ``||Phi c - y||^2 + alpha ||c||^2``: bounds hold for **all** rows of norm at most 1 and
labels in [-b, b] (proofs stand in the chapter). Complex features are unnormalised as in the paper.
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
    Array,
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.mechanisms import (
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from dplit.random_features.interpolation import _label_vector, _square_matrix, min_norm_fit

#: Covers the rounding of a bound, and rows whose computed norm exceeds 1 by a few 1e-15.
_UPWARD = 1.0 + 1e-12


class _Witness(NamedTuple):
    """Records on which ridge coefficients move far. For a removal the last one is present or not;
    for a swap the data sets have all but the last, or all but the last but one.
    """

    features: Array
    labels: Array


def crude_sensitivity(*, alpha: float, label_norm: float) -> float:
    """Largest distance of two ridge fits whose label vectors have norm at most ``label_norm``.

    ``label_norm / sqrt(alpha)``, whatever changes between the data sets; ``label_norm`` is
    ``b sqrt(m)`` for m labels in [-b, b]. One record with ``||phi||^2 = alpha <= 1`` attains it.
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
    """Return the sensitivity to a removal for b = 1, its r^2 and the squared norm of the row. The
    maximum over r = t sqrt(alpha); that its slope falls is proved in the chapter.
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
    """Third swap bound for b = 1; infinite for alpha <= 1/5, where the diameter is smaller."""
    if alpha <= 0.2:
        return math.inf
    a = 2.0 * math.sqrt(alpha / m)

    def slope(k: float) -> float:
        c = math.sqrt(1.0 - k)
        return (alpha - k) / (alpha + k) * c * (a + c) - k

    k = _falling_root(slope, 0.5 * alpha / (1.0 + 2.0 * alpha), min(1.0, alpha))
    return 2.0 * math.sqrt(k) * (1.0 + math.sqrt(1.0 - k) / a) / (alpha + k)


def record_sensitivity(
    *, alpha: float, label_bound: float, n_records: int, neighboring: Neighboring = "replace_one"
) -> float:
    """Largest distance that ridge coefficients move when one record changes, for all data sets.

    Rows of norm at most 1, labels in [-b, b]. ``n_records`` is **public**: the size m of both data
    sets, or with "add_remove" a cap on the larger one (over all sizes the sensitivity is infinite).
    "add_remove" is exact; "replace_one" a bound, of which :func:`swap_witness` comes within 3 % for
    alpha >= 10 (0.2 % at m = 1000, alpha = 100) and within 22 % below. Increasing in m.

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


def removal_witness(*, alpha: float, label_bound: float, n_records: int) -> _Witness:
    """Parallel records whose last one moves the ridge fit most when removed: it attains the bound.

    One feature, m rows of norm at most 1. (With odd m every row can be given norm 1 by a second
    and third feature whose contributions cancel in pairs.)
    """
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    _, r2, row2 = _worst_removal(check_positive("alpha", alpha), m)
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


def _inverse(gram: ArrayLike) -> NDArray[Any]:
    G = _square_matrix(gram)
    condition = float(np.linalg.cond(G))
    if not condition < 1.0 / (max(len(G), 1000) * np.finfo(float).eps):
        raise ValueError(
            "gram must be invertible to working precision (drop repeated records first), "
            f"got a condition number of {condition:.3g}"
        )
    return np.asarray(np.linalg.inv(G))


def removal_sensitivities(gram: ArrayLike, y: ArrayLike) -> Array:
    """Distances ``||c - c_{-j}||_2`` that the interpolator moves when record j is removed.

    ``|a_j| / sqrt((G^{-1})_jj)`` with ``a = G^{-1} y``: one inverse instead of m fits.
    """
    inverse = _inverse(gram)
    labels = _label_vector(y, len(inverse))
    return np.asarray(np.abs(inverse @ labels) / np.sqrt(inverse.diagonal().real))


def label_sensitivities(gram: ArrayLike) -> Array:
    """Distances that the interpolator moves when label j changes by one: ``sqrt((G^{-1})_jj)``."""
    return np.asarray(np.sqrt(_inverse(gram).diagonal().real))


def lemma9_bound(*, n_components: int, eta: float) -> float:
    """Lemma 9's claimed sensitivity of the interpolator, ``2 / sqrt(N (1 - 2 eta))``.

    For features of norm sqrt(N); of norm 1, it is that of N = 1. It is true for pairs with
    ``||y|| <= 1`` whose Gram matrices both have smallest eigenvalue at least ``N (1 - 2 eta)``, and
    **not** a sensitivity, since other pairs exist.

    >>> lemma9_bound(n_components=100, eta=0.375)
    0.4
    """
    n = check_integer("n_components", n_components, minimum=1)
    return 2.0 / math.sqrt(n * (1.0 - 2.0 * check_interval("eta", eta, 0.0, 0.5)))


def interpolator_lower_bound(label_change: float, row_norm: float) -> float:
    """Smallest distance that any interpolator moves when one label changes: change / row norm."""
    return check_positive("label_change", label_change) / check_positive("row_norm", row_norm)


# Near-duplicates with opposite labels, on which Lemma 9 fails, and what Algorithm 1 gives there.


class _NearDuplicateProfile(NamedTuple):
    """``mu`` = ||c - c'|| / sigma and the smallest ``delta`` of a pair, by distance."""

    mu: Array
    delta: Array


def _unit_noise(epsilon: float, delta: float, eta: float) -> float:
    """Return the standard deviation of Algorithm 1's noise times sqrt(N)."""
    bound = lemma9_bound(n_components=1, eta=eta)
    return float(classical_gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=bound))


def near_duplicate_profile(
    scaled_distance: ArrayLike, *, epsilon: float, delta: float, eta: float
) -> _NearDuplicateProfile:
    """What Algorithm 1 guarantees for two records at a distance h with opposite labels.

    The data are ``(x_1, 1/sqrt 2), (x_2, -1/sqrt 2)``, the neighbour has a distant point instead of
    x_2, noise is on both parts, features are many: ``||c - c'|| = 1/sqrt(N (1 - k))`` and
    ``mu = epsilon sqrt((1 - 2 eta) / (8 ln(1.25/delta) (1 - k)))`` for every N, with the kernel
    ``k = exp(-scaled_distance^2 / 2)``, ``scaled_distance = sigma_omega h``.

    >>> near_duplicate_profile(0.037, epsilon=1.0, delta=1e-5, eta=0.375).delta.round(3)
    np.float64(0.5)
    """
    distance = check_real_array("scaled_distance", scaled_distance)
    if not (distance > 0).all():
        raise ValueError(f"scaled_distance must be positive, got {distance.min()}")
    sigma = _unit_noise(epsilon, delta, eta)
    mu = 1.0 / (sigma * np.sqrt(-np.expm1(-(distance**2) / 2.0)))
    profile = gaussian_delta(epsilon=epsilon, sigma=1.0 / mu)
    return _NearDuplicateProfile(mu=np.asarray(mu), delta=np.asarray(profile))


def near_duplicate_threshold(
    target_delta: float, *, epsilon: float, delta: float, eta: float
) -> float:
    """Distance ``sigma_omega * h`` below which Algorithm 1's delta exceeds a target.

    The inverse of :func:`near_duplicate_profile`; infinite where any two records exceed it.

    >>> round(near_duplicate_threshold(1e-5, epsilon=1.0, delta=1e-5, eta=0.375), 4)
    0.2748
    """
    target = check_probability("target_delta", target_delta)
    needed = gaussian_sigma(epsilon=epsilon, delta=target)  # 1/mu at the target
    gap = (needed / _unit_noise(epsilon, delta, eta)) ** 2  # the 1 - k at which mu is reached
    return math.inf if gap >= 1.0 else math.sqrt(-2.0 * math.log1p(-gap))


@dataclass(frozen=True)
class _NeighbouringPair:
    """Two data sets, X (m, d), that differ in one record, with ``||y|| <= 1`` on both sides."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_other: NDArray[Any]
    y_other: NDArray[Any]


@dataclass(frozen=True)
class _PairMeasurement:
    """How well Algorithm 1 hides the difference of one pair, which is exactly mu-Gaussian-private.

    ``delta`` is the smallest at the nominal epsilon, ``epsilon`` at the nominal delta.
    """

    distance: float
    bound: float
    mu: float
    delta: float
    epsilon: float


def near_duplicate_pair(h: float) -> _NeighbouringPair:
    """Two points at distance h with labels ``1/sqrt 2``, ``-1/sqrt 2``; the second moves away."""
    y, near = np.array([1.0, -1.0]) / np.sqrt(2.0), check_positive("h", h)
    data, neighbour = np.array([[0.0], [near]]), np.array([[0.0], [100.0]])
    return _NeighbouringPair(X=data, y=y, X_other=neighbour, y_other=y.copy())


def _f1(X: ArrayLike) -> Array:
    """First test function, ``sqrt(1 + ||x||_2)``: unbounded, with a kink at 0."""
    return np.asarray(np.sqrt(1.0 + np.linalg.norm(check_finite_array("X", X, ndim=2), axis=1)))


def forced_label_pair(h: float) -> _NeighbouringPair:
    """Points ``-h e_1, 0, h e_1`` of R^5 with labels from the paper's own f1; the third is removed.

    The labels ``f1(x)/2 = sqrt(1 + ||x||)/2`` come from one continuous function, so nobody chose
    opposite labels for near-duplicates; the kink of f1 at 0 is what the interpolator pays for.
    """
    if check_positive("h", h) > 0.5:
        raise ValueError(f"h must be at most 0.5, got h={h!r}")
    X = np.zeros((3, 5))
    X[:, 0] = [-h, 0.0, h]
    y = _f1(X) / 2.0
    return _NeighbouringPair(X=X, y=y, X_other=X[:2], y_other=y[:2])


def measure_pair(
    pair: _NeighbouringPair, feature_map: Callable[[NDArray[Any]], NDArray[Any]], *,
    epsilon: float, delta: float, eta: float,
) -> _PairMeasurement:  # fmt: skip
    """Exact privacy of Algorithm 1 on one pair of neighbours, with noise on both parts.

    ``feature_map`` takes inputs (n, d) to features (n, N). The fits go through the pseudo-inverse:
    for points at distance 1e-4 the Gram matrix has lost its digits, the features have not.
    """
    A, B = feature_map(pair.X), feature_map(pair.X_other)
    c = min_norm_fit(A, pair.y, method="pinv")
    c_other = min_norm_fit(B, pair.y_other, method="pinv")
    distance = float(np.linalg.norm(c - c_other))
    bound = lemma9_bound(n_components=A.shape[1], eta=eta)
    sigma = float(classical_gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=bound))
    return _PairMeasurement(
        distance=distance,
        bound=bound,
        mu=distance / sigma,
        delta=float(gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=distance)),
        epsilon=float(gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=distance)),
    )

"""How far one record moves the interpolator: exactly, by Lemma 9, and near duplicates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.mechanisms import classical_gaussian_sigma, gaussian_delta, gaussian_sigma
from dplit.papers.random_features.interpolation import _label_vector, _square_matrix


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

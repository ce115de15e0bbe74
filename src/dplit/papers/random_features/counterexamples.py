"""Near-duplicates with opposite labels, on which Lemma 9 fails, and what Algorithm 1 gives
there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_finite_array, check_positive
from dplit.mechanisms import classical_gaussian_sigma, gaussian_delta, gaussian_epsilon
from dplit.papers.random_features.interpolation import min_norm_fit
from dplit.papers.random_features.sensitivity import lemma9_bound


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
    pair: _NeighbouringPair,
    feature_map: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    epsilon: float,
    delta: float,
    eta: float,
) -> _PairMeasurement:
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

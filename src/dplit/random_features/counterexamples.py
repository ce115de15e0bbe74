"""Neighbouring data sets on which Lemma 9 fails, and what Algorithm 1 guarantees on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.mechanisms import (
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
)
from dplit.random_features.interpolation import min_norm_fit
from dplit.random_features.sensitivity import lemma9_bound
from dplit.random_features.synthetic import f1

__all__ = [
    "NeighbouringPair",
    "PairMeasurement",
    "forced_label_pair",
    "measure_pair",
    "near_duplicate_pair",
]

_Array = NDArray[Any]


@dataclass(frozen=True)
class NeighbouringPair:
    """Two data sets that differ in one record, with ``||y|| <= 1`` on both sides.

    Attributes
    ----------
    X, X_other : ndarray of shape (m, d) and (m', d)
    y, y_other : ndarray of shape (m,) and (m',)
    """

    X: _Array
    y: _Array
    X_other: _Array
    y_other: _Array


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

    Parameters
    ----------
    h : float
        Distance of the near-duplicates, positive.
    n_features : int, default=1
        Input dimension d; ignored when ``others`` is given.
    others : array_like of shape (k, d), optional
        Further records, with label 0, common to both data sets.
    far : float, default=100.0
        Coordinate of the replaced point in the neighbour, positive.

    Returns
    -------
    NeighbouringPair
        With ``2 + k`` records on both sides and ``||y|| = 1``: a replaced record.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

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

    Parameters
    ----------
    h : float
        Spacing, in (0, 1/2] so that ``||y|| <= 1``.
    n_features : int, default=5
        Input dimension d.

    Returns
    -------
    NeighbouringPair
        Three records against two.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

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
    feature_map: Callable[[_Array], _Array],
    *,
    epsilon: float,
    delta: float,
    eta: float,
    normalized: bool = False,
) -> PairMeasurement:
    """Exact privacy of Algorithm 1 on one pair of neighbours, with noise on both parts.

    Parameters
    ----------
    pair : NeighbouringPair
    feature_map : callable
        Maps inputs (n, d) to features (n, N), real or complex.
    epsilon, delta : float
        Nominal budget of Algorithm 1.
    eta : float
        In (0, 1/2).
    normalized : bool, default=False
        True when the features have rows of norm 1 instead of sqrt(N).

    Returns
    -------
    PairMeasurement

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range or a data set cannot be interpolated.

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

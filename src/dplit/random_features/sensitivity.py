"""How far one record moves the interpolator: exact distances, Lemma 9, and where it fails.

Everything is computed from Gram matrices (m x m), not from refitted coefficient vectors: one
inverse gives all m removals. Complex features are unnormalised as in the paper unless said.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_interval, check_positive
from dplit.mechanisms import classical_gaussian_sigma, gaussian_delta, gaussian_sigma
from dplit.random_features._matrices import label_vector, square_matrix
from dplit.random_features.interpolation import min_norm_dual

__all__ = [
    "NearDuplicateProfile",
    "interpolator_lower_bound",
    "label_sensitivities",
    "lemma9_bound",
    "near_duplicate_profile",
    "near_duplicate_threshold",
    "pair_sensitivity",
    "removal_sensitivities",
]

_Array = NDArray[Any]


class NearDuplicateProfile(NamedTuple):
    """What Algorithm 1 guarantees for two records at a given distance (see the function)."""

    mu: NDArray[np.float64]
    delta: NDArray[np.float64]


def pair_sensitivity(
    gram: ArrayLike, y: ArrayLike, gram_other: ArrayLike, y_other: ArrayLike, cross: ArrayLike
) -> float:
    """Distance ``||c - c'||_2`` of two min-norm interpolators, from Gram matrices only.

    Parameters
    ----------
    gram, gram_other : array_like of shape (m, m) and (m', m')
        Gram matrices ``A A*`` and ``A' A'*`` of the two data sets.
    y, y_other : array_like of shape (m,) and (m',)
        Their labels.
    cross : array_like of shape (m, m')
        ``A A'*``.

    Returns
    -------
    float
        Accurate to about 1e-8 of ``||c||`` (a square root of a difference of squares).

    Raises
    ------
    TypeError, ValueError
        If shapes disagree, entries are not finite or a data set cannot be interpolated.

    Notes
    -----
    With dual vectors a and a', ``||c - c'||^2 = a* G a + a'* G' a' - 2 Re(a* A A'* a')``.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, Definition 2: the sensitivity is the maximum over all neighbouring pairs.

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


def _inverse(gram: ArrayLike) -> _Array:
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

    Parameters
    ----------
    gram : array_like of shape (m, m)
        Invertible Gram matrix ``A A*``.
    y : array_like of shape (m,)
        Labels.

    Returns
    -------
    ndarray of shape (m,)
        ``|a_j| / sqrt((G^{-1})_jj)`` with ``a = G^{-1} y``: one inverse instead of m fits.

    Raises
    ------
    TypeError, ValueError
        If shapes disagree, entries are not finite or ``gram`` is singular.

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

    Parameters
    ----------
    gram : array_like of shape (m, m)
        Invertible Gram matrix ``A A*``.

    Returns
    -------
    ndarray of shape (m,)
        Never below ``1 / ||A_j||``, see :func:`interpolator_lower_bound`.

    Raises
    ------
    TypeError, ValueError
        If ``gram`` is not a finite square matrix or is singular.

    Examples
    --------
    >>> label_sensitivities([[4.0, 0.0], [0.0, 1.0]])
    array([0.5, 1. ])
    """
    return np.asarray(np.sqrt(_inverse(gram).diagonal().real))


def lemma9_bound(*, n_components: int, eta: float, normalized: bool = False) -> float:
    """Lemma 9's claimed sensitivity of the interpolator, ``2 / sqrt(N (1 - 2 eta))``.

    Parameters
    ----------
    n_components : int
        Number N of features.
    eta : float
        Half the allowed deviation of the eigenvalues of ``A A*/N`` from 1, in (0, 1/2).
    normalized : bool, default=False
        With True the features have norm 1 instead of sqrt(N) and the bound is
        ``2 / sqrt(1 - 2 eta)``: it does not decrease with N.

    Returns
    -------
    float
        True for pairs of data sets with ``||y|| <= 1`` whose Gram matrices both have smallest
        eigenvalue at least ``N (1 - 2 eta)``; **not** a sensitivity, since other pairs exist.

    Raises
    ------
    TypeError, ValueError
        If ``n_components < 1`` or ``eta`` is outside (0, 1/2).

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Lemma 9.

    Examples
    --------
    >>> lemma9_bound(n_components=100, eta=0.375)
    0.4
    """
    n = 1 if normalized else check_integer("n_components", n_components, minimum=1)
    return 2.0 / math.sqrt(n * (1.0 - 2.0 * check_interval("eta", eta, 0.0, 0.5)))


def interpolator_lower_bound(label_change: float, row_norm: float) -> float:
    """Smallest distance that any interpolator moves when one label changes.

    Parameters
    ----------
    label_change : float
        Absolute change ``|y_j - y_j'|``, positive.
    row_norm : float
        Norm of the record's feature row, positive: sqrt(N), or 1 for normalised features.

    Returns
    -------
    float
        ``label_change / row_norm``, from ``<c - c', A_j> = y_j - y_j'`` and Cauchy-Schwarz.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

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

    Parameters
    ----------
    scaled_distance : array_like
        ``sigma_omega * h``, positive; the kernel of the two points is ``exp(-(.)^2 / 2)``.
    epsilon, delta : float
        The budget that Algorithm 1 is run with; epsilon positive, delta in (0, 1).
    eta : float
        Parameter of Lemma 9, in (0, 1/2).

    Returns
    -------
    NearDuplicateProfile
        ``mu`` = ||c - c'|| / sigma, and ``delta``, the smallest delta for which the pair satisfies
        (epsilon, delta)-privacy. Both have the shape of ``scaled_distance``.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

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

    Parameters
    ----------
    target_delta : float
        In (0, 1); the claimed ``delta`` itself gives the distance where the violation starts.
    epsilon, delta, eta : float
        As in :func:`near_duplicate_profile`.

    Returns
    -------
    float
        The inverse of the profile; infinity if two records at any distance exceed the target.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

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

r"""Exact privacy of Laplace noise on subsampled features.

One record with features :math:`\Phi(x)` and mask h moves the sum by
:math:`Q(x,h)=\alpha^{-1}\|\Phi(x)\odot h\|_1`. Far out in the direction of the signs of
:math:`\Phi(x)` every mask moves the log density by exactly :math:`Q/b`, so the density ratios are
:math:`E_he^{Q/b}` (a record is added) and :math:`1/E_he^{-Q/b}` (it is taken away). For the four
mask laws the expectation is a product, two terms, or an elementary symmetric polynomial: no list of
masks is needed.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
)
from dplit.sketching.subsampling.masks import MaskLaw, mask_support

__all__ = [
    "enumerated_epsilon",
    "far_point",
    "log_density",
    "log_symmetric_mean",
    "magnitudes",
    "masked_norms",
    "record_epsilon",
]


Direction = Literal["add", "remove"]


def magnitudes(features: ArrayLike, *, norm: Literal[1, 2] = 1) -> Array:
    r"""Size of every feature; of a complex one, the l1 or l2 norm of its two parts.

    Parameters
    ----------
    features : array_like of shape (n_records, m)
        Real or complex.
    norm : {1, 2}, default=1

    Returns
    -------
    ndarray of shape (n_records, m)
        :math:`|\Re|+|\Im|` for ``norm=1``, the modulus for ``norm=2``.

    Raises
    ------
    TypeError, ValueError
        If the features are not a finite matrix or ``norm`` is neither 1 nor 2.

    Examples
    --------
    >>> from dplit.sketching.subsampling.laplace import magnitudes
    >>> magnitudes([[3.0 + 4.0j, -1.0]]).tolist()
    [[7.0, 1.0]]
    """
    values = check_finite_array("features", features, ndim=2)
    if norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    if norm == 2 or values.dtype.kind != "c":
        sizes: Array = np.abs(values).astype(float)
    else:
        sizes = np.abs(values.real) + np.abs(values.imag)
    return sizes


def masked_norms(
    features: ArrayLike,
    masks: ArrayLike,
    *,
    alpha: float,
    norm: Literal[1, 2] = 1,
    other: ArrayLike | None = None,
) -> Array:
    r"""How far one record moves the subsampled sum, for every mask: Q of (14) and (15).

    Parameters
    ----------
    features : array_like of shape (n_records, m)
        Features of the records, real or complex.
    masks : array_like of shape (S, m)
        Binary masks.
    alpha : float
        Sampling rate in (0, 1].
    norm : {1, 2}, default=1
        Which norm, in real coordinates.
    other : array_like of shape (n_records, m), optional
        Features of the records that take their place; None: the records are added.

    Returns
    -------
    ndarray of shape (n_records, S)
        :math:`\alpha^{-1}\|\Phi(x)\odot h\|_p`, or with :math:`\Phi(x)-\Phi(y)`.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, a mask is not binary or alpha is not in (0, 1].

    References
    ----------
    Chatalic et al. (2022), (14) and (15).

    Examples
    --------
    >>> from dplit.sketching.subsampling.laplace import masked_norms
    >>> masked_norms([[1.0, 2.0]], [[1, 0], [1, 1]], alpha=0.5).tolist()
    [[2.0, 6.0]]
    """
    alpha = check_probability("alpha", alpha, one=True)
    values = check_finite_array("features", features, ndim=2)
    chosen = check_finite_array("masks", masks, ndim=2)
    if chosen.shape[1] != values.shape[1] or not np.isin(chosen, (0, 1)).all():
        raise ValueError(f"masks must be binary with {values.shape[1]} columns, got {chosen.shape}")
    if other is not None:
        replaced = check_finite_array("other", other, ndim=2)
        if replaced.shape != values.shape:
            raise ValueError(f"other must have shape {values.shape}, got {replaced.shape}")
        values = values - replaced
    sizes = magnitudes(values, norm=norm)
    total: Array = (sizes**norm @ chosen.T.astype(float)) ** (1.0 / norm) / alpha
    return total


def log_symmetric_mean(logs: Array, degree: int) -> Array:
    r"""Logarithm of the mean product of ``degree`` different positive numbers.

    Parameters
    ----------
    logs : ndarray of shape (rows, count)
        Logarithms of the numbers w.
    degree : int
        Number r of factors, 1 to ``count``.

    Returns
    -------
    ndarray of shape (rows,)
        :math:`\log e_r(w)/\binom{count}r`, in O(count r) operations per row.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampling.laplace import log_symmetric_mean
    >>> np.exp(log_symmetric_mean(np.log([[1.0, 2.0, 3.0]]), 2)).round(9).tolist()
    [3.666666667]
    """
    rows, count = logs.shape
    if degree == 1:
        top = logs.max(axis=1, keepdims=True)
        first: Array = top[:, 0] + np.log(np.exp(logs - top).mean(axis=1))
        return first
    table = np.full((rows, degree + 1), -np.inf)
    table[:, 0] = 0.0
    for j in range(count):
        table[:, 1:] = np.logaddexp(table[:, 1:], table[:, :-1] + logs[:, j : j + 1])
    choices = gammaln(count + 1) - gammaln(degree + 1) - gammaln(count - degree + 1)
    mean: Array = table[:, degree] - choices
    return mean


def _log_mgf(sizes: Array, law: MaskLaw, factor: float) -> Array:
    """``log E exp(factor * sum_j h_j sizes_j)`` for each row of sizes."""
    if law.n_kept is not None:
        blocks = sizes.reshape(len(sizes), -1, law.block).sum(axis=2)
        return log_symmetric_mean(factor * blocks, law.n_kept // law.block)
    if law.scheme == "data":
        sizes = sizes.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-law.alpha)
    terms: Array = np.logaddexp(rest, math.log(law.alpha) + factor * sizes).sum(axis=1)
    return terms


def _checked_sizes(features: ArrayLike, law: MaskLaw) -> Array:
    sizes = magnitudes(features)
    if sizes.shape[1] != law.n_components:
        raise ValueError(f"features must have {law.n_components} columns, got {sizes.shape}")
    return sizes


def record_epsilon(
    features: ArrayLike, law: MaskLaw, *, scale: float, direction: Direction = "add"
) -> Array:
    r"""Exact privacy loss that a given record causes, for Laplace noise on subsampled features.

    Parameters
    ----------
    features : array_like of shape (n_records, m)
        Features of the records, real or complex.
    law : MaskLaw
        Law of the masks.
    scale : float
        Scale b of the noise on every real coordinate of the rescaled sum, positive.
    direction : {"add", "remove"}, default="add"
        Data set with the record over data set without it, or the other way round.

    Returns
    -------
    ndarray of shape (n_records,)
        :math:`\log E_he^{Q/b}` or :math:`-\log E_he^{-Q/b}`, the supremum of the log density ratio,
        whatever the other records are. The supremum over records of "add" is the exact epsilon
        under "add_remove"; "remove" is never larger.

    Raises
    ------
    TypeError, ValueError
        If the features do not fit the law, ``scale`` is not positive or ``direction`` is unknown.

    Notes
    -----
    Independent entries: :math:`\sum_j\log(1+\alpha(e^{a_j/(\alpha b)}-1))`, with a the magnitudes.
    Fixed number of ones: :math:`\log e_r(w)/\binom mr`, :math:`w_j=e^{a_j/(\alpha b)}`, in O(mr).

    References
    ----------
    Chatalic et al. (2022), Lemma 15, (16) and (32) to (34).

    Examples
    --------
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.laplace import record_epsilon
    >>> law = mask_law("data", 2, alpha=0.5)
    >>> record_epsilon([[1.0, 1.0]], law, scale=2.0).round(4)
    array([1.4338])
    """
    sizes = _checked_sizes(features, law)
    check_choice("direction", direction, ("add", "remove"))
    sign = 1.0 if direction == "add" else -1.0
    return sign * _log_mgf(sizes, law, sign / (law.alpha * check_positive("scale", scale)))


def enumerated_epsilon(
    features: ArrayLike, law: MaskLaw, *, scale: float, direction: Direction = "add"
) -> Array:
    """Privacy loss of a record by listing all masks: the slow second route.

    Parameters
    ----------
    features, law, scale, direction
        As in :func:`record_epsilon`; the law has at most 262,144 masks.

    Returns
    -------
    ndarray of shape (n_records,)
        The same values.

    Raises
    ------
    TypeError, ValueError
        As in :func:`record_epsilon`, or if there are too many masks.

    References
    ----------
    Chatalic et al. (2022), Lemma 15, (16).

    Examples
    --------
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.laplace import enumerated_epsilon
    >>> law = mask_law("uniform", 2, n_kept=1)
    >>> enumerated_epsilon([[1.0, 1.0]], law, scale=2.0).round(4)
    array([1.])
    """
    check_choice("direction", direction, ("add", "remove"))
    _checked_sizes(features, law)
    masks, probabilities = mask_support(law)
    moved = masked_norms(features, masks, alpha=law.alpha) / check_positive("scale", scale)
    sign = 1.0 if direction == "add" else -1.0
    total: Array = sign * logsumexp(sign * moved, axis=1, b=probabilities)
    return total


# Exact densities of a subsampled sum with Laplace noise, mixed over the masks of all records.


def _real_form(features: ArrayLike, ndim: int = 2) -> Array:
    """Features as real vectors: a complex entry becomes two, side by side."""
    values = check_finite_array("features", features, ndim=ndim)
    if values.dtype.kind == "c":
        stacked = np.stack([values.real, values.imag], axis=-1)
        return stacked.reshape(*values.shape[:-1], -1).astype(float)
    return values.astype(float)


def far_point(features: ArrayLike, *, distance: float = 1e3) -> Array:
    r"""Release at which every mask of a record moves the log density the most.

    Parameters
    ----------
    features : array_like of shape (m,)
        Features of the record (or difference of two records'), real or complex.
    distance : float, default=1000.0
        Modulus of every coordinate; at least the largest modulus of a masked sum.

    Returns
    -------
    ndarray of shape (m,) or (2 m,)
        The signs of the real coordinates, times ``distance``.

    Raises
    ------
    TypeError, ValueError
        If the features are not a finite vector or ``distance`` is not positive.

    References
    ----------
    Chatalic et al. (2022), proof of Lemma 15.

    Examples
    --------
    >>> from dplit.sketching.subsampling.laplace import far_point
    >>> far_point([2.0, -0.5], distance=10.0).tolist()
    [10.0, -10.0]
    """
    signs: Array = np.sign(_real_form(features, ndim=1)) * check_positive("distance", distance)
    return signs


def log_density(points: ArrayLike, features: Any, law: MaskLaw, *, scale: float) -> Array:
    """Exact log density of a released subsampled sum, by listing the masks of all records.

    Parameters
    ----------
    points : array_like of shape (n_points, m) or (n_points, 2 m)
        Releases in real coordinates; a complex coordinate is two, side by side.
    features : array_like of shape (n_records, m)
        Features of all records; an empty list is the empty data set.
    law : MaskLaw
    scale : float
        Scale of the noise per real coordinate, positive.

    Returns
    -------
    ndarray of shape (n_points,)
        Log density without the constant ``-M log(2 b)``, with M the number of coordinates.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit or there are more than 262,144 tuples of masks.

    References
    ----------
    Chatalic et al. (2022), Definition 21 and (32).

    Examples
    --------
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.laplace import log_density
    >>> law = mask_law("data", 1, alpha=1.0)
    >>> log_density([[3.0]], [[1.0]], law, scale=2.0).tolist()
    [-1.0]
    """
    where = check_finite_array("points", points, ndim=2).astype(float)
    scale = check_positive("scale", scale)
    if len(features) == 0:
        empty: Array = -np.abs(where).sum(axis=1) / scale
        return empty
    values = _real_form(features)
    if np.shape(features)[1] != law.n_components:
        raise ValueError(f"features must have {law.n_components} columns, got {np.shape(features)}")
    if where.shape[1] != values.shape[1]:
        raise ValueError(f"points must have {values.shape[1]} columns, got {where.shape}")
    masks, probabilities = mask_support(law)
    count = check_integer("number of mask tuples", len(masks) ** len(values))
    if count > 1 << 18:
        raise ValueError(
            f"the masks of all records must have at most {1 << 18} values, got {count}"
        )
    wide = np.repeat(masks, values.shape[1] // law.n_components, axis=1)
    parts = [wide * row / law.alpha for row in values]
    sums = np.array([np.sum(terms, axis=0) for terms in product(*parts)])
    weights = np.array([np.prod(w) for w in product(probabilities, repeat=len(values))])
    distances = np.abs(where[:, None, :] - sums[None]).sum(axis=2)
    total: Array = logsumexp(-distances / scale, axis=1, b=weights)
    return total

"""Exact densities of a subsampled sum with Laplace noise, mixed over the masks of all records."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.sketching.masks import MaskLaw, mask_support

__all__ = ["far_point", "log_density"]

Array = NDArray[np.float64]


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
    >>> from dplit.sketching.mixture_densities import far_point
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
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.mixture_densities import log_density
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

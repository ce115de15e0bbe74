"""Exact densities of a subsampled sum with Laplace noise, mixed over the masks of all records."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import Array, check_finite_array, check_integer, check_positive, check_real_array
from dplit.papers.sketching.masks import _MaskLaw, mask_support


def _real_form(features: ArrayLike, ndim: int = 2) -> Array:
    """Features as real vectors: a complex entry becomes two, side by side."""
    values = check_finite_array("features", features, ndim=ndim)
    if values.dtype.kind == "c":
        stacked = np.stack([values.real, values.imag], axis=-1)
        return stacked.reshape(*values.shape[:-1], -1).astype(float)
    return values.astype(float)


def far_point(features: ArrayLike, *, distance: float = 1e3) -> Array:
    """Release at which every mask of a record moves the log density the most: its signs, far out.

    In real coordinates, (m,) or (2 m,); ``features`` may be the difference of two records'.
    """
    return np.asarray(np.sign(_real_form(features, ndim=1)) * check_positive("distance", distance))


def log_density(points: ArrayLike, features: Any, law: _MaskLaw, *, scale: float) -> Array:
    """Exact log density of a released subsampled sum, by listing the masks of all records.

    ``points`` in real coordinates, a complex one as two side by side; without the constant ``-M
    log(2 b)`` of their number M. No records: the noise alone.
    """
    where = check_real_array("points", points, 2)
    scale = check_positive("scale", scale)
    if len(features) == 0:
        return np.asarray(-np.abs(where).sum(axis=1) / scale)
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
    return np.asarray(logsumexp(-distances / scale, axis=1, b=weights))

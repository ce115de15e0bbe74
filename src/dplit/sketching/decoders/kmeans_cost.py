"""The k-means risk (2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_real_array

#: Distances per block; they stay in the second-level cache.
_BLOCK = 1 << 17


def _checked_records(X: ArrayLike) -> NDArray[Any]:
    records = check_finite_array("X", X, ndim=2)
    if records.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {records.dtype}")
    return records if records.dtype == np.float32 else records.astype(np.float64)


def sse(X: ArrayLike, centroids: ArrayLike) -> Any:
    """Mean squared distance ``(1/n) sum_i min_l |x_i - c_l|^2``, the risk (2); not ``inertia_``.

    ``centroids`` has shape (..., k, d): one set or many. float32 records are kept, sums are
    float64.

    >>> round(float(sse([[0.0], [1.0], [3.0]], [[0.0], [3.0]])), 6)  # one third
    0.333333
    """
    records = _checked_records(X)
    points = check_real_array("centroids", centroids)
    if points.ndim < 2 or points.shape[-1] != records.shape[1]:
        raise ValueError(
            f"centroids must have shape (..., n_clusters, {records.shape[1]}), "
            f"got shape {points.shape}"
        )
    count = points.shape[-2]
    center = records.mean(axis=0, dtype=np.float64).astype(records.dtype)
    flat = points.reshape(-1, records.shape[1]).astype(records.dtype) - center
    half = (0.5 * np.einsum("ld,ld->l", flat, flat))[:, None]
    total, energy = np.zeros(len(flat) // count), 0.0
    rows = max(64, _BLOCK // len(flat))
    for start in range(0, len(records), rows):
        block = records[start : start + rows] - center
        energy += float(np.einsum("nd,nd->", block, block, dtype=np.float64))
        near = half - flat @ block.T
        total += near.reshape(-1, count, len(block)).min(axis=1).sum(axis=1, dtype=np.float64)
    cost = (energy + 2.0 * total) / len(records)
    return cost.reshape(points.shape[:-2])[()]

"""Descent of many low-rank factors to their sketches at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplit.sketching._batched_lbfgs import minimise

__all__ = ["descend_factors"]

_Array = NDArray[np.float64]
#: A problem ends when a step lowers its cost by less than this share.
_TOLERANCE = 1e-10


def descend_factors(
    z: _Array, omega: _Array, factors: _Array, *, max_iter: int
) -> tuple[_Array, _Array]:
    """Run one L-BFGS for all problems.

    Parameters
    ----------
    z : ndarray of shape (P, m)
        One sketch per problem.
    omega : ndarray of shape (d, m)
        Frequencies of all of them.
    factors : ndarray of shape (P, d, k)
        Starts.
    max_iter : int
        Iterations, at most.

    Returns
    -------
    factors, costs : ndarrays of shapes (P, d, k) and (P,)
        Costs no larger than at the starts.
    """
    count, d, k = factors.shape
    size = np.einsum("pm,pm->p", z, z)
    size[size == 0.0] = 1.0

    def objective(flat: _Array, which: NDArray[np.intp]) -> tuple[_Array, _Array]:
        seen = flat.reshape(-1, d, k).transpose(0, 2, 1) @ omega  # (A, k, m)
        rest = (seen**2).sum(axis=1) - z[which]
        seen *= rest[:, None]
        slope = 4.0 * (omega @ seen.transpose(0, 2, 1)) / size[which, None, None]
        return (rest**2).sum(axis=1) / size[which], slope.reshape(len(flat), -1)

    seen = factors.transpose(0, 2, 1) @ omega
    curvature = 8.0 * (omega**2 @ (seen**2).transpose(0, 2, 1)) / size[:, None, None]
    flat = curvature.reshape(count, -1)
    floor = np.maximum(1e-3 * flat.max(axis=1, keepdims=True), np.finfo(float).tiny)
    unbounded = np.full(d * k, np.inf)
    found, costs = minimise(
        objective, factors.reshape(count, -1), -unbounded, unbounded,
        inverse=1.0 / np.maximum(flat, floor), reach=unbounded, max_iter=max_iter, tol=_TOLERANCE,
    )  # fmt: skip
    return found.reshape(count, d, k), costs * size

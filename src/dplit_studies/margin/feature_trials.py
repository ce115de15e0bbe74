"""Errors of random features on a sample, all pairs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_finite_array, check_integer
from dplit.features import feature_gram, gaussian_kernel, random_frequencies


def _sup_deviation(gram: ArrayLike, kernel: ArrayLike) -> float:
    """Largest error of a Gram matrix off the diagonal, as in Theorem 4.1."""
    left = check_finite_array("gram", gram, ndim=2)
    right = check_finite_array("kernel", kernel, ndim=2)
    if left.shape != right.shape or left.shape[0] != left.shape[1] or len(left) < 2:
        raise ValueError(
            f"gram and kernel must be square of one shape, got {left.shape} and {right.shape}"
        )
    error = np.abs(left - right)
    np.fill_diagonal(error, 0.0)
    return float(error.max())


def sup_deviation_draws(
    X: ArrayLike, n_frequencies: int, *, gamma: float, draws: int, rng: np.random.Generator
) -> Array:
    """Suprema of the Gram error over independent draws of D frequencies of the Gaussian kernel."""
    records = check_finite_array("X", X, ndim=2)
    kernel = gaussian_kernel(records, gamma=gamma)
    out = np.empty(check_integer("draws", draws))
    for k in range(len(out)):
        frequencies = random_frequencies(records.shape[1], n_frequencies, gamma=gamma, rng=rng)
        gram = feature_gram(records, frequencies)
        out[k] = _sup_deviation(gram, kernel)
    return out

"""The mechanisms' fits the long way: every projection and every noisy matrix is formed.

For comparison with :mod:`dplit.projection.samplers` only; the cost grows with n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)

__all__ = ["naive_additive_draws", "naive_projection_draws"]

_Array = NDArray[np.float64]
_ENTRIES = 4_000_000  # random numbers held at a time


def _data(X: ArrayLike, y: ArrayLike) -> tuple[_Array, _Array]:
    design = check_finite_array("X", X, ndim=2).astype(float)
    response = check_finite_array("y", y, ndim=1).astype(float)
    if len(design) != len(response):
        raise ValueError(f"y must have one entry per row of X, got {len(response)}")
    return design, response


def _batches(size: int, entries: int) -> Iterator[int]:
    """Yield batch sizes that add up to ``size``."""
    step = max(1, _ENTRIES // entries)
    for start in range(0, size, step):
        yield min(step, size - start)


def _fits(designs: _Array, responses: _Array) -> _Array:
    """Return least-squares fits of a stack of problems, by their normal equations."""
    grams = np.einsum("bij,bik->bjk", designs, designs, optimize=True)
    right = np.einsum("bij,bi->bj", designs, responses, optimize=True)
    return np.asarray(np.linalg.solve(grams, right[..., None])[..., 0])


def naive_projection_draws(
    X: ArrayLike,
    y: ArrayLike,
    *,
    penalty: float,
    n_components: int,
    size: int,
    rng: np.random.Generator,
) -> _Array:
    r"""Draw fits on :math:`SX+\sigma N` and :math:`Sy` by forming S and N.

    Parameters
    ----------
    X, y : array_like of shapes (n, d) and (n,)
    penalty : float
        Noise variance, nonnegative.
    n_components : int
        Rows n' of S, at least d.
    size : int
        Number of draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (size, d)

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> naive_projection_draws(
    ...     [[1.0], [1.0]], [3.0, 1.0], penalty=0.0, n_components=9, size=2, rng=rng
    ... ).shape
    (2, 1)
    """
    design, response = _data(X, y)
    root = math.sqrt(check_nonnegative("penalty", penalty))
    (n, d), generator = design.shape, check_rng(rng)
    rows = check_integer("n_components", n_components, minimum=d)
    fits = []
    for count in _batches(check_integer("size", size), rows * (n + d)):
        S = generator.standard_normal((count, rows, n))
        released = S @ design
        if root > 0:
            released += root * generator.standard_normal((count, rows, d))
        fits.append(_fits(released, S @ response))
    return np.concatenate(fits)


def naive_additive_draws(
    X: ArrayLike, y: ArrayLike, *, sigma: float, size: int, rng: np.random.Generator
) -> _Array:
    r"""Draw fits on :math:`X+\sigma N` and y by forming N.

    Parameters
    ----------
    X, y, size, rng
        As in :func:`naive_projection_draws`.
    sigma : float
        Standard deviation of the noise, positive.

    Returns
    -------
    ndarray of shape (size, d)

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> naive_additive_draws([[1.0], [1.0]], [3.0, 1.0], sigma=1.0, size=2, rng=rng).shape
    (2, 1)
    """
    design, response = _data(X, y)
    level, generator = check_positive("sigma", sigma), check_rng(rng)
    fits = []
    for count in _batches(check_integer("size", size), design.size):
        released = design + level * generator.standard_normal((count, *design.shape))
        fits.append(_fits(released, np.broadcast_to(response, (count, len(response)))))
    return np.concatenate(fits)

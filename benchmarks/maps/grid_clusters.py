"""Grids: EUGkM of Su et al. (2016), their hybrid (2017), and a finer grid with a threshold."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.maps.sketching_rivals import CELLS, Budget, cluster
from dplit._checks import Array
from dplit.clusters.lloyd import private_lloyd
from dplit.mechanisms import laplace_noise
from dplit.mechanisms._draws import record_draw


def cells_per_axis(n: int, d: int, epsilon: float) -> int:
    r"""Cells of an axis: EUGkM has :math:`(n\epsilon/10)^{2d/(2+d)}` in all.

    >>> cells_per_axis(10_000, 2, 1.0)
    32
    """
    found = max(round(math.pow(n * epsilon / 10.0, 2.0 / (2.0 + d))), 1)
    return min(found, int(CELLS ** (1.0 / d) + 1e-9))


def noisy_grid(
    X: Array, cells: int, *, epsilon: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Middles of the cells and their counts with Laplace noise; one record moves one by one."""
    d = X.shape[1]
    index = np.clip(np.floor((X + 1.0) * (cells / 2.0)), 0, cells - 1).astype(np.int64)
    flat = np.ravel_multi_index(tuple(index.T), (cells,) * d)
    counts = np.bincount(flat, minlength=cells**d).astype(np.float64)
    record_draw(
        "laplace",
        "counts of the cells",
        sensitivity=1.0,
        norm="l1",
        scale=1.0 / epsilon,
        shape=counts.shape,
        of=counts,
    )
    counts = counts + laplace_noise(counts.shape, scale=1.0 / epsilon, rng=rng)
    places = np.stack(np.unravel_index(np.arange(cells**d), (cells,) * d), axis=1)
    return (2.0 * places + 1.0) / cells - 1.0, counts


def grid_centres(
    X: Array,
    k: int,
    *,
    n: int,
    budget: Budget,
    rng: np.random.Generator,
    finer: float = 1.0,
    threshold: bool = True,
) -> Array:
    """k-means of a noisy grid, of cells above what noise alone reaches, or as EUGkM of all above 0.

    Cells are ``finer`` than EUGkM's; at least k of them are kept.
    """
    d, epsilon = X.shape[1], budget.epsilon
    cells = max(round(finer * cells_per_axis(n, d, epsilon)), 2)
    cells = max(min(cells, int(CELLS ** (1.0 / d) + 1e-9)), 1)
    places, counts = noisy_grid(X, cells, epsilon=epsilon, rng=rng)
    level = math.log(len(counts)) / epsilon if threshold else 0.0
    kept = counts > level
    kept[np.argsort(-counts)[:k]] = True
    return cluster(places, np.where(kept, np.maximum(counts, 0.0), 0.0), k, rng)


def hybrid_centres(X: Array, k: int, *, n: int, budget: Budget, rng: np.random.Generator) -> Array:
    """Su et al.: half of the budget for EUGkM, half for one noisy Lloyd step from its centres."""
    half = Budget(budget.epsilon / 2.0, budget.delta)
    first = grid_centres(X, k, n=n, budget=Budget(half.epsilon), rng=rng, threshold=False)
    run = private_lloyd(
        X,
        first,
        bounds=(-1.0, 1.0),
        epsilon=half.epsilon,
        delta=half.delta,
        n_iter=1,
        noise="gaussian" if half.delta else "laplace",
        rng=rng,
    )
    return run.centers

"""Private clustering by others, at any budget: grids of counts, a tree of hashes, noisy moments.

Records lie in [-1, 1]^d, one may be added or removed, and ``n`` is what is publicly thought of
their number: it tunes, and no guarantee hangs on it. Everything after the noise is scikit-learn's
k-means on what was released.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from dplit._checks import Array
from dplit._estimators import clip_rows
from dplit.baselines import spread_centers
from dplit.baselines.lloyd import private_lloyd
from dplit.mechanisms import gamma_norm_noise, gaussian_noise, gaussian_sigma, laplace_noise
from dplit.mechanisms.draws import record_draw
from dplit_studies.sketching.models import _noisy_covariance, _private_em

#: No grid has more cells.
CELLS = 1 << 16

#: Share of the tree's budget for its counts.
_COUNTS = 0.2

#: Records that are drawn from noisy moments.
_DRAWN = 4000


class Budget(NamedTuple):
    """A budget; ``delta`` 0 is pure."""

    epsilon: float
    delta: float = 0.0


def radius(d: int) -> float:
    """Public length to which rivals clip records: a coordinate's is 0.6, and a bit.

    >>> round(radius(9), 9)
    2.1
    """
    return min(0.6 * math.sqrt(d) + 0.3, math.sqrt(d))


def cluster(places: Array, weights: Array, k: int, rng: np.random.Generator) -> Array:
    """Return k centres of weighted places; the middle of the box where there are none."""
    seed = int(rng.integers(2**31))
    kept = weights > 0
    if not kept.any():
        return np.zeros((k, places.shape[1]))
    places, weights = places[kept], weights[kept]
    if len(places) <= k:
        return places[np.resize(np.arange(len(places)), k)]
    with warnings.catch_warnings():  # fewer different places than clusters
        warnings.simplefilter("ignore")
        model = KMeans(k, n_init=3, random_state=seed).fit(places, sample_weight=weights)
    return np.asarray(model.cluster_centers_, dtype=np.float64)


# Grids: EUGkM of Su et al. (2016), their hybrid (2017), and a finer grid with a threshold.


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
        "laplace", "counts of the cells", sensitivity=1.0, norm="l1", scale=1.0 / epsilon,
        shape=counts.shape, of=counts,
    )  # fmt: skip
    counts = counts + laplace_noise(counts.shape, scale=1.0 / epsilon, rng=rng)
    places = np.stack(np.unravel_index(np.arange(cells**d), (cells,) * d), axis=1)
    return (2.0 * places + 1.0) / cells - 1.0, counts


def grid_centres(
    X: Array, k: int, *, n: int, budget: Budget, rng: np.random.Generator, finer: float = 1.0,
    threshold: bool = True,
) -> Array:  # fmt: skip
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
        X, first, bounds=(-1.0, 1.0), epsilon=half.epsilon, delta=half.delta, n_iter=1,
        noise="gaussian" if half.delta else "laplace", rng=rng,
    )  # fmt: skip
    return run.centers


# The tree of Chang and Kamath (2021): hashes split, counts decide, leaves tell their mean.


class Tree(NamedTuple):
    """Leaves of a tree: noisy sums (leaves, d) and counts, scales of their noise."""

    sums: Array
    counts: Array
    sum_scale: float
    count_scale: float


def tree_scales(d: int, budget: Budget, depth: int) -> tuple[float, float]:
    """Scales of the noise on sums and counts: a fifth for counts of all levels, in equal parts.

    Sums: the deviation of Gaussian noise, or one over the rate of noise in the Euclidean norm.
    """
    counts = (depth + 1) / (_COUNTS * budget.epsilon)
    rest = (1.0 - _COUNTS) * budget.epsilon
    if budget.delta:
        return gaussian_sigma(epsilon=rest, delta=budget.delta, sensitivity=radius(d)), counts
    return radius(d) / rest, counts


def hashed_tree(
    X: Array, k: int, *, n: int, depth: int, budget: Budget, public: np.random.Generator,
    rng: np.random.Generator,
) -> Tree:  # fmt: skip
    """Split records by signs of random directions while noisy counts are large; sum the leaves."""
    d = X.shape[1]
    rows, (sums, counts) = clip_rows(X, radius(d)), tree_scales(d, budget, depth)
    signs = rows @ public.standard_normal((d, depth)) > 0.0
    typical = math.sqrt(d) * sums / radius(d) * (1.0 if budget.delta else math.sqrt(d + 1.0))
    least = max(min(10.0 * typical, n / (2.0 * k)), 1.0)
    leaves = list[tuple[Any, float]]()
    level: list[tuple[Any, float]] = [(np.arange(len(X)), _counted(len(X), counts, rng, object()))]
    for at in range(depth + 1):
        deeper, same = [], object()
        for held, count in level:
            parts = []
            if at < depth and count >= 3.0 * least:
                side = signs[held, at]
                halves = held[side], held[~side]
                parts = [(half, _counted(len(half), counts, rng, same)) for half in halves]
                parts = [part for part in parts if part[1] >= least]
            deeper += parts
            leaves += [] if parts else [(held, count)]
        level = deeper
    exact = np.array([rows[held].sum(axis=0) for held, _ in leaves])
    noisy = exact + _sum_noise(exact.shape, sums, budget, rng)
    return Tree(noisy, np.array([count for _, count in leaves]), sums, counts)


def _counted(size: int, scale: float, rng: np.random.Generator, level: object) -> float:
    """Return a count with Laplace noise: a record is in one node of each level."""
    record_draw(
        "laplace", "count of a node", sensitivity=1.0, norm="l1", scale=scale, shape=(1,),
        parallel=level,
    )  # fmt: skip
    return size + float(laplace_noise((1,), scale=scale, rng=rng)[0])


def _sum_noise(
    shape: tuple[int, ...], scale: float, budget: Budget, rng: np.random.Generator
) -> Array:
    """Noise on the sums of the leaves, of which a record is in one."""
    leaves, d = shape
    told: dict[str, Any] = {"sensitivity": radius(d), "scale": scale, "shape": shape}
    if budget.delta:
        record_draw("gaussian", "sums of the leaves", **told)
        return gaussian_noise(shape, sigma=scale, rng=rng)
    record_draw("gamma_norm", "sums of the leaves", norm="l2", **told)
    return np.array([gamma_norm_noise(d, rate=1.0 / scale, rng=rng) for _ in range(leaves)])


def tree_centres(
    X: Array, k: int, *, n: int, depth: int, budget: Budget, rng: np.random.Generator,
    public: np.random.Generator,
) -> Array:  # fmt: skip
    """k-means of the means of the leaves, clipped to the box, with their counts as weights."""
    tree = hashed_tree(X, k, n=n, depth=depth, budget=budget, public=public, rng=rng)
    counts = np.maximum(tree.counts, 1.0)
    return cluster(np.clip(tree.sums / counts[:, None], -1.0, 1.0), counts, k, rng)


# Noisy moments, and EM.


def moment_centres(X: Array, k: int, *, budget: Budget, rng: np.random.Generator) -> Array:
    """k-means of records drawn from the Gaussian with the noisy moments of ``(1, x)``."""
    size = math.hypot(1.0, radius(X.shape[1]))
    rows = np.hstack([np.ones((len(X), 1)), clip_rows(X, radius(X.shape[1]))]) / size
    noise: Literal["gaussian", "gamma"] = "gaussian" if budget.delta else "gamma"
    told = _noisy_covariance(rows, epsilon=budget.epsilon, delta=budget.delta, noise=noise, rng=rng)
    record_draw(
        "gaussian" if budget.delta else "gamma_norm", "second moments", sensitivity=1.0,
        scale=told.scale, shape=told.moments.shape,
    )  # fmt: skip
    moments = size**2 * told.moments
    count = max(float(moments[0, 0]), 1.0)
    mean = np.clip(moments[0, 1:] / count, -1.0, 1.0)
    values, vectors = np.linalg.eigh(moments[1:, 1:] / count - np.outer(mean, mean))
    spread = np.sqrt(np.clip(values, 0.0, 1.0))
    drawn = mean + rng.standard_normal((_DRAWN, len(mean))) * spread @ vectors.T
    return cluster(np.clip(drawn, -1.0, 1.0), np.ones(_DRAWN), k, rng)


def em_centres(
    X: Array, k: int, *, steps: int, budget: Budget, rng: np.random.Generator,
    public: np.random.Generator,
) -> Array:  # fmt: skip
    """Means of a mixture by private EM from spread centres."""
    d = X.shape[1]
    start = spread_centers(k, d, bounds=(-1.0, 1.0), rng=public)
    _, means, _ = _private_em(
        X, start, bounds=(-1.0, 1.0), radius=radius(d), epsilon=budget.epsilon,
        delta=budget.delta, n_iter=steps, rng=rng,
    )  # fmt: skip
    return np.asarray(np.clip(means, -1.0, 1.0))

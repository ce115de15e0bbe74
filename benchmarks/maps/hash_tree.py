"""The tree of Chang and Kamath (2021): hashes split, counts decide, leaves tell their mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.maps.sketching_rivals import _COUNTS, Budget, cluster, radius
from dplit._checks import Array
from dplit._numerics.clipping import clip_rows
from dplit.mechanisms import gamma_norm_noise, gaussian_noise, gaussian_sigma, laplace_noise
from dplit.mechanisms._draws import record_draw


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
    X: Array,
    k: int,
    *,
    n: int,
    depth: int,
    budget: Budget,
    public: np.random.Generator,
    rng: np.random.Generator,
) -> Tree:
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
        "laplace",
        "count of a node",
        sensitivity=1.0,
        norm="l1",
        scale=scale,
        shape=(1,),
        parallel=level,
    )
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
    X: Array,
    k: int,
    *,
    n: int,
    depth: int,
    budget: Budget,
    rng: np.random.Generator,
    public: np.random.Generator,
) -> Array:
    """k-means of the means of the leaves, clipped to the box, with their counts as weights."""
    tree = hashed_tree(X, k, n=n, depth=depth, budget=budget, public=public, rng=rng)
    counts = np.maximum(tree.counts, 1.0)
    return cluster(np.clip(tree.sums / counts[:, None], -1.0, 1.0), counts, k, rng)

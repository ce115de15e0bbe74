"""The laws of records on which private clustering is compared, and the error without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from dplit._checks import Array
from dplit.advice._cluster_settings import CENTRES, ClusterFacts
from dplit.sketching.decoders.kmeans_cost import sse


def law(facts: ClusterFacts, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records of k equal clusters and their centres, uniform on [-0.8, 0.8]^d, in the box."""
    centres = rng.uniform(-0.8, 0.8, (facts.k, facts.d))
    spread = CENTRES / facts.separation
    labels = rng.integers(facts.k, size=facts.n)
    X = centres[labels] + rng.normal(scale=spread, size=(facts.n, facts.d))
    return np.clip(X, -1.0, 1.0), centres


def reference(
    X: Array, k: int, rng: np.random.Generator, start: Array | None = None
) -> tuple[float, float]:
    """Risks of the mean and of k-means without privacy, the better of all its starts."""
    seed = int(rng.integers(2**31))
    few = KMeans(k, n_init=3, random_state=seed).fit(X[rng.permutation(len(X))[:4000]])
    starts = [few.cluster_centers_, *([] if start is None else [start])]
    found = [KMeans(k, init=one, n_init=1, max_iter=30).fit(X).cluster_centers_ for one in starts]
    return float(X.var(axis=0).sum()), float(np.min(sse(X, np.array(found))))


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(f"{value:.3g}") for value in values]


def _told(runs: Array) -> dict[str, list[float | None]]:
    """Means and standard errors; None where nothing ran."""
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
    return {"errors": _rounded(mean), "se": _rounded(se)}

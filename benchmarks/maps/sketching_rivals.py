"""Private clustering by others, at any budget: grids of counts, a tree of hashes, noisy moments.

Records lie in [-1, 1]^d, one may be added or removed, and ``n`` is what is publicly thought of
their number: it tunes, and no guarantee hangs on it. Everything after the noise is scikit-learn's
k-means on what was released.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from dplit._checks import Array
from dplit._numerics.clipping import clip_rows
from dplit.clusters.lloyd import spread_centers
from dplit.mechanisms._draws import record_draw
from dplit_studies.sketching.covariance_release import _noisy_covariance
from dplit_studies.sketching.model_experiments import _private_em

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


def moment_centres(X: Array, k: int, *, budget: Budget, rng: np.random.Generator) -> Array:
    """k-means of records drawn from the Gaussian with the noisy moments of ``(1, x)``."""
    size = math.hypot(1.0, radius(X.shape[1]))
    rows = np.hstack([np.ones((len(X), 1)), clip_rows(X, radius(X.shape[1]))]) / size
    noise: Literal["gaussian", "gamma"] = "gaussian" if budget.delta else "gamma"
    told = _noisy_covariance(rows, epsilon=budget.epsilon, delta=budget.delta, noise=noise, rng=rng)
    record_draw(
        "gaussian" if budget.delta else "gamma_norm",
        "second moments",
        sensitivity=1.0,
        scale=told.scale,
        shape=told.moments.shape,
    )
    moments = size**2 * told.moments
    count = max(float(moments[0, 0]), 1.0)
    mean = np.clip(moments[0, 1:] / count, -1.0, 1.0)
    values, vectors = np.linalg.eigh(moments[1:, 1:] / count - np.outer(mean, mean))
    spread = np.sqrt(np.clip(values, 0.0, 1.0))
    drawn = mean + rng.standard_normal((_DRAWN, len(mean))) * spread @ vectors.T
    return cluster(np.clip(drawn, -1.0, 1.0), np.ones(_DRAWN), k, rng)


def em_centres(
    X: Array,
    k: int,
    *,
    steps: int,
    budget: Budget,
    rng: np.random.Generator,
    public: np.random.Generator,
) -> Array:
    """Means of a mixture by private EM from spread centres."""
    d = X.shape[1]
    start = spread_centers(k, d, bounds=(-1.0, 1.0), rng=public)
    _, means, _ = _private_em(
        X,
        start,
        bounds=(-1.0, 1.0),
        radius=radius(d),
        epsilon=budget.epsilon,
        delta=budget.delta,
        n_iter=steps,
        rng=rng,
    )
    return np.asarray(np.clip(means, -1.0, 1.0))

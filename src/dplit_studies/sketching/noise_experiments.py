"""Figures 4 and 5: how the risk of a decoded sketch depends on its noise and its size.

Noise of a prescribed norm and a uniform direction is added to clean sketches; smaller sketches are
the first columns of the largest, and a trial has one direction of noise for all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_real_array
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit_studies.sketching.clompr_reference import lloyd_reference
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.trials import Trial, run_trials

#: A decode whose risk is more than 5 % above the best known is called failed.
_FAILURE = 1.05

#: Trials that are decoded together.
_GROUP = 5


def noisy_sketches(sketch: ArrayLike, direction: ArrayLike, ratios: ArrayLike) -> NDArray[Any]:
    """Sketches ``z + sqrt(ratio) |z| g / |g|`` of shape (R, m), of exactly the given ratios."""
    z = check_finite_array("sketch", sketch, ndim=1).astype(complex)
    g = check_finite_array("direction", direction, ndim=1)
    levels = check_real_array("ratios", ratios, 1)
    if g.shape != z.shape or not np.any(g):
        raise ValueError(
            f"direction must be a nonzero vector of shape {z.shape}, got shape {g.shape}"
        )
    if np.any(levels < 0):
        raise ValueError(f"ratios must be nonnegative, got ratios with {levels.min():g}")
    unit = g * (np.linalg.norm(z) / np.linalg.norm(g))
    return np.asarray(z + np.sqrt(levels)[:, None] * unit)


def acceptable_nsr(n_components: int, n_clusters: int, n_features: int) -> float:
    """Largest noise-to-signal ratio that the paper accepts, ``m / (10^3 k d)``."""
    m = check_integer("n_components", n_components)
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    return m / (1e3 * size)


def expected_to_succeed(n_components: int, n_clusters: int, n_features: int, *, nsr: float) -> bool:
    """Whether the paper's rule expects a success: ``m >= 2 k d`` and an acceptable ratio."""
    limit = acceptable_nsr(n_components, n_clusters, n_features)
    enough = n_components >= 2 * n_clusters * n_features
    quiet = check_nonnegative("nsr", nsr) <= limit
    return bool(enough and quiet)


@dataclass(frozen=True)
class _SketchedData:
    """One data set of an experiment with its sketch and its reference risks."""

    X: NDArray[Any]
    frequencies: NDArray[Any]
    sketch: NDArray[Any]
    few: float
    many: float


def _sketched_data(
    law: MixtureLaw, n_samples: int, n_components: int, *, seed: int, name: str, trial: int
) -> _SketchedData:
    """Draw data and frequencies of one trial, sketch the data and run Lloyd's algorithm."""
    data = stream(seed, name, "data", trial)
    X, centers = law.draw(n_samples, rng=data)
    omega = law.frequencies(n_components, rng=stream(seed, name, "public", trial))
    mean = sketch(X, SketchMap("fourier", omega)).mean
    reference = lloyd_reference(X, law.n_clusters, rng=data, centers=centers)
    return _SketchedData(X, omega, mean, reference.few, reference.many)


class _Risks:
    """Medians and failures of relative risks; axis 0 of ``few`` and ``many`` is the trial."""

    few: NDArray[Any]
    many: NDArray[Any]

    @property
    def median(self) -> NDArray[Any]:
        """Median over trials of the RSSE against 3 starts."""
        return np.asarray(np.median(self.few, axis=0))

    @property
    def failed(self) -> NDArray[Any]:
        """Share of decodes more than 5 % above the best known risk."""
        return np.asarray(np.mean(self.many > _FAILURE, axis=0))


@dataclass(frozen=True)
class _NoiseGrid(_Risks):
    """Relative risks (trials, sizes, ratios): over 3 starts of Lloyd and over the best known."""

    sizes: NDArray[Any]
    ratios: NDArray[Any]
    few: NDArray[Any]
    many: NDArray[Any]


def _grid_of_group(
    group: Trial,
    *,
    law: MixtureLaw,
    n_samples: int,
    sizes: tuple[int, ...],
    ratios: tuple[float, ...],
    n_trials: int,
) -> NDArray[Any]:
    """RSSE of shape (2, trials of the group, sizes, ratios)."""
    trials = range(_GROUP * group, min(_GROUP * (group + 1), n_trials))
    seed, name, largest = group.seed, group.name, max(sizes)
    sets = [
        _sketched_data(law, n_samples, largest, seed=seed, name=name, trial=trial)
        for trial in trials
    ]
    noises = [
        stream(seed, name, "noise", trial).standard_normal((largest, 2)) @ (1.0, 1j)
        for trial in trials
    ]
    rng = stream(seed, f"{name} decoder", "public", int(group))
    found = np.empty((2, len(trials), len(sizes), len(ratios)))
    for column, m in enumerate(sizes):
        noisy = [
            noisy_sketches(s.sketch[:m], g[:m], ratios) for s, g in zip(sets, noises, strict=True)
        ]
        omega = np.stack([s.frequencies[:, :m] for s in sets])
        decoded = decode_kmeans(noisy, omega, law.n_clusters, bounds=law.bounds, rng=rng)
        for row, s in enumerate(sets):
            cost = sse(s.X, decoded.centroids[row])
            found[:, row, column] = cost / s.few, cost / s.many
    return found


def noise_grid(
    law: MixtureLaw,
    *,
    n_samples: int,
    sizes: Sequence[int],
    ratios: Sequence[float],
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _NoiseGrid:
    """Relative risks of sketches with isotropic noise of prescribed size."""
    count = check_integer("n_trials", n_trials)
    levels = tuple(float(r) for r in check_real_array("ratios", ratios, 1))
    columns = tuple(check_integer("sizes", int(m)) for m in sizes)
    one = partial(
        _grid_of_group, law=law, n_samples=n_samples, sizes=columns, ratios=levels, n_trials=count
    )
    groups = run_trials(one, -(-count // _GROUP), seed=seed, name=name, n_jobs=n_jobs)
    few, many = np.concatenate(groups, axis=1)
    return _NoiseGrid(np.array(columns), np.array(levels), few, many)

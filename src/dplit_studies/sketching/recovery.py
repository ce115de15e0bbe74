"""Figures 4 and 5: how the risk of a decoded sketch depends on its noise and its size.

Noise of a prescribed norm and a uniform direction is added to clean sketches; smaller sketches are
the first columns of the largest, and a trial has one direction of noise for all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_real_array
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise, laplace_scale
from dplit.sketching.decoders.kmeans import decode_kmeans, sse
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit.trials import Trial, run_trials
from dplit_studies.sketching.data import MixtureLaw
from dplit_studies.sketching.references import lloyd_reference

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
    group: Trial, *, law: MixtureLaw, n_samples: int, sizes: tuple[int, ...],
    ratios: tuple[float, ...], n_trials: int,
) -> NDArray[Any]:  # fmt: skip
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
    law: MixtureLaw, *, n_samples: int, sizes: Sequence[int], ratios: Sequence[float],
    n_trials: int, seed: int, name: str, n_jobs: int | None = 1,
) -> _NoiseGrid:  # fmt: skip
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


# What the paper says about Figures 4, 5 and 8, as comparisons of medians.


#: A median RSSE below this counts as a success of the experiment.
_GOOD = 1.05

#: In Figure 8 a size is good if its median RSSE is at most this.
_USABLE = 1.2


class _Sentence(NamedTuple):
    """A sentence, whether it came out true, and what was compared."""

    text: str
    outcome: bool
    how: str


def _accepted_cells(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> np.ndarray:
    """Cells of a grid in which the rule of Section 6.1 expects a success."""
    return np.array(
        [
            [expected_to_succeed(int(m), n_clusters, n_features, nsr=float(r)) for r in grid.ratios]
            for m in grid.sizes
        ]
    )


def noise_sentences(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 4: risk follows the noise-to-signal ratio, and accepted noise costs nothing."""
    median = grid.median[0]
    accepted = _accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)[0]
    thirds = median[[0, int(np.searchsorted(grid.ratios, 0.04)), -1]]
    return [
        _Sentence(
            "The RSSE rises with the noise-to-signal ratio",
            bool(np.all(np.diff(thirds) > 0)),
            "medians at the least, a middle and the largest ratio",
        ),
        _Sentence(
            "Accepted noise costs nothing yet",
            bool(np.all(median[accepted] < _GOOD)),
            f"medians below {_GOOD:g} up to the largest accepted ratio",
        ),
    ]


def noise_size_sentences(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 5: failure at small sizes, success of what the rule accepts."""
    unit, median = n_clusters * n_features, grid.median
    accepted = _accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)
    accepted &= (grid.sizes >= 2.5 * unit)[:, None]
    low = grid.sizes <= 1.3 * unit
    at_line = median[np.flatnonzero(grid.sizes >= 2 * unit)[0], 0]
    return [
        _Sentence(
            "Reconstruction fails well below m = 2kd, whatever the noise",
            bool(np.all(median[low] > 1.5)),
            "medians above 1.5 up to m = 1.3 kd",
        ),
        _Sentence(
            "The line m = 2kd is where it begins to succeed",
            bool(at_line < 0.5 * (1 + median[low, 0].min())),
            "excess risk at the line at most half of that at 1.3 kd, least noise",
        ),
        _Sentence(
            "Everything that the rule accepts succeeds from m = 2.5 kd on",
            bool(np.all(median[accepted] < _GOOD)),
            f"medians below {_GOOD:g}",
        ),
    ]


def size_sentences(curves: _SizeCurves, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 8: what Section 6.6 says about private sketches of growing size."""
    unit, median = n_clusters * n_features, curves.median
    places = [int(np.argmin(np.abs(curves.sizes / unit - r))) for r in (1, 2, 5, 20)]
    free = median[:, 0, -1][:, places]
    budgets = np.log(np.outer(curves.n_samples, curves.epsilons[:-1]) / 1000.0)
    moderate = np.array(
        [median[n, 0, int(np.argmin(np.abs(row)))] for n, row in enumerate(budgets)]
    )
    good = curves.within(_USABLE)
    return [
        _Sentence(
            "Without privacy the risk falls with m",
            bool(np.all(np.diff(free, axis=1) < 0)),
            "medians at m/kd = 1, 2, 5, 20 for every n",
        ),
        _Sentence(
            "With Laplace noise larger sketches are worse at some point",
            bool(np.all(moderate[:, -1] > 1.1 * moderate.min(axis=1))),
            "largest m at least 10 % above the best, n epsilon = 1000, every n",
        ),
        _Sentence(
            "A smaller epsilon leaves fewer good sizes",
            bool(
                np.all(np.diff(good[:, 0], axis=1) >= -1) and np.all(good[:, 0, 0] < good[:, 0, -1])
            ),
            f"sizes with median at most {_USABLE:g}, up to one size of the grid",
        ),
        _Sentence(
            "Gaussian noise leaves more good sizes at equal epsilon",
            bool(np.all(good[:, 1].sum(axis=1) > good[:, 0].sum(axis=1))),
            f"sizes with median at most {_USABLE:g}, all budgets, every n",
        ),
    ]


# Figure 8: private k-means from sketches of different sizes. The decoder ignores the number of
# records, so that the whole budget goes to the sum.


def sum_noise_scale(n_components: int, *, epsilon: float, delta: float) -> float:
    """Laplace scale (delta 0) or sigma that makes a sum of m Fourier features private."""
    m = check_integer("n_components", n_components)
    if np.isposinf(epsilon):
        return 0.0
    if delta == 0.0:
        return float(laplace_scale(epsilon=epsilon, sensitivity=float(np.sqrt(2.0) * m)))
    return float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(np.sqrt(m))))


def private_means(
    sketch: NDArray[Any], n_samples: int, *, epsilons: Sequence[float], deltas: Sequence[float],
    sizes: Sequence[int], rng: np.random.Generator,
) -> list[NDArray[Any]]:  # fmt: skip
    """Mean sketches with Laplace (delta 0) or Gaussian noise: per size (deltas, epsilons, m).

    The entries of one call share their noise; an infinite epsilon asks for none.
    """
    z = check_finite_array("sketch", sketch, ndim=1).astype(complex)
    n = check_integer("n_samples", n_samples)
    if max(sizes) > len(z):
        raise ValueError(f"sizes must be at most {len(z)}, got sizes={list(sizes)}")
    laplace = laplace_noise(len(z), scale=1.0, rng=rng, complex=True)
    gaussian = gaussian_noise(len(z), sigma=1.0, rng=rng, complex=True)
    means = []
    for m in sizes:
        scales = [
            [sum_noise_scale(m, epsilon=epsilon, delta=delta) / n for epsilon in epsilons]
            for delta in deltas
        ]
        units = np.array([laplace[:m] if delta == 0.0 else gaussian[:m] for delta in deltas])
        means.append(z[:m] + np.array(scales)[:, :, None] * units[:, None, :])
    return means


@dataclass(frozen=True)
class _SizeCurves(_Risks):
    """Relative risks (trials, N, D, E, S) by numbers of records, deltas, epsilons and sizes, over
    3 starts of Lloyd and over the best known; ``signal`` (trials, N) is C_0 at the largest
    size.
    """

    n_samples: NDArray[Any]
    deltas: NDArray[Any]
    epsilons: NDArray[Any]
    sizes: NDArray[Any]
    few: NDArray[Any]
    many: NDArray[Any]
    signal: NDArray[Any]

    def within(self, level: float) -> NDArray[Any]:
        """Number of sizes whose median RSSE is at most ``level``, of shape (N, D, E)."""
        return np.asarray(np.sum(self.median <= level, axis=-1))


def _curves_of_group(
    group: Trial, *, law: MixtureLaw, n_samples: tuple[int, ...], epsilons: tuple[float, ...],
    deltas: tuple[float, ...], sizes: tuple[int, ...], n_trials: int,
) -> tuple[NDArray[Any], NDArray[Any]]:  # fmt: skip
    """RSSE of shape (2, trials, N, D, E, S) and C_0 of shape (trials, N) of one group of trials."""
    trials = range(_GROUP * group, min(_GROUP * (group + 1), n_trials))
    shape = (len(trials), len(n_samples))
    sets: list[_SketchedData] = []
    noisy: list[list[NDArray[Any]]] = []
    for trial in trials:
        for n in n_samples:
            name = f"{group.name} {n}"
            s = _sketched_data(law, n, max(sizes), seed=group.seed, name=name, trial=trial)
            rng = stream(group.seed, name, "noise", trial)
            budgets: dict[str, Any] = {"epsilons": epsilons, "deltas": deltas, "sizes": sizes}
            sets.append(s)
            noisy.append(private_means(s.sketch, n, **budgets, rng=rng))
    rng = stream(group.seed, f"{group.name} decoder", "public", int(group))
    places = []
    for column, m in enumerate(sizes):
        batch = np.stack([means[column] for means in noisy])
        omega = np.stack([s.frequencies[:, :m] for s in sets])
        decoded = decode_kmeans(batch, omega, law.n_clusters, bounds=law.bounds, rng=rng)
        places.append(decoded.centroids)
    costs = [sse(s.X, np.stack([p[row] for p in places], axis=2)) for row, s in enumerate(sets)]
    few = np.stack([c / s.few for c, s in zip(costs, sets, strict=True)])
    many = np.stack([c / s.many for c, s in zip(costs, sets, strict=True)])
    signal = np.array([max(sizes) / np.sum(np.abs(s.sketch) ** 2) for s in sets])
    risks = np.stack([few, many]).reshape(2, *shape, *few.shape[1:])
    return risks, signal.reshape(shape)


def size_curves(
    law: MixtureLaw, *, n_samples: Sequence[int], epsilons: Sequence[float],
    deltas: Sequence[float], sizes: Sequence[int], n_trials: int, seed: int, name: str,
    n_jobs: int | None = 1,
) -> _SizeCurves:  # fmt: skip
    """Relative risks of private compressive k-means against the size of the sketch."""
    count = check_integer("n_trials", n_trials)
    axes: dict[str, Any] = {
        "n_samples": tuple(check_integer("n_samples", int(n)) for n in n_samples),
        "epsilons": tuple(float(e) for e in epsilons),
        "deltas": tuple(float(d) for d in deltas),
        "sizes": tuple(check_integer("sizes", int(m)) for m in sizes),
    }
    one = partial(_curves_of_group, law=law, n_trials=count, **axes)
    groups = run_trials(one, -(-count // _GROUP), seed=seed, name=name, n_jobs=n_jobs)
    few, many = np.concatenate([risks for risks, _ in groups], axis=1)
    arrays = {key: np.array(value) for key, value in axes.items()}
    return _SizeCurves(**arrays, few=few, many=many, signal=np.concatenate([c for _, c in groups]))

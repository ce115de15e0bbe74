"""Figure 8: private k-means from sketches of different sizes.

The decoder ignores the number of records, so that the whole budget goes to the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_finite_array, check_integer
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise, laplace_scale
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.streams import stream
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.sketching.noise_experiments import _GROUP, _Risks, _sketched_data, _SketchedData
from dplit_studies.trials import Trial, run_trials


def sum_noise_scale(n_components: int, *, epsilon: float, delta: float) -> float:
    """Laplace scale (delta 0) or sigma that makes a sum of m Fourier features private."""
    m = check_integer("n_components", n_components)
    if np.isposinf(epsilon):
        return 0.0
    if delta == 0.0:
        return float(laplace_scale(epsilon=epsilon, sensitivity=float(np.sqrt(2.0) * m)))
    return float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(np.sqrt(m))))


def private_means(
    sketch: NDArray[Any],
    n_samples: int,
    *,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> list[NDArray[Any]]:
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
    group: Trial,
    *,
    law: MixtureLaw,
    n_samples: tuple[int, ...],
    epsilons: tuple[float, ...],
    deltas: tuple[float, ...],
    sizes: tuple[int, ...],
    n_trials: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
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
    law: MixtureLaw,
    *,
    n_samples: Sequence[int],
    epsilons: Sequence[float],
    deltas: Sequence[float],
    sizes: Sequence[int],
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _SizeCurves:
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

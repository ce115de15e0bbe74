r"""Figure 8: private k-means from sketches of different sizes, at equal privacy.

The number of records is public, or the decoder ignores it; so the whole budget goes to the sum.
Laplace noise on the mean then has scale ``sqrt(2) m / (n epsilon)`` and Gaussian noise ``sigma(
epsilon, delta) sqrt(m) / n``: the first depends on n and epsilon through their product alone.
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
from dplit.sketching.clompr import decode_kmeans
from dplit.sketching.kmeans_cost import sse
from dplit.sketching.mixtures import MixtureLaw
from dplit.sketching.noise_experiments import FAILURE, SketchedData, sketched_data
from dplit.streams import stream
from dplit.trials import Trial, run_trials

__all__ = ["SizeCurves", "private_means", "size_curves", "sum_noise_scale"]

Array = NDArray[Any]

#: Trials that are decoded together.
GROUP = 5


def sum_noise_scale(n_components: int, *, epsilon: float, delta: float) -> float:
    r"""Noise per real coordinate that makes a sum of m Fourier features private.

    Parameters
    ----------
    n_components : int
        Number m of features of modulus 1.
    epsilon : float
        Budget > 0; infinity means no noise.
    delta : float
        0 for Laplace noise of scale ``sqrt(2) m / epsilon``; in (0, 1) for Gaussian noise of the
        exact standard deviation for sensitivity ``sqrt(m)``.

    Returns
    -------
    float
        Laplace scale b or Gaussian sigma, when one record is added or removed and the number of
        records is not released.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees (2022), Lemmas 7 and 11, Table 1.

    Examples
    --------
    >>> from dplit.sketching.size_experiments import sum_noise_scale
    >>> round(sum_noise_scale(100, epsilon=1.0, delta=0.0), 3)
    141.421
    >>> round(sum_noise_scale(100, epsilon=1.0, delta=1e-8), 3)
    51.003
    """
    m = check_integer("n_components", n_components)
    if np.isposinf(epsilon):
        return 0.0
    if delta == 0.0:
        return float(laplace_scale(epsilon=epsilon, sensitivity=float(np.sqrt(2.0) * m)))
    return float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(np.sqrt(m))))


def private_means(
    sketch: Array,
    n_samples: int,
    *,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> list[Array]:
    """Mean sketches with Laplace or Gaussian noise for every size and budget.

    Parameters
    ----------
    sketch : ndarray of shape (M,), complex
        Clean mean sketch at the largest size.
    n_samples : int
        Number n of records.
    epsilons, deltas : sequences of float
        Budgets; ``deltas`` entry 0 asks for Laplace noise, infinite ``epsilons`` for none.
    sizes : sequence of int
        Sizes m of at most M.
    rng : numpy.random.Generator
        Source of one Laplace and one Gaussian vector of unit scale, which serve all budgets.

    Returns
    -------
    list of ndarray of shape (len(deltas), len(epsilons), m), complex
        One array per size. Each entry has the law of one private release; the entries of one call
        share their noise and must not be released together.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.size_experiments import private_means
    >>> budgets = dict(epsilons=[1.0, np.inf], deltas=[0.0], sizes=[2])
    >>> means = private_means(np.ones(3), 100, **budgets, rng=np.random.default_rng(0))
    >>> means[0].shape, means[0][0, 1].tolist()
    ((1, 2, 2), [(1+0j), (1+0j)])
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
class SizeCurves:
    """Relative risks over trials, numbers of records, budgets and sketch sizes.

    Attributes
    ----------
    n_samples, deltas, epsilons, sizes : ndarray
        The axes: N numbers of records, D deltas, E epsilons (the last may be infinite), S sizes.
    few, many : ndarray of shape (trials, N, D, E, S)
        RSSE against 3 starts of Lloyd's algorithm and against the best known.
    signal : ndarray of shape (trials, N)
        ``C_0 = m / |z|^2`` of the clean sketches at the largest size.
    """

    n_samples: Array
    deltas: Array
    epsilons: Array
    sizes: Array
    few: Array
    many: Array
    signal: Array

    @property
    def median(self) -> Array:
        """Median over trials of the RSSE against 3 starts, of shape (N, D, E, S)."""
        return np.median(self.few, axis=0)

    @property
    def failed(self) -> Array:
        """Share of decodes more than 5 % above the best known risk, of shape (N, D, E, S)."""
        share: Array = np.mean(self.many > FAILURE, axis=0)
        return share

    def within(self, level: float) -> Array:
        """Number of sizes whose median RSSE is at most ``level``, of shape (N, D, E)."""
        count: Array = np.sum(self.median <= level, axis=-1)
        return count


def _curves_of_group(
    group: Trial,
    *,
    law: MixtureLaw,
    n_samples: tuple[int, ...],
    epsilons: tuple[float, ...],
    deltas: tuple[float, ...],
    sizes: tuple[int, ...],
    n_trials: int,
) -> tuple[Array, Array]:
    """RSSE of shape (2, trials, N, D, E, S) and C_0 of shape (trials, N) of one group of trials."""
    trials = range(GROUP * group, min(GROUP * (group + 1), n_trials))
    shape = (len(trials), len(n_samples))
    sets: list[SketchedData] = []
    noisy: list[list[Array]] = []
    for trial in trials:
        for n in n_samples:
            name = f"{group.name} {n}"
            s = sketched_data(law, n, max(sizes), seed=group.seed, name=name, trial=trial)
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
) -> SizeCurves:
    """Relative risks of private compressive k-means against the size of the sketch.

    Parameters
    ----------
    law : MixtureLaw
        Law of the data and scale of the frequencies.
    n_samples : sequence of int
        Numbers of records.
    epsilons, deltas : sequences of float
        Budgets; delta 0 means Laplace noise, an infinite epsilon none.
    sizes : sequence of int
        Sketch sizes m.
    n_trials : int
        Data sets per number of records.
    seed, name : int, str
        Name the streams.
    n_jobs : int or None, default=1
        Workers; the result does not depend on it.

    Returns
    -------
    SizeCurves
        RSSE of all decodes, with C_0 of the sketches.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    RuntimeError
        If a trial fails.

    References
    ----------
    Chatalic et al. (2022), Figure 8.

    Examples
    --------
    >>> from dplit.sketching.mixtures import MixtureLaw
    >>> from dplit.sketching.size_experiments import size_curves
    >>> law = MixtureLaw(2, 2, separation=20.0, frequency_variance=0.2)
    >>> budgets = dict(epsilons=[1.0], deltas=[0.0, 1e-8], sizes=[8, 40])
    >>> curves = size_curves(law, n_samples=[500], **budgets, n_trials=2, seed=0, name="example")
    >>> curves.median.shape
    (1, 2, 1, 2)
    """
    count = check_integer("n_trials", n_trials)
    axes: dict[str, Any] = {
        "n_samples": tuple(check_integer("n_samples", int(n)) for n in n_samples),
        "epsilons": tuple(float(e) for e in epsilons),
        "deltas": tuple(float(d) for d in deltas),
        "sizes": tuple(check_integer("sizes", int(m)) for m in sizes),
    }
    one = partial(_curves_of_group, law=law, n_trials=count, **axes)
    groups = run_trials(one, -(-count // GROUP), seed=seed, name=name, n_jobs=n_jobs)
    few, many = np.concatenate([risks for risks, _ in groups], axis=1)
    arrays = {key: np.array(value) for key, value in axes.items()}
    return SizeCurves(**arrays, few=few, many=many, signal=np.concatenate([c for _, c in groups]))

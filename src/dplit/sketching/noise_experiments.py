r"""Figures 4 and 5: how the risk of a decoded sketch depends on its noise and its size.

Noise of a prescribed norm and a uniform direction is added to clean sketches. Two devices save
work and leave every marginal law as it is: one sketch per data set at the largest size, of which
smaller ones are the first columns; and one direction of noise per trial, scaled to all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative
from dplit.sketching.clompr import decode_kmeans
from dplit.sketching.kmeans_cost import lloyd_reference, sse
from dplit.sketching.mixtures import MixtureLaw
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit.trials import Trial, run_trials

__all__ = [
    "FAILURE",
    "NoiseGrid",
    "SketchedData",
    "acceptable_nsr",
    "expected_to_succeed",
    "noise_grid",
    "noisy_sketches",
    "sketched_data",
]

Array = NDArray[Any]

#: A decode whose risk is more than 5 % above the best known is called failed.
FAILURE = 1.05
#: Trials that are decoded together.
GROUP = 5


def noisy_sketches(sketch: ArrayLike, direction: ArrayLike, ratios: ArrayLike) -> Array:
    r"""Sketches with noise of exactly the given noise-to-signal ratios.

    Parameters
    ----------
    sketch : array_like of shape (m,), complex
        Clean sketch z.
    direction : array_like of shape (m,), complex
        Where the noise points; a complex Gaussian vector gives a uniform direction.
    ratios : array_like of shape (R,)
        Ratios ``|s - z|^2 / |z|^2``, nonnegative.

    Returns
    -------
    ndarray of shape (R, m), complex128
        ``z + sqrt(ratio) |z| g / |g|``.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, the shapes differ, a ratio is negative or the direction zero.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees (2022), Section 6.1.

    Examples
    --------
    >>> from dplit.sketching.noise_experiments import noisy_sketches
    >>> noisy_sketches([3.0, 4.0], [1j, 0.0], [0.0, 0.04])
    array([[3.+0.j, 4.+0.j],
           [3.+1.j, 4.+0.j]])
    """
    z = check_finite_array("sketch", sketch, ndim=1).astype(complex)
    g = check_finite_array("direction", direction, ndim=1)
    levels = check_finite_array("ratios", ratios, ndim=1)
    if g.shape != z.shape or not np.any(g):
        raise ValueError(
            f"direction must be a nonzero vector of shape {z.shape}, got shape {g.shape}"
        )
    if np.any(levels < 0):
        raise ValueError(f"ratios must be nonnegative, got ratios with {levels.min():g}")
    unit = g * (np.linalg.norm(z) / np.linalg.norm(g))
    noisy: Array = z + np.sqrt(levels)[:, None] * unit
    return noisy


def acceptable_nsr(n_components: int, n_clusters: int, n_features: int) -> float:
    r"""Largest noise-to-signal ratio that the paper accepts, ``m / (10^3 k d)``.

    Parameters
    ----------
    n_components, n_clusters, n_features : int
        Size m of the sketch, clusters k, dimension d.

    Returns
    -------
    float
        The ratio.

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer.

    References
    ----------
    Chatalic et al. (2022), Section 6.1.

    Examples
    --------
    >>> from dplit.sketching.noise_experiments import acceptable_nsr
    >>> acceptable_nsr(1000, 10, 10)
    0.01
    """
    m = check_integer("n_components", n_components)
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    return m / (1e3 * size)


def expected_to_succeed(n_components: int, n_clusters: int, n_features: int, *, nsr: float) -> bool:
    """Whether the paper's rule expects a success: ``m >= 2 k d`` and an acceptable ratio.

    Parameters
    ----------
    n_components, n_clusters, n_features : int
        Size m of the sketch, clusters k, dimension d.
    nsr : float
        Noise-to-signal ratio, nonnegative.

    Returns
    -------
    bool
        The rule of Section 6.1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.noise_experiments import expected_to_succeed
    >>> expected_to_succeed(200, 10, 10, nsr=1e-3), expected_to_succeed(100, 10, 10, nsr=0.0)
    (True, False)
    """
    limit = acceptable_nsr(n_components, n_clusters, n_features)
    enough = n_components >= 2 * n_clusters * n_features
    quiet = check_nonnegative("nsr", nsr) <= limit
    return bool(enough and quiet)


@dataclass(frozen=True)
class SketchedData:
    """One data set of an experiment with its sketch and its reference risks."""

    X: Array
    frequencies: Array
    sketch: Array
    few: float
    many: float


def sketched_data(
    law: MixtureLaw, n_samples: int, n_components: int, *, seed: int, name: str, trial: int
) -> SketchedData:
    """Draw data and frequencies of one trial, sketch the data and run Lloyd's algorithm.

    Parameters
    ----------
    law : MixtureLaw
        Law of the data and scale of the frequencies.
    n_samples, n_components : int
        Sizes n and m.
    seed, name, trial : int, str, int
        Name the streams ``"data"`` and ``"public"``.

    Returns
    -------
    SketchedData
        Records, frequencies (d, m), mean sketch (m,), and the risks of 3 and of 20 starts.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    """
    data = stream(seed, name, "data", trial)
    X, centers = law.draw(n_samples, rng=data)
    omega = law.frequencies(n_components, rng=stream(seed, name, "public", trial))
    mean = sketch(X, SketchMap("fourier", omega)).mean
    reference = lloyd_reference(X, law.n_clusters, rng=data, centers=centers)
    return SketchedData(X, omega, mean, reference.few, reference.many)


@dataclass(frozen=True)
class NoiseGrid:
    """Relative risks over trials, sketch sizes and noise levels.

    Attributes
    ----------
    sizes : ndarray of shape (S,)
        Sketch sizes m.
    ratios : ndarray of shape (R,)
        Noise-to-signal ratios.
    few, many : ndarray of shape (trials, S, R)
        RSSE against 3 starts of Lloyd's algorithm (the paper's) and against the best known.
    """

    sizes: Array
    ratios: Array
    few: Array
    many: Array

    @property
    def median(self) -> Array:
        """Median over trials of the RSSE against 3 starts, of shape (S, R)."""
        return np.median(self.few, axis=0)

    @property
    def failed(self) -> Array:
        """Share of decodes more than 5 % above the best known risk, of shape (S, R)."""
        share: Array = np.mean(self.many > FAILURE, axis=0)
        return share


def _grid_of_group(
    group: Trial,
    *,
    law: MixtureLaw,
    n_samples: int,
    sizes: tuple[int, ...],
    ratios: tuple[float, ...],
    n_trials: int,
) -> Array:
    """RSSE of shape (2, trials of the group, sizes, ratios)."""
    trials = range(GROUP * group, min(GROUP * (group + 1), n_trials))
    seed, name, largest = group.seed, group.name, max(sizes)
    sets = [
        sketched_data(law, n_samples, largest, seed=seed, name=name, trial=trial)
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
) -> NoiseGrid:
    """Relative risks of sketches with isotropic noise of prescribed size.

    Parameters
    ----------
    law : MixtureLaw
        Law of the data and scale of the frequencies.
    n_samples : int
        Records per data set.
    sizes : sequence of int
        Sketch sizes m.
    ratios : sequence of float
        Noise-to-signal ratios.
    n_trials : int
        Data sets; each comes with frequencies and a direction of noise of its own.
    seed, name : int, str
        Name the streams.
    n_jobs : int or None, default=1
        Workers; the result does not depend on it.

    Returns
    -------
    NoiseGrid
        RSSE of all decodes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    RuntimeError
        If a trial fails.

    References
    ----------
    Chatalic et al. (2022), Figures 4 and 5.

    Examples
    --------
    >>> from dplit.sketching.mixtures import MixtureLaw
    >>> from dplit.sketching.noise_experiments import noise_grid
    >>> law = MixtureLaw(2, 2, separation=20.0, frequency_variance=0.2)
    >>> sizes = dict(n_samples=500, sizes=[4, 40], ratios=[0.0, 1.0])
    >>> noise_grid(law, **sizes, n_trials=3, seed=0, name="example").median.shape
    (2, 2)
    """
    count = check_integer("n_trials", n_trials)
    levels = tuple(float(r) for r in check_finite_array("ratios", ratios, ndim=1))
    columns = tuple(check_integer("sizes", int(m)) for m in sizes)
    one = partial(
        _grid_of_group, law=law, n_samples=n_samples, sizes=columns, ratios=levels, n_trials=count
    )
    groups = run_trials(one, -(-count // GROUP), seed=seed, name=name, n_jobs=n_jobs)
    few, many = np.concatenate(groups, axis=1)
    return NoiseGrid(np.array(columns), np.array(levels), few, many)

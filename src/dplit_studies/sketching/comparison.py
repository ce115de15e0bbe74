"""k-means at equal privacy: Lloyd, private Lloyd, and sketches with every noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from dplit._checks import Array, check_integer, check_real_array
from dplit.clusters.lloyd import private_lloyd, spread_centers
from dplit.sketching._kinds import NoiseKind
from dplit.sketching.decoders._quantized import dequantized_sketch
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap, sketch
from dplit_studies.runs import Runs
from dplit_studies.sketching.clompr_reference import lloyd
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.trials import Trial, run_trials

#: Method -> its noise; the first two are private Lloyd, the others sketches.
METHODS: dict[str, NoiseKind] = {
    "lloyd-laplace": "laplace",
    "lloyd-gaussian": "gaussian",
    "laplace": "laplace",
    "polydisc": "polydisc",
    "cube": "cube",
    "gaussian": "gaussian",
}

_SKETCHES = ("laplace", "polydisc", "cube", "gaussian")


@dataclass(frozen=True)
class _ClusterProblem:
    """Records to cluster, and everything about them that is public."""

    X: NDArray[Any]
    n_clusters: int
    bounds: tuple[Any, Any]
    frequencies: Array


@dataclass(frozen=True)
class _KMeansComparison(Runs):
    """Relative risks (over non-private Lloyd, best of 5 starts) of all methods and budgets.

    Private Lloyd has the number of steps that was best for the budget, in hindsight and at no cost.
    """

    epsilons: tuple[float, ...]
    delta: float
    exact: Array

    def budget_for(self, method: str, level: float) -> float:
        """Least budget from which on the median stays at or below ``level``, by interpolation in
        its logarithm; infinite if the level is not reached at the largest one.
        """
        values = self.median(method)
        logs = np.log(np.asarray(self.epsilons))
        above = np.flatnonzero(values > level)
        if len(above) == 0:
            return float(self.epsilons[0])
        last = int(above[-1])
        if last == len(values) - 1:
            return float("inf")
        share = (values[last] - level) / (values[last] - values[last + 1])
        return float(np.exp(logs[last] + share * (logs[last + 1] - logs[last])))


def _released_sums(
    problem: _ClusterProblem, epsilons: Sequence[float], delta: float, trial: Trial
) -> NDArray[np.complex128]:
    """Return the exact sum and all releases, of shape (1 + 4 budgets, m), ready to decode."""
    omega, noise = problem.frequencies, trial.stream("noise")
    dither = np.asarray(trial.stream("public").uniform(0.0, 2.0 * np.pi, omega.shape[1]))
    plain = sketch(problem.X, SketchMap("fourier", omega))
    coarse = sketch(problem.X, SketchMap("quantized", omega, dither))
    sums = [plain.sum]
    for method in _SKETCHES:
        exact = coarse if method == "cube" else plain
        for epsilon in epsilons:
            plan = plan_release(
                exact.map,
                epsilon=epsilon,
                delta=delta if method == "gaussian" else 0.0,
                noise=METHODS[method],
                count="withheld",
            )
            values = plan.apply(exact, rng=noise).sum
            sums.append(dequantized_sketch(values, dither) if method == "cube" else values)
    return np.array(sums)


def _private_risks(
    problem: _ClusterProblem,
    *,
    epsilons: Sequence[float],
    delta: float,
    n_iters: Sequence[int],
    trial: Trial,
) -> tuple[float, Array, Array]:
    """Relative risks: exact, private Lloyd (2, n_iters, epsilons), sketches (4, epsilons)."""
    X, k, public = problem.X, problem.n_clusters, trial.stream("public")
    _, reference = lloyd(X, k, n_starts=5, rng=public)
    start = spread_centers(k, X.shape[1], bounds=problem.bounds, rng=public)
    noise = trial.stream("noise").spawn(1)[0]
    centres = [
        private_lloyd(
            X,
            start,
            bounds=problem.bounds,
            epsilon=epsilon,
            n_iter=steps,
            rng=noise,
            delta=0.0 if law == "laplace" else delta,
            noise=cast("Any", law),
        ).centers
        for law in ("laplace", "gaussian")
        for steps in n_iters
        for epsilon in epsilons
    ]
    sums = _released_sums(problem, epsilons, delta, trial)
    found = decode_kmeans(sums, problem.frequencies, k, bounds=problem.bounds, rng=public)
    costs = np.asarray(sse(X, np.concatenate([centres, found.centroids]))) / reference
    count, shape = len(centres), (2, len(n_iters), len(epsilons))
    sketches = costs[count + 1 :].reshape(len(_SKETCHES), len(epsilons))
    return float(costs[count]), costs[:count].reshape(shape), sketches


def _gathered(
    results: list[tuple[float, Array, Array]], epsilons: Sequence[float], delta: float
) -> _KMeansComparison:
    """Collect the trials; private Lloyd gets, for every budget, its best number of steps."""
    exact, lloyds, sketches = (np.array(part) for part in zip(*results, strict=True))
    best = np.median(lloyds, axis=0).argmin(axis=1)  # (2, budgets)
    columns = np.arange(len(epsilons))
    rows = [lloyds[:, law, best[law], columns] for law in range(2)]
    rows += [sketches[:, index] for index in range(len(_SKETCHES))]
    return _KMeansComparison(dict(zip(METHODS, rows, strict=True)), tuple(epsilons), delta, exact)


def _mixture_trial(
    trial: Trial, law: MixtureLaw, n_samples: int, n_components: int, options: dict[str, Any]
) -> tuple[float, Array, Array]:
    X, _ = law.draw(n_samples, rng=trial.stream("data"))
    omega = law.frequencies(n_components, rng=trial.stream("public").spawn(1)[0])
    problem = _ClusterProblem(X, law.n_clusters, law.bounds, omega)
    return _private_risks(problem, trial=trial, **options)


def kmeans_comparison(
    law: MixtureLaw,
    *,
    n_samples: int,
    n_components: int,
    epsilons: Sequence[float],
    delta: float,
    n_iters: Sequence[int] = (2, 3, 5, 10),
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _KMeansComparison:
    """Compare all methods on synthetic mixtures."""
    check_integer("n_samples", n_samples)
    options = {"epsilons": list(epsilons), "delta": delta, "n_iters": list(n_iters)}
    work = partial(
        _mixture_trial, law=law, n_samples=n_samples, n_components=n_components, options=options
    )
    results = run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    return _gathered(results, epsilons, delta)


def _digits_problem(
    n_components: int,
    *,
    n_dimensions: int = 10,
    scale: float = 1.0,
    rng: np.random.Generator,
    images: ArrayLike | None = None,
) -> _ClusterProblem:
    """Handwritten digits in a few dimensions; the first half of the images is public and gives the
    projection, a box a tenth wider than its range, and the scale s of the clusters: frequencies
    have variance ``scale / (d s^2)``.
    """
    pixels = load_digits().data if images is None else images
    rows = check_real_array("images", pixels, 2)
    d = check_integer("n_dimensions", n_dimensions)
    half = len(rows) // 2
    projection = PCA(d, random_state=0).fit(rows[:half])
    public, private = (projection.transform(part) for part in (rows[:half], rows[half:]))
    _, inner = lloyd(public, 10, n_starts=5, rng=rng)
    deviation = np.sqrt(scale / inner)  # inner = d s^2
    omega = deviation * rng.standard_normal((check_integer("n_components", n_components), d)).T
    low, high = public.min(axis=0), public.max(axis=0)
    margin = 0.05 * (high - low)
    return _ClusterProblem(private, 10, (low - margin, high + margin), omega)


def _digits_trial(
    trial: Trial, n_components: int, scale: float, options: dict[str, Any]
) -> tuple[float, Array, Array]:
    public = trial.stream("public").spawn(1)[0]
    problem = _digits_problem(n_components, scale=scale, rng=public)
    return _private_risks(problem, trial=trial, **options)


def digits_comparison(
    *,
    n_components: int,
    epsilons: Sequence[float],
    delta: float,
    scale: float = 1.0,
    n_iters: Sequence[int] = (2, 3, 5, 10),
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _KMeansComparison:
    """Compare all methods on the private half of the digits (899 images, 10 dimensions, k = 10)."""
    options = {"epsilons": list(epsilons), "delta": delta, "n_iters": list(n_iters)}
    work = partial(_digits_trial, n_components=n_components, scale=scale, options=options)
    results = run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    return _gathered(results, epsilons, delta)

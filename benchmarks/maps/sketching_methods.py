"""The rivals of private clustering on one data set, at one budget."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.maps.grid_clusters import grid_centres, hybrid_centres
from benchmarks.maps.hash_tree import tree_centres
from benchmarks.maps.sketching_records import law, reference
from benchmarks.maps.sketching_rivals import CELLS, Budget, em_centres, moment_centres
from dplit._checks import Array
from dplit.advice._cluster_settings import ClusterFacts, frequencies_of, settings
from dplit.clusters.estimator import PrivateLloyd
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, _fourier_map
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import Sketch, sketch
from dplit_studies.trials import Trial

#: Family of rivals by method, in the order of the archive.
FAMILIES = {
    "sketch": "sketch",
    "sketch, short": "sketch",
    "sketch, mixture": "sketch",
    "lloyd, 1 step": "lloyd",
    "lloyd, 3 steps": "lloyd",
    "lloyd, wide": "lloyd",
    "grid": "grid",
    "grid, fine": "grid",
    "EUGkM": "grid",
    "hybrid": "grid",
    "tree, 6": "tree",
    "tree, 10": "tree",
    "tree, 20": "tree",
    "moments": "moments",
    "EM": "EM",
}

METHODS = tuple(FAMILIES)

#: What is decoded as a mixture has at most so many components.
_MIXTURES = 6


def _released(
    X: Array,
    facts: ClusterFacts,
    part: str,
    public: np.random.Generator,
    noise: np.random.Generator,
) -> Callable[[float, float], Sketch]:
    """A sketch of records, computed once, with the estimators' noise at any budget."""
    m = frequencies_of(facts, part)
    made = _fourier_map(
        "fourier", np.ones(facts.d), m, gamma=None, bound=np.ones(facts.d), rng=public
    )
    exact = sketch(X, made)

    def at(epsilon: float, delta: float) -> Sketch:
        law = "gaussian" if delta else "polydisc"
        plan = plan_release(exact.map, epsilon=epsilon, delta=delta, noise=law, count="withheld")  # type: ignore[arg-type]
        return plan.apply(exact, rng=noise)

    return at


def _sketched(
    facts: ClusterFacts, releases: Mapping[str, Callable[[float, float], Sketch]], seed: int
) -> dict[str, Array]:
    """Centres of what sketches decode to."""
    k, found = facts.k, dict[str, Array]()
    told: dict[str, Any] = {"bounds": (-1.0, 1.0), "random_state": seed, "delta": facts.delta}
    for name, release in releases.items():
        seen = release(facts.epsilon, facts.delta)
        found[name] = CompressiveKMeans(k, **told).fit_sketch(seen).cluster_centers_
        if name == "sketch" and k <= _MIXTURES:
            mixture = CompressiveGaussianMixture(k, n_starts=1, **told)
            found["sketch, mixture"] = mixture.fit_sketch(seen).means_
    return found


def _lloyds(X: Array, facts: ClusterFacts, seed: int) -> dict[str, Array]:
    """Centres of private Lloyd at its public settings."""
    found = {}
    for name in ("lloyd, 1 step", "lloyd, 3 steps", "lloyd, wide"):
        model = PrivateLloyd(**settings(name, facts), random_state=seed)
        found[name] = model.fit(X).cluster_centers_
    return found


def _rivals(
    X: Array, facts: ClusterFacts, rng: np.random.Generator, public: np.random.Generator
) -> dict[str, Array]:
    """Centres of everything that the package does not ship."""
    n, d, k, budget = facts.n, facts.d, facts.k, Budget(facts.epsilon, facts.delta)
    found = dict[str, Array]()
    known: dict[str, Any] = {"n": n, "budget": budget, "rng": rng}
    if CELLS ** (1.0 / d) >= 2.0:
        found["grid"] = grid_centres(X, k, **known)
        found["grid, fine"] = grid_centres(X, k, finer=2.0, **known)
        found["EUGkM"] = grid_centres(X, k, threshold=False, **known)
        found["hybrid"] = hybrid_centres(X, k, **known)
    for depth in (6, 10, 20):
        found[f"tree, {depth}"] = tree_centres(X, k, depth=depth, public=public, **known)
    found["moments"] = moment_centres(X, k, budget=budget, rng=rng)
    steps = 4 if n * facts.epsilon <= 10_000 else 8
    found["EM"] = em_centres(X, k, steps=steps, budget=budget, rng=rng, public=public)
    return found


def _errors_on(
    X: Array,
    facts: ClusterFacts,
    budgets: Sequence[tuple[float, float]],
    trial: Trial,
    start: Array | None = None,
    rivals: bool = True,
) -> Array:
    """Errors (budgets, methods) on one set of records; NaN where a method has no setting, and for
    all that the package does not ship where no ``rivals`` are asked for.
    """
    public, noise = trial.stream("public"), trial.stream("noise")
    one, best = reference(X, facts.k, trial.stream("data").spawn(1)[0], start)
    releases = {
        name: _released(X, facts, name, *public.spawn(1), *noise.spawn(1))
        for name in ("sketch", "sketch, short")
    }
    rows = []
    for epsilon, delta in budgets:
        told = facts._replace(epsilon=epsilon, delta=delta)
        seed, rng = int(noise.integers(2**31)), noise.spawn(1)[0]
        with warnings.catch_warnings():  # that noise rules is what is measured
            warnings.simplefilter("ignore", UserWarning)
            found = _sketched(told, releases, seed) | _lloyds(X, told, seed)
            found |= _rivals(X, told, rng, public) if rivals else {}
        rows.append(
            [
                (float(sse(X, found[name])) - best) / (one - best) if name in found else math.nan
                for name in METHODS
            ]
        )
    return np.array(rows)


def _trial(trial: Trial, *, facts: ClusterFacts, budgets: Sequence[tuple[float, float]]) -> Array:
    X, centres = law(facts, trial.stream("data"))
    return _errors_on(X, facts, budgets, trial, centres)

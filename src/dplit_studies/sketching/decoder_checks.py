"""Experiments on the decoder itself: against the plain one, against the truth, under other noises.

A mixture is poor because the sketch does not tell, or because the search ends in a local minimum: a
descent from the true centres that ends lower than the decoder shows the latter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.streams import stream
from dplit_studies.sketching.clompr_reference import reference_decode, refine_kmeans
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.sketching.noise_experiments import _sketched_data, _SketchedData, noisy_sketches
from dplit_studies.sketching.nsr_simulation import _draw_noise
from dplit_studies.trials import Trial, run_trials

#: Laws whose draws serve as directions, and the one that imitates the loss of a cluster.
_NOISES = ("gaussian", "laplace", "polydisc", "cube", "cluster")


@dataclass(frozen=True)
class _DecoderPair:
    """Costs and relative risks of two decoders on the same sketches, one entry per problem."""

    cost: NDArray[Any]
    plain_cost: NDArray[Any]
    rsse: NDArray[Any]
    plain_rsse: NDArray[Any]


def _data(
    law: MixtureLaw, n_samples: int, n_components: int, n_trials: int, seed: int, name: str
) -> list[_SketchedData]:
    return [
        _sketched_data(law, n_samples, n_components, seed=seed, name=name, trial=trial)
        for trial in range(check_integer("n_trials", n_trials))
    ]


def compare_decoders(
    law: MixtureLaw,
    *,
    n_samples: int,
    n_components: int,
    n_trials: int,
    seed: int,
    name: str,
    plain_restarts: int = 1,
) -> _DecoderPair:
    """Decode the same sketches with the batch and with the plain decoder."""
    sets = _data(law, n_samples, n_components, n_trials, seed, name)
    rng = stream(seed, f"{name} decoder", "public")
    sketches = np.array([s.sketch for s in sets])[:, None]
    omega = np.array([s.frequencies for s in sets])
    batch = decode_kmeans(sketches, omega, law.n_clusters, bounds=law.bounds, rng=rng)
    plain = [
        reference_decode(
            s.sketch,
            s.frequencies,
            law.n_clusters,
            bounds=law.bounds,
            rng=rng,
            n_restarts=plain_restarts,
        )
        for s in sets
    ]
    rows = list(zip(sets, batch.centroids[:, 0], plain, strict=True))
    return _DecoderPair(
        batch.cost[:, 0],
        np.array([float(p.cost) for p in plain]),
        np.array([sse(s.X, c) / s.many for s, c, _ in rows]),
        np.array([sse(s.X, p.centroids) / s.many for s, _, p in rows]),
    )


@dataclass(frozen=True)
class _SearchGap:
    """What the decoder found, and what a descent from the true centres finds."""

    cost_ratio: NDArray[Any]
    rsse: NDArray[Any]
    rsse_near_truth: NDArray[Any]


def search_gap(
    law: MixtureLaw, *, n_samples: int, sizes: tuple[int, ...], n_trials: int, seed: int, name: str
) -> _SearchGap:
    """Compare decodes of clean sketches with the minimum nearest to the truth.

    A cost ratio above 1 is a failure of the search, not of the sketch.
    """
    k = law.n_clusters
    sets = _data(law, n_samples, max(sizes), n_trials, seed, name)
    # the first numbers of a trial's data stream are its centres
    centers = [law.draw(1, rng=stream(seed, name, "data", t))[1] for t in range(n_trials)]
    rng = stream(seed, f"{name} decoder", "public")
    found = np.empty((3, n_trials, len(sizes)))
    for column, m in enumerate(sizes):
        omega = np.array([s.frequencies[:, :m] for s in sets])
        sketches = np.array([s.sketch[:m] for s in sets])[:, None]
        batch = decode_kmeans(sketches, omega, k, bounds=law.bounds, rng=rng)
        for row, s in enumerate(sets):
            near = refine_kmeans(
                s.sketch[:m], omega[row], centers[row], np.full(k, 1 / k), bounds=law.bounds
            )
            risks = sse(s.X, np.stack([batch.centroids[row, 0], near.centroids])) / s.many
            found[:, row, column] = batch.cost[row, 0] / float(near.cost), *risks
    return _SearchGap(*found)


def _direction(
    kind: str, law: MixtureLaw, centers: NDArray[Any], omega: NDArray[Any], rng: Any
) -> NDArray[Any]:
    """Draw a noise vector, or return minus the sketch of the first cluster."""
    m = omega.shape[1]
    if kind == "cluster":
        return -law.population_sketch(omega, centers[:1])
    noise = _draw_noise(cast("Any", kind), (1, m), scale=1.0, complex_valued=True, rng=rng)
    return np.asarray(noise[0])


def _transfer_of_trial(
    trial: Trial, *, law: MixtureLaw, n_samples: int, n_components: int, ratio: float
) -> NDArray[Any]:
    s = _sketched_data(
        law, n_samples, n_components, seed=trial.seed, name=trial.name, trial=int(trial)
    )
    centers = law.draw(1, rng=trial.stream("data"))[1]
    rng = trial.stream("noise")
    directions = [_direction(kind, law, centers, s.frequencies, rng) for kind in _NOISES]
    sketches = [noisy_sketches(s.sketch, g, [ratio])[0] for g in directions]
    decoder = stream(trial.seed, f"{trial.name} decoder", "public", int(trial))
    found = decode_kmeans(sketches, s.frequencies, law.n_clusters, bounds=law.bounds, rng=decoder)
    return np.asarray(sse(s.X, found.centroids) / s.many)


def noise_transfer(
    law: MixtureLaw,
    *,
    n_samples: int,
    n_components: int,
    ratio: float,
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> dict[str, NDArray[Any]]:
    """Relative risks, by kind of ``_NOISES``, at exactly the same noise-to-signal ratio."""
    one = partial(
        _transfer_of_trial,
        law=law,
        n_samples=n_samples,
        n_components=n_components,
        ratio=float(ratio),
    )
    risks = np.array(run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    return dict(zip(_NOISES, risks.T, strict=True))

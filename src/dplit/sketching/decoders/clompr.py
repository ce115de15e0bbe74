"""Compressive k-means: fit k weighted points to a sketch, for many sketches at once.

``|z - sum_l w_l exp(i <omega, c_l>)|^2`` over points in a public box and weights ``w_l >= 0``, by
orthogonal matching pursuit with replacement (CL-OMPR): ``2 k`` rounds of *add the atom that
explains most of the residual, drop the lightest of k + 1, adjust all*. The number of records is
neither needed nor used. Post-processing of the sketch: no privacy is spent, restarts included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._bounds import check_box
from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_real_array,
    check_rng,
)
from dplit._solvers.lbfgs import Box
from dplit.sketching.decoders._dirac import DiracBatch, Pool, add_atoms, adjust, drop_lightest


@dataclass(frozen=True)
class _DecodedKMeans:
    """Points (..., k, d) in the box, weights (..., k) and squared distances (...).

    In the units of the sketch: of a sum the weights add up to about the number of records, less for
    clusters of positive width.
    """

    centroids: NDArray[Any]
    weights: NDArray[Any]
    cost: NDArray[Any]


#: Share of the pool in which each new atom starts; iterations for a new atom, for all after each
#: round, and in the last round; relative gains below which an iteration is the last of these two.
_SHARE, _ATOM_ITERATIONS, _JOINT_ITERATIONS, _FINAL_ITERATIONS = 0.3, 12, 5, 150


_JOINT_TOL, _FINAL_TOL = 1e-3, 1e-5


def _effort(n_components: int, unknowns: int) -> tuple[int, int]:
    """Return the size of the pool, and from how many of its points a new atom starts.

    For m frequencies and ``unknowns = k d``: the fewer numbers per unknown, the more false maxima.
    """
    candidates = min(max(200_000 // n_components, 400), 2000)
    return candidates, min(max(round(25 * unknowns / n_components), 3), 12)


def sketch_misfit(
    sketch: ArrayLike, frequencies: ArrayLike, centroids: ArrayLike, weights: ArrayLike
) -> float:
    """Squared distance ``|z - sum_l w_l exp(i <omega, c_l>)|^2``, the objective of (3).

    >>> sketch_misfit([1.0, 1.0], [[1.0, 2.0]], [[0.0]], [3.0])  # 2 (1 - 3)^2
    8.0
    """
    z = check_finite_array("sketch", sketch, ndim=1)
    points = check_finite_array("centroids", centroids, ndim=2)
    waves = np.exp(1j * (points @ check_finite_array("frequencies", frequencies, ndim=2)))
    gap = z - check_finite_array("weights", weights, ndim=1) @ waves
    return float(np.sum(gap.real**2 + gap.imag**2))


def _checked_frequencies(
    frequencies: ArrayLike, z: NDArray[Any], k: int, needed: Callable[[int, int], int]
) -> Array:
    """Return frequencies (d, m); refuse a sketch that has not m, or ``needed(d, k)``, entries."""
    omega = check_real_array("frequencies", frequencies, 2)
    d, m = omega.shape
    if len(z) != m:
        raise ValueError(f"z must have {m} entries, got z of shape {z.shape}")
    if m < needed(d, k):
        raise ValueError(
            f"z must have at least {needed(d, k)} entries for {k} components in dimension {d}, "
            f"got z of shape {z.shape}"
        )
    return omega


def _checked_problem(
    sketches: ArrayLike, frequencies: ArrayLike, n_clusters: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return sketches (P, m), frequencies (G, d, m) and the group of each problem."""
    z = check_finite_array("sketches", sketches)
    omega = check_finite_array("frequencies", frequencies)
    if omega.ndim not in (2, 3) or omega.dtype.kind == "c":
        raise ValueError(
            "frequencies must be a real (d, m) or (G, d, m) array, "
            f"got shape {omega.shape} and dtype {omega.dtype}"
        )
    groups = omega.reshape(-1, *omega.shape[-2:])
    shared = omega.ndim == 2
    if z.shape[-1] != omega.shape[-1] or not (shared or (z.ndim >= 2 and len(z) == len(omega))):
        raise ValueError(
            f"sketches must have shape (..., m), or (G, ..., m) for G groups of frequencies; "
            f"got sketches of shape {z.shape} and frequencies of shape {omega.shape}"
        )
    check_integer("n_clusters", n_clusters)
    unknown, known = n_clusters * (omega.shape[-2] + 1), 2 * omega.shape[-1]
    if unknown > known:
        raise ValueError(
            f"n_clusters must satisfy n_clusters (d + 1) <= 2 m, as a sketch holds 2 m numbers; "
            f"got n_clusters={n_clusters}: {unknown} unknowns and {known} numbers"
        )
    flat = z.reshape(-1, z.shape[-1]).astype(complex)
    if not np.any(omega) or not np.all(np.any(flat, axis=1)):
        raise ValueError("sketches and frequencies must not be zero: nothing could be located")
    return flat, groups, np.repeat(np.arange(len(groups)), len(flat) // len(groups))


def _pursue(
    batch: DiracBatch, n_clusters: int, box: Box, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """CL-OMPR on every problem of the batch: points, weights and squared distances."""
    kind, problems = batch.real.dtype, len(batch.group)
    candidates, starts = _effort(batch.n_components, n_clusters * batch.n_features)
    pool = Pool(batch, box, candidates, rng)
    points = np.empty((problems, 0, batch.n_features), kind)
    weights, value = np.empty((problems, 0), kind), np.ones(problems, kind)
    for left in range(2 * n_clusters - 1, -1, -1):
        points = add_atoms(
            batch,
            points,
            weights,
            pool,
            share=_SHARE,
            count=starts,
            max_iter=_ATOM_ITERATIONS,
            rng=rng,
        )
        points, weights = drop_lightest(batch, points, n_clusters)
        iterations = _JOINT_ITERATIONS if left else _FINAL_ITERATIONS
        tol = _JOINT_TOL if left else _FINAL_TOL
        points, weights, value = adjust(batch, points, weights, box, max_iter=iterations, tol=tol)
    return points, weights, value


def decode_kmeans(
    sketches: ArrayLike,
    frequencies: ArrayLike,
    n_clusters: int,
    *,
    bounds: tuple[ArrayLike, ArrayLike],
    rng: np.random.Generator,
    n_restarts: int = 2,
    dtype: Literal["float32", "float64"] = "float32",
) -> _DecodedKMeans:
    """Centroids and weights fitted to sketches by CL-OMPR, all problems at once: post-processing.

    ``sketches`` (..., m) are sums or means of ``exp(i <omega_j, x>)``, noisy or not, up to any
    positive factor (one-bit features go through ``dequantized_sketch`` first); ``frequencies`` (d,
    m) serve all of them, (G, d, m) the G entries of their first axis; ``k (d + 1) <= 2 m``.
    ``bounds`` are corners of a **public** box that holds the centroids, and ``rng`` gives
    candidates: neither secret nor related to the privacy noise. The best of ``n_restarts`` runs is
    kept.

    >>> rng = np.random.default_rng(0)
    >>> omega = rng.normal(size=(2, 60))
    >>> z = np.exp(1j * np.array([[-1.5, 0.5], [2.0, 1.0]]) @ omega).mean(axis=0)
    >>> found = decode_kmeans(z, omega, 2, bounds=(-3.0, 3.0), rng=rng)
    >>> print(np.sort(found.centroids, axis=0).round(2), found.weights.round(2))
    [[-1.5  0.5]
     [ 2.   1. ]] [0.5 0.5]
    """
    flat, groups, group = _checked_problem(sketches, frequencies, n_clusters)
    check_box(bounds, groups.shape[1])
    low, high = (np.broadcast_to(end, groups.shape[1]).astype(float) for end in bounds)
    check_rng(rng)
    restarts = check_integer("n_restarts", n_restarts)
    kind = np.dtype(check_choice("dtype", dtype, ("float32", "float64")))
    width = float(np.sqrt(np.mean(groups**2)))
    norm = np.linalg.norm(flat, axis=1)
    unit = np.repeat(flat / norm[:, None], restarts, axis=0)
    batch = DiracBatch(
        np.ascontiguousarray(unit.real, kind),
        np.ascontiguousarray(unit.imag, kind),
        np.ascontiguousarray(groups / width, kind),
        np.repeat(group, restarts),
    )
    box = ((low * width).astype(kind), (high * width).astype(kind))
    points, weights, value = _pursue(batch, n_clusters, box, rng)
    best = np.argmin(value.reshape(-1, restarts), axis=1) + restarts * np.arange(len(flat))
    lead = np.shape(sketches)[:-1]
    scale = norm / np.sqrt(groups.shape[2])
    return _DecodedKMeans(
        (points[best].astype(float) / width).clip(low, high).reshape(*lead, n_clusters, -1),
        (weights[best] * scale[:, None]).astype(float).reshape(*lead, n_clusters),
        (value[best] * norm**2).astype(float).reshape(lead),
    )

"""What the decoder is checked and timed against: a plain one, and Lloyd's algorithm.

The plain one is CL-OMPR with SciPy in double precision: the published description, one problem at a
time, without the devices of :mod:`dplit.sketching.decoders.clompr`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize, nnls
from sklearn.cluster import KMeans

from dplit._checks import check_finite_array, check_integer, check_real_array, check_rng
from dplit.sketching.decoders.clompr import _DecodedKMeans
from dplit.sketching.decoders.kmeans_cost import _checked_records, sse

#: Uniform points of the box among which the ascent for a new atom starts.
_CANDIDATES = 200


def _correlation_and_gradient(
    point: NDArray[Any], residual: NDArray[Any], frequencies: NDArray[Any]
) -> tuple[float, NDArray[Any]]:
    """Correlation ``Re <A(c), r> / sqrt(m)`` of an atom with a residual, and its gradient."""
    phase = point @ frequencies
    cosine, sine = np.cos(phase), np.sin(phase)
    root = np.sqrt(len(residual))
    value = cosine @ residual.real + sine @ residual.imag
    gradient = frequencies @ (cosine * residual.imag - sine * residual.real)
    return float(value / root), gradient / root


def misfit_and_gradient(
    packed: NDArray[Any], sketch: NDArray[Any], frequencies: NDArray[Any], n_clusters: int
) -> tuple[float, NDArray[Any]]:
    """Squared distance ``|z - sum_l w_l A(c_l)|^2`` and its gradient in points, then weights."""
    size = n_clusters * len(frequencies)
    weights = packed[size:]
    phase = packed[:size].reshape(n_clusters, -1) @ frequencies
    cosine, sine = np.cos(phase), np.sin(phase)
    real = sketch.real - weights @ cosine
    imaginary = sketch.imag - weights @ sine
    inner = cosine @ real + sine @ imaginary
    slope = (cosine * imaginary - sine * real) @ frequencies.T
    gradient = np.concatenate([(-2.0 * weights[:, None] * slope).ravel(), -2.0 * inner])
    return float(real @ real + imaginary @ imaginary), gradient


def refine_kmeans(
    sketch: ArrayLike,
    frequencies: ArrayLike,
    centroids: ArrayLike,
    weights: ArrayLike,
    *,
    bounds: tuple[float, float],
    max_iter: int = 1000,
    tol: float = 1e-12,
) -> _DecodedKMeans:
    """Local minimum of the squared distance near a mixture, by L-BFGS-B in double precision."""
    z = check_finite_array("sketch", sketch, ndim=1)
    omega = check_real_array("frequencies", frequencies, 2)
    points = check_real_array("centroids", centroids, 2)
    count, size, norm = len(points), points.size, float(np.linalg.norm(z))
    heavy = check_real_array("weights", weights, 1) / norm
    lower = np.concatenate([np.full(size, bounds[0]), np.zeros(count)])
    box = Bounds(lower, np.concatenate([np.full(size, bounds[1]), np.full(count, np.inf)]))
    options: Any = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-10, "maxfun": 10 * max_iter}
    start: Any = np.concatenate([points.ravel(), heavy])

    def objective(packed: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        return misfit_and_gradient(packed, z / norm, omega, count)

    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    places = found.x[:size].reshape(count, -1)
    return _DecodedKMeans(places, found.x[size:] * norm, np.asarray(found.fun * norm**2))


def _atoms(points: NDArray[Any], frequencies: NDArray[Any]) -> NDArray[Any]:
    """Return the atoms as columns of a real (2m, k) matrix."""
    phase = points @ frequencies
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=1).T


def _new_atom(
    residual: NDArray[Any],
    frequencies: NDArray[Any],
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Ascend on the correlation from the best of many uniform points of the box."""

    def objective(point: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        value, gradient = _correlation_and_gradient(point, residual, frequencies)
        return -value, -gradient

    pool = rng.uniform(*bounds, (_CANDIDATES, len(frequencies)))
    target = np.concatenate([residual.real, residual.imag])
    start = pool[np.argmax(target @ _atoms(pool, frequencies))]
    box = Bounds(*bounds)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box)
    return np.asarray(found.x)


def reference_decode(
    sketch: ArrayLike,
    frequencies: ArrayLike,
    n_clusters: int,
    *,
    bounds: tuple[float, float],
    rng: np.random.Generator,
    n_restarts: int = 1,
) -> _DecodedKMeans:
    """Centroids and weights fitted to one sketch by plain CL-OMPR."""
    z = check_finite_array("sketch", sketch, ndim=1).astype(complex)
    omega = check_real_array("frequencies", frequencies, 2)
    check_integer("n_clusters", n_clusters)
    check_rng(rng)
    if z.shape != omega.shape[1:]:
        raise ValueError(f"sketch must have {omega.shape[1]} entries, got shape {z.shape}")
    if n_clusters * (len(omega) + 1) > 2 * len(z):
        raise ValueError(
            f"n_clusters must satisfy n_clusters (d + 1) <= 2 m = {2 * len(z)}, "
            f"got n_clusters={n_clusters}"
        )
    runs = [
        _pursue(z, omega, n_clusters, bounds, rng)
        for _ in range(check_integer("n_restarts", n_restarts))
    ]
    return min(runs, key=lambda run: float(run.cost))


def _pursue(
    z: NDArray[Any],
    omega: NDArray[Any],
    count: int,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> _DecodedKMeans:
    """One run of CL-OMPR: 2k rounds, then a long descent."""
    target = np.concatenate([z.real, z.imag])
    points, residual = np.empty((0, len(omega))), z
    for _ in range(2 * count):
        points = np.vstack([points, _new_atom(residual, omega, bounds, rng)])
        if len(points) > count:
            points = np.delete(points, np.argmin(nnls(_atoms(points, omega), target)[0]), axis=0)
        weights = nnls(_atoms(points, omega), target)[0]
        fit = refine_kmeans(z, omega, points, weights, bounds=bounds, max_iter=300, tol=1e-5)
        points, weights = fit.centroids, fit.weights
        residual = z - weights @ np.exp(1j * (points @ omega))
    return refine_kmeans(z, omega, points, weights, bounds=bounds, max_iter=1000, tol=1e-9)


#: Records on which the many starts of a reference run; the best start is then run on all.
_SUBSAMPLE = 20_000


def lloyd(
    X: ArrayLike, n_clusters: int, *, n_starts: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Best centroids and risk of Lloyd's algorithm from several k-means++ starts; not private."""
    records = _checked_records(X)
    check_integer("n_clusters", n_clusters)
    check_integer("n_starts", n_starts)
    seed = int(check_rng(rng).integers(2**31))
    model = KMeans(n_clusters, n_init=n_starts, random_state=seed).fit(records)
    centroids = np.asarray(model.cluster_centers_, dtype=np.float64)
    return centroids, float(sse(records, centroids))


@dataclass(frozen=True)
class _LloydReference:
    """Risks of Lloyd's algorithm: of the better of 3 starts (the paper's), and the best known: the
    least of ``few``, of 20 starts, and of a start at the true centres if given.
    """

    few: float
    many: float


def lloyd_reference(
    X: ArrayLike, n_clusters: int, *, rng: np.random.Generator, centers: ArrayLike | None = None
) -> _LloydReference:
    """Risks of 3 and of 20 starts of Lloyd's algorithm, those on at most 20,000 records.

    Beyond that the best of the 20 starts one more run on all; so do the true ``centers``, if given.
    """
    records = _checked_records(X)
    few = lloyd(records, n_clusters, n_starts=3, rng=rng)[1]
    if len(records) > _SUBSAMPLE:
        rows = rng.choice(len(records), _SUBSAMPLE, replace=False, shuffle=False)
        part = lloyd(records[rows], n_clusters, n_starts=20, rng=rng)[0]
        starts = [part]
        many = few
    else:
        starts, many = [], lloyd(records, n_clusters, n_starts=20, rng=rng)[1]
    if centers is not None:
        starts.append(check_real_array("centers", centers, 2))
    for start in starts:
        model = KMeans(n_clusters, init=start.astype(records.dtype), n_init=1).fit(records)
        many = min(many, float(sse(records, model.cluster_centers_)))
    return _LloydReference(few, min(few, many))

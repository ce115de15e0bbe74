r"""The k-means risk (2), and the relative risk against Lloyd's algorithm that the figures show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from dplit._checks import check_finite_array, check_integer, check_rng

__all__ = ["LloydReference", "lloyd", "lloyd_reference", "relative_sse", "sse"]

#: Distances per block; they stay in the second-level cache.
_BLOCK = 1 << 17
#: Records on which the many starts of a reference run; the best start is then run on all.
_SUBSAMPLE = 20_000


def _checked_records(X: ArrayLike) -> NDArray[Any]:
    records = check_finite_array("X", X, ndim=2)
    if records.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {records.dtype}")
    return records if records.dtype == np.float32 else records.astype(np.float64)


def sse(X: ArrayLike, centroids: ArrayLike) -> Any:
    r"""Mean squared distance of records to the nearest centroid, the risk (2).

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records; float32 is kept, with sums in float64.
    centroids : array_like of shape (..., n_clusters, n_features)
        One set of centroids, or many.

    Returns
    -------
    float or ndarray of shape (...)
        ``(1/n) sum_i min_l |x_i - c_l|^2``: a mean, not scikit-learn's ``inertia_``, which is n
        times as much.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, is empty, or the numbers of columns differ.

    Notes
    -----
    ``|x|^2 + min_l (|c_l|^2 - 2 <x, c_l>)``: one matrix product for all sets of centroids.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees (2022), Definition 2, (2).

    Examples
    --------
    >>> from dplit.sketching.kmeans_cost import sse
    >>> float(sse([[0.0], [1.0], [5.0]], [[0.0], [4.0]]))
    0.6666666666666666
    """
    records = _checked_records(X)
    points = check_finite_array("centroids", centroids)
    if points.ndim < 2 or points.shape[-1] != records.shape[1]:
        raise ValueError(
            f"centroids must have shape (..., n_clusters, {records.shape[1]}), "
            f"got shape {points.shape}"
        )
    count = points.shape[-2]
    center = records.mean(axis=0, dtype=np.float64).astype(records.dtype)
    flat = points.reshape(-1, records.shape[1]).astype(records.dtype) - center
    half = (0.5 * np.einsum("ld,ld->l", flat, flat))[:, None]
    total, energy = np.zeros(len(flat) // count), 0.0
    rows = max(64, _BLOCK // len(flat))
    for start in range(0, len(records), rows):
        block = records[start : start + rows] - center
        energy += float(np.einsum("nd,nd->", block, block, dtype=np.float64))
        near = half - flat @ block.T
        total += near.reshape(-1, count, len(block)).min(axis=1).sum(axis=1, dtype=np.float64)
    cost = (energy + 2.0 * total) / len(records)
    return cost.reshape(points.shape[:-2])[()]


def lloyd(
    X: ArrayLike, n_clusters: int, *, n_starts: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Best centroids of Lloyd's algorithm over several k-means++ starts, with their risk.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    n_clusters, n_starts : int
        Numbers of clusters and of starts, at least 1.
    rng : numpy.random.Generator
        Source of the starts.

    Returns
    -------
    centroids, cost : ndarray of shape (n_clusters, n_features) and float
        Not private. ``cost`` is :func:`sse` of the centroids.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.kmeans_cost import lloyd
    >>> centroids, cost = lloyd([[0.0], [1.0], [5.0]], 2, n_starts=3, rng=np.random.default_rng(0))
    >>> np.sort(centroids.ravel()).tolist(), round(cost, 4)
    ([0.5, 5.0], 0.1667)
    """
    records = _checked_records(X)
    check_integer("n_clusters", n_clusters)
    check_integer("n_starts", n_starts)
    seed = int(check_rng(rng).integers(2**31))
    model = KMeans(n_clusters, n_init=n_starts, random_state=seed).fit(records)
    centroids = np.asarray(model.cluster_centers_, dtype=np.float64)
    return centroids, float(sse(records, centroids))


@dataclass(frozen=True)
class LloydReference:
    """Risks of Lloyd's algorithm on one data set.

    Attributes
    ----------
    few : float
        The better of 3 starts, the paper's reference ("k-means with 3 trials").
    many : float
        The best known: the least of ``few``, of 20 starts, and of a start at the true centres
        if they were given.
    """

    few: float
    many: float


def lloyd_reference(
    X: ArrayLike,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    centers: ArrayLike | None = None,
) -> LloydReference:
    """Risks of 3 and of 20 starts of Lloyd's algorithm, the latter found on a subsample if large.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Source of the starts and of the subsample.
    centers : array_like of shape (n_clusters, n_features), optional
        One more start.

    Returns
    -------
    LloydReference
        ``many <= few``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The 3 starts always use all records. Beyond 20,000 records the 20 starts run on that many and
    the best result is the start of one more run on all.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.kmeans_cost import lloyd_reference
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> reference = lloyd_reference(X, 3, rng=np.random.default_rng(1))
    >>> reference.many <= reference.few
    True
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
        starts.append(check_finite_array("centers", centers, ndim=2))
    for start in starts:
        model = KMeans(n_clusters, init=start.astype(records.dtype), n_init=1).fit(records)
        many = min(many, float(sse(records, model.cluster_centers_)))
    return LloydReference(few, min(few, many))


def relative_sse(X: ArrayLike, centroids: ArrayLike, reference: float) -> Any:
    """RSSE: risk of centroids over the risk of a reference.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    centroids : array_like of shape (..., n_clusters, n_features)
        One set of centroids, or many.
    reference : float
        Positive risk of Lloyd's algorithm on the same records.

    Returns
    -------
    float or ndarray of shape (...)
        Below 1 where the centroids beat the reference.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite or ``reference`` is not positive.

    References
    ----------
    Chatalic et al. (2022), Sections 6.1 and 6.6.

    Examples
    --------
    >>> from dplit.sketching.kmeans_cost import relative_sse
    >>> float(relative_sse([[0.0], [2.0]], [[0.0]], 1.0))
    2.0
    """
    if not (np.isfinite(reference) and reference > 0):
        raise ValueError(f"reference must be positive and finite, got reference={reference!r}")
    return sse(X, centroids) / reference

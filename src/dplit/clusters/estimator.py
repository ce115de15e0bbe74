"""Private Lloyd iterations as a scikit-learn estimator."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import check_box
from dplit._checks import Neighboring, check_integer, quiet, warn_of_noise
from dplit._predictors import CenterEstimator
from dplit._records import validated
from dplit._statements import state_guarantee
from dplit.clusters.lloyd import _Noise, private_lloyd, spread_centers

#: Default number of centres for each cluster.
_PER_CLUSTER = 3


class PrivateLloyd(CenterEstimator):
    """Private k-means by noisy Lloyd steps from a public start with more centres than clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        From 1e-50 to 1e20.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    bounds : pair
        Lowest and highest coordinate, numbers or one for each column; records outside are clipped.
        Must be given, and chosen without the data.
    start : array_like of shape (n_clusters, n_features) or None, default=None
        Public starting centres, which are moved and returned as they are; None spreads
        ``n_candidates`` in the box.
    n_candidates : int or None, default=None
        Number of centres that are moved where no ``start`` is given, at least ``n_clusters``. In
        the end they are merged to ``n_clusters`` by k-means with their released counts as weights.
        None takes three for each cluster (one, where there is one cluster).
    n_iter : int, default=3
        Number of steps, which share the budget.
    noise : {"laplace", "gaussian"}, default="laplace"
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    random_state : int, Generator, RandomState or None, default=None
        Source of the start and, in a stream of its own, of the noise. None takes entropy from the
        operating system; anything else is for reproduction and voids the privacy guarantee.
        ``clone`` copies a generator together with its state, so that two clones share their noise.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Private centres.
    counts_ : ndarray of shape (n_clusters,)
        Noisy counts of the last step, added up where centres were merged.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    No labels of the training records are published, and it is no ``ClusterMixin`` for that reason:
    ``predict`` labels records that the caller holds. Lloyd steps from k spread centres often end in
    a poor local optimum; merging candidates costs no privacy, and the noise of a step does not grow
    with their number. ``fit`` warns where the released counts are so small that the noise on a
    typical coordinate of a centre exceeds a quarter of the range: it reads the release alone. The
    noise is exact (:mod:`dplit.mechanisms`).

    Examples
    --------
    >>> X = np.repeat([[-0.5], [0.5]], 5000, axis=0)
    >>> model = PrivateLloyd(2, bounds=(-1.0, 1.0), random_state=0).fit(X)
    >>> bool(abs(np.sort(model.cluster_centers_.ravel()) - [-0.5, 0.5]).max() < 0.05)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        start: ArrayLike | None = None,
        n_candidates: int | None = None,
        n_iter: int = 3,
        noise: _Noise = "laplace",
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.start = start
        self.n_candidates = n_candidates
        self.n_iter = n_iter
        self.noise = noise
        self.neighboring = neighboring
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Run the noisy steps on the clipped records; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored

        Returns
        -------
        PrivateLloyd
        """
        k = check_integer("n_clusters", self.n_clusters)
        records = validated(self, X, dtype=np.float64)
        d = records.shape[1]
        box = check_box(self.bounds, d)
        public, noise = spawn_generators(self.random_state, 2)
        start = self.start
        if start is None:
            start = spread_centers(self._candidates(k), d, bounds=self.bounds, rng=public)
        elif np.shape(start) != (k, d):
            raise ValueError(
                f"start must have shape {(k, d)}, got start of shape {np.shape(start)}"
            )
        run = private_lloyd(
            records,
            start,
            bounds=self.bounds,
            epsilon=self.epsilon,
            delta=self.delta,
            n_iter=self.n_iter,
            noise=self.noise,
            neighboring=self.neighboring,
            rng=noise_source(self.random_state, noise),
        )
        merged, self.counts_ = _merge_centers(
            box.unit(run.centers), run.counts, k, scale=run.noise.count_scale, rng=public
        )
        self.cluster_centers_ = box.data(merged)
        noisiest = run.noise.sum_scale * math.sqrt(len(run.counts) / k)
        if noisiest > 0.5 * max(float(self.counts_.mean()), 0.0):
            warn_of_noise(
                "the noise of the centres is of the size of the box: too few records for "
                f"{k} clusters of {d} coordinates at epsilon={self.epsilon:g}"
            )
        relation = "adding or removing" if self.neighboring == "add_remove" else "replacing"
        limits = f"[{box.low.min():g}, {box.high.max():g}]"
        change = f"{relation} one record (coordinates clipped to bounds within {limits})"
        state_guarantee(self, run.epsilon, run.delta, run.neighboring, change)
        self._n_features_out = k
        return self

    def _candidates(self, k: int) -> int:
        """Return the public number of centres that are moved."""
        if self.n_candidates is None:
            return _PER_CLUSTER * k if k > 1 else 1
        return check_integer("n_candidates", self.n_candidates, minimum=k)


def _merge_centers(
    centers: NDArray[np.float64],
    counts: NDArray[np.float64],
    n_clusters: int,
    *,
    scale: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Merge released centres to ``n_clusters`` by weighted k-means: post-processing, no cost.

    Weights are the noisy counts less two scales of their noise, so that centres without records
    count for nothing. Returns centres and the sums of their counts.
    """
    if len(centers) <= n_clusters:
        return centers, counts
    weights = np.maximum(counts - 2.0 * scale, 1e-3)
    peer = KMeans(n_clusters, n_init=10, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():  # fewer different centres than clusters
        warnings.simplefilter("ignore")
        peer.fit(centers, sample_weight=weights)
    merged = np.bincount(peer.labels_, weights=counts, minlength=n_clusters)
    return np.asarray(peer.cluster_centers_), merged.astype(np.float64)

"""Private Lloyd iterations: noisy sums and counts of the clusters, a fixed number of times."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
    quiet,
    warn_caller,
)
from dplit._estimators import (
    CenterEstimator,
    RandomState,
    check_box,
    spawn_generators,
    state_guarantee,
    whole,
)
from dplit._records import validated
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise
from dplit.mechanisms.draws import record_draw

_Noise = Literal["laplace", "gaussian"]


#: Typical size of one coordinate of a centre in [-1, 1]: 2 x 0.225 of Su et al. (2016).
_CENTRE = 0.45

#: Bits of a coordinate of a record: sums of up to 2^31 records are exact in float64.
_BITS = 22


@dataclass(frozen=True)
class LloydNoise:
    """Scales of the noise of one iteration, in the units of the box.

    Attributes
    ----------
    sum_scale, count_scale : float
        Laplace scale, or standard deviation, of every coordinate of the sums, and of the counts.
    """

    sum_scale: float
    count_scale: float


@dataclass(frozen=True)
class PrivateCenters:
    """Centres of a private run with what it spent; all of it may be published.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        Inside the box, in the units of the data.
    counts : ndarray of shape (k,)
        Noisy counts of the last iteration; they may be negative.
    epsilon, delta : float
        Guarantee of the whole run.
    neighboring : str
    noise : LloydNoise
        Scales of every iteration.
    """

    centers: Array
    counts: Array
    epsilon: float
    delta: float
    neighboring: str
    noise: LloydNoise


def lloyd_noise(
    n_features: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    n_iter: int,
    noise: _Noise = "laplace",
    neighboring: Neighboring = "add_remove",
) -> LloydNoise:
    r"""Scales of the noise on sums and counts that make a private Lloyd run exactly as private.

    Parameters
    ----------
    n_features : int
        Dimension d of the records, which lie in [-1, 1]^d.
    epsilon : float
        Budget of the whole run, in (0, inf).
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    n_iter : int
        Number of iterations T, each of which releases all sums and counts.
    noise : {"laplace", "gaussian"}, default="laplace"
    neighboring : {"add_remove", "replace_one"}, default="add_remove"

    Returns
    -------
    LloydNoise
        Two scales for which T iterations are (epsilon, delta)-private, with nothing to spare.

    Notes
    -----
    A record enters one cluster: it moves that sum by at most d in the :math:`\ell_1` and
    :math:`\sqrt d` in the :math:`\ell_2` norm, and its count by 1. An error :math:`(e_S,e_N)` moves
    a centre :math:`c=S/N` by :math:`(e_S-c\,e_N)/N`, of mean square :math:`d s^2+|c|^2t^2` for
    scales s and t. Laplace: :math:`d/s+1/t=\epsilon/T`, and the mean square is least for
    :math:`s/t=|c|^{2/3}`. Gaussian: with counts in units of :math:`1/\lambda` the sensitivity is
    :math:`\sqrt{T(d+\lambda^2)}`, :math:`s=\lambda t=\sigma`, least for :math:`\lambda^2=|c|`. Both
    with :math:`|c|=0.45\sqrt d`. Replacing a record changes two clusters: twice the :math:`\ell_1`
    sensitivity. In :math:`\ell_2` it is :math:`2\sqrt d`, for a record that stays in its cluster;
    one that leaves it moves :math:`\sqrt{2(d+\lambda^2)}`, which is less since :math:`\lambda^2<d`.

    References
    ----------
    Blum, Dwork, McSherry, Nissim, Practical privacy: the SuLQ framework, PODS 2005; Su, Cao, Li,
    Bertino, Jin, Differentially private k-means clustering, CODASPY 2016, Section 4 (the split).

    Examples
    --------
    >>> scales = lloyd_noise(2, epsilon=1.0, n_iter=1)
    >>> round(2 / scales.sum_scale + 1 / scales.count_scale, 12)
    1.0
    """
    d = check_integer("n_features", n_features)
    epsilon = check_positive("epsilon", epsilon)
    steps = check_integer("n_iter", n_iter)
    check_choice("noise", noise, get_args(_Noise))
    check_neighboring(neighboring)
    centre = _CENTRE * math.sqrt(d)
    if noise == "laplace":
        if delta != 0:
            raise ValueError(f"delta must be 0 with Laplace noise, got delta={delta!r}")
        records = 1 if neighboring == "add_remove" else 2
        ratio = centre ** (2 / 3)
        sums = records * steps * (d + ratio) / epsilon
        return LloydNoise(sums, sums / ratio)
    delta = check_probability("delta", delta)
    squared = d + centre if neighboring == "add_remove" else 4.0 * d
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(steps * squared))
    return LloydNoise(sigma, sigma / math.sqrt(centre))


def spread_centers(
    n_clusters: int, n_features: int, *, bounds: Any, rng: np.random.Generator
) -> Array:
    """Public starting centres far from each other, drawn in the box without the data.

    Parameters
    ----------
    n_clusters, n_features : int
        Numbers k of centres and d of coordinates.
    bounds : pair
        Lowest and highest coordinate: numbers or one for each column.
    rng : numpy.random.Generator
        Public randomness, never the stream of the noise.

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
        From 100 k uniform points of the inner half of the box, one after the other the point that
        is farthest from those taken.

    Examples
    --------
    >>> spread_centers(3, 2, bounds=(-1, 1), rng=np.random.default_rng(0)).shape
    (3, 2)
    """
    k, d = check_integer("n_clusters", n_clusters), check_integer("n_features", n_features)
    box = check_box(bounds, d)
    pool = check_rng(rng).uniform(-0.5, 0.5, (100 * k, d))
    taken = [pool[0]]
    distance = np.full(len(pool), np.inf)
    for _ in range(k - 1):
        distance = np.minimum(distance, ((pool - taken[-1]) ** 2).sum(axis=1))
        taken.append(pool[int(distance.argmax())])
    return box.data(np.array(taken))


def _sums(whole: Array, centers: Array) -> tuple[Array, Array]:
    """Return the sums (k, d) and counts (k,) of the clusters of the centres.

    Records are whole numbers of ``2^-_BITS`` and public centres are rounded so that all products
    add exactly: no sum or cluster depends on the other records or on their order.
    """
    k, d = centers.shape
    scale = 2.0 ** (52 - _BITS - math.ceil(math.log2(d)))
    points = np.rint(centers * scale)
    scores = whole @ points.T
    scores -= (0.5 * 2.0**_BITS / scale) * (points**2).sum(axis=1)
    member = scores.argmax(axis=1)
    columns = [np.bincount(member, weights=column, minlength=k) for column in whole.T]
    sums = np.stack(columns, axis=1).astype(np.float64) * 2.0**-_BITS
    return sums, np.bincount(member, minlength=k).astype(np.float64)


@quiet
def private_lloyd(
    X: ArrayLike,
    start: ArrayLike,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    n_iter: int = 5,
    noise: _Noise = "laplace",
    neighboring: Neighboring = "add_remove",
    rng: np.random.Generator,
) -> PrivateCenters:
    """Centres of k clusters from a fixed number of noisy Lloyd steps.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records, clipped to the box.
    start : array_like of shape (k, d)
        Starting centres that do not depend on the data, such as :func:`spread_centers`.
    bounds : pair
        Lowest and highest coordinate: numbers or one for each column, chosen without the data.
    epsilon : float
        Budget of the whole run, in (0, inf).
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    n_iter : int, default=5
        Number of steps, fixed in advance: the noise of each grows with it.
    noise : {"laplace", "gaussian"}, default="laplace"
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    PrivateCenters
        The centres, under one (epsilon, delta) guarantee.

    Notes
    -----
    Every step assigns all records to the nearest centre and releases the noisy sums and counts of
    the clusters; a centre moves to sum over count, clipped to the box, and stays where the noisy
    count is below 1. Scales: :func:`lloyd_noise`. Laplace budgets of the steps add up; Gaussian
    steps compose exactly to one Gaussian release of sensitivity larger by the root of ``n_iter``.

    Sensitivities hold for what the machine computes: records are rounded to multiples of 2^-22 half
    widths of the box, on which sums and distances are exact, the same bits in every order.

    References
    ----------
    Blum, Dwork, McSherry, Nissim, Practical privacy: the SuLQ framework, PODS 2005, Section 5.1.

    Examples
    --------
    >>> X = np.repeat([[-0.5], [0.5]], 5000, axis=0)
    >>> run = private_lloyd(X, [[-0.1], [0.1]], bounds=(-1, 1), epsilon=1.0,
    ...                     rng=np.random.default_rng(0))
    >>> bool(abs(run.centers.ravel() - [-0.5, 0.5]).max() < 0.02)
    True
    """
    records, first = check_real_array("X", X, 2), check_real_array("start", start, 2)
    if first.shape[1] != records.shape[1]:
        raise ValueError(
            f"start must have {records.shape[1]} columns, got start of shape {first.shape}"
        )
    d = records.shape[1]
    box = check_box(bounds, d)
    scales = lloyd_noise(
        d, epsilon=epsilon, delta=delta, n_iter=n_iter, noise=noise, neighboring=neighboring
    )
    check_rng(rng)
    whole, centers = np.rint(box.unit(records) * 2.0**_BITS), box.unit(first)
    counts = np.zeros(len(centers))
    for _ in range(n_iter):
        sums, counts = _sums(whole, centers)
        record_draw(
            noise, "sums of the clusters", of=sums, scale=scales.sum_scale, shape=sums.shape,
            **_moves(d, scales, noise, neighboring)[0],
        )  # fmt: skip
        sums = sums + _draw(noise, sums.shape, scales.sum_scale, rng)
        record_draw(
            noise, "counts of the clusters", of=counts, scale=scales.count_scale,
            shape=counts.shape, **_moves(d, scales, noise, neighboring)[1],
        )  # fmt: skip
        counts = counts + _draw(noise, counts.shape, scales.count_scale, rng)
        moved = np.clip(sums / np.maximum(counts, 1.0)[:, None], -1.0, 1.0)
        centers = np.where(counts[:, None] >= 1.0, moved, centers)
    return PrivateCenters(
        box.data(centers), counts, float(epsilon), float(delta), neighboring, scales
    )


def _moves(
    d: int, scales: LloydNoise, noise: str, neighboring: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how far one record moves sums and counts, and both together in units of the noise.

    For the ledger, and not read by `lloyd_noise`: a wrong scale there is seen here.
    """
    times, s, t = 1.0 if neighboring == "add_remove" else 2.0, scales.sum_scale, scales.count_scale
    if noise == "laplace":
        return {"norm": "l1", "sensitivity": times * d}, {"norm": "l1", "sensitivity": times}
    apart = math.sqrt(times * (d / s**2 + 1.0 / t**2))  # from one cluster into another
    joint = max(apart, times * math.sqrt(d) / s)
    return {"sensitivity": times * math.sqrt(d)}, {"sensitivity": math.sqrt(times), "joint": joint}


def _draw(noise: str, shape: tuple[int, ...], scale: float, rng: np.random.Generator) -> Array:
    if noise == "laplace":
        return laplace_noise(shape, scale=scale, rng=rng)
    return gaussian_noise(shape, sigma=scale, rng=rng)


# Private Lloyd iterations as a scikit-learn estimator.


#: Default number of centres for each cluster.
_PER_CLUSTER = 3


class PrivateLloyd(CenterEstimator):
    """Private k-means by noisy Lloyd steps from a public start with more centres than clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        In (0, inf).
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
    noise is floating-point research noise.

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
            records, start, bounds=self.bounds, epsilon=self.epsilon, delta=self.delta,
            n_iter=self.n_iter, noise=self.noise, neighboring=self.neighboring, rng=noise,
        )  # fmt: skip
        merged, self.counts_ = _merge_centers(
            box.unit(run.centers), run.counts, k, scale=run.noise.count_scale, rng=public
        )
        self.cluster_centers_ = box.data(merged)
        noisiest = run.noise.sum_scale * math.sqrt(len(run.counts) / k)
        if noisiest > 0.5 * max(float(self.counts_.mean()), 0.0):
            warn_caller(
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

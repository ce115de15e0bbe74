"""Private Lloyd iterations: noisy sums and counts of the clusters, a fixed number of times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dplit._bounds import check_box
from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_epsilon,
    check_integer,
    check_neighboring,
    check_probability,
    check_real_array,
    check_rng,
    quiet,
)
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms._bits import check_source
from dplit.mechanisms.values import Gaussian, Laplace

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

    Examples
    --------
    >>> once, twice = (lloyd_noise(2, epsilon=epsilon, n_iter=1) for epsilon in (1.0, 2.0))
    >>> round(once.sum_scale / twice.sum_scale, 12), round(once.count_scale / twice.count_scale, 12)
    (2.0, 2.0)
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

    Examples
    --------
    >>> X = np.repeat([[-0.5], [0.5]], [4000, 6000], axis=0)
    >>> run = private_lloyd(X, [[-0.1], [0.1]], bounds=(-1, 1), epsilon=10.0,
    ...                     rng=np.random.default_rng(0))
    >>> run.counts.round(-2), run.epsilon, run.neighboring
    (array([4000., 6000.]), 10.0, 'add_remove')
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
        Budget of the whole run, from 1e-50 to 1e20.
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
    epsilon = check_epsilon(epsilon)
    steps = check_integer("n_iter", n_iter)
    check_choice("noise", noise, get_args(_Noise))
    check_neighboring(neighboring)
    centre = _CENTRE * math.sqrt(d)
    if noise == "laplace":
        if check_probability("delta", delta, zero=True) != 0.0:
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
    rng: np.random.Generator | None = None,
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
        Budget of the whole run, from 1e-50 to 1e20.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    n_iter : int, default=5
        Number of steps, fixed in advance: the noise of each grows with it.
    noise : {"laplace", "gaussian"}, default="laplace"
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

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
    check_source(rng)
    whole, centers = np.rint(box.unit(records) * 2.0**_BITS), box.unit(first)
    counts = np.zeros(len(centers))
    law = Laplace if noise == "laplace" else Gaussian
    moves = _moves(d, scales, noise, neighboring)
    for _ in range(n_iter):
        sums, counts = _sums(whole, centers)
        sums = law(scales.sum_scale).add(sums, hides="sums of the clusters", rng=rng, **moves[0])
        counts = law(scales.count_scale).add(
            counts, hides="counts of the clusters", rng=rng, **moves[1]
        )
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
        return {"sensitivity": times * d}, {"sensitivity": times}
    apart = math.sqrt(times * (d / s**2 + 1.0 / t**2))  # from one cluster into another
    joint = max(apart, times * math.sqrt(d) / s)
    return {"sensitivity": times * math.sqrt(d)}, {"sensitivity": math.sqrt(times), "joint": joint}
